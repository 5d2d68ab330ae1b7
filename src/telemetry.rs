//! Logs and metrics. Logs go to stderr only, because stdout belongs to the protocol; they carry
//! names, sizes and ids, never the content of a note or a token.

mod logs;
mod prometheus;

use std::sync::{Arc, OnceLock};

use prometheus::Registry;

/// Every metric's name.
pub mod metric {
    /// Tool calls by `tool`, `caller` and `outcome` (`ok` or the error's code).
    pub const TOOL_CALLS: &str = "notewell_tool_calls_total";
    /// Duration of tool calls by `tool`.
    pub const TOOL_SECONDS: &str = "notewell_tool_seconds";
    /// HTTP requests by `status`.
    pub const HTTP_REQUESTS: &str = "notewell_http_requests_total";
    /// Requests refused by `reason`.
    pub const HTTP_REFUSED: &str = "notewell_http_refused_total";
    /// Notes parsed to follow their files, by looks at vaults and by the index.
    pub const PAGES_PARSED: &str = "notewell_pages_parsed_total";
    /// How often the map of links was built from every page.
    pub const LIBRARY_BUILT: &str = "notewell_library_built_total";
    /// Pages taken over into the map of links after a change.
    pub const LIBRARY_FOLLOWED: &str = "notewell_library_pages_followed_total";
    /// Pages read to learn the arguments of a method.
    pub const METHODS_READ: &str = "notewell_methods_read_total";
    /// Passages that the vector worker looked up to find those without a vector.
    pub const VECTORS_CHECKED: &str = "notewell_vectors_checked_total";
    /// Calls of the language model by `provider` and `outcome` (`ok` or `failed`).
    pub const LLM_CALLS: &str = "notewell_llm_calls_total";
    /// Tries beyond the first.
    pub const LLM_RETRIES: &str = "notewell_llm_retries_total";
    /// Duration of calls of the language model by `provider`.
    pub const LLM_SECONDS: &str = "notewell_llm_seconds";
    /// Tokens by `provider` and `direction` (`input` or `output`).
    pub const LLM_TOKENS: &str = "notewell_llm_tokens_total";
    /// What was spent, in millionths of the currency of `[llm] input_cost`.
    pub const LLM_COST: &str = "notewell_llm_cost_micros_total";
    /// Calls of priced methods by `outcome` (as usage records it, or `refused`).
    pub const MARKET_CALLS: &str = "notewell_market_calls_total";
    /// What was charged, in millionths of the currency.
    pub const MARKET_CHARGED: &str = "notewell_market_charged_micros_total";
    /// Payments from outside by `provider` and `outcome` (`booked`, `repeat`, `refused` or `failed`).
    pub const MARKET_PAYMENTS: &str = "notewell_market_payments_total";
}

pub use logs::{Form, start_logs};

static METRICS: OnceLock<Arc<Registry>> = OnceLock::new();

/// Starts counting. Until then every counter is a no-op, which is what `mcp` mode wants.
pub fn start_metrics() {
    let registry = METRICS.get_or_init(Arc::default).clone();
    // A second server of this process counts with the first.
    drop(metrics::set_global_recorder(registry));
}

/// The text of `/metrics`.
pub fn render_metrics() -> String {
    METRICS.get().map(|registry| registry.render()).unwrap_or_default()
}

/// A new id for a fault: the client gets it, and the log has the cause under it.
pub fn incident() -> String {
    let mut bytes = [0; 6];
    // Without random numbers the id is only less useful, not wrong.
    getrandom::fill(&mut bytes).unwrap_or_default();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
