-- Why a vault could not be read at the last look: `empty` when it had notes and now has none,
-- otherwise a sentence. NULL: it was read.
ALTER TABLE vaults ADD COLUMN problem TEXT COLLATE "C";

-- One word for the kind of reason, so that a remedy can be named.
ALTER TABLE skipped ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT '';

-- Finds the page that a file which appeared may have moved from.
CREATE INDEX page_hashes ON pages (lib, hash);
