//! Many bookmarks at once. Those that are new go in with one statement a table; the others take the
//! way of a single one.

use std::collections::{HashMap, HashSet};

use super::{
    super::{fault::Fault, transaction::Transaction},
    body, read, stamp,
    write::{put_one, revision},
};
use crate::{
    domain::{Bookmark, Pid, Result, bookmark},
    store::{
        bookmarks::{Filed, Put, address_key},
        revisions::Revision,
    },
};

/// Bookmarks that one statement writes.
const AT_ONCE: usize = 256;
/// Below this number the look at all of them costs more than it saves.
const FEW: usize = 4;

/// Puts bookmarks in, in their order.
pub(super) fn put_many(
    tx: &mut Transaction<'_>,
    batch: &[Filed],
    revisions: &mut Vec<Revision>,
) -> Result<Vec<Put>, Fault> {
    if batch.len() < FEW {
        return batch.iter().map(|filed| put_one(tx, filed, revisions)).collect();
    }
    let mut shelf = Shelf::read(tx, batch)?;
    let (mut puts, mut new) = (Vec::with_capacity(batch.len()), Vec::new());
    for filed in batch {
        if shelf.lacks(&filed.bookmark) {
            shelf.mark(&filed.bookmark);
            new.push(filed);
            if new.len() == AT_ONCE {
                add(tx, &mut new, &mut puts, revisions)?;
            }
            continue;
        }
        add(tx, &mut new, &mut puts, revisions)?;
        let put = match shelf.same(&filed.bookmark) {
            Some(pid) => Put::Same(pid),
            None => put_one(tx, filed, revisions)?,
        };
        if !matches!(put, Put::Same(_)) {
            shelf.mark(&filed.bookmark);
            shelf.changed.insert(put.pid());
        }
        puts.push(put);
    }
    add(tx, &mut new, &mut puts, revisions)?;
    Ok(puts)
}

/// What the library has beside a batch, as of its beginning, and what the batch touched since.
struct Shelf {
    /// The bookmarks that have an id of the batch.
    known: HashMap<String, (Pid, Bookmark)>,
    /// The addresses of the batch that bookmarks have, and whether one of these has a made id.
    addresses: HashMap<String, bool>,
    /// The ids of the batch that the registry has, also those of bookmarks that are gone.
    registered: HashSet<String>,
    touched_ids: HashSet<String>,
    touched_addresses: HashSet<String>,
    changed: HashSet<Pid>,
}

impl Shelf {
    fn read(tx: &mut Transaction<'_>, batch: &[Filed]) -> Result<Self, Fault> {
        let ids: Vec<&str> = batch.iter().map(|filed| filed.bookmark.id.as_str()).collect();
        let mut known = HashMap::new();
        for row in tx.query("SELECT pid, body FROM bookmarks WHERE id = ANY ($1)", &[&ids])? {
            let (pid, bookmark) = read(&row)?;
            known.insert(bookmark.id.clone(), (pid, bookmark));
        }
        let wanted: Vec<String> = batch
            .iter()
            .map(|filed| address_key(&filed.bookmark))
            .filter(|address| !address.is_empty())
            .collect();
        let mut addresses: HashMap<String, bool> = HashMap::new();
        let sql = "SELECT address, id FROM bookmarks WHERE address = ANY ($1) AND address <> ''";
        for row in tx.query(sql, &[&wanted])? {
            let made = bookmark::is_made_id(row.try_get(1)?);
            *addresses.entry(row.try_get(0)?).or_default() |= made;
        }
        let sql = "SELECT key FROM items WHERE kind = 'bookmark' AND key = ANY ($1)";
        let registered = tx
            .query(sql, &[&ids])?
            .iter()
            .map(|row| Ok(row.try_get(0)?))
            .collect::<Result<_, Fault>>()?;
        Ok(Self {
            known,
            addresses,
            registered,
            touched_ids: HashSet::new(),
            touched_addresses: HashSet::new(),
            changed: HashSet::new(),
        })
    }

