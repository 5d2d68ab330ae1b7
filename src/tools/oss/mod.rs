//! Is this repository safe to try?

pub mod oss_report;
