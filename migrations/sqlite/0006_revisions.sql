-- The journal: every change that Notewell made to an item, with the content before and after it.
CREATE TABLE journal (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    at           INTEGER NOT NULL,
    who          TEXT NOT NULL,
    tool         TEXT NOT NULL,
    summary      TEXT NOT NULL,
    -- The change that this one reverts.
    undoes       INTEGER,
    -- The first revision that was begun and not finished; NULL when the change is done.
    pending_from INTEGER
) STRICT;

CREATE INDEX pending_journal ON journal (id) WHERE pending_from IS NOT NULL;
CREATE INDEX undone_journal ON journal (undoes) WHERE undoes IS NOT NULL;

-- Each content once, however many revisions have it: the state after one change is usually the
-- state before the next.
CREATE TABLE contents (
    id   INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    -- Compressed with zlib.
    data BLOB NOT NULL
) STRICT;

-- What one change did to one item. The contents are NULL where the item did not exist.
CREATE TABLE revisions (
    change   INTEGER NOT NULL REFERENCES journal (id) ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    -- NULL until the item is in the registry.
    pid      INTEGER,
    kind     TEXT NOT NULL,
    key      TEXT NOT NULL,
    -- The key after the change, where it is another one.
    moved_to TEXT,
    before   INTEGER REFERENCES contents (id),
    after    INTEGER REFERENCES contents (id),
    PRIMARY KEY (change, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX item_revisions ON revisions (pid, change);
CREATE INDEX revision_keys ON revisions (key);
CREATE INDEX before_contents ON revisions (before) WHERE before IS NOT NULL;
CREATE INDEX after_contents ON revisions (after) WHERE after IS NOT NULL;
