//! `read` prints a note or a part of it; `open` hands it to an editor, Obsidian or a browser.

use std::process::Command;

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{
    Common,
    bar::Bar,
    out,
    tool::{given, structured},
};
use crate::{
    app::{App, notes::NoteRef},
    config,
    domain::{Kind, MatchId, Result},
    vault,
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell read p29:c32                           the passage of a search result
  notewell read \"coffee/Coffee brewing.md\"        the whole note
  notewell read \"Coffee brewing\" --toc \"When it tastes wrong > Sour\"")]
pub struct Read {
    /// The match_id of a search result, a path, a title, an address or a number
    #[arg(value_name = "REF")]
    note: String,
    /// One section: its headings from the top, with > between them
    #[arg(long, value_name = "A > B")]
    toc: Option<String>,
    /// The passage of a search result
    #[arg(long = "match", value_name = "p1:c2")]
    match_id: Option<String>,
    /// As HTML instead of Markdown
    #[arg(long)]
    html: bool,
    /// Print the structured answer
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell open p29:c32
  notewell open \"Coffee brewing\" --obsidian")]
pub struct Open {
    /// The match_id of a search result, a path, a title, an address or a number
    #[arg(value_name = "REF")]
    note: String,
    /// In Obsidian instead of $VISUAL or $EDITOR
    #[arg(long)]
    obsidian: bool,
}

/// What a person calls an item at the shell.
pub fn reference(text: &str) -> NoteRef {
    let mut reference = NoteRef::default();
    if let Ok(MatchId { pid, .. }) = text.parse() {
        reference.pid = Some(pid.0);
        return reference;
    }
    // A note may be called by a number, too: the path is tried after it.
    reference.pid = text.parse().ok();
    match text.contains("://") {
        true => reference.href = Some(text.to_owned()),
        false => reference.path = Some(text.to_owned()),
    }
    reference
}

impl Read {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        refresh(&app)?;
        let NoteRef { pid, path, href, .. } = reference(&self.note);
        let is_match = self.note.parse::<MatchId>().is_ok();
        let match_id = self.match_id.or(is_match.then_some(self.note));
        let toc: Option<Vec<&str>> =
            self.toc.as_ref().map(|toc| toc.split('>').map(str::trim).collect());
        let format = if self.html { "html" } else { "markdown" };
        let arguments = given([
            ("pid", pid.map(Value::from)),
            ("path", path.map(Value::from)),
            ("href", href.map(Value::from)),
            ("toc_path", toc.map(|toc| json!(toc))),
            ("match_id", match_id.map(Value::from)),
            ("format", Some(format.into())),
        ]);
        let answer = structured(&app, "note_html", arguments)?;
        if self.json {
            return out::json(&answer);
        }
        let text = |field: &str| answer[field].as_str().unwrap_or_default();
        out::say(text("content").trim_end());
        answer["remark"].as_str().into_iter().for_each(out::note);
        Ok(())
    }
}

impl Open {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        refresh(&app)?;
        let opened = app.open_note(&reference(&self.note), &app.owner())?;
        if let Some(row) = &opened.page {
            let root = app.sources.root(&row.vault)?;
            let file = vault::locate(&root, &row.facts.page.path).display().to_string();
            if self.obsidian {
                let encoded = utf8_percent_encode(&file, NON_ALPHANUMERIC);
                launch(&opener(), &format!("obsidian://open?path={encoded}"));
            } else {
                launch(&config::editor(), &file);
            }
            return Ok(());
        }
        match opened.kind {
            Kind::Bookmark => launch(&opener(), &opened.url),
            kind => {
                // Neither a file nor an address: what there is to see is its text.
                out::note(format_args!("A {kind} is no file; this is its text."));
                out::say(opened.text.trim_end());
            }
        }
        Ok(())
    }
}

/// Looks for changes once, with a bar.
pub fn refresh(app: &App) -> Result<()> {
    let bar = Bar::new();
    let refreshed = app.refresh(&bar);
    bar.finish();
    refreshed
}

/// What opens an address on this platform.
fn opener() -> String {
    let program = match () {
        () if cfg!(target_os = "macos") => "open",
        () if cfg!(windows) => "explorer",
        () => "xdg-open",
    };
    program.to_owned()
}

/// Starts a program on a file or an address. Where it cannot start, the person still learns what
/// there was to open.
fn launch(program: &str, what: &str) {
    let mut words = program.split_whitespace();
    let status = match words.next() {
        Some(name) => Command::new(name).args(words).arg(what).status(),
        None => Err(std::io::ErrorKind::NotFound.into()),
    };
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => {
            out::say(what);
            out::note(format_args!("`{program}` ended with {status}."));
        }
        Err(error) => {
            out::say(what);
            out::note(format_args!(
                "`{program}` could not be started ({error}). Set $VISUAL or $EDITOR to your editor."
            ));
        }
    }
}
