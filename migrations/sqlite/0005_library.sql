-- Names this library. What is derived from it remembers the number, so that an index of another
-- database (this one was deleted, replaced or restored) is noticed and made anew.
CREATE TABLE library (
    id INTEGER PRIMARY KEY
) STRICT;

INSERT INTO library (id) VALUES (random());
