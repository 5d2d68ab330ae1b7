//! Findings about links between notes.

use super::Finding;
use crate::{
    app::App,
    domain::{Result, Visible},
    markdown::Note,
};

/// Links that are listed one by one, each with the nearest target.
const MAX_LISTED: usize = 50;

impl App {
    /// Links that lead to no note, no heading and no file.
    pub(super) fn check_links(&self, findings: &mut Vec<Finding>) -> Result<()> {
        let owner = self.owner();
        let library = self.library(&owner)?;
        let mut broken = 0;
        for row in self.sources.store.pages.list(None, usize::MAX, &Visible::everything())? {
            if row.facts.links.is_empty() {
                continue;
            }
            // A note that cannot be read now is a finding of its own.
            let Ok(file) = self.sources.page_text(&row) else { continue };
            let note = Note::parse(&file.text, row.facts.page.path.stem());
            let offers = broken < MAX_LISTED;
            for link in self.broken_links(&row, &note, &library, &owner, offers) {
                broken += 1;
                if broken > MAX_LISTED {
                    continue;
                }
                let remedy = match &link.nearest {
                    Some(nearest) => {
                        format!("perhaps `{nearest}` is meant; change the link, or make the note")
                    }
                    None => "change the link, or make the note".to_owned(),
                };
                findings.push(Finding::note(
                    format!("`{}` links to `{}`, which leads nowhere", row.path, link.target),
                    remedy,
                ));
            }
        }
        if broken > MAX_LISTED {
            findings.push(Finding::note(
                match broken - MAX_LISTED {
                    1 => "1 more link leads nowhere".to_owned(),
                    more => format!("{more} more links lead nowhere"),
                },
                "`note_html` with include `links` lists those of one note",
            ));
        }
        Ok(())
    }
}
