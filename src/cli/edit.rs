//! `edit` opens a note or a section of it in the person's editor, and writes what comes back.

use clap::Args;

use super::{
    Common, editor, out,
    read::{reference, refresh},
};
use crate::{
    app::edit::{EditOp, EditRequest, Place, section_finder},
    domain::{Code, Error, MatchId, Result},
    markdown::{Section, edit::Edit},
    store::revisions::Actor,
    vault,
};

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell edit \"coffee/Coffee brewing.md\"
  notewell edit \"Coffee brewing\" --toc \"When it tastes wrong > Sour\"
  notewell edit p29:c32                           the section of a search result

The editor is $VISUAL or $EDITOR. A note that somebody else changed meanwhile is merged where the two
changes do not touch; otherwise nothing is written and your text is kept.")]
pub struct EditCommand {
    /// The match_id of a search result, a path, a title, an address or a number
    #[arg(value_name = "REF")]
    note: String,
    /// One section: its headings from the top, with > between them
    #[arg(long, value_name = "A > B")]
    toc: Option<String>,
}

impl EditCommand {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        refresh(&app)?;
        let rights = app.owner();
        let opened = app.open_note(&reference(&app, &self.note)?, &rights)?;
        if opened.page.is_none() {
            return Err(Error::invalid_params(format!(
                "`{}` is a {}, not a note of a vault; `notewell {} --help` says how to change it",
                self.note, opened.kind, opened.kind
            )));
        }
        let headings: Vec<&str> =
            self.toc.iter().flat_map(|toc| toc.split('>').map(str::trim)).collect();
        let match_id = self.note.parse::<MatchId>().ok();
        let section: Option<Section> = match (headings.is_empty(), match_id) {
            (false, _) => Some(opened.note.outline.find(&headings)?.clone()),
            (true, Some(id)) => {
                let chunk = opened.chunks().into_iter().find(|chunk| chunk.ordinal == id.chunk);
                chunk.map(|chunk| opened.note.outline.find(&chunk.toc_path).cloned()).transpose()?
            }
            (true, None) => None,
        };
        let section = section.filter(|section| section.level > 0);
        let before = match &section {
            Some(section) => opened.note.section(&opened.text, section),
            None => &opened.text,
        };
        let (file, after) = editor::in_editor(&app.config.data, &opened.title, before)?;
        if after == before {
            out::say("Nothing changed.");
            return Ok(());
        }
        let etag = vault::etag(&vault::read::hash(opened.text.as_bytes()));
        app.bases.remember(&etag, &opened.text);
        let path = section.as_ref().map(|section| opened.note.outline.path_of(section));
        let find = section_finder(|outline| outline.find(path.as_deref().unwrap_or_default()));
        let request = EditRequest {
            note: reference(&app, &opened.pid.to_string())?,
            place: if path.is_some() { Place::Section(&find) } else { Place::Note },
            op: match path.is_some() {
                true => EditOp::Change(Edit::Replace(&after)),
                false => EditOp::Rewrite(&after),
            },
            etag: Some(&etag),
            dry_run: false,
            actor: Actor::shell("edit"),
            fenced: false,
        };
        match app.edit_page(&request, &rights) {
            Ok(answer) => {
                if answer.merged {
                    out::note("Somebody changed other parts of the note meanwhile; both are kept.");
                }
                match answer.change {
                    Some(change) => {
                        out::say(format_args!("Saved {} (change {change}).", answer.path));
                    }
                    None => out::say("Nothing changed."),
                }
                Ok(())
            }
            Err(error) => {
                let why = match error.code {
                    Code::Conflict => "the note was changed by somebody else meanwhile",
                    _ => error.plain(),
                };
                Err(editor::keep_draft(file, error.code, why))
            }
        }
    }
}
