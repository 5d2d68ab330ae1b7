use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{place::PlaceList, toc_path::TocPath};
use crate::{
    app::notes::NoteRef,
    domain::{Error, Kind, Result},
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
};

/// How much of a section is shown before an agent decides to read it.
const PREVIEW: usize = 100;
/// Sections shown of one level; a level with more says so.
const SHOWN_SECTIONS: usize = 200;

/// List one level of a note's outline (pass a child's path as toc_path to go deeper, or to note_html to read it), of a folder by path, or of the library without arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expand {
    pid: Option<i64>,
    note_id: Option<i64>,
    path: Option<String>,
    href: Option<String>,
    toc_path: Option<TocPath>,
}

/// The sections of a note, or what is in a folder.
#[derive(Serialize, JsonSchema)]
pub struct Expanded {
    #[serde(flatten)]
    outline: Option<Outline>,
    #[serde(flatten)]
    place: Option<PlaceList>,
    /// How the reference was read, where it names several notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Outline {
    pid: i64,
    title: String,
    path: String,
    url: String,
    toc_path: Vec<String>,
    children: Vec<Child>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Child {
    title: String,
    level: u8,
    path: Vec<String>,
    has_children: bool,
    preview: String,
}

impl Answer for Expanded {
    fn text(&self) -> String {
        match (&self.outline, &self.place) {
            (Some(outline), _) => outline.text(),
            (None, Some(place)) => place.text(),
            (None, None) => String::new(),
        }
    }

    fn aside(&self) -> Option<String> {
        self.remark.clone()
    }
}

impl Outline {
    fn text(&self) -> String {
        let place = match self.toc_path.is_empty() {
            true => format!("{} (pid {})", self.title, self.pid),
            false => format!("{} (pid {}) > {}", self.title, self.pid, self.toc_path.join(" > ")),
        };
        if self.children.is_empty() {
            return format!("{place}\nNo sections below this; read it with note_html.");
        }
        let mut text = place;
        for (number, child) in self.children.iter().enumerate() {
            let more = if child.has_children { " (+)" } else { "" };
            text +=
                &format!("\n{}. {}{more}", number + 1, child.path.last().unwrap_or(&child.title));
            if !child.preview.is_empty() {
                text += &format!("\n   {}", child.preview);
            }
        }
        if let Some(left_out) = &self.left_out {
            text += &format!("\n{left_out}");
        }
        text
    }
}

impl Tool for Expand {
    const NAME: &'static str = "expand";
    const TITLE: &'static str = "Walk folders and outlines";
    const TOOLSET: Toolset = Toolset::Vault;
    const RIGHT: Right = Right::Read(Kind::Page);
    const EFFECT: Effect = Effect::Reads;
    type Answer = Expanded;

    fn call(self, cx: &Cx<'_>) -> Result<Expanded> {
        let reference =
            NoteRef { pid: self.pid, note_id: self.note_id, path: self.path, href: self.href };
        if let Some(place) = place(&reference, self.toc_path.as_ref(), cx)? {
            return Ok(Expanded { outline: None, place: Some(place), remark: None });
        }
        let opened = cx.app.open_note(&reference, cx.rights)?;
        let outline = &opened.note.outline;
        let section = match &self.toc_path {
            Some(path) if !path.is_empty() => path.find(outline)?,
            _ => outline.root(),
        };
        let children: Vec<Child> = outline
            .children(section)
            .take(SHOWN_SECTIONS)
            .map(|child| Child {
                title: child.title.clone(),
                level: child.level,
                path: outline.path_of(child),
                has_children: outline.children(child).next().is_some(),
                preview: opened.note.preview(child, PREVIEW),
            })
            .collect();
        let left_out = section.children.len() - children.len();
        let left_out = (left_out > 0).then(|| match left_out {
            1 => "1 more section on this level was left out; search for what you need".to_owned(),
            more => format!(
                "{more} more sections on this level were left out; search for what you need"
            ),
        });
        let remark = opened.remark;
        let outline = Outline {
            pid: opened.pid.0,
            toc_path: outline.path_of(section),
            children,
            left_out,
            title: opened.title,
            path: opened.path,
            url: opened.url,
        };
        Ok(Expanded { outline: Some(outline), place: None, remark })
    }
}

/// The place that is meant, where no note is: the library for no reference, a folder for its path.
fn place(
    reference: &NoteRef,
    toc_path: Option<&TocPath>,
    cx: &Cx<'_>,
) -> Result<Option<PlaceList>> {
    let has_toc_path = toc_path.is_some_and(|path| !path.is_empty());
    if reference.is_empty() {
        if has_toc_path {
            return Err(Error::invalid_params(
                "toc_path names a section of a note; name the note too, by pid or path",
            ));
        }
        return Ok(cx.app.place("", cx.rights)?.map(PlaceList::new));
    }
    let (None, None, None, Some(path)) =
        (reference.pid, reference.note_id, reference.href.as_ref(), reference.path.as_ref())
    else {
        return Ok(None);
    };
    // A path that ends with a slash is a folder; another is one where no note has it.
    let is_note = !path.trim_end().ends_with('/') && cx.app.find_path(path, cx.rights)?.is_some();
    if has_toc_path || is_note {
        return Ok(None);
    }
    Ok(cx.app.place(path, cx.rights)?.map(PlaceList::new))
}
