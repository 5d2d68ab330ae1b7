//! The rows on disk. A set is four append-only files. A row is written in this order: int8 codes,
//! int16 values, sign bits for the prefilter, then the record, which makes the row valid. A row
//! without a record does not exist. A row without sign bits is compared by its codes.
//!
//! A record holds a checksum of its row, which detects writes torn by a power cut. A killed process
//! leaves at most bytes without a record; the next writer truncates them.
#![allow(unsafe_code, reason = "memory maps; see `map`")]

use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use memmap2::Mmap;

use crate::{coarse::Rotation, codes::EncodedVector};

/// key u64, short scale f32, long scale f32, checksum u64; little endian.
pub const RECORD: usize = 24;
/// Rows whose sign bits are computed and written together.
const BITS_BATCH: usize = 4_096;

/// The rows as they were when they were mapped. More may be appended meanwhile; none changes.
pub struct Rows {
    /// Values of one vector.
    pub dims: usize,
    /// Rows.
    pub count: usize,
    codes: Option<Mmap>,
    exact: Option<Mmap>,
    records: Option<Mmap>,
    bits: Option<Mmap>,
}

/// The record of one row.
pub struct Record {
    /// The key of the passage.
    pub key: u64,
    /// Scale of the int8 codes.
    pub short_scale: f32,
    /// Scale of the int16 codes.
    pub long_scale: f32,
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

/// A checksum, eight bytes at a time. It detects torn pages; it does not resist forgery.
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

/// The file of sign bits for the prefilter, derived from the codes.
const BITS: &str = "bits";
/// The file whose length says how many rows count.
pub const RECORDS: &str = "records";
/// The names of the files of a set.
pub const FILES: [&str; 4] = ["codes", "exact", RECORDS, BITS];

/// The files of one set of rows.
pub struct Files {
    /// Where the files are.
    pub folder: PathBuf,
    /// Values of one vector.
    pub dims: usize,
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
        Ok([self.open("codes")?, self.open("exact")?, self.open(RECORDS)?])
    }

    fn widths(&self) -> [u64; 3] {
        [self.dims as u64, self.dims as u64 * 2, RECORD as u64]
    }

    /// How many rows are whole.
    pub fn count(&self) -> io::Result<usize> {
        let mut count = u64::MAX;
        for (name, width) in ["codes", "exact", RECORDS].iter().zip(self.widths()) {
            let length = std::fs::metadata(self.folder.join(name)).map_or(0, |meta| meta.len());
            count = count.min(length / width.max(1));
        }
        usize::try_from(count).map_err(io::Error::other)
    }

    /// Maps the rows that are whole now.
    pub fn map(&self) -> io::Result<Arc<Rows>> {
        let count = self.count()?;
        if count == 0 {
            let dims = self.dims;
            return Ok(Arc::new(Rows {
                dims,
                count,
                codes: None,
                exact: None,
                records: None,
                bits: None,
            }));
        }
        let map = |file: &File, length: usize| {
            // SAFETY: rows are only appended. They are cut off only by the holder of the lease and
            // only beyond the last whole row, which lies outside every map made here; a smaller set
            // of rows is made in new files.
            unsafe { memmap2::MmapOptions::new().len(length).map(file) }
        };
        let mut maps = Vec::with_capacity(3);
        for (file, width) in self.all()?.iter().zip(self.widths()) {
            maps.push(map(file, usize::try_from(width).unwrap_or(0) * count)?);
        }
        let bits = match (self.sketched()?.min(count), Rotation::of(self.dims)) {
            (sketched @ 1.., Some(turn)) => Some(map(&self.open(BITS)?, sketched * turn.width())?),
            _ => None,
        };
        let mut maps = maps.into_iter();
        let (codes, exact, records) = (maps.next(), maps.next(), maps.next());
        Ok(Arc::new(Rows { dims: self.dims, count, codes, exact, records, bits }))
    }

    /// How many rows have their bits.
    fn sketched(&self) -> io::Result<usize> {
        let Some(turn) = Rotation::of(self.dims) else { return Ok(0) };
        let length = std::fs::metadata(self.folder.join(BITS)).map_or(0, |meta| meta.len());
        usize::try_from(length / turn.width() as u64).map_err(io::Error::other)
    }

