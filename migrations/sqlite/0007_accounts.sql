-- Accounts. A removed one stays, because the books name it; its name is free again.
CREATE TABLE users (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT NOT NULL,
    display_name TEXT NOT NULL,
    role         TEXT NOT NULL,
    -- A PHC string: algorithm, parameters, salt, hash.
    password     TEXT,
    created      INTEGER NOT NULL,
    removed      INTEGER
) STRICT;

CREATE UNIQUE INDEX user_names ON users (name) WHERE removed IS NULL;

CREATE TABLE grants (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    user    INTEGER NOT NULL REFERENCES users (id),
    -- all, vault, folder, label, author or kind; then what it names.
    extent  TEXT NOT NULL,
    vault   TEXT NOT NULL DEFAULT '',
    value   TEXT NOT NULL DEFAULT '',
    write   INTEGER NOT NULL,
    created INTEGER NOT NULL,
    UNIQUE (user, extent, vault, value)
) STRICT;

CREATE TABLE passkeys (
    credential BLOB PRIMARY KEY,
    user       INTEGER NOT NULL REFERENCES users (id),
    name       TEXT NOT NULL,
    data       TEXT NOT NULL,
    created    INTEGER NOT NULL,
    used       INTEGER
) STRICT;

CREATE INDEX user_passkeys ON passkeys (user);

CREATE TABLE sessions (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    hash    BLOB NOT NULL UNIQUE,
    user    INTEGER NOT NULL REFERENCES users (id),
    created INTEGER NOT NULL,
    seen    INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    agent   TEXT NOT NULL,
    address TEXT NOT NULL
) STRICT;

CREATE INDEX user_sessions ON sessions (user);

-- A token of a user has the scope `user`, and what it may be used for in `scopes`.
ALTER TABLE tokens ADD COLUMN user INTEGER REFERENCES users (id);
ALTER TABLE tokens ADD COLUMN scopes TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN audience TEXT;
ALTER TABLE tokens ADD COLUMN connection INTEGER;
CREATE INDEX user_tokens ON tokens (user) WHERE user IS NOT NULL;
CREATE INDEX connection_tokens ON tokens (connection) WHERE connection IS NOT NULL;

CREATE TABLE audit (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    who     TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    address TEXT NOT NULL,
    outcome TEXT NOT NULL
) STRICT;
