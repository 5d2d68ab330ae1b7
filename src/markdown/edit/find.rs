//! Replaces a text that occurs a known number of times.

use super::{Target, lines, splice::Splices};
use crate::domain::{Error, Result};

/// Line numbers that an error names at most.
const MAX_LINES_NAMED: usize = 20;

impl Target<'_> {
    /// Every occurrence of `find` in the target becomes `with`. An error when it does not occur
    /// exactly `count` times.
    pub fn find(&self, find: &str, with: &str, count: usize) -> Result<Splices> {
        if find.is_empty() {
            return Err(Error::invalid_params("find is empty; give the text to look for"));
        }
        if count == 0 {
            return Err(Error::invalid_params("count must be 1 or more"));
        }
        let region = self.region();
        let part = &self.text[region.clone()];
        let mut wanted = find.to_owned();
        if !part.contains(find) && !find.contains('\r') {
            wanted = find.replace('\n', "\r\n");
        }
        let places: Vec<usize> =
            part.match_indices(&wanted).map(|(at, _)| region.start + at).collect();
        if places.len() != count {
            return Err(self.miscounted(find, &places, count));
        }
        let with = lines::convert(with, self.ending());
        let splices = places.into_iter().map(|at| (at..at + wanted.len(), with.clone()));
        Ok(Splices::many(splices.collect()))
    }

    fn miscounted(&self, find: &str, places: &[usize], count: usize) -> Error {
        let target = match self.section.level {
            0 => "the note".to_owned(),
            _ => format!("the section `{}`", self.note.outline.path_of(self.section).join(" > ")),
        };
        let numbers = |places: &[usize]| {
            let numbers: Vec<String> = places
                .iter()
                .take(MAX_LINES_NAMED)
                .map(|at| lines::line_number(self.text, *at).to_string())
                .collect();
            let more = if places.len() > MAX_LINES_NAMED { ", …" } else { "" };
            let plural = if places.len() == 1 { "line" } else { "lines" };
            format!("{plural} {}{more}", numbers.join(", "))
        };
        if !places.is_empty() {
            let times = match places.len() {
                1 => "once".to_owned(),
                many => format!("{many} times"),
            };
            return Error::invalid_params(format!(
                "find occurs {times} in {target} (in {}), not {count}; give more of the text around the one you mean, or count {}",
                numbers(places),
                places.len()
            ))
            .with_data(serde_json::json!({ "occurrences": places.len() }));
        }
        let elsewhere: Vec<usize> = self.text.match_indices(find).map(|(at, _)| at).collect();
        let (front, outside): (Vec<usize>, Vec<usize>) =
            elsewhere.into_iter().partition(|at| *at < self.note.body);
        let help = if !outside.is_empty() {
            format!("it is in {} of the note, outside the section", numbers(&outside))
        } else if !front.is_empty() {
            "it is in the frontmatter, which op set changes".to_owned()
        } else if squeezed(self.text).contains(&squeezed(find)) {
            "a text that differs only in spaces, line breaks or case is there; copy it exactly as format markdown shows it".to_owned()
        } else {
            "read it with format markdown and copy the text exactly".to_owned()
        };
        Error::invalid_params(format!("find does not occur in {target}; {help}"))
            .with_data(serde_json::json!({ "occurrences": 0 }))
    }
}

/// A text with single spaces, in lower case.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
