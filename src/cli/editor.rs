//! A text in the person's editor.

use std::{io::Write, path::Path, process};

use crate::{
    config,
    domain::{Error, Result, error::Doing},
};

/// Characters of a file's name that are made of the text's.
const MAX_NAME_CHARS: usize = 40;

/// The folder of texts that are being edited, in the data directory: only the person can read it, and
/// a text that could not be saved survives a restart of the machine.
const FOLDER: &str = "drafts";

/// Opens a text in the editor. Returns the file, which is deleted when dropped, and what it says.
pub fn in_editor(data: &Path, name: &str, text: &str) -> Result<(tempfile::TempPath, String)> {
    let folder = data.join(FOLDER);
    std::fs::create_dir_all(&folder).doing("make a folder for the file to edit")?;
    let kept = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let name: String = name.chars().filter(|c| kept(*c)).take(MAX_NAME_CHARS).collect();
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .suffix(".md")
        .tempfile_in(&folder)
        .doing("make a file to edit")?;
    file.write_all(text.as_bytes()).doing("write the file to edit")?;
    let path = file.into_temp_path();
    let editor = config::editor();
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = process::Command::new(program)
        .args(words)
        .arg(&path)
        .status()
        .doing(format!("start the editor `{editor}` (set $EDITOR to another)"))?;
    if !status.success() {
        return Err(Error::outside(format!("the editor ended with {status}; nothing was saved")));
    }
    let text = std::fs::read_to_string(&path).doing("read the edited file")?;
    Ok((path, text))
}
