//! The contract of what the authorization server keeps.

use notewell::{
    domain::{Scopes, Timestamp, UserId, UserName, user::Role},
    store::{
        OAuth, Store,
        oauth::{Code, Pair, Redeemed, Refreshed, RegisteredClient, UNUSED_CLIENT_MS},
        users::NewAccount,
    },
};

use crate::store::every_store;

const GRACE: i64 = 60_000;
const HOUR: i64 = 3_600_000;

fn user(store: &Store) -> UserId {
    let account = NewAccount {
        name: UserName::new("mira").unwrap(),
        display_name: "Мира".into(),
        role: Role::Reader,
        password: None,
    };
    store.users.add(&account).unwrap().id
}

fn code(user: UserId, now: Timestamp) -> Code {
    Code {
        client: "client".into(),
        client_name: "Клиент".into(),
        user,
        redirect_uri: "http://localhost/cb".into(),
        challenge: "challenge".into(),
        resource: "http://localhost/mcp".into(),
        scopes: Scopes { market: false, ..Scopes::ALL },
        expires: Timestamp(now.0 + GRACE),
    }
}

/// The pair number `n`, issued now.
fn pair(n: u8, now: Timestamp) -> Pair {
    Pair {
        access: [n; 32],
        access_expires: Timestamp(now.0 + HOUR),
        refresh: [n + 100; 32],
        refresh_expires: Timestamp(now.0 + 24 * HOUR),
    }
}

fn is_valid(store: &Store, n: u8, now: Timestamp) -> bool {
    store.tokens.find(&[n; 32]).unwrap().is_some_and(|found| found.token.is_valid(now))
}

/// A connection whose newest pair has the number 1.
fn connected(store: &Store, now: Timestamp) -> i64 {
    let user = user(store);
    store.oauth.keep_code(&[1; 32], &code(user, now)).unwrap();
    match store.oauth.redeem(&[1; 32], &pair(1, now), now, &|_| true).unwrap() {
        Redeemed::Issued(connection) => connection.id,
        other => panic!("{other:?}"),
    }
}

fn refresh(store: &Store, from: u8, to: u8, now: Timestamp) -> Refreshed {
    store.oauth.refresh(&[from + 100; 32], &pair(to, now), None, now, GRACE, &|_| true).unwrap()
}

#[test]
fn a_code_is_redeemed_once() {
    every_store(|store, _| {
        let now = Timestamp::now();
        let id = connected(store, now);
        let found = store.tokens.find(&[1; 32]).unwrap().unwrap();
        assert_eq!(found.token.connection, Some(id));
        assert_eq!(found.token.audience.as_deref(), Some("http://localhost/mcp"));
        assert_eq!(found.holder.unwrap().name.as_str(), "mira");
        assert!(store.tokens.all().unwrap().is_empty(), "not among the tokens that people made");
        let again = store.oauth.redeem(&[1; 32], &pair(2, now), now, &|_| true).unwrap();
        assert!(matches!(again, Redeemed::Replayed(connection) if connection.id == id));
        assert!(!is_valid(store, 1, now) && store.tokens.find(&[2; 32]).unwrap().is_none());
        assert_eq!(refresh(store, 1, 3, now), Refreshed::Refused);
        assert!(store.oauth.live(&[id]).unwrap().is_empty());
    });
}

#[test]
fn a_code_that_was_refused_is_spent() {
    every_store(|store, _| {
        let (now, oauth) = (Timestamp::now(), &store.oauth);
        let user = user(store);
        let redeem =
            |n: u8, now, accept| oauth.redeem(&[n; 32], &pair(9, now), now, &|_| accept).unwrap();
        oauth.keep_code(&[1; 32], &code(user, now)).unwrap();
        assert_eq!(redeem(1, now, false), Redeemed::Refused);
        assert_eq!(redeem(1, now, true), Redeemed::Refused);
        oauth.keep_code(&[2; 32], &code(user, now)).unwrap();
        assert_eq!(redeem(2, Timestamp(now.0 + GRACE), true), Redeemed::Refused, "too late");
        assert_eq!(redeem(3, now, true), Redeemed::Refused, "unknown");
        oauth.keep_code(&[4; 32], &code(user, now)).unwrap();
        store.users.remove(user).unwrap();
        assert_eq!(redeem(4, now, true), Redeemed::Refused, "nobody's");
        assert!(oauth.connections(None).unwrap().is_empty());
    });
}

#[test]
fn refresh_tokens_rotate_and_a_stolen_one_ends_the_connection() {
    every_store(|store, _| {
        let start = Timestamp::now();
        let at = |ms: i64| Timestamp(start.0 + ms);
        let id = connected(store, start);
        assert!(matches!(refresh(store, 1, 2, at(1)), Refreshed::Issued(..)));
        assert!(is_valid(store, 1, at(1)), "an access token lasts until it expires");
        // An answer that was lost, or two processes at once.
        assert!(matches!(refresh(store, 1, 3, at(GRACE)), Refreshed::Issued(..)));
        assert!(matches!(refresh(store, 3, 4, at(GRACE + 1)), Refreshed::Issued(..)));
        assert_eq!(store.oauth.live(&[id, 99]).unwrap(), [id]);
        assert!(matches!(refresh(store, 3, 5, at(3 * GRACE)), Refreshed::Replayed(_)));
        for n in 1..=4 {
            assert!(!is_valid(store, n, at(3 * GRACE)), "{n}");
            assert_eq!(refresh(store, n, 6, at(3 * GRACE)), Refreshed::Refused, "{n}");
        }
        assert!(!store.oauth.revoke_connection(id).unwrap());
    });
}

