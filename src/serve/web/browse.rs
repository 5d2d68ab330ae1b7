//! Folders, one level at a time.

use askama::Template;
use axum::response::Response;

use super::{Audience, Html, Shell, Visit, age::Age};
use crate::{
    app::rights::Right,
    domain::{Error, Kind},
};

#[derive(Template)]
#[template(path = "browse.html")]
struct Browse {
    shell: Shell,
    title: String,
    folder: String,
    crumbs: Vec<(String, String)>,
    folders: Vec<FolderLine>,
    notes: Vec<NoteLine>,
    total: usize,
    may_write: bool,
}

struct FolderLine {
    href: String,
    name: String,
    notes: usize,
}

/// Characters of a path that a message quotes.
const MAX_PATH_SHOWN: usize = 100;

struct NoteLine {
    href: String,
    title: String,
    file: String,
    age: Age,
}

/// The address of a folder.
pub fn address(folder: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("path", folder);
    format!("/browse?{}", query.finish())
}

/// `GET /browse?path=FOLDER`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| {
            let path = visit.value("path").unwrap_or_default();
            // The same for a folder that does not exist and for one that is not shared.
            let missing = || {
                let path: String = path.chars().take(MAX_PATH_SHOWN).collect();
                Error::not_found(format!(
                    "there is no folder `{path}` that you may see; `/browse` lists the others"
                ))
            };
            let place = visit.app().place(path, visit.rights())?.ok_or_else(missing)?;
            let folder = place.path.trim_end_matches('/').to_owned();
            let name = |path: &str| {
                let path = path.trim_end_matches('/');
                path.rsplit('/').next().unwrap_or(path).to_owned()
            };
            let mut crumbs: Vec<(String, String)> = folder
                .match_indices('/')
                .map(|(end, _)| (name(&folder[..end]), address(&folder[..end])))
                .collect();
            if !folder.is_empty() {
                crumbs.insert(0, ("Notes".to_owned(), "/browse".to_owned()));
            }
            let folders = place.folders.iter().map(|folder| FolderLine {
                href: address(folder.path.trim_end_matches('/')),
                name: name(&folder.path),
                notes: folder.notes,
            });
            let notes = place.notes.iter().map(|note| NoteLine {
                href: format!("/n/{}", note.pid),
                title: note.title.clone(),
                file: name(&note.path),
                age: Age::of(note.changed),
            });
            let page = Browse {
                shell: visit.shell(),
                title: if folder.is_empty() { "Notes".to_owned() } else { name(&folder) },
                crumbs,
                folders: folders.collect(),
                notes: notes.collect(),
                total: place.total,
                may_write: visit.rights().may(Right::Write(Kind::Page)),
                folder,
            };
            Html::of(&page, Audience::Caller)
        })
        .await
}
