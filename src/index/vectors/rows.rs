//! The rows on disk: three files that only grow, written in this order: codes, exact values, then
//! the record that makes the row count. A row without its record does not exist.
//!
//! A record holds a checksum over the row, so that what a power cut tore is found; a killed process
//! leaves at most bytes without a record, which the next writer cuts off.
#![allow(unsafe_code)] // Memory maps; see `map`.

use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use memmap2::Mmap;

use super::codes::Coded;
use crate::domain::{Result, error::Doing};

/// key u64, short scale f32, long scale f32, checksum u64; little endian.
const RECORD: usize = 24;

/// The rows as they were when they were mapped. More may be appended meanwhile; none changes.
pub(super) struct Rows {
    pub(super) dims: usize,
    pub(super) count: usize,
    codes: Option<Mmap>,
    exact: Option<Mmap>,
    records: Option<Mmap>,
}

pub(super) struct Record {
    pub(super) key: u64,
    pub(super) short_scale: f32,
    pub(super) long_scale: f32,
    checksum: u64,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

impl Record {
    fn read(bytes: &[u8]) -> Self {
        Self {
            key: u64::from_le_bytes(number(bytes, 0)),
            short_scale: f32::from_le_bytes(number(bytes, 8)),
            long_scale: f32::from_le_bytes(number(bytes, 12)),
            checksum: u64::from_le_bytes(number(bytes, 16)),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.key.to_le_bytes());
        out.extend(self.short_scale.to_le_bytes());
        out.extend(self.long_scale.to_le_bytes());
        out.extend(self.checksum.to_le_bytes());
    }
}

/// A mixing sum, eight bytes at a time: it has to find torn pages, not forgers.
fn checksum(key: u64, short_scale: f32, long_scale: f32, codes: &[u8], exact: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let scales = u64::from(short_scale.to_bits()) << 32 | u64::from(long_scale.to_bits());
    let mut sum = key.wrapping_mul(ODD) ^ scales;
    for part in [codes, exact] {
        let (words, rest) = part.as_chunks::<8>();
        for word in words {
            sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(ODD).rotate_left(29);
        }
        for byte in rest {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(ODD).rotate_left(29);
        }
    }
    sum
}

/// The three files of one set of rows.
pub(super) struct Files {
    pub(super) folder: PathBuf,
    pub(super) dims: usize,
}

impl Files {
    fn open(&self, name: &str) -> io::Result<File> {
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(self.folder.join(name))
    }

    fn all(&self) -> io::Result<[File; 3]> {
        Ok([self.open("codes")?, self.open("exact")?, self.open("records")?])
    }

    fn widths(&self) -> [u64; 3] {
        [self.dims as u64, self.dims as u64 * 2, RECORD as u64]
    }

    /// How many rows are whole.
    pub(super) fn count(&self) -> Result<usize> {
        let mut count = u64::MAX;
        for (name, width) in ["codes", "exact", "records"].iter().zip(self.widths()) {
            let length = std::fs::metadata(self.folder.join(name)).map_or(0, |meta| meta.len());
            count = count.min(length / width.max(1));
        }
        usize::try_from(count).doing("count the vectors")
    }

    /// Maps the rows that are whole now.
    pub(super) fn map(&self) -> Result<Arc<Rows>> {
        let count = self.count()?;
        let what = || format!("map the vectors in `{}`", self.folder.display());
        if count == 0 {
            let dims = self.dims;
            return Ok(Arc::new(Rows { dims, count, codes: None, exact: None, records: None }));
        }
        let [codes, exact, records] = self.all().doing(what())?;
        let mut maps = Vec::with_capacity(3);
        for (file, width) in [codes, exact, records].iter().zip(self.widths()) {
            let length = usize::try_from(width).unwrap_or(0) * count;
            // SAFETY: rows are only appended. They are cut off only by the holder of the lease and
            // only beyond the last whole row, which lies outside every map made here; a smaller set
            // of rows is made in new files.
            let map = unsafe { memmap2::MmapOptions::new().len(length).map(file) };
            maps.push(Some(map.doing(what())?));
        }
        let mut maps = maps.into_iter().flatten();
        let rows = Rows {
            dims: self.dims,
            count,
            codes: maps.next(),
            exact: maps.next(),
            records: maps.next(),
        };
        Ok(Arc::new(rows))
    }

