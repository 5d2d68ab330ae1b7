//! The contract of the store for accounts: users and grants, sessions, the audit log.

use notewell::{
    domain::{
        Author, Kind, Scope, Scopes, Timestamp, UserId, UserName,
        error::Code,
        user::{Extent, Grant, Role},
    },
    store::{
        Store,
        audit::{NewAuditEntry, with_entry},
        sessions::NewSession,
        tokens::{NewToken, Power},
        users::{Account, NewAccount, PasskeyRow},
    },
};

use crate::store::every_store;

fn add(store: &Store, name: &str, role: Role, password: Option<&str>) -> Account {
    let name = UserName::new(name).unwrap();
    let account = NewAccount {
        display_name: format!("{name} 山田"),
        name,
        role,
        password: password.map(str::to_owned),
    };
    store.users.add(&account).unwrap()
}

fn token(user: UserId) -> NewToken {
    NewToken {
        name: "laptop".to_owned(),
        power: Power::User(user, Scopes::ALL),
        audience: None,
        connection: None,
        expires: None,
    }
}

fn session(user: UserId, expires: Timestamp) -> NewSession {
    NewSession { user, expires, agent: "б".repeat(300), address: "10.0.0.1".to_owned() }
}

fn passkey(user: UserId, credential: &[u8], name: &str) -> PasskeyRow {
    PasskeyRow {
        credential: credential.to_vec(),
        user,
        name: name.to_owned(),
        data: "{}".to_owned(),
        created: Timestamp(1),
        used: None,
    }
}

#[test]
fn users_have_unique_names_and_one_owner_stays() {
    every_store(|store, _| {
        let users = &store.users;
        assert!(!users.has_owner().unwrap());
        let mira = add(store, "Mira", Role::Owner, None);
        assert_eq!(users.find(&UserName::new("MIRA").unwrap()).unwrap(), Some(mira.clone()));
        assert!(!users.has_owner().unwrap(), "she cannot sign in");
        assert!(users.set_password(mira.id, "$hash").unwrap());
        assert!(users.has_owner().unwrap());
        let again = NewAccount {
            name: UserName::new("mira").unwrap(),
            display_name: String::new(),
            role: Role::Reader,
            password: None,
        };
        assert_eq!(users.add(&again).unwrap_err().code, Code::Conflict);

        for refused in [users.set_profile(mira.id, Role::Reader, "Mira"), users.remove(mira.id)] {
            assert_eq!(refused.unwrap_err().code, Code::Conflict);
        }
        let ann = add(store, "ann", Role::Owner, None);
        assert!(users.set_profile(mira.id, Role::Author, "Мира").unwrap());
        let changed = users.get(mira.id).unwrap().unwrap();
        assert_eq!((changed.role, changed.display_name.as_str()), (Role::Author, "Мира"));
        assert!(!users.has_owner().unwrap(), "ann has neither password nor passkey");
        users.put_passkey(&passkey(ann.id, b"key", "phone")).unwrap();
        assert!(users.has_owner().unwrap());
        assert_eq!(users.all().unwrap().len(), 2);
        assert!(!users.set_profile(UserId(99), Role::Reader, "x").unwrap());
        assert!(!users.set_password(UserId(99), "x").unwrap());
        assert!(!users.remove(UserId(99)).unwrap());
    });
}

#[test]
fn a_hash_is_replaced_only_while_its_password_is_the_same() {
    every_store(|store, _| {
        let mira = add(store, "mira", Role::Reader, Some("$old"));
        let expires = Timestamp::now().plus_days(1);
        store.sessions.open(&[1; 32], &session(mira.id, expires)).unwrap();
        assert!(!store.users.replace_password_hash(mira.id, "$other", "$new").unwrap());
        assert!(store.users.replace_password_hash(mira.id, "$old", "$new").unwrap());
        let kept = store.users.get(mira.id).unwrap().unwrap();
        assert_eq!(kept.password.as_deref(), Some("$new"));
        assert!(store.sessions.find(&[1; 32], Timestamp::now()).unwrap().is_some());
    });
}

