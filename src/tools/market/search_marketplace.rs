use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::{
    app::{
        offers::{Cost, Offer, OfferQuery},
        page::Cursor,
    },
    domain::{Author, Error, Money, Result, count},
    tools::{
        Answer, Cx, Effect, ListedPrice, Right, Tool, Toolset,
        vault::search::{limit, offset},
    },
};

/// Find methods by what they do, of all authors, free or paid per call. Call one by its `name`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchMarketplace {
    query: String,
    max_price: Option<Number>,
    author: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Methods for sale.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarketAnswer {
    results: Vec<OfferView>,
    total_matches: usize,
    currency: String,
    /// The caller's credit.
    #[serde(skip_serializing_if = "Option::is_none")]
    balance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// A method for sale.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OfferView {
    /// The tool to call.
    name: String,
    title: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// What a call costs; 0.00 where it is free.
    price: String,
    #[serde(skip_serializing_if = "is_zero")]
    free_calls: u32,
    /// What a call would cost this caller now.
    cost: String,
    affordable: bool,
    bought: bool,
    relevance: f32,
    #[serde(rename = "calls30Days")]
    calls_30_days: u64,
    /// The share of those calls that got an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    success_share: Option<f32>,
    arguments: Vec<OfferArgument>,
    /// Where to connect for this author's methods alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip)]
    shown: Shown,
}

/// An argument of a method.
#[derive(Serialize, JsonSchema)]
struct OfferArgument {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    required: bool,
}

/// The parts of a result that only its text has.
#[derive(Default)]
struct Shown {
    price: String,
    cost: String,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Tool for SearchMarketplace {
    const NAME: &'static str = "search_marketplace";
    const TITLE: &'static str = "Search methods for sale";
    const TOOLSET: Toolset = Toolset::Market;
    const RIGHT: Right = Right::Use(Toolset::Market);
    const EFFECT: Effect = Effect::Reads;
    type Answer = MarketAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<MarketAnswer> {
        let most = cx.app.config.limits.query_chars;
        if self.query.chars().count() > most {
            return Err(Error::invalid_params(format!(
                "query has more than {most} characters; say in fewer words what the method should do"
            )));
        }
        if self.query.trim().is_empty() {
            return Err(Error::invalid_params("query is required: what the method should do"));
        }
        let max_price = self.max_price.as_ref().map(price).transpose()?;
        let author = self.author.as_deref().map(|name| {
            Author::new(name)
                .ok_or_else(|| Error::invalid_params("author is empty; name one, or leave it out"))
        });
        let author = author.transpose()?;
        let (limit, offset) = (limit(self.limit, cx)?, offset(self.cursor)?);
        let query =
            OfferQuery { text: &self.query, max_price, author: author.as_ref(), offset, limit };
        let found = cx.app.find_offers(&query, cx.rights)?;
        let shown = offset + found.offers.len();
        let mut notes = Vec::new();
        if found.by_words_only > 0 {
            notes.push(match found.by_words_only {
                1 => "1 method was compared by its words only; ask again in a moment".to_owned(),
                count => format!(
                    "{count} methods were compared by their words only; ask again in a moment"
                ),
            });
        }
        for offer in &found.offers {
            if let (Some(price), Some(prices)) = (offer.method.price(), cx.payment.shown) {
                prices.show(offer.method.pid(), price);
            }
        }
        Ok(MarketAnswer {
            total_matches: found.total,
            currency: cx.app.market().currency().to_owned(),
            balance: found.balance.map(|balance| balance.to_string()),
            next_cursor: (shown < found.total).then(|| Cursor::write(&shown.to_string())),
            notes,
            results: found.offers.into_iter().map(|offer| OfferView::new(offer, cx)).collect(),
        })
    }
}

/// A price that a caller wrote as a number.
fn price(number: &Number) -> Result<Money> {
    Money::parse(&number.to_string())
        .map_err(|error| Error::invalid_params(format!("max_price: {}", error.plain())))
}

impl OfferView {
    fn new(offer: Offer, cx: &Cx<'_>) -> Self {
        let method = offer.method;
        let currency = cx.app.market().currency();
        let price = ListedPrice::of(&method, cx.app);
        let shown = Shown {
            price: price.as_ref().map_or_else(|| "free".to_owned(), ToString::to_string),
            cost: match offer.cost {
                Cost::Free => String::new(),
                Cost::Own => "costs you nothing".to_owned(),
                Cost::Trial(left) => format!("{} left", count(left, "trial call")),
                Cost::Price(_) if offer.is_affordable => String::new(),
                Cost::Price(price) => format!("your credit does not cover {price} {currency}"),
            },
        };
        let calls = offer.popularity.calls;
        Self {
            shown,
            price: price.as_ref().map_or(Money::ZERO, |price| price.price.amount()).to_string(),
            free_calls: price.map_or(0, |price| price.free_calls),
            cost: offer.cost.amount().to_string(),
            affordable: offer.is_affordable,
            bought: offer.is_bought,
            relevance: (offer.relevance * 100.0).round() / 100.0,
            calls_30_days: calls,
            success_share: (calls > 0)
                .then(|| (offer.popularity.answered as f32 / calls as f32 * 100.0).round() / 100.0),
            arguments: method
                .arguments
                .iter()
                .map(|argument| OfferArgument {
                    name: argument.name.clone(),
                    description: argument.description.clone(),
                    required: argument.required,
                })
                .collect(),
            address: offer.address,
            author: offer.author,
            example: method.page().market_example.clone(),
            title: method.title,
            description: method.description,
            name: method.name,
        }
    }