    /// Cuts off what is not whole, so that the next row stands in its place.
    pub(super) fn trim(&self, count: usize) -> Result<()> {
        let what = "cut off unfinished vectors";
        for (file, width) in self.all().doing(what)?.iter().zip(self.widths()) {
            let length = width * count as u64;
            if file.metadata().doing(what)?.len() > length {
                file.set_len(length).doing(what)?;
            }
        }
        Ok(())
    }

    /// Appends rows at `count`; they count when this returns. The caller holds the lease.
    pub(super) fn append(&self, count: usize, rows: &[(u64, Coded)]) -> Result<()> {
        let what = "write vectors";
        let (mut codes, mut exact, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for (key, coded) in rows {
            let start = exact.len();
            codes.extend_from_slice(&coded.short);
            exact.extend(coded.long.iter().flat_map(|value| value.to_le_bytes()));
            let sum =
                checksum(*key, coded.short_scale, coded.long_scale, &coded.short, &exact[start..]);
            Record {
                key: *key,
                short_scale: coded.short_scale,
                long_scale: coded.long_scale,
                checksum: sum,
            }
            .write(&mut records);
        }
        let files = self.all().doing(what)?;
        for ((mut file, bytes), width) in
            files.iter().zip([codes, exact, records]).zip(self.widths())
        {
            use std::io::{Seek, SeekFrom, Write};
            file.seek(SeekFrom::Start(width * count as u64)).doing(what)?;
            file.write_all(&bytes).doing(what)?;
        }
        Ok(())
    }

    pub(super) fn flush(&self) -> Result<()> {
        for file in self.all().doing("flush vectors")? {
            file.sync_data().doing("flush vectors")?;
        }
        Ok(())
    }

    pub(super) fn remove(folder: &Path) {
        // Left-over files cost space, not answers; the next compaction tries again.
        let _ = std::fs::remove_dir_all(folder);
    }
}

impl Rows {
    pub(super) fn codes(&self) -> &[u8] {
        self.codes.as_deref().unwrap_or_default()
    }

    pub(super) fn record(&self, row: usize) -> Record {
        Record::read(&self.records.as_deref().unwrap_or_default()[row * RECORD..][..RECORD])
    }

    pub(super) fn key(&self, row: usize) -> u64 {
        let records = self.records.as_deref().unwrap_or_default();
        u64::from_le_bytes(number(records, row * RECORD))
    }

    pub(super) fn short_scale(&self, row: usize) -> f32 {
        let records = self.records.as_deref().unwrap_or_default();
        f32::from_le_bytes(number(records, row * RECORD + 8))
    }

    pub(super) fn short(&self, row: usize) -> &[u8] {
        &self.codes()[row * self.dims..][..self.dims]
    }

    /// The bytes of the sixteen-bit values.
    pub(super) fn long(&self, row: usize) -> &[u8] {
        &self.exact.as_deref().unwrap_or_default()[row * self.dims * 2..][..self.dims * 2]
    }

    pub(super) fn is_whole(&self, row: usize) -> bool {
        let record = self.record(row);
        let sum = checksum(
            record.key,
            record.short_scale,
            record.long_scale,
            self.short(row),
            self.long(row),
        );
        sum == record.checksum
    }

    /// The rows before the first torn one, looking at those from `from` on.
    pub(super) fn whole(&self, from: usize) -> usize {
        (from..self.count).find(|row| !self.is_whole(*row)).unwrap_or(self.count)
    }

    /// The vector of a row as numbers.
    pub(super) fn vector(&self, row: usize) -> Vec<f32> {
        let scale = self.record(row).long_scale;
        let (values, _) = self.long(row).as_chunks::<2>();
        values.iter().map(|bytes| f32::from(i16::from_le_bytes(*bytes)) * scale).collect()
    }
}
