-- Files and folders of vaults that live in this database. A folder has no hash. Every folder above
-- an entry has a row of its own.
CREATE TABLE hosted_files (
    id         INTEGER PRIMARY KEY,
    vault      TEXT NOT NULL,
    path       TEXT NOT NULL,
    -- The path of the folder that it is in; empty at the top.
    folder     TEXT NOT NULL,
    hash       BLOB,
    size       INTEGER NOT NULL,
    mtime_ns   INTEGER NOT NULL,
    created_ns INTEGER NOT NULL,
    -- When the row last changed, in milliseconds: the oldest of the trash goes first.
    changed    INTEGER NOT NULL,
    UNIQUE (vault, path)
) STRICT;
CREATE INDEX hosted_files_folder ON hosted_files (vault, folder);

-- The bytes, apart from the rows that are listed.
CREATE TABLE hosted_contents (
    file INTEGER PRIMARY KEY REFERENCES hosted_files (id) ON DELETE CASCADE,
    data BLOB NOT NULL
) STRICT;

-- Properties that WebDAV clients keep with a file, as XML.
CREATE TABLE hosted_properties (
    file      INTEGER NOT NULL REFERENCES hosted_files (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    xml       BLOB NOT NULL,
    PRIMARY KEY (file, namespace, name)
) STRICT;

-- What each vault holds, for its quota.
CREATE TABLE hosted_usage (
    vault TEXT PRIMARY KEY,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;
