//! Making and changing rows, inside a transaction that the caller began.

use rusqlite::{params_from_iter, types::Value};

use super::{
    Inner,
    dates::{self, DateForm},
    fail,
    layout::{COLUMNS, Layout},
    row,
};
use crate::{
    domain::{
        Card, Error, Result, Timestamp,
        card::{CardChange, Recurrence, merge_items, next_occurrence, parse_image_link},
    },
    store::cards::{Flag, Images, Imported, no_such_card},
};

const DATES: [&str; 3] = ["reminder", "createdAt", "updatedAt"];

impl Inner {
    /// The form in which a row keeps a date; that of its column where the row has none.
    fn form_of_row(&self, id: &str, column: &'static str) -> Result<DateForm> {
        let form = self
            .connection
            .prepare_cached(&format!(r#"SELECT "{column}" FROM "Note" WHERE "id" = ?1"#))
            .and_then(|mut statement| {
                statement.query_row([id], |row| Ok(DateForm::of(row.get_ref(0)?)))
            })
            .map_err(|error| fail(error, "read the dates of the card"))?;
        form.map_or_else(|| self.form(column), Ok)
    }

    /// The form in which to write a date into a new row.
    fn form(&self, column: &'static str) -> Result<DateForm> {
        if let Some(form) = self.forms.borrow().get(column) {
            return Ok(*form);
        }
        // A column without dates yet follows its neighbours.
        let mut form = None;
        for name in [column, "updatedAt", "createdAt"] {
            if form.is_none() && self.layout.has(name) {
                form = DateForm::of_column(&self.connection, name)
                    .map_err(|error| fail(error, "read the dates of the cards"))?;
            }
        }
        let form = form.unwrap_or_default();
        self.forms.borrow_mut().insert(column, form);
        Ok(form)
    }

    fn must_get(&self, id: &str) -> Result<Card> {
        self.get(id, Images::Bytes)
            .map_err(|error| fail(error, "read the card"))?
            .ok_or_else(|| no_such_card(id))
    }

    pub fn insert(&self, mut card: Card) -> Result<Card> {
        refuse_lost(&self.layout, &card)?;
        // A card from elsewhere may know only one of its dates, or none.
        let date = card.updated_at.or(card.created_at).unwrap_or_else(Timestamp::now);
        card.updated_at = Some(date);
        card.created_at = card.created_at.or(Some(date));
        let unknown = self.layout.unknown_required();
        if !unknown.is_empty() {
            return Err(Error::invalid_request(format!(
                "the card database wants a value for `{}`, which Notewell does not know; give the \
                 column a default there, or make the card in the program that owns the database",
                unknown.join("`, `")
            )));
        }
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for column in COLUMNS.into_iter().filter(|column| self.layout.has(column)) {
            let form =
                if DATES.contains(&column) { self.form(column)? } else { DateForm::default() };
            let mut value = row::write(&card, column, form);
            if value == Value::Null && self.layout.is_required(column) {
                value = self.forced(column)?;
            }
            names.push(format!("\"{column}\""));
            values.push(value);
        }
        let sql = format!(
            r#"INSERT INTO "Note" ({}) VALUES ({})"#,
            names.join(", "),
            vec!["?"; names.len()].join(", ")
        );
        self.connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.execute(params_from_iter(values)))
            .map_err(|error| fail(error, "add the card"))?;
        self.must_get(&card.id)
    }

    /// What to put into a known column that may not be empty here though it may in Memento.
    fn forced(&self, column: &str) -> Result<Value> {
        if column != "userId" {
            return Ok(match column {
                "checkItems" | "labels" | "images" => Value::Text("[]".into()),
                _ => Value::Text(String::new()),
            });
        }
        // One person's database: the new card is theirs.
        let owners = self
            .connection
            .prepare(r#"SELECT DISTINCT "userId" FROM "Note" LIMIT 2"#)
            .and_then(|mut statement| {
                statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<Value>>>()
            })
            .map_err(|error| fail(error, "read whose cards these are"))?;
        match <[Value; 1]>::try_from(owners) {
            Ok([owner]) => Ok(owner),
            Err(owners) => Err(Error::invalid_request(format!(
                "the card database wants a `userId` and has cards of {} people; make the card in \
                 the program that owns the database",
                if owners.is_empty() { "no" } else { "several" }
            ))),
        }
    }

    pub fn update(&self, id: &str, change: CardChange) -> Result<Card> {
        let old = self.must_get(id)?;
        check_unchanged(&old, &change)?;
        let (card, columns) = apply(&old, change)?;
        self.set(&old, &card, &columns)
    }

    pub fn toggle(&self, id: &str, flag: Flag) -> Result<Card> {
        let old = self.must_get(id)?;
        let mut card = old.clone();
        let column = match flag {
            Flag::Pinned => {
                card.is_pinned = !old.is_pinned;
                "isPinned"
            }
            Flag::Archived => {
                card.is_archived = !old.is_archived;
                "isArchived"
            }
        };
        self.set(&old, &card, &[column])
    }

    /// Writes these columns of the card and `updatedAt`, and nothing else.
    fn set(&self, old: &Card, card: &Card, columns: &[&'static str]) -> Result<Card> {
        let mut sets = Vec::new();
        let mut values = Vec::new();
        for &column in columns {
            if !self.layout.has(column) {
                return Err(lost(column));
            }
            let form = match DATES.contains(&column) {
                true => self.form_of_row(&old.id, column)?,
                false => DateForm::default(),
            };
            let mut value = row::write(card, column, form);
            if value == Value::Null && self.layout.is_required(column) {
                value = self.forced(column)?;
            }
            sets.push(format!("\"{column}\" = ?"));
            values.push(value);
        }
        if self.layout.has("updatedAt") && !columns.contains(&"updatedAt") {
            let form = self.form_of_row(&old.id, "updatedAt")?;
            sets.push("\"updatedAt\" = ?".to_owned());
            values.push(form.write(dates::after(old.updated_at, Timestamp::now())));
        }
        values.push(Value::Text(card.id.clone()));
        let sql = format!(r#"UPDATE "Note" SET {} WHERE "id" = ?"#, sets.join(", "));
        self.connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.execute(params_from_iter(values)))
            .map_err(|error| fail(error, "change the card"))?;
        self.must_get(&card.id)
    }

    /// Writes the place of a card, a whole number as Memento has it, and nothing else.
    pub fn set_order(&self, id: &str, order: f64) -> Result<()> {
        if !self.layout.has("order") {
            return Err(lost("order"));
        }
        self.connection
            .prepare_cached(r#"UPDATE "Note" SET "order" = ?1 WHERE "id" = ?2"#)
            .and_then(|mut statement| statement.execute(rusqlite::params![order as i64, id]))
            .map(drop)
            .map_err(|error| fail(error, "arrange the cards"))
    }

    /// Deletes a card. Returns whether it was there.
    pub fn delete(&self, id: &str) -> Result<bool> {
        self.connection
            .prepare_cached(r#"DELETE FROM "Note" WHERE "id" = ?1"#)
            .and_then(|mut statement| statement.execute([id]))
            .map(|deleted| deleted > 0)
            .map_err(|error| fail(error, "delete the card"))
    }

    /// Writes a card whole, in the place of the one with this id if there is one.
    pub fn put(&self, id: &str, card: &Card) -> Result<()> {
        let found = self.get(id, Images::Bytes).map_err(|error| fail(error, "read a card"))?;
        match found {
            None => self.insert(card.clone()),
            Some(old) => self.replace(&old, card),
        }
        .map(drop)
    }

    /// Writes every column that there is for this card.
    fn replace(&self, old: &Card, card: &Card) -> Result<Card> {
        let columns: Vec<_> = COLUMNS
            .into_iter()
            .filter(|column| *column != "id" && self.layout.has(column))
            .collect();
        refuse_lost(&self.layout, card)?;
        self.set(old, card, &columns)
    }

    pub fn import(&self, card: &Card) -> Result<Imported> {
        let found =
            self.get(&card.id, Images::Bytes).map_err(|error| fail(error, "read a card"))?;
        let outcome = match found {
            None => self.insert(card.clone()).map(|_| Imported::Added),
            Some(old) if old.updated_at >= card.updated_at => return Ok(Imported::Present),
            Some(old) => self.replace(&old, card).map(|_| Imported::Updated),
        };
        match outcome {
            // A fault of storage ends the import; anything else is about this card.
            Err(error) if error.code.json_rpc() != -32603 => Ok(Imported::Refused(error.message)),
            other => other,
        }
    }
}

/// Refuses a change of a card that changed since its caller read it.
pub fn check_unchanged(old: &Card, change: &CardChange) -> Result<()> {
    if let Some(expected) = change.if_updated_at
        && old.updated_at != Some(expected)
    {
        let (id, now) = (&old.id, old.updated_at);
        let now = now.map_or_else(|| "unknown".into(), |moment| moment.to_string());
        return Err(Error::invalid_request(format!(
            "the card `{id}` changed since `{expected}`: its updatedAt is now `{now}`; read it \
             again with get_note and repeat the change"
        ))
        .with_data(serde_json::json!({ "updatedAt": old.updated_at })));
    }
    Ok(())
}

/// The card after the change, and the columns that it names.
pub fn apply(old: &Card, change: CardChange) -> Result<(Card, Vec<&'static str>)> {
    let mut card = old.clone();
    let mut columns = Vec::new();
    let mut set = |column| {
        if !columns.contains(&column) {
            columns.push(column);
        }
    };
    if let Some(title) = change.title {
        set("title");
        card.title = title;
    }
    if let Some(content) = change.content {
        set("content");
        card.content = content;
    }
    if let Some(color) = change.color {
        set("color");
        card.color = color.as_str().into();
    }
    if let Some(kind) = change.kind {
        set("type");
        card.kind = kind.as_str().into();
    }
    if let Some(items) = change.check_items {
        set("checkItems");
        card.check_items = items.map(|items| merge_items(&items, old.check_items.as_deref()));
    }
    if let Some(tick) = change.tick {
        set("checkItems");
        tick.apply(card.check_items.as_deref_mut().unwrap_or_default())?;
    }
    if let Some(labels) = change.labels {
        set("labels");
        card.labels = labels;
    }
    if let Some(images) = change.images {
        set("images");
        card.images = images.map(|images| keep_linked(images, old)).transpose()?;
    }
    if let Some(pinned) = change.is_pinned {
        set("isPinned");
        card.is_pinned = pinned;
    }
    if let Some(archived) = change.is_archived {
        set("isArchived");
        card.is_archived = archived;
    }
    if let Some(reminder) = change.reminder {
        set("reminder");
        // A new time is a new reminder.
        set("isReminderDone");
        card.reminder = reminder;
        card.is_reminder_done = false;
    }
    if let Some(recurrence) = change.reminder_recurrence {
        set("reminderRecurrence");
        card.reminder_recurrence = recurrence.map(|recurrence| recurrence.as_str().into());
    }
    if let Some(done) = change.is_reminder_done {
        set("isReminderDone");
        card.is_reminder_done = done;
        let recurrence: Option<Recurrence> =
            card.reminder_recurrence.as_deref().and_then(|word| word.parse().ok());
        // One that comes again is not done: it moves on.
        if let (true, Some(moment), Some(recurrence)) = (done, card.reminder, recurrence)
            && let Some(next) = next_occurrence(moment, recurrence, Timestamp::now())
        {
            set("reminder");
            card.reminder = Some(next);
            card.is_reminder_done = false;
        }
    }
    Ok((card, columns))
}

/// Puts the card's own images in the place of links to them: a caller that was given links because
/// the images are large sends the links back to keep them.
fn keep_linked(images: Vec<String>, old: &Card) -> Result<Vec<String>> {
    let stored = old.images.as_deref().unwrap_or_default();
    let resolve = |(at, image): (usize, String)| match parse_image_link(&image) {
        None => Ok(image),
        Some((id, n)) if id == old.id => stored.get(n).cloned().ok_or_else(|| {
            Error::invalid_params(format!(
                "images[{at}] links to image {n}; the card has {}, counted from 0",
                stored.len()
            ))
        }),
        Some((id, _)) => Err(Error::invalid_params(format!(
            "images[{at}] links to an image of the card `{id}`; send that image as base64"
        ))),
    };
    images.into_iter().enumerate().map(resolve).collect()
}

/// Refuses a card of which this table would lose something that was asked for.
fn refuse_lost(layout: &Layout, card: &Card) -> Result<()> {
    let bare = Card::default();
    let form = DateForm::default();
    for column in COLUMNS {
        let kept = layout.has(column)
            || matches!(
                column,
                "createdAt" | "updatedAt" | "order" | "size" | "embedding" | "userId"
            )
            || row::write(card, column, form) == row::write(&bare, column, form);
        if !kept {
            return Err(lost(column));
        }
    }
    Ok(())
}

fn lost(column: &str) -> Error {
    Error::invalid_params(format!(
        "{column} cannot be kept: the table `Note` of this card database has no such column"
    ))
}
