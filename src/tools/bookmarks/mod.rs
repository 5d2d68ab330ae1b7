//! What was saved, asked and summed up.

pub mod ask;
