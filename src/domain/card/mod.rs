//! A card: a Keep-like note, field by field as Memento keeps it.
//!
//! What is read from a database may hold words this program does not know (another colour, another
//! size), so a stored card carries text; what a caller sends is checked here and is one of the
//! closed sets below.

mod draft;
mod image;
mod json;
mod reminder;

use serde_json::Value;

pub use draft::{CardChange, CheckItem, NewCard, Tick, merge_items, read_items};
pub use image::{Image, MAX_IMAGE_BYTES, MAX_IMAGES, check_images, check_images_or_links};
pub use json::View;
pub use reminder::next_occurrence;

use super::{Timestamp, query::words};

/// The longest title, in bytes.
pub const MAX_TITLE_BYTES: usize = 10_000;
/// The longest content, in bytes.
pub const MAX_CONTENT_BYTES: usize = 1 << 20;
/// The most checklist items a card may have.
pub const MAX_CHECK_ITEMS: usize = 1_000;
/// The most labels a card may have.
pub const MAX_LABELS: usize = 100;
/// The longest label or checklist item, in bytes.
pub const MAX_LINE_BYTES: usize = 10_000;

words!(
    /// The colours of Memento.
    Color, "color", {
        Default = "default",
        Red = "red",
        Orange = "orange",
        Yellow = "yellow",
        Green = "green",
        Teal = "teal",
        Blue = "blue",
        Purple = "purple",
        Pink = "pink",
        Gray = "gray",
    }
);

words!(
    /// What a card holds.
    CardType, "type", { Text = "text", Checklist = "checklist" }
);

words!(
    /// How often a reminder comes again.
    Recurrence, "reminderRecurrence", {
        None = "none",
        Daily = "daily",
        Weekly = "weekly",
        Monthly = "monthly",
    }
);

/// One card, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// A cuid.
    pub id: String,
    /// `None` for a card without a title.
    pub title: Option<String>,
    /// The text, empty for a checklist.
    pub content: String,
    /// A name of [`Color`], or what another program wrote.
    pub color: String,
    /// `text` or `checklist`: the column `type`.
    pub kind: String,
    /// Items as they are stored, so that a field this program does not know survives a tick.
    pub check_items: Option<Vec<Value>>,
    /// `None` where Memento stored no list.
    pub labels: Option<Vec<String>>,
    /// Base64 text or data URLs; in lists, links to read them by.
    pub images: Option<Vec<String>>,
    /// Shown before other cards.
    pub is_pinned: bool,
    /// Hidden from the board and from search, unless asked for.
    pub is_archived: bool,
    /// When to remind.
    pub reminder: Option<Timestamp>,
    /// Whether the reminder was dismissed.
    pub is_reminder_done: bool,
    /// `daily`, `weekly`, `monthly` or `yearly`.
    pub reminder_recurrence: Option<String>,
    /// A place, as Memento stores it.
    pub reminder_location: Option<String>,
    /// Whether the content is Markdown.
    pub is_markdown: bool,
    /// The size on Memento's board.
    pub size: String,
    /// Memento's own vector. Kept, never read.
    pub embedding: Option<String>,
    /// Memento's user.
    pub user_id: Option<String>,
    /// The position on the board.
    pub order: f64,
    /// None where the database has no such column or no readable date in it.
    pub created_at: Option<Timestamp>,
    /// The last change.
    pub updated_at: Option<Timestamp>,
}

impl Default for Card {
    /// The defaults of Memento's table.
    fn default() -> Self {
        Self {
            id: String::new(),
            title: None,
            content: String::new(),
            color: Color::Default.as_str().into(),
            kind: CardType::Text.as_str().into(),
            check_items: None,
            labels: None,
            images: None,
            is_pinned: false,
            is_archived: false,
            reminder: None,
            is_reminder_done: false,
            reminder_recurrence: None,
            reminder_location: None,
            is_markdown: false,
            size: "small".into(),
            embedding: None,
            user_id: None,
            order: 0.0,
            created_at: None,
            updated_at: None,
        }
    }
}

impl Card {
    /// The text and state of each checklist item.
    pub fn items(&self) -> impl Iterator<Item = (&str, bool)> {
        self.check_items.iter().flatten().map(|item| (item_text(item), item_is_checked(item)))
    }

    /// The first line of what the card says, for a card without a title.
    pub fn name(&self) -> &str {
        let line = |text: &'_ str| text.lines().map(str::trim).any(|line| !line.is_empty());
        if let Some(title) = self.title.as_deref().filter(|title| line(title)) {
            return title.trim();
        }
        let first = |text| -> Option<&str> {
            str::lines(text).map(str::trim).find(|line: &&str| !line.is_empty())
        };
        first(&self.content)
            .or_else(|| self.items().find_map(|(text, _)| first(text)))
            .unwrap_or("untitled")
    }

    /// A reminder whose time has come and that is not done.
    pub fn is_due(&self, now: Timestamp) -> bool {
        !self.is_reminder_done && self.reminder.is_some_and(|moment| moment <= now)
    }
}

/// The text of a stored checklist item.
pub fn item_text(item: &Value) -> &str {
    item.get("text").and_then(Value::as_str).or(item.as_str()).unwrap_or_default()
}

/// Whether a stored checklist item is ticked.
pub fn item_is_checked(item: &Value) -> bool {
    item.get("checked").and_then(Value::as_bool).unwrap_or(false)
}

/// The address of an image in a list, readable as a resource. `n` counts from 0.
pub fn image_link(id: &str, n: usize) -> String {
    format!("notewell://card/{id}/image/{n}")
}

/// Takes an image's address apart again.
pub fn parse_image_link(link: &str) -> Option<(&str, usize)> {
    let (id, n) = link.strip_prefix("notewell://card/")?.split_once("/image/")?;
    (!id.is_empty() && !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())).then_some(())?;
    Some((id, n.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_without_a_title_goes_by_its_first_line() {
        let mut card = Card {
            content: "\n  Купить молоко \nи хлеб".into(), ..Card::default()
        };
        assert_eq!(card.name(), "Купить молоко");
        card.content.clear();
        card.check_items = Some(vec![serde_json::json!({"text": "牛乳を買う", "checked": true})]);
        assert_eq!(card.name(), "牛乳を買う");
        card.title = Some("  ".into());
        assert_eq!(card.name(), "牛乳を買う");
        card.title = Some("Shopping".into());
        assert_eq!(card.name(), "Shopping");
        assert_eq!(Card::default().name(), "untitled");
    }

    #[test]
    fn an_image_link_reads_back() {
        assert_eq!(parse_image_link(&image_link("c1", 2)), Some(("c1", 2)));
        for bad in
            ["notewell://card//image/1", "notewell://card/c1/image/", "notewell://card/c1/image/-1"]
        {
            assert_eq!(parse_image_link(bad), None, "{bad}");
        }
    }
}
