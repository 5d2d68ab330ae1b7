//! Importing a file in the browser: the same importer as at the shell, with its progress and every
//! record that it left out.

use askama::Template;
use axum::{
    extract::{FromRequestParts, Path, Request, State},
    response::Response,
};

use super::{
    access::BookmarkAccess,
    job::{Job, State as JobState},
};
use crate::{
    app::rights::Right,
    domain::{Error, Result},
    import::ImportReport,
    serve::{
        http::Site,
        web::{Audience, Form, Html, Reply, Shell, Visit, age::Age, errors, form, spool, upload},
    },
};

#[derive(Template)]
#[template(path = "import.html")]
struct ImportPage {
    shell: Shell,
    jobs: Vec<JobLine>,
    most: String,
    sees_all: bool,
}

struct JobLine {
    href: String,
    name: String,
    age: Age,
    state: &'static str,
}

#[derive(Template)]
#[template(path = "import_progress.html")]
struct ProgressPage {
    shell: Shell,
    name: String,
    /// `running`, `done` or `failed`.
    state: &'static str,
    doing: String,
    /// In percent, where the end is known.
    percent: Option<u64>,
    report: Option<ImportReport>,
    /// Records that were left out beyond those that are named.
    unnamed: usize,
    model: Option<String>,
    why: String,
    here: String,
}

/// `GET /bookmarks/import`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            let Some(access) = BookmarkAccess::to_write(visit) else {
                return Ok(Reply::from(errors::forbidden(visit)));
            };
            let line = |job: &std::sync::Arc<Job>| JobLine {
                href: format!("/bookmarks/import/{}", job.id),
                name: job.name.clone(),
                age: Age::of(job.started),
                state: word(&job.state()),
            };
            let page = ImportPage {
                shell: visit.shell(),
                jobs: visit.site.imports.latest().iter().map(line).collect(),
                most: megabytes(visit.app().config.limits.upload_bytes),
                sees_all: access.sees_all(),
            };
            Html::of(&page, Audience::Caller).map(Reply::from)
        })
        .await
}

/// `POST /bookmarks/import`: a form with one file.
pub async fn start(State(site): State<Site>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let visit = match Visit::from_request_parts(&mut parts, &site).await {
        Ok(visit) => visit,
        Err(never) => match never {},
    };
    if let Err(refused) = form::check_origin(&site, &visit, &parts.headers) {
        return *refused;
    }
    // Whoever may not import sends nothing to the disk.
    let Some(actor) = BookmarkAccess::to_write(&visit).map(|access| access.actor()) else {
        return errors::forbidden(&visit);
    };
    let data = visit.app().config.data.clone();
    let taken = match upload::boundary(&parts.headers) {
        Ok(boundary) => spool::take_in(&site, body, &boundary, &data).await,
        Err(error) => Err(error),
    };
    let begun = taken.and_then(|file| Ok((visit.site.imports.begin(&file.name)?, file)));
    let (job, file) = match begun {
        Ok(begun) => begun,
        Err(error) => return errors::page(&visit, error),
    };
    let address = format!("/bookmarks/import/{}", job.id);
    let app = site.hub.app.clone();
    let with_model = visit.rights().may(Right::LanguageModel);
    tokio::task::spawn_blocking(move || {
        // Whole: a closure takes only the fields that it names, and the folder goes with the rest.
        let file = file;
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            job.run(&app, &file.path, with_model, &actor);
        }));
        if ran.is_err() {
            job.fail("the import ended unexpectedly; what was imported before stays, and the log says more");
        }
    });
    axum::response::IntoResponse::into_response(Reply::see(&address))
}

/// `GET /bookmarks/import/{id}`.
pub async fn progress(Path(id): Path<usize>, visit: Visit) -> Response {
    visit
        .run(move |visit| {
            if BookmarkAccess::to_write(visit).is_none() {
                return Ok(Reply::from(errors::forbidden(visit)));
            }
            let page = page(visit, &*job(visit, id)?);
            Html::of(&page, Audience::Caller).map(Reply::from)
        })
        .await
}

/// `POST /bookmarks/import/{id}`: stops it.
pub async fn stop(Path(id): Path<usize>, form: Form) -> Response {
    let visit = form.visit.clone();
    visit
        .run(move |visit| {
            if BookmarkAccess::to_write(visit).is_none() {
                return Ok(Reply::from(errors::forbidden(visit)));
            }
            job(visit, id)?.stop();
            Ok(Reply::see(&format!("/bookmarks/import/{id}")))
        })
        .await
}

fn job(visit: &Visit, id: usize) -> Result<std::sync::Arc<Job>> {
    visit.site.imports.get(id).ok_or_else(|| {
        Error::not_found(
            "there is no such import; the server keeps the last ones until it stops, and what they imported stays",
        )
    })
}

fn page(visit: &Visit, job: &Job) -> ProgressPage {
    let state = job.state();
    let mut page = ProgressPage {
        shell: visit.shell(),
        name: job.name.clone(),
        state: word(&state),
        doing: String::new(),
        percent: None,
        report: None,
        unnamed: 0,
        model: None,
        why: String::new(),
        here: format!("/bookmarks/import/{}", job.id),
    };
    match state {
        JobState::Running { done, total, doing } => {
            page.doing = doing;
            page.percent = total.filter(|total| *total > 0).map(|total| done * 100 / total);
        }
        JobState::Done(outcome) => {
            page.unnamed = outcome.report.skipped.total - outcome.report.skipped.first.len();
            page.model = outcome.model.as_deref().map(errors::sentence);
            page.report = Some(outcome.report);
        }
        JobState::Failed(why) => page.why = errors::sentence(&why),
    }
    page
}

fn word(state: &JobState) -> &'static str {
    match state {
        JobState::Running { .. } => "running",
        JobState::Done(_) => "done",
        JobState::Failed(_) => "failed",
    }
}

fn megabytes(bytes: usize) -> String {
    format!("{} MB", bytes >> 20)
}
