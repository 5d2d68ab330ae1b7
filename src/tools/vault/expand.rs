use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::toc_path::TocPath;
use crate::{
    app::notes::NoteRef,
    domain::{Kind, Result},
    tools::{Answer, Cx, Effect, Right, Tool, Toolset},
};

/// How much of a section is shown before an agent decides to read it.
const PREVIEW: usize = 100;
/// Sections shown of one level; a level with more says so.
const SHOWN_SECTIONS: usize = 200;

/// A note's outline one level down, with previews; pass a child's path as toc_path to go deeper or to read it with note_html.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expand {
    pid: Option<i64>,
    note_id: Option<i64>,
    path: Option<String>,
    href: Option<String>,
    toc_path: Option<TocPath>,
}

#[derive(Serialize, JsonSchema)]
pub struct Outline {
    pid: i64,
    title: String,
    path: String,
    url: String,
    toc_path: Vec<String>,
    children: Vec<Child>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
    /// How the reference was read, where it names several notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Child {
    title: String,
    level: u8,
    path: Vec<String>,
    has_children: bool,
    preview: String,
}

impl Answer for Outline {
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

    fn aside(&self) -> Option<String> {
        self.remark.clone()
    }
}

impl Tool for Expand {
    const NAME: &'static str = "expand";
    const TITLE: &'static str = "Walk a note's outline";
    const TOOLSET: Toolset = Toolset::Vault;
    const RIGHT: Right = Right::Read(Kind::Page);
    const EFFECT: Effect = Effect::Reads;
    type Answer = Outline;

    fn call(self, cx: &Cx<'_>) -> Result<Outline> {
        let reference =
            NoteRef { pid: self.pid, note_id: self.note_id, path: self.path, href: self.href };
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
        Ok(Outline {
            pid: opened.pid.0,
            toc_path: outline.path_of(section),
            children,
            left_out,
            remark: opened.remark,
            title: opened.title,
            path: opened.path,
            url: opened.url,
        })
    }
}
