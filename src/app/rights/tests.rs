//! Rights against the documentation, and the index against the rights.

use std::time::Duration;

use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
};

use super::*;
use crate::{
    app::sources::described,
    domain::{
        Document, Pid, Scopes, Timestamp, UserId, VaultPath,
        author::fold,
        card::NewCard,
        user::{Grant, User},
    },
    index::{Asked, Index, shelf::Shelf},
};

fn of(caller: Caller) -> Rights {
    Rights::new(caller, &config::Toolsets::default())
}

fn user(role: Role, grants: Vec<Grant>) -> Caller {
    let scopes = Scopes::ALL;
    Caller::User(User { id: None, name: "n".into(), role, grants: grants.into(), scopes })
}

#[test]
fn a_role_decides_what_is_about_the_server() {
    let (reader, owner) = (of(user(Role::Reader, Vec::new())), of(Caller::Owner));
    for right in [
        Right::Metrics,
        Right::Causes,
        Right::ReservedCapacity,
        Right::LibraryState,
        Right::History,
        Right::VerifyRepositories,
    ] {
        assert!(owner.may(right) && !reader.may(right), "{right:?}");
    }
    assert!(reader.may(Right::LanguageModel));
    assert!(!of(Caller::Anonymous).may(Right::LanguageModel));
}

#[test]
fn a_grant_decides_what_is_read_and_written() {
    let reader = of(user(Role::Reader, Vec::new()));
    let all = Grant { write: false, ..Grant::EVERYTHING };
    let trusted = of(user(Role::Reader, vec![all]));
    assert!(reader.may(Right::Read(Kind::Page)) && !reader.may(Right::Read(Kind::Card)));
    assert!(trusted.may(Right::Read(Kind::Card)) && !trusted.may(Right::Write(Kind::Card)));
    assert!(of(Caller::Owner).may(Right::Write(Kind::Card)));
    assert!(reader.visible().is_only_free() && !trusted.visible().is_only_free());
}

#[test]
fn an_authors_address_has_pages_only() {
    let confined = of(Caller::Owner).confined_to(Author::new("Mira").unwrap());
    assert!(confined.may(Right::Read(Kind::Page)) && !confined.may(Right::Write(Kind::Page)));
    for kind in [Kind::Card, Kind::Bookmark, Kind::Prompt] {
        assert!(!confined.may(Right::Read(kind)) && !confined.may(Right::Write(kind)));
    }
    let mut filters = Filters::default();
    confined.narrow(&mut filters);
    assert!(filters.visible.author().is_some() && !filters.visible.is_everything());
}

#[test]
fn a_credential_without_write_writes_nothing() {
    let read = Scopes { read: true, ..Scopes::NONE };
    let owner = of(with_scopes(user(Role::Owner, Vec::new()), read));
    assert!(owner.may(Right::ReadEvery(Kind::Card)) && !owner.may(Right::Write(Kind::Card)));
    assert!(!owner.may(Right::History));
    let granted = of(with_scopes(user(Role::Reader, vec![Grant::EVERYTHING]), read));
    assert!(granted.may(Right::Read(Kind::Card)) && !granted.may(Right::Write(Kind::Page)));
    let nothing = of(with_scopes(user(Role::Owner, Vec::new()), Scopes::NONE));
    assert!(nothing.visible().is_only_free());
}

#[test]
fn a_priced_page_is_called_by_all_and_read_by_its_author() {
    let sold = page("work", "m.md", "author: mira\nmcp_method: review\nprice: 0.01\nfree: true\n");
    let everything = user(Role::Reader, vec![Grant::EVERYTHING]);
    for caller in [Caller::Anonymous, everything, user(Role::Author, Vec::new())] {
        let rights = of(caller);
        assert!(!rights.sees(&sold) && !rights.writes(&sold) && rights.calls(&sold));
    }
    let mut mira = user(Role::Author, Vec::new());
    if let Caller::User(user) = &mut mira {
        user.name = "mira".into();
    }
    for rights in [of(mira.clone()), of(Caller::Owner)] {
        assert!(rights.sees(&sold) && rights.writes(&sold) && rights.calls(&sold));
    }
    let others = page("work", "n.md", "author: ann\n");
    assert!(!of(mira.clone()).sees(&others) && !of(mira).writes(&others));
    let unreadable = page("work", "m.md", "mcp_method: review\nprice: [1]\nfree: true\n");
    assert!(!of(Caller::Anonymous).calls(&unreadable) && !of(Caller::Anonymous).sees(&unreadable));
    let elsewhere = of(Caller::Anonymous).confined_to(Author::new("ann").unwrap());
    assert!(!elsewhere.calls(&sold));
}

