//! Methods for sale, as buyers look for them: by words and by meaning over what buyers may read, with
//! the price, the author, how often they were called and what a call would cost the one who asks.

mod rank;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use self::rank::Described;
use super::{App, methods::Method, rights::Rights};
use crate::{
    domain::{Author, Caller, Money, Pid, Price, Result, Timestamp, UserId, user::Role},
    embed::Role as Side,
    store::usage::Popularity,
};

/// How far back calls are counted.
const POPULAR_DAYS: i64 = 30;
/// How long one search embeds offers that are new to it.
const EMBED_TIME: Duration = Duration::from_secs(1);
/// Offers that are embedded between two looks at the clock.
const EMBED_BATCH: usize = 8;

/// What a buyer looks for.
#[derive(Debug, Clone)]
pub struct OfferQuery<'a> {
    /// What the method should do; blank for every method.
    pub text: &'a str,
    /// The highest price of a call.
    pub max_price: Option<Money>,
    /// Only methods of this author.
    pub author: Option<&'a Author>,
    /// How many results to leave out.
    pub offset: usize,
    /// How many results to give.
    pub limit: usize,
}

/// A method for sale.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The method, as this caller calls it.
    pub method: Method,
    /// How well it answers the question, 0 to 1.
    pub relevance: f32,
    /// Who wrote it, as the page spells the name.
    pub author: Option<String>,
    /// Where to connect for this author's methods alone; `None` when no server is known to answer.
    pub address: Option<String>,
    /// How often it was called in the last thirty days.
    pub popularity: Popularity,
    /// What a call would cost this caller now.
    pub cost: Cost,
    /// Whether the caller can pay that now.
    pub is_affordable: bool,
    /// Whether the caller paid for a call of it before.
    pub is_bought: bool,
}

/// What a call would cost a caller, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// It costs nobody anything.
    Free,
    /// The caller owns or wrote it.
    Own,
    /// It is one of so many trial calls that are left.
    Trial(u32),
    /// The price.
    Price(Price),
}

impl Cost {
    /// The amount.
    pub fn amount(self) -> Money {
        match self {
            Cost::Free | Cost::Own | Cost::Trial(_) => Money::ZERO,
            Cost::Price(price) => price.amount(),
        }
    }
}

/// What was found.
pub struct Offers {
    /// The page of results that was asked for, the best first.
    pub offers: Vec<Offer>,
    /// How many there are in all.
    pub total: usize,
    /// The caller's credit; `None` without an account.
    pub balance: Option<Money>,
    /// How many offers could not be compared by meaning yet.
    pub by_words_only: usize,
}

/// The vectors of what was offered, by what was embedded.
#[derive(Default)]
pub struct OfferVectors(Mutex<HashMap<Arc<str>, Arc<[f32]>>>);

impl OfferVectors {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<[f32]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App {
    /// Whether anything is offered to this caller. An author's own address is no market.
    pub fn has_offers(&self, rights: &Rights) -> Result<bool> {
        Ok(rights.author().is_none() && !self.offered(rights)?.is_empty())
    }

    /// The methods of the market: those with a price, and those of an author that cost nothing.
    fn offered(&self, rights: &Rights) -> Result<Vec<Method>> {
        let mut methods = self.methods(rights)?;
        methods.retain(|method| {
            let page = method.page();
            let is_sold = method.price().is_some();
            page.searchable
                && !method.is_initialize()
                && (is_sold || (!page.is_priced() && page.author.is_some()))
        });
        Ok(methods)
    }

    /// Looks for methods.
    pub fn find_offers(&self, query: &OfferQuery<'_>, rights: &Rights) -> Result<Offers> {
        self.await_first_look();
        let mut methods = self.offered(rights)?;
        methods.retain(|method| {
            let price = method.price().map_or(Money::ZERO, Price::amount);
            query.max_price.is_none_or(|most| price <= most)
                && query.author.is_none_or(|author| method.author().as_ref() == Some(author))
        });
        let described: Vec<Described> = methods.iter().map(described).collect();
        let shares = rank::shares(query.text, &described.iter().collect::<Vec<_>>());
        let (cosines, by_words_only) = self.cosines(query.text, &described)?;
        let is_open = query.text.trim().is_empty();
        let pids: Vec<Pid> = methods.iter().map(Method::pid).collect();
        let since = Timestamp::now().plus_days(-POPULAR_DAYS);
        let mut popularity = self.store.usage.popularity(&pids, since)?;
        let mut found: Vec<(f32, Popularity, Method)> = methods
            .into_iter()
            .zip(shares.into_iter().zip(cosines))
            .filter_map(|(method, (share, cosine))| {
                let relevance = if is_open { 1.0 } else { rank::relevance(share, cosine)? };
                Some((relevance, popularity.remove(&method.pid()).unwrap_or_default(), method))
            })
            .collect();
        found.sort_by(|a, b| {
            let relevance = b.0.total_cmp(&a.0);
            relevance.then(b.1.answered.cmp(&a.1.answered)).then(a.2.name.cmp(&b.2.name))
        });
        let total = found.len();
        let page: Vec<_> = found.into_iter().skip(query.offset).take(query.limit).collect();
        let (offers, balance) = self.for_buyer(page, rights)?;
        Ok(Offers { offers, total, balance, by_words_only })
    }

    /// The offer of a page, and the credit of who asks.
    pub fn offer(&self, pid: Pid, rights: &Rights) -> Result<Option<(Offer, Option<Money>)>> {
        self.await_first_look();
        let method = self.offered(rights)?.into_iter().find(|method| method.pid() == pid);
        let Some(method) = method else { return Ok(None) };
        let since = Timestamp::now().plus_days(-POPULAR_DAYS);
        let popularity = self.store.usage.popularity(&[pid], since)?.remove(&pid);
        let found = vec![(1.0, popularity.unwrap_or_default(), method)];
        let (mut offers, balance) = self.for_buyer(found, rights)?;
        Ok(offers.pop().map(|offer| (offer, balance)))
    }