    fn write(&self, number: usize, out: &mut String) -> std::fmt::Result {
        write!(out, "{number}. `{}`: {} · {}", self.name, self.title, self.shown.price)?;
        if let Some(author) = &self.author {
            write!(out, " · by {author}")?;
        }
        write!(out, "\n   {}", self.description.trim())?;
        if let Some(example) = &self.example {
            write!(out, "\n   Example: {}", example.trim().replace('\n', "\n   "))?;
        }
        if !self.arguments.is_empty() {
            let arguments: Vec<String> = self
                .arguments
                .iter()
                .map(|argument| match argument.required {
                    true => format!("{} (required)", argument.name),
                    false => argument.name.clone(),
                })
                .collect();
            write!(out, "\n   Arguments: {}", arguments.join(", "))?;
        }
        let calls = match (self.calls_30_days, self.success_share) {
            (0, _) | (_, None) => "Not called in 30 days".to_owned(),
            (1, Some(share)) => format!("Called once in 30 days, {:.0} % answered", share * 100.0),
            (calls, Some(share)) => {
                format!("Called {calls} times in 30 days, {:.0} % answered", share * 100.0)
            }
        };
        write!(out, "\n   {calls}")?;
        if !self.shown.cost.is_empty() {
            write!(out, " · {}", self.shown.cost)?;
        }
        if let Some(address) = &self.address {
            write!(out, "\n   {address}")?;
        }
        out.push('\n');
        Ok(())
    }
}

impl Answer for MarketAnswer {
    fn text(&self) -> String {
        let mut out = match self.total_matches {
            0 => "Found no method that does this. Ask in other words, or raise max_price.\n"
                .to_owned(),
            1 => "Found 1 method. Call it by its name.\n".to_owned(),
            total => format!("Found {total} methods. Call one by its name.\n"),
        };
        if let Some(balance) = &self.balance {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "Your credit: {balance} {}.", self.currency);
        }
        for (at, found) in self.results.iter().enumerate() {
            out.push('\n');
            let _ = found.write(at + 1, &mut out);
        }
        for note in &self.notes {
            let _ = write!(out, "\nNote: {note}.");
        }
        if let Some(cursor) = &self.next_cursor {
            let _ = write!(out, "\nMore with cursor `{cursor}`.");
        }
        out.trim_end().to_owned()
    }
}
