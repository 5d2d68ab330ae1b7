use clap::Args;

use super::{Common, bar::Bar, out};
use crate::domain::{Progress, Result};

#[derive(Args)]
pub struct Index {
    /// Make the index anew; searches use the old one until it is whole
    #[arg(long)]
    rebuild: bool,
    /// Words only: leave the vectors to the background of a server
    #[arg(long)]
    words: bool,
}

impl Index {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        let bar = Bar::new();
        app.refresh(&bar)?;
        if self.rebuild {
            app.index.rebuild(&|done, total| {
                bar.report(done as u64, Some(total as u64), "indexing");
            })?;
        }
        app.catch_up(&bar)?;
        if !self.words {
            app.embed_all(&bar)?;
        }
        bar.finish();
        let status = app.status()?;
        out::say(format_args!(
            "{} pages, {} cards, {} bookmarks, {} prompts: {} passages, all of them in the index",
            status.pages, status.cards, status.bookmarks, status.prompts, status.passages
        ));
        if let Some((done, total)) = status.vectors {
            out::say(format_args!("vectors: {done} of {total}"));
        }
        Ok(())
    }
}
