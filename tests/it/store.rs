//! The contract of the store: one suite for each trait, run over every implementation of it.

use std::{path::Path, sync::Arc};

use notewell::{
    domain::{
        Bookmark, Card, Code, Kind, Pid, Scope, Timestamp, VaultPath, Visible,
        card::{CardChange, NewCard},
        prompt::{Draft, Patch},
        user::Extent,
    },
    store::{
        self, Bookmarks, Cards, Items, Pages, Prompts, Reports, Revisions, Store, StoreLimits,
        StoreUrl, Texts, Tokens,
        bookmarks::{Filed, Put, Window},
        cards::{CardQuery, Flag, Images, Imported, Occupancy},
        jsonl::JsonlPrompts,
        pages::{Authorship, Facts, NewPage, PageChange, Skipped, VaultProblem},
        postgres::{Postgres, PostgresPrompts},
        reports::StoredReport,
        revisions::{Actor, NewChange, Revision},
        sqlite::cards::SqliteCards,
        texts::Unread,
        tokens::{NewToken, Power},
    },
    vault,
};
use serde_json::json;

use crate::support::{self, put};

const LIMITS: StoreLimits = StoreLimits { text_bytes: 1 << 20, readers: 2, ..StoreLimits::DEFAULT };

/// Runs a suite over every kind of store, each empty, in a folder of its own.
pub fn every_store(suite: impl Fn(&Store, &Path)) {
    let urls: [fn(&Path) -> Option<String>; 2] =
        [|folder| Some(format!("sqlite:{}", folder.join("data").display())), support::store_url];
    for url in urls {
        let folder = tempfile::tempdir().unwrap();
        let Some(url) = url(folder.path()) else { continue };
        let url = StoreUrl::parse(&url).unwrap();
        suite(&store::open(&url, LIMITS).unwrap(), folder.path());
        // What was acknowledged is there for the next process.
        drop(store::open(&url, LIMITS).unwrap());
    }
}

fn keys(items: &dyn Items, pids: &[Pid]) -> Vec<String> {
    items.get_many(pids).unwrap().into_iter().map(|item| item.key).collect()
}

#[test]
fn items_keep_their_numbers_and_log_their_changes() {
    every_store(|store, _| {
        let items: &dyn Items = &*store.items;
        assert_eq!((items.head().unwrap(), items.count(None).unwrap()), (0, 0));
        let names = ["soup", "суп", "スープ"];
        let pids = names.map(|name| items.record(Kind::Card, name, 1).unwrap());
        let head = items.head().unwrap();
        assert_eq!(items.record(Kind::Card, "суп", 1).unwrap(), pids[1], "nothing new");
        assert_eq!(items.head().unwrap(), head, "and nothing logged");
        items.record(Kind::Card, "суп", 2).unwrap();
        assert_eq!(items.changes(head, 10).unwrap().len(), 1);
        assert_eq!(keys(items, &[pids[2], Pid(999), pids[0]]), ["スープ", "soup"]);
        assert_eq!(keys(items, &[]), [""; 0]);
        assert_eq!(items.remove(Kind::Card, "soup").unwrap(), Some(pids[0]));
        assert_eq!(items.remove(Kind::Card, "soup").unwrap(), None);
        assert!(items.find(Kind::Card, "soup").unwrap().is_none());
        assert!(items.get(pids[0]).unwrap().unwrap().gone, "its number stays");
        assert_eq!(items.record(Kind::Card, "soup", 5).unwrap(), pids[0], "and comes back");
        let all = [("суп".to_owned(), 2), ("new".to_owned(), 1)];
        let synced = items.sync(Kind::Card, &all).unwrap();
        assert_eq!((synced.new, synced.changed, synced.gone), (1, 0, 2));
        assert!(!items.sync(Kind::Card, &all).unwrap().any());
        // One entry an item, in the order of their last changes, however few are asked for.
        let (mut position, mut seen) = (0, Vec::new());
        while let Some((seq, pid)) = items.changes(position, 1).unwrap().pop() {
            assert!(seq > position);
            (position, seen) = (seq, [seen, vec![pid]].concat());
        }
        assert_eq!((seen.len(), position), (4, items.head().unwrap()));
        assert!(items.list(Some(Kind::Page), None, 10).unwrap().is_empty());
    });
}

fn page(path: &str, text: &str, hash: u8) -> Box<NewPage> {
    let path = VaultPath::parse(path).unwrap();
    let (page, _) = vault::page("v", &path, text);
    let facts = Facts { page, links: vec!["суп".into()], toc: Vec::new(), slow_ms: None };
    let (path, size) = (path.as_str().to_owned(), text.len() as u64);
    Box::new(NewPage { vault: "v".into(), path, size, mtime_ns: 7, hash: [hash; 32], facts })
}

