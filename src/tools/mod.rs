//! Everything an agent may do: one file per tool, one table, one door.
//!
//! A tool is a struct. Its fields are the arguments (every one listed in its schema, no other
//! accepted), its doc comment is the description that a model reads, `call` is the handler. To add
//! one: its file, a `mod` line, and a line in [`TABLE`]. Descriptions and schemas are paid for in
//! every conversation, so they are terse; `tests/it/tools.rs` counts their tokens.
//!
//! Whoever calls (MCP, the shell) comes through [`call`]: it checks the caller's right, opens
//! the span, counts, and bounds time and size.

mod arguments;
mod bookmarks;
mod cards;
mod confirm;
mod door;
mod listing;
mod market;
mod oss;
mod paid;
mod prompts;
pub mod schema;
mod vault;

pub use crate::{app::rights::Right, domain::Toolset};
pub use confirm::{Confirmation, confirmation, may_ask};
pub use door::{Call, built_in, call};
pub use listing::{Listed, ListedPrice, list, list_for};
pub use paid::{Payment, RECEIPT, ShownPrices};

use std::sync::OnceLock;

use arguments::Blank;
use schema::Schemas;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    app::{App, rights::Rights},
    domain::{Patience, Progress, Result, query::words},
};

words!(
    /// How the text of an answer is written: for a model to read, or as the JSON of the structured
    /// content, for clients that parse the text.
    Format, "format", { Text = "text", Json = "json" }
);

/// What a call changes, sent to clients as annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Adds something: a repeat adds again.
    Adds,
    /// Sets something: a repeat changes nothing more.
    Sets,
    /// Brings something in from outside the library: a repeat changes nothing more.
    Fetches,
    /// Flips or replaces in a way that a repeat does not restore.
    Toggles,
    /// Takes something away: a repeat finds it gone.
    Destroys,
}

/// What a tool sees of the world while it runs.
pub struct Cx<'a> {
    /// The library.
    pub app: &'a App,
    /// What the request may see and do.
    pub rights: &'a Rights,
    /// Where long work reports.
    pub progress: &'a dyn Progress,
    /// The caller's deadline and cancellation.
    pub patience: &'a Patience,
    /// What the call pays with, where it costs something.
    pub payment: Payment<'a>,
}

/// What a tool answers: facts for programs, and the same facts as text.
pub trait Answer: Serialize + JsonSchema {
    /// The text content of the result.
    fn text(&self) -> String;

    /// A word to the model beside a text that programs parse: that there is more, and how to get
    /// it.
    fn aside(&self) -> Option<String> {
        None
    }
}

/// A tool: its fields are the arguments, its doc comment the description.
pub trait Tool: DeserializeOwned + JsonSchema {
    /// The name in `tools/list`.
    const NAME: &'static str;
    /// The title for people.
    const TITLE: &'static str;
    /// The toolset that it belongs to.
    const TOOLSET: Toolset;
    /// What a request must be allowed. Without it, the tool does not exist for the caller.
    const RIGHT: Right;
    /// What it may change.
    const EFFECT: Effect;
    /// What `null` and an empty text mean in the arguments.
    const BLANK: Blank = Blank::NotGiven;
    /// Whether it may take minutes. A client that follows tasks gets it as one.
    const LONG: bool = false;
    /// Whether it is only there for clients that follow tasks.
    const TASK_ONLY: bool = false;
    /// The result.
    type Answer: Answer;

    /// Runs the tool.
    fn call(self, cx: &Cx<'_>) -> Result<Self::Answer>;
}

/// A finished call: the text a model reads and the structure a program reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The text content.
    pub text: String,
    /// A second text, for the model.
    pub aside: Option<String>,
    /// The structured content.
    pub structured: Option<serde_json::Value>,
    /// Facts about the call itself, such as its receipt.
    pub meta: serde_json::Map<String, serde_json::Value>,
}

impl Output {
    /// A text and nothing else.
    fn of_text(text: String) -> Self {
        Self { text, aside: None, structured: None, meta: serde_json::Map::new() }
    }
}

/// A line of the table.
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// The title for people.
    pub title: &'static str,
    /// The toolset.
    pub toolset: Toolset,
    /// The right that a caller needs.
    pub right: Right,
    /// What it may change.
    pub effect: Effect,
    /// Whether it may take minutes.
    pub long: bool,
    /// Whether it is only there for clients that follow tasks.
    pub task_only: bool,
    blank: Blank,
    input: fn() -> schema::Input,
    output: fn() -> serde_json::Value,
    run: fn(serde_json::Value, &Cx<'_>) -> Result<Output>,
}

impl Entry {
    /// The schemas of this tool. Generated on first use, once in a process.
    pub fn schemas(&self) -> &'static Schemas {
        static GENERATED: [OnceLock<Schemas>; TABLE.len()] =
            [const { OnceLock::new() }; TABLE.len()];
        let place = TABLE.iter().position(|entry| entry.name == self.name).unwrap_or_default();
        GENERATED[place].get_or_init(|| Schemas::new((self.input)(), (self.output)()))
    }
}

const fn entry<T: Tool>() -> Entry {
    Entry {
        name: T::NAME,
        title: T::TITLE,
        toolset: T::TOOLSET,
        right: T::RIGHT,
        effect: T::EFFECT,
        long: T::LONG,
        task_only: T::TASK_ONLY,
        blank: T::BLANK,
        input: schema::input::<T>,
        output: schema::output::<T::Answer>,
        run: door::run::<T>,
    }
}

/// Every built-in tool, in the order in which it is listed.
pub const TABLE: &[Entry] = &[
    entry::<vault::search::Search>(),
    entry::<vault::similar::Similar>(),
    entry::<vault::note_html::NoteHtml>(),
    entry::<vault::expand::Expand>(),
    entry::<vault::edit_page::EditPage>(),
    entry::<vault::move_page::MovePage>(),
    entry::<vault::history::History>(),
    entry::<bookmarks::ask::Ask>(),
    entry::<cards::CreateNote>(),
    entry::<cards::GetNotes>(),
    entry::<cards::GetNote>(),
    entry::<cards::UpdateNote>(),
    entry::<cards::DeleteNote>(),
    entry::<cards::SearchNotes>(),
    entry::<cards::GetLabels>(),
    entry::<cards::TogglePin>(),
    entry::<cards::ToggleArchive>(),
    entry::<prompts::create::CreatePrompt>(),
    entry::<prompts::update::UpdatePrompt>(),
    entry::<prompts::delete::DeletePrompt>(),
    entry::<bookmarks::recommend::Recommend>(),
    entry::<bookmarks::trends::TrendsTool>(),
    entry::<bookmarks::add::AddBookmark>(),
    entry::<oss::oss_report::OssReport>(),
    entry::<bookmarks::maintain::Maintain>(),
    entry::<market::search_marketplace::SearchMarketplace>(),
];

/// Whether a tool may take minutes.
pub fn is_long(name: &str) -> bool {
    TABLE.iter().any(|entry| entry.name == name && entry.long)
}

/// Whether a tool is only there for clients that follow tasks.
pub fn is_task_only(name: &str) -> bool {
    TABLE.iter().any(|entry| entry.name == name && entry.task_only)
}

/// Names that no page can take for its own.
pub fn names() -> Vec<&'static str> {
    TABLE.iter().map(|entry| entry.name).collect()
}
