-- Every item of the library, whatever its kind and wherever it lives. A pid is never given twice
-- (AUTOINCREMENT), and a row stays when its item goes, so that the same item coming back (a branch
-- checked out again, a drive mounted again) is the same pid.
CREATE TABLE items (
    pid   INTEGER PRIMARY KEY AUTOINCREMENT,
    kind  TEXT NOT NULL,
    key   TEXT NOT NULL,
    -- Changes when the item's content does; what it is made of is each kind's own business.
    stamp INTEGER NOT NULL,
    gone  INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, key)
) STRICT;

-- Finds the item that went when another with the same content comes: a move seen in two halves.
CREATE INDEX gone_items ON items (kind, stamp) WHERE gone = 1;

-- What derived state follows. One row an item: a later change takes a new, higher number.
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL UNIQUE REFERENCES items (pid)
) STRICT;

-- The folders this library reads, so that a later command needs no flag to find them.
CREATE TABLE vaults (
    name  TEXT PRIMARY KEY,
    root  TEXT NOT NULL UNIQUE,
    poll  INTEGER NOT NULL DEFAULT 0,
    -- When the folder was last read whole.
    seen  INTEGER
) STRICT;

CREATE TABLE pages (
    pid      INTEGER PRIMARY KEY REFERENCES items (pid),
    vault    TEXT NOT NULL,
    path     TEXT NOT NULL,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    hash     BLOB NOT NULL,
    free     INTEGER NOT NULL,
    -- The tool that this page is.
    method   TEXT,
    -- What the page says of itself, and where it links to, as JSON.
    facts    TEXT NOT NULL,
    UNIQUE (vault, path)
) STRICT;

CREATE INDEX methods ON pages (method) WHERE method IS NOT NULL;

-- Files of a vault that are not in the library, and why.
CREATE TABLE skipped (
    vault  TEXT NOT NULL,
    path   TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (vault, path)
) STRICT;

-- A token is shown once; only its hash is kept.
CREATE TABLE tokens (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL,
    scope     TEXT NOT NULL,
    hash      BLOB NOT NULL UNIQUE,
    created   INTEGER NOT NULL,
    expires   INTEGER,
    revoked   INTEGER
) STRICT;