fn paths(pages: &dyn Pages, pids: &[Pid]) -> Vec<String> {
    pages.get_many(pids).unwrap().into_iter().map(|row| row.path).collect()
}

/// Earlier versions knew no `access`, and kept it among the other fields of the frontmatter.
#[test]
fn pages_for_members_stay_so_after_an_upgrade() {
    every_store(|store, _| {
        store.pages.add_vault("v", "somewhere", false).unwrap();
        let old = |path: &str, access: &str| {
            let mut page = page(path, "text", 1);
            assert!(!page.facts.page.members);
            page.facts.page.extra.insert("access".into(), access.into());
            PageChange::Put { pid: None, page }
        };
        store.pages.apply(&[old("club.md", "members"), old("x.md", "nobody")]).unwrap();
        let members = Visible::of([Extent::Members], None);
        let listed = store.pages.list(None, 10, &members).unwrap();
        assert_eq!(listed.iter().map(|row| row.path.as_str()).collect::<Vec<_>>(), ["club.md"]);
        assert!(store.pages.list(None, 10, &Visible::free()).unwrap().is_empty());
    });
}

#[test]
fn pages_are_found_by_the_name_of_their_file() {
    every_store(|store, _| {
        store.pages.add_vault("v", "somewhere", false).unwrap();
        let put = |path: &str, hash| PageChange::Put { pid: None, page: page(path, "text", hash) };
        let paths = ["SKILL.md", "スキル/b/SKILL.md", "a/SKILL.md", "a/skill.md", "a/xSKILL.md"];
        let changes: Vec<PageChange> =
            paths.iter().zip(1..).map(|(path, at)| put(path, at)).collect();
        store.pages.apply(&changes).unwrap();
        let named = store.pages.named("SKILL.md").unwrap();
        let found: Vec<&str> = named.iter().map(|row| row.path.as_str()).collect();
        assert_eq!(found, ["a/SKILL.md", "スキル/b/SKILL.md"]);
    });
}

