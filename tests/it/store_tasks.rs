//! The contract of tasks, over every store.

use notewell::{
    domain::Timestamp,
    store::{
        Tasks,
        tasks::{TaskLimits, TaskRow, TaskStatus},
    },
};
use serde_json::{Map, json};

use crate::store::every_store;

const LIMITS: TaskLimits = TaskLimits { open: 2, kept: 4 };

fn task(id: &str, caller: &str) -> TaskRow {
    TaskRow {
        id: id.to_owned(),
        caller: caller.to_owned(),
        tool: "oss_report".to_owned(),
        arguments: Some(json!({ "repo_url": "отчёт 報告\u{0}" })),
        status: TaskStatus::Working,
        message: None,
        created: Timestamp(1_000),
        updated: Timestamp(1_000),
        expires: Timestamp(9_000),
        requests: Map::new(),
        answers: Map::new(),
        outcome: None,
        is_cancelled: false,
        runner: "here".to_owned(),
        alive: Timestamp(1_000),
    }
}

fn end(tasks: &dyn Tasks, id: &str) {
    let end = &mut |task: &mut TaskRow| {
        task.status = TaskStatus::Completed;
        task.outcome = Some(json!({ "content": [{ "text": "готово 完了" }] }));
        task.arguments = None;
        true
    };
    tasks.change(id, end).unwrap();
}

#[test]
fn tasks_are_kept_as_they_are_and_bounded_for_each_caller() {
    every_store(|store, _| {
        let tasks: &dyn Tasks = &*store.tasks;
        assert_eq!(tasks.get("a").unwrap(), None);
        for id in ["a", "b"] {
            assert!(tasks.create(&task(id, "user:1"), LIMITS).unwrap());
        }
        assert_eq!(tasks.get("a").unwrap(), Some(task("a", "user:1")));
        assert!(!tasks.create(&task("c", "user:1"), LIMITS).unwrap(), "two are open");
        assert_eq!(tasks.get("c").unwrap(), None);
        assert!(tasks.create(&task("c", "user:2"), LIMITS).unwrap());
        for (ended, next) in [("a", "d"), ("b", "e")] {
            end(tasks, ended);
            assert!(tasks.create(&task(next, "user:1"), LIMITS).unwrap());
        }
        end(tasks, "d");
        assert!(!tasks.create(&task("f", "user:1"), LIMITS).unwrap(), "four are kept");
        let ended = tasks.get("a").unwrap().unwrap();
        assert_eq!(ended.outcome, Some(json!({ "content": [{ "text": "готово 完了" }] })));
        assert_eq!(tasks.forget_expired(Timestamp(8_999)).unwrap(), 0);
        assert_eq!(tasks.forget_expired(Timestamp(9_000)).unwrap(), 5);
        assert_eq!(tasks.get("a").unwrap(), None);
    });
}

#[test]
fn a_change_is_whole_and_one_that_changes_nothing_writes_nothing() {
    every_store(|store, _| {
        let tasks: &dyn Tasks = &*store.tasks;
        tasks.create(&task("a", "user:1"), LIMITS).unwrap();
        let seen = tasks.change("a", &mut |task| {
            task.message = Some("lost".into());
            false
        });
        assert!(seen.unwrap().is_some());
        assert_eq!(tasks.get("a").unwrap().unwrap().message, None);
        assert_eq!(tasks.change("nobody", &mut |_| true).unwrap(), None);
        // Many at once: none is lost.
        std::thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || {
                    let put = &mut |task: &mut TaskRow| {
                        task.answers.insert(format!("ключ {number}"), json!(number));
                        true
                    };
                    tasks.change("a", put).unwrap();
                });
            }
        });
        assert_eq!(tasks.get("a").unwrap().unwrap().answers.len(), 8);
    });
}

#[test]
fn a_process_says_that_it_is_alive_and_hears_what_was_asked() {
    every_store(|store, _| {
        let tasks: &dyn Tasks = &*store.tasks;
        for id in ["a", "b"] {
            tasks.create(&task(id, "user:1"), LIMITS).unwrap();
        }
        tasks.create(&TaskRow { runner: "there".into(), ..task("c", "user:2") }, LIMITS).unwrap();
        assert!(tasks.keep_alive("here", Timestamp(2_000)).unwrap().is_empty());
        let alive = |id: &str| tasks.get(id).unwrap().unwrap().alive;
        assert_eq!((alive("a"), alive("c")), (Timestamp(2_000), Timestamp(1_000)));
        let cancel = &mut |task: &mut TaskRow| {
            task.is_cancelled = true;
            true
        };
        tasks.change("b", cancel).unwrap();
        tasks.change("c", cancel).unwrap();
        let asked = tasks.keep_alive("here", Timestamp(3_000)).unwrap();
        assert_eq!(asked.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["b"]);
        // What a process does is recorded for its own tasks, until they end.
        tasks.report("a", "there", "nothing", Timestamp(4_000)).unwrap();
        assert_eq!(tasks.get("a").unwrap().unwrap().message, None);
        tasks.report("a", "here", "шаг 2 из 5", Timestamp(4_000)).unwrap();
        let now = tasks.get("a").unwrap().unwrap();
        assert_eq!((now.message.as_deref(), now.updated), (Some("шаг 2 из 5"), Timestamp(4_000)));
        end(tasks, "a");
        tasks.report("a", "here", "late", Timestamp(5_000)).unwrap();
        tasks.keep_alive("here", Timestamp(6_000)).unwrap();
        let ended = tasks.get("a").unwrap().unwrap();
        assert_eq!((ended.message.as_deref(), ended.alive), (Some("шаг 2 из 5"), Timestamp(4_000)));
    });
}
