//! The audit log.

use askama::Template;
use axum::response::Response;

use super::super::{Audience, Html, Shell, Visit, account::Person, age::Age};

/// Entries on a page.
const SHOWN: usize = 100;

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    shell: Shell,
    entries: Vec<Line>,
    who: String,
    older: Option<String>,
}

struct Line {
    at: Age,
    who: String,
    action: String,
    subject: String,
    address: String,
    outcome: String,
}

/// `GET /audit`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            Person::owner(visit)?;
            let before = visit.value("before").and_then(|id| id.parse().ok());
            let who = visit.value("who");
            let found = visit.app().store.audit.entries(before, who, SHOWN)?;
            let older = found.last().filter(|_| found.len() == SHOWN).map(|oldest| {
                let mut query = url::form_urlencoded::Serializer::new(String::new());
                query.append_pair("before", &oldest.id.to_string());
                if let Some(who) = who {
                    query.append_pair("who", who);
                }
                format!("/audit?{}", query.finish())
            });
            let entries = found.into_iter().map(|entry| Line {
                at: Age::of(entry.at),
                who: entry.who,
                action: entry.action.replace('_', " "),
                subject: entry.subject,
                address: entry.address,
                outcome: entry.outcome,
            });
            let page = AuditPage {
                shell: visit.shell(),
                entries: entries.collect(),
                who: who.unwrap_or_default().to_owned(),
                older,
            };
            Html::of(&page, Audience::Caller)
        })
        .await
}