    /// Writes the bits that are missing, or all when they may be torn, and says whether there were
    /// any. The caller holds the lease.
    pub fn sketch(&self, rows: &Rows, all: bool) -> io::Result<bool> {
        let Some(turn) = Rotation::of(self.dims) else { return Ok(false) };
        let from = if all { 0 } else { self.sketched()? };
        for start in (from..rows.count).step_by(BITS_BATCH) {
            let end = (start + BITS_BATCH).min(rows.count);
            let bits: Vec<u8> = (start..end).flat_map(|row| turn.bits(rows.short(row))).collect();
            write_at(&self.open(BITS)?, start * turn.width(), &bits)?;
        }
        Ok(from < rows.count)
    }

    /// Cuts off what is not whole, so that the next row stands in its place.
    pub fn trim(&self, count: usize) -> io::Result<()> {
        for (file, width) in self.all()?.iter().zip(self.widths()) {
            let length = width * count as u64;
            if file.metadata()?.len() > length {
                file.set_len(length)?;
            }
        }
        if let Some(turn) = Rotation::of(self.dims) {
            let (file, length) = (self.open(BITS)?, (turn.width() * count) as u64);
            if file.metadata()?.len() > length {
                file.set_len(length)?;
            }
        }
        Ok(())
    }

    /// Appends rows at `count`; they count when this returns. The caller holds the lease.
    pub fn append(&self, count: usize, rows: &[(u64, EncodedVector)]) -> io::Result<()> {
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
        if let Some(turn) = Rotation::of(self.dims) {
            let bits: Vec<u8> =
                rows.iter().flat_map(|(_, coded)| turn.bits(&coded.short)).collect();
            write_at(&self.open(BITS)?, turn.width() * count, &bits)?;
        }
        let files = self.all()?;
        for ((file, bytes), width) in files.iter().zip([codes, exact, records]).zip(self.widths()) {
            write_at(file, usize::try_from(width).unwrap_or(0) * count, &bytes)?;
        }
        Ok(())
    }

    /// Makes everything that was appended durable.
    pub fn flush(&self) -> io::Result<()> {
        for file in self.all()? {
            file.sync_data()?;
        }
        if Rotation::of(self.dims).is_some() {
            self.open(BITS).and_then(|file| file.sync_data())?;
        }
        Ok(())
    }

    /// Deletes the files.
    pub fn remove(folder: &Path) {
        // Left-over files cost space, not answers; the next compaction tries again.
        let _ = std::fs::remove_dir_all(folder);
    }
}

fn write_at(mut file: &File, at: usize, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(at as u64))?;
    file.write_all(bytes)
}

impl Rows {
    /// The bits of the first rows, one row after the other; they may be fewer than the rows.
    pub fn bits(&self) -> &[u8] {
        self.bits.as_deref().unwrap_or_default()
    }

    /// The int8 codes of all rows.
    pub fn codes(&self) -> &[u8] {
        self.codes.as_deref().unwrap_or_default()
    }

    /// The facts of a row.
    pub fn record(&self, row: usize) -> Record {
        Record::read(&self.records.as_deref().unwrap_or_default()[row * RECORD..][..RECORD])
    }

    /// The passage of a row.
    pub fn key(&self, row: usize) -> u64 {
        let records = self.records.as_deref().unwrap_or_default();
        u64::from_le_bytes(number(records, row * RECORD))
    }

    /// Scale of a row's int8 codes.
    pub fn short_scale(&self, row: usize) -> f32 {
        let records = self.records.as_deref().unwrap_or_default();
        f32::from_le_bytes(number(records, row * RECORD + 8))
    }

    /// The int8 codes of a row.
    pub fn short(&self, row: usize) -> &[u8] {
        &self.codes()[row * self.dims..][..self.dims]
    }

    /// Prefetches the codes of a row.
    #[inline]
    pub fn prefetch(&self, row: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in self.short(row).chunks(64) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: every x86-64 processor has it, and it never faults.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = row;
    }

    /// The bytes of the sixteen-bit values.
    pub fn long(&self, row: usize) -> &[u8] {
        &self.exact.as_deref().unwrap_or_default()[row * self.dims * 2..][..self.dims * 2]
    }

    /// Whether a row's checksum is right.
    pub fn is_whole(&self, row: usize) -> bool {
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

    /// The vector of a row as numbers.
    pub fn vector(&self, row: usize) -> Vec<f32> {
        let scale = self.record(row).long_scale;
        let (values, _) = self.long(row).as_chunks::<2>();
        values.iter().map(|bytes| f32::from(i16::from_le_bytes(*bytes)) * scale).collect()
    }
}
