//! What a caller may see, as a query: one set of passages a segment, whatever was granted.

use tantivy::{
    Term,
    query::{AllQuery, BooleanQuery, Occur, Query},
};

use super::{
    narrow::{any, term},
    schema::{Fields, MEMBERS, PRICED, author_fact, folder_fact, label_fact, vault_fact},
};
use crate::domain::{Author, Kind, Visible, user::Extent};

/// The name of a part of the library, for what is kept of it. Equal names are equal parts.
pub(super) fn name(visible: &Visible) -> String {
    format!("visible {visible:?}")
}

/// The passages of a part of the library.
pub(super) fn query(fields: &Fields, visible: &Visible) -> Box<dyn Query> {
    let of_kind = |kind: Kind| term(Term::from_field_u64(fields.kind, kind as u64));
    let fact = |fact: &str| term(Term::from_field_text(fields.facts, fact));
    // Bookmarks have authors too; only pages are somebody's.
    let pages_of =
        |author: &Author| both(of_kind(Kind::Page), fact(&author_fact(author)), Occur::Must);
    let of_extent = |extent: &Extent| -> Box<dyn Query> {
        match extent {
            Extent::All => Box::new(AllQuery),
            Extent::Free => term(Term::from_field_bool(fields.free, true)),
            Extent::Members => fact(MEMBERS),
            Extent::Vault(vault) => fact(&vault_fact(vault)),
            Extent::Folder { vault, folder } => fact(&folder_fact(vault, folder)),
            Extent::Label(label) => {
                both(fact(&label_fact(label)), of_kind(Kind::Prompt), Occur::MustNot)
            }
            Extent::Author(author) => pages_of(author),
            Extent::Kind(kind) => of_kind(*kind),
        }
    };
    let mut granted = any(visible.extents().iter().map(of_extent).collect());
    if visible.hides_priced() {
        granted = both(granted, fact(PRICED), Occur::MustNot);
    }
    if let Some(own) = visible.own() {
        granted = any(vec![granted, pages_of(own)]);
    }
    match visible.author() {
        Some(author) => both(granted, pages_of(author), Occur::Must),
        None => granted,
    }
}

fn both(one: Box<dyn Query>, other: Box<dyn Query>, occur: Occur) -> Box<dyn Query> {
    Box::new(BooleanQuery::new(vec![(Occur::Must, one), (occur, other)]))
}
