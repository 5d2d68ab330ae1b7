-- Long calls that clients follow as tasks.
CREATE TABLE tasks (
    lib       BIGINT NOT NULL DEFAULT nw_lib(),
    -- Random, so that nobody guesses it.
    id        TEXT COLLATE "C" NOT NULL,
    -- Whose call it is: `user:3`, `token:4`, `process`.
    caller    TEXT COLLATE "C" NOT NULL,
    tool      TEXT COLLATE "C" NOT NULL,
    -- The arguments as JSON, until the task ends.
    arguments TEXT COLLATE "C",
    status    TEXT COLLATE "C" NOT NULL,
    -- What is being done, or why it ended.
    message   TEXT COLLATE "C",
    created   BIGINT NOT NULL,
    updated   BIGINT NOT NULL,
    -- When it may be forgotten.
    expires   BIGINT NOT NULL,
    -- What the task asks its client, and what was answered: JSON objects by key.
    requests  TEXT COLLATE "C" NOT NULL,
    answers   TEXT COLLATE "C" NOT NULL,
    -- The result or the error, as JSON.
    outcome   TEXT COLLATE "C",
    -- Whether its caller asked for the end.
    cancelled BOOLEAN NOT NULL,
    -- The process that runs it, and when that last said so.
    runner    TEXT COLLATE "C" NOT NULL,
    alive     BIGINT NOT NULL,
    PRIMARY KEY (lib, id)
);
CALL nw_guard('tasks');

CREATE INDEX tasks_of_callers ON tasks (lib, caller, status);
CREATE INDEX tasks_of_runners ON tasks (lib, runner, status);
CREATE INDEX expiring_tasks ON tasks (lib, expires);
