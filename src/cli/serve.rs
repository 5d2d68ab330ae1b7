use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use clap::Args;

use super::{Common, asked_to_end, client, health, out, runtime, serving::Serving};
use crate::{
    app::App,
    config::{Config, Flags, listen_address},
    domain::{Error, Result, Scope, error::Doing},
    serve::http::Server,
    telemetry::{self, Form},
};

#[derive(Args)]
pub struct Serve {
    /// The address to listen on, or a port alone [default: 127.0.0.1:7717]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
    /// Accept requests for this host name too, such as host.docker.internal; repeat it for several
    #[arg(long = "allow-host", value_name = "NAME")]
    allowed_hosts: Vec<String>,
    /// Try it: serve the example vault from a throwaway data directory
    #[arg(long)]
    demo: bool,
    /// Ask the server that runs on this library whether it is ready, and end
    #[arg(long, conflicts_with_all = ["allowed_hosts", "demo"])]
    health: bool,
}

impl Serve {
    pub fn run(self, common: &Common) -> Result<()> {
        if self.health {
            return health::ask(&Config::load(&Flags { listen: self.listen, ..common.flags() })?);
        }
        // Kept until the server ends, and removed with everything in it.
        let throwaway = match self.demo {
            true => Some(tempfile::tempdir().doing("make a throwaway data directory")?),
            false => None,
        };
        let mut flags = match &throwaway {
            None => common.flags(),
            Some(dir) => demo_flags(common, dir.path())?,
        };
        flags.listen = self.listen;
        flags.allowed_hosts = self.allowed_hosts;
        let mut config = Config::load(&flags)?;
        telemetry::start_logs(&config.log, Form::of_stderr());
        telemetry::start_metrics();
        if let Some(warning) = config.exposure() {
            tracing::warn!("{warning}");
        }
        raise_file_limit();
        let drain = Duration::from_secs(config.server.drain_seconds);
        let runtime = runtime()?;
        let (app, result, asked) = runtime.block_on(async {
            let (listener, address) = Server::listen(config.server.listen)?;
            config.server.listen = address;
            let app = Arc::new(App::open(config, crate::tools::names())?);
            let server = Server::on(listener, app.clone())?;
            if let Some(dir) = &throwaway {
                let bookmarks = app.import_demo_bookmarks(dir.path())?;
                say_demo(&app, server.address, bookmarks)?;
            }
            app.start()?;
            let _serving = Serving::announce(&app.config.data, server.address);
            say_setup_code(&app, server.address);
            out::say(format_args!("notewell is listening on http://{}", server.address));
            let (when, asked) = mpsc::channel();
            let result = server
                .run(async move {
                    asked_to_end().await;
                    // Nobody waits for it when the server ended by itself.
                    let _ = when.send(Instant::now());
                })
                .await;
            Ok::<_, Error>((app, result, asked.try_recv().unwrap_or_else(|_| Instant::now())))
        })?;
        stop_within(app, (asked + drain).saturating_duration_since(Instant::now()));
        // Work that does not end must not hold up the end of the process.
        runtime.shutdown_background();
        result
    }
}

/// Says how the owner gets a password, while nobody has one. On the console only: whoever reads it
/// may become the owner, and logs are read by more people.
fn say_setup_code(app: &App, address: SocketAddr) {
    let Some(code) = app.setup_code() else { return };
    let site = match app.config.server.public_url.is_empty() {
        false => app.config.public_url(),
        true if address.ip().is_unspecified() => format!("http://127.0.0.1:{}", address.port()),
        true => format!("http://{address}"),
    };
    out::note(format_args!(
        "No owner can sign in yet. To set a name and a password, open {site}/setup and enter the code {code}"
    ));
}

pub fn parse_listen(text: &str) -> std::result::Result<SocketAddr, String> {
    listen_address(text).map_err(|error| error.plain().to_owned())
}

/// Stops following the library, and gives up on what does not end in time. Whatever it is, the end
/// of the process ends it; nothing that was acknowledged waits for it.
fn stop_within(app: Arc<App>, time: Duration) {
    let (done, stopped) = mpsc::channel();
    let stopping = std::thread::Builder::new().name("stop".into()).spawn(move || {
        app.stop();
        // The other side may have given up.
        let _ = done.send(());
    });
    // At least a moment, for messages that are ready to send.
    let time = time.max(Duration::from_millis(500));
    if stopping.is_err() || stopped.recv_timeout(time).is_err() {
        tracing::warn!("stopped before background work had ended; it goes on at the next start");
    }
}

/// Allows as many open files as the system lets this process have: every connection is one.
pub fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::debug!(%error, "could not raise the limit of open files");
        }
    }
}

fn demo_flags(common: &Common, data: &std::path::Path) -> Result<Flags> {
    let mut flags = common.flags();
    if flags.vaults.is_empty() {
        flags.vaults.push(example_vault(data)?);
    }
    flags.data = Some(data.join("data"));
    Ok(flags)
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
