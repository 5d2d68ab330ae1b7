-- The books: double entry in millionths of the currency. Nothing is changed or deleted.
CREATE TABLE accounts (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    name  TEXT NOT NULL UNIQUE,
    -- The balance may not go below this; NULL for accounts of the outside.
    floor INTEGER
) STRICT;
