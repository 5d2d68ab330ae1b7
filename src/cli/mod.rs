//! The shell: one file per subcommand. Each reads its flags, opens the library and calls the same
//! doors as an agent does.

mod arguments;
mod ask;
mod audit;
mod backup;
mod bar;
mod bench;
mod bookmark;
mod call;
mod card;
mod client;
mod completions;
mod doctor;
mod edit;
mod editor;
mod eval;
mod export;
mod grant;
mod health;
mod history;
mod import;
mod index;
mod init;
mod interrupt;
mod man;
mod market;
mod mcp;
mod open;
mod oss;
mod out;
mod prompt;
mod push;
mod read;
mod remote;
mod results;
mod search;
mod self_command;
mod serve;
mod service;
mod serving;
mod skill;
mod status;
mod store;
mod token;
mod tool;
mod trends;
mod user;
mod vault;

use std::{
    path::PathBuf,
    process::{ExitCode, Termination},
    str::FromStr,
    time::Duration,
};

use clap::{Args, Parser, Subcommand};

use crate::{
    app::App,
    config::{Config, Flags},
    domain::{Error, Result, error::Doing},
    telemetry::{self, Form},
};

/// Your notes, cards, bookmarks and prompts for AI agents, over the Model Context Protocol.
#[derive(Parser)]
#[command(
    name = "notewell",
    version,
    max_term_width = 100,
    propagate_version = true,
    after_help = "\
First steps:
  notewell init                       find your notes, index them, set up a client
  notewell search coffee brewing
  notewell serve --demo               an example library, to look around

Exit status: 0 done; 1 nothing was found, or `doctor` found something wrong; 2 error; 3 `oss`: avoid it; 130 interrupted."
)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args, Clone, Default)]
#[allow(missing_docs, reason = "clap would print a doc comment in every command's help")]
pub struct Common {
    /// The config file [default: notewell.toml in the platform's config directory]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where Notewell keeps its own files [default: the platform's data directory]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A folder of Markdown notes; repeat it for several
    #[arg(long = "vault", global = true, value_name = "DIR")]
    vaults: Vec<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Set up: find your notes, write the config, index, set up a client
    Init(init::Init),
    /// Serve over HTTP: MCP, SSE, health, metrics
    Serve(serve::Serve),
    /// Serve one client over stdin and stdout
    Mcp(mcp::Mcp),
    /// Call a tool, as an agent would
    Call(call::Call),
    /// Search the library
    Search(search::Search),
    /// Answer a question from the library, with sources
    Ask(ask::Ask),
    /// Find items near in meaning to a text or an item
    Similar(search::Similar),
    /// Read a note, a section of it, or the passage of a search result
    Read(read::Read),
    /// Open the pages in the browser, or a note in your editor or in Obsidian
    Open(open::Open),
    /// Edit a note or a section of it in your editor
    Edit(edit::EditCommand),
    /// List what was changed, show an old version, bring it back
    History(history::History),
    /// Take a change back: the last one, or the one named
    Undo(history::Undo),
    /// Bring the index up to date now
    Index(index::Index),
    /// Say what is in the library and how far its index is
    Status(status::Status),
    /// List, add, move and remove vaults: folders of notes, and vaults hosted in the library
    Vault(vault::Vault),
    /// Copy a library between SQLite and PostgreSQL
    Store(store::Store),
    /// Bring in what you have elsewhere; a repeat adds nothing twice
    Import(import::Import),
    /// Write out what Notewell keeps
    Export(export::Export),
    /// Bring a folder of notes to a hosted vault on a server
    Push(push::Push),
    /// Copy everything that cannot be made again into a folder, while others write
    Backup(backup::Backup),
    /// Put a backup back, after checking it
    Restore(backup::Restore),
    /// Say what is wrong and how to fix it
    Doctor(doctor::Doctor),
    /// Sum up what was saved in a period, against the period before
    Trends(trends::Trends),
    /// Find saved tools, articles and notes that fit a project
    Recommend(trends::Recommend),
    /// Make, list and show cards
    Card(card::Card),
    /// Save, list, judge, show and remove bookmarks
    Bookmark(bookmark::BookmarkCommand),
    /// List, show, render, edit and restore prompts, and keep slash-command files
    Prompt(prompt::PromptCommand),
    /// List skills, and write them where clients look for them
    Skill(skill::Skill),
    /// Report on a repository: is it safe to try? (exit status 3: avoid it)
    Oss(oss::Oss),
    /// Add, list, change and remove people who sign in
    User(user::User),
    /// Say which part of the library a user may read and write
    Grant(grant::Grant),
    /// Make, list and revoke the tokens of HTTP callers
    Token(token::Token),
    /// Show who signed in and who changed users, grants and tokens
    Audit(audit::Audit),
    /// Keep the books: credit, refunds, usage, statements, payouts
    Market(market::Market),
    /// Name the other bases that are searched too, and check that they answer
    Remote(remote::Remote),
    /// Print the set-up of a client, or write it into the client's file
    Client(client::Client),
    /// Run the server whenever you are logged in
    Service(service::Service),
    /// Say which version this is, where its data is, and whether the two fit
    #[command(name = "self")]
    SelfCommand(self_command::SelfCommand),
    /// Measure how well search finds what people judged relevant
    Eval(eval::Eval),
    /// Measure how fast it is on this machine
    Bench(bench::Bench),
    /// Print the completions of a shell
    Completions(completions::Completions),
    /// Write the man pages of every command into a folder
    Man(man::ManPages),
}

