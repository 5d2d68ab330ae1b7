-- Clients that registered themselves.
CREATE TABLE oauth_clients (
    id       TEXT PRIMARY KEY,
    secret   BLOB,
    metadata TEXT NOT NULL,
    created  INTEGER NOT NULL,
    used     INTEGER
) STRICT;

-- Clients that a user connected. Their access tokens are in `tokens`.
CREATE TABLE connections (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    user        INTEGER NOT NULL REFERENCES users (id),
    client      TEXT NOT NULL,
    client_name TEXT NOT NULL,
    resource    TEXT NOT NULL,
    scopes      TEXT NOT NULL,
    created     INTEGER NOT NULL,
    used        INTEGER NOT NULL,
    revoked     INTEGER
) STRICT;

CREATE INDEX user_connections ON connections (user);

CREATE TABLE oauth_codes (
    hash         BLOB PRIMARY KEY,
    client       TEXT NOT NULL,
    client_name  TEXT NOT NULL,
    user         INTEGER NOT NULL REFERENCES users (id),
    redirect_uri TEXT NOT NULL,
    challenge    TEXT NOT NULL,
    resource     TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    expires      INTEGER NOT NULL,
    -- What it was redeemed for. Kept until it expires, so that a second use is seen.
    connection   INTEGER REFERENCES connections (id),
    spent        INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE refresh_tokens (
    hash       BLOB PRIMARY KEY,
    connection INTEGER NOT NULL REFERENCES connections (id),
    created    INTEGER NOT NULL,
    expires    INTEGER NOT NULL,
    -- When it was exchanged for the next one.
    rotated    INTEGER
) STRICT;

CREATE INDEX connection_refresh_tokens ON refresh_tokens (connection);
