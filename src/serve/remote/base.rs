//! One other base: what is known of it, what it answered lately, and whether it is asked now.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Map, Value};
use tokio::sync::{Semaphore, watch};

use super::{
    breaker::Breaker,
    client::Client,
    hits::{self, Hit},
    tools::{ReadTool, Tools},
};
use crate::{
    config::{self, Remotes},
    domain::{Error, Result},
    post::rpc::Fault,
};

/// How long a list of tools is used before it is fetched again.
const TOOLS_AGE: Duration = Duration::from_secs(600);
/// The results of a question, and when they came.
type Kept = (Instant, Arc<[Hit]>);

/// Questions whose results are kept.
const MAX_KEPT: usize = 64;
/// Characters of a reason.
const MAX_REASON: usize = 600;
/// Requests to one base at once.
const MAX_REQUESTS: usize = 8;

/// The result of asking a base.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Its results.
    Hits(Arc<[Hit]>),
    /// It did not answer within the limit of a search.
    Late,
    /// It failed, and how.
    Failed(String),
    /// It failed often, and is asked again after this time.
    Resting(Duration, String),
    /// It does not know the filters that the question has.
    Unasked,
}

type Waiting = watch::Receiver<Option<Outcome>>;

/// One other base.
pub struct Base {
    /// What its results are marked with.
    pub name: String,
    /// Its MCP address.
    pub url: String,
    /// Whether callers other than the owner are shown its results.
    pub is_public: bool,
    /// Whether its token travels in the clear.
    pub exposes_token: bool,
    tool: String,
    time: Duration,
    results: usize,
    kept_for: Duration,
    client: std::result::Result<Client, String>,
    tools: Mutex<Option<(Instant, Arc<Tools>)>>,
    breaker: Breaker,
    kept: Mutex<HashMap<String, Kept>>,
    /// Questions that are being asked.
    asked: Mutex<HashMap<String, Waiting>>,
    turns: Arc<Semaphore>,
}

impl Base {
    /// A base of the config.
    pub fn new(remote: &config::Remote, shared: &Remotes) -> Self {
        let token = config::remote_token(remote).map_err(|error| error.plain().to_owned());
        Self {
            name: remote.name.clone(),
            url: remote.url.clone(),
            is_public: remote.public,
            exposes_token: remote.exposes_token(),
            tool: remote.tool.clone(),
            time: Duration::from_millis(remote.timeout_ms),
            results: shared.results,
            kept_for: Duration::from_secs(shared.cache_seconds),
            client: token.map(|token| Client::new(&remote.url, token)),
            tools: Mutex::default(),
            breaker: Breaker::default(),
            kept: Mutex::default(),
            asked: Mutex::default(),
            turns: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }

    /// Asks for results until the deadline. A request that is late goes on, and its results are
    /// kept for the next time.
    pub async fn ask(self: Arc<Self>, question: String, filters: bool, until: Instant) -> Outcome {
        if let Some(hits) = self.kept(&question) {
            return Outcome::Hits(hits);
        }
        if filters && self.known_tools().is_some_and(|tools| !tools.search.knows_filters) {
            return Outcome::Unasked;
        }
        let mut waiting = match self.begin(question, filters) {
            Ok(waiting) => waiting,
            Err(outcome) => return outcome,
        };
        let answered = async {
            match waiting.wait_for(Option::is_some).await {
                Ok(outcome) => outcome.clone().unwrap_or(Outcome::Late),
                Err(_) => Outcome::Failed("could not be asked".to_owned()),
            }
        };
        tokio::time::timeout_at(until.into(), answered).await.unwrap_or(Outcome::Late)
    }

    /// Makes the first contact in the background, so that the first search finds the tools known.
    pub fn warm(self: &Arc<Self>) {
        if self.known_tools().is_some() {
            return;
        }
        if let Ok(turn) = self.turns.clone().try_acquire_owned()
            && self.breaker.admit(Instant::now()).is_ok()
        {
            let base = self.clone();
            tokio::task::spawn_blocking(move || {
                drop(base.counted(|until| base.tools(until)));
                drop(turn);
            });
        }
    }

    /// The request for this question: one that is under way, or a new one.
    fn begin(
        self: &Arc<Self>,
        question: String,
        filters: bool,
    ) -> std::result::Result<Waiting, Outcome> {
        let mut asked = lock(&self.asked);
        if let Some(waiting) = asked.get(&question) {
            return Ok(waiting.clone());
        }
        let resting = |(left, why)| Outcome::Resting(left, why);
        self.breaker.admit(Instant::now()).map_err(resting)?;
        let Ok(turn) = self.turns.clone().try_acquire_owned() else {
            return Err(Outcome::Failed(format!("has {MAX_REQUESTS} requests under way")));
        };
        let (sender, waiting) = watch::channel(None);
        asked.insert(question.clone(), waiting.clone());
        drop(asked);
        let base = self.clone();
        tokio::task::spawn_blocking(move || {
            let outcome = match base.counted(|until| base.search(&question, filters, until)) {
                Ok(Some(hits)) => {
                    let hits: Arc<[Hit]> = hits.into();
                    base.keep(question.clone(), hits.clone());
                    Outcome::Hits(hits)
                }
                Ok(None) => Outcome::Unasked,
                Err(fault) => Outcome::Failed(reason(&fault)),
            };
            lock(&base.asked).remove(&question);
            drop(turn);
            sender.send_replace(Some(outcome));
        });
        Ok(waiting)
    }

    /// Searches; `None` where the base does not know the question's filters.
    fn search(
        &self,
        question: &str,
        filters: bool,
        until: Instant,
    ) -> std::result::Result<Option<Vec<Hit>>, Fault> {
        let tools = self.tools(until)?;
        if filters && !tools.search.knows_filters {
            return Ok(None);
        }
        let arguments = tools.search.arguments(question, self.results);
        let result = self.client()?.call(&tools.search.name, arguments, until)?;
        hits::read(&self.name, &result, self.results)
            .map(Some)
            .ok_or_else(|| Fault::Garbage("answered with something that is no result".to_owned()))
    }

    /// Reads a note by the handle that a result named, with the arguments of our own tool.
    pub fn read(&self, handle: &str, ours: &Map<String, Value>) -> Result<Value> {
        if let Err((left, why)) = self.breaker.admit(Instant::now()) {
            return Err(
                self.error(&format!("{why}; it is asked again in {} s", left.as_secs() + 1))
            );
        }
        let read = |until| {
            let tools = self.tools(until)?;
            let Some(tool) = &tools.read else {
                return Ok(Err("lists no tool that reads a note; its results are all there is"));
            };
            if asks_for_section(ours) && !tool.takes("toc_path") {
                return Ok(Err("cannot read a section; leave toc_path out"));
            }
            let Some(arguments) = tool.arguments(handle, ours) else {
                return Ok(Err("does not know that match_id; search again"));
            };
            let ReadTool { name, .. } = tool;
            self.client()?.call(name, arguments, until).map(Ok)
        };
        match self.counted(read) {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(why)) => Err(Error::invalid_params(format!("the base `{}` {why}", self.name))),
            Err(fault) => Err(self.error(&reason(&fault))),
        }
    }

