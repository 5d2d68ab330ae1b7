//! The state of the library, and what `doctor` finds.

use askama::Template;
use axum::response::Response;

use super::super::{Audience, Html, Shell, Visit, age::Age, errors::sentence};
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
    /// Passages with a vector, of all, in percent.
    vectors: Option<(u64, u64, u64)>,
    /// Whether work goes on.
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
    mend: String,
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
            let vectors = status.vectors.map(|(done, total)| {
                let share = (done * 100).checked_div(total).unwrap_or(100);
                (done, total, share)
            });
            let vaults = std::mem::take(&mut status.vaults).into_iter().map(|vault| Vault {
                seen: vault.seen.map(Age::of),
                problem: vault.problem.map(|problem| sentence(&problem)),
                name: vault.name,
                root: vault.root,
                pages: vault.pages,
            });
            let state = State {
                vaults: vaults.collect(),
                vectors,
                is_busy: status.behind > 0 || vectors.is_some_and(|(done, total, _)| done < total),
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
                mend: match finding.mend.is_empty() {
                    true => String::new(),
                    false => sentence(&finding.mend),
                },
            });
            let findings: Vec<Finding> = findings.collect();
            let wrong = findings.iter().filter(|finding| finding.is_wrong).count();
            Html::of(&DoctorPage { shell: visit.shell(), findings, wrong }, Audience::Caller)
        })
        .await
}
