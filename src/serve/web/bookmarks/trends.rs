//! What was saved lately, as plots with their numbers.

use askama::Template;
use axum::response::Response;

use super::{access::BookmarkAccess, view::BookmarkView};
use crate::{
    app::bookmarks::trends::{Period, Trend, trend},
    domain::{Result, Timestamp},
    serve::web::{
        Audience, Html, Reply, Shell, Visit,
        asked::Chip,
        encode, errors,
        plot::{Bars, Lines},
    },
    store::bookmarks::Tally,
};

/// Topics and categories that a plot shows.
const SHOWN: usize = 6;

#[derive(Template)]
#[template(path = "trends.html")]
struct TrendsPage {
    shell: Shell,
    periods: Vec<Chip>,
    category: String,
    categories: Vec<String>,
    as_of: String,
    period: &'static str,
    range: String,
    summary: String,
    notes: Vec<String>,
    topics_over_time: Option<Lines>,
    categories_over_time: Option<Lines>,
    topics: Option<Bars>,
    authors: Option<Bars>,
    domains: Option<Bars>,
    tools: Vec<(String, u64)>,
    notable: Vec<(BookmarkView, String)>,
    is_empty: bool,
}

/// `GET /trends`.
pub async fn show(visit: Visit) -> Response {
    visit
        .run(|visit| match BookmarkAccess::whole(visit) {
            Some(_) => page(visit).map(Reply::from),
            None => Ok(Reply::from(errors::forbidden(visit))),
        })
        .await
}

fn page(visit: &Visit) -> Result<Html> {
    let app = visit.app();
    let period = visit.value("period").map(str::parse::<Period>).transpose()?;
    let period = period.unwrap_or(Period::Month);
    let category = visit.value("category").map(str::to_owned);
    let as_of = match visit.value("as_of") {
        // A day is meant whole.
        Some(day) => crate::search::end_of(day)?,
        None => Timestamp::now(),
    };
    let trends = app.trends(period, category.clone(), as_of, visit.rights())?;
    let (bounds, series) = app.trend_series(period, category.as_deref(), as_of)?;
    let days: Vec<String> =
        bounds.iter().take(bounds.len() - 1).map(|bound| bound.date()).collect();
    let over_time = |title: &str, all: &[(String, Vec<u64>)]| {
        let shown: Vec<(String, Vec<u64>)> = all.iter().take(SHOWN).cloned().collect();
        Lines::new(title, days.clone(), shown)
    };
    let address = |period: Period| {
        let mut address = format!("/trends?period={period}");
        for (name, value) in
            [("category", &category), ("as_of", &visit.value("as_of").map(str::to_owned))]
        {
            if let Some(value) = value {
                address += &format!("&{name}={}", encode(value));
            }
        }
        address
    };
    let periods = Period::ALL.iter().map(|one| Chip {
        href: address(*one),
        text: name(*one).to_owned(),
        on: *one == period,
    });
    let counted = &trends.counted;
    let page = TrendsPage {
        periods: periods.collect(),
        categories: app.store.bookmarks.categories()?.into_iter().map(|(name, _)| name).collect(),
        category: category.unwrap_or_default(),
        as_of: visit.value("as_of").unwrap_or_default().to_owned(),
        period: period.as_str(),
        range: format!("{} to {}", trends.window.from.date(), Timestamp(as_of.0 - 1).date()),
        topics_over_time: over_time("Topics over time", &series.topics),
        categories_over_time: over_time("Categories over time", &series.categories),
        topics: bars("Topics against the period before", &counted.topics, "q"),
        authors: bars("Authors", &counted.authors, "author"),
        domains: bars("Sites", &counted.domains, "q"),
        is_empty: series.totals.iter().sum::<u64>() == 0,
        summary: trends.summary,
        notes: trends.notes.iter().map(|note| errors::sentence(note)).collect(),
        tools: trends.new_tools,
        notable: trends
            .notable
            .into_iter()
            .map(|(pid, bookmark, why)| (BookmarkView::of(pid, &bookmark), errors::sentence(&why)))
            .collect(),
        shell: visit.shell(),
    };
    Html::of(&page, Audience::Caller)
}

fn name(period: Period) -> &'static str {
    match period {
        Period::Day => "Day",
        Period::Week => "Week",
        Period::TwoWeeks => "Two weeks",
        Period::Month => "Month",
        Period::Quarter => "Quarter",
    }
}

fn bars(title: &str, tallies: &[Tally], filter: &str) -> Option<Bars> {
    let row = |tally: &Tally| {
        let word = match trend(tally) {
            Trend::Up => "up",
            Trend::Down => "down",
            Trend::Stable => "stable",
            Trend::New => "new",
        };
        let href = format!("/bookmarks?{filter}={}", encode(&tally.name));
        (tally.name.clone(), tally.now, tally.before, word, href)
    };
    Bars::new(title, tallies.iter().map(row).collect())
}
