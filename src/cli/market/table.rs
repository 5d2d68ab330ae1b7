//! Lists as text, CSV or JSON.

use crate::{app::market::tables, cli::out, domain::Result};

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Csv,
    Json,
}

/// Prints lines as CSV, with the names of the columns first.
pub fn csv<const N: usize>(columns: [&str; N], lines: &[[String; N]]) -> Result<()> {
    out::say(tables::csv(columns, lines)?.trim_end());
    Ok(())
}
