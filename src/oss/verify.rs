//! Makes a report: fetch, read, check, build, judge. All files of one verification are in one folder,
//! which is removed when it ends, also after an error.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use super::{
    build::Builder,
    checks::{self, Subject},
    clone::{self, Checkout, Git},
    coverage, history, language, licence, lockfiles,
    metadata::{self, Metadata},
    report::{Facts, Origin, Report},
    tree::Tree,
    url::RepoUrl,
    verdict::VerdictInput,
    vulnerabilities::{self, Known},
};
use crate::{
    config,
    domain::{Code, Error, Progress, Result, Timestamp, error::Doing},
};

const PREFIX: &str = "oss-";
/// The age at which a folder that a killed process left behind is removed.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// Steps that progress counts.
const STEPS: u64 = 6;

/// The repository to report on.
#[derive(Debug, Clone)]
pub enum Target {
    /// A repository on a forge.
    Forge(RepoUrl),
    /// A folder of this machine. Only the shell may name one.
    Local(PathBuf),
}

impl Target {
    /// The address or path for the report.
    pub fn url(&self) -> String {
        match self {
            Target::Forge(repo) => repo.url.clone(),
            Target::Local(path) => format!("file://{}", path.display()),
        }
    }

    /// The short name for the report.
    pub fn name(&self) -> String {
        match self {
            Target::Forge(repo) => repo.name().to_owned(),
            Target::Local(path) => {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                name.map_or_else(String::new, |name| name.trim_end_matches(".git").to_owned())
            }
        }
    }

    /// The key of its reports in the store.
    pub fn key(&self) -> String {
        match self {
            Target::Forge(repo) => repo.key(),
            Target::Local(_) => self.url(),
        }
    }
}

/// Makes one report.
pub struct Verification {
    /// Limits and hosts.
    pub config: config::Oss,
    /// Where clones are made.
    pub folder: PathBuf,
    /// Set to end everything that runs.
    pub stop: Arc<AtomicBool>,
}

impl Verification {
    /// Fetches, checks and builds the target.
    pub fn run(&self, target: &Target, progress: &dyn Progress) -> Result<Report> {
        std::fs::create_dir_all(&self.folder).doing("make the folder for clones")?;
        sweep(&self.folder);
        let work = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(&self.folder)
            .doing("make a folder for a clone")?;
        let report = self.verify(target, work.path(), progress);
        // A failure to clean up must not cost the report.
        if let Err(error) = work.close() {
            tracing::warn!(%error, "could not remove a clone");
        }
        report
    }

    fn verify(&self, target: &Target, work: &Path, progress: &dyn Progress) -> Result<Report> {
        let report_step = |step: u64, what: &str| progress.report(step, Some(STEPS), what);
        let now = Timestamp::now();
        report_step(1, "fetching the repository");
        let origin = match target {
            Target::Forge(repo) => clone::Origin::Forge(repo.clone()),
            Target::Local(path) => clone::Origin::Local(path.clone()),
        };
        let git = Git::new(&origin, &self.config, work, &self.stop)?;
        let checkout = git.checkout()?;
        report_step(2, "reading its history");
        let history = match history::read(&git, &checkout) {
            Ok(history) => Ok(history),
            Err(error) if error.code == Code::Outside => Err(error.message),
            Err(error) => return Err(error),
        };
        report_step(3, "reading its files");
        let tree = Tree::read(&checkout.tree)?;
        let dependencies = lockfiles::read(&tree);
        let vulnerabilities = vulnerabilities::look(&dependencies.packages, &self.config.osv);
        let subject =
            Subject { licence: licence::find(&tree), dependencies, history, vulnerabilities, tree };
        let (checks, alarms) = checks::run(&subject);
        self.still_wanted()?;
        let metadata = match target {
            Target::Forge(repo) => metadata::ask(repo, &self.config),
            Target::Local(_) => Metadata::default(),
        };
        let step = std::cell::Cell::new(3);
        let built = Builder {
            tree: &subject.tree,
            dependencies: &subject.dependencies,
            config: &self.config,
            work,
            stop: &self.stop,
        }
        .build(&|what| {
            step.set(step.get() + 1);
            report_step(step.get(), what);
        })?;
        let score = checks::score(&checks);
        let not_examined = coverage::not_examined(&subject.tree, &subject.dependencies);
        let language = language::main(&subject.tree);
        let licence = subject.licence.as_ref().and_then(|licence| licence.spdx.clone());
        let mut facts = facts(&subject, &checkout, &metadata);
        facts.build_notes.clone_from(&built.build_notes);
        facts.test_notes.clone_from(&built.test_notes);
        let (verdict, notes) = VerdictInput {
            score,
            checks: &checks,
            alarms: &alarms,
            build: &built,
            facts: &facts,
            licence: licence.as_deref(),
            language: language.as_deref(),
            committed: Timestamp(checkout.committed * 1000),
            now,
            little_code: (!subject.tree.has_code()).then(|| subject.tree.code_bytes()),
            not_examined: &not_examined,
        }
        .judge();
        report_step(STEPS, "done");
        Ok(Report {
            repo_url: target.url(),
            repo_name: target.name(),
            stars: metadata.stars,
            license: licence,
            language,
            security_score: score,
            security_verdict: verdict,
            build_result: built.build,
            test_result: built.test,
            usage_notes: notes,
            verified_at: now.to_string(),
            checks,
            sources: sources(&subject, &checkout, &metadata),
            commit: checkout.commit,
            facts,
            not_examined,
        })
    }

    fn still_wanted(&self) -> Result<()> {
        match self.stop.load(Ordering::Acquire) {
            true => Err(Error::new(Code::Cancelled, "Notewell is stopping")),
            false => Ok(()),
        }
    }
}

fn facts(subject: &Subject, checkout: &Checkout, metadata: &Metadata) -> Facts {
    let history = subject.history.as_ref().ok();
    let moment = |seconds: i64| Timestamp(seconds * 1000).to_string();
    let dependencies = &subject.dependencies;
    let asked = dependencies.manifests.iter().map(|manifest| manifest.dependencies).sum();
    Facts {
        description: metadata.description.clone(),
        archived: metadata.archived,
        files: subject.tree.files.len(),
        bytes: subject.tree.bytes,
        committed_at: moment(checkout.committed),
        first_commit_at: history.map(|history| moment(history.oldest)),
        first_commit_at_least: history.is_none_or(|history| !history.complete),
        commits_last_year: history.map(|history| history.commits),
        contributors_last_year: history.map(|history| history.contributors),
        tags: history.map_or(0, |history| history.tags.len()),
        latest_tag: history.and_then(|history| history.tags.first().cloned()),
        dependencies: dependencies.packages.len().max(asked),
        build_notes: String::new(),
        test_notes: String::new(),
    }
}

fn sources(subject: &Subject, checkout: &Checkout, metadata: &Metadata) -> Vec<Origin> {
    let origin = |what: &str, from: &str| Origin { what: what.into(), from: from.into() };
    let mut sources = vec![origin("files, history and tags, by git", &checkout.from)];
    if let Some(from) = &metadata.from {
        sources.push(origin("stars and description", from));
    }
    if let Known::Checked { by, .. } = &subject.vulnerabilities {
        sources.push(origin("known vulnerabilities (OSV)", by));
    }
    sources
}

/// Removes the folders that killed processes left behind.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let old = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > STALE));
        if ours && old {
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
}
