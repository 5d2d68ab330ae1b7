-- What was found out about repositories: one report for each commit that was looked at.
CREATE TABLE reports (
    -- The repository's address in its one spelling, in lower case.
    repo     TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    verified INTEGER NOT NULL,
    score    INTEGER NOT NULL,
    verdict  TEXT NOT NULL,
    -- The whole report, as JSON.
    report   TEXT NOT NULL,
    PRIMARY KEY (repo, commit_id)
) STRICT;

CREATE INDEX newest_reports ON reports (repo, verified);
