//! The example vault, carried in the binary so that the demo needs nothing.

use std::path::Path;

use crate::domain::{Error, Result, error::Doing};

/// Path and text of each example page.
pub const PAGES: &[(&str, &str)] = &[];

/// Writes one page of the throwaway vault.
pub fn put(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().ok_or_else(|| Error::internal("a page has a folder"))?;
    std::fs::create_dir_all(folder).doing("make the example vault")?;
    #[expect(clippy::disallowed_methods, reason = "a new file in a throwaway folder")]
    std::fs::write(path, text).doing("write an example page")
}
