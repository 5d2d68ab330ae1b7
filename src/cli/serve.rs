use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use clap::Args;

use super::{Common, asked_to_end, client, out, runtime};
use crate::{
    app::App,
    config::Config,
    domain::{Result, Scope, error::Doing},
    serve::http::Server,
    telemetry::{self, Form},
};

#[derive(Args)]
pub struct Serve {
    /// The address to listen on [default: 127.0.0.1:7717]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Try it: serve the example vault from a throwaway data directory
    #[arg(long)]
    demo: bool,
}

impl Serve {
    pub fn run(self, common: &Common) -> Result<()> {
        // Kept until the server ends, and removed with everything in it.
        let throwaway = match self.demo {
            true => Some(tempfile::tempdir().doing("make a throwaway data directory")?),
            false => None,
        };
        let mut config = match &throwaway {
            None => common.config(self.listen)?,
            Some(dir) => demo_config(common, self.listen, dir.path())?,
        };
        telemetry::start_logs(&config.log, Form::Json);
        telemetry::start_metrics();
        let runtime = runtime()?;
        let result = runtime.block_on(async {
            let (listener, address) = Server::listen(config.server.listen)?;
            config.server.listen = address;
            let app = Arc::new(App::open(config, crate::tools::names())?);
            let server = Server::on(listener, app.clone())?;
            if let Some(dir) = &throwaway {
                let bookmarks = app.import_demo_bookmarks(dir.path())?;
                say_demo(&app, server.address, bookmarks)?;
            }
            app.start()?;
            out::say(format_args!("notewell is listening on http://{}", server.address));
            let result = server.run(asked_to_end()).await;
            app.stop();
            result
        });
        // Work that hangs in the file system would hold up the end for ever.
        runtime.shutdown_background();
        result
    }
}

fn demo_config(
    common: &Common,
    listen: Option<SocketAddr>,
    data: &std::path::Path,
) -> Result<Config> {
    let mut vaults = common.vaults.clone();
    if vaults.is_empty() {
        vaults.push(example_vault(data)?);
    }
    let flags = Common { data: Some(data.join("data")), vaults, config: common.config.clone() };
    flags.config(listen)
}

/// The example vault travels in the binary, so that the demo works from anywhere.
fn example_vault(data: &std::path::Path) -> Result<PathBuf> {
    let folder = data.join("vault");
    for (path, text) in crate::app::demo::PAGES {
        crate::app::demo::put(&folder.join(path), text)?;
    }
    Ok(folder)
}

fn say_demo(app: &App, address: SocketAddr, bookmarks: usize) -> Result<()> {
    let (_, secret) = app.create_token("demo", Scope::Owner, None)?;
    out::say(format_args!(
        "A demo library with {} example notes and {bookmarks} bookmarks. It is gone when you stop the server.\n\n\
         endpoint  http://{address}/_system/mcp\n\
         token     {secret}\n\n\
         Claude Code:\n  {}\n\n\
         Try it:\n  curl http://{address}/_system/mcp -H 'Authorization: Bearer {secret}' \\\n    \
         -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"search\",\"arguments\":{{\"query\":\"coffee\"}}}}}}'\n",
        crate::app::demo::PAGES.len(),
        client::claude_code_http(&format!("http://{address}/_system/mcp"), &secret),
    ));
    Ok(())
}
