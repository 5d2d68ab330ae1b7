//! The bytes of a file to import: unpacked, without a byte order mark, and not without end.

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
/// Bytes of a file that must be held in memory as a whole: HTML, UTF-16.
pub const MAX_WHOLE_BYTES: u64 = 128 << 20;
/// How many times its packed size a file may unpack to. Text rarely passes 20.
const MAX_EXPANSION: u64 = 200;
/// Unpacked bytes below which the expansion does not matter.
const EXPANSION_FLOOR: u64 = 16 << 20;

/// An open file: its beginning, for detecting the format, and all of its text.
pub struct ImportFile {
    /// The first bytes, unpacked.
    pub head: Vec<u8>,
    /// All of the file, unpacked, from its first byte.
    pub body: Box<dyn BufRead>,
    /// Bytes of the file that were read, before unpacking: what a bar shows.
    pub position: Arc<AtomicU64>,
}

impl ImportFile {
    /// Opens a file, packed with gzip or not, of which at most `limit` bytes are read.
    pub fn open(path: &Path, limit: u64) -> Result<Self> {
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

    /// A file in memory.
    #[cfg(test)]
    pub fn from_bytes(bytes: &[u8], limit: u64) -> io::Result<Self> {
        let position = Arc::new(AtomicU64::new(bytes.len() as u64));
        Self::of(Box::new(Cursor::new(bytes.to_vec())), position, limit)
    }

    fn of(mut raw: Box<dyn BufRead>, position: Arc<AtomicU64>, limit: u64) -> io::Result<Self> {
        let mut magic = Vec::new();
        raw.by_ref().take(4).read_to_end(&mut magic)?;
        let whole = Cursor::new(magic.clone()).chain(raw);
        let (plain, packed): (Box<dyn Read>, _) = match magic.starts_with(&[0x1f, 0x8b]) {
            true => (Box::new(flate2::bufread::MultiGzDecoder::new(whole)), Some(position.clone())),
            false => (Box::new(whole), None),
        };
        let mut bounded = Bounded { inner: plain, read: 0, limit, packed };
        let mut head = Vec::new();
        bounded.by_ref().take(HEAD).read_to_end(&mut head)?;
        if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
            bounded.limit = limit.min(MAX_WHOLE_BYTES);
            let mut bytes = head;
            bounded.read_to_end(&mut bytes)?;
            let text = utf16(&bytes).into_bytes();
            let head = text[..text.len().min(HEAD as usize)].to_vec();
            return Ok(Self { head, body: Box::new(Cursor::new(text)), position });
        }
        if head.starts_with(&[0xef, 0xbb, 0xbf]) {
            head.drain(..3);
        }
        let body = Box::new(BufReader::new(Cursor::new(head.clone()).chain(bounded)));
        Ok(Self { head, body, position })
    }

    /// Everything, as text.
    pub fn text(self) -> Result<String> {
        let mut bytes = Vec::new();
        let mut body = self.body.take(MAX_WHOLE_BYTES + 1);
        body.read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if bytes.len() as u64 > MAX_WHOLE_BYTES {
            return Err(failed(&too_large(MAX_WHOLE_BYTES)));
        }
        String::from_utf8(bytes).map_err(|error| {
            Error::invalid_params(format!(
                "the file is not UTF-8 (byte {}); open it and save it as UTF-8",
                error.utf8_error().valid_up_to()
            ))
        })
    }
}

/// The error of a file that cannot be read to its end: broken packing, too much in it, or a disk
/// that fails.
pub fn failed(error: &io::Error) -> Error {
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

/// Fails, rather than ends, where there is more than was allowed or where a few packed bytes unfold
/// to very many.
pub struct Bounded<R> {
    inner: R,
    read: u64,
    limit: u64,
    /// Packed bytes that were read so far, where the file is packed.
    packed: Option<Arc<AtomicU64>>,
}

impl<R> Bounded<R> {
    /// A reader that fails after `limit` bytes.
    pub fn new(inner: R, limit: u64) -> Self {
        Self { inner, read: 0, limit, packed: None }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.read += read as u64;
        if self.read > self.limit {
            return Err(too_large(self.limit));
        }
        if let Some(packed) = &self.packed {
            check_expansion(packed.load(Ordering::Relaxed), self.read)?;
        }
        Ok(read)
    }
}

/// Refuses what unfolds like a bomb and not like text.
pub fn check_expansion(packed: u64, unpacked: u64) -> io::Result<()> {
    if unpacked <= EXPANSION_FLOOR || unpacked <= packed.saturating_mul(MAX_EXPANSION) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "it unpacks to more than {MAX_EXPANSION} times its size, as no export does; unpack it \
         yourself and import the file inside if you trust it"
    )))
}

fn too_large(limit: u64) -> io::Error {
    io::Error::other(format!("it holds more than {} MiB; split it into several files", limit >> 20))
}

/// Fails where one record of a table goes on for too long: a quote that is never closed would make
/// one cell of the whole file. The caller sets the meter to 0 after each record.
pub struct RecordMeter<R> {
    inner: R,
    meter: Arc<AtomicU64>,
    limit: u64,
}

impl<R> RecordMeter<R> {
    /// A reader that fails after `limit` bytes without a reset, and its meter.
    pub fn new(inner: R, limit: u64) -> (Self, Arc<AtomicU64>) {
        let meter = Arc::new(AtomicU64::new(0));
        (Self { inner, meter: meter.clone(), limit }, meter)
    }
}

impl<R: Read> Read for RecordMeter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if self.meter.fetch_add(read as u64, Ordering::Relaxed) > self.limit {
            return Err(io::Error::other(format!(
                "a row is longer than {} MiB; is a quote not closed?",
                self.limit >> 20
            )));
        }
        Ok(read)
    }
}