#[test]
fn the_token_before_the_newest_is_the_oldest_that_is_good() {
    every_store(|store, _| {
        let start = Timestamp::now();
        connected(store, start);
        let at = |ms: i64| Timestamp(start.0 + ms);
        assert!(matches!(refresh(store, 1, 2, at(1)), Refreshed::Issued(..)));
        assert!(matches!(refresh(store, 2, 3, at(2)), Refreshed::Issued(..)));
        assert!(matches!(refresh(store, 1, 4, at(3)), Refreshed::Replayed(_)));
    });
}

#[test]
fn a_refresh_is_bound_to_its_client_and_its_consent() {
    every_store(|store, _| {
        let now = Timestamp::now();
        connected(store, now);
        let oauth: &dyn OAuth = &*store.oauth;
        let refused = oauth.refresh(&[101; 32], &pair(2, now), None, now, GRACE, &|connection| {
            connection.client == "another"
        });
        assert_eq!(refused.unwrap(), Refreshed::Refused);
        // It is still the client's own.
        let read = Scopes { read: true, ..Scopes::NONE };
        let less = oauth.refresh(&[101; 32], &pair(3, now), Some(read), now, GRACE, &|_| true);
        assert!(matches!(less.unwrap(), Refreshed::Issued(_, scopes) if scopes == read));
        let more =
            oauth.refresh(&[103; 32], &pair(4, now), Some(Scopes::ALL), now, GRACE, &|_| true);
        let Refreshed::Issued(_, scopes) = more.unwrap() else { panic!("refused") };
        assert_eq!(scopes.to_string(), "read write");
        assert_eq!(refresh(store, 4, 5, Timestamp(now.0 + 25 * HOUR)), Refreshed::Refused);
    });
}

#[test]
fn a_connection_is_revoked_by_any_token_of_its_client() {
    every_store(|store, _| {
        let now = Timestamp::now();
        let id = connected(store, now);
        let oauth: &dyn OAuth = &*store.oauth;
        assert!(!oauth.revoke_by_token(&[1; 32], "another").unwrap());
        assert!(!oauth.revoke_by_token(&[77; 32], "client").unwrap());
        assert_eq!(oauth.connections(Some(UserId(99))).unwrap().len(), 0);
        let connections = oauth.connections(None).unwrap();
        assert_eq!((connections.len(), connections[0].client_name.as_str()), (1, "Клиент"));
        assert!(oauth.revoke_by_token(&[1; 32], "client").unwrap());
        assert!(oauth.connections(None).unwrap().is_empty() && !is_valid(store, 1, now));
        assert!(!oauth.revoke_connection(id).unwrap());
    });
}

fn registered(n: usize, created: Timestamp) -> RegisteredClient {
    let id = format!("client{n}");
    RegisteredClient { id, secret: Some([7; 32]), metadata: "{}".into(), created, used: None }
}

#[test]
fn clients_that_nobody_connects_are_few_and_forgotten() {
    every_store(|store, _| {
        let now = Timestamp::now();
        let oauth: &dyn OAuth = &*store.oauth;
        let known = |n: usize| oauth.client(&format!("client{n}")).unwrap().is_some();
        // One is connected, and stays.
        let mut used = registered(0, now);
        used.id = "client".into();
        oauth.register(&used, 3).unwrap();
        connected(store, now);
        for n in 0..10 {
            oauth.register(&registered(n, Timestamp(now.0 + n as i64)), 3).unwrap();
        }
        assert_eq!((0..10).filter(|n| known(*n)).collect::<Vec<_>>(), [7, 8, 9]);
        assert!(oauth.client("client").unwrap().unwrap().used.is_some());
        oauth.register(&registered(11, Timestamp(now.0 - UNUSED_CLIENT_MS)), 3).unwrap();
        assert!(!known(11), "a day old");
        assert!(oauth.prune(Timestamp(now.0 + 2 * UNUSED_CLIENT_MS)).unwrap() >= 3);
        assert!(!known(9) && oauth.client("client").unwrap().is_some());
    });
}

#[test]
fn what_expired_is_forgotten() {
    every_store(|store, _| {
        let now = Timestamp::now();
        let id = connected(store, now);
        let oauth: &dyn OAuth = &*store.oauth;
        assert_eq!(oauth.prune(now).unwrap(), 0);
        assert_eq!(oauth.prune(Timestamp(now.0 + 2 * HOUR)).unwrap(), 0, "known a while longer");
        assert_eq!(oauth.live(&[id]).unwrap(), [id], "it can be renewed");
        assert!(oauth.prune(Timestamp(now.0 + 26 * HOUR)).unwrap() > 0);
        assert!(store.tokens.find(&[1; 32]).unwrap().is_none());
        assert!(oauth.live(&[id]).unwrap().is_empty(), "nothing can renew it");
    });
}