    /// Whether nothing here, and nothing earlier in the batch, can be this bookmark or have its id.
    fn lacks(&self, bookmark: &Bookmark) -> bool {
        let id = &bookmark.id;
        if self.known.contains_key(id)
            || self.registered.contains(id)
            || self.touched_ids.contains(id)
        {
            return false;
        }
        let address = address_key(bookmark);
        if self.touched_addresses.contains(&address) {
            return false;
        }
        // Two with ids of their own may have one address.
        self.addresses.get(&address).is_none_or(|made| !made && !bookmark.has_made_id())
    }

    /// The bookmark with this id, when this one brings nothing new.
    fn same(&self, bookmark: &Bookmark) -> Option<Pid> {
        let (pid, known) = self.known.get(&bookmark.id)?;
        if self.changed.contains(pid) || self.touched_ids.contains(&bookmark.id) {
            return None;
        }
        (!known.clone().take(bookmark)).then_some(*pid)
    }

    /// Notes a bookmark that was written.
    fn mark(&mut self, bookmark: &Bookmark) {
        self.touched_ids.insert(bookmark.id.clone());
        let address = address_key(bookmark);
        if !address.is_empty() {
            self.touched_addresses.insert(address);
        }
    }
}

/// Writes new bookmarks and empties the list of them.
fn add(
    tx: &mut Transaction<'_>,
    new: &mut Vec<&Filed>,
    puts: &mut Vec<Put>,
    revisions: &mut Vec<Revision>,
) -> Result<(), Fault> {
    if new.is_empty() {
        return Ok(());
    }
    let items = tx.add_items(new.len())?;
    let each = || new.iter().map(|filed| &filed.bookmark);
    let ids: Vec<&str> = each().map(|bookmark| bookmark.id.as_str()).collect();
    let bodies = each().map(body).collect::<Result<Vec<String>, Fault>>()?;
    let stamps: Vec<i64> = bodies.iter().map(|body| stamp(body)).collect();
    tx.execute(
        "INSERT INTO items (pid, kind, key, stamp)
         SELECT t.pid, 'bookmark', t.key, t.stamp
         FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS t (pid, key, stamp)",
        &[&items.pids, &ids, &stamps],
    )?;
    tx.execute(
        "INSERT INTO changes (pid, seq)
         SELECT t.pid, t.seq FROM unnest($1::bigint[], $2::bigint[]) AS t (pid, seq)",
        &[&items.pids, &items.positions],
    )?;
    let addresses: Vec<String> = each().map(address_key).collect();
    let dates: Vec<i64> = each().map(|bookmark| bookmark.date.0).collect();
    let authors: Vec<Option<&str>> = each().map(|bookmark| bookmark.author.as_deref()).collect();
    let domains: Vec<Option<String>> =
        each().map(|bookmark| bookmark::domain(&bookmark.url)).collect();
    let categories: Vec<Option<&str>> = each()
        .map(|bookmark| bookmark.category.as_ref().map(|judged| judged.value.as_str()))
        .collect();
    let tools: Vec<Option<&str>> = new.iter().map(|filed| filed.tool.as_deref()).collect();
    let engaged: Vec<i64> =
        each().map(|bookmark| i64::try_from(bookmark.engaged()).unwrap_or(i64::MAX)).collect();
    tx.execute(
        "INSERT INTO bookmarks (pid, id, address, date, author, domain, category, tool, engaged, body)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[],
                              $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[])",
        &[
            &items.pids,
            &ids,
            &addresses,
            &dates,
            &authors,
            &domains,
            &categories,
            &tools,
            &engaged,
            &bodies,
        ],
    )?;
    let (mut of, mut topics, mut forms) = (Vec::new(), Vec::new(), Vec::new());
    for (filed, pid) in new.iter().zip(&items.pids) {
        for topic in &filed.topics {
            of.push(*pid);
            topics.push(topic.key.as_str());
            forms.push(topic.form.as_str());
        }
    }
    tx.execute(
        "INSERT INTO topics (pid, topic, form)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
         ON CONFLICT DO NOTHING",
        &[&of, &topics, &forms],
    )?;
    for (filed, pid) in new.drain(..).zip(items.pids) {
        revisions.push(revision(Pid(pid), None, Some(&filed.bookmark))?);
        puts.push(Put::Added(Pid(pid)));
    }
    Ok(())
}
