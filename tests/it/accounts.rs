//! Signing in, sessions, set-up and brakes, through the library.

use std::{net::IpAddr, path::Path, time::Instant};

use notewell::{
    app::{
        App,
        accounts::{Actor, NewUser},
    },
    domain::{UserId, error::Code, user::Role},
    store::audit::AuditEntry,
};

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const PASSWORD: &str = "correct horse";

fn open(data: &Path) -> App {
    let mut config = crate::support::config(data);
    config.embed.provider = notewell::config::EmbedProvider::None;
    App::open(config, Vec::new()).unwrap()
}

fn add(app: &App, name: &str, role: Role) -> UserId {
    let new = NewUser { name, display_name: "", role, password: Some(PASSWORD) };
    app.add_user(&Actor::shell(), &new).unwrap().id
}

fn log(app: &App) -> Vec<AuditEntry> {
    app.store.audit.entries(None, None, 100).unwrap()
}

#[test]
fn a_right_password_signs_in_and_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(folder.path());
    let mira = add(&app, "mira", Role::Author);
    let account = app.sign_in(" @Mira", PASSWORD, HERE).unwrap();
    assert_eq!((account.id, account.role), (mira, Role::Author));
    let wrong = app.sign_in("mira", "wrong horse!", HERE).unwrap_err();
    let unknown = app.sign_in("hunter2", PASSWORD, HERE).unwrap_err();
    assert_eq!((wrong.code, &wrong.message), (unknown.code, &unknown.message));
    let log = log(&app);
    let outcomes: Vec<(&str, &str, &str)> = log
        .iter()
        .map(|entry| (entry.action.as_str(), entry.subject.as_str(), entry.outcome.as_str()))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("sign_in", "", "unknown_user"),
            ("sign_in", "mira", "wrong_password"),
            ("sign_in", "mira", "ok"),
            ("user_add", "mira", "ok"),
        ],
        "and what was typed as a name is in no entry"
    );
    assert_eq!((log[0].address.as_str(), log[3].address.as_str()), ("10.0.0.1", "shell"));
}

#[test]
fn an_unknown_user_takes_as_long_as_a_wrong_password() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(folder.path());
    add(&app, "mira", Role::Reader);
    let app = &app;
    let time = |name: &str| {
        let times = (0..3_u8).map(move |number| {
            let begin = Instant::now();
            app.sign_in(name, "wrong horse!", [10, 0, 1, number].into()).unwrap_err();
            begin.elapsed()
        });
        times.min().unwrap()
    };
    let (known, unknown) = (time("mira"), time("ann"));
    // Without the work of a hash it would be a hundredth.
    assert!(unknown * 3 > known && known * 3 > unknown, "{known:?} {unknown:?}");
}

#[test]
fn guessing_is_slowed_down_and_a_user_at_home_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(folder.path());
    let mira = add(&app, "mira", Role::Reader);
    let home: IpAddr = [192, 168, 0, 7].into();
    app.open_session(mira, "Firefox", home).unwrap();
    for number in 0..5 {
        let error = app.sign_in("mira", "wrong horse!", [10, 0, 2, number].into()).unwrap_err();
        assert_eq!(error.code, Code::InvalidRequest);
    }
    let braked = app.sign_in("mira", PASSWORD, [10, 0, 2, 9].into()).unwrap_err();
    assert_eq!(braked.code, Code::Limit, "from wherever, with the right password too");
    assert!(braked.data.unwrap()["retry_after_seconds"].as_u64().unwrap() >= 1);
    assert!(app.sign_in("mira", PASSWORD, home).is_ok());
    // Names that nobody has are braked alike.
    for number in 0..5 {
        app.sign_in("nobody", "wrong horse!", [10, 0, 3, number].into()).unwrap_err();
    }
    let braked = app.sign_in("nobody", PASSWORD, [10, 0, 3, 9].into()).unwrap_err();
    assert_eq!(braked.code, Code::Limit);
}

#[test]
fn attempts_at_the_same_time_do_not_slip_through() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(folder.path());
    add(&app, "mira", Role::Reader);
    let refused = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..12_u8)
            .map(|number| {
                let app = &app;
                let from: IpAddr = [10, 0, 4, number].into();
                scope.spawn(move || app.sign_in("mira", "wrong horse!", from).unwrap_err().code)
            })
            .collect();
        let codes = tries.into_iter().map(|one| one.join().unwrap());
        codes.filter(|code| *code == Code::Limit).count()
    });
    // Five free ones; a slow machine may let one more in after the first second.
    assert!(refused >= 5, "{refused}");
}

