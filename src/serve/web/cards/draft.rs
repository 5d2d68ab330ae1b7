//! The form of a card, read into what is to be made or changed.

use serde_json::Value;

use crate::{
    domain::{
        Card, Error, Result, Timestamp,
        card::{CardChange, CardType, CheckItem, NewCard, Recurrence, item_is_checked, item_text},
    },
    serve::web::Form,
};

/// What a form says of a card.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// The title.
    pub title: String,
    /// The text.
    pub text: String,
    /// The checklist, one item on each line.
    pub items: String,
    /// The labels, with commas between them.
    pub labels: String,
    /// A name of a colour.
    pub color: String,
    /// As `<input type="datetime-local">` has it.
    pub reminder: String,
    /// Minutes between that and UTC.
    pub offset: i64,
    /// How the reminder comes again.
    pub recurrence: String,
    /// Whether it is pinned. A new card only: on the board a button does it.
    pub pinned: bool,
}

impl Draft {
    /// Reads a form.
    pub fn read(form: &Form) -> Self {
        // A browser sends lines with CR and LF.
        let text = |name| form.field(name).replace("\r\n", "\n");
        Self {
            title: text("title").trim().to_owned(),
            text: text("text"),
            items: text("items"),
            labels: text("labels"),
            color: text("color"),
            reminder: text("reminder").trim().to_owned(),
            offset: form.field("offset").parse().unwrap_or(0),
            recurrence: text("recurrence"),
            pinned: form.value("pinned").is_some(),
        }
    }

    /// The form that shows a card.
    pub fn of(card: &Card) -> Self {
        let line = |item: &Value| {
            let mark = if item_is_checked(item) { "[x] " } else { "" };
            format!("{mark}{}", flat(item_text(item)))
        };
        let items: Vec<String> = card.check_items.iter().flatten().map(line).collect();
        Self {
            title: card.title.clone().unwrap_or_default().trim().to_owned(),
            text: card.content.replace("\r\n", "\n"),
            items: items.join("\n"),
            labels: card.labels.as_deref().unwrap_or_default().join(", "),
            color: super::view::color(&card.color).to_owned(),
            reminder: card
                .reminder
                .map(|moment| moment.to_string().chars().take(16).collect())
                .unwrap_or_default(),
            offset: 0,
            recurrence: card.reminder_recurrence.clone().unwrap_or_default(),
            pinned: card.is_pinned,
        }
    }

    /// A card to make.
    pub fn new_card(&self) -> Result<NewCard> {
        let items = self.check_items(&[]);
        let labels = self.label_list();
        if self.title.is_empty() && self.text.trim().is_empty() && items.is_empty() {
            return Err(Error::invalid_params(
                "the card is empty; write a title, a text or a list, and save it again",
            ));
        }
        let reminder = self.moment()?;
        Ok(NewCard {
            title: Some(self.title.clone()).filter(|title| !title.is_empty()),
            content: self.text.clone(),
            color: Some(self.color.as_str())
                .filter(|color| !color.is_empty())
                .map(str::parse)
                .transpose()?,
            kind: (!items.is_empty()).then_some(CardType::Checklist),
            check_items: (!items.is_empty()).then_some(items),
            labels: (!labels.is_empty()).then_some(labels),
            is_pinned: self.pinned,
            reminder,
            reminder_recurrence: reminder.and(self.recurrence()?),
            ..NewCard::default()
        })
    }

    /// What the form changes of the card that it was made from: only what differs.
    pub fn change(&self, card: &Card) -> Result<CardChange> {
        let before = Self::of(card);
        let differs = |field: fn(&Self) -> &String| field(self) != field(&before);
        let mut change = CardChange::default();
        if differs(|draft| &draft.title) {
            change.title = Some(Some(self.title.clone()).filter(|title| !title.is_empty()));
        }
        if differs(|draft| &draft.text) {
            change.content = Some(self.text.clone());
        }
        if differs(|draft| &draft.items) {
            let items = self.check_items(card.check_items.as_deref().unwrap_or_default());
            change.kind = Some(if items.is_empty() { CardType::Text } else { CardType::Checklist });
            change.check_items = Some((!items.is_empty()).then_some(items));
        }
        if differs(|draft| &draft.labels) {
            change.labels = Some(Some(self.label_list()).filter(|labels| !labels.is_empty()));
        }
        if differs(|draft| &draft.color) {
            change.color = Some(self.color.parse()?);
        }
        let reminder = self.moment()?;
        // A form has minutes, a card may have seconds.
        let shown = before.moment()?;
        if reminder != shown {
            change.reminder = Some(reminder);
        }
        if self.recurrence()? != before.recurrence()? {
            change.reminder_recurrence = Some(self.recurrence()?);
        }
        Ok(change)
    }

    fn recurrence(&self) -> Result<Option<Recurrence>> {
        let word = Some(self.recurrence.as_str()).filter(|word| !matches!(*word, "" | "none"));
        word.map(str::parse).transpose()
    }

