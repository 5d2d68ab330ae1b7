-- Whose pages a vault holds: NULL, what each page says; empty, nobody's; else the name of a user.
ALTER TABLE vaults ADD COLUMN author TEXT COLLATE "C";