#[test]
fn pages_come_change_move_and_go() {
    every_store(|store, _| {
        let pages: &dyn Pages = &*store.pages;
        let vault = pages.add_vault("v", "somewhere", false).unwrap();
        assert_eq!((vault.name.as_str(), vault.location.as_str()), ("v", "somewhere"));
        assert_eq!(pages.add_vault("other", "somewhere", true).unwrap().name, "v", "known place");
        assert_eq!(pages.add_vault("v", "elsewhere", false).unwrap().name, "v-2", "taken name");
        let new = |path, text, hash| PageChange::Put { pid: None, page: page(path, text, hash) };
        let synced = pages
            .apply(&[
                new("soup.md", "---\nfree: true\n---\n", 1),
                new("суп.md", "---\nmcp_method: soup\n---\n", 2),
                new("スープ.md", "text", 3),
            ])
            .unwrap();
        assert_eq!((synced.new, pages.count_of("v").unwrap()), (3, 3));
        let pid = |path| pages.find("v", path).unwrap().unwrap().pid;
        let all = ["soup.md", "суп.md", "スープ.md"].map(pid);
        assert_eq!(paths(pages, &[all[2], Pid(999), all[0]]), ["スープ.md", "soup.md"]);
        let row = pages.get(all[1]).unwrap().unwrap();
        assert_eq!((row.hash, row.mtime_ns, row.facts.links.len()), ([2; 32], 7, 1));
        let methods = pages.methods().unwrap();
        assert_eq!(methods.iter().map(|row| row.pid).collect::<Vec<_>>(), [all[1]]);
        let free = pages.list(None, 10, &Visible::free()).unwrap();
        assert_eq!(free.iter().map(|row| row.pid).collect::<Vec<_>>(), [all[0]]);
        // A move keeps the number; a page that only was touched is not logged.
        let head = store.items.head().unwrap();
        pages.apply(&[PageChange::Touched { pid: all[0], size: 9, mtime_ns: 9 }]).unwrap();
        assert_eq!(store.items.head().unwrap(), head);
        let moved = PageChange::Put { pid: Some(all[2]), page: page("x/スープ.md", "text", 3) };
        let gone = |pid, vault: &str, path: &str, as_of| {
            let (vault, path) = (vault.to_owned(), path.to_owned());
            [PageChange::Gone { pid, vault, path, as_of }]
        };
        let [soup] = gone(all[0], "v", "soup.md", Some(head));
        pages.apply(&[moved, soup]).unwrap();
        assert_eq!(pid("x/スープ.md"), all[2]);
        assert_eq!(paths(pages, &all), ["суп.md", "x/スープ.md"]);
        assert_eq!(store.items.changes(head, 10).unwrap().len(), 2);
        assert_eq!(pages.with_content("v", &[[3; 32]]).unwrap().len(), 1);
        // Who saw it go from where it was does not see where it is, nor that it is back since.
        for (vault, path, as_of) in [
            ("v", "スープ.md", None),
            ("v-2", "x/スープ.md", None),
            ("v", "x/スープ.md", Some(head)),
        ] {
            let gone = gone(all[2], vault, path, as_of);
            assert_eq!(pages.apply(&gone).unwrap().gone, 0, "{vault}/{path} as of {as_of:?}");
            assert_eq!(pid("x/スープ.md"), all[2]);
        }
        let now = store.items.head().unwrap();
        let applied = pages.apply(&gone(all[2], "v", "x/スープ.md", Some(now))).unwrap();
        assert_eq!((applied.gone, pages.count_of("v").unwrap()), (1, 1));
        let back = PageChange::Put { pid: None, page: page("x/スープ.md", "text", 3) };
        pages.apply(&[back]).unwrap();
        assert_eq!(pid("x/スープ.md"), all[2]);
        for problem in [Some(VaultProblem::Empty), Some(VaultProblem::Unreadable("x".into())), None]
        {
            pages.set_problem("v", problem.as_ref()).unwrap();
            assert_eq!(pages.vaults().unwrap()[0].problem, problem);
        }
        pages.mark_seen("v", Timestamp(5)).unwrap();
        assert_eq!(pages.vaults().unwrap()[0].seen, Some(Timestamp(5)));
        pages.move_vault("v", "new place").unwrap();
        let moved = pages.vaults().unwrap().into_iter().find(|row| row.name == "v").unwrap();
        assert_eq!(moved.location, "new place");
        assert!(pages.remove_vault("v").unwrap());
        assert!(!pages.remove_vault("v").unwrap());
        // Who still looked at it meanwhile brings nothing back.
        let head = store.items.head().unwrap();
        for pid in [None, Some(all[1])] {
            let put = PageChange::Put { pid, page: page("суп.md", "text", 2) };
            assert_eq!(pages.apply(&[put]).unwrap_err().code, Code::NotFound);
        }
        assert_eq!((pages.count_of("v").unwrap(), store.items.head().unwrap()), (0, head));
        let left_out = Skipped {
            vault: "v".into(),
            path: "суп.md".into(),
            kind: "size".into(),
            reason: "too large".into(),
        };
        pages.set_skipped("v", None, std::slice::from_ref(&left_out)).unwrap();
        assert!(pages.skipped().unwrap().is_empty());
        let registered = Skipped { vault: "v-2".into(), ..left_out };
        pages.set_skipped("v-2", None, std::slice::from_ref(&registered)).unwrap();
        assert_eq!(pages.skipped().unwrap(), [registered]);
        assert!(pages.list(None, 10, &Visible::everything()).unwrap().is_empty());
        assert_eq!(store.items.count(Some(Kind::Page)).unwrap(), 0);
    });
}

#[test]
fn a_vault_decides_who_its_authors_are() {
    every_store(|store, _| {
        let pages: &dyn Pages = &*store.pages;
        pages.add_vault("v", "somewhere", false).unwrap();
        let written = page("a.md", "---\nauthor: Анна\n---\n", 1);
        pages.apply(&[PageChange::Put { pid: None, page: written }]).unwrap();
        let author = || pages.find("v", "a.md").unwrap().unwrap().facts.page.author;
        assert_eq!(author().as_deref(), Some("Анна"));
        for (authorship, expected) in [
            (Authorship::Vault("mira".into()), Some("mira")),
            (Authorship::Nobody, None),
            (Authorship::Frontmatter, Some("Анна")),
        ] {
            let head = store.items.head().unwrap();
            pages.set_authorship("v", &authorship).unwrap();
            assert_eq!(author().as_deref(), expected);
            assert_eq!(pages.vaults().unwrap()[0].authorship, authorship);
            assert_eq!(store.items.changes(head, 10).unwrap().len(), 1, "derived state follows");
            // The same again is no change.
            let head = store.items.head().unwrap();
            pages.set_authorship("v", &authorship).unwrap();
            assert_eq!(store.items.head().unwrap(), head);
        }
    });
}

