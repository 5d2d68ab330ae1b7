//! `edit_page` in a large library: acknowledged means durable, and found by the next search.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::json;

use super::{
    corpus::new_word,
    report::{Goal, Report, Times},
};
use crate::{
    app::App,
    domain::{Error, Progress, Result},
    tools,
};

const EDITS: usize = 100;
/// Words of the edits that are measured elsewhere come before these.
const FIRST_WORD: u64 = 1_000;

/// Appends to notes of the vault through the tool door, and searches for what was written.
pub fn run(
    app: &App,
    files: &[PathBuf],
    search: &dyn Fn(&App, &str) -> Result<tools::Output>,
    bar: &dyn Progress,
    report: &mut Report,
) -> Result<()> {
    let (mut written, mut found) = (Vec::new(), Vec::new());
    for number in 0..EDITS {
        bar.report(number as u64, Some(EDITS as u64), "editing through edit_page");
        let file: &Path = &files[(number * files.len() / EDITS).min(files.len() - 1)];
        let word = new_word(FIRST_WORD + number as u64);
        let arguments =
            json!({ "path": file, "op": "append", "text": format!("A line about {word}.") });
        let started = Instant::now();
        tools::call(app, &app.owner(), "edit_page", arguments, &tools::Call::default())?;
        written.push(started.elapsed());
        if number % 5 == 0 {
            let answer = search(app, &word)?;
            found.push(started.elapsed());
            if !answer.text.contains(&word) {
                return Err(Error::internal("an edit was not found by the next search"));
            }
        }
    }
    report.times("edit_page, durable", &Times::new(written), Goal::Below(30.0), Goal::None);
    report.times(
        "edit_page, and found by the next search",
        &Times::new(found),
        Goal::None,
        Goal::None,
    );
    Ok(())
}
