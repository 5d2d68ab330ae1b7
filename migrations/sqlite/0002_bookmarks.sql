-- Saved posts and links. The body is the whole bookmark as JSON; the columns beside it are what
-- is looked up and counted.
CREATE TABLE bookmarks (
    pid      INTEGER PRIMARY KEY REFERENCES items (pid),
    id       TEXT NOT NULL UNIQUE,
    -- In the form in which addresses are compared; empty for a text without a link.
    address  TEXT NOT NULL,
    date     INTEGER NOT NULL,
    author   TEXT,
    domain   TEXT,
    category TEXT COLLATE NOCASE,
    -- The project that it links to, when it links to one.
    tool     TEXT COLLATE NOCASE,
    engaged  INTEGER NOT NULL,
    body     TEXT NOT NULL
) STRICT;

CREATE INDEX bookmark_addresses ON bookmarks (address) WHERE address <> '';
CREATE INDEX bookmark_dates ON bookmarks (date);
CREATE INDEX bookmark_tools ON bookmarks (tool, date) WHERE tool IS NOT NULL;

-- What a bookmark is about, one row a word: `topic` is the same for all forms of one word, `form`
-- is how it was written.
CREATE TABLE topics (
    pid   INTEGER NOT NULL REFERENCES bookmarks (pid) ON DELETE CASCADE,
    topic TEXT NOT NULL,
    form  TEXT NOT NULL,
    PRIMARY KEY (pid, topic)
) STRICT, WITHOUT ROWID;

CREATE INDEX topic_bookmarks ON topics (topic);