#[test]
fn cards_and_bookmarks_are_seen_by_kind_and_label() {
    let label = |label: &str, write| Grant { extent: Extent::Label(label.into()), write };
    let rights = of(user(Role::Reader, vec![label("план", true), label("計画", false)]));
    let card = |labels: &[&str]| Card {
        labels: Some(labels.iter().map(|label| (*label).to_owned()).collect()),
        ..NewCard::default().into_card("c".into(), Timestamp(0))
    };
    assert!(rights.sees_card(&card(&["x", "#План"])) && rights.writes_card(&card(&["ПЛАН"])));
    assert!(rights.sees_card(&card(&["計画"])) && !rights.writes_card(&card(&["計画"])));
    assert!(!rights.sees_card(&card(&["plan"])) && !rights.sees_card(&card(&[])));
    assert!(rights.may(Right::Read(Kind::Card)) && !rights.may(Right::ReadEvery(Kind::Card)));
    assert!(!rights.may(Right::Read(Kind::Prompt)));
    let kind =
        of(user(Role::Reader, vec![Grant { extent: Extent::Kind(Kind::Bookmark), write: false }]));
    assert!(kind.may(Right::ReadEvery(Kind::Bookmark)) && !kind.may(Right::Read(Kind::Card)));
}

fn with_scopes(mut caller: Caller, scopes: Scopes) -> Caller {
    if let Caller::User(user) = &mut caller {
        user.scopes = scopes;
    }
    caller
}

fn page(vault: &str, path: &str, front: &str) -> Page {
    let path = VaultPath::parse(path).unwrap();
    crate::vault::page(vault, &path, &format!("---\n{front}---\nText.\n")).0
}

const VAULTS: [&str; 2] = ["work", "дом"];
const PATHS: [&str; 7] = [
    "a.md",
    "team/b.md",
    "team/deep/c.md",
    "Team/d.md",
    "teams/e.md",
    "команда/план/ж.md",
    "計画/予定.md",
];
const FOLDERS: [&str; 6] = ["team", "team/deep", "tea", "команда", "計画", "команда/план"];
const LABELS: [&str; 4] = ["Plan", "план", "計画", "plans"];
const AUTHORS: [&str; 4] = ["mira", "@Mira", "Анна", "太郎"];

fn any_page() -> impl Strategy<Value = Page> {
    let flags = (any::<bool>(), any::<bool>(), 0..6u8);
    let words = (subsequence(LABELS.to_vec(), 0..3), option::of(select(AUTHORS.to_vec())));
    (select(VAULTS.to_vec()), select(PATHS.to_vec()), flags, words).prop_map(
        |(vault, path, (free, members, sold), (labels, author))| {
            let mut front = format!("free: {free}\ntags: [{}]\n", labels.join(", "));
            front += if members { "access: members\n" } else { "" };
            front += if sold < 2 { "mcp_method: m\n" } else { "" };
            front += if sold < 3 && sold > 0 { "price: 0.5\n" } else { "" };
            front += &author.map(|author| format!("author: \"{author}\"\n")).unwrap_or_default();
            page(vault, path, &front)
        },
    )
}

fn any_extent() -> impl Strategy<Value = Extent> {
    let vault = || select(VAULTS.to_vec()).prop_map(str::to_owned);
    prop_oneof![
        1 => Just(Extent::All),
        1 => Just(Extent::Free),
        2 => Just(Extent::Members),
        2 => vault().prop_map(Extent::Vault),
        6 => (vault(), select(FOLDERS.to_vec()))
            .prop_map(|(vault, folder)| Extent::Folder { vault, folder: folder.into() }),
        4 => select(LABELS.to_vec()).prop_map(|label| Extent::Label(fold(label))),
        3 => select(AUTHORS.to_vec()).prop_map(|name| Extent::Author(Author::new(name).unwrap())),
        1 => select(Kind::ALL.to_vec()).prop_map(Extent::Kind),
    ]
}

fn any_caller() -> impl Strategy<Value = Caller> {
    let grant = (any_extent(), any::<bool>()).prop_map(|(extent, write)| Grant { extent, write });
    let role = select(vec![Role::Owner, Role::Author, Role::Reader, Role::Reader]);
    let scopes = (0..8u8, any::<bool>(), any::<bool>()).prop_map(|(read, write, market)| Scopes {
        read: read > 0,
        write,
        market,
    });
    let name = select(vec!["mira", "ann"]);
    let user = (role, vec(grant, 0..4), scopes, option::of(Just(UserId(1))), name).prop_map(
        |(role, grants, scopes, id, name)| {
            Caller::User(User { id, name: name.into(), role, grants: grants.into(), scopes })
        },
    );
    prop_oneof![1 => Just(Caller::Owner), 1 => Just(Caller::Anonymous), 10 => user]
}