#[test]
fn a_removed_user_loses_every_credential_and_frees_the_name() {
    every_store(|store, _| {
        let (mira, ann) =
            (add(store, "mira", Role::Reader, Some("$")), add(store, "ann", Role::Reader, None));
        let (now, later) = (Timestamp::now(), Timestamp::now().plus_days(1));
        for (user, byte) in [(mira.id, 1), (ann.id, 2)] {
            store.sessions.open(&[byte; 32], &session(user, later)).unwrap();
            store.tokens.create(&token(user), &[byte; 32]).unwrap();
            store.users.grant(user, &Grant::EVERYTHING).unwrap();
            store.users.put_passkey(&passkey(user, &[byte], "phone")).unwrap();
        }
        assert!(store.users.remove(mira.id).unwrap());
        assert!(!store.users.remove(mira.id).unwrap());
        let removed = store.users.get(mira.id).unwrap().unwrap();
        assert!(removed.removed.is_some() && removed.password.is_none());
        assert!(store.users.find(&mira.name).unwrap().is_none());
        assert!(store.sessions.find(&[1; 32], now).unwrap().is_none());
        assert!(store.users.grants(mira.id).unwrap().is_empty());
        assert!(store.users.passkeys(mira.id).unwrap().is_empty());
        let dead = store.tokens.find(&[1; 32]).unwrap().unwrap();
        assert!(!dead.token.is_valid(now) && dead.holder.is_none());
        assert_eq!(store.tokens.valid(&[dead.token.id], now).unwrap(), [0_i64; 0]);
        for refused in [
            store.users.grant(mira.id, &Grant::EVERYTHING).map(drop),
            store.sessions.open(&[3; 32], &session(mira.id, later)).map(drop),
            store.users.put_passkey(&passkey(mira.id, b"new", "phone")),
        ] {
            assert!(refused.is_err());
        }

        assert!(store.sessions.find(&[2; 32], now).unwrap().is_some(), "others keep theirs");
        assert!(store.tokens.find(&[2; 32]).unwrap().unwrap().token.is_valid(now));
        assert_eq!(store.users.grants(ann.id).unwrap().len(), 1);
        let new = add(store, "mira", Role::Reader, None);
        assert_ne!(new.id, mira.id, "a number is never given twice");
    });
}

#[test]
fn grants_are_read_back_as_they_were_given() {
    every_store(|store, _| {
        let mira = add(store, "mira", Role::Reader, None).id;
        let extents = [
            Extent::All,
            Extent::Vault("заметки".to_owned()),
            Extent::Folder { vault: "notes".to_owned(), folder: "料理/スープ".to_owned() },
            Extent::Label("кофе".to_owned()),
            Extent::Author(Author::new("Мира").unwrap()),
            Extent::Kind(Kind::Card),
        ];
        for (number, extent) in extents.iter().enumerate() {
            let grant = Grant { extent: extent.clone(), write: number % 2 == 0 };
            assert_eq!(store.users.grant(mira, &grant).unwrap().grant, grant);
        }
        let rows = store.users.grants(mira).unwrap();
        assert!(rows.iter().map(|row| &row.grant.extent).eq(&extents));
        store.tokens.create(&token(mira), &[1; 32]).unwrap();
        let holder = store.tokens.find(&[1; 32]).unwrap().unwrap().holder.unwrap();
        assert!(holder.grants.iter().eq(rows.iter().map(|row| &row.grant)));

        let again = Grant { extent: Extent::All, write: false };
        let changed = store.users.grant(mira, &again).unwrap();
        assert_eq!((changed.id, changed.grant.write), (rows[0].id, false));
        assert_eq!(store.users.grants(mira).unwrap().len(), extents.len());
        assert!(store.users.revoke_grant(rows[0].id).unwrap());
        assert!(!store.users.revoke_grant(rows[0].id).unwrap());
        let holder = store.tokens.find(&[1; 32]).unwrap().unwrap().holder.unwrap();
        assert_eq!(holder.grants.len(), extents.len() - 1, "the next request knows");
        for extent in [Extent::Free, Extent::Members] {
            let needless = store.users.grant(mira, &Grant { extent, write: false });
            assert_eq!(needless.unwrap_err().code, Code::InvalidParams);
        }
    });
}

