use clap::Args;

use super::{Common, bar::Bar, interrupt, out, status::items};
use crate::{
    app::methods::OWNER,
    domain::{Progress, Result},
};

/// What is kept when the work is interrupted.
pub const INTERRUPTED: &str =
    "Stopped. What is indexed so far is kept; `notewell index` goes on from there.";
const REBUILD_INTERRUPTED: &str =
    "Stopped. The index in use is unchanged; `notewell index --rebuild` starts again.";

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
        interrupt::explain(if self.rebuild { REBUILD_INTERRUPTED } else { INTERRUPTED })?;
        let app = common.open()?;
        let bar = Bar::new();
        app.refresh(&bar)?;
        if self.rebuild {
            app.index.rebuild(&|done, total| {
                bar.report(done as u64, Some(total as u64), "indexing items");
            })?;
        }
        app.catch_up(&bar)?;
        if !self.words {
            app.embed_all(&bar)?;
        }
        bar.finish();
        let status = app.status()?;
        let notices = app.notices(&OWNER)?;
        let all = if notices.is_empty() { ", all of them in the index" } else { " in the index" };
        out::say(format_args!(
            "{}: {}{all}",
            items(&status),
            out::count(status.passages, "passage")
        ));
        for notice in notices {
            out::say(notice);
        }
        if let Some((done, total)) = status.vectors {
            out::say(format_args!("vectors: {done} of {total}"));
        }
        Ok(())
    }
}