#[test]
fn wrong_tokens_are_braked_for_their_address() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(folder.path());
    for _ in 0..30 {
        app.brake_token(HERE).unwrap();
        app.token_failed(HERE);
    }
    let error = app.brake_token(HERE).unwrap_err();
    assert_eq!(error.code, Code::Limit);
    assert!(error.message.contains("tokens"), "{error}");
    assert!(app.brake_token([10, 0, 0, 2].into()).is_ok());
    assert_eq!(log(&app).len(), 1, "one entry, not thirty");
}

#[test]
fn a_session_lasts_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(folder.path());
    let mira = add(&app, "mira", Role::Reader);
    let (session, secret) = app.open_session(mira, "Firefox", HERE).unwrap();
    let (found, holder) = app.session_of(&secret).unwrap().unwrap();
    assert_eq!((found.id, holder.id), (session.id, mira));
    assert!(app.session_of("nws_wrong").unwrap().is_none());
    assert!(!app.end_session(UserId(99), session.id).unwrap());
    assert!(app.end_session(mira, session.id).unwrap());
    assert!(app.session_of(&secret).unwrap().is_none());

    let (_, secret) = app.open_session(mira, "Firefox", HERE).unwrap();
    let account = app.user("mira").unwrap();
    app.set_password(&Actor::shell(), &account, "another horse").unwrap();
    assert!(app.session_of(&secret).unwrap().is_none(), "the password changed");
    assert!(app.sign_in("mira", PASSWORD, HERE).is_err());
    assert!(app.sign_in("mira", "another horse", HERE).is_ok());
    for _ in 0..105 {
        app.open_session(mira, "Firefox", HERE).unwrap();
    }
    let open = app.store.sessions.of_user(mira, notewell::domain::Timestamp::now()).unwrap();
    assert_eq!(open.len(), 100);
}

#[test]
fn the_set_up_code_makes_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(folder.path());
    let set_up = |code: &str, name: &str| app.set_up(code, name, "Мира", PASSWORD, HERE);
    assert!(set_up("", "mira").is_err(), "no code was shown yet");
    let code = app.setup_code().unwrap();
    assert_eq!(app.setup_code().as_deref(), Some(code.as_str()), "one a process");
    assert_eq!(set_up("2222-2222", "mira").unwrap_err().code, Code::InvalidRequest);
    let weak = app.set_up(&code, "mira", "", "short", HERE).unwrap_err();
    assert_eq!(weak.code, Code::InvalidParams);
    let owner = set_up(&code.to_lowercase(), "mira").unwrap();
    assert_eq!((owner.role, owner.display_name.as_str()), (Role::Owner, "Мира"));
    assert!(app.has_owner().unwrap());
    assert_eq!(app.setup_code(), None);
    assert_eq!(set_up(&code, "eve").unwrap_err().code, Code::Conflict);
    assert!(app.sign_in("mira", PASSWORD, HERE).is_ok());
}

#[test]
fn the_set_up_code_gives_a_password_to_an_owner_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(folder.path());
    let new = NewUser { name: "mira", display_name: "", role: Role::Owner, password: None };
    let added = app.add_user(&Actor::shell(), &new).unwrap();
    let reader = NewUser { name: "ann", role: Role::Reader, ..new };
    app.add_user(&Actor::shell(), &reader).unwrap();
    let code = app.setup_code().unwrap();
    let taken = app.set_up(&code, "ann", "", PASSWORD, HERE).unwrap_err();
    assert_eq!(taken.code, Code::Conflict, "a reader does not become the owner");
    assert_eq!(app.set_up(&code, "mira", "", PASSWORD, HERE).unwrap().id, added.id);
}

#[test]
fn guessing_the_set_up_code_is_slowed_down() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(folder.path());
    let code = app.setup_code().unwrap();
    let mut guesses = 0;
    while app.set_up("2222-2222", "eve", "", PASSWORD, HERE).unwrap_err().code != Code::Limit {
        guesses += 1;
        assert!(guesses < 50);
    }
    assert!(app.set_up(&code, "mira", "", PASSWORD, [10, 0, 0, 2].into()).is_ok());
}