#[test]
fn passkeys_belong_to_one_user() {
    every_store(|store, _| {
        let (mira, ann) =
            (add(store, "mira", Role::Reader, None).id, add(store, "ann", Role::Reader, None).id);
        store.users.put_passkey(&passkey(mira, b"a", "phone")).unwrap();
        store.users.put_passkey(&passkey(mira, b"b", "ключ")).unwrap();
        let used = PasskeyRow { used: Some(Timestamp(9)), ..passkey(mira, b"a", "phone") };
        store.users.put_passkey(&used).unwrap();
        assert_eq!(store.users.passkey(b"a").unwrap(), Some(used));
        let stolen = store.users.put_passkey(&passkey(ann, b"a", "mine"));
        assert_eq!(stolen.unwrap_err().code, Code::Conflict);
        assert_eq!(store.users.passkeys(mira).unwrap().len(), 2);
        assert!(!store.users.remove_passkey(ann, b"a").unwrap());
        assert!(store.users.remove_passkey(mira, b"a").unwrap());
        assert!(store.users.passkey(b"a").unwrap().is_none());
    });
}

#[test]
fn sessions_end_by_time_by_hand_and_with_the_password() {
    every_store(|store, _| {
        let sessions = &store.sessions;
        let (mira, ann) =
            (add(store, "mira", Role::Author, None).id, add(store, "ann", Role::Reader, None).id);
        let now = Timestamp::now();
        let later = now.plus_days(30);
        let first = sessions.open(&[1; 32], &session(mira, later)).unwrap();
        assert_eq!(first.agent.chars().count(), 200);
        let (kept, holder) = sessions.find(&[1; 32], now).unwrap().unwrap();
        assert_eq!((&kept, holder.role), (&first, Role::Author));
        assert!(sessions.find(&[9; 32], now).unwrap().is_none());
        assert!(sessions.find(&[1; 32], later).unwrap().is_none(), "it ended");
        sessions.touch(first.id, now.plus_days(1), later.plus_days(1)).unwrap();
        assert!(sessions.find(&[1; 32], later).unwrap().is_some(), "a use moved its end");

        let second = sessions.open(&[2; 32], &session(mira, later)).unwrap();
        sessions.open(&[3; 32], &session(ann, later)).unwrap();
        let open: Vec<i64> = sessions.of_user(mira, now).unwrap().iter().map(|s| s.id).collect();
        assert_eq!(open, [second.id, first.id]);
        assert!(!sessions.end(ann, first.id).unwrap(), "not hers");
        assert!(sessions.end(mira, first.id).unwrap());
        assert!(!sessions.end(mira, first.id).unwrap());
        sessions.open(&[4; 32], &session(mira, later)).unwrap();
        assert_eq!(sessions.end_all(mira, Some(second.id)).unwrap(), 1);
        assert!(store.users.set_password(mira, "$new").unwrap());
        assert!(sessions.find(&[2; 32], now).unwrap().is_none());
        assert!(sessions.find(&[3; 32], now).unwrap().is_some());
        sessions.open(&[5; 32], &session(ann, now)).unwrap();
        assert_eq!(sessions.prune(now).unwrap(), 1);
        assert_eq!(sessions.end_all(ann, None).unwrap(), 1);
    });
}

