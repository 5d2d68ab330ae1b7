//! What a library of prompts can do, whatever holds it.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    domain::{
        Code, Error, Prompt, Result, Timestamp,
        prompt::{Argument, Draft, Patch},
    },
    markdown::template,
};

/// Where a prompt comes from. Only the user's own can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the binary.
    BuiltIn,
    /// In a `default.jsonl` that another program left beside the user's file: read-only too.
    Default,
    /// The person's own.
    User,
}

impl Origin {
    /// The word in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::BuiltIn => "built-in",
            Origin::Default => "default",
            Origin::User => "user",
        }
    }

    /// Whether it can be changed.
    pub fn is_user(self) -> bool {
        self == Origin::User
    }
}

/// A prompt and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The prompt.
    pub prompt: Prompt,
    /// Where it comes from.
    pub origin: Origin,
}

/// One page of the list, ordered by name.
#[derive(Debug, Clone)]
pub struct Page {
    /// The prompts.
    pub prompts: Vec<Arc<Stored>>,
    /// Opaque; `None` on the last page.
    pub next: Option<String>,
}

/// Something that a person should look at where the prompts are kept. Nothing is dropped because
/// of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it is, in the words of whatever keeps the prompts: `` `user.jsonl` line 3 ``.
    pub place: String,
    /// What is there is not used at all; otherwise it is, and this is only a remark.
    pub broken: bool,
    /// What is wrong, as a sentence.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// The user's prompts as they were before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What `restore` takes.
    pub id: String,
    /// When it was made, in UTC.
    pub made: Option<Timestamp>,
    /// Its size.
    pub bytes: u64,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Prompts in it.
    pub prompts: usize,
    /// The snapshot of what was there before: restore it to undo.
    pub undo: Option<String>,
}

/// A library of prompts. Every change is durable when the call returns, and is seen by every
/// reader of every process from then on.
pub trait Prompts: Send + Sync {
    /// A page of the prompts ordered by name; `None` or an empty cursor is the first page.
    fn list(&self, cursor: Option<&str>, limit: usize) -> Result<Page>;

    /// All prompts, ordered by name.
    fn all(&self) -> Result<Arc<[Arc<Stored>]>>;

    /// The prompts that are not the user's own, ordered by name: what everybody may see.
    fn shared(&self) -> Result<Arc<[Arc<Stored>]>>;

    /// The prompt of this name, whoever it belongs to.
    fn find(&self, name: &str) -> Result<Option<Arc<Stored>>>;

    /// The prompts of these names in the order asked for, as of one moment. Others are left out.
    fn find_many(&self, names: &[&str]) -> Result<Vec<Arc<Stored>>>;

    /// Adds prompts as they are, all or none, as one change with one snapshot. A name that another
    /// prompt of the user's has refuses the whole; the name of a built-in prompt is free, and the
    /// new prompt takes its place.
    fn add(&self, prompts: Vec<Prompt>) -> Result<()>;

    /// Changes the fields that the patch gives of the prompt it names, and returns the new state.
    fn update(&self, patch: Patch) -> Result<Arc<Stored>>;

    /// Deletes a prompt of the user's.
    fn delete(&self, name: &str) -> Result<()>;

    /// The user's own prompt of exactly this name as its library writes it, for `put_records`.
    fn record(&self, name: &str) -> Result<Option<String>>;

    /// Makes each of these prompts, named by its name, what its record says, or removes it: all or
    /// none, as one change with one backup.
    fn put_records(&self, records: &[(String, Option<String>)]) -> Result<()>;

    /// A number that changes whenever the content does, whoever changed it. Cheap: poll it.
    fn version(&self) -> Result<u64>;

    /// What a person should look at.
    fn problems(&self) -> Result<Vec<Problem>>;

    /// Earlier states that can be brought back, newest first.
    fn snapshots(&self) -> Result<Vec<Snapshot>>;

    /// Brings an earlier state back, after making a snapshot of what is there now.
    fn restore(&self, snapshot: &str) -> Result<Restored>;

