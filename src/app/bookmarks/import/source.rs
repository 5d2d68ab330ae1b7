//! The bytes of an export: unpacked, without a byte order mark, and not without end.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::domain::{Error, Result};

/// How much of the beginning is looked at to know the format.
const HEAD: u64 = 64 << 10;

pub(super) struct Source {
    pub(super) head: Vec<u8>,
    pub(super) body: Box<dyn BufRead>,
    /// Bytes of the file that were read, before unpacking: what a bar shows.
    pub(super) position: Arc<AtomicU64>,
}

impl Source {
    pub(super) fn open(path: &Path, limit: u64) -> Result<Self> {
        let refuse = |why: &dyn std::fmt::Display| {
            Error::invalid_params(format!("could not read `{}`: {why}", path.display()))
        };
        let file = File::open(path).map_err(|error| refuse(&error))?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(refuse(&"it is a folder; name the files in it"));
        }
        let position = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: file, position: position.clone() };
        Self::of(Box::new(BufReader::with_capacity(1 << 16, counted)), position, limit)
            .map_err(|error| refuse(&error))
    }

    #[cfg(test)]
    pub(super) fn from_bytes(bytes: &[u8], limit: u64) -> io::Result<Self> {
        Self::of(Box::new(Cursor::new(bytes.to_vec())), Arc::default(), limit)
    }

    fn of(mut raw: Box<dyn BufRead>, position: Arc<AtomicU64>, limit: u64) -> io::Result<Self> {
        let mut magic = Vec::new();
        raw.by_ref().take(4).read_to_end(&mut magic)?;
        let whole = Cursor::new(magic.clone()).chain(raw);
        let plain: Box<dyn Read> = if magic.starts_with(&[0x1f, 0x8b]) {
            Box::new(flate2::bufread::MultiGzDecoder::new(whole))
        } else {
            Box::new(whole)
        };
        let mut limited = Limited { inner: plain, left: limit, limit };
        let mut head = Vec::new();
        limited.by_ref().take(HEAD).read_to_end(&mut head)?;
        if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
            let mut bytes = head;
            limited.read_to_end(&mut bytes)?;
            let text = utf16(&bytes).into_bytes();
            let head = text[..text.len().min(HEAD as usize)].to_vec();
            return Ok(Self { head, body: Box::new(Cursor::new(text)), position });
        }
        if head.starts_with(&[0xef, 0xbb, 0xbf]) {
            head.drain(..3);
        }
        let body = Box::new(BufReader::new(Cursor::new(head.clone()).chain(limited)));
        Ok(Self { head, body, position })
    }

    /// Everything, as text.
    pub(super) fn text(mut self) -> Result<String> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        String::from_utf8(bytes).map_err(|error| {
            Error::invalid_params(format!(
                "the file is not UTF-8 (byte {}); open it and save it as UTF-8",
                error.utf8_error().valid_up_to()
            ))
        })
    }
}

/// Broken packing, too much of it, or a disk that fails: all the file's.
pub(super) fn failed(error: &io::Error) -> Error {
    Error::invalid_params(format!("could not read the export to its end: {error}"))
}

/// What Windows calls Unicode.
fn utf16(bytes: &[u8]) -> String {
    let big = bytes.starts_with(&[0xfe, 0xff]);
    let units = bytes[2..].chunks_exact(2).map(|pair| match big {
        true => u16::from_be_bytes([pair[0], pair[1]]),
        false => u16::from_le_bytes([pair[0], pair[1]]),
    });
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

struct Counted<R> {
    inner: R,
    position: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.position.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Fails, rather than ends, when there is more than was allowed: a few packed kilobytes may hold
/// gigabytes.
struct Limited<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => {
                return Err(io::Error::other(format!(
                    "it holds more than {} MiB; split it",
                    self.limit >> 20
                )));
            }
        }
        Ok(read)
    }
}
