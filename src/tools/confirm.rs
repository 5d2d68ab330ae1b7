//! What a person is asked before a call, where a client can ask: deletions, moves that touch many
//! files, restoring over a newer text, spending. Where it cannot, the tools' own rules hold.

use serde_json::{Map, Value};

use super::{
    Cx, Payment, TABLE,
    door::{may_use, prepare},
};
use crate::{
    app::{App, rights::Rights},
    domain::{Patience, Result, Silent},
    store::revisions::ChangeId,
};

/// Files that a move may touch without a question.
const MAX_FILES: usize = 10;
/// Characters of a name in a question.
const MAX_NAME: usize = 120;

/// A question before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// What is remembered when the person does not want to be asked again.
    pub subject: String,
    /// The question, one sentence.
    pub question: String,
}

impl Confirmation {
    fn new(subject: impl Into<String>, question: String) -> Self {
        Self { subject: subject.into(), question }
    }
}

/// The built-in tools that may be asked about.
const ASKS: [&str; 5] = ["delete_note", "delete_prompt", "edit_page", "move_page", "history"];

/// Whether a call of this tool may need a question: some built-in ones, and every method.
pub fn may_ask(name: &str) -> bool {
    ASKS.contains(&name) || TABLE.iter().all(|entry| entry.name != name)
}

/// What to ask before this call; `None` where it needs no question, or would fail anyway. `is_paid`
/// says that a payment came with the call.
pub fn confirmation(
    app: &App,
    rights: &Rights,
    name: &str,
    arguments: &Value,
    is_paid: bool,
) -> Result<Option<Confirmation>> {
    let patience = Patience::current();
    let cx =
        Cx { app, rights, progress: &Silent, patience: &patience, payment: Payment::default() };
    let Some(entry) = TABLE.iter().find(|entry| entry.name == name) else {
        return match is_paid {
            true => Ok(None),
            false => spending(&cx, name),
        };
    };
    let Value::Object(arguments) = arguments else { return Ok(None) };
    if !may_ask(name) || !may_use(app, entry, rights)? {
        return Ok(None);
    }
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    match name {
        "delete_note" => {
            let card = app.cards.get(text("id"), rights).ok();
            let card = card.filter(|card| rights.writes_card(card));
            Ok(card.map(|card| {
                let title = card.title.filter(|title| !title.trim().is_empty());
                let name = title.unwrap_or(card.content);
                Confirmation::new("delete", format!("Delete the card {}?", quoted(&name)))
            }))
        }
        "delete_prompt" => {
            let is_there = app.prompts.find(text("name"))?.is_some();
            let question = format!("Delete the prompt {}?", quoted(text("name")));
            Ok(is_there.then(|| Confirmation::new("delete", question)))
        }
        "edit_page" if text("op") != "delete" => Ok(None),
        "edit_page" => Ok(dry_run(&cx, name, arguments).map(|edit| {
            let path = quoted(edit["path"].as_str().unwrap_or_default());
            let question = match (section(arguments), text("match_id").trim().is_empty()) {
                (Some(section), _) => format!("Delete {} of {path}?", quoted(&section)),
                (None, false) => format!("Delete a section of {path}?"),
                (None, true) => format!("Delete the text of {path}?"),
            };
            Confirmation::new("delete", question)
        })),
        "move_page" => Ok(dry_run(&cx, name, arguments).and_then(|moved| {
            let (from, to) = (&moved["from"], &moved["path"]);
            let from = quoted(from.as_str().unwrap_or_default());
            if text("to").trim() == "@trash" {
                return Some(Confirmation::new("delete", format!("Move {from} to the trash?")));
            }
            let others = moved["rewritten"].as_array().map_or(0, Vec::len);
            let to = quoted(to.as_str().unwrap_or_default());
            let question = format!("Move {from} to {to} and rewrite the links in {others} notes?");
            (others + 1 > MAX_FILES).then(|| Confirmation::new("move", question))
        })),
        _ => restoring(&cx, arguments),
    }
}

/// The section that a call names, its headings from the top.
fn section(arguments: &Map<String, Value>) -> Option<String> {
    let headings = match arguments.get("toc_path")? {
        Value::Array(path) => path.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" > "),
        Value::String(path) => path.clone(),
        _ => return None,
    };
    Some(headings).filter(|headings| !headings.trim().is_empty())
}

/// Restoring a version over a text that has changed since.
fn restoring(cx: &Cx<'_>, arguments: &Map<String, Value>) -> Result<Option<Confirmation>> {
    let number = |name: &str| arguments.get(name).and_then(Value::as_i64);
    let (true, Some(version), None) =
        (arguments.get("restore") == Some(&Value::Bool(true)), number("version"), number("undo"))
    else {
        return Ok(None);
    };
    let path = arguments.get("path").and_then(Value::as_str);
    let Ok(pid) = cx.app.item_with_history(number("pid"), path) else { return Ok(None) };
    let is_there = cx.app.store.items.get(pid)?.is_some_and(|item| !item.gone);
    let Ok(old) = cx.app.version(pid, ChangeId(version)) else { return Ok(None) };
    let is_newer = is_there && !old.diff.is_empty();
    Ok(is_newer.then(|| {
        let name = quoted(&old.name);
        let question = match old.text {
            Some(_) => format!("Replace {name} with its version {version}?"),
            None => format!("Delete {name}, which version {version} does not have?"),
        };
        Confirmation::new("restore", question)
    }))
}

/// A call of a method that costs more than `[market] confirm_above`.
fn spending(cx: &Cx<'_>, name: &str) -> Result<Option<Confirmation>> {
    // Until the vaults were looked at, no method is known; the call itself waits, too.
    cx.app.await_first_look();
    let Some(method) = cx.app.method(name, cx.rights)? else { return Ok(None) };
    let Ok(ready) = cx.app.open_method(&method, cx.rights) else { return Ok(None) };
    let above = cx.app.config.market.confirm_above;
    let price = ready.page.price().filter(|price| !ready.is_readable && price.amount() > above);
    let Some(user) = cx.rights.user().and_then(|user| user.id) else { return Ok(None) };
    // What credit does not cover is not spent.
    let balance = cx.app.market().balance(user)?;
    Ok(price.filter(|price| price.amount() <= balance).map(|price| {
        let currency = cx.app.market().currency();
        let question = format!("Call {} for {price} {currency}?", quoted(name));
        // Another price is another question.
        Confirmation::new(format!("spend {name} {price}"), question)
    }))
}

/// What a call would do. `None` where it would fail, or is a dry run itself.
fn dry_run(cx: &Cx<'_>, name: &str, arguments: &Map<String, Value>) -> Option<Value> {
    if arguments.get("dry_run").is_some_and(|dry_run| dry_run != &Value::Bool(false)) {
        return None;
    }
    let entry = TABLE.iter().find(|entry| entry.name == name)?;
    let mut arguments = arguments.clone();
    arguments.insert("dry_run".into(), true.into());
    let arguments = prepare(entry, Value::Object(arguments)).ok()?;
    (entry.run)(arguments, cx).ok()?.structured
}

/// A name in a question, on one line and not too long.
fn quoted(name: &str) -> String {
    let words = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = words.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
    let more = if short.len() < words.len() { "…" } else { "" };
    format!("“{short}{more}”")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_line_and_short() {
        assert_eq!(quoted("Einkauf\n\tfür morgen"), "“Einkauf für morgen”");
        assert_eq!(quoted(&"щ".repeat(500)).chars().count(), MAX_NAME + 3);
    }
}
