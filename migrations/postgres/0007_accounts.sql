-- Numbers that each library counts for itself, and never gives twice. The row stays locked until
-- the transaction ends, so that a number is given in the order of commits, without gaps.
CREATE TABLE numbers (
    lib  BIGINT NOT NULL DEFAULT nw_lib(),
    name TEXT COLLATE "C" NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (lib, name)
);
CALL nw_guard('numbers');

CREATE FUNCTION nw_next(counter TEXT) RETURNS BIGINT LANGUAGE sql VOLATILE AS $$
    INSERT INTO numbers AS n (name, last) VALUES (counter, 1)
    ON CONFLICT (lib, name) DO UPDATE SET last = n.last + 1
    RETURNING last
$$;

ALTER TABLE tokens ALTER COLUMN id DROP IDENTITY;
ALTER TABLE tokens ALTER COLUMN id SET DEFAULT nw_next('tokens');
ALTER TABLE journal ALTER COLUMN id DROP IDENTITY;
ALTER TABLE journal ALTER COLUMN id SET DEFAULT nw_next('journal');

-- Accounts. A removed one stays, because the books name it; its name is free again.
CREATE TABLE users (
    lib          BIGINT NOT NULL DEFAULT nw_lib(),
    id           BIGINT NOT NULL DEFAULT nw_next('users'),
    name         TEXT COLLATE "C" NOT NULL,
    display_name TEXT COLLATE "C" NOT NULL,
    role         TEXT COLLATE "C" NOT NULL,
    -- A PHC string: algorithm, parameters, salt, hash.
    password     TEXT COLLATE "C",
    created      BIGINT NOT NULL,
    removed      BIGINT,
    PRIMARY KEY (lib, id)
);
CALL nw_guard('users');

CREATE UNIQUE INDEX user_names ON users (lib, name) WHERE removed IS NULL;

CREATE TABLE grants (
    lib     BIGINT NOT NULL DEFAULT nw_lib(),
    id      BIGINT NOT NULL DEFAULT nw_next('grants'),
    "user"  BIGINT NOT NULL,
    -- all, vault, folder, label, author or kind; then what it names.
    extent  TEXT COLLATE "C" NOT NULL,
    vault   TEXT COLLATE "C" NOT NULL DEFAULT '',
    value   TEXT COLLATE "C" NOT NULL DEFAULT '',
    write   BOOLEAN NOT NULL,
    created BIGINT NOT NULL,
    PRIMARY KEY (lib, id),
    UNIQUE (lib, "user", extent, vault, value),
    FOREIGN KEY (lib, "user") REFERENCES users (lib, id)
);
CALL nw_guard('grants');

CREATE TABLE passkeys (
    lib        BIGINT NOT NULL DEFAULT nw_lib(),
    credential BYTEA NOT NULL,
    "user"     BIGINT NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    data       TEXT COLLATE "C" NOT NULL,
    created    BIGINT NOT NULL,
    used       BIGINT,
    PRIMARY KEY (lib, credential),
    FOREIGN KEY (lib, "user") REFERENCES users (lib, id)
);
CALL nw_guard('passkeys');

CREATE INDEX user_passkeys ON passkeys (lib, "user");

CREATE TABLE sessions (
    lib     BIGINT NOT NULL DEFAULT nw_lib(),
    id      BIGINT NOT NULL DEFAULT nw_next('sessions'),
    hash    BYTEA NOT NULL,
    "user"  BIGINT NOT NULL,
    created BIGINT NOT NULL,
    seen    BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    agent   TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (lib, id),
    UNIQUE (lib, hash),
    FOREIGN KEY (lib, "user") REFERENCES users (lib, id)
);
CALL nw_guard('sessions');

CREATE INDEX user_sessions ON sessions (lib, "user");

-- A token of a user has the scope `user`, and what it may be used for in `scopes`.
ALTER TABLE tokens ADD COLUMN "user" BIGINT;
ALTER TABLE tokens ADD COLUMN scopes TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN audience TEXT COLLATE "C";
ALTER TABLE tokens ADD COLUMN connection BIGINT;
ALTER TABLE tokens ADD FOREIGN KEY (lib, "user") REFERENCES users (lib, id);
CREATE INDEX user_tokens ON tokens (lib, "user") WHERE "user" IS NOT NULL;
CREATE INDEX connection_tokens ON tokens (lib, connection) WHERE connection IS NOT NULL;

CREATE TABLE audit (
    lib     BIGINT NOT NULL DEFAULT nw_lib(),
    id      BIGINT NOT NULL DEFAULT nw_next('audit'),
    at      BIGINT NOT NULL,
    who     TEXT COLLATE "C" NOT NULL,
    action  TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (lib, id)
);
CALL nw_guard('audit');