/// Parses the command line and runs the command.
pub fn main() -> ExitCode {
    let cli = Cli::parse_from(arguments::excluded_words_last(std::env::args_os()));
    match cli.command {
        Command::Init(command) => exit(command.run(&cli.common)),
        Command::Serve(command) => exit(command.run(&cli.common)),
        Command::Mcp(command) => exit(command.run(&cli.common)),
        Command::Call(command) => exit(command.run(&cli.common)),
        Command::Search(command) => exit(command.run(&cli.common)),
        Command::Ask(command) => exit(command.run(&cli.common)),
        Command::Similar(command) => exit(command.run(&cli.common)),
        Command::Read(command) => exit(command.run(&cli.common)),
        Command::Open(command) => exit(command.run(&cli.common)),
        Command::Edit(command) => exit(command.run(&cli.common)),
        Command::History(command) => exit(command.run(&cli.common)),
        Command::Undo(command) => exit(command.run(&cli.common)),
        Command::Index(command) => exit(command.run(&cli.common)),
        Command::Status(command) => exit(command.run(&cli.common)),
        Command::Vault(command) => exit(command.run(&cli.common)),
        Command::Store(command) => exit(command.run(&cli.common)),
        Command::Eval(command) => exit(command.run(&cli.common)),
        Command::Bench(command) => exit(command.run(&cli.common)),
        Command::Import(command) => exit(command.run(&cli.common)),
        Command::Export(command) => exit(command.run(&cli.common)),
        Command::Push(command) => exit(command.run(&cli.common)),
        Command::Backup(command) => exit(command.run(&cli.common)),
        Command::Restore(command) => exit(command.run(&cli.common)),
        Command::Doctor(command) => exit(command.run(&cli.common)),
        Command::Trends(command) => exit(command.run(&cli.common)),
        Command::Recommend(command) => exit(command.run(&cli.common)),
        Command::Card(command) => exit(command.run(&cli.common)),
        Command::Bookmark(command) => exit(command.run(&cli.common)),
        Command::Prompt(command) => exit(command.run(&cli.common)),
        Command::Skill(command) => exit(command.run(&cli.common)),
        Command::Oss(command) => exit(command.run(&cli.common)),
        Command::User(command) => exit(command.run(&cli.common)),
        Command::Grant(command) => exit(command.run(&cli.common)),
        Command::Token(command) => exit(command.run(&cli.common)),
        Command::Audit(command) => exit(command.run(&cli.common)),
        Command::Market(command) => exit(command.run(&cli.common)),
        Command::Remote(command) => exit(command.run(&cli.common)),
        Command::Client(command) => exit(command.run(&cli.common)),
        Command::Service(command) => exit(command.run(&cli.common)),
        Command::SelfCommand(command) => exit(command.run(&cli.common)),
        Command::Completions(command) => exit(command.run()),
        Command::Man(command) => exit(command.run()),
    }
}

/// The exit status of a command: its own, or 2 for an error. 1 is left for "nothing was found".
fn exit(result: Result<impl Termination>) -> ExitCode {
    match result {
        Ok(done) => done.report(),
        Err(error) => {
            out::error(error.plain());
            ExitCode::from(out::FAILED)
        }
    }
}

/// Parses one of a closed set of words, with an error for people.
fn word<T: FromStr<Err = Error>>(text: &str) -> std::result::Result<T, String> {
    text.parse().map_err(|error: Error| error.plain().to_owned())
}

impl Common {
    fn config(&self) -> Result<Config> {
        Config::load(&self.flags())
    }

    fn flags(&self) -> Flags {
        Flags {
            config: self.config.clone(),
            data: self.data.clone(),
            vaults: self.vaults.clone(),
            ..Flags::default()
        }
    }

    /// Opens the library for one command at the shell.
    fn open(&self) -> Result<App> {
        let config = self.config()?;
        // Answers and findings say what a person has to know; warnings are for servers.
        let filter = if config.log == Config::default().log { "error" } else { &config.log };
        telemetry::start_logs(filter, Form::Human);
        App::open(config, crate::tools::names())
    }
}

/// How long an idle thread of the blocking pool lives. The pool gives work to the thread that has
/// idled longest: with a longer time, steady work keeps every thread that one burst started, each
/// with its part of the heap.
const IDLE_THREAD: Duration = Duration::from_millis(50);

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(IDLE_THREAD)
        .on_thread_park(crate::serve::memory::release_own)
        .build()
        .doing("start the runtime")
}

/// Resolves when the process is asked to end.
async fn asked_to_end() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without a handler the process simply goes on until it is killed.
    drop(interrupt.await);
}

fn read_json(text: &str) -> Result<serde_json::Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::invalid_params(format!("the arguments are not JSON: {error}")))
}
