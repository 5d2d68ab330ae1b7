//! `read` prints a note or a part of it.

use clap::Args;
use serde_json::{Value, json};

use super::{
    Common,
    bar::Bar,
    out,
    tool::{given, structured},
};
use crate::{
    app::{App, notes::NoteRef},
    domain::{MatchId, Pid, Result},
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

/// What a person calls an item at the shell.
pub fn reference(app: &App, text: &str) -> Result<NoteRef> {
    let mut reference = NoteRef::default();
    if let Ok(MatchId { pid, .. }) = text.parse() {
        reference.pid = Some(pid.0);
        return Ok(reference);
    }
    // `p29` without a passage, unless something is called so.
    if let Some(pid) = Pid::of_pointer(text)
        && app.find_path(text, &app.owner())?.is_none()
    {
        reference.pid = Some(pid.0);
        return Ok(reference);
    }
    // A note may be called by a number, too: the path is tried after it.
    reference.pid = text.parse().ok();
    match text.contains("://") {
        true => reference.href = Some(text.to_owned()),
        false => reference.path = Some(text.to_owned()),
    }
    Ok(reference)
}

impl Read {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        refresh(&app)?;
        let NoteRef { pid, path, href, .. } = reference(&app, &self.note)?;
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

/// Looks for changes once, with a bar.
pub fn refresh(app: &App) -> Result<()> {
    let bar = Bar::new();
    let refreshed = app.refresh(&bar);
    bar.finish();
    refreshed
}
