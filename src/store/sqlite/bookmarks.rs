mod series;
mod write;

use rusqlite::{Connection, OptionalExtension, Row, ToSql, named_params, params, types::Type};
use sha2::{Digest, Sha256};

use self::write::{file, put_one, put_state, remove, revision};
use super::Sqlite;
use crate::{
    domain::{Bookmark, Error, Pid, Result, Timestamp},
    store::{
        bookmarks::{
            BookmarkState, Bookmarks, Counted, Filed, Put, Series, Tallies, Window, address_key,
        },
        revisions::NewChange,
    },
};

/// Says what its index says, `address <> ''`: SQLite uses a partial index only then.
const BY_ADDRESS: &str =
    "SELECT pid, body FROM bookmarks WHERE address = ?1 AND address <> '' ORDER BY pid";

impl Bookmarks for Sqlite {
    fn put(&self, batch: &[Filed], change: &mut NewChange) -> Result<Vec<Put>> {
        self.recorded(change, |tx, revisions| {
            batch.iter().map(|filed| put_one(tx, filed, revisions)).collect()
        })
    }

    fn record(&self, pid: Pid) -> Result<Option<String>> {
        self.read(|db| record(db, pid))
    }

    fn put_states(&self, states: &[BookmarkState], change: &mut NewChange) -> Result<()> {
        let done = self.recorded(change, |tx, revisions| {
            for state in states {
                if record(tx, state.pid)? != state.expected {
                    return Ok(false);
                }
            }
            states.iter().try_for_each(|state| put_state(tx, state, revisions)).map(|()| true)
        })?;
        match done {
            true => Ok(()),
            false => Err(Error::invalid_request(
                "a bookmark changed at this moment; nothing was undone, try again",
            )),
        }
    }

    fn twin(&self, bookmark: &Bookmark) -> Result<Option<(Pid, Bookmark)>> {
        self.read(|db| twin(db, bookmark))
    }

    fn get(&self, pid: Pid) -> Result<Option<Bookmark>> {
        self.read(|db| by_pid(db, pid))
    }

    fn get_many(&self, pids: &[Pid]) -> Result<Vec<(Pid, Bookmark)>> {
        self.read_many(
            pids,
            |wanted| {
                format!(
                    "SELECT b.pid, b.body FROM {wanted} JOIN bookmarks b ON b.pid = wanted.value"
                )
            },
            read,
        )
    }

    fn find(&self, id: &str) -> Result<Option<(Pid, Bookmark)>> {
        self.read(|db| by_id(db, id))
    }

