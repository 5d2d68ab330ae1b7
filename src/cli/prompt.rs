use std::{
    io::Write,
    path::{Path, PathBuf},
    process,
};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{Common, out};
use crate::{
    app::{App, prompts, view::View},
    config,
    domain::{
        Caller, Error, Prompt, Result, Silent,
        error::Doing,
        prompt::{Draft, Message, Patch},
    },
    store::prompts::{Origin, Stored, check_placeholders},
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
    Backups,
    /// Bring a backup back; what is there now becomes a backup itself
    Restore {
        /// As `prompt backups` names it
        backup: String,
    },
    /// Keep slash-command files for coding agents in a folder, such as .claude/commands
    Sync {
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

impl PromptCommand {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        match self.command {
            Command::List { tag, json } => list(&app, tag.as_deref(), json),
            Command::Show { name, json } => show(&app, &name, json),
            Command::Render { name, arguments, json } => render(&app, &name, &arguments, json),
            Command::Edit { name, copy, new } => edit(&app, &name, copy, new),
            Command::Backups => backups(&app),
            Command::Restore { backup } => {
                let restored = app.restore_prompts(&backup)?;
                out::say(format_args!("Restored {} prompts from {backup}.", restored.prompts));
                if let Some(undo) = restored.undo {
                    out::say(format_args!("To undo: notewell prompt restore {undo}"));
                }
                Ok(())
            }
            Command::Sync { folder } => sync(&app, &folder),
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
        out::complain(problem);
    }
    Ok(())
}

fn show(app: &App, name: &str, json: bool) -> Result<()> {
    let stored = app.prompts.get(name)?;
    match json {
        true => out::say(format_args!("{:#}", Value::Object(stored.prompt.to_map()))),
        false => out::say(prompts::write_markdown(&stored.prompt).trim_end()),
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
    let rendered = app.render_prompt(name, &values, &View::of(&Caller::Owner))?;
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

fn edit(app: &App, name: &str, copy: Option<String>, new: bool) -> Result<()> {
    let opened = match new {
        true => None,
        false => Some(app.prompts.get(name)?),
    };
    let start = match (&opened, &copy) {
        (Some(stored), Some(copy)) => Prompt { name: copy.clone(), ..stored.prompt.clone() },
        (Some(stored), None) if stored.origin == Origin::User => stored.prompt.clone(),
        (Some(_), None) => {
            return Err(Error::invalid_params(format!(
                "`{name}` is built in; edit a copy with `notewell prompt edit {name} --as NEW_NAME`"
            )));
        }
        (None, _) => {
            let mut prompt = Draft {
                name: Some(name.to_owned()),
                title: Some(name.to_owned()),
                messages: Some(vec![Message::user("Write the prompt here.")]),
                ..Draft::default()
            }
            .into_prompt(crate::domain::Timestamp::now())?;
            (prompt.created, prompt.updated) = (None, None);
            prompt
        }
    };
    let before = prompts::write_markdown(&start);
    let (file, after) = in_editor(&start.name, &before)?;
    if after == before && copy.is_none() {
        out::say("Nothing changed.");
        return Ok(());
    }
    match save(app, opened.as_deref().filter(|_| copy.is_none()), &start, &after) {
        Ok(message) => out::say(message),
        Err(error) => {
            // What a person typed is never thrown away.
            let kept = file.keep().map_err(|error| Error::internal(error.to_string()))?;
            return Err(Error::new(
                error.code,
                format!(
                    "{}\nnothing was saved; your text is in `{}`",
                    error.message,
                    kept.display()
                ),
            ));
        }
    }
    Ok(())
}

/// Saves an edited text: as a change of `stored`, or as a new prompt.
fn save(app: &App, stored: Option<&Stored>, start: &Prompt, text: &str) -> Result<String> {
    let edited = prompts::read_markdown(text, &start.name)?;
    edited.check()?;
    check_placeholders(&edited)?;
    let Some(Stored { prompt: before, .. }) = stored else {
        return app.create_prompt(Draft {
            name: Some(edited.name),
            title: Some(edited.title),
            description: edited.description,
            arguments: Some(edited.arguments),
            messages: Some(edited.messages),
            tags: Some(edited.tags),
        });
    };
    if app.prompts.get(&before.name)?.prompt != *before {
        return Err(Error::invalid_request(format!(
            "`{}` was changed by somebody else meanwhile; edit it again",
            before.name
        )));
    }
    if edited.extra != before.extra {
        out::note(
            "Fields that are not Notewell's own are changed in user.jsonl itself; left as they were.",
        );
    }
    // Only what changed is given, so that the rest of the line keeps every byte.
    let patch = Patch {
        name: Some(before.name.clone()),
        new_name: (edited.name != before.name).then_some(edited.name),
        title: (edited.title != before.title).then_some(Some(edited.title)),
        description: (edited.description != before.description).then_some(edited.description),
        arguments: (edited.arguments != before.arguments).then_some(Some(edited.arguments)),
        messages: (edited.messages != before.messages).then_some(Some(edited.messages)),
        tags: (edited.tags != before.tags).then_some(Some(edited.tags)),
    };
    match patch.is_empty() {
        true => Ok("Nothing changed.".to_owned()),
        false => app.update_prompt(patch),
    }
}

fn in_editor(name: &str, text: &str) -> Result<(tempfile::TempPath, String)> {
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .suffix(".md")
        .tempfile()
        .doing("make a file to edit")?;
    file.write_all(text.as_bytes()).doing("write the file to edit")?;
    let path = file.into_temp_path();
    let editor = config::editor();
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = process::Command::new(program)
        .args(words)
        .arg(&path)
        .status()
        .doing(format!("start the editor `{editor}` (set $EDITOR to another)"))?;
    if !status.success() {
        return Err(Error::outside(format!("the editor ended with {status}; nothing was saved")));
    }
    let text = std::fs::read_to_string(&path).doing("read the edited file")?;
    Ok((path, text))
}

fn backups(app: &App) -> Result<()> {
    let backups = app.prompts.backups()?;
    if backups.is_empty() {
        out::note("There is no backup yet: the first change of user.jsonl makes one.");
    }
    for backup in backups {
        let made = backup.made.map(|at| at.to_string()).unwrap_or_default();
        out::say(format_args!("{}\t{made}\t{} bytes", backup.name, backup.bytes));
    }
    Ok(())
}

fn sync(app: &App, folder: &Path) -> Result<()> {
    app.refresh(&Silent)?;
    let view = View::of(&Caller::Owner);
    let notes = |path: &str, heading: Option<&str>| app.section_text(path, heading, &view);
    let report = prompts::sync(app.prompts.as_ref(), folder, &notes)?;
    for (name, why) in &report.left {
        out::complain(format_args!("left alone: `{name}` {why}"));
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
