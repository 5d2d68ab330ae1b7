-- What was found out about repositories: one report for each commit that was looked at.
CREATE TABLE reports (
    lib       BIGINT NOT NULL DEFAULT nw_lib(),
    -- The repository's address in its one spelling, in lower case.
    repo      TEXT COLLATE "C" NOT NULL,
    commit_id TEXT COLLATE "C" NOT NULL,
    verified  BIGINT NOT NULL,
    score     BIGINT NOT NULL,
    verdict   TEXT COLLATE "C" NOT NULL,
    -- The whole report, as JSON.
    report    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (lib, repo, commit_id)
);
CALL nw_guard('reports');

CREATE INDEX newest_reports ON reports (lib, repo, verified);
