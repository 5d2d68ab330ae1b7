//! What the server works on in the background, each with how far it is.

use super::super::{Visit, address, bookmarks::JobState};
use crate::{
    app::{oss::Known, status::Status},
    domain::count,
};

/// One piece of work.
pub struct Work {
    /// What is worked on.
    pub name: String,
    /// What is being done.
    pub doing: String,
    /// In percent, where the end is known.
    pub percent: Option<u64>,
    /// Its own page.
    pub href: Option<String>,
}

/// The work of this moment.
pub fn going_on(visit: &Visit, status: &Status) -> Vec<Work> {
    let app = visit.app();
    let mut all = Vec::new();
    if !app.has_looked_at_vaults() {
        all.push(Work::new("Vaults", "reading the notes for the first time since the start"));
    }
    if status.behind > 0 && status.obstacle.is_none() {
        all.push(Work::new("Index", &format!("{} waiting", count(status.behind, "change"))));
    }
    if let Some((done, total)) = status.vectors.filter(|(done, total)| done < total) {
        let doing = format!("{done} of {total} passages");
        all.push(Work {
            percent: (done * 100).checked_div(total),
            ..Work::new("Search by meaning", &doing)
        });
    }
    for job in visit.site.imports.latest() {
        if let JobState::Running { done, total, doing } = job.state() {
            all.push(Work {
                percent: total.filter(|total| *total > 0).map(|total| done * 100 / total),
                href: Some(format!("/bookmarks/import/{}", job.id)),
                ..Work::new(&format!("Import of {}", job.name), &doing)
            });
        }
    }
    for (repository, known) in app.verifications_in_progress() {
        let name = format!("Report on {repository}");
        match known {
            Known::Verifying { step, steps, doing } => all.push(Work {
                percent: (step * 100).checked_div(steps),
                href: Some(address("/reports/of", [("repo", repository.as_str())])),
                ..Work::new(&name, &doing)
            }),
            Known::Queued { before } => {
                let waits = match before {
                    0 => "next in the queue".to_owned(),
                    before => format!("waits behind {}", count(before, "other")),
                };
                all.push(Work::new(&name, &waits));
            }
            Known::Report(_) | Known::Missing { .. } => {}
        }
    }
    all
}

impl Work {
    fn new(name: &str, doing: &str) -> Self {
        Self { name: name.to_owned(), doing: doing.to_owned(), percent: None, href: None }
    }
}