    fn list(&self, after: Option<Pid>, limit: usize) -> Result<Vec<(Pid, Bookmark)>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT pid, body FROM bookmarks WHERE pid > ?1 ORDER BY pid LIMIT ?2",
            )?
            .query_map(params![after.map_or(0, |pid| pid.0), limit as i64], read)?
            .collect()
        })
    }

    fn remove(&self, id: &str, change: &mut NewChange) -> Result<bool> {
        self.recorded(change, |tx, revisions| {
            let Some((pid, known)) = by_id(tx, id)? else { return Ok(false) };
            revisions.push(revision(pid, Some(&known), None)?);
            remove(tx, pid)?;
            Ok(true)
        })
    }

    fn replace(&self, filed: &Filed, change: &mut NewChange) -> Result<Option<Pid>> {
        self.recorded(change, |tx, revisions| {
            let Some((pid, known)) = by_id(tx, &filed.bookmark.id)? else { return Ok(None) };
            revisions.push(revision(pid, Some(&known), Some(&filed.bookmark))?);
            file(tx, pid, &filed.bookmark, filed)?;
            Ok(Some(pid))
        })
    }

    fn categories(&self) -> Result<Vec<(String, u64)>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT category, count(*) FROM bookmarks WHERE category IS NOT NULL
                 GROUP BY category ORDER BY count(*) DESC, category",
            )?
            .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?
            .collect()
        })
    }

    fn count(&self, window: &Window) -> Result<Counted> {
        self.read(|db| count(db, window))
    }

    fn series(&self, bounds: &[Timestamp], category: Option<&str>) -> Result<Series> {
        self.read(|db| series::count(db, bounds, category))
    }

    fn notable(&self, window: &Window, limit: usize) -> Result<Vec<(Pid, Bookmark)>> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT pid, body FROM bookmarks
                 WHERE date >= ?1 AND date < ?2 AND (?3 IS NULL OR category = ?3) AND engaged > 0
                 ORDER BY engaged DESC, date DESC, id LIMIT ?4",
            )?
            .query_map(params![window.from.0, window.until.0, window.category, limit as i64], read)?
            .collect()
        })
    }

    fn new_tools(&self, window: &Window, limit: usize) -> Result<Vec<(String, u64)>> {
        self.read(|db| {
            // Bookmarks that have its name as a topic count too, but only where that word is as
            // new as the tool: a project called `core` does not own the word.
            db.prepare_cached(
                "WITH fresh AS (
                   SELECT tool FROM bookmarks b
                   WHERE tool IS NOT NULL AND date >= :from AND date < :until
                     AND (:category IS NULL OR category = :category)
                   GROUP BY tool
                   HAVING NOT EXISTS (SELECT 1 FROM bookmarks e WHERE e.tool = b.tool AND e.date < :from)
                 ), named AS (
                   SELECT f.tool, m.pid FROM fresh f JOIN bookmarks m ON m.tool = f.tool
                   WHERE m.date >= :from AND m.date < :until
                   UNION
                   SELECT f.tool, m.pid FROM fresh f
                   JOIN topics t ON t.topic = lower(f.tool) JOIN bookmarks m ON m.pid = t.pid
                   WHERE m.date >= :from AND m.date < :until
                     AND NOT EXISTS (SELECT 1 FROM topics o JOIN bookmarks e ON e.pid = o.pid
                                     WHERE o.topic = t.topic AND e.date < :from)
                 )
                 SELECT tool, count(*) FROM named GROUP BY tool
                 ORDER BY count(*) DESC, tool LIMIT :limit",
            )?
            .query_map(
                named_params! {":from": window.from.0, ":until": window.until.0,
                ":category": window.category, ":limit": limit as i64},
                |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)),
            )?
            .collect()
        })
    }

    fn about_tool(&self, tool: &str, topic: &str, limit: usize) -> Result<Vec<Bookmark>> {
        let found: Vec<(Pid, Bookmark)> = self.read(|db| {
            db.prepare_cached(
                "SELECT pid, body FROM bookmarks WHERE tool = ?1
                   OR pid IN (SELECT pid FROM topics WHERE topic = ?2)
                 ORDER BY tool = ?1 DESC, engaged DESC, pid LIMIT ?3",
            )?
            .query_map(params![tool, topic, limit as i64], read)?
            .collect()
        })?;
        Ok(found.into_iter().map(|(_, bookmark)| bookmark).collect())
    }

    fn tool_of(&self, pid: Pid) -> Result<Option<String>> {
        self.read(|db| {
            db.prepare_cached("SELECT tool FROM bookmarks WHERE pid = ?1")?
                .query_row([pid.0], |row| row.get(0))
                .optional()
        })
        .map(Option::flatten)
    }
}

fn by_pid(db: &Connection, pid: Pid) -> rusqlite::Result<Option<Bookmark>> {
    db.prepare_cached("SELECT pid, body FROM bookmarks WHERE pid = ?1")?
        .query_row([pid.0], read)
        .optional()
        .map(|found| found.map(|(_, bookmark)| bookmark))
}

fn by_id(db: &Connection, id: &str) -> rusqlite::Result<Option<(Pid, Bookmark)>> {
    db.prepare_cached("SELECT pid, body FROM bookmarks WHERE id = ?1")?
        .query_row([id], read)
        .optional()
}

/// The same id; or the same address, unless both have an id of their own: the same page may have
/// been posted twice.
fn twin(db: &Connection, bookmark: &Bookmark) -> rusqlite::Result<Option<(Pid, Bookmark)>> {
    if let Some(found) = by_id(db, &bookmark.id)? {
        return Ok(Some(found));
    }
    let address = address_key(bookmark);
    if address.is_empty() {
        return Ok(None);
    }
    let made = bookmark.has_made_id();
    let found: Vec<(Pid, Bookmark)> = db
        .prepare_cached(BY_ADDRESS)?
        .query_map([address], read)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(found.into_iter().find(|(_, known)| made || known.has_made_id()))
}

fn record(db: &Connection, pid: Pid) -> rusqlite::Result<Option<String>> {
    by_pid(db, pid)?.as_ref().map(body).transpose()
}