#[test]
fn a_text_is_read_as_it_is_or_the_reason_is_named() {
    every_store(|store, folder| {
        let texts: &dyn Texts = &*store.texts;
        let read = |path: &str| texts.read("v", &VaultPath::parse(path).unwrap());
        assert!(read("a.md").unwrap_err().message.contains("`v`"), "an unknown vault");
        let root = folder.join("notes");
        std::fs::create_dir_all(root.join("日記")).unwrap();
        store.pages.add_vault("v", &root.to_string_lossy(), false).unwrap();
        put(&root.join("日記/суп.md"), "текст\r\n");
        let text = read("日記/суп.md").unwrap().unwrap();
        assert_eq!((text.text.as_str(), text.stamp.size), ("текст\r\n", 12));
        put(&root.join("日記/суп.md"), "другой");
        assert_ne!(read("日記/суп.md").unwrap().unwrap().hash, text.hash);
        assert_eq!(read("gone.md").unwrap(), Err(Unread::Absent));
        put(&root.join("latin.md"), b"caf\xe9");
        put(&root.join("large.md"), vec![b'a'; (1 << 20) + 1]);
        for path in ["latin.md", "large.md"] {
            assert!(matches!(read(path).unwrap(), Err(Unread::Unfit(_))), "{path}");
        }
        // A vault that was removed and added again is read where it is now.
        let moved = folder.join("moved");
        std::fs::rename(&root, &moved).unwrap();
        store.pages.remove_vault("v").unwrap();
        store.pages.add_vault("v", &moved.to_string_lossy(), false).unwrap();
        assert_eq!(read("日記/суп.md").unwrap().unwrap().text, "другой");
    });
}

#[test]
fn a_token_is_found_by_the_hash_of_its_secret() {
    every_store(|store, _| {
        let tokens: &dyn Tokens = &*store.tokens;
        assert_eq!(tokens.find(&[1; 32]).unwrap(), None);
        let new = |name: &str, scope, expires| NewToken {
            name: name.to_owned(),
            power: Power::Scope(scope),
            audience: None,
            connection: None,
            expires,
        };
        let reader = new("ноутбук", Scope::Reader, Some(Timestamp(9)));
        let made = tokens.create(&reader, &[1; 32]).unwrap();
        let other = tokens.create(&new("携帯", Scope::Owner, None), &[2; 32]).unwrap();
        assert_eq!(tokens.find(&[1; 32]).unwrap().unwrap().token, made);
        assert!(tokens.create(&reader, &[1; 32]).is_err(), "a hash is unique");
        assert!(tokens.revoke(made.id).unwrap());
        assert!(!tokens.revoke(made.id).unwrap() && !tokens.revoke(999).unwrap());
        let revoked = tokens.find(&[1; 32]).unwrap().unwrap().token;
        assert!(revoked.revoked.is_some() && !revoked.is_valid(Timestamp(0)));
        assert_eq!(tokens.all().unwrap(), [revoked, other]);
    });
}

fn filed(id: &str, url: &str, day: i64) -> Filed {
    let bookmark = Bookmark::new(Some(id), url, "пост 日本", Timestamp(0).plus_days(day)).unwrap();
    Filed { bookmark, topics: Vec::new(), tool: None }
}

fn change() -> NewChange {
    NewChange::new(&Actor::shell("test"), "test")
}

#[test]
fn bookmarks_are_joined_listed_and_counted() {
    every_store(|store, _| {
        let bookmarks: &dyn Bookmarks = &*store.bookmarks;
        let batch = [filed("1", "https://a.example/x", 1), filed("2", "https://b.example", 9)];
        let put = bookmarks.put(&batch, &mut change()).unwrap();
        let pids: Vec<Pid> = put.iter().map(|put| put.pid()).collect();
        assert!(put.iter().all(|put| matches!(put, Put::Added(_))));
        assert_eq!(bookmarks.put(&batch[..1], &mut change()).unwrap(), [Put::Same(pids[0])]);
        let many = bookmarks.get_many(&[pids[1], Pid(999), pids[0]]).unwrap();
        let ids: Vec<&str> = many.iter().map(|(_, bookmark)| bookmark.id.as_str()).collect();
        assert_eq!(ids, ["2", "1"]);
        assert_eq!(bookmarks.find("2").unwrap().unwrap().0, pids[1]);
        assert_eq!(bookmarks.twin(&batch[0].bookmark).unwrap().unwrap().0, pids[0]);
        assert_eq!(bookmarks.list(Some(pids[0]), 10).unwrap().len(), 1);
        let [before, from, until] = [0, 5, 10].map(|day| Timestamp(0).plus_days(day));
        let counted = bookmarks.count(&Window { before, from, until, category: None }).unwrap();
        assert_eq!((counted.now, counted.before), (1, 1));
        let mut changed = batch[0].clone();
        changed.bookmark.text = "другой".into();
        assert_eq!(bookmarks.replace(&changed, &mut change()).unwrap(), Some(pids[0]));
        assert_eq!(bookmarks.get(pids[0]).unwrap().unwrap().text, "другой");
        assert!(
            bookmarks.remove("1", &mut change()).unwrap()
                && !bookmarks.remove("1", &mut change()).unwrap()
        );
        assert_eq!(bookmarks.get(pids[0]).unwrap(), None);
        assert_eq!(
            bookmarks.put(&batch[..1], &mut change()).unwrap()[0].pid(),
            pids[0],
            "its number comes back"
        );
    });
}

