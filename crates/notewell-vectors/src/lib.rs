//! Flat int8 vector files and their SIMD scan.
//!
//! A row is stored under a 64-bit key, as int8 codes for the scan, int16 values for the rescoring
//! and sign bits for the prefilter. This crate knows nothing of notes, models or ranking, and it
//! takes no locks: the caller makes sure that one process writes at a time.

pub mod coarse;
pub mod codes;
mod kernel;
pub mod pool;
pub mod rows;
pub mod scan;

pub use codes::{EncodedVector, QueryVector, encode};
pub use rows::{Files, Rows};
pub use scan::{KeyHasher, Keys};
