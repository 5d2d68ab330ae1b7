//! A bar for long work, on a terminal; nothing where nobody watches.

use indicatif::{ProgressBar, ProgressStyle};

use crate::domain::Progress;

pub struct Bar(ProgressBar);

impl Bar {
    /// Drawn on stderr, and only when that is a terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn report(&self, done: u64, total: Option<u64>, message: &str) {
        if let Some(total) = total.filter(|total| self.0.length() != Some(*total)) {
            self.0.set_length(total);
            self.0.set_message(message.to_owned());
        }
        self.0.set_position(done);
    }
}