    fn moment(&self) -> Result<Option<Timestamp>> {
        if self.reminder.is_empty() {
            return Ok(None);
        }
        let moment = Timestamp::parse(&self.reminder).ok_or_else(|| {
            Error::invalid_params(format!(
                "the reminder `{}` is not a date and time; write it as `2026-01-31T10:00`",
                self.reminder.chars().take(40).collect::<String>()
            ))
        })?;
        // No place on Earth is further from UTC than a day.
        let offset = self.offset.clamp(-1440, 1440);
        Ok(Some(Timestamp(moment.0.saturating_add(offset * 60_000))))
    }

    fn label_list(&self) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for label in self.labels.split([',', '、']).map(str::trim).filter(|label| !label.is_empty())
        {
            if !labels.iter().any(|known| known == label) {
                labels.push(label.to_owned());
            }
        }
        labels
    }

    /// The lines as items. A line that is, word for word, an item of the card is that item; a line
    /// that stands where an item stood takes its place.
    fn check_items(&self, stored: &[Value]) -> Vec<CheckItem> {
        let lines: Vec<(bool, &str)> =
            self.items.lines().map(item).filter(|(_, text)| !text.is_empty()).collect();
        let mut used = vec![false; stored.len()];
        let mut sources: Vec<Option<usize>> = Vec::new();
        for (_, text) in &lines {
            let same = |n: &usize| !used[*n] && flat(item_text(&stored[*n])) == *text;
            let found = (0..stored.len()).find(same);
            if let Some(n) = found {
                used[n] = true;
            }
            sources.push(found);
        }
        for (n, source) in sources.iter_mut().enumerate() {
            if source.is_none() && used.get(n) == Some(&false) {
                used[n] = true;
                *source = Some(n);
            }
        }
        let items = lines.into_iter().zip(sources);
        items
            .map(|((checked, text), source)| {
                let stored = source.map(|n| &stored[n]);
                let kept = stored.map(item_text).filter(|kept| flat(kept) == text);
                let id = stored.and_then(|item| match item.get("id")? {
                    Value::String(id) => Some(id.clone()),
                    Value::Number(id) => Some(id.to_string()),
                    _ => None,
                });
                CheckItem { id, text: kept.unwrap_or(text).to_owned(), checked }
            })
            .collect()
    }
}

/// `[x] milk`, `- [ ] milk` or `milk`.
fn item(line: &str) -> (bool, &str) {
    let line = line.trim();
    let bare = line.strip_prefix("- ").unwrap_or(line);
    for (mark, checked) in [("[x]", true), ("[X]", true), ("[ ]", false), ("☑", true), ("☐", false)]
    {
        if let Some(text) = bare.strip_prefix(mark) {
            return (checked, text.trim());
        }
    }
    (false, line)
}

/// A text on one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shopping() -> Card {
        Card {
            id: "c".into(),
            title: Some("Покупки".into()),
            content: "a\r\nb".into(),
            check_items: Some(vec![
                json!({"id": "m", "text": "молоко", "checked": true, "extra": 1}),
                json!({"id": 7, "text": "two\nlines", "checked": false}),
                json!({"id": "p", "text": "パン", "checked": false}),
            ]),
            labels: Some(vec!["дом".into(), "a, b".into()]),
            reminder: Timestamp::parse("2026-01-31T10:00:30Z"),
            ..Card::default()
        }
    }

    #[test]
    fn a_form_that_nobody_touched_changes_nothing() {
        let card = shopping();
        assert!(Draft::of(&card).change(&card).unwrap().is_empty());
    }

    #[test]
    fn items_keep_their_ids() {
        let card = shopping();
        let items = "パン\n[x] two lines\nсыр".to_owned();
        let change = Draft { items, ..Draft::of(&card) }.change(&card).unwrap();
        let items = change.check_items.unwrap().unwrap();
        let told: Vec<_> = items
            .iter()
            .map(|item| (item.id.as_deref(), item.text.as_str(), item.checked))
            .collect();
        assert_eq!(
            told,
            [(Some("p"), "パン", false), (Some("7"), "two\nlines", true), (None, "сыр", false)]
        );
        let renamed =
            Draft { items: "[x] кефир\ntwo lines\nパン".to_owned(), ..Draft::of(&card) };
        let items = renamed.change(&card).unwrap().check_items.unwrap().unwrap();
        assert_eq!((items[0].id.as_deref(), items[0].text.as_str()), (Some("m"), "кефир"));
    }

    #[test]
    fn a_reminder_is_read_in_the_browsers_zone() {
        let draft = Draft { reminder: "2026-01-31T10:00".into(), offset: -540, ..Draft::default() };
        assert_eq!(draft.moment().unwrap().unwrap().to_string(), "2026-01-31T01:00:00.000Z");
        assert!(Draft { reminder: "soon".into(), ..Draft::default() }.moment().is_err());
    }

    #[test]
    fn an_empty_card_is_refused_and_labels_are_told_apart() {
        assert!(Draft { text: " \n".into(), ..Draft::default() }.new_card().is_err());
        let draft =
            Draft {
                labels: "дом, 家、 дом,,x".into(), text: "t".into(), ..Draft::default()
            };
        assert_eq!(draft.new_card().unwrap().labels.unwrap(), ["дом", "家", "x"]);
    }
}