/// Whether a caller reads a page, as the documentation says it: rule by rule, nothing shared with
/// the code above.
fn reads(caller: &Caller, confined: Option<&str>, page: &Page) -> bool {
    let name = |name: &str| name.trim_start_matches('@').to_lowercase();
    let author = page.author.as_deref().map(name);
    if confined.is_some_and(|wanted| author != Some(name(wanted))) {
        return false;
    }
    let sold = page.method.is_some() && page.price.is_some();
    let user = match caller {
        Caller::Owner => return true,
        Caller::Anonymous => return page.free && !sold,
        Caller::User(user) if !user.scopes.read => return page.free && !sold,
        Caller::User(user) => user,
    };
    if user.role == Role::Owner || (user.role == Role::Author && author == Some(user.name.clone()))
    {
        return true;
    }
    !sold
        && (page.free
            || (page.members && user.id.is_some())
            || user.grants.iter().any(|grant| covers(&grant.extent, page)))
}

fn covers(extent: &Extent, page: &Page) -> bool {
    match extent {
        Extent::All | Extent::Kind(Kind::Page) => true,
        Extent::Kind(_) => false,
        Extent::Free => page.free,
        Extent::Members => page.members,
        Extent::Vault(vault) => page.vault == *vault,
        Extent::Folder { vault, folder } => {
            page.vault == *vault && page.path.as_str().starts_with(&format!("{folder}/"))
        }
        Extent::Label(label) => page.labels.iter().any(|own| own.to_lowercase() == *label),
        Extent::Author(author) => {
            let own = page.author.as_deref().unwrap_or_default();
            own.trim_start_matches('@').to_lowercase() == author.as_str()
        }
    }
}

/// Whether a caller changes a page that they read.
fn changes(caller: &Caller, page: &Page) -> bool {
    let Caller::User(user) = caller else { return *caller == Caller::Owner };
    let author = page.author.as_deref().map(|name| name.trim_start_matches('@').to_lowercase());
    let is_own = user.role == Role::Owner
        || (user.role == Role::Author && author == Some(user.name.clone()));
    let is_granted = || user.grants.iter().any(|grant| grant.write && covers(&grant.extent, page));
    // Agents follow a method: no grant covers that.
    (user.scopes.read && user.scopes.write) && (is_own || (page.method.is_none() && is_granted()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// What the index lets through, what the rights say of each page, and what the documentation
    /// says are the same.
    #[test]
    fn the_index_shows_what_the_rights_say(
        pages in vec(any_page(), 24),
        callers in vec((any_caller(), option::of(select(AUTHORS.to_vec()))), 12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::default();
        for (number, page) in (1..).zip(&pages) {
            let shown = format!("{}/{}", page.vault, page.path);
            shelf.put(described(Pid(number), page.clone(), shown).unwrap());
        }
        // Bookmarks have authors and labels too: only a label, a kind or everything shows them.
        for (number, label) in (100..).zip(LABELS) {
            let mut document = Document::new(Pid(number), Kind::Bookmark, "Saved", "1");
            document.labels = vec![label.into()];
            document.author = Some("mira".into());
            shelf.put(document);
        }
        let index = Index::open(folder.path(), shelf.source(), None).unwrap();
        index.ensure_fresh(Duration::from_secs(60)).unwrap();
        for (caller, confined) in callers {
            let mut rights = of(caller.clone());
            if let Some(author) = confined {
                rights = rights.confined_to(Author::new(author).unwrap());
            }
            let mut filters = Filters::default();
            rights.narrow(&mut filters);
            let view = index.view_for(&filters).unwrap();
            let narrowing = view.narrow(&Asked::by(&filters)).unwrap();
            let (hits, total) = view.listing(&narrowing, 1000).unwrap();
            let mut listed: Vec<i64> = hits.iter().map(|hit| hit.id.pid.0).collect();
            listed.sort_unstable();
            prop_assert_eq!(total.items, listed.len());
            let mut seen = Vec::new();
            for (number, page) in (1..).zip(&pages) {
                prop_assert_eq!(rights.sees(page), reads(&caller, confined, page), "{:?} {:?}", &caller, page);
                let writes = confined.is_none() && rights.sees(page) && changes(&caller, page);
                prop_assert_eq!(rights.writes(page), writes, "{:?} {:?}", &caller, page);
                seen.extend(rights.sees(page).then_some(number));
            }
            for (number, label) in (100..).zip(LABELS) {
                let labels = [label.to_owned()];
                seen.extend(rights.visible().has_labelled(Kind::Bookmark, &labels).then_some(number));
            }
            prop_assert_eq!(&listed, &seen, "{:?} {:?}", &caller, confined);
        }
    }
}
