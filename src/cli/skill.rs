//! `skill`: which skills there are, and a copy of them where clients look.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, mpsc},
    time::Duration,
};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{Common, bar::Bar, interrupt::Interrupt, out};
use crate::{
    app::{
        App,
        skills::{
            SkillPage,
            sync::{Report, hex},
        },
    },
    config,
    domain::{Error, Result, count},
};

/// How often files that are no notes are looked at while following. Notes report their changes.
const LOOK: Duration = Duration::from_secs(2);

#[derive(Args)]
pub struct Skill {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Name the skills of the library: folders with a SKILL.md, and pages with mcp_method
    List {
        /// Print them as JSON, with files and digests
        #[arg(long)]
        json: bool,
    },
    /// Write the skills into a folder, as Claude Code and Codex read them
    ///
    /// Only files that this command wrote are changed or removed, and only while they hold what it
    /// wrote. A file `.notewell-skills.json` in the folder names them.
    #[command(after_help = "\
Examples:
  notewell skill sync ~/.claude/skills
  notewell skill sync --client codex --watch")]
    Sync {
        /// The folder
        #[arg(value_name = "DIR", required_unless_present = "client", conflicts_with = "client")]
        folder: Option<PathBuf>,
        /// The folder in which this client looks for your skills
        #[arg(long, value_enum)]
        client: Option<Client>,
        /// Go on: follow changes until interrupted
        #[arg(long)]
        watch: bool,
        /// Print what was done as JSON
        #[arg(long, conflicts_with = "watch")]
        json: bool,
    },
}

/// A client with a folder of skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Client {
    /// ~/.claude/skills
    ClaudeCode,
    /// ~/.agents/skills
    Codex,
}

impl Client {
    fn folder(self) -> Result<PathBuf> {
        let home = config::home().ok_or_else(|| {
            Error::invalid_params(
                "there is no home directory; name the folder: `notewell skill sync DIR`",
            )
        })?;
        Ok(match self {
            Self::ClaudeCode => home.join(".claude/skills"),
            Self::Codex => home.join(".agents/skills"),
        })
    }
}

impl Skill {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let app = common.open()?;
        match self.command {
            Command::List { json } => list(&app, json),
            Command::Sync { folder, client, watch, json } => {
                let folder = match (folder, client) {
                    (Some(folder), _) => folder,
                    (None, Some(client)) => client.folder()?,
                    (None, None) => {
                        return Err(Error::invalid_params(
                            "name the folder: `notewell skill sync DIR`",
                        ));
                    }
                };
                let folder = std::path::absolute(&folder).unwrap_or(folder);
                if watch {
                    return follow(Arc::new(app), &folder);
                }
                refresh(&app)?;
                let report = app.sync_skills(&folder, &app.owner())?;
                if json {
                    out::json(&report)?;
                } else {
                    print_report(&report, &folder);
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn refresh(app: &App) -> Result<()> {
    let bar = Bar::new();
    let refreshed = app.refresh(&bar);
    bar.finish();
    refreshed
}

fn list(app: &App, as_json: bool) -> Result<ExitCode> {
    refresh(app)?;
    let page = app.all_skills(&app.owner())?;
    if as_json {
        out::json(&as_value(&page))?;
    } else {
        for skill in &page.skills {
            let files = count(skill.files.len(), "file");
            let origin = if skill.is_generated() { "method" } else { &files };
            out::say(format_args!("{}\t{origin}\t{}", skill.name(), skill.description()));
            for link in &skill.links {
                out::note(format_args!(
                    "{}: `{link}` is a symbolic link, which is not followed and not part of the skill",
                    skill.name()
                ));
            }
        }
    }
    for one in &page.left_out {
        out::note(format_args!("left out: `{}`: {}", one.path, one.reason));
    }
    if page.skills.is_empty() {
        out::note("no skill: make a folder with a `SKILL.md` that has `name` and `description`");
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}

fn as_value(page: &SkillPage) -> Value {
    let skills = page.skills.iter().map(|skill| {
        let files = skill.files.iter().map(|file| {
            json!({ "path": file.path, "uri": file.uri, "sha256": hex(&file.digest), "size": file.size })
        });
        json!({
            "name": skill.name(),
            "description": skill.description(),
            "uri": skill.uri,
            "generated": skill.is_generated(),
            "files": files.collect::<Vec<_>>(),
        })
    });
    let left_out =
        page.left_out.iter().map(|one| json!({ "path": one.path, "reason": one.reason }));
    json!({ "skills": skills.collect::<Vec<_>>(), "left_out": left_out.collect::<Vec<_>>() })
}

fn print_report(report: &Report, folder: &Path) {
    print_changes(report);
    print_left_alone(report);
    if !report.has_changes() {
        let count = count(report.unchanged, "skill");
        out::say(format_args!("{count} in {}: nothing to change", folder.display()));
    }
}

fn print_changes(report: &Report) {
    for name in &report.written {
        out::say(format_args!("wrote {name}"));
    }
    for name in &report.removed {
        out::say(format_args!("removed {name}"));
    }
}

fn print_left_alone(report: &Report) {
    for one in &report.left_alone {
        out::note(format_args!("left alone: {}: {}", one.name, one.reason));
    }
}

/// Writes what changes until the person ends it.
fn follow(app: Arc<App>, folder: &Path) -> Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    let (sender, news) = mpsc::channel();
    app.events.subscribe(move |_| {
        // The receiver lives as long as this function.
        let _ = sender.send(());
    });
    app.start()?;
    out::note(format_args!("writing skills to {}; Ctrl-C ends it", folder.display()));
    let mut reported = Report::default();
    let mut failed = None;
    while !interrupt.pressed() {
        match app.sync_skills(folder, &app.owner()) {
            Ok(report) => {
                failed = None;
                print_changes(&report);
                if report.left_alone != reported.left_alone {
                    print_left_alone(&report);
                }
                reported = report;
            }
            // A full disk or a folder that is away: reported once, tried again.
            Err(error) => {
                let why = error.plain().to_owned();
                if failed.as_ref() != Some(&why) {
                    out::error(format_args!("{why}; trying again"));
                }
                failed = Some(why);
            }
        }
        let waited = news.recv_timeout(LOOK);
        if waited.is_ok() {
            // What changes together is written together.
            std::thread::sleep(Duration::from_millis(100));
            while news.try_recv().is_ok() {}
        }
    }
    app.stop();
    Ok(ExitCode::SUCCESS)
}