    /// Makes contact anew: the revision that is spoken, and the tools.
    pub fn check(&self) -> Result<(String, Arc<Tools>)> {
        let until = Instant::now() + self.time;
        let tools = self.tools(until).map_err(|fault| self.error(&reason(&fault)))?;
        let revision = self.client.as_ref().ok().and_then(Client::revision).unwrap_or_default();
        Ok((revision, tools))
    }

    /// Ends what the server keeps of us.
    pub fn end(&self) {
        if let Ok(client) = &self.client {
            client.end();
        }
    }

    /// Runs a request within the time limit, and counts how it went.
    fn counted<T>(
        &self,
        request: impl FnOnce(Instant) -> std::result::Result<T, Fault>,
    ) -> std::result::Result<T, Fault> {
        let result = request(Instant::now() + self.time);
        match &result {
            Ok(_) => self.breaker.succeeded(),
            Err(fault) => {
                tracing::debug!(remote = self.name, "another base failed");
                if !matches!(fault, Fault::Late(_)) {
                    // Another server may stand there now.
                    *lock(&self.tools) = None;
                }
                self.breaker.failed(Instant::now(), reason(fault));
            }
        }
        result
    }

    fn client(&self) -> std::result::Result<&Client, Fault> {
        self.client.as_ref().map_err(|why| Fault::Unreachable(why.clone()))
    }

    fn known_tools(&self) -> Option<Arc<Tools>> {
        let known = lock(&self.tools);
        known.as_ref().filter(|(at, _)| at.elapsed() < TOOLS_AGE).map(|(_, tools)| tools.clone())
    }

    fn tools(&self, until: Instant) -> std::result::Result<Arc<Tools>, Fault> {
        if let Some(tools) = self.known_tools() {
            return Ok(tools);
        }
        let listed = self.client()?.tools(until)?;
        let tools = Arc::new(Tools::choose(&listed, &self.tool).map_err(Fault::Garbage)?);
        *lock(&self.tools) = Some((Instant::now(), tools.clone()));
        Ok(tools)
    }

    fn kept(&self, question: &str) -> Option<Arc<[Hit]>> {
        let kept = lock(&self.kept);
        kept.get(question)
            .filter(|(at, _)| at.elapsed() < self.kept_for)
            .map(|(_, hits)| hits.clone())
    }

    fn keep(&self, question: String, hits: Arc<[Hit]>) {
        // Nothing is no answer to repeat: the base may be reading its notes still.
        if hits.is_empty() {
            return;
        }
        let mut kept = lock(&self.kept);
        kept.retain(|_, (at, _)| at.elapsed() < self.kept_for);
        if kept.len() >= MAX_KEPT {
            let oldest = kept.iter().min_by_key(|(_, (at, _))| *at).map(|(key, _)| key.clone());
            oldest.map(|key| kept.remove(&key));
        }
        kept.insert(question, (Instant::now(), hits));
    }

    fn error(&self, why: &str) -> Error {
        Error::outside(format!("the base `{}` {why}", self.name))
    }
}

/// Why a base failed, on one line. A server may have a part in the words.
fn reason(fault: &Fault) -> String {
    hits::line(&fault.to_string(), MAX_REASON)
}

fn asks_for_section(ours: &Map<String, Value>) -> bool {
    match ours.get("toc_path") {
        Some(Value::Array(path)) => !path.is_empty(),
        Some(Value::String(path)) => !path.trim().is_empty(),
        _ => false,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
