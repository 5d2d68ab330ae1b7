//! Where one message ends and the next begins.

use std::io::{BufRead, Write};

/// How a message is delimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Framing {
    /// A message is a line.
    #[default]
    Line,
    /// A header before the message says how many bytes it has.
    ContentLength,
}

/// One message's bytes, or why they were not taken.
#[derive(Debug)]
pub struct Frame {
    /// The message, or why it was not taken.
    pub bytes: Result<Vec<u8>, String>,
    /// How it arrived; its answer leaves in the same way.
    pub framing: Framing,
}

/// Reads frames until the input ends or nobody takes them.
pub fn read(mut input: impl BufRead, most: usize, mut take: impl FnMut(Frame) -> bool) {
    loop {
        let line = match read_line(&mut input, most) {
            Ok(Some(line)) => line,
            Ok(None) => return,
            Err(Stop::TooLong) => {
                if !take(Frame { bytes: Err(too_long(most)), framing: Framing::Line }) {
                    return;
                }
                continue;
            }
            Err(Stop::Broken) => return,
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let frame = match content_length(&line) {
            None => Frame { bytes: Ok(line), framing: Framing::Line },
            Some(length) => match read_framed(&mut input, length, most) {
                Some(bytes) => Frame { bytes, framing: Framing::ContentLength },
                None => return,
            },
        };
        if !take(frame) {
            return;
        }
    }
}

enum Stop {
    TooLong,
    Broken,
}

fn too_long(most: usize) -> String {
    format!("the message has more than `limits.body_bytes` ({most}) bytes; send less at once")
}

/// A line with its end cut off. The last line counts even when the input ends inside it.
fn read_line(input: &mut impl BufRead, most: usize) -> Result<Option<Vec<u8>>, Stop> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(Stop::Broken),
        };
        if available.is_empty() {
            break;
        }
        let (taken, ended) = match available.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (available.len(), false),
        };
        // The rest of a line that is too long is read and thrown away: the next one is whole.
        if line.len() + taken > most + 1 {
            too_long = true;
            line.clear();
        } else if !too_long {
            line.extend_from_slice(&available[..taken]);
        }
        input.consume(taken);
        if ended {
            return if too_long { Err(Stop::TooLong) } else { Ok(Some(line)) };
        }
    }
    match (too_long, line.is_empty()) {
        (true, _) => Err(Stop::TooLong),
        (false, true) => Ok(None),
        (false, false) => Ok(Some(line)),
    }
}

fn content_length(line: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(line).ok()?;
    let (name, value) = text.split_once(':')?;
    name.trim().eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
}

/// The body after a `Content-Length` line: the other headers, an empty line, then that many bytes.
fn read_framed(
    input: &mut impl BufRead,
    length: usize,
    most: usize,
) -> Option<Result<Vec<u8>, String>> {
    loop {
        match read_line(input, most) {
            Ok(Some(line)) if line.iter().all(u8::is_ascii_whitespace) => break,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return None,
        }
    }
    let mut body = Vec::with_capacity(length.min(64 << 10));
    let mut left = length;
    while left > 0 {
        let available = match input.fill_buf() {
            Ok([]) => break,
            Ok(available) => available,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        // Line by line, so that what follows a message of its own is left for the next one.
        let line = available.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let taken = line.unwrap_or(available.len()).min(left);
        if length <= most {
            body.extend_from_slice(&available[..taken]);
        }
        let line_ended = available[taken - 1] == b'\n' && body.trim_ascii_end().ends_with(b"}");
        input.consume(taken);
        left -= taken;
        // Hosts miscount: a whole message that ends its line is a message, whatever the header
        // says. Waiting for bytes that never come would hang the caller without a word.
        if line_ended && serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok() {
            break;
        }
    }
    Some(if length > most { Err(too_long(most)) } else { Ok(body) })
}

/// Writes a message in a framing.
pub fn write(output: &mut impl Write, text: &str, framing: Framing) -> std::io::Result<()> {
    match framing {
        Framing::Line => writeln!(output, "{text}"),
        Framing::ContentLength => write!(output, "Content-Length: {}\r\n\r\n{text}", text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(input: &str, most: usize) -> Vec<(Framing, Result<String, String>)> {
        let mut found = Vec::new();
        read(input.as_bytes(), most, |frame| {
            let bytes = frame.bytes.map(|b| String::from_utf8(b).unwrap().trim().to_owned());
            found.push((frame.framing, bytes));
            true
        });
        found
    }

    #[test]
    fn both_framings_in_one_stream() {
        let input = "{\"a\":1}\nContent-Length: 7\r\nX: y\r\n\r\n{\"b\":2}{\"c\":3}\r\n\n{\"d\":4}";
        let expected = [
            (Framing::Line, "{\"a\":1}"),
            (Framing::ContentLength, "{\"b\":2}"),
            (Framing::Line, "{\"c\":3}"),
            (Framing::Line, "{\"d\":4}"),
        ];
        let found = frames(input, 100);
        assert_eq!(found.len(), expected.len());
        for ((framing, bytes), (expected, text)) in found.iter().zip(expected) {
            assert_eq!((framing, bytes.as_deref().unwrap()), (&expected, text));
        }
    }

    #[test]
    fn a_wrong_length_does_not_hang() {
        let found = frames("Content-Length: 300\n\n{\"a\":1}\n{\"b\":2}\n", 1000);
        assert_eq!(found[0].1.as_deref(), Ok("{\"a\":1}"));
        assert_eq!(found[1].1.as_deref(), Ok("{\"b\":2}"));
    }

    #[test]
    fn a_line_that_is_too_long_is_told_and_skipped() {
        let found = frames(&format!("{}\n{{\"a\":1}}\n", "x".repeat(50)), 20);
        assert!(found[0].1.as_ref().unwrap_err().contains("limits.body_bytes"));
        assert_eq!(found[1].1.as_deref(), Ok("{\"a\":1}"));
    }
}
