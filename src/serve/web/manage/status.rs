//! The state of the library, and what `doctor` finds.

use askama::Template;
use axum::response::Response;

use super::{
    super::{Audience, Html, Shell, Visit, age::Age, errors::sentence},
    work::{Work, going_on},
};
use crate::{
    app::{doctor::Level, rights::Right, status::Status},
    domain::{Error, Result},
};

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage {
    shell: Shell,
    state: State,
}

/// The part of the page that changes while work goes on.
#[derive(Template)]
#[template(path = "state.html")]
struct State {
    status: Status,
    vaults: Vec<Vault>,
    /// Whether some passages cannot be found by meaning yet.
    lacks_vectors: bool,
    work: Vec<Work>,
    /// Whether the script looks again soon.
    is_busy: bool,
}

struct Vault {
    name: String,
    root: String,
    pages: u64,
    seen: Option<Age>,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "doctor.html")]
struct DoctorPage {
    shell: Shell,
    findings: Vec<Finding>,
    wrong: usize,
}

struct Finding {
    is_wrong: bool,
    what: String,
    remedy: String,
}

fn check(visit: &Visit) -> Result<()> {
    match visit.rights().may(Right::LibraryState) {
        true => Ok(()),
        false => Err(Error::not_found("this page is for the owner of this library")),
    }
}

/// `GET /status`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            check(visit)?;
            let mut status = visit.app().status()?;
            let work = going_on(visit, &status);
            let vaults = std::mem::take(&mut status.vaults).into_iter().map(|vault| Vault {
                seen: vault.seen.map(Age::of),
                problem: vault.problem.map(|problem| sentence(&problem)),
                name: vault.name,
                root: vault.root,
                pages: vault.pages,
            });
            let state = State {
                lacks_vectors: status.vectors.is_some_and(|(done, total)| done < total),
                vaults: vaults.collect(),
                is_busy: !work.is_empty(),
                work,
                status,
            };
            if visit.wants_part() {
                return Html::of(&state, Audience::Caller);
            }
            Html::of(&StatusPage { shell: visit.shell(), state }, Audience::Caller)
        })
        .await
}

/// `GET /doctor`.
pub async fn doctor(visit: Visit) -> Response {
    visit
        .run(|visit| {
            check(visit)?;
            let findings = visit.app().doctor()?.into_iter().map(|finding| Finding {
                is_wrong: finding.level == Level::Wrong,
                what: sentence(&finding.what),
                remedy: match finding.remedy.is_empty() {
                    true => String::new(),
                    false => sentence(&finding.remedy),
                },
            });
            let findings: Vec<Finding> = findings.collect();
            let wrong = findings.iter().filter(|finding| finding.is_wrong).count();
            Html::of(&DoctorPage { shell: visit.shell(), findings, wrong }, Audience::Caller)
        })
        .await
}