fn body(bookmark: &Bookmark) -> rusqlite::Result<String> {
    serde_json::to_string(bookmark)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn stamp(bookmark: &Bookmark) -> rusqlite::Result<i64> {
    let digest: [u8; 32] = Sha256::digest(body(bookmark)?).into();
    Ok(i64::from_le_bytes(std::array::from_fn(|at| digest[at])))
}

fn read(row: &Row<'_>) -> rusqlite::Result<(Pid, Bookmark)> {
    let body: String = row.get(1)?;
    let bookmark = serde_json::from_str(&body).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(1, Type::Text, Box::new(error))
    })?;
    Ok((Pid(row.get(0)?), bookmark))
}

/// One statement, so that every count is of the same moment.
fn count(db: &Connection, window: &Window) -> rusqlite::Result<Counted> {
    let mut statement = db.prepare_cached(
        "WITH seen AS MATERIALIZED (
           SELECT pid, author, domain, date >= :from AS now FROM bookmarks
           WHERE date >= :before AND date < :until AND (:category IS NULL OR category = :category)
         )
         SELECT 0, '', '', coalesce(sum(now), 0), coalesce(sum(NOT now), 0) FROM seen
         UNION ALL
         SELECT 1, author, author, sum(now), sum(NOT now) FROM seen
         WHERE author IS NOT NULL GROUP BY author HAVING sum(now) > 0
         UNION ALL
         SELECT 2, domain, domain, sum(now), sum(NOT now) FROM seen
         WHERE domain IS NOT NULL GROUP BY domain HAVING sum(now) > 0
         UNION ALL
         SELECT 3, topic, form, sum(now), sum(NOT now) FROM seen JOIN topics USING (pid)
         GROUP BY topic, form",
    )?;
    let parameters: &[(&str, &dyn ToSql)] = named_params! {
        ":before": window.before.0, ":from": window.from.0, ":until": window.until.0,
        ":category": window.category,
    };
    let mut rows = statement.query(parameters)?;
    let mut tallies = Tallies::default();
    while let Some(row) = rows.next()? {
        let (now, before) = (row.get::<_, i64>(3)? as u64, row.get::<_, i64>(4)? as u64);
        tallies.add(row.get(0)?, row.get(1)?, row.get(2)?, now, before);
    }
    Ok(tallies.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{Kind, Timestamp, bookmark::Judged},
        store::{Items, bookmarks::Topic, revisions::Actor},
    };

    fn filed(id: Option<&str>, url: &str, day: i64, topics: &[(&str, &str)]) -> Filed {
        let topics = topics.iter();
        Filed {
            bookmark: Bookmark::new(id, url, "text", Timestamp(0).plus_days(day)).unwrap(),
            topics: topics
                .map(|(key, form)| Topic { key: (*key).into(), form: (*form).into() })
                .collect(),
            tool: None,
        }
    }

    fn change() -> NewChange {
        NewChange::new(&Actor::shell("test"), "test")
    }

    fn open() -> (tempfile::TempDir, Sqlite) {
        let dir = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&dir.path().join("notewell.db")).unwrap();
        (dir, store)
    }

    #[test]
    fn counts_over_time_join_the_forms_of_a_word() {
        let (_dir, store) = open();
        let day = |n| Timestamp(0).plus_days(n);
        let mut batch = vec![
            filed(Some("a"), "", 0, &[("rust", "Rust")]),
            filed(Some("b"), "", 1, &[("rust", "rust"), ("сад", "сад")]),
            filed(Some("c"), "", 1, &[("rust", "rust")]),
            filed(Some("d"), "", 2, &[("сад", "сада")]),
        ];
        batch[0].bookmark.category = Some(Judged::by_user("Tools".to_owned()));
        Bookmarks::put(&store, &batch, &mut change()).unwrap();
        let bounds: Vec<Timestamp> = (0..=3).map(day).collect();
        let series = store.series(&bounds, None).unwrap();
        assert_eq!(series.totals, [1, 2, 1]);
        let expected = [("сад".to_owned(), vec![0, 1, 1]), ("rust".to_owned(), vec![1, 2, 0])];
        assert_eq!(series.topics, expected);
        assert_eq!(series.categories, [("Tools".to_owned(), vec![1, 0, 0])]);
        assert_eq!(store.series(&bounds, Some("tools")).unwrap().totals, [1, 0, 0]);
        assert_eq!(store.series(&bounds[..1], None).unwrap(), Series::default());
    }

    #[test]
    fn a_second_time_changes_nothing_and_logs_nothing() {
        let (_dir, store) = open();
        let batch = [filed(Some("1"), "https://x.com/a/status/1", 1, &[("agent", "agents")])];
        assert!(matches!(
            Bookmarks::put(&store, &batch, &mut change()).unwrap()[..],
            [Put::Added(_)]
        ));
        let head = store.head().unwrap();
        assert!(matches!(
            Bookmarks::put(&store, &batch, &mut change()).unwrap()[..],
            [Put::Same(_)]
        ));
        assert_eq!(store.head().unwrap(), head);
    }

    #[test]
    fn a_link_without_an_id_is_known_by_its_address() {
        let (_dir, store) = open();
        let plain = filed(None, "https://example.org/a", 1, &[]);
        let posted = filed(Some("hn.1"), "http://www.example.org/a/", 1, &[]);
        let again = filed(Some("hn.2"), "https://example.org/a", 2, &[]);
        let puts =
            Bookmarks::put(&store, &[plain.clone(), posted, plain, again], &mut change()).unwrap();
        let [Put::Added(first), Put::Updated(second), Put::Same(third), Put::Added(fourth)] =
            puts[..]
        else {
            panic!("{puts:?}");
        };
        assert!(first == second && second == third && third != fourth);
        let (pid, known) = Bookmarks::find(&store, "hn.1").unwrap().unwrap();
        assert_eq!((pid, known.id.as_str()), (first, "hn.1"));
        assert_eq!(Items::count(&store, Some(Kind::Bookmark)).unwrap(), 2);
        assert!(Bookmarks::remove(&store, "hn.1", &mut change()).unwrap());
        assert!(!Bookmarks::remove(&store, "hn.1", &mut change()).unwrap());
        assert_eq!(Items::count(&store, Some(Kind::Bookmark)).unwrap(), 1);
    }

    #[test]
    fn an_address_is_looked_up_and_not_searched_for() {
        let (_dir, store) = open();
        let plan: String = store
            .read(|db| {
                db.query_row(&format!("EXPLAIN QUERY PLAN {BY_ADDRESS}"), ["x"], |row| row.get(3))
            })
            .unwrap();
        assert!(plan.contains("USING INDEX bookmark_addresses"), "{plan}");
    }

    #[test]
    fn windows_are_counted_by_topic_whatever_the_form() {
        let (_dir, store) = open();
        let mut ai = filed(Some("4"), "", 13, &[("agent", "agents")]);
        ai.bookmark.category = Some(Judged::by_user("AI-Tools".into()));
        let batch = [
            filed(Some("1"), "https://a.org/1", 3, &[("agent", "agents"), ("агент", "агент")]),
            filed(
                Some("2"),
                "https://a.org/2",
                10,
                &[("agent", "agent"), ("エージェント", "エージェント")],
            ),
            filed(Some("3"), "https://b.org/3", 13, &[("agent", "agents"), ("агент", "агентов")]),
            ai,
            filed(Some("5"), "", 14, &[("agent", "agents")]),
        ];
        Bookmarks::put(&store, &batch, &mut change()).unwrap();
        let day = |day| Timestamp(0).plus_days(day);
        let mut window = Window { before: day(0), from: day(7), until: day(14), category: None };
        let counted = Bookmarks::count(&store, &window).unwrap();
        assert_eq!((counted.now, counted.before), (3, 1));
        let topics: Vec<_> = counted
            .topics
            .iter()
            .map(|tally| (tally.name.as_str(), tally.now, tally.before))
            .collect();
        assert_eq!(topics, [("agents", 3, 1), ("エージェント", 1, 0), ("агент", 1, 1)]);
        assert_eq!(counted.domains.len(), 2);
        window.category = Some("ai-tools".into());
        let counted = Bookmarks::count(&store, &window).unwrap();
        assert_eq!((counted.now, counted.before), (1, 0));
    }

    #[test]
    fn a_tool_is_new_once_and_its_name_counts_when_it_is_new_too() {
        let (_dir, store) = open();
        let with_tool = |id: &str, day, tool: &str, topics: &[(&str, &str)]| Filed {
            tool: Some(tool.into()),
            ..filed(Some(id), "", day, topics)
        };
        let batch = [
            with_tool("1", 1, "core", &[("core", "core")]),
            with_tool("2", 8, "core", &[]),
            with_tool("3", 8, "CrewAI", &[]),
            filed(Some("4"), "", 9, &[("crewai", "CrewAI")]),
        ];
        Bookmarks::put(&store, &batch, &mut change()).unwrap();
        let day = |day| Timestamp(0).plus_days(day);
        let window = Window { before: day(0), from: day(7), until: day(14), category: None };
        assert_eq!(store.new_tools(&window, 5).unwrap(), [("CrewAI".to_owned(), 2)]);
    }
}
