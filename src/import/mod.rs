//! What every import shares: reading a file of somebody else within limits, one record at a time,
//! and the report of what became of each record.
//!
//! A file may be hostile or broken. The limits hold for what it unpacks to, and memory is bounded
//! by the largest record, not by the file.

pub mod bookmarks;
pub mod cards;
pub mod prompts;
mod records;
mod report;
mod source;

pub use records::{Cut, MAX_RECORD_BYTES, MAX_VALUES, each, each_line, parse};
pub use report::{ImportReport, Remarks, cut_short};
pub use source::{Bounded, ImportFile, RecordMeter, check_expansion, failed};

/// Records of one file. A file with more is refused at that point; what came before stays.
pub const MAX_RECORDS: usize = 1_000_000;

/// The error of a file with too many records.
pub fn too_many_records() -> crate::domain::Error {
    crate::domain::Error::invalid_params(format!(
        "it holds more than {MAX_RECORDS} records; split it into several files"
    ))
}
