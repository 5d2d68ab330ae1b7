//! An author's page: methods, the statement of a month, and how often methods were called.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;

use super::{check, download, month_of, neighbours, tabs};
use crate::{
    app::market::{Statement, month, tables},
    domain::{Author, Error, Result, Timestamp, UserId, user::Role},
    serve::web::{
        Audience, Html, Reply, Shell, Visit, account::Person, asked::Chip, encode, plot::Lines,
    },
    store::users::Account,
};

/// Methods in the plot.
const PLOTTED: usize = 6;

#[derive(Template)]
#[template(path = "market_earnings.html")]
struct EarningsPage {
    shell: Shell,
    tabs: Vec<Chip>,
    name: String,
    display_name: String,
    /// Whose earnings the owner may open; empty where there are no others.
    authors: Vec<Chip>,
    statement: Statement,
    methods: Vec<MethodLine>,
    plot: Option<Lines>,
    earlier: String,
    later: Option<String>,
    csv: String,
    is_own: bool,
}

/// A method of the author.
struct MethodLine {
    title: String,
    name: String,
    href: String,
    note: String,
    price: String,
    calls: u64,
}

/// Whose earnings are shown, and to whom.
fn subject(visit: &Visit) -> Result<Option<(Person, Account)>> {
    check(visit)?;
    let Some(person) = Person::of(visit)? else { return Ok(None) };
    let own = person.account.clone();
    let account = match visit.value("author") {
        Some(name) if own.as_ref().is_none_or(|own| own.name.as_str() != name) => {
            Person::owner(visit)?;
            visit.app().user(name)?
        }
        _ => match own {
            Some(own) => own,
            None => match visit.app().market().authors()?.first() {
                Some(first) => required(visit, *first)?,
                None => return Err(Error::not_found("no author has earned anything yet")),
            },
        },
    };
    if !matches!(person.role, Role::Author | Role::Owner) {
        return Err(Error::not_found(
            "earnings are for authors; the owner of this library decides who is one",
        ));
    }
    Ok(Some((person, account)))
}

fn required(visit: &Visit, user: UserId) -> Result<Account> {
    visit.app().store.users.get(user)?.ok_or_else(|| Error::not_found("there is no such user"))
}

/// `GET /market/earnings`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| match subject(visit)? {
            Some((person, account)) => page(visit, &person, &account).map(Reply::from),
            None => Ok(Reply::sign_in(visit)),
        })
        .await
}

fn page(visit: &Visit, person: &Person, account: &Account) -> Result<Html> {
    let app = visit.app();
    let name = account.name.to_string();
    let month = month_of(visit, Timestamp::now())?;
    let (earlier, later) = neighbours(&month)?;
    let is_own = person.account.as_ref().is_some_and(|own| own.id == account.id);
    let address = |month: &str| format!("/market/earnings?author={}&month={month}", encode(&name));
    let mut authors = Vec::new();
    if person.role == Role::Owner {
        for author in app.market().authors()? {
            let other = app.user_name(author)?;
            authors.push(Chip {
                href: format!("/market/earnings?author={}&month={month}", encode(&other)),
                on: other == name,
                text: other,
            });
        }
    }
    if authors.iter().all(|author| author.on) {
        authors.clear();
    }
    let page = EarningsPage {
        tabs: tabs(visit, Some(person)),
        shell: visit.shell(),
        display_name: account.display_name.clone(),
        authors,
        statement: app.market().statement(account.id, &month)?,
        methods: methods(visit, &name)?,
        plot: plot(visit, account.id, &month)?,
        earlier: address(&earlier),
        later: later.as_deref().map(address),
        csv: format!("/market/earnings.csv?author={}&month={month}", encode(&name)),
        is_own,
        name,
    };
    Html::of(&page, Audience::Caller)
}

/// The methods that an author sells.
fn methods(visit: &Visit, name: &str) -> Result<Vec<MethodLine>> {
    let app = visit.app();
    let author = Author::new(name);
    let mut own = app.methods(visit.rights())?;
    own.retain(|method| method.page().is_priced() && method.author() == author);
    let pids: Vec<_> = own.iter().map(|method| method.pid()).collect();
    let popularity = app.store.usage.popularity(&pids, Timestamp::now().plus_days(-30))?;
    let currency = app.market().currency();
    Ok(own
        .into_iter()
        .map(|method| MethodLine {
            href: format!("/market/{}", method.pid()),
            note: format!("/n/{}", method.pid()),
            price: match method.price() {
                Some(price) => format!("{price} {currency}"),
                None => "cannot be read, so it is not for sale".to_owned(),
            },
            calls: popularity.get(&method.pid()).map_or(0, |popularity| popularity.answered),
            title: method.title,
            name: method.name,
        })
        .collect())
}

/// Calls by day of a month, for the methods that were called most.
fn plot(visit: &Visit, author: UserId, name: &str) -> Result<Option<Lines>> {
    let (from, until) = month(name)?;
    let until = until.min(Timestamp::now().plus_days(1));
    let mut days = Vec::new();
    let mut day = from;
    while day < until {
        days.push(day);
        day = day.plus_days(1);
    }
    let mut counts: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for found in visit.app().store.usage.daily(author, from, until)? {
        let row = counts.entry(found.method).or_insert_with(|| vec![0; days.len()]);
        if let Some(at) = days.iter().position(|day| *day == found.day) {
            row[at] += found.calls;
        }
    }
    let mut rows: Vec<(String, Vec<u64>)> = counts.into_iter().collect();
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.iter().sum::<u64>()));
    if rows.len() > PLOTTED {
        let mut others = vec![0; days.len()];
        for (_, counts) in rows.drain(PLOTTED - 1..) {
            for (sum, count) in others.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        rows.push(("others".to_owned(), others));
    }
    let days = days.into_iter().map(Timestamp::date).collect();
    Ok(Lines::new("Answered calls by day", days, rows))
}

/// `GET /market/earnings.csv`: the statement of a month.
pub async fn statement(visit: Visit) -> Response {
    visit
        .run(|visit| {
            let Some((_, account)) = subject(visit)? else { return Ok(Reply::sign_in(visit)) };
            let month = month_of(visit, Timestamp::now())?;
            let statement = visit.app().market().statement(account.id, &month)?;
            let lines = statement.lines(account.name.as_str());
            let text = tables::csv(Statement::COLUMNS, &lines)?;
            Ok(download(&format!("{}-{month}.csv", account.name), text))
        })
        .await
}
