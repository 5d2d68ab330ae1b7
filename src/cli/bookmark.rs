use std::{io::Read, process::ExitCode};

use clap::{Args, Subcommand};

use super::{
    Common,
    bar::Bar,
    out,
    search::{Filters, Shown, find},
    word,
};
use crate::{
    app::{
        App,
        bookmarks::{Add, Change},
    },
    domain::{
        Bookmark, Error, Kind, Result, Timestamp,
        bookmark::Judged,
        count,
        error::Doing,
        query::{Action, Sentiment},
    },
    store::{bookmarks::Put, revisions::Actor},
};

#[derive(Args)]
pub struct BookmarkCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Save a link; nothing is fetched
    Add {
        url: String,
        #[arg(long)]
        title: Option<String>,
        /// What the page says; `-` reads it from stdin
        #[arg(long)]
        text: Option<String>,
        #[arg(long)]
        author: Option<String>,
        #[command(flatten)]
        judged: JudgedFlags,
    },
    /// Decide for yourself what a bookmark is; no import changes that again
    Set {
        /// The bookmark's id or address
        id: String,
        #[command(flatten)]
        judged: JudgedFlags,
    },
    /// Ask the language model of `[llm]` about every bookmark that only rules have judged
    Judge,
    /// List bookmarks, the newest first
    #[command(after_help = "\
Examples:
  notewell bookmark list --category AI-Tools --limit 20
  notewell bookmark list vector database --after 2025-01-01 --paths")]
    List {
        /// Only those that match these words, the best first
        query: Vec<String>,
        #[command(flatten)]
        filters: Filters,
        #[command(flatten)]
        shown: Shown,
    },
    /// Print a bookmark with its summary, tags, category and action
    Show {
        /// The bookmark's id or address
        id: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a bookmark out of the library
    Remove {
        /// The bookmark's id or address
        id: String,
    },
}

#[derive(Args)]
struct JudgedFlags {
    /// A tag; repeat it for several
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    #[arg(long)]
    category: Option<String>,
    /// read_later, try_tool, reference, share or archive
    #[arg(long, value_parser = word::<Action>)]
    action: Option<Action>,
    /// positive, neutral or negative
    #[arg(long, value_parser = word::<Sentiment>)]
    sentiment: Option<Sentiment>,
    #[arg(long)]
    summary: Option<String>,
}

impl JudgedFlags {
    fn change(self) -> Change {
        Change {
            tags: (!self.tags.is_empty()).then_some(self.tags),
            category: self.category,
            action: self.action,
            sentiment: self.sentiment,
            summary: self.summary,
        }
    }
}

impl BookmarkCommand {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        if let Command::List { query, filters, shown } = self.command {
            return find(common, &query.join(" "), Some(Kind::Bookmark), filters, &shown);
        }
        let app = common.open()?;
        match self.command {
            Command::List { .. } => {}
            Command::Add { url, title, text, author, judged } => {
                let text = match text.as_deref() {
                    Some("-") => Some(stdin()?),
                    _ => text,
                };
                let add = Add { url, title, text, author, change: judged.change() };
                let (put, bookmark) =
                    app.add_bookmark(add, Timestamp::now(), &Actor::shell("bookmark add"))?;
                out::say(match put {
                    Put::Added(_) => format!("added {}", bookmark.id),
                    Put::Updated(_) => format!("updated {}", bookmark.id),
                    Put::Same(_) => format!("{} was there already", bookmark.id),
                });
            }
            Command::Set { id, judged } => {
                let (_, bookmark) =
                    app.change_bookmark(&id, &judged.change(), &Actor::shell("bookmark set"))?;
                out::say(format_args!("changed {}", bookmark.id));
            }
            Command::Judge => match judge(&app)? {
                Some(line) => out::say(line),
                None => {
                    return Err(Error::invalid_params(
                        "no language model is configured; set `[llm] provider` and `model`",
                    ));
                }
            },
            Command::Show { id, json } => show(&app, &id, json)?,
            Command::Remove { id } => {
                out::say(format_args!(
                    "removed {}",
                    app.remove_bookmark(&id, &Actor::shell("bookmark remove"))?.id
                ));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Has the model judge what only rules have, and says what it did and cost.
pub fn judge(app: &App) -> Result<Option<String>> {
    let bar = Bar::new();
    let judged = app.judge_with_model(&bar, &Actor::shell("bookmark judge"));
    bar.finish();
    let Some(judged) = judged? else { return Ok(None) };
    if let Some(why) = &judged.stopped {
        out::note(format_args!(
            "the language model could not judge all of them: {why}; `notewell bookmark judge` goes on from here"
        ));
    }
    Ok(Some(format!(
        "{} judged by the model: {} in, {} out, cost {:.4}",
        count(judged.judged, "bookmark"),
        count(judged.input_tokens, "token"),
        judged.output_tokens,
        judged.cost
    )))
}

fn stdin() -> Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).doing("read the text from stdin")?;
    Ok(text)
}

fn show(app: &App, id: &str, json: bool) -> Result<()> {
    let (_, bookmark) = app.named_bookmark(id)?;
    if json {
        return out::json(&bookmark);
    }
    let Bookmark { title, text, url, author, date, .. } = &bookmark;
    for line in [title, text, url].into_iter().filter(|line| !line.is_empty()) {
        out::say(line);
    }
    let author = author.as_ref().map(|author| format!(" by @{author}")).unwrap_or_default();
    out::say(format_args!("{}{author}, {}", bookmark.id, date.date()));
    print_field("summary", &bookmark.summary, Clone::clone);
    print_field("tags", &bookmark.tags, |tags| tags.join(", "));
    print_field("category", &bookmark.category, Clone::clone);
    print_field("sentiment", &bookmark.sentiment, ToString::to_string);
    print_field("action", &bookmark.action, ToString::to_string);
    Ok(())
}

fn print_field<T>(name: &str, judged: &Option<Judged<T>>, text: impl Fn(&T) -> String) {
    if let Some(judged) = judged {
        let (source, sure) = (judged.source, judged.confidence);
        out::say(format_args!("{name}: {} ({source}, {sure:.2})", text(&judged.value)));
    }
}
