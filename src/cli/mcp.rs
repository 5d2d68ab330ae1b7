use std::{path::PathBuf, sync::Arc};

use clap::Args;

use super::{Common, asked_to_end, runtime};
use crate::{
    app::App,
    config::Config,
    domain::{Result, Toolsets},
    serve::mcp::stdio,
    telemetry::{self, Form},
};

#[derive(Args)]
pub struct Mcp {
    /// Offer only these tools: vault, cards, bookmarks, prompts, market
    #[arg(long, value_name = "LIST")]
    toolsets: Option<String>,
    /// Folders of Markdown notes, beside those of --vault
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
}

impl Mcp {
    pub fn run(self, common: &Common) -> Result<()> {
        let mut flags = common.flags();
        flags.vaults.extend(self.folders);
        let config = Config::load(&flags)?;
        telemetry::start_logs(&config.log, Form::Json);
        let toolsets = match &self.toolsets {
            Some(list) => Toolsets::parse(list)?,
            None => Toolsets::ALL,
        };
        let app = Arc::new(App::open(config, crate::tools::names())?);
        app.start()?;
        let runtime = runtime()?;
        let result = runtime.block_on(async {
            tokio::select! {
                result = stdio::serve(app.clone(), toolsets) => result,
                () = asked_to_end() => Ok(()),
            }
        });
        app.stop();
        // A read of stdin may still be blocked; nothing is left to do for it.
        runtime.shutdown_background();
        result
    }
}
