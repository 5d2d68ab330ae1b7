-- Saved posts and links. The body is the whole bookmark as JSON; the columns beside it are what
-- is looked up and counted.
CREATE TABLE bookmarks (
    lib      BIGINT NOT NULL DEFAULT nw_lib(),
    pid      BIGINT NOT NULL,
    id       TEXT COLLATE "C" NOT NULL,
    -- In the form in which addresses are compared; empty for a text without a link.
    address  TEXT COLLATE "C" NOT NULL,
    date     BIGINT NOT NULL,
    author   TEXT COLLATE "C",
    domain   TEXT COLLATE "C",
    category TEXT COLLATE "C",
    -- The project that it links to, when it links to one.
    tool     TEXT COLLATE "C",
    engaged  BIGINT NOT NULL,
    body     TEXT COLLATE "C" NOT NULL,
    -- Compared without regard to the case of ASCII letters.
    category_key TEXT COLLATE "C" GENERATED ALWAYS AS (lower(category COLLATE "C")) STORED,
    tool_key     TEXT COLLATE "C" GENERATED ALWAYS AS (lower(tool COLLATE "C")) STORED,
    PRIMARY KEY (lib, pid),
    UNIQUE (lib, id),
    FOREIGN KEY (lib, pid) REFERENCES items (lib, pid)
);
CALL nw_guard('bookmarks');

CREATE INDEX bookmark_addresses ON bookmarks (lib, address) WHERE address <> '';
CREATE INDEX bookmark_dates ON bookmarks (lib, date);
CREATE INDEX bookmark_tools ON bookmarks (lib, tool_key, date) WHERE tool IS NOT NULL;

-- What a bookmark is about, one row a word: `topic` is the same for all forms of one word, `form`
-- is how it was written.
CREATE TABLE topics (
    lib   BIGINT NOT NULL DEFAULT nw_lib(),
    pid   BIGINT NOT NULL,
    topic TEXT COLLATE "C" NOT NULL,
    form  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (lib, pid, topic),
    FOREIGN KEY (lib, pid) REFERENCES bookmarks (lib, pid) ON DELETE CASCADE
);
CALL nw_guard('topics');

CREATE INDEX topic_bookmarks ON topics (lib, topic);
