//! Questions at the terminal. They go to stderr; stdout is for results.

use std::io::{BufRead, IsTerminal, Write};

use super::super::out;
use crate::domain::{Code, Error, Result, error::Doing};

/// Whether there is somebody to ask.
pub fn can() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for a line.
pub fn text(question: &str) -> Result<String> {
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{question}").and_then(|()| stderr.flush()).doing("ask")?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).doing("read your answer")? == 0 {
        return Err(Error::new(Code::Cancelled, "stopped; nothing was written"));
    }
    Ok(line.trim().to_owned())
}

/// Asks which of several things to take; an empty answer takes all.
pub fn several<T>(heading: &str, things: Vec<T>) -> Result<Vec<T>>
where
    T: AsRef<std::path::Path>,
{
    out::note(heading);
    for (number, thing) in things.iter().enumerate() {
        out::note(format_args!("  {}. {}", number + 1, thing.as_ref().display()));
    }
    loop {
        let answer = text("Numbers of those to use, or Enter for all: ")?;
        match numbers(&answer, things.len()) {
            Some(chosen) if chosen.is_empty() => return Ok(things),
            Some(chosen) => {
                let things = things.into_iter().enumerate();
                return Ok(things
                    .filter(|(at, _)| chosen.contains(at))
                    .map(|(_, thing)| thing)
                    .collect());
            }
            None => {
                out::note(format_args!("Write numbers from 1 to {}, such as: 1 3", things.len()))
            }
        }
    }
}

/// Asks which one to take; an empty answer takes none.
pub fn one(heading: &str, things: &[String]) -> Result<Option<usize>> {
    out::note(heading);
    for (number, thing) in things.iter().enumerate() {
        out::note(format_args!("  {}. {thing}", number + 1));
    }
    loop {
        let answer = text("A number, or Enter for none: ")?;
        match numbers(&answer, things.len()).as_deref() {
            Some([]) => return Ok(None),
            Some([one]) => return Ok(Some(*one)),
            _ => out::note(format_args!("Write one number from 1 to {}", things.len())),
        }
    }
}

/// Places in a list, as a person numbers them. `None` where one is not in the list.
fn numbers(answer: &str, most: usize) -> Option<Vec<usize>> {
    answer
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().ok().filter(|number| (1..=most).contains(number)).map(|n| n - 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        assert_eq!(numbers("", 3), Some(vec![]));
        assert_eq!(numbers("1, 3", 3), Some(vec![0, 2]));
        for wrong in ["0", "4", "one", "1 x", "-1"] {
            assert_eq!(numbers(wrong, 3), None, "{wrong}");
        }
    }
}
