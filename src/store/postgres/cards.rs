//! Cards in the server database. Each write records the registry entry of its card in the same
//! transaction, so that no comparison is needed.

mod write;

use std::collections::BTreeSet;

use tokio_postgres::Row;

use super::{
    Postgres,
    connection::{Connection, Parameter},
    fault::Fault,
};
use crate::{
    domain::{
        Card, Result, Timestamp,
        card::{CardChange, NewCard},
    },
    store::{
        cards::{
            CardPage, CardQuery, Cards, Flag, Images, Imported, Occupancy, Order, Rank, Version,
            no_such_card,
            rows::{AT_ONCE, CardRow, Search, negated, texts},
        },
        sqlite::cards::{
            cuid,
            snapshot::{Key, stamp_of_card},
        },
    },
};

/// The name of the counter of changes.
const COUNTER: &str = "cards";

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
        let search = Search::new(query)?;
        self.read(|db| search.page(|after| batch(db, &search, after)))
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

/// What [`row`] reads. Images may be left in the database: then their number comes.
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
    search: &Search<'_>,
    after: Option<&Key>,
) -> Result<Vec<CardRow>, Fault> {
    let query = search.query;
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
    if let Some(needle) = &search.needle {
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
    db.query(&sql, &parameters)?.iter().map(row).collect()
}

pub(super) fn row(row: &Row) -> Result<CardRow, Fault> {
    Ok(CardRow {
        id: row.try_get(0)?,
        body: row.try_get(1)?,
        images: row.try_get(2)?,
        image_count: row.try_get(3)?,
        unpinned: row.try_get(4)?,
        place: row.try_get(5)?,
        age: row.try_get(6)?,
    })
}

fn card(one: &Row) -> Result<Card, Fault> {
    Ok(row(one)?.card()?)
}