    /// What the methods cost who asks, and their credit.
    fn for_buyer(
        &self,
        found: Vec<(f32, Popularity, Method)>,
        rights: &Rights,
    ) -> Result<(Vec<Offer>, Option<Money>)> {
        let pids: Vec<Pid> = found.iter().map(|(.., method)| method.pid()).collect();
        let buyer = self.buyer(rights, &pids)?;
        let offer = |(relevance, popularity, method): (f32, Popularity, Method)| {
            let cost = buyer.cost(&method, rights);
            Offer {
                relevance,
                popularity,
                author: method.page().author.clone(),
                address: self.address_of(&method),
                cost,
                is_affordable: buyer.affords(cost.amount(), self),
                is_bought: buyer.bought.contains(&method.pid()),
                method,
            }
        };
        Ok((found.into_iter().map(offer).collect(), buyer.balance))
    }

    /// How near each offer is to a question, and how many could not be compared.
    fn cosines(&self, question: &str, offers: &[Described]) -> Result<(Vec<Option<f32>>, usize)> {
        let none = (vec![None; offers.len()], 0);
        let Some(embedder) = self.embedder() else { return Ok(none) };
        if offers.is_empty() || !embedder.knows(question) {
            return Ok(none);
        }
        let passages: Vec<Arc<str>> = offers.iter().map(|offer| offer.passage().into()).collect();
        self.embed_offers(&passages)?;
        let Some(question) = embedder.embed(&[question], Side::Query)?.pop() else {
            return Ok(none);
        };
        let known = self.offer_vectors.lock();
        let near = |passage: &Arc<str>| Some(rank::cosine(known.get(passage)?, &question));
        let cosines: Vec<Option<f32>> = passages.iter().map(near).collect();
        let missing = cosines.iter().filter(|cosine| cosine.is_none()).count();
        Ok((cosines, missing))
    }

    /// Embeds what is offered and has no vector yet, for a moment at most.
    fn embed_offers(&self, passages: &[Arc<str>]) -> Result<()> {
        let Some(embedder) = self.embedder() else { return Ok(()) };
        let started = Instant::now();
        let missing: Vec<Arc<str>> = {
            let known = self.offer_vectors.lock();
            passages.iter().filter(|passage| !known.contains_key(*passage)).cloned().collect()
        };
        for batch in missing.chunks(EMBED_BATCH) {
            if started.elapsed() > EMBED_TIME {
                break;
            }
            let texts: Vec<&str> = batch.iter().map(AsRef::as_ref).collect();
            let vectors = embedder.embed(&texts, Side::Passage)?;
            let mut known = self.offer_vectors.lock();
            known.extend(batch.iter().cloned().zip(vectors.into_iter().map(Into::into)));
        }
        // What is not offered any more is forgotten, once it is the larger part.
        let mut known = self.offer_vectors.lock();
        if known.len() > 2 * passages.len() + 1_000 {
            let current: HashSet<&Arc<str>> = passages.iter().collect();
            known.retain(|passage, _| current.contains(passage));
        }
        Ok(())
    }

    /// Where a client connects for the methods of one author.
    fn address_of(&self, method: &Method) -> Option<String> {
        let site = self.site()?;
        Some(match method.author() {
            Some(author) => {
                let name = utf8_percent_encode(author.as_str(), NON_ALPHANUMERIC);
                format!("{site}/_system/mcp/{name}")
            }
            None => format!("{site}/_system/mcp"),
        })
    }

    /// What is known of who asks, for these pages.
    fn buyer(&self, rights: &Rights, pids: &[Pid]) -> Result<Buyer> {
        let is_owner = rights.role() == Role::Owner;
        let id: Option<UserId> = match rights.caller() {
            Caller::User(user) => user.id,
            Caller::Owner | Caller::Anonymous => None,
        };
        let Some(id) = id else {
            return Ok(Buyer { is_owner, ..Buyer::default() });
        };
        let usage = &self.store.usage;
        Ok(Buyer {
            is_owner,
            has_account: true,
            balance: Some(self.market().balance(id)?),
            trials: usage.trials(id, pids)?,
            bought: usage.bought(id, pids)?,
        })
    }
}

/// What is known of who asks.
#[derive(Default)]
struct Buyer {
    is_owner: bool,
    has_account: bool,
    balance: Option<Money>,
    trials: HashMap<Pid, u32>,
    bought: Vec<Pid>,
}

impl Buyer {
    fn cost(&self, method: &Method, rights: &Rights) -> Cost {
        let Some(price) = method.price() else { return Cost::Free };
        if self.is_owner || rights.sees(method.page()) {
            return Cost::Own;
        }
        let used = self.trials.get(&method.pid()).copied().unwrap_or(0);
        match method.page().price_free.saturating_sub(used) {
            left if left > 0 && self.has_account => Cost::Trial(left),
            _ => Cost::Price(price),
        }
    }

    fn affords(&self, amount: Money, app: &App) -> bool {
        let has_credit = self.balance.is_some_and(|balance| amount <= balance);
        amount == Money::ZERO || (has_credit && amount <= app.config.market.daily_cap)
    }
}

/// What buyers may read of a method.
fn described(method: &Method) -> Described {
    let page = method.page();
    Described {
        title: method.title.clone(),
        name: method.own_name().replace(['-', '_', '.'], " "),
        labels: page.labels.clone(),
        description: method.description.clone(),
        example: page.market_example.clone().unwrap_or_default(),
        author: page.author.clone().unwrap_or_default(),
        lang: page.lang.clone(),
    }
}
