-- Bytes of the properties of each vault's files, with their names.
ALTER TABLE hosted_usage ADD COLUMN property_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE hosted_usage SET property_bytes = (
    SELECT coalesce(sum(length(p.xml) + length(CAST(p.name AS BLOB))
        + length(CAST(p.namespace AS BLOB))), 0)
    FROM hosted_properties p JOIN hosted_files f ON f.id = p.file
    WHERE f.vault = hosted_usage.vault);
