use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    layout::TextLimits,
    results::{Results, SearchAnswer},
    search::{limit, offset},
};
use crate::{
    domain::{Error, Filters, Kind, Pid, Result},
    search::{Like, Options},
    tools::{Cx, Effect, Format, Right, Tool, Toolset},
};

/// The most text that is compared; what goes beyond says little more.
const MAX_TEXT: usize = 100_000;

/// Items nearest in meaning to a text, or to the item with that pid.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Similar {
    text: Option<String>,
    pid: Option<i64>,
    limit: Option<usize>,
    cursor: Option<String>,
    format: Option<Format>,
}

impl Tool for Similar {
    const NAME: &'static str = "similar";
    const TITLE: &'static str = "Find similar items";
    const TOOLSET: Toolset = Toolset::Vault;
    const RIGHT: Right = Right::Read(Kind::Page);
    const EFFECT: Effect = Effect::Reads;
    type Answer = SearchAnswer;

    fn call(self, cx: &Cx<'_>) -> Result<SearchAnswer> {
        let text = self.text.filter(|text| !text.trim().is_empty());
        if text.is_some() || self.pid.is_some() {
            cx.app.require_notes(cx.rights)?;
        }
        let like = match (&text, self.pid) {
            (Some(text), None) if text.len() > MAX_TEXT => {
                return Err(Error::invalid_params(format!(
                    "text has more than {MAX_TEXT} bytes; send the part that matters"
                )));
            }
            (Some(text), None) => Like::Text(text),
            (None, Some(pid)) => {
                // What one may not see is not a thing to compare with either.
                cx.app.await_first_look();
                if cx.app.open_pid(Pid(pid), cx.rights)?.is_none() {
                    return Err(Error::invalid_params(format!(
                        "there is no item with pid {pid}; `search` gives each item's pid"
                    )));
                }
                Like::Item(Pid(pid))
            }
            (Some(_), Some(_)) => return Err(Error::invalid_params("give text or pid, not both")),
            (None, None) => return Err(Error::invalid_params("text is required, or pid")),
        };
        let mut filters = Filters::default();
        cx.rights.narrow(&mut filters);
        let mut options = Options::new(&filters);
        options.limit = limit(self.limit, cx)?;
        options.offset = offset(self.cursor)?;
        let answer = cx.app.engine.similar(like, &options)?;
        let limits = TextLimits {
            max_tokens: None,
            full: self.limit.is_some(),
            json: self.format == Some(Format::Json),
        };
        Results { cx, offset: options.offset, limits, notes: Vec::new(), properties: Vec::new() }
            .format(answer)
    }
}
