//! One report, and the verification in progress.

use askama::Template;
use axum::response::Response;

use super::{address, may, view::ReportView};
use crate::{
    app::oss::Known,
    domain::{Error, Result, count, error::Doing},
    oss::Report,
    serve::web::{
        Audience, Html, Reply, Shell, Visit,
        age::Age,
        encode,
        errors::{self, sentence},
    },
};

/// Earlier reports on the same repository that are listed.
const EARLIER: usize = 20;

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage {
    shell: Shell,
    name: String,
    /// The address that the form sends.
    repo_url: String,
    state: Progress,
    report: Option<ReportView>,
    earlier: Vec<Earlier>,
}

/// The part of the page that changes while a verification runs.
#[derive(Template)]
#[template(path = "report_progress.html")]
struct Progress {
    /// What is being done; empty when nothing is.
    doing: String,
    step: u64,
    steps: u64,
    /// Why the last verification failed.
    failed: Option<String>,
    /// Where the report is, when there is one.
    href: Option<String>,
    /// Whether the page shows the report already.
    is_shown: bool,
}

struct Earlier {
    href: String,
    commit: String,
    score: u8,
    age: Age,
    is_this: bool,
}

/// `GET /reports/of?repo=…&commit=…`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| match may(visit) {
            true => page(visit).map(Reply::from),
            false => Ok(Reply::from(errors::forbidden(visit))),
        })
        .await
}

fn page(visit: &Visit) -> Result<Html> {
    let app = visit.app();
    let repo = visit.value("repo").ok_or_else(|| {
        Error::invalid_params("the address names no repository; open it from the list of reports")
    })?;
    let commit = visit.value("commit");
    let stored = match commit {
        Some(commit) => app.store.reports.of_commit(repo, commit)?,
        None => app.store.reports.newest(repo)?,
    };
    let (doing, step, steps) = match app.report_state(repo)? {
        Known::Queued { before: 0 } => ("next in the queue".to_owned(), 0, 0),
        Known::Queued { before } => (format!("waiting behind {}", count(before, "other")), 0, 0),
        Known::Verifying { step, steps, doing } => (doing, step, steps),
        Known::Report(_) | Known::Missing { .. } => (String::new(), 0, 0),
    };
    let failed = app.failed_report(repo).filter(|_| doing.is_empty());
    if stored.is_none() && doing.is_empty() && failed.is_none() {
        return Err(Error::not_found("there is no report on this repository, or on this commit"));
    }
    let state = Progress {
        doing,
        step,
        steps,
        failed: failed.map(|why| sentence(&why)),
        href: stored.as_ref().map(|_| address(repo)),
        is_shown: stored.is_some() && !visit.wants_part(),
    };
    if visit.wants_part() {
        return Html::of(&state, Audience::Caller);
    }
    let report: Option<Report> = stored
        .as_ref()
        .map(|stored| serde_json::from_str(&stored.json))
        .transpose()
        .doing(format_args!("read the stored report on `{repo}`"))?;
    let shown = stored.map(|stored| stored.commit);
    let earlier = app.store.reports.list(Some(repo), 0, EARLIER)?.into_iter().map(|line| Earlier {
        href: format!("{}&commit={}", address(repo), encode(&line.commit)),
        is_this: shown.as_deref() == Some(line.commit.as_str()),
        commit: line.commit.chars().take(12).collect(),
        score: line.score,
        age: Age::of(line.verified),
    });
    let page = ReportPage {
        shell: visit.shell(),
        name: report.as_ref().map_or_else(|| repo.to_owned(), |report| report.repo_name.clone()),
        repo_url: report.as_ref().map_or_else(|| repo.to_owned(), |r| r.repo_url.clone()),
        state,
        earlier: earlier.collect(),
        report: report.map(ReportView::new),
    };
    Html::of(&page, Audience::Caller)
}
