//! Cards in the server database. Each write records the registry entry of its card in the same
//! transaction, so that no comparison is needed.

mod write;

use std::{cmp::Reverse, collections::BTreeSet};

use tokio_postgres::Row;

use super::{
    Postgres,
    connection::{Connection, Parameter},
    fault::Fault,
};
use crate::{
    domain::{
        Card, Error, Kind, Result, Timestamp,
        card::{CardChange, NewCard, image_link},
    },
    store::{
        cards::{
            CardPage, CardQuery, Cards, Flag, Images, Imported, MAX_PAGE_BYTES, Occupancy, Order,
            Rank, Version, no_such_card,
        },
        sqlite::cards::{
            cuid, cursor, fold,
            snapshot::{Key, Rank as Place, stamp_of_card},
            weight,
        },
    },
};

/// The name of the counter of changes.
const COUNTER: &str = "cards";
/// Cards that one statement of a list reads.
const AT_ONCE: usize = 200;

impl Cards for Postgres {
    fn draft(&self, new: NewCard) -> Result<Card> {
        new.check()?;
        Ok(new.into_card(cuid::new_id()?, Timestamp::now()))
    }

    fn insert(&self, card: Card) -> Result<Card> {
        self.write_cards(|tx| write::insert(tx, card))
    }

    fn get(&self, id: &str, images: Images) -> Result<Option<Card>> {
        self.read(|db| get(db, id, images))
    }

    fn get_many(&self, ids: &[&str], images: Images) -> Result<Vec<Card>> {
        self.read(|db| {
            let sql = format!(
                "SELECT {} FROM unnest($1::text[]) WITH ORDINALITY AS wanted (id, number)
                 JOIN cards c ON c.id = wanted.id ORDER BY wanted.number",
                columns(images)
            );
            db.query(&sql, &[&ids])?.iter().map(card).collect()
        })
    }

    fn list(&self, query: &CardQuery) -> Result<CardPage> {
        let limit = query.checked_limit()?;
        let place = query.cursor.as_deref().map(cursor::read).transpose()?;
        let needle = query.contains.as_deref().map(fold::fold).filter(|text| !text.is_empty());
        // The parts of a text are joined by a character that no search may bridge.
        if needle.as_ref().is_some_and(|needle| needle.contains(['\0', write::JOINT])) {
            return Ok(CardPage { cards: Vec::new(), next: None });
        }
        self.read(|db| {
            let mut page = CardPage { cards: Vec::new(), next: None };
            let (mut bytes, mut last, mut after) = (0, None, place.clone());
            loop {
                let rows = batch(db, query, needle.as_deref(), after.as_ref())?;
                for row in &rows {
                    let (card, key) = (card(row)?, key(row, query.order)?);
                    after = Some(key.clone());
                    if !query.visible.has_labelled(Kind::Card, card.labels.iter().flatten()) {
                        continue;
                    }
                    if page.cards.len() == limit || bytes >= MAX_PAGE_BYTES {
                        page.next = last.as_ref().map(cursor::write);
                        return Ok(page);
                    }
                    bytes += weight(&card);
                    page.cards.push(card);
                    last = Some(key);
                }
                if rows.len() < AT_ONCE {
                    return Ok(page);
                }
            }
        })
    }

    fn update(&self, id: &str, change: CardChange) -> Result<Card> {
        change.check()?;
        self.write_cards(|tx| write::update(tx, id, change))
    }

    fn toggle(&self, id: &str, flag: Flag) -> Result<Card> {
        self.write_cards(|tx| write::toggle(tx, id, flag))
    }

    fn ranks(&self) -> Result<Vec<Rank>> {
        self.read(|db| {
            db.query(
                "SELECT id, unpinned, place FROM cards ORDER BY unpinned, place, age, id",
                &[],
            )?
            .iter()
            .map(|row| {
                Ok(Rank {
                    id: row.try_get(0)?,
                    is_pinned: !row.try_get::<_, bool>(1)?,
                    order: row.try_get(2)?,
                })
            })
            .collect()
        })
    }

    fn arrange(&self, orders: &[(String, f64)]) -> Result<()> {
        self.write_cards(|tx| {
            orders.iter().try_for_each(|(id, order)| write::set_order(tx, id, *order))
        })
    }

    fn delete(&self, id: &str) -> Result<()> {
        self.write_cards(|tx| match write::delete(tx, id)? {
            true => Ok(()),
            false => Err(Fault::Refused(no_such_card(id))),
        })
    }

    fn put_all(&self, cards: &[(String, Option<Card>)]) -> Result<()> {
        self.write_cards(|tx| {
            cards.iter().try_for_each(|(id, card)| match card {
                Some(card) => write::put(tx, Card { id: id.clone(), ..card.clone() }),
                None => write::delete(tx, id).map(drop),
            })
        })
    }

    fn labels(&self) -> Result<Vec<String>> {
        self.read(|db| {
            let mut labels = BTreeSet::new();
            let sql = "SELECT DISTINCT labels FROM cards WHERE labels IS NOT NULL";
            for row in db.query(sql, &[])? {
                labels.extend(texts(row.try_get(0)?)?);
            }
            Ok(labels.into_iter().collect())
        })
    }

    fn import(&self, cards: &[Card]) -> Result<Vec<Imported>> {
        self.write_cards(|tx| cards.iter().map(|card| write::import(tx, card)).collect())
    }

    fn stamps(&self) -> Result<Vec<(String, u64)>> {
        self.read(|db| {
            db.query("SELECT id, stamp FROM cards", &[])?
                .iter()
                .map(|row| Ok((row.try_get(0)?, row.try_get::<_, i64>(1)? as u64)))
                .collect()
        })
    }

