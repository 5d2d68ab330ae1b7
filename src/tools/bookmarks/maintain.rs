use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    domain::{Code, Error, Result, Timestamp, VaultPath, count, query::words},
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
    vault,
};

words!(
    /// Long work on the library.
    Job, "job", { Import = "import", Judge = "judge", Rebuild = "rebuild" }
);

/// Long work on the library, as a task: import bookmarks from a file of a vault, judge bookmarks
/// again with the language model, or rebuild the index.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Maintain {
    job: Job,
    /// For import: the file, relative to its vault
    path: Option<String>,
}

/// What was done.
#[derive(Serialize, JsonSchema)]
pub struct Maintained {
    job: Job,
    message: String,
}

impl Answer for Maintained {
    fn text(&self) -> String {
        self.message.clone()
    }
}

impl Tool for Maintain {
    const NAME: &'static str = "maintain";
    const TITLE: &'static str = "Import, judge, rebuild";
    const TOOLSET: Toolset = Toolset::Bookmarks;
    const RIGHT: Right = Right::Maintain;
    const EFFECT: Effect = Effect::Sets;
    const LONG: bool = true;
    const TASK_ONLY: bool = true;
    type Answer = Maintained;

    fn call(self, cx: &Cx<'_>) -> Result<Maintained> {
        let message = match (self.job, &self.path) {
            (Job::Import, Some(path)) => import(cx, path)?,
            (Job::Import, None) => {
                return Err(Error::invalid_params(
                    "import needs `path`: an export of bookmarks in a vault, relative to the vault",
                ));
            }
            (_, Some(_)) => {
                return Err(Error::invalid_params("`path` belongs to the job `import` only"));
            }
            (Job::Judge, None) => judge(cx)?,
            (Job::Rebuild, None) => rebuild(cx)?,
        };
        Ok(Maintained { job: self.job, message })
    }
}

fn import(cx: &Cx<'_>, path: &str) -> Result<String> {
    let file = file(cx, path)?;
    let actor = cx.rights.actor(Maintain::NAME);
    let report = cx.app.import_bookmarks(&[file], Timestamp::now(), cx.progress, &actor)?;
    if let Some((_, why)) = report.failed.first() {
        return Err(Error::invalid_params(format!("`{path}` could not be imported: {why}")));
    }
    if report.stopped {
        return Err(Error::new(Code::Cancelled, "the import was stopped; what was filed stays"));
    }
    Ok(format!(
        "imported `{path}`: {} added, {} updated, {} unchanged, {} left out",
        report.added, report.updated, report.unchanged, report.skipped.total
    ))
}

/// A file of a vault that is no note. What is outside of the vaults is not there.
fn file(cx: &Cx<'_>, path: &str) -> Result<PathBuf> {
    let top = VaultPath::parse("top.md")?;
    let vaults = cx.app.store.pages.vaults()?;
    let found = vaults.iter().find_map(|row| {
        let inside = path.strip_prefix(&row.name).and_then(|rest| rest.strip_prefix('/'));
        let places = [Some(path), inside].into_iter().flatten();
        places.filter_map(|place| vault::attachment(row.folder(), &top, place, &[])).next()
    });
    found.ok_or_else(|| {
        Error::invalid_params(format!(
            "no vault has a file `{path}`; put the export into a vault and name it relative to the vault"
        ))
    })
}

fn judge(cx: &Cx<'_>) -> Result<String> {
    let judged = cx.app.judge_with_model(cx.progress, &cx.rights.actor(Maintain::NAME))?;
    let judged = judged.ok_or_else(|| {
        Error::invalid_params(
            "no language model is configured, and rules have judged every bookmark already; set `[llm]`",
        )
    })?;
    let stopped = judged.stopped.map(|why| format!("; it could not judge all of them: {why}"));
    let bookmarks = count(judged.judged, "bookmark");
    Ok(format!("{bookmarks} judged{}", stopped.unwrap_or_default()))
}

fn rebuild(cx: &Cx<'_>) -> Result<String> {
    cx.app.index.rebuild(&|stage| stage.report(cx.progress))?;
    cx.app.index.forget_repairs();
    cx.app.catch_up(cx.progress)?;
    let passages = count(cx.app.status()?.passages, "passage");
    Ok(format!("the index was made anew: {passages}"))
}