#[test]
fn the_audit_log_is_bounded_and_newest_first() {
    every_store(|store, _| {
        let entry = |who: &str, subject: &str| NewAuditEntry {
            who: who.to_owned(),
            action: "user_add",
            subject: subject.to_owned(),
            address: "shell".to_owned(),
            outcome: "ok",
        };
        for number in 0..12 {
            store.audit.record(&entry("owner", &format!("user-{number}")), 10).unwrap();
        }
        let kept = store.audit.entries(None, None, 100).unwrap();
        let subjects: Vec<&str> = kept.iter().map(|entry| entry.subject.as_str()).collect();
        assert_eq!((subjects.len(), subjects[0], subjects[9]), (10, "user-11", "user-2"));
        let next = store.audit.entries(Some(kept[1].id), None, 2).unwrap();
        assert_eq!(next, kept[2..4], "pages follow each other");
        store.audit.record(&entry("мира", &"я".repeat(300)), 10).unwrap();
        store.audit.record(&entry("", "мира"), 10).unwrap();
        let of_mira = store.audit.entries(None, Some("мира"), 100).unwrap();
        assert_eq!(of_mira.len(), 2, "by and about her");
        assert_eq!(of_mira[1].subject.chars().count(), 100);
        assert!(store.audit.entries(None, Some("nobody"), 100).unwrap().is_empty());
    });
}

/// Each change of an account writes its entry itself, once; what changes nothing writes none.
#[test]
fn a_change_of_an_account_and_its_entry_are_one_transaction() {
    every_store(|store, _| {
        let (users, tokens) = (&store.users, &store.tokens);
        let entry = |action| NewAuditEntry {
            who: "owner".to_owned(),
            action,
            subject: "ann".to_owned(),
            address: "shell".to_owned(),
            outcome: "ok",
        };
        let account = NewAccount {
            name: UserName::new("ann").unwrap(),
            display_name: "Ann".to_owned(),
            role: Role::Author,
            password: None,
        };
        let (added, recorded) = with_entry(entry("user_add"), 100, || users.add(&account));
        let ann = added.unwrap();
        assert!(recorded);
        let (again, recorded) = with_entry(entry("user_add"), 100, || users.add(&account));
        assert!(again.is_err() && !recorded);
        let grant = Grant { extent: Extent::All, write: true };
        let given = with_entry(entry("grant_add"), 100, || users.grant(ann.id, &grant)).0.unwrap();
        let made =
            with_entry(entry("token_create"), 100, || tokens.create(&token(ann.id), &[7; 32]));
        let made = made.0.unwrap();
        let changes: [(&'static str, &dyn Fn() -> bool); 6] = [
            ("token_revoke", &|| tokens.revoke(made.id).unwrap()),
            ("grant_remove", &|| users.revoke_grant(given.id).unwrap()),
            ("user_password", &|| users.set_password(ann.id, "hash").unwrap()),
            ("passkey_add", &|| users.put_passkey(&passkey(ann.id, b"key", "phone")).is_ok()),
            ("passkey_remove", &|| users.remove_passkey(ann.id, b"key").unwrap()),
            ("user_remove", &|| users.remove(ann.id).unwrap()),
        ];
        for (action, change) in changes {
            assert_eq!(with_entry(entry(action), 100, change), (true, true), "{action}");
        }
        for (action, change) in [changes[0], changes[1], changes[4], changes[5]] {
            assert_eq!(with_entry(entry(action), 100, change), (false, false), "{action} again");
        }
        // Outside of such a change nothing is written.
        assert!(!tokens.revoke(made.id).unwrap());
        let entries = store.audit.entries(None, None, 100).unwrap();
        let mut actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
        actions.reverse();
        let first = ["user_add", "grant_add", "token_create"];
        let all: Vec<&str> =
            first.into_iter().chain(changes.iter().map(|(action, _)| *action)).collect();
        assert_eq!(actions, all);
    });
}

#[test]
fn a_token_of_no_user_stays_what_it_was() {
    every_store(|store, _| {
        let old = NewToken { power: Power::Scope(Scope::Reader), ..token(UserId(1)) };
        store.tokens.create(&old, &[7; 32]).unwrap();
        let found = store.tokens.find(&[7; 32]).unwrap().unwrap();
        assert_eq!((found.token.power, found.holder), (old.power, None));
    });
}