/// A batch is what its bookmarks are one after the other: few ids and addresses, so that they meet.
#[test]
fn a_batch_of_bookmarks_is_what_they_are_one_by_one() {
    let mut dice = crate::crash::Dice(0xb00c);
    let mut batches: Vec<Vec<Filed>> = Vec::new();
    for round in 0..12 {
        let size = 1 + dice.roll(40);
        batches.push((0..size).map(|_| drawn(&mut dice, round)).collect());
    }
    let run = |one_by_one: bool| {
        let (seen, batches) = (std::sync::Mutex::new(Vec::new()), &batches);
        every_store(|store, _| {
            let bookmarks: &dyn Bookmarks = &*store.bookmarks;
            let mut puts = Vec::new();
            for batch in batches {
                let mut change = change();
                match one_by_one {
                    true => batch.iter().for_each(|filed| {
                        let one = std::slice::from_ref(filed);
                        puts.extend(bookmarks.put(one, &mut change).unwrap());
                    }),
                    false => puts.extend(bookmarks.put(batch, &mut change).unwrap()),
                }
                // Some go, and may come back with a later batch.
                bookmarks.remove("own1", &mut change).unwrap();
            }
            let topics = bookmarks.about_tool("tool", "topic2", 1_000).unwrap();
            let journal: Vec<_> = store
                .revisions
                .recent(None, 100)
                .unwrap()
                .into_iter()
                .map(|change| store.revisions.revisions(change.id, 0, 1_000).unwrap())
                .collect();
            let log = store.items.changes(0, 10_000).unwrap();
            let listed = bookmarks.list(None, 10_000).unwrap();
            seen.lock()
                .unwrap()
                .push(format!("{puts:?} {listed:?} {log:?} {topics:?} {journal:?}"));
        });
        seen.into_inner().unwrap()
    };
    let (single, whole) = (run(true), run(false));
    assert_eq!(single, whole);
    assert!(single.iter().all(|one| *one == single[0]), "every store does the same");
}

fn drawn(dice: &mut crate::crash::Dice, round: u64) -> Filed {
    let own = format!("own{}", dice.roll(60));
    let id = (dice.roll(3) > 0).then_some(own.as_str());
    let url = format!("https://example.org/{}", dice.roll(80));
    let url = if dice.roll(6) == 0 { "" } else { url.as_str() };
    let text = format!("текст {}", dice.roll(4));
    let mut bookmark = Bookmark::new(id, url, &text, Timestamp(0).plus_days(3)).unwrap();
    if dice.roll(4) == 0 {
        bookmark.labels.push(format!("label{round}"));
    }
    let topic = |number: u64| store::bookmarks::Topic {
        key: format!("topic{}", number % 3),
        form: format!("Topic{number}"),
    };
    let tool = (dice.roll(5) == 0).then(|| "Tool".to_owned());
    Filed { bookmark, topics: (0..dice.roll(4)).map(topic).collect(), tool }
}

#[test]
fn a_change_is_pending_until_it_is_finished_or_abandoned() {
    every_store(|store, _| {
        let journal: &dyn Revisions = &*store.revisions;
        let revision = |after: &str| Revision {
            pid: None,
            kind: Kind::Card,
            key: "чай".into(),
            moved_to: None,
            before: None,
            after: Some(after.as_bytes().to_vec()),
        };
        let turn = journal.turn().unwrap();
        let kept = journal.begin(&turn, &mut change(), &[revision("緑茶")]).unwrap();
        let dropped = journal.begin(&turn, &mut change(), &[revision("x")]).unwrap();
        assert_eq!(journal.pending().unwrap(), [kept, dropped]);
        journal.finish(kept).unwrap();
        journal.abandon(dropped).unwrap();
        assert!(journal.pending().unwrap().is_empty());
        let recent = journal.recent(None, 10).unwrap();
        assert_eq!(recent.iter().map(|change| change.id).collect::<Vec<_>>(), [kept.id]);
        assert_eq!(journal.revisions(kept.id, 0, 10).unwrap(), [revision("緑茶")]);
        assert_eq!(journal.get(dropped.id).unwrap(), None);
    });
}

