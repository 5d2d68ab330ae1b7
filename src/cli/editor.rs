//! A text in the person's editor.

use std::{io::Write, path::Path, process};

use tempfile::TempPath;

use crate::{
    config,
    domain::{Code, Error, Result, error::Doing},
};

/// Characters of a file's name that are made of the text's.
const MAX_NAME_CHARS: usize = 40;

/// The folder of texts that are being edited, in the data directory: only the person can read it, and
/// a text that could not be saved survives a restart of the machine.
const FOLDER: &str = "drafts";

/// Opens a text in the editor. Returns the file, which is deleted when dropped, and what it says. An
/// edited file that cannot be taken stays, and the error names it.
pub fn in_editor(data: &Path, name: &str, text: &str) -> Result<(TempPath, String)> {
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
    let edited = std::fs::read(&path);
    if !status.success() {
        let why = format!("the editor ended with {status}");
        // An editor that saved nothing leaves nothing to keep.
        return Err(match edited.is_ok_and(|bytes| bytes == text.as_bytes()) {
            true => Error::outside(format!("{why}; nothing was saved")),
            false => keep_draft(path, Code::Outside, &why),
        });
    }
    match edited.map(String::from_utf8) {
        Ok(Ok(text)) => Ok((path, text)),
        Ok(Err(_)) => Err(keep_draft(
            path,
            Code::Outside,
            "the edited text is not UTF-8; let the editor save UTF-8",
        )),
        Err(error) => {
            let why = format!("could not read the edited file: {error}");
            Err(keep_draft(path, Code::Outside, &why).with_source(error))
        }
    }
}

/// Keeps a text that could not be saved: what a person typed is never thrown away. Gives the error
/// that names the file.
pub fn keep_draft(file: TempPath, code: Code, why: &str) -> Error {
    if !file.exists() {
        return Error::new(code, format!("{why}\nnothing was saved"));
    }
    match file.keep() {
        Ok(file) => Error::new(
            code,
            format!("{why}\nnothing was saved; your text is in `{}`", file.display()),
        ),
        Err(error) => Error::internal(error.to_string()),
    }
}
