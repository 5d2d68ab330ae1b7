-- Long calls that clients follow as tasks.
CREATE TABLE tasks (
    -- Random, so that nobody guesses it.
    id        TEXT PRIMARY KEY,
    -- Whose call it is: `user:3`, `token:4`, `process`.
    caller    TEXT NOT NULL,
    tool      TEXT NOT NULL,
    -- The arguments as JSON, until the task ends.
    arguments TEXT,
    status    TEXT NOT NULL,
    -- What is being done, or why it ended.
    message   TEXT,
    created   INTEGER NOT NULL,
    updated   INTEGER NOT NULL,
    -- When it may be forgotten.
    expires   INTEGER NOT NULL,
    -- What the task asks its client, and what was answered: JSON objects by key.
    requests  TEXT NOT NULL,
    answers   TEXT NOT NULL,
    -- The result or the error, as JSON.
    outcome   TEXT,
    -- Whether its caller asked for the end.
    cancelled INTEGER NOT NULL,
    -- The process that runs it, and when that last said so.
    runner    TEXT NOT NULL,
    alive     INTEGER NOT NULL
) STRICT;

CREATE INDEX tasks_of_callers ON tasks (caller, status);
CREATE INDEX tasks_of_runners ON tasks (runner, status);
CREATE INDEX expiring_tasks ON tasks (expires);
