use std::sync::Mutex;

use super::*;

/// Two processes on one store, and a third that is silent.
fn two() -> (tempfile::TempDir, Tasks, Tasks) {
    let dir = tempfile::tempdir().unwrap();
    let store =
        store::open(&store::StoreUrl::Sqlite(dir.path().to_owned()), store::StoreLimits::default())
            .unwrap();
    let tasks = || Tasks::new(store.tasks.clone(), 3).unwrap();
    (dir, tasks(), tasks())
}

/// Makes a task look as if its process had been silent since yesterday.
fn silence(tasks: &Tasks, id: &str) {
    tasks
        .store
        .change(id, &mut |task| {
            task.alive = Timestamp(task.alive.0 - 3_600_000);
            true
        })
        .unwrap();
}

#[test]
fn a_task_is_its_callers_alone() {
    let (_dir, here, there) = two();
    let task = here.begin("user:1", "oss_report", json!({ "repo_url": "x" })).unwrap();
    assert_eq!(there.get(&task.id, "user:1").unwrap(), task);
    for caller in ["user:2", "user:11", "", "process"] {
        assert!(here.get(&task.id, caller).unwrap_err().message.contains("no task"));
        assert!(here.cancel(&task.id, caller).is_err());
        assert!(here.answer(&task.id, caller, &Map::new()).is_err());
    }
    here.finish(&task.id, Ending::Completed(json!({ "content": [] }))).unwrap();
    let ended = there.get(&task.id, "user:1").unwrap();
    assert_eq!(ended.status, TaskStatus::Completed);
    assert_eq!((ended.outcome, ended.arguments), (Some(json!({ "content": [] })), None));
    // An end is an end.
    here.finish(&task.id, Ending::Cancelled).unwrap();
    here.cancel(&task.id, "user:1").unwrap();
    assert_eq!(here.get(&task.id, "user:1").unwrap().status, TaskStatus::Completed);
}

#[test]
fn one_caller_has_only_so_many() {
    let (_dir, here, there) = two();
    let made: Vec<TaskRow> =
        (0..3).map(|_| here.begin("user:1", "t", Value::Null).unwrap()).collect();
    assert!(there.begin("user:1", "t", Value::Null).unwrap_err().message.contains("limits.tasks"));
    there.begin("user:2", "t", Value::Null).unwrap();
    here.finish(&made[0].id, Ending::Cancelled).unwrap();
    there.begin("user:1", "t", Value::Null).unwrap();
}

#[test]
fn what_expired_is_gone() {
    let (_dir, here, _) = two();
    let task = here.begin("a", "t", Value::Null).unwrap();
    let expire = |row: &mut TaskRow| {
        row.expires = Timestamp(1);
        true
    };
    here.store.change(&task.id, &mut { expire }).unwrap();
    assert!(here.get(&task.id, "a").is_err());
    here.begin("a", "t", Value::Null).unwrap();
    assert_eq!(here.store.get(&task.id).unwrap(), None);
}

#[test]
fn a_silent_process_loses_its_tasks_to_one_other() {
    let (_dir, here, there) = two();
    let task = here.begin("a", "t", json!(1)).unwrap();
    assert!(!there.take_over(&task.id).unwrap(), "its process is alive");
    assert!(there.abandon(&task.id).unwrap().is_some_and(|task| !task.status.has_ended()));
    silence(&here, &task.id);
    assert!(there.is_orphan(&there.get(&task.id, "a").unwrap()));
    let taken = Mutex::new(0);
    std::thread::scope(|scope| {
        for tasks in [&here, &there, &here, &there] {
            let (taken, id) = (&taken, &task.id);
            scope
                .spawn(move || *taken.lock().unwrap() += usize::from(tasks.take_over(id).unwrap()));
        }
    });
    assert_eq!(*taken.lock().unwrap(), 1);
    // One that cannot be started again ends with a sentence, or as its caller wished.
    let (lost, unwanted) =
        (here.begin("b", "t", json!(1)).unwrap(), here.begin("b", "t", json!(1)).unwrap());
    here.cancel(&unwanted.id, "b").unwrap();
    for id in [&lost.id, &unwanted.id] {
        silence(&here, id);
        there.abandon(id).unwrap();
    }
    let lost = there.get(&lost.id, "b").unwrap();
    assert_eq!(lost.status, TaskStatus::Failed);
    assert!(lost.outcome.unwrap()["message"].as_str().unwrap().contains("call the tool again"));
    assert_eq!(there.get(&unwanted.id, "b").unwrap().status, TaskStatus::Cancelled);
    // Who lost it does not decide on it any more.
    let task = here.begin("c", "t", json!(1)).unwrap();
    silence(&here, &task.id);
    assert!(there.take_over(&task.id).unwrap());
    here.finish(&task.id, Ending::Cancelled).unwrap();
    assert_eq!(there.get(&task.id, "c").unwrap().status, TaskStatus::Working);
}

#[test]
fn questions_are_answered_one_by_one() {
    let (_dir, here, there) = two();
    let task = here.begin("a", "t", Value::Null).unwrap();
    assert!(here.ask(&task.id, "one", json!({ "method": "elicitation/create" })).unwrap());
    assert!(here.ask(&task.id, "two", json!({ "method": "elicitation/create" })).unwrap());
    assert!(!there.ask(&task.id, "three", json!({})).unwrap(), "another process runs it");
    let answer = |key: &str| {
        let answers = [(key.to_owned(), json!("да"))].into_iter().collect();
        there.answer(&task.id, "a", &answers).unwrap();
        there.get(&task.id, "a").unwrap()
    };
    let now = answer("one");
    assert_eq!(now.status, TaskStatus::InputRequired);
    assert_eq!(now.requests.keys().collect::<Vec<_>>(), ["two"]);
    assert_eq!(answer("unknown").requests.len(), 1);
    assert_eq!(here.keep_alive().unwrap().len(), 1, "an answer waits");
    assert_eq!(here.take_answer(&task.id, "one").unwrap(), Some(json!("да")));
    assert_eq!(here.take_answer(&task.id, "one").unwrap(), None);
    assert_eq!(answer("two").status, TaskStatus::Working);
    there.cancel(&task.id, "a").unwrap();
    assert!(here.keep_alive().unwrap()[0].is_cancelled);
    assert!(there.keep_alive().unwrap().is_empty());
}
