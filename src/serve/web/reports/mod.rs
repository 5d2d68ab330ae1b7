//! Reports on repositories: the list, one report with its evidence, and a new verification with its
//! progress.

mod one;
mod view;

use askama::Template;
use axum::{Router, http::StatusCode, response::Response, routing::get};

use super::{
    Audience, Form, Html, Reply, Shell, Visit,
    age::Age,
    encode,
    errors::{self, sentence},
};
use crate::{
    app::rights::Right,
    domain::{Code, Result},
    oss::Verdict,
    serve::http::Site,
};

/// Reports on a page.
const SHOWN: usize = 30;

/// The pages of reports.
pub fn pages() -> Router<Site> {
    Router::new().route("/reports", get(show).post(verify)).route("/reports/of", get(one::show))
}

/// Whether the visitor may have repositories verified, and read the reports.
pub fn may(visit: &Visit) -> bool {
    visit.rights().may(Right::VerifyRepositories)
}

/// The address of the report on a repository.
fn address(repo: &str) -> String {
    format!("/reports/of?repo={}", encode(repo))
}

/// What a verdict is called for people, and its colour.
fn verdict_words(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Safe => ("no red flags found", "good"),
        Verdict::Verify => ("verify before you use it", ""),
        Verdict::Caution => ("use with caution", "bad"),
        Verdict::Avoid => ("avoid", "bad"),
    }
}

#[derive(Template)]
#[template(path = "reports.html")]
struct ReportsPage {
    shell: Shell,
    lines: Vec<Line>,
    newer: Option<String>,
    older: Option<String>,
    is_first: bool,
    hosts: String,
    repo_url: String,
    problem: Option<String>,
}

struct Line {
    href: String,
    name: String,
    commit: String,
    score: u8,
    verdict: &'static str,
    colour: &'static str,
    age: Age,
}

/// `GET /reports`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| match may(visit) {
            true => list(visit, String::new(), None).map(Reply::from),
            false => Ok(Reply::from(errors::forbidden(visit))),
        })
        .await
}

fn list(visit: &Visit, repo_url: String, problem: Option<String>) -> Result<Html> {
    let start: usize = visit.value("start").and_then(|start| start.parse().ok()).unwrap_or(0);
    // One more than is shown tells whether there is another page.
    let mut found = visit.app().store.reports.list(None, start, SHOWN + 1)?;
    let has_more = found.len() > SHOWN;
    found.truncate(SHOWN);
    let lines = found.into_iter().map(|report| {
        let (verdict, colour) = report.verdict.parse().map_or(("unknown", ""), verdict_words);
        Line {
            href: address(&report.repo),
            name: report.repo.split_once("://").map_or(report.repo.clone(), |(_, n)| n.to_owned()),
            commit: report.commit.chars().take(12).collect(),
            score: report.score,
            verdict,
            colour,
            age: Age::of(report.verified),
        }
    });
    let other = |start: usize| match start {
        0 => "/reports".to_owned(),
        start => format!("/reports?start={start}"),
    };
    let page = ReportsPage {
        shell: visit.shell(),
        lines: lines.collect(),
        newer: (start > 0).then(|| other(start.saturating_sub(SHOWN))),
        older: has_more.then(|| other(start + SHOWN)),
        is_first: start == 0,
        hosts: visit.app().config.oss.allowed_hosts.join(", "),
        repo_url,
        problem,
    };
    Html::of(&page, Audience::Caller)
}

/// `POST /reports`: starts a verification and shows its progress.
pub async fn verify(form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            if !may(visit) {
                return Ok(Reply::from(errors::forbidden(visit)));
            }
            let repo_url = form.field("repo_url");
            match visit.app().begin_report(repo_url) {
                Ok(target) => Ok(Reply::see(&address(&target.key()))),
                Err(error)
                    if matches!(
                        error.code,
                        Code::InvalidParams | Code::InvalidRequest | Code::Limit
                    ) =>
                {
                    let problem = Some(sentence(error.plain()));
                    let html = list(visit, repo_url.to_owned(), problem)?;
                    Ok(html.with_status(StatusCode::UNPROCESSABLE_ENTITY).into())
                }
                Err(error) => Err(error),
            }
        })
        .await
}
