use clap::Args;

use super::{Common, bar::Bar, interrupt, out, status::items};
use crate::{
    app::App,
    domain::{Error, Result, count},
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
        let app = self.open(common)?;
        let bar = Bar::new();
        app.refresh(&bar)?;
        if self.rebuild {
            app.index.rebuild(&|stage| stage.report(&bar))?;
            app.index.forget_repairs();
        }
        let freshness = app.catch_up(&bar)?;
        if let Some(obstacle) = freshness.obstacle {
            bar.finish();
            return Err(Error::invalid_request(format!(
                "the index is behind: {}; make room in `{}` and run `notewell index` again",
                obstacle.as_str(),
                app.config.data.display()
            )));
        }
        if !self.words {
            app.embed_all(&bar)?;
        }
        bar.finish();
        app.index.recent_repairs().iter().for_each(out::note);
        let status = app.status()?;
        let notices = app.notices(&app.owner())?;
        let all = if notices.is_empty() { ", all of them in the index" } else { " in the index" };
        out::say(format_args!("{}: {}{all}", items(&status), count(status.passages, "passage")));
        for notice in notices {
            out::say(notice);
        }
        if let Some((done, total)) = status.vectors {
            out::say(format_args!("vectors: {done} of {total} passages"));
        }
        Ok(())
    }

    /// Opens the library. A rebuild does not need anything of the old index: where that cannot be
    /// opened at all, it is removed.
    fn open(&self, common: &Common) -> Result<App> {
        let opened = common.open();
        let index = common.config()?.data.join("index");
        let Err(error) = opened else { return opened };
        if !self.rebuild || !index.exists() {
            return Err(error);
        }
        let removed = match index.is_dir() {
            true => std::fs::remove_dir_all(&index),
            false => std::fs::remove_file(&index),
        };
        if removed.is_err() {
            return Err(error);
        }
        out::note(format_args!("the old index could not be opened and was removed: {error}"));
        common.open()
    }
}
