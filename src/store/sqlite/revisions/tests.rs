use super::*;
use crate::domain::Kind;

fn open_store() -> (tempfile::TempDir, Sqlite) {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&dir.path().join("notewell.db")).unwrap();
    (dir, store)
}

fn revision(pid: i64, before: Option<&str>, after: Option<&str>) -> Revision {
    let bytes = |text: &str| text.as_bytes().to_vec();
    Revision {
        pid: Some(Pid(pid)),
        kind: Kind::Page,
        key: format!("vault/{pid}.md"),
        moved_to: None,
        before: before.map(bytes),
        after: after.map(bytes),
    }
}

fn make(store: &Sqlite, revisions: &[Revision]) -> ChangeId {
    let mut change = NewChange::new(&Actor::new("owner", "edit_page"), "edit");
    let turn = store.turn().unwrap();
    let begun = store.begin(&turn, &mut change, revisions).unwrap();
    store.finish(begun).unwrap();
    begun.id
}

#[test]
fn a_change_is_pending_until_it_is_finished() {
    let (_dir, store) = open_store();
    let mut change = NewChange::new(&Actor::shell("edit"), "правка 編集");
    let turn = store.turn().unwrap();
    let begun =
        store.begin(&turn, &mut change, &[revision(1, Some("до"), Some("после 後"))]).unwrap();
    assert_eq!(change.id, Some(begun.id));
    assert_eq!(store.pending().unwrap(), [begun]);
    assert_eq!(store.recent(None, 10).unwrap(), []);
    store.finish(begun).unwrap();
    assert_eq!(store.pending().unwrap(), []);
    let listed = store.recent(None, 10).unwrap();
    assert_eq!((listed.len(), listed[0].summary.as_str()), (1, "правка 編集"));
    let [(_, found)] = &store.of_item(Pid(1), None, 10).unwrap()[..] else { panic!() };
    assert_eq!(found.after.as_deref(), Some("после 後".as_bytes()));
}

#[test]
fn what_was_abandoned_leaves_nothing() {
    let (_dir, store) = open_store();
    let kept = make(&store, &[revision(1, None, Some("a"))]);
    let turn = store.turn().unwrap();
    let mut change = NewChange::new(&Actor::shell("edit"), "edit");
    let begun = store.begin(&turn, &mut change, &[revision(1, Some("a"), Some("b"))]).unwrap();
    store.abandon(begun).unwrap();
    let size = store.size().unwrap();
    assert_eq!((size.changes, size.revisions), (1, 1));
    assert_eq!(store.damage().unwrap(), Vec::<String>::new());
    assert_eq!(store.recent(None, 9).unwrap()[0].id, kept);
}

#[test]
fn a_batch_that_is_abandoned_leaves_the_batches_before_it() {
    let (_dir, store) = open_store();
    let turn = store.turn().unwrap();
    let mut change = NewChange::new(&Actor::shell("import"), "import");
    let first = store.begin(&turn, &mut change, &[revision(1, None, None)]).unwrap();
    assert!(store.finish_as(first, &[revision(1, None, Some("one"))]).unwrap());
    let second = store.begin(&turn, &mut change, &[revision(2, None, Some("two"))]).unwrap();
    assert_eq!(second, PendingChange { id: first.id, first: 1 });
    store.abandon(second).unwrap();
    let left = store.revisions(first.id, 0, 10).unwrap();
    assert_eq!(left, [revision(1, None, Some("one"))]);
    assert_eq!(store.pending().unwrap(), []);
}

#[test]
fn a_change_that_changed_nothing_is_not_kept() {
    let (_dir, store) = open_store();
    let turn = store.turn().unwrap();
    let mut change = NewChange::new(&Actor::shell("edit"), "edit");
    let same = revision(1, Some("a"), Some("a"));
    let begun = store.begin(&turn, &mut change, &[revision(1, Some("a"), None)]).unwrap();
    assert!(!store.finish_as(begun, &[same]).unwrap());
    assert_eq!(store.size().unwrap(), JournalSize::default());
}

#[test]
fn equal_contents_are_stored_once() {
    let (_dir, store) = open_store();
    let text = "words ".repeat(10_000);
    make(&store, &[revision(1, None, Some(&text))]);
    let one = store.size().unwrap().bytes;
    assert!(one < 1_000, "{one} bytes: not compressed");
    make(&store, &[revision(2, Some(&text), None)]);
    make(&store, &[revision(3, Some(&text), None)]);
    assert_eq!(store.size().unwrap().bytes, one);
}

#[test]
fn an_undone_undo_puts_the_change_in_effect_again() {
    let (_dir, store) = open_store();
    let first = make(&store, &[revision(1, None, Some("a"))]);
    let undo = |of: ChangeId| {
        let mut change = NewChange::new(&Actor::shell("undo"), "undo");
        change.undoes = Some(of);
        let turn = store.turn().unwrap();
        let begun = store.begin(&turn, &mut change, &[revision(1, None, Some("b"))]).unwrap();
        store.finish(begun).unwrap();
        begun.id
    };
    assert_eq!(store.undone_by(first).unwrap(), None);
    let second = undo(first);
    assert_eq!(store.undone_by(first).unwrap(), Some(second));
    let third = undo(second);
    assert_eq!(store.undone_by(first).unwrap(), None);
    assert_eq!(store.undone_by(second).unwrap(), Some(third));
}

#[test]
fn pruning_keeps_the_newest_and_the_pending() {
    let (_dir, store) = open_store();
    let turn = store.turn().unwrap();
    let mut change = NewChange::new(&Actor::shell("edit"), "edit");
    let pending = store.begin(&turn, &mut change, &[revision(9, None, Some("p"))]).unwrap();
    drop(turn);
    let ids: Vec<ChangeId> =
        (0..10).map(|n| make(&store, &[revision(n, None, Some(&format!("text {n}")))])).collect();
    let all = Retention { days: 1, changes: 100, bytes: 1 << 20 };
    assert_eq!(store.prune(&all).unwrap(), 0);
    assert_eq!(store.prune(&Retention { changes: 5, ..all }).unwrap(), 6);
    let left: Vec<ChangeId> =
        store.recent(None, 99).unwrap().into_iter().map(|change| change.id).collect();
    assert_eq!(left, ids[6..].iter().rev().copied().collect::<Vec<_>>());
    store.prune(&Retention { bytes: 0, ..all }).unwrap();
    let left: Vec<ChangeId> =
        store.recent(None, 99).unwrap().into_iter().map(|change| change.id).collect();
    assert_eq!(left, ids[9..]);
    assert_eq!(store.pending().unwrap(), [pending]);
    assert_eq!(store.revisions(pending.id, 0, 9).unwrap().len(), 1);
    let size = store.size().unwrap();
    assert_eq!((size.changes, size.revisions), (2, 2));
    assert_eq!(store.damage().unwrap(), Vec::<String>::new());
}

#[test]
fn damaged_contents_are_named() {
    let (_dir, store) = open_store();
    make(&store, &[revision(1, None, Some("a"))]);
    store.write(|tx| tx.execute("UPDATE contents SET data = x'00'", [])).unwrap();
    assert_eq!(store.damage().unwrap().len(), 1);
}

#[test]
fn a_second_writer_waits_for_its_turn() {
    let (dir, store) = open_store();
    let other = Sqlite::open(&dir.path().join("notewell.db")).unwrap();
    let turn = store.turn().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| other.turn().map(drop));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!waiting.is_finished());
        drop(turn);
        waiting.join().unwrap().unwrap();
    });
}
