-- Whose pages a vault holds: NULL, what each page says; empty, nobody's; else the name of a user.
ALTER TABLE vaults ADD COLUMN author TEXT;

-- A page with `mcp_method` and `price` is not free any more. Read those pages again.
UPDATE pages SET size = -1 WHERE method IS NOT NULL;
