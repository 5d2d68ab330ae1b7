//! Cuts a file into its records without parsing it: JSON by brackets and quotes, JSONL by lines. A
//! record that is broken then costs itself and not those behind it, and only one is in memory at a
//! time.

use std::io::{BufRead, Read};

use serde_json::Value;

use super::source::failed;
use crate::domain::Result;

/// Bytes of one record as it is written.
pub const MAX_RECORD_BYTES: usize = 16 << 20;
/// JSON values of one record. Each costs far more memory than it has bytes: `0,` costs 70.
pub const MAX_VALUES: usize = 100_000;

/// One record as bytes, or why there is none.
pub type Cut = std::result::Result<Vec<u8>, String>;

/// Gives `sink` the elements of the list that the text is, or its values where it is no list. A
/// record of more than `most` bytes is left out.
pub fn each(
    body: &mut dyn BufRead,
    most: usize,
    mut sink: impl FnMut(Cut) -> Result<()>,
) -> Result<()> {
    let mut cutter = Cutter { most, ..Cutter::default() };
    let mut cuts = Vec::new();
    loop {
        let bytes = body.fill_buf().map_err(|error| failed(&error))?;
        if bytes.is_empty() {
            break;
        }
        let read = bytes.len();
        for byte in bytes {
            cutter.step(*byte, &mut cuts);
        }
        body.consume(read);
        for cut in cuts.drain(..) {
            sink(cut)?;
        }
    }
    cutter.finish(&mut cuts);
    cuts.into_iter().try_for_each(sink)
}

/// Gives `sink` the lines that are not blank, with their numbers from 1. A line of more than
/// [`MAX_RECORD_BYTES`] bytes is left out.
pub fn each_line(
    body: &mut dyn BufRead,
    mut sink: impl FnMut(usize, Cut) -> Result<()>,
) -> Result<()> {
    for number in 1_usize.. {
        let mut line = Vec::new();
        let read = body.take(MAX_RECORD_BYTES as u64).read_until(b'\n', &mut line);
        if read.map_err(|error| failed(&error))? == 0 {
            break;
        }
        if line.len() == MAX_RECORD_BYTES && !line.ends_with(b"\n") {
            skip_line(body)?;
            sink(number, Err(format!("it is longer than {MAX_RECORD_BYTES} bytes")))?;
        } else if !line.trim_ascii().is_empty() {
            sink(number, Ok(line))?;
        }
    }
    Ok(())
}

/// Goes to the end of a line without keeping it.
fn skip_line(body: &mut dyn BufRead) -> Result<()> {
    loop {
        let bytes = body.fill_buf().map_err(|error| failed(&error))?;
        let end = memchr::memchr(b'\n', bytes);
        let length = end.map_or(bytes.len(), |end| end + 1);
        body.consume(length);
        if end.is_some() || length == 0 {
            return Ok(());
        }
    }
}

/// Reads one record as JSON, unless it has more values than `most`.
pub fn parse(bytes: &[u8], most: usize) -> std::result::Result<Value, String> {
    if count_values(bytes) > most {
        return Err(format!(
            "it holds more than {most} values; a record this large is left out, so split it"
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))
}

/// How many values a JSON text has, at most: what stands between commas and brackets.
fn count_values(bytes: &[u8]) -> usize {
    let (mut count, mut quoted, mut escaped) = (1, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b'[' | b'{' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

#[derive(Default)]
struct Cutter {
    most: usize,
    record: Vec<u8>,
    /// Bytes of the record, those left out included.
    length: usize,
    started: bool,
    list: bool,
    closed: bool,
    depth: usize,
    quoted: bool,
    escaped: bool,
}

impl Cutter {
    fn step(&mut self, byte: u8, cuts: &mut Vec<Cut>) {
        if self.quoted {
            self.quoted = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            self.push(byte);
            return;
        }
        match byte {
            b'"' => {
                self.quoted = true;
                self.push(byte);
            }
            b'[' if !self.started => {
                self.started = true;
                self.list = true;
            }
            b'[' | b'{' => {
                self.started = true;
                self.depth += 1;
                self.push(byte);
            }
            b']' | b'}' if self.depth > 0 => {
                self.depth -= 1;
                self.push(byte);
                if self.depth == 0 && !self.list {
                    self.cut(cuts);
                }
            }
            b']' if self.list => {
                self.cut(cuts);
                self.list = false;
                self.closed = true;
            }
            b',' if self.depth == 0 && self.list => self.cut(cuts),
            // A second list behind the first: files that were joined.
            b';' if self.closed && self.depth == 0 => {}
            byte if self.length == 0 && byte.is_ascii_whitespace() => {}
            _ => self.push(byte),
        }
    }

    fn push(&mut self, byte: u8) {
        self.length += 1;
        if self.length <= self.most {
            self.record.push(byte);
        }
    }

    fn cut(&mut self, cuts: &mut Vec<Cut>) {
        let record = std::mem::take(&mut self.record);
        let length = std::mem::take(&mut self.length);
        if length > self.most {
            cuts.push(Err(format!("it is {length} bytes; the limit is {}", self.most)));
        } else if length > 0 {
            cuts.push(Ok(record));
        }
    }

    fn finish(mut self, cuts: &mut Vec<Cut>) {
        let unfinished = self.quoted || self.depth > 0 || (self.list && self.length > 0);
        if unfinished {
            cuts.push(Err("the file ends inside this record".to_owned()));
        } else {
            self.cut(cuts);
            if self.list {
                cuts.push(Err("the file ends without the end of its list".to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        each(&mut text.as_bytes(), 40, |cut| {
            found.push(match cut {
                Ok(bytes) => String::from_utf8(bytes).unwrap().trim().to_owned(),
                Err(why) => format!("!{why}"),
            });
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn records_of_lists_and_of_streams() {
        for (text, expected) in [
            ("", vec![]),
            ("[]", vec![]),
            ("[1, {\"a\": \"],\\\"\"}, [2,3]]", vec!["1", "{\"a\": \"],\\\"\"}", "[2,3]"]),
            ("{\"a\":{}}\n{\"b\":\"}\"}", vec!["{\"a\":{}}", "{\"b\":\"}\"}"]),
            ("[{\"т\":\"текст\"},{\"題\":\"名\"}];", vec!["{\"т\":\"текст\"}", "{\"題\":\"名\"}"]),
            ("[1, oops, 2]", vec!["1", "oops", "2"]),
            ("[1, {\"a\"", vec!["1", "!the file ends inside this record"]),
            ("[{}", vec!["!the file ends inside this record"]),
        ] {
            assert_eq!(cuts(text), expected, "{text}");
        }
    }

    #[test]
    fn values_are_counted_before_they_are_parsed() {
        assert_eq!(count_values(br#"{"a,[":"\",{","b":[1,2,{}]}"#), 7);
        assert!(parse(b"[1,2,3]", 4).is_ok());
        assert!(parse(b"[1,2,3]", 3).unwrap_err().contains("more than 3 values"));
    }

    #[test]
    fn a_record_that_is_too_long_costs_only_itself() {
        let text = format!("[\"{}\", 2]", "x".repeat(50));
        assert_eq!(cuts(&text), ["!it is 52 bytes; the limit is 40", "2"]);
    }
}
