-- Cards, which SQLite has in a file of their own. `body` is the card as JSON without its images;
-- the columns beside it are what is ordered, filtered and compared.
CREATE TABLE cards (
    lib       BIGINT NOT NULL DEFAULT nw_lib(),
    id        TEXT COLLATE "C" NOT NULL,
    unpinned  BOOLEAN NOT NULL,
    place     DOUBLE PRECISION NOT NULL,
    -- The moment of the last change, negated: the newest is the lowest.
    age       BIGINT NOT NULL,
    archived  BOOLEAN NOT NULL,
    -- When a reminder that is not done comes.
    reminder  BIGINT,
    -- A JSON list, or NULL.
    labels    TEXT COLLATE "C",
    -- A JSON list, or NULL.
    images    TEXT COLLATE "C",
    image_count BIGINT,
    -- Title, content and checklist items as they are compared, whatever the case.
    folded    TEXT COLLATE "C" NOT NULL,
    body      TEXT COLLATE "C" NOT NULL,
    -- Changes when the card does.
    stamp     BIGINT NOT NULL,
    PRIMARY KEY (lib, id)
);
CALL nw_guard('cards');

CREATE INDEX listed_cards ON cards (lib, unpinned, place, age, id);
CREATE INDEX newest_cards ON cards (lib, unpinned, age, id);
CREATE INDEX due_cards ON cards (lib, reminder) WHERE reminder IS NOT NULL;

-- The lines of the user's library of prompts, as the file `user.jsonl` would have them. Numbers
-- rise; a line keeps its number while it stays.
CREATE TABLE prompts (
    lib    BIGINT NOT NULL DEFAULT nw_lib(),
    number BIGINT NOT NULL,
    line   BYTEA NOT NULL,
    PRIMARY KEY (lib, number)
);
CALL nw_guard('prompts');

-- How often cards and prompts of a library changed.
CREATE TABLE change_counts (
    lib     BIGINT NOT NULL DEFAULT nw_lib(),
    name    TEXT COLLATE "C" NOT NULL,
    changes BIGINT NOT NULL,
    PRIMARY KEY (lib, name)
);
CALL nw_guard('change_counts');

-- The user's prompts before a change.
CREATE TABLE prompt_snapshots (
    lib   BIGINT NOT NULL DEFAULT nw_lib(),
    id    TEXT COLLATE "C" NOT NULL,
    made  BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    lines BYTEA NOT NULL,
    PRIMARY KEY (lib, id)
);
CALL nw_guard('prompt_snapshots');

-- Values that prompts were rendered with, for completion.
CREATE TABLE completions (
    lib      BIGINT NOT NULL DEFAULT nw_lib(),
    prompt   TEXT COLLATE "C" NOT NULL,
    argument TEXT COLLATE "C" NOT NULL,
    value    TEXT COLLATE "C" NOT NULL,
    used     BIGINT NOT NULL DEFAULT nw_next('completions'),
    PRIMARY KEY (lib, prompt, argument, value)
);
CALL nw_guard('completions');

-- Vectors of passages, computed once for all replicas. `hash` is the SHA-256 of what was embedded;
-- `vector` is the scale (4 bytes) and one signed byte a value.
CREATE TABLE vectors (
    lib    BIGINT NOT NULL DEFAULT nw_lib(),
    model  TEXT COLLATE "C" NOT NULL,
    hash   BYTEA NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (lib, model, hash)
);
CALL nw_guard('vectors');

-- Passages that a replica wants vectors of. Whoever claims one computes it; a claim that is old
-- belongs to a replica that died.
CREATE TABLE vector_queue (
    lib     BIGINT NOT NULL DEFAULT nw_lib(),
    model   TEXT COLLATE "C" NOT NULL,
    hash    BYTEA NOT NULL,
    claimed TIMESTAMPTZ,
    PRIMARY KEY (lib, model, hash)
);
CALL nw_guard('vector_queue');

-- Counts changes of what the change log does not have, so that replicas notice them.
ALTER TABLE libraries ADD COLUMN state BIGINT NOT NULL DEFAULT 0;

CREATE FUNCTION nw_state_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE libraries SET state = state + 1 WHERE id = nw_lib();
    PERFORM pg_notify('nw', nw_lib() || ':state');
    RETURN NULL;
END $$;

CREATE TRIGGER vaults_changed AFTER INSERT OR UPDATE OR DELETE ON vaults
    FOR EACH STATEMENT EXECUTE FUNCTION nw_state_changed();
CREATE TRIGGER skipped_changed AFTER INSERT OR UPDATE OR DELETE ON skipped
    FOR EACH STATEMENT EXECUTE FUNCTION nw_state_changed();
