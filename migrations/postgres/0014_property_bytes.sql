-- Bytes of the properties of each vault's files, with their names.
ALTER TABLE hosted_usage ADD COLUMN property_bytes BIGINT NOT NULL DEFAULT 0;
-- Of every library: the rule that shows one of them does not bind the owner meanwhile.
ALTER TABLE hosted_usage NO FORCE ROW LEVEL SECURITY;
ALTER TABLE hosted_files NO FORCE ROW LEVEL SECURITY;
ALTER TABLE hosted_properties NO FORCE ROW LEVEL SECURITY;
UPDATE hosted_usage u SET property_bytes = (
    SELECT coalesce(sum(octet_length(p.xml) + octet_length(p.name)
        + octet_length(p.namespace)), 0)
    FROM hosted_properties p JOIN hosted_files f ON f.lib = p.lib AND f.id = p.file
    WHERE f.lib = u.lib AND f.vault = u.vault);
ALTER TABLE hosted_usage FORCE ROW LEVEL SECURITY;
ALTER TABLE hosted_files FORCE ROW LEVEL SECURITY;
ALTER TABLE hosted_properties FORCE ROW LEVEL SECURITY;