#[test]
fn a_part_of_an_undo_does_not_count_as_the_undo() {
    every_store(|store, _| {
        let journal: &dyn Revisions = &*store.revisions;
        let turn = journal.turn().unwrap();
        let revision = |key: &str| Revision {
            pid: None,
            kind: Kind::Card,
            key: key.into(),
            moved_to: None,
            before: Some(b"x".to_vec()),
            after: None,
        };
        let write = |change: &mut NewChange, key: &str| {
            let begun = journal.begin(&turn, change, &[revision(key)]).unwrap();
            journal.finish(begun).unwrap();
        };
        let mut made = change();
        write(&mut made, "茶");
        let made = made.id.unwrap();
        let mut undo = NewChange { undoes: Some(made), in_part: true, ..change() };
        write(&mut undo, "а");
        let id = undo.id.unwrap();
        assert_eq!(journal.undone_by(made).unwrap(), None);
        assert_eq!(journal.undone_in_part_by(made).unwrap(), Some(id));
        let listed = journal.get(id).unwrap().unwrap();
        assert_eq!((listed.undoes, listed.in_part), (Some(made), true));
        // The last part, of which nothing happened.
        undo.in_part = false;
        let begun = journal.begin(&turn, &mut undo, &[revision("б")]).unwrap();
        journal.abandon(begun).unwrap();
        assert_eq!(journal.undone_by(made).unwrap(), None);
        assert_eq!(journal.undone_in_part_by(made).unwrap(), Some(id));
        write(&mut undo, "б");
        assert_eq!(undo.id, Some(id));
        assert_eq!(journal.undone_by(made).unwrap(), Some(id));
        assert_eq!(journal.undone_in_part_by(made).unwrap(), None);
        assert!(!journal.get(id).unwrap().unwrap().in_part);
    });
}

#[test]
fn the_oldest_revision_of_an_item_is_the_first_of_its_change() {
    every_store(|store, _| {
        let journal: &dyn Revisions = &*store.revisions;
        let pid = store.items.record(Kind::Card, "чай", 1).unwrap();
        assert_eq!(journal.oldest_of_item(pid).unwrap(), None);
        let turn = journal.turn().unwrap();
        let bytes = |text: &str| Some(text.as_bytes().to_vec());
        let write = |change: &mut NewChange, before: Option<Vec<u8>>, after: &str| {
            let (kind, key, after) = (Kind::Card, "чай".into(), bytes(after));
            let revision = Revision { pid: None, kind, key, moved_to: None, before, after };
            journal.finish(journal.begin(&turn, change, &[revision]).unwrap()).unwrap();
        };
        let mut imported = change();
        write(&mut imported, None, "緑茶");
        write(&mut imported, bytes("緑茶"), "red");
        write(&mut change(), bytes("red"), "white");
        let (change, revision) = journal.oldest_of_item(pid).unwrap().unwrap();
        assert_eq!(Some(change.id), imported.id);
        assert_eq!((revision.before, revision.after), (None, bytes("緑茶")));
    });
}

#[test]
fn the_newest_report_is_the_one_made_last() {
    every_store(|store, _| {
        let reports: &dyn Reports = &*store.reports;
        let report = |commit: &str, verified| StoredReport {
            repo: "r".into(),
            commit: commit.into(),
            verified: Timestamp(verified),
            score: 50,
            verdict: "VERIFY".into(),
            json: "{}".into(),
        };
        assert_eq!(reports.newest("r").unwrap(), None);
        for one in [report("a", 2), report("b", 1), report("b", 1)] {
            reports.put(&one).unwrap();
        }
        assert_eq!(reports.newest("r").unwrap(), Some(report("a", 2)));
        assert_eq!(reports.of_commit("r", "b").unwrap(), Some(report("b", 1)));
    });
}

/// Every kind of cards' place, each empty: a file of our own, and one that was there before.
fn every_cards(suite: impl Fn(&dyn Cards)) {
    let folder = tempfile::tempdir().unwrap();
    let (own, existing) = (folder.path().join("own.db"), folder.path().join("dev.db"));
    drop(SqliteCards::open_own(&existing).unwrap());
    suite(&SqliteCards::open_own(&own).unwrap());
    suite(&SqliteCards::open_existing(&existing).unwrap());
    if let Some(url) = support::store_url(folder.path()) {
        suite(&*server(&url));
    }
}