    fn stamp(&self, id: &str) -> Result<Option<u64>> {
        self.read(|db| {
            let row = db.query_opt("SELECT stamp FROM cards WHERE id = $1", &[&id])?;
            row.map(|row| Ok(row.try_get::<_, i64>(0)? as u64)).transpose()
        })
    }

    fn version(&self) -> Result<Version> {
        let change = self.read(|db| db.changes_of(COUNTER))?;
        Ok(Version { place: 0, change })
    }

    fn occupancy(&self) -> Result<Occupancy> {
        self.read(|db| {
            let row = db.query_one(
                "SELECT EXISTS (SELECT 1 FROM cards),
                        EXISTS (SELECT 1 FROM change_counts WHERE name = $1)",
                &[&COUNTER],
            )?;
            Ok(match (row.try_get(0)?, row.try_get(1)?) {
                (true, _) => Occupancy::Cards,
                (false, true) => Occupancy::Emptied,
                (false, false) => Occupancy::Empty,
            })
        })
    }

    fn damage(&self) -> Result<Vec<String>> {
        self.read(|db| {
            let mut damage = Vec::new();
            let sql =
                format!("SELECT {}, c.stamp FROM cards c ORDER BY c.id", columns(Images::Bytes));
            for row in db.query(&sql, &[])? {
                let id: String = row.try_get(0)?;
                match card(&row) {
                    Ok(card) if stamp_of_card(&card) as i64 == row.try_get::<_, i64>(8)? => {}
                    Ok(_) => damage.push(format!("the stamp of the card `{id}` is not its own")),
                    Err(_) => damage.push(format!("the card `{id}` cannot be read")),
                }
            }
            Ok(damage)
        })
    }
}

/// What [`card`] and [`key`] read. Images may be left in the database: then their number comes.
fn columns(images: Images) -> String {
    let images = match images {
        Images::Bytes => "c.images",
        Images::Links => "NULL::text",
    };
    format!("c.id, c.body, {images}, c.image_count, c.unpinned, c.place, c.age, c.archived")
}

fn get(db: &mut Connection, id: &str, images: Images) -> Result<Option<Card>, Fault> {
    let sql = format!("SELECT {} FROM cards c WHERE c.id = $1", columns(images));
    db.query_opt(&sql, &[&id])?.as_ref().map(card).transpose()
}

/// The next cards of a list after a place.
fn batch(
    db: &mut Connection,
    query: &CardQuery,
    needle: Option<&str>,
    after: Option<&Key>,
) -> Result<Vec<Row>, Fault> {
    let order = match query.order {
        Order::Listed => "c.unpinned, c.place, c.age, c.id",
        Order::Newest => "c.unpinned, c.age, c.id",
    };
    let place = after.map(|key| (key.unpinned, key.order.0, negated(key.updated.0), &*key.id));
    let due = query.due.map(|now| now.0);
    let mut conditions = vec!["true".to_owned()];
    let mut parameters: Vec<Parameter<'_>> = Vec::new();
    // Only what is asked for is in the statement, so that an index can serve it.
    if !query.archived {
        conditions.push("NOT c.archived".to_owned());
    }
    if let Some(due) = &due {
        parameters.push(due);
        conditions.push(format!("c.reminder <= ${}", parameters.len()));
    }
    if let Some(needle) = &needle {
        parameters.push(needle);
        conditions.push(format!("strpos(c.folded, ${}) > 0", parameters.len()));
    }
    if let Some((unpinned, rank, age, id)) = &place {
        let values: &[Parameter<'_>] = match query.order {
            Order::Listed => &[unpinned, rank, age, id],
            Order::Newest => &[unpinned, age, id],
        };
        let first = parameters.len() + 1;
        parameters.extend(values);
        let numbers: Vec<String> =
            (first..=parameters.len()).map(|number| format!("${number}")).collect();
        conditions.push(format!("({order}) > ({})", numbers.join(", ")));
    }
    let sql = format!(
        "SELECT {} FROM cards c WHERE {} ORDER BY {order} LIMIT {AT_ONCE}",
        columns(query.images),
        conditions.join(" AND ")
    );
    db.query(&sql, &parameters)
}

fn negated(moment: i64) -> i64 {
    moment.checked_neg().unwrap_or(i64::MAX)
}

fn key(row: &Row, order: Order) -> Result<Key, Fault> {
    let place = match order {
        Order::Listed => row.try_get(5)?,
        Order::Newest => 0.0,
    };
    Ok(Key {
        unpinned: row.try_get(4)?,
        order: Place(place),
        updated: Reverse(negated(row.try_get(6)?)),
        id: row.try_get::<_, String>(0)?.into(),
    })
}

fn card(row: &Row) -> Result<Card, Fault> {
    let id: String = row.try_get(0)?;
    let unreadable = |why: String| {
        Fault::Refused(Error::damaged(format!(
            "the card `{id}` in the database cannot be read: {why}; restore it from a backup"
        )))
    };
    let body =
        serde_json::from_str(row.try_get(1)?).map_err(|error| unreadable(error.to_string()))?;
    let mut card = Card::from_json(&body).map_err(&unreadable)?;
    card.images = match (row.try_get::<_, Option<String>>(2)?, row.try_get::<_, Option<i64>>(3)?) {
        (Some(images), _) => Some(texts(images)?),
        (None, Some(count)) => {
            Some((0..usize::try_from(count).unwrap_or(0)).map(|n| image_link(&id, n)).collect())
        }
        (None, None) => None,
    };
    card.id = id;
    Ok(card)
}

fn texts(list: String) -> Result<Vec<String>, Fault> {
    serde_json::from_str(&list).map_err(|error| {
        Fault::Refused(Error::damaged(format!("a list of a card cannot be read: {error}")))
    })
}
