-- Clients that registered themselves.
CREATE TABLE oauth_clients (
    lib      BIGINT NOT NULL DEFAULT nw_lib(),
    id       TEXT COLLATE "C" NOT NULL,
    secret   BYTEA,
    metadata TEXT COLLATE "C" NOT NULL,
    created  BIGINT NOT NULL,
    used     BIGINT,
    -- The order of registration, among those of one moment.
    number   BIGINT NOT NULL DEFAULT nw_next('oauth_clients'),
    PRIMARY KEY (lib, id)
);
CALL nw_guard('oauth_clients');

-- Clients that a user connected. Their access tokens are in `tokens`.
CREATE TABLE connections (
    lib         BIGINT NOT NULL DEFAULT nw_lib(),
    id          BIGINT NOT NULL DEFAULT nw_next('connections'),
    "user"      BIGINT NOT NULL,
    client      TEXT COLLATE "C" NOT NULL,
    client_name TEXT COLLATE "C" NOT NULL,
    resource    TEXT COLLATE "C" NOT NULL,
    scopes      TEXT COLLATE "C" NOT NULL,
    created     BIGINT NOT NULL,
    used        BIGINT NOT NULL,
    revoked     BIGINT,
    PRIMARY KEY (lib, id),
    FOREIGN KEY (lib, "user") REFERENCES users (lib, id)
);
CALL nw_guard('connections');

CREATE INDEX user_connections ON connections (lib, "user");

CREATE TABLE oauth_codes (
    lib          BIGINT NOT NULL DEFAULT nw_lib(),
    hash         BYTEA NOT NULL,
    client       TEXT COLLATE "C" NOT NULL,
    client_name  TEXT COLLATE "C" NOT NULL,
    "user"       BIGINT NOT NULL,
    redirect_uri TEXT COLLATE "C" NOT NULL,
    challenge    TEXT COLLATE "C" NOT NULL,
    resource     TEXT COLLATE "C" NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL,
    expires      BIGINT NOT NULL,
    -- What it was redeemed for. Kept until it expires, so that a second use is seen.
    connection   BIGINT,
    spent        BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (lib, hash),
    FOREIGN KEY (lib, "user") REFERENCES users (lib, id),
    FOREIGN KEY (lib, connection) REFERENCES connections (lib, id)
);
CALL nw_guard('oauth_codes');

CREATE TABLE refresh_tokens (
    lib        BIGINT NOT NULL DEFAULT nw_lib(),
    hash       BYTEA NOT NULL,
    connection BIGINT NOT NULL,
    created    BIGINT NOT NULL,
    expires    BIGINT NOT NULL,
    -- When it was exchanged for the next one.
    rotated    BIGINT,
    PRIMARY KEY (lib, hash),
    FOREIGN KEY (lib, connection) REFERENCES connections (lib, id)
);
CALL nw_guard('refresh_tokens');

CREATE INDEX connection_refresh_tokens ON refresh_tokens (lib, connection);
