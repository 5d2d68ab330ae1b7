//! The board: what is due, what is pinned, and the rest.

use askama::Template;
use axum::response::Response;

use super::{access::CardAccess, view::CardView};
use crate::{
    app::question::Question,
    domain::{Card, Error, Filters, Kind, Result, Timestamp, card::Color},
    search::DEEPEST,
    serve::web::{Audience, Html, Reply, Shell, Visit, address, errors},
    store::cards::{CardPage, CardQuery, Images, MAX_LIMIT},
};

/// Cards on one page of the board.
const PAGE: usize = 60;

#[derive(Template)]
#[template(path = "cards.html")]
struct Board {
    shell: Shell,
    /// The heading of a part of the board, what of it, and whether cards can be moved in it.
    groups: Vec<Group>,
    labels: Vec<Choice>,
    /// The label that the board is narrowed to.
    label: String,
    query: String,
    archived: bool,
    /// The address of the other side: the archive, or the board.
    other: String,
    more: Option<String>,
    colors: &'static [Color],
    may_write: bool,
    /// The address of this board, without what was just done.
    back: String,
    /// The change that deleted a card, to take it back.
    deleted: Option<String>,
    /// What the search had to say.
    notes: Vec<String>,
    is_empty: bool,
}

struct Group {
    name: &'static str,
    cards: Vec<CardView>,
    movable: bool,
}

struct Choice {
    name: String,
    href: String,
    on: bool,
}

/// `GET /cards`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| match CardAccess::to_read(visit) {
            Some(access) => page(visit, &access).map(Reply::from),
            None => Ok(Reply::from(errors::forbidden(visit))),
        })
        .await
}

fn page(visit: &Visit, access: &CardAccess<'_>) -> Result<Html> {
    let asked = Asked::of(visit);
    let now = Timestamp::now();
    let mut notes = Vec::new();
    let found = match asked.query.is_empty() {
        true => listed(access, &asked)?,
        false => searched(visit, access, &asked, &mut notes)?,
    };
    let whole = asked.query.is_empty() && asked.label.is_empty() && !asked.archived;
    let view = |card: &Card| CardView::of(card, visit.app(), visit.rights());
    let due: Vec<Card> = match whole && asked.cursor.is_none() {
        true => {
            let due = CardQuery { due: Some(now), limit: Some(PAGE), ..CardQuery::default() };
            access.list(&due)?.cards
        }
        false => Vec::new(),
    };
    let is_due = |card: &Card| due.iter().any(|due| due.id == card.id);
    let rest: Vec<&Card> = found.cards.iter().filter(|card| !is_due(card)).collect();
    let movable = asked.query.is_empty() && !asked.archived && access.may_arrange();
    let group = |name, cards: &[&Card], movable| -> Result<Group> {
        let mut cards: Vec<CardView> =
            cards.iter().map(|card| view(card)).collect::<Result<_>>()?;
        if movable {
            link_neighbours(&mut cards);
        }
        Ok(Group { name, cards, movable })
    };
    let mut groups = vec![group("Due now", &due.iter().collect::<Vec<_>>(), false)?];
    if asked.query.is_empty() {
        let (pinned, others): (Vec<&Card>, Vec<&Card>) =
            rest.into_iter().partition(|card| card.is_pinned);
        let has_pinned = !pinned.is_empty() || !due.is_empty();
        groups.push(group("Pinned", &pinned, movable)?);
        groups.push(group(if has_pinned { "Others" } else { "" }, &others, movable)?);
    } else {
        groups.push(group("", &rest, false)?);
    }
    groups.retain(|group| !group.cards.is_empty());
    let labels = access.labels()?.into_iter().map(|name| {
        let on = name == asked.label;
        let other = Asked { label: if on { String::new() } else { name.clone() }, ..asked.first() };
        Choice { href: other.href(), name, on }
    });
    let mut shell = visit.shell();
    shell.query.clone_from(&asked.query);
    let board = Board {
        is_empty: groups.is_empty(),
        groups,
        labels: labels.collect(),
        other: Asked { archived: !asked.archived, ..asked.first() }.href(),
        more: found.next.map(|cursor| Asked { cursor: Some(cursor), ..asked.clone() }.href()),
        colors: Color::ALL,
        may_write: access.may_write(),
        back: asked.href(),
        deleted: visit.value("deleted").filter(|_| access.may_undo()).map(str::to_owned),
        label: asked.label,
        query: asked.query,
        archived: asked.archived,
        notes,
        shell,
    };
    Html::of(&board, Audience::Caller)
}

