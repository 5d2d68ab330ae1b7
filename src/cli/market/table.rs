//! Lists as text, CSV or JSON.

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
        writer.write_record(row).doing(what)?;
    }
    let bytes = writer.into_inner().map_err(|error| {
        Error::internal(format!("could not {what}")).with_source(error.into_error())
    })?;
    out::say(String::from_utf8_lossy(&bytes).trim_end());
    Ok(())
}
