mod edit;

use std::{
    io::{IsTerminal, Read},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{Common, out};
use crate::{
    app::{
        App,
        prompts::{self, Selection},
    },
    domain::{
        Error, Result, Silent, count,
        error::Doing,
        prompt::{Draft, Message},
    },
    import::prompts::markdown,
    store::{prompts::Stored, revisions::Actor},
};

#[derive(Args)]
pub struct PromptCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the prompts: name, title, where from, tags
    List {
        /// Only those with this tag
        #[arg(long)]
        tag: Option<String>,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print a prompt as it is written
    Show {
        name: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a prompt with its arguments filled in
    Render {
        name: String,
        /// An argument; `code=@main.rs` takes the value from a file
        #[arg(value_name = "NAME=VALUE")]
        arguments: Vec<String>,
        /// Print the messages as JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a prompt from --text, from --file, from stdin, or in $EDITOR
    ///
    /// Each {{placeholder}} of the text becomes an argument; {{name|text}} has a default.
    New(New),
    /// Delete prompts of your own; a backup is kept
    Delete {
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Change a prompt in $EDITOR; it is checked before it is saved
    Edit {
        name: String,
        /// Make a copy under this name, of a built-in prompt for example
        #[arg(long = "as", value_name = "NEW_NAME")]
        copy: Option<String>,
        /// Start a new prompt
        #[arg(long, conflicts_with = "copy")]
        new: bool,
    },
    /// List the backups of user.jsonl, the newest first
    Backups {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring a backup back; what is there now becomes a backup itself
    Restore {
        /// As `prompt backups` names it
        backup: String,
    },
    /// Write prompts as slash-command files for coding agents, such as into .claude/commands
    ///
    /// Name the prompts, give a tag, or take --all. Without any of these the files that an earlier
    /// sync wrote are brought up to date. A file whose prompt is gone is removed; one that was
    /// edited by hand or that is not Notewell's is left alone.
    Sync {
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Prompts to write
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Every prompt with this tag; may be repeated
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// Every prompt there is
        #[arg(long, conflicts_with_all = ["names", "tags"])]
        all: bool,
    },
}

#[derive(Args)]
struct New {
    name: String,
    /// The prompt's display name; the name itself by default
    #[arg(long)]
    title: Option<String>,
    #[arg(long)]
    description: Option<String>,
    /// A tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// The text of the prompt
    #[arg(long, conflicts_with = "file")]
    text: Option<String>,
    /// A file with the text of the prompt
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl PromptCommand {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        match self.command {
            Command::List { tag, json } => list(&app, tag.as_deref(), json),
            Command::Show { name, json } => show(&app, &name, json),
            Command::Render { name, arguments, json } => render(&app, &name, &arguments, json),
            Command::New(new) => new.run(&app),
            Command::Delete { names } => delete(&app, &names),
            Command::Edit { name, copy, new } => edit::edit(&app, &name, copy, new),
            Command::Backups { json } => backups(&app, json),
            Command::Restore { backup } => {
                let restored = app.restore_prompts(&backup, &Actor::shell("prompt restore"))?;
                let prompts = count(restored.prompts, "prompt");
                out::say(format_args!("Restored {prompts} from {backup}."));
                if let Some(undo) = restored.undo {
                    out::say(format_args!("To undo: notewell prompt restore {undo}"));
                }
                Ok(())
            }
            Command::Sync { folder, names, tags, all } => {
                let which = match (all, names.is_empty() && tags.is_empty()) {
                    (true, _) => Selection::All,
                    (false, true) => Selection::Present,
                    (false, false) => Selection::Chosen { names: &names, tags: &tags },
                };
                sync(&app, &folder, which)
            }
        }
    }
}

fn list(app: &App, tag: Option<&str>, json: bool) -> Result<()> {
    for stored in app.prompts.all()?.iter() {
        let Stored { prompt, origin } = stored.as_ref();
        if tag.is_some_and(|tag| !prompt.tags.iter().any(|has| has == tag)) {
            continue;
        }
        match json {
            true => {
                let mut map = prompt.to_map();
                map.insert("origin".into(), origin.as_str().into());
                out::say(Value::Object(map));
            }
            false => out::say(format_args!(
                "{}\t{}\t{}\t{}",
                prompt.name,
                prompt.title,
                origin.as_str(),
                prompt.tags.join(", ")
            )),
        }
    }
    for problem in app.prompts.problems()?.iter().filter(|problem| problem.broken) {
        out::error(problem);
    }
    Ok(())
}

fn show(app: &App, name: &str, json: bool) -> Result<()> {
    let stored = app.prompts.get(name)?;
    match json {
        true => out::say(format_args!("{:#}", Value::Object(stored.prompt.to_map()))),
        false => out::say(markdown::write(&stored.prompt).trim_end()),
    }
    Ok(())
}

fn render(app: &App, name: &str, arguments: &[String], json: bool) -> Result<()> {
    app.refresh(&Silent)?;
    let mut values = Map::new();
    for argument in arguments {
        let (key, value) = argument.split_once('=').ok_or_else(|| {
            Error::invalid_params(format!("`{argument}` is not of the form `name=value`"))
        })?;
        let value = match value.strip_prefix('@') {
            Some(file) => std::fs::read_to_string(file).doing(format!("read `{file}`"))?,
            None => value.to_owned(),
        };
        values.insert(key.to_owned(), value.into());
    }
    let rendered = app.render_prompt(name, &values, &app.owner())?;
    match (json, rendered.messages.as_slice()) {
        (true, messages) => out::say(format_args!("{:#}", json!(messages))),
        (false, [message]) if message.content.as_text().is_some() => {
            out::say(message.content.as_text().unwrap_or_default());
        }
        (false, messages) => messages.iter().for_each(|message| {
            let content = message.content.as_text().map(str::to_owned);
            let content = content.unwrap_or_else(|| json!(message.content).to_string());
            out::say(format_args!("{}:\n{content}\n", message.role));
        }),
    }
    Ok(())
}

impl New {
    fn run(self, app: &App) -> Result<()> {
        let text = match (self.text, &self.file) {
            (Some(text), _) => text,
            (None, Some(file)) => {
                std::fs::read_to_string(file).doing(format!("read `{}`", file.display()))?
            }
            (None, None) if std::io::stdin().is_terminal() => {
                return edit::edit(app, &self.name, None, true);
            }
            (None, None) => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).doing("read stdin")?;
                text
            }
        };
        if text.trim().is_empty() {
            return Err(Error::invalid_params(
                "the prompt has no text; give it with --text or --file, or on stdin",
            ));
        }
        let draft = Draft {
            title: Some(self.title.unwrap_or_else(|| self.name.clone())),
            name: Some(self.name),
            description: self.description,
            arguments: None,
            messages: Some(vec![Message::user(text.trim_end())]),
            tags: Some(self.tags),
        };
        out::say(app.create_prompt(draft, &Actor::shell("prompt new"))?);
        Ok(())
    }
}

fn delete(app: &App, names: &[String]) -> Result<()> {
    for name in names {
        out::say(app.delete_prompt(name, &Actor::shell("prompt delete"))?);
        if let Some(backup) = app.prompts.snapshots()?.first() {
            out::note(format_args!("To undo: notewell prompt restore {}", backup.id));
        }
    }
    Ok(())
}

fn backups(app: &App, json: bool) -> Result<()> {
    let backups = app.prompts.snapshots()?;
    if json {
        let listed = backups.iter();
        let listed = listed
            .map(|backup| json!({"name": backup.id, "made": backup.made, "bytes": backup.bytes}));
        return out::json(&listed.collect::<Vec<_>>());
    }
    if backups.is_empty() {
        out::note("There is no backup yet: the first change of user.jsonl makes one.");
    }
    for backup in backups {
        let made = backup.made.map(|at| at.to_string()).unwrap_or_default();
        out::say(format_args!("{}\t{made}\t{} bytes", backup.id, backup.bytes));
    }
    Ok(())
}

fn sync(app: &App, folder: &Path, which: Selection<'_>) -> Result<()> {
    app.refresh(&Silent)?;
    let rights = app.owner();
    let notes = |path: &str, heading: Option<&str>| app.section_text(path, heading, &rights);
    let report = prompts::sync(app.prompts.as_ref(), folder, which, &notes)?;
    for (name, why) in &report.left {
        out::error(format_args!("left alone: `{name}` {why}"));
    }
    out::say(format_args!(
        "{} written, {} unchanged, {} removed, {} left alone",
        report.written.len(),
        report.unchanged,
        report.removed.len(),
        report.left.len()
    ));
    Ok(())
}
