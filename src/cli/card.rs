//! `card`: short notes and checklists, through the tools that agents use.

use std::{io::Read, process::ExitCode};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Common, out,
    tool::{Arguments, given, print_answer, structured},
    word,
};
use crate::domain::{Result, card::Color, error::Doing};

#[derive(Args)]
pub struct Card {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a card
    #[command(after_help = "\
Examples:
  notewell card add Call the plumber --label home
  notewell card add --title Shopping --item milk --item bread --pin
  date | notewell card add -")]
    Add(Add),
    /// List cards, pinned ones first
    List {
        /// Only cards that contain this text
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// Archived cards too
        #[arg(long)]
        archived: bool,
        /// Only cards whose reminder is due
        #[arg(long)]
        due: bool,
        /// How many cards
        #[arg(long)]
        limit: Option<usize>,
        /// The next page: the cursor that the page before names
        #[arg(long)]
        cursor: Option<String>,
        /// Print the structured answer
        #[arg(long)]
        json: bool,
    },
    /// Print a card
    Show {
        /// Its id, as `card list` prints it
        id: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct Add {
    /// What it says; `-` reads it from stdin
    #[arg(required_unless_present = "items")]
    text: Vec<String>,
    #[arg(long)]
    title: Option<String>,
    /// An item of a checklist; repeat it for several
    #[arg(long = "item", value_name = "TEXT")]
    items: Vec<String>,
    /// A label; repeat it for several
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    #[arg(long, value_parser = word::<Color>)]
    color: Option<Color>,
    /// Keep it at the top
    #[arg(long)]
    pin: bool,
    /// When to be reminded: 2025-01-31T10:00:00Z
    #[arg(long, value_name = "TIME")]
    remind: Option<String>,
    /// Print the card as JSON
    #[arg(long)]
    json: bool,
}

impl Card {
    pub fn run(self, common: &Common) -> Result<ExitCode> {
        let app = common.open()?;
        match self.command {
            Command::Add(add) => {
                let json = add.json;
                let card = structured(&app, "create_note", add.arguments()?)?;
                match json {
                    true => out::json(&card)?,
                    false => {
                        out::say(format_args!("added {}", card["id"].as_str().unwrap_or_default()))
                    }
                }
            }
            Command::List { search, archived, due, limit, cursor, json } => {
                let arguments = [
                    ("search", search.map(Value::from)),
                    ("includeArchived", archived.then_some(Value::Bool(true))),
                    ("due", due.then_some(Value::Bool(true))),
                    ("limit", limit.map(Value::from)),
                    ("cursor", cursor.map(Value::from)),
                ];
                let answer = structured(&app, "get_notes", given(arguments))?;
                let cards = answer["notes"].as_array().map_or(&[][..], Vec::as_slice);
                match json {
                    true => out::json(&answer)?,
                    false => list(cards, answer["nextCursor"].as_str()),
                }
                return Ok(if cards.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS });
            }
            Command::Show { id, json: true } => {
                print_answer(&app, "get_note", given([("id", Some(id.into()))]), true)?;
            }
            Command::Show { id, json: false } => {
                app.refresh(&crate::domain::Silent)?;
                let arguments = [("path", Some(id.into())), ("format", Some("markdown".into()))];
                print_answer(&app, "note_html", given(arguments), false)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Add {
    fn arguments(self) -> Result<Arguments> {
        let text = match self.text.join(" ") {
            text if text == "-" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).doing("read the card from stdin")?;
                text.trim_end().to_owned()
            }
            text => text,
        };
        let items: Vec<Value> = self.items.iter().map(|item| json!({ "text": item })).collect();
        let checklist = !items.is_empty();
        Ok(given([
            ("title", self.title.map(Value::from)),
            ("content", Some(text.into())),
            ("type", checklist.then(|| "checklist".into())),
            ("checkItems", checklist.then_some(items.into())),
            ("labels", (!self.labels.is_empty()).then(|| json!(self.labels))),
            ("color", self.color.map(|color| color.as_str().into())),
            ("isPinned", self.pin.then_some(Value::Bool(true))),
            ("reminder", self.remind.map(Value::from)),
        ]))
    }
}

fn list(cards: &[Value], next: Option<&str>) {
    for card in cards {
        let text = |name: &str| card[name].as_str().unwrap_or_default();
        let name =
            [text("title"), text("content")].into_iter().find(|text| !text.trim().is_empty());
        let name = name.and_then(|text| text.trim().lines().next()).unwrap_or("(empty)");
        let pinned = if card["isPinned"] == true { "\tpinned" } else { "" };
        out::say(format_args!("{}\t{name}{pinned}", text("id")));
    }
    if cards.is_empty() {
        out::note("There is no such card. `notewell card add TEXT` makes one.");
    }
    if let Some(cursor) = next {
        out::note(format_args!("There are more: the same command with --cursor {cursor}"));
    }
}