/// The server database of a store.
fn server(url: &str) -> Arc<Postgres> {
    store::open(&StoreUrl::parse(url).unwrap(), LIMITS).unwrap().server.unwrap()
}

#[test]
fn cards_are_kept_field_by_field() {
    every_cards(|cards| {
        assert_eq!(cards.occupancy().unwrap(), Occupancy::Empty);
        let make = |content: &str| {
            cards.create(NewCard { content: content.into(), ..NewCard::default() }).unwrap()
        };
        let made = ["Soup", "Суп", "スープ"].map(make);
        assert_eq!(cards.occupancy().unwrap(), Occupancy::Cards);
        let ids: Vec<&str> = made.iter().map(|card| card.id.as_str()).collect();
        let many = cards.get_many(&[ids[2], "nobody", ids[0]], Images::Links).unwrap();
        let contents: Vec<&str> = many.iter().map(|card| card.content.as_str()).collect();
        assert_eq!(contents, ["スープ", "Soup"]);
        assert_eq!(cards.get("nobody", Images::Bytes).unwrap(), None);
        for (needle, expected) in [("sOUP", 0), ("СУП", 1), ("スー", 2)] {
            let query = CardQuery { contains: Some(needle.into()), ..CardQuery::default() };
            let found = cards.list(&query).unwrap().cards;
            assert_eq!(found.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), [ids[expected]]);
        }
        let before = cards.stamp(ids[1]).unwrap();
        let change = CardChange { title: Some(Some("Обед".into())), ..CardChange::default() };
        let changed = cards.update(ids[1], change).unwrap();
        assert_eq!((changed.title.as_deref(), changed.content.as_str()), (Some("Обед"), "Суп"));
        assert_ne!(cards.stamp(ids[1]).unwrap(), before);
        assert!(cards.toggle(ids[1], Flag::Pinned).unwrap().is_pinned);
        assert_eq!(cards.import(&made[..1]).unwrap(), [Imported::Present]);
        assert_eq!(cards.stamps().unwrap().len(), 3);
        for id in &ids {
            cards.delete(id).unwrap();
            assert!(cards.delete(id).is_err());
        }
        assert_eq!(cards.occupancy().unwrap(), Occupancy::Emptied);
        assert_eq!(cards.import(&made[..1]).unwrap(), [Imported::Added]);
        assert_eq!(cards.damage().unwrap(), [""; 0]);
    });
}

#[test]
fn cards_are_put_in_order_and_nothing_else_changes() {
    every_cards(|cards| {
        let make = |content: &str| {
            let new = NewCard { content: content.into(), ..NewCard::default() };
            cards.create(new).unwrap()
        };
        let all = [make("one"), make("два"), make("三")];
        let orders: Vec<(String, f64)> = all
            .iter()
            .zip([2.0, 1.0, -1.0])
            .map(|(card, order)| (card.id.clone(), order))
            .chain([("gone".to_owned(), 0.0)])
            .collect();
        cards.arrange(&orders).unwrap();
        let ranks = cards.ranks().unwrap();
        let ids: Vec<&str> = ranks.iter().map(|rank| rank.id.as_str()).collect();
        assert_eq!(ids, [&all[2].id, &all[1].id, &all[0].id]);
        assert_eq!(ranks[0].order, -1.0);
        for (card, order) in all.iter().zip([2.0, 1.0, -1.0]) {
            let now = cards.get(&card.id, Images::Bytes).unwrap().unwrap();
            assert_eq!(now, Card { order, ..card.clone() });
        }
        all.iter().for_each(|card| cards.delete(&card.id).unwrap());
    });
}

#[test]
fn another_writer_shows_in_the_version_of_the_cards() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cards.db");
    let one: Arc<dyn Cards> = Arc::new(SqliteCards::open_own(&file).unwrap());
    let other: Arc<dyn Cards> = Arc::new(SqliteCards::open_own(&file).unwrap());
    let before = one.version().unwrap();
    assert_eq!(one.version().unwrap(), before);
    other.create(NewCard { content: "x".into(), ..NewCard::default() }).unwrap();
    let after = one.version().unwrap();
    assert!(after.change != before.change && after.place == before.place);
    let fresh = folder.path().join("fresh.db");
    drop(SqliteCards::open_own(&fresh).unwrap());
    std::fs::rename(&fresh, &file).unwrap();
    assert_ne!(one.version().unwrap().place, before.place, "other cards took the place");
}

/// Every kind of prompts' library, each without prompts of the user's.
fn every_prompts(suite: impl Fn(&dyn Prompts)) {
    let folder = tempfile::tempdir().unwrap();
    suite(&JsonlPrompts::open(folder.path(), 10, None));
    if let Some(url) = support::store_url(folder.path()) {
        suite(&PostgresPrompts::new(server(&url), 10));
    }
}

