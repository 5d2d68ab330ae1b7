//! One large file of a form, written to the disk as it arrives.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use axum::body::Body;
use bytes::BytesMut;
use http_body_util::BodyExt;

use super::upload::{file_name, find};
use crate::{
    domain::{Error, Result, error::Doing},
    serve::http::Site,
};

/// Bytes that are written at a time, on the blocking pool.
const PIECE: usize = 1 << 20;
/// Bytes of the head of a part.
const MAX_HEAD: usize = 16 << 10;

/// A file that was taken in.
pub struct Spooled {
    /// What the person's system calls it.
    pub name: String,
    /// Where it is, in a folder of its own.
    pub path: PathBuf,
    /// The folder, gone when this is dropped.
    _folder: tempfile::TempDir,
}

/// Takes in the first file of a multipart body, in a folder below `below`.
pub async fn take_in(site: &Site, body: Body, boundary: &str, below: &Path) -> Result<Spooled> {
    let limits = &site.hub.app.config.limits;
    let below = below.to_path_buf();
    let made = blocking(move || {
        let mut folder = tempfile::Builder::new();
        folder.prefix(".upload-").tempdir_in(&below).doing("make a folder for the file")
    });
    let part = FilePart::new(boundary, made.await?);
    let part = pour(body, limits.upload_bytes, limits.body_seconds, part).await?;
    blocking(move || part.finish()).await
}

async fn pour(mut body: Body, most: usize, seconds: u64, mut part: FilePart) -> Result<FilePart> {
    let (mut waiting, mut read) = (BytesMut::new(), 0);
    loop {
        let next = tokio::time::timeout(Duration::from_secs(seconds), body.frame()).await;
        let next = next.map_err(|_| {
            Error::limit(format!(
                "nothing arrived for `limits.body_seconds` ({seconds}); send the file again"
            ))
        })?;
        let ended = next.is_none();
        if let Some(frame) = next {
            let frame = frame.map_err(|_| broken())?;
            let Ok(data) = frame.into_data() else { continue };
            read += data.len();
            if read > most {
                return Err(Error::limit(format!(
                    "the file has more than `limits.upload_bytes` ({most}) bytes; import it at the shell with `notewell import bookmarks`, or raise the limit"
                )));
            }
            waiting.extend_from_slice(&data);
        }
        if waiting.len() >= PIECE || ended {
            let piece = waiting.split().freeze();
            part = blocking(move || part.take(&piece).map(|()| part)).await?;
        }
        if ended {
            return Ok(part);
        }
    }
}

/// Runs work that waits for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let worked = tokio::task::spawn_blocking(work).await;
    worked.unwrap_or_else(|error| {
        Err(Error::internal("the file could not be taken in").with_source(error))
    })
}

fn broken() -> Error {
    Error::invalid_request("the file did not arrive whole; send it again")
}

/// The first file of a multipart body, piece by piece.
struct FilePart {
    folder: tempfile::TempDir,
    /// What begins a part, and what ends it.
    fence: Vec<u8>,
    divider: Vec<u8>,
    /// What arrived and is not decided on: it may be the beginning of the divider.
    pending: Vec<u8>,
    stage: Stage,
}

enum Stage {
    /// Before the head of a part that is a file.
    Head,
    /// In the file.
    Data { name: String, path: PathBuf, file: std::fs::File },
    /// Behind it.
    Done { name: String, path: PathBuf },
}

