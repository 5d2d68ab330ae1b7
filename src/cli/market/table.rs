//! Lists as text, CSV or JSON.

use std::borrow::Cow;

use crate::{
    cli::out,
    domain::{Error, Result, error::Doing},
};

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Csv,
    Json,
}

/// Prints rows as CSV, with the names of the columns first.
pub fn csv<'a, const N: usize>(
    columns: [&str; N],
    rows: impl IntoIterator<Item = &'a [String; N]>,
) -> Result<()> {
    let what = "write the list as CSV";
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns).doing(what)?;
    for row in rows {
        writer.write_record(row.iter().map(|cell| inert(cell).into_owned())).doing(what)?;
    }
    let bytes = writer.into_inner().map_err(|error| {
        Error::internal(format!("could not {what}")).with_source(error.into_error())
    })?;
    out::say(String::from_utf8_lossy(&bytes).trim_end());
    Ok(())
}

/// A cell that no spreadsheet takes for a formula: callers choose ids, and people memos.
fn inert(cell: &str) -> Cow<'_, str> {
    let is_number =
        cell.starts_with('-') && cell.chars().skip(1).all(|c| c.is_ascii_digit() || c == '.');
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number;
    if is_formula { format!("'{cell}").into() } else { cell.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_never_a_formula() {
        for formula in ["=1+1", "+1", "-x", "@sum", "\t=1", "-1+1"] {
            assert_eq!(inert(formula), format!("'{formula}"));
        }
        for plain in ["", "-0.01", "0.01", "code-review", "чай", "2026-10"] {
            assert_eq!(inert(plain), plain);
        }
    }
}
