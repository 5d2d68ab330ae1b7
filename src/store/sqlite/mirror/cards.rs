//! The copy's cards: what a replica reads of them while the store is away.

use rusqlite::{Row, ToSql, Transaction, params};

use super::super::Sqlite;
use crate::{
    domain::{Card, Pid, Result},
    store::{
        cards::{
            CardPage, CardQuery, Images, Order, Rank,
            rows::{AT_ONCE, CardRow, Search, negated, texts},
        },
        replica::CopiedCard,
        sqlite::cards::snapshot::Key,
    },
};

/// As the server has them, by pid.
pub(super) const TABLE: &str = "CREATE TABLE IF NOT EXISTS mirrored_cards (
    pid INTEGER PRIMARY KEY, id TEXT NOT NULL, unpinned INTEGER NOT NULL, place REAL NOT NULL,
    age INTEGER NOT NULL, archived INTEGER NOT NULL, reminder INTEGER, labels TEXT, images TEXT,
    image_count INTEGER, folded TEXT NOT NULL, body TEXT NOT NULL, stamp INTEGER NOT NULL) STRICT;
    CREATE UNIQUE INDEX IF NOT EXISTS mirrored_card_ids ON mirrored_cards (id)";

impl Sqlite {
    /// The cards with these ids in the order asked for. Others are left out.
    pub fn mirrored_cards(&self, ids: &[&str], images: Images) -> Result<Vec<Card>> {
        let sql = format!("SELECT {} FROM mirrored_cards WHERE id = ?1", columns(images));
        let rows: Vec<CardRow> = self.read(|db| {
            let mut find = db.prepare_cached(&sql)?;
            let mut found = Vec::new();
            for id in ids {
                found.extend(find.query_map([id], row)?.collect::<rusqlite::Result<Vec<_>>>()?);
            }
            Ok(found)
        })?;
        rows.into_iter().map(CardRow::card).collect()
    }

    /// One page of cards.
    pub fn list_mirrored_cards(&self, query: &CardQuery) -> Result<CardPage> {
        let search = Search::new(query)?;
        search.page(|after| self.read(|db| batch(db, &search, after)))
    }

    /// Where every card stands.
    pub fn mirrored_ranks(&self) -> Result<Vec<Rank>> {
        let sql = "SELECT id, unpinned, place FROM mirrored_cards
                   ORDER BY unpinned, place, age, id";
        self.read(|db| {
            db.prepare_cached(sql)?
                .query_map([], |row| {
                    let is_pinned = !row.get::<_, bool>(1)?;
                    Ok(Rank { id: row.get(0)?, is_pinned, order: row.get(2)? })
                })?
                .collect()
        })
    }

    /// Every label in use, sorted, once.
    pub fn mirrored_labels(&self) -> Result<Vec<String>> {
        let lists: Vec<String> = self.read(|db| {
            db.prepare_cached(
                "SELECT DISTINCT labels FROM mirrored_cards WHERE labels IS NOT NULL",
            )?
            .query_map([], |row| row.get(0))?
            .collect()
        })?;
        let mut labels = Vec::new();
        for list in lists {
            labels.extend(texts(&list)?);
        }
        labels.sort_unstable();
        labels.dedup();
        Ok(labels)
    }

    /// Every card's id and stamp.
    pub fn mirrored_stamps(&self) -> Result<Vec<(String, u64)>> {
        self.read(|db| {
            db.prepare_cached("SELECT id, stamp FROM mirrored_cards")?
                .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?
                .collect()
        })
    }
}

fn columns(images: Images) -> String {
    let images = match images {
        Images::Bytes => "images",
        Images::Links => "NULL",
    };
    format!("id, body, {images}, image_count, unpinned, place, age")
}

fn row(row: &Row<'_>) -> rusqlite::Result<CardRow> {
    Ok(CardRow {
        id: row.get(0)?,
        body: row.get(1)?,
        images: row.get(2)?,
        image_count: row.get(3)?,
        unpinned: row.get(4)?,
        place: row.get(5)?,
        age: row.get(6)?,
    })
}

/// The next cards of a list after a place.
fn batch(
    db: &rusqlite::Connection,
    search: &Search<'_>,
    after: Option<&Key>,
) -> rusqlite::Result<Vec<CardRow>> {
    let query = search.query;
    let order = match query.order {
        Order::Listed => "unpinned, place, age, id",
        Order::Newest => "unpinned, age, id",
    };
    let place = after.map(|key| (key.unpinned, key.order.0, negated(key.updated.0), &*key.id));
    let due = query.due.map(|now| now.0);
    let mut conditions = vec!["1"];
    let mut parameters: Vec<&dyn ToSql> = Vec::new();
    if !query.archived {
        conditions.push("NOT archived");
    }
    if let Some(due) = &due {
        parameters.push(due);
        conditions.push("reminder <= ?");
    }
    if let Some(needle) = &search.needle {
        parameters.push(needle);
        conditions.push("instr(folded, ?) > 0");
    }
    if let Some((unpinned, rank, age, id)) = &place {
        match query.order {
            Order::Listed => {
                parameters.extend::<[&dyn ToSql; 4]>([unpinned, rank, age, id]);
                conditions.push("(unpinned, place, age, id) > (?, ?, ?, ?)");
            }
            Order::Newest => {
                parameters.extend::<[&dyn ToSql; 3]>([unpinned, age, id]);
                conditions.push("(unpinned, age, id) > (?, ?, ?)");
            }
        }
    }
    let sql = format!(
        "SELECT {} FROM mirrored_cards WHERE {} ORDER BY {order} LIMIT {AT_ONCE}",
        columns(query.images),
        conditions.join(" AND ")
    );
    db.prepare_cached(&sql)?.query_map(&*parameters, row)?.collect()
}

/// Forgets the card of an item.
pub(super) fn forget(tx: &Transaction<'_>, pid: Pid) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM mirrored_cards WHERE pid = ?1")?.execute([pid.0]).map(drop)
}

/// Takes cards over.
pub(super) fn insert(tx: &Transaction<'_>, cards: &[CopiedCard]) -> rusqlite::Result<()> {
    let mut put = tx.prepare_cached(
        "INSERT OR REPLACE INTO mirrored_cards
             (pid, id, unpinned, place, age, archived, reminder, labels, images, image_count,
              folded, body, stamp)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for CopiedCard { pid, row, archived, reminder, labels, folded, stamp } in cards {
        put.execute(params![
            pid.0,
            row.id,
            row.unpinned,
            row.place,
            row.age,
            archived,
            reminder,
            labels,
            row.images,
            row.image_count,
            folded,
            row.body,
            stamp
        ])?;
    }
    Ok(())
}
