//! A card as a page shows it.

use serde_json::Value;

use crate::{
    app::{App, rendering::Links, rights::Rights},
    domain::{
        Card, Result, Timestamp,
        card::{Color, item_is_checked, item_text},
    },
    markdown::Note,
    serve::web::encode,
};

/// A card on the board or alone.
pub struct CardView {
    /// The card's address.
    pub href: String,
    /// Its id.
    pub id: String,
    /// What it is called, for people who do not see it.
    pub name: String,
    /// The title, empty for none.
    pub title: String,
    /// The text, unless it is Markdown.
    pub text: String,
    /// The text as HTML, where it is Markdown.
    pub html: Option<String>,
    /// The checklist: what is open, then what is done.
    pub items: Vec<ItemView>,
    /// The class of its colour.
    pub color: &'static str,
    /// Its labels, with the address of the board that shows each.
    pub labels: Vec<(String, String)>,
    /// The addresses of its pictures.
    pub pictures: Vec<String>,
    /// Whether it comes before the others.
    pub pinned: bool,
    /// Whether it is put away.
    pub archived: bool,
    /// Its reminder.
    pub reminder: Option<ReminderView>,
    /// The last change, as the form sends it back.
    pub updated: String,
    /// Whether the caller may change it.
    pub may_write: bool,
    /// The cards around it on the board, to move it past them.
    pub before: Option<String>,
    /// The card after it.
    pub after: Option<String>,
}

/// An item of a checklist.
pub struct ItemView {
    /// What ticks it; empty where another program gave it none.
    pub id: String,
    /// What it says.
    pub text: String,
    /// Whether it is done.
    pub checked: bool,
}

/// When a card reminds.
pub struct ReminderView {
    /// `2025-01-31 10:00 UTC`.
    pub text: String,
    /// For machines.
    pub exact: String,
    /// Whether the moment has come.
    pub due: bool,
    /// Whether it was dismissed.
    pub done: bool,
    /// `daily`, or empty.
    pub recurrence: String,
}

impl CardView {
    /// The view of a card, whose images are links.
    pub fn of(card: &Card, app: &App, rights: &Rights) -> Result<Self> {
        let href = format!("/cards/{}", encode(&card.id));
        let html = match card.is_markdown {
            true => Some(html(&card.content, app, rights)?),
            false => None,
        };
        let items = card.check_items.iter().flatten();
        let mut items: Vec<ItemView> = items.map(ItemView::of).collect();
        items.sort_by_key(|item| item.checked);
        let pictures = card.images.as_deref().unwrap_or_default().len();
        Ok(Self {
            name: card.name().to_owned(),
            title: card.title.as_deref().unwrap_or_default().trim().to_owned(),
            text: if html.is_none() { card.content.trim_end().to_owned() } else { String::new() },
            html,
            items,
            color: color(&card.color),
            labels: labels(card),
            pictures: (0..pictures).map(|n| format!("{href}/pictures/{n}")).collect(),
            pinned: card.is_pinned,
            archived: card.is_archived,
            reminder: card.reminder.map(|moment| ReminderView {
                text: minute(moment),
                exact: moment.to_string(),
                due: card.is_due(Timestamp::now()),
                done: card.is_reminder_done,
                recurrence: card
                    .reminder_recurrence
                    .clone()
                    .filter(|word| word != "none")
                    .unwrap_or_default(),
            }),
            updated: card.updated_at.map(|moment| moment.to_string()).unwrap_or_default(),
            may_write: rights.writes_card(card),
            before: None,
            after: None,
            id: card.id.clone(),
            href,
        })
    }

    /// How many items are done, of how many.
    pub fn progress(&self) -> String {
        let done = self.items.iter().filter(|item| item.checked).count();
        format!("{done} of {} done", self.items.len())
    }
}

impl ItemView {
    fn of(item: &Value) -> Self {
        let id = match item.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => String::new(),
        };
        Self { id, text: item_text(item).to_owned(), checked: item_is_checked(item) }
    }
}

fn labels(card: &Card) -> Vec<(String, String)> {
    let labels = card.labels.iter().flatten();
    labels.map(|label| (label.clone(), format!("/cards?label={}", encode(label)))).collect()
}

/// The class of a colour; what another program wrote and we do not know is the default.
pub fn color(word: &str) -> &'static str {
    let known = Color::ALL.iter().find(|color| color.as_str() == word);
    known.copied().unwrap_or(Color::Default).as_str()
}

/// `2025-01-31 10:00 UTC`.
pub fn minute(moment: Timestamp) -> String {
    let text: String = moment.to_string().chars().take(16).collect();
    format!("{} UTC", text.replace('T', " "))
}

fn html(text: &str, app: &App, rights: &Rights) -> Result<String> {
    // A rule on the first line is no frontmatter.
    let text = format!("\n{text}");
    let note = Note::parse(&text, "");
    let links = Links::new(app, rights, None)?;
    note.html(&text, &links).map(|html| without_ids(&html))
}

/// The same HTML without ids: several cards stand on one page, and may have the same headings.
fn without_ids(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let (text, tag) = rest.split_at(start);
        out.push_str(text);
        let mut quoted = false;
        let end = tag.find(|c| {
            quoted ^= c == '"';
            c == '>' && !quoted
        });
        let (tag, after) = tag.split_at(end.map_or(tag.len(), |end| end + 1));
        match tag.split_once(" id=\"").and_then(|(a, b)| Some((a, b.split_once('"')?.1))) {
            Some((before, behind)) => out.extend([before, behind]),
            None => out.push_str(tag),
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_removed_and_nothing_else() {
        let html = "<h2 id=\"q\">id=\"x\"</h2><a title=\"a > id\" href=\"#q\">b</a> c";
        let expected = "<h2>id=\"x\"</h2><a title=\"a > id\" href=\"#q\">b</a> c";
        assert_eq!(without_ids(html), expected);
        assert_eq!(without_ids("a < b"), "a < b");
    }

    #[test]
    fn a_colour_of_another_program_is_the_default() {
        assert_eq!(color("teal"), "teal");
        assert_eq!(color("\"><script>"), "default");
    }
}
