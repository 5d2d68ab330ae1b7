//! The run of a language model over bookmarks, where one is configured.
//!
//! It is asked in batches, after the rules: a bookmark that it has judged is not asked about again,
//! so a run that stopped goes on where it was.

use crate::{
    app::App,
    domain::{Bookmark, Pid, Progress, Result},
    enrich::model,
    llm::Completion,
    store::revisions::{Actor, NewChange},
};

/// Bookmarks that are asked about together.
const BATCH: usize = 20;
/// Batches that fail one after the other before the run gives up.
const MAX_FAILURES: usize = 3;

/// What a run did, and what it cost.
#[derive(Debug, Default)]
pub struct ModelRun {
    /// Bookmarks that the model judged.
    pub judged: usize,
    /// Requests to the model.
    pub calls: usize,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// What it cost, by the prices of `[llm]`.
    pub cost: f64,
    /// Why it ended early; a repeat goes on from there.
    pub stopped: Option<String>,
}

impl App {
    /// Asks the model about every bookmark that only rules have judged. `None` without a model.
    pub fn judge_with_model(
        &self,
        progress: &dyn Progress,
        actor: &Actor,
    ) -> Result<Option<ModelRun>> {
        let Some(provider) = &self.provider else { return Ok(None) };
        let categories = self.enricher()?.taxonomy().names().to_vec();
        let waiting = self.without_model()?;
        let mut run = ModelRun::default();
        let mut change = NewChange::new(actor, "judge bookmarks");
        let mut failures = 0;
        for (at, batch) in waiting.chunks(BATCH).enumerate() {
            progress.report((at * BATCH) as u64, Some(waiting.len() as u64), "asking the model");
            run.calls += 1;
            let answer = provider.complete(&model::request(&categories, batch));
            let judged =
                answer.and_then(|Completion { text, input_tokens, output_tokens, .. }| {
                    let judged = model::judged(&text, &categories, batch)?;
                    Ok((judged, input_tokens, output_tokens))
                });
            let (judged, input_tokens, output_tokens) = match judged {
                Ok(judged) => judged,
                Err(error) => {
                    failures += 1;
                    run.stopped = Some(error.message);
                    if failures == MAX_FAILURES {
                        return Ok(Some(self.priced(run)));
                    }
                    continue;
                }
            };
            failures = 0;
            run.input_tokens += input_tokens;
            run.output_tokens += output_tokens;
            run.judged += judged.len();
            let filed = self.judge(judged)?;
            self.store.bookmarks.put(&filed, &mut change)?;
        }
        self.wake_index();
        Ok(Some(self.priced(run)))
    }

    fn priced(&self, mut run: ModelRun) -> ModelRun {
        let prices = &self.config.llm;
        run.cost = (run.input_tokens as f64 * prices.input_cost
            + run.output_tokens as f64 * prices.output_cost)
            / 1e6;
        run
    }

    /// The bookmarks that no model has judged.
    fn without_model(&self) -> Result<Vec<Bookmark>> {
        let mut waiting = Vec::new();
        let mut last: Option<Pid> = None;
        loop {
            let page = self.store.bookmarks.list(last, 1_000)?;
            let Some((newest, _)) = page.last() else { return Ok(waiting) };
            last = Some(*newest);
            let page = page.into_iter().map(|(_, bookmark)| bookmark);
            waiting.extend(page.filter(|bookmark| !model::is_judged(bookmark)));
        }
    }
}