/// What the address asks for.
#[derive(Debug, Clone, Default)]
struct Asked {
    query: String,
    label: String,
    archived: bool,
    cursor: Option<String>,
}

impl Asked {
    fn of(visit: &Visit) -> Self {
        let text = |name| visit.value(name).unwrap_or_default().to_owned();
        Self {
            query: text("q"),
            label: text("label"),
            archived: visit.value("archived").is_some(),
            cursor: visit.value("cursor").map(str::to_owned),
        }
    }

    /// The same board from its first page.
    fn first(&self) -> Self {
        Self { cursor: None, ..self.clone() }
    }

    fn href(&self) -> String {
        let archived = if self.archived { "1" } else { "" };
        let cursor = self.cursor.as_deref().unwrap_or_default();
        let values = [
            ("q", self.query.as_str()),
            ("label", &self.label),
            ("archived", archived),
            ("cursor", cursor),
        ];
        address("/cards", values)
    }

    /// Where a page of a search begins.
    fn offset(&self) -> Result<usize> {
        let Some(cursor) = &self.cursor else { return Ok(0) };
        cursor.parse().ok().filter(|offset| *offset < DEEPEST).ok_or_else(|| {
            Error::invalid_params(format!(
                "`cursor` of a search is a number below {DEEPEST}; search again from the first page"
            ))
        })
    }

    fn shows(&self, card: &Card) -> bool {
        let has_label = || card.labels.iter().flatten().any(|label| *label == self.label);
        card.is_archived == self.archived && (self.label.is_empty() || has_label())
    }
}

/// One page in the order of the board.
fn listed(access: &CardAccess<'_>, asked: &Asked) -> Result<CardPage> {
    let mut found = CardPage { cards: Vec::new(), next: None };
    let mut query = CardQuery {
        archived: asked.archived,
        // Few of many cards may pass; reading them one page at a time would be slow.
        limit: Some(if asked.archived || !asked.label.is_empty() { MAX_LIMIT } else { PAGE }),
        images: Images::Links,
        cursor: asked.cursor.clone(),
        ..CardQuery::default()
    };
    loop {
        let page = access.list(&query)?;
        found.cards.extend(page.cards.into_iter().filter(|card| asked.shows(card)));
        if page.next.is_none() || found.cards.len() >= PAGE {
            return Ok(CardPage { next: page.next, ..found });
        }
        query.cursor = page.next;
    }
}

/// The cards that the one search finds, in its order. It finds active cards among archived ones, so
/// it goes on until a page is full.
fn searched(
    visit: &Visit,
    access: &CardAccess<'_>,
    asked: &Asked,
    notes: &mut Vec<String>,
) -> Result<CardPage> {
    let mut filters =
        Filters { kinds: vec![Kind::Card], archived: asked.archived, ..Filters::default() };
    filters.labels.extend(Some(asked.label.clone()).filter(|label| !label.is_empty()));
    let mut next = Some(asked.offset()?);
    let mut cards = Vec::new();
    while let Some(offset) = next.filter(|_| cards.len() < PAGE) {
        let (text, filters) = (asked.query.clone(), filters.clone());
        let limit = PAGE.min(DEEPEST.saturating_sub(offset));
        let question = Question { text, filters, limit, offset, ..Question::default() };
        let answer = visit.app().search(question, visit.rights())?.answer;
        if notes.is_empty() {
            notes.extend(answer.notes().iter().map(|note| errors::sentence(note)));
        }
        cards.extend(
            access
                .get_many(answer.results.iter().map(|found| found.path.as_str()))?
                .into_iter()
                .filter(|card| asked.shows(card)),
        );
        if offset + limit >= DEEPEST && answer.total.items > DEEPEST {
            notes.push(format!(
                "Only the first {DEEPEST} results were looked through; search for more words."
            ));
        }
        next = answer.next;
    }
    Ok(CardPage { cards, next: next.map(|offset| offset.to_string()) })
}

fn link_neighbours(cards: &mut [CardView]) {
    let ids: Vec<String> = cards.iter().map(|card| card.id.clone()).collect();
    for (n, card) in cards.iter_mut().enumerate() {
        card.before = n.checked_sub(1).and_then(|n| ids.get(n)).cloned();
        card.after = ids.get(n + 1).cloned();
    }
}