/// Two processes of one library follow each other's cards and prompts.
#[test]
fn another_process_shows_in_cards_and_prompts_of_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let Some(url) = support::store_url(folder.path()) else { return };
    let (one, two) = (server(&url), server(&url));
    let (cards, others): (&dyn Cards, &dyn Cards) = (&*one, &*two);
    let before = cards.version().unwrap();
    let card = others.create(NewCard { content: "чай 茶".into(), ..NewCard::default() }).unwrap();
    assert_ne!(cards.version().unwrap(), before);
    assert_eq!(cards.get(&card.id, Images::Bytes).unwrap().as_ref(), Some(&card));
    let item = Items::find(&*one, Kind::Card, &card.id).unwrap().unwrap();
    assert_eq!(Some(item.stamp as u64), cards.stamp(&card.id).unwrap(), "in the same transaction");
    others.delete(&card.id).unwrap();
    assert!(Items::find(&*one, Kind::Card, &card.id).unwrap().is_none());

    let (mine, theirs) = (PostgresPrompts::new(one, 2), PostgresPrompts::new(two, 2));
    let draft = |name: &str| {
        Draft::parse(json!({"name": name, "title": name,
            "messages": [{"role": "user", "content": {"type": "text", "text": "Текст 本文"}}]}))
        .unwrap()
    };
    for name in ["один", "two", "三", "four"] {
        theirs.create(draft(name)).unwrap();
        assert!(mine.find(name).unwrap().is_some(), "{name}");
    }
    mine.delete("two").unwrap();
    mine.create(draft("five")).unwrap();
    let records = ["один", "三", "four", "five"].map(|name| theirs.record(name).unwrap());
    assert!(records.iter().all(Option::is_some) && theirs.record("two").unwrap().is_none());
    assert_eq!(theirs.snapshots().unwrap().len(), 2, "the newest are kept");
    // A restored state has more lines than there are places for.
    let oldest = mine.snapshots().unwrap().pop().unwrap();
    assert_eq!(theirs.restore(&oldest.id).unwrap().prompts, 4);
    assert!(mine.find("two").unwrap().is_some() && mine.find("five").unwrap().is_none());
    let values = |value: &str| json!({"x": value}).as_object().unwrap().clone();
    for number in 0..25 {
        mine.remember("один", &values(&format!("v{number}"))).unwrap();
    }
    let known = theirs.complete("один", "x", "V").unwrap();
    assert_eq!((known.len(), known[0].as_str()), (20, "v24"));
}

#[test]
fn prompts_are_added_changed_deleted_and_brought_back() {
    every_prompts(|prompts| {
        let built_in = prompts.all().unwrap().len();
        let add = |name: &str| {
            let draft = Draft::parse(json!({"name": name, "title": name,
                "messages": [{"role": "user", "content": {"type": "text", "text": "Текст 本文"}}]}));
            prompts.create(draft.unwrap()).unwrap()
        };
        let version = prompts.version().unwrap();
        for name in ["soup", "суп", "スープ"] {
            add(name);
        }
        assert_ne!(prompts.version().unwrap(), version);
        assert_eq!(prompts.all().unwrap().len(), built_in + 3);
        assert_eq!(prompts.shared().unwrap().len(), built_in);
        let many = prompts.find_many(&["スープ", "nobody", "soup"]).unwrap();
        let names: Vec<&str> = many.iter().map(|stored| stored.prompt.name.as_str()).collect();
        assert_eq!(names, ["スープ", "soup"]);
        let taken = prompts.add(vec![many[0].prompt.clone()]).unwrap_err();
        assert!(taken.message.contains("already exists"), "{taken}");
        let patch = Patch::parse(json!({"name": "суп", "title": "Обед"})).unwrap();
        assert_eq!(prompts.update(patch).unwrap().prompt.title, "Обед");
        prompts.delete("soup").unwrap();
        assert!(prompts.delete("soup").is_err() && prompts.find("soup").unwrap().is_none());
        let (mut cursor, mut listed) = (None, 0);
        loop {
            let page = prompts.list(cursor.as_deref(), 2).unwrap();
            listed += page.prompts.len();
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(listed, built_in + 2);
        let newest = prompts.snapshots().unwrap().remove(0);
        let restored = prompts.restore(&newest.id).unwrap();
        assert_eq!(restored.prompts, 3);
        assert!(prompts.find("soup").unwrap().is_some() && restored.undo.is_some());
        assert!(prompts.restore("nothing").is_err());
    });
}