    /// Remembers the values that a prompt was rendered with, for `complete`.
    fn remember(&self, name: &str, values: &Map<String, Value>) -> Result<()>;

    /// Values used before for an argument that start with `prefix`, the latest first.
    fn complete(&self, name: &str, argument: &str, prefix: &str) -> Result<Vec<String>>;

    /// A prompt by name, or an error that says so.
    fn get(&self, name: &str) -> Result<Arc<Stored>> {
        self.find(name)?.ok_or_else(|| not_found(name))
    }

    /// Adds a prompt. Without `arguments` every placeholder of its messages becomes one.
    fn create(&self, draft: Draft) -> Result<Arc<Stored>> {
        let declares = draft.arguments.is_some();
        let mut prompt = draft.into_prompt(Timestamp::now())?;
        if !declares {
            declare_placeholders(&mut prompt);
            prompt.check()?;
        }
        check_placeholders(&prompt)?;
        let stored = Stored { prompt: prompt.clone(), origin: Origin::User };
        self.add(vec![prompt])?;
        Ok(Arc::new(stored))
    }

    /// Makes a prompt of the user's own out of one that cannot be changed: the patch gives its name
    /// and whatever else is to be different.
    fn copy_changed(&self, from: &Prompt, patch: Patch) -> Result<Arc<Stored>> {
        let mut prompt = from.clone();
        let now = Timestamp::now();
        let name = prompt.name.clone();
        patch.apply(&mut prompt, now)?;
        if prompt.name == name {
            return Err(taken(&name));
        }
        prompt.created = Some(now);
        check_placeholders(&prompt)?;
        let stored = Stored { prompt: prompt.clone(), origin: Origin::User };
        self.add(vec![prompt])?;
        Ok(Arc::new(stored))
    }
}

/// Refuses a placeholder that nothing can fill: no argument declares it and it has no default.
pub fn check_placeholders(prompt: &Prompt) -> Result<()> {
    let declared = |name: &str| prompt.arguments.iter().any(|argument| argument.name == name);
    for text in prompt.texts() {
        for (name, optional) in template::variables(text) {
            if !optional && !declared(name) {
                return Err(Error::invalid_params(format!(
                    "placeholder `{{{{{name}}}}}` is not declared; add `{name}` to `arguments`, \
                     give it a default as in `{{{{{name}|text}}}}`, or write `\\{{{{{name}}}}}` \
                     for literal braces"
                )));
            }
        }
    }
    Ok(())
}

/// Declares every placeholder that is not declared yet; one without a default is required.
pub fn declare_placeholders(prompt: &mut Prompt) {
    let mut found: Vec<Argument> = Vec::new();
    for text in prompt.texts() {
        for (name, optional) in template::variables(text) {
            match found.iter_mut().find(|argument| argument.name == name) {
                Some(argument) => argument.required |= !optional,
                None => found.push(Argument {
                    name: name.to_owned(),
                    required: !optional,
                    ..Argument::default()
                }),
            }
        }
    }
    found.retain(|new| !prompt.arguments.iter().any(|known| known.name == new.name));
    prompt.arguments.extend(found);
}

/// The answer for a name that nobody has, or that this caller may not see.
pub(crate) fn not_found(name: &str) -> Error {
    if name.is_empty() {
        return Error::new(Code::InvalidParams, "Prompt name is required");
    }
    Error::new(
        Code::InvalidParams,
        format!("Prompt not found: {}", name.chars().take(200).collect::<String>()),
    )
}

pub(crate) fn taken(name: &str) -> Error {
    Error::new(Code::InvalidParams, format!("Prompt already exists: {name}"))
}

pub(crate) fn read_only(name: &str, verb: &str) -> Error {
    Error::new(
        Code::InvalidParams,
        format!(
            "Cannot {verb} built-in prompt: {name} (create one of your own, which may have the \
             same name, or copy it: update it with a `newName`, or `notewell prompt edit {name} \
             --as NEW_NAME`)"
        ),
    )
}