impl FilePart {
    fn new(boundary: &str, folder: tempfile::TempDir) -> Self {
        Self {
            folder,
            fence: format!("--{boundary}").into_bytes(),
            divider: format!("\r\n--{boundary}").into_bytes(),
            pending: Vec::new(),
            stage: Stage::Head,
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<()> {
        if matches!(self.stage, Stage::Done { .. }) {
            return Ok(());
        }
        self.pending.extend_from_slice(piece);
        if matches!(self.stage, Stage::Head) {
            self.read_head()?;
        }
        self.write_data()
    }

    /// Looks for a head that names a file; fields before it are passed over.
    fn read_head(&mut self) -> Result<()> {
        while let Some(start) = find(&self.pending, 0, &self.fence) {
            let Some(end) = find(&self.pending, start, b"\r\n\r\n") else { break };
            let head = String::from_utf8_lossy(&self.pending[start..end]).into_owned();
            self.pending.drain(..end + 4);
            if let Some(name) = file_name(&head) {
                let path = self.folder.path().join(safe_name(&name));
                let file = std::fs::File::create_new(&path).doing("keep the file for a while")?;
                self.stage = Stage::Data { name, path, file };
                return Ok(());
            }
        }
        match self.pending.len() > MAX_HEAD {
            true => {
                Err(Error::invalid_request("the form has no file; choose one and send it again"))
            }
            false => Ok(()),
        }
    }

    fn write_data(&mut self) -> Result<()> {
        let Stage::Data { name, path, file } = &mut self.stage else { return Ok(()) };
        let what = "keep the file for a while";
        if let Some(end) = find(&self.pending, 0, &self.divider) {
            file.write_all(&self.pending[..end]).doing(what)?;
            file.sync_all().doing(what)?;
            self.stage = Stage::Done { name: std::mem::take(name), path: std::mem::take(path) };
            self.pending = Vec::new();
            return Ok(());
        }
        // The end may be the beginning of the divider.
        let decided = self.pending.len().saturating_sub(self.divider.len());
        file.write_all(&self.pending[..decided]).doing(what)?;
        self.pending.drain(..decided);
        Ok(())
    }

    fn finish(self) -> Result<Spooled> {
        match self.stage {
            Stage::Done { name, path } if !name.is_empty() => {
                Ok(Spooled { name, path, _folder: self.folder })
            }
            Stage::Done { .. } => {
                Err(Error::invalid_params("no file was chosen; choose one and send it again"))
            }
            Stage::Head | Stage::Data { .. } => Err(broken()),
        }
    }
}

/// A name for the disk that keeps what reports need: letters, digits, dots and hyphens.
fn safe_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let name: String = name.chars().map(plain).take(60).collect();
    match name.trim_matches('.') {
        "" => "upload".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nvalue\r\n--b\r\n\
         Content-Disposition: form-data; name=\"f\"; filename=\"../экспорт 1.json\"\r\n\r\n\
         one\r\n--a\r\n-\r\n--b--\r\n";

    fn spooled(form: &[u8], size: usize) -> Result<Spooled> {
        let mut part = FilePart::new("b", tempfile::tempdir().unwrap());
        for piece in form.chunks(size) {
            part.take(piece)?;
        }
        part.finish()
    }

    #[test]
    fn a_file_is_the_same_in_pieces_of_any_size() {
        for size in [1, 2, 3, 7, 50, 1000] {
            let file = spooled(FORM.as_bytes(), size).unwrap();
            assert_eq!(file.name, "экспорт 1.json");
            assert_eq!(file.path.file_name().unwrap().to_str(), Some("экспорт_1.json"));
            assert_eq!(std::fs::read_to_string(&file.path).unwrap(), "one\r\n--a\r\n-");
            let folder = file.path.parent().unwrap().to_path_buf();
            drop(file);
            assert!(!folder.exists());
        }
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let cut = FORM.len() - 20;
        assert!(spooled(&FORM.as_bytes()[..cut], 5).is_err());
        assert!(spooled(b"--b\r\n", 5).is_err());
        let nothing = FORM.replace("../экспорт 1.json", "");
        assert!(
            spooled(nothing.as_bytes(), 50).err().unwrap().message.contains("no file was chosen")
        );
        assert!(spooled(&[b'x'; MAX_HEAD + 1], 1000).is_err());
        assert_eq!(safe_name("..."), "upload");
    }
}
