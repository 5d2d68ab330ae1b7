//! A JSONL library as the lines it is made of. A line that is not changed keeps every byte,
//! whether it holds a prompt, is empty, or cannot be read. Pure.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::Fields;
use crate::{
    domain::prompt::{Prompt, check_name},
    store::prompts::{Origin, Problem, Stored},
};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One line with its ending.
#[derive(Debug, Clone)]
pub struct Line {
    pub raw: Arc<[u8]>,
    pub holds: Holds,
}

#[derive(Debug, Clone)]
pub enum Holds {
    Nothing,
    Prompt(Arc<Stored>),
    /// Why the line cannot be used.
    Broken(Arc<str>),
}

impl Line {
    fn read(raw: &[u8], origin: Origin) -> Self {
        let text = raw.strip_prefix(BOM).unwrap_or(raw).trim_ascii();
        let holds = if text.is_empty() {
            Holds::Nothing
        } else {
            match read_map(raw).and_then(Prompt::read) {
                Ok(prompt) => Holds::Prompt(Arc::new(Stored { prompt, origin })),
                Err(why) => Holds::Broken(why.into()),
            }
        };
        Self { raw: raw.into(), holds }
    }

    pub fn prompt(&self) -> Option<&Arc<Stored>> {
        match &self.holds {
            Holds::Prompt(stored) => Some(stored),
            _ => None,
        }
    }

    fn is_named(&self, name: &str) -> bool {
        self.prompt().is_some_and(|stored| stored.prompt.name == name)
    }
}

fn read_map(raw: &[u8]) -> Result<Map<String, Value>, String> {
    let raw = raw.strip_prefix(BOM).unwrap_or(raw);
    match serde_json::from_slice(raw) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("not a JSON object".into()),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

/// A whole file.
#[derive(Debug, Clone, Default)]
pub struct Lines(pub Vec<Line>);

impl Lines {
    /// Reads a file, taking over from `before` the lines at its start and end that are the same:
    /// a small change to a large library costs little.
    pub fn read(bytes: &[u8], origin: Origin, before: &Lines) -> Self {
        let raw: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let old = &before.0;
        let same = |(new, old): &(&&[u8], &Line)| ***new == *old.raw;
        let head = raw.iter().zip(old).take_while(same).count();
        let tail = raw[head..].iter().rev().zip(old[head..].iter().rev()).take_while(same).count();
        let mut lines = Vec::with_capacity(raw.len());
        lines.extend_from_slice(&old[..head]);
        lines.extend(raw[head..raw.len() - tail].iter().map(|line| Line::read(line, origin)));
        lines.extend_from_slice(&old[old.len() - tail..]);
        Self(lines)
    }

    /// The bytes of the file, line by line.
    pub fn raw(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|line| &*line.raw)
    }

    #[cfg(test)]
    pub fn bytes(&self) -> Vec<u8> {
        self.raw().collect::<Vec<_>>().concat()
    }

    /// The line that counts for a name: the first of several.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|line| line.is_named(name))
    }

    /// The prompt that counts for a name.
    pub fn find(&self, name: &str) -> Option<&Arc<Stored>> {
        self.position(name).and_then(|at| self.0[at].prompt())
    }

    /// The lines of this one and of the other between those at the start and at the end that are
    /// the same in both.
    pub fn differing<'a>(&'a self, other: &'a Lines) -> (&'a [Line], &'a [Line]) {
        let (one, two) = (self.0.as_slice(), other.0.as_slice());
        let same = |(a, b): &(&Line, &Line)| Arc::ptr_eq(&a.raw, &b.raw);
        let head = one.iter().zip(two).take_while(same).count();
        let (one, two) = (&one[head..], &two[head..]);
        let tail = one.iter().rev().zip(two.iter().rev()).take_while(same).count();
        (&one[..one.len() - tail], &two[..two.len() - tail])
    }

    pub fn prompts(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.0.iter().filter_map(Line::prompt)
    }

    pub fn append(&mut self, prompt: Prompt) {
        let record = Value::Object(prompt.to_map()).to_string();
        self.append_record(&record, Stored { prompt, origin: Origin::User });
    }

    fn append_record(&mut self, record: &str, stored: Stored) {
        let ending = self.ending();
        if let Some(last) = self.0.last_mut()
            && !last.raw.ends_with(b"\n")
        {
            last.raw = [&last.raw, ending].concat().into();
        }
        let raw = [record.as_bytes(), ending].concat();
        self.0.push(Line { raw: raw.into(), holds: Holds::Prompt(Arc::new(stored)) });
    }

    /// The line of a prompt without its mark and ending.
    pub fn record(&self, name: &str) -> Option<String> {
        let raw = &*self.0[self.position(name)?].raw;
        let text = raw.strip_prefix(BOM).unwrap_or(raw).trim_ascii();
        String::from_utf8(text.to_vec()).ok()
    }

    /// Puts a line that `record` gave in the place of the prompt of that name, or at the end.
    pub fn put(&mut self, name: &str, record: &str) -> Result<(), String> {
        let prompt = read_map(record.as_bytes()).and_then(Prompt::read)?;
        if prompt.name != name || record.contains('\n') {
            return Err("is not one line with that name".into());
        }
        let stored = Stored { prompt, origin: Origin::User };
        let Some(at) = self.position(name) else {
            self.append_record(record, stored);
            return Ok(());
        };
        let old = &self.0[at].raw;
        let mark: &[u8] = if old.starts_with(BOM) { BOM } else { b"" };
        let ending = &old[old.trim_ascii_end().len()..];
        let raw = [mark, record.as_bytes(), ending].concat();
        self.0[at] = Line { raw: raw.into(), holds: Holds::Prompt(Arc::new(stored)) };
        Ok(())
    }

    /// Puts a changed prompt in the place of the old one. The line keeps its mark, its ending, and
    /// every field that did not change as it was written.
    pub fn replace(
        &mut self,
        at: usize,
        changes: Vec<(&'static str, Option<Value>)>,
        prompt: Prompt,
    ) -> Result<Arc<Stored>, String> {
        let old = &self.0[at].raw;
        let mark: &[u8] = if old.starts_with(BOM) { BOM } else { b"" };
        let ending = &old[old.trim_ascii_end().len()..];
        let mut fields = Fields::read(&old[mark.len()..])?;
        changes.into_iter().for_each(|(name, value)| fields.set(name, value));
        let raw = [mark, fields.to_string().as_bytes(), ending].concat();
        let stored = Arc::new(Stored { prompt, origin: Origin::User });
        self.0[at] = Line { raw: raw.into(), holds: Holds::Prompt(stored.clone()) };
        Ok(stored)
    }

    /// Removes every line of that name, so that no hidden one takes its place.
    pub fn remove(&mut self, name: &str) {
        let marked = self.0.first().is_some_and(|line| line.raw.starts_with(BOM));
        self.0.retain(|line| !line.is_named(name));
        if marked
            && let Some(first) = self.0.first_mut()
            && !first.raw.starts_with(BOM)
        {
            first.raw = [BOM, &first.raw].concat().into();
        }
    }

    /// How lines end in this file.
    fn ending(&self) -> &'static [u8] {
        match self.0.first().is_some_and(|line| line.raw.ends_with(b"\r\n")) {
            true => b"\r\n",
            false => b"\n",
        }
    }

    /// What a person should look at.
    pub fn problems(&self, file: &str) -> Vec<Problem> {
        let mut seen = std::collections::HashMap::new();
        let mut problems = Vec::new();
        for (number, line) in self.0.iter().enumerate() {
            let number = number + 1;
            let mut report = |broken: bool, what: String| {
                problems.push(Problem { place: place(file, number), broken, what });
            };
            match &line.holds {
                Holds::Nothing => {}
                Holds::Broken(why) => report(true, format!("{why}; the line is kept, not used")),
                Holds::Prompt(stored) => {
                    let name = stored.prompt.name.as_str();
                    if let Some(first) = seen.get(name) {
                        report(true, format!("`{name}` is on line {first} already, which is used"));
                    } else {
                        seen.insert(name, number);
                        if check_name(name).is_err() {
                            report(
                                false,
                                format!(
                                    "the name `{name}` has more than letters, digits and \
                                     underscores; it works, but rename it"
                                ),
                            );
                        }
                    }
                }
            }
        }
        problems
    }
}

/// How a line of a file is named to people.
pub fn place(file: &str, number: usize) -> String {
    format!("`{file}` line {number}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = r#"{"name":"a","title":"A","zeta":1.10,"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"alpha":{"b":2, "x":1}}"#;

    fn read(text: &[u8]) -> Lines {
        Lines::read(text, Origin::User, &Lines::default())
    }

    fn prompt(name: &str) -> Prompt {
        let lines = read(A.as_bytes());
        Prompt { name: name.into(), ..lines.0[0].prompt().unwrap().prompt.clone() }
    }

    #[test]
    fn an_appended_line_ends_the_way_the_file_does() {
        for (before, ending) in [("{broken\r\n\r\n", "\r\n"), ("{broken", "\n"), ("", "\n")] {
            let mut lines = read(before.as_bytes());
            lines.append(prompt("n"));
            let text = String::from_utf8(lines.bytes()).unwrap();
            assert!(text.starts_with(before), "{text}");
            assert!(text.ends_with(&format!("}}{ending}")), "{text:?}");
            assert_eq!(read(text.as_bytes()).prompts().count(), 1);
        }
    }

    #[test]
    fn a_byte_order_mark_stays_first() {
        let text = format!("\u{feff}{A}\r\n{}\r\n", A.replace(r#""a""#, r#""b""#));
        let mut lines = read(text.as_bytes());
        assert_eq!(lines.prompts().count(), 2);
        lines.remove("a");
        assert_eq!(
            lines.bytes(),
            format!("\u{feff}{}\r\n", A.replace(r#""a""#, r#""b""#)).into_bytes()
        );
        let at = lines.position("b").unwrap();
        lines.replace(at, vec![("title", Some("B".into()))], prompt("b")).unwrap();
        let expected = A.replace(r#""a""#, r#""b""#).replace(r#""A""#, r#""B""#);
        assert_eq!(lines.bytes(), format!("\u{feff}{expected}\r\n").into_bytes());
    }

    #[test]
    fn problems_name_the_line_and_the_reason() {
        let text = format!(
            "{A}\n\n{{oops\n[1]\n{{\"name\":\"b\"}}\n{A}\n{}\n",
            A.replace(r#""a""#, r#""a-b""#)
        );
        let lines = read(text.as_bytes());
        let problems = lines.problems("user.jsonl");
        let told: Vec<_> = problems.iter().map(|p| (p.place.clone(), p.broken)).collect();
        let expected = [(3, true), (4, true), (5, true), (6, true), (7, false)];
        assert_eq!(told, expected.map(|(line, broken)| (place("user.jsonl", line), broken)));
        assert!(problems[2].what.contains("`messages` is empty"), "{}", problems[2]);
    }

    fn any_line() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            "[abc]".prop_map(|name| A.replace(r#""a""#, &format!("{name:?}")).into_bytes()),
            Just(b"{\"name\": \"half".to_vec()),
            Just(b"  ".to_vec()),
            Just(b"\xff\xfe".to_vec()),
            Just("{\"имя\": \"日本\"}\r".as_bytes().to_vec()),
            Just(Vec::new()),
        ]
    }

    proptest! {
        #[test]
        fn a_file_reads_and_writes_back_byte_for_byte(
            lines in prop::collection::vec(any_line(), 0..12),
            last in any::<bool>(),
            mark in any::<bool>(),
        ) {
            let mut bytes = if mark { BOM.to_vec() } else { Vec::new() };
            bytes.extend(lines.join(&b'\n'));
            if last { bytes.push(b'\n') }
            let read_back = read(&bytes);
            prop_assert_eq!(read_back.bytes(), bytes);
        }

        #[test]
        fn reading_on_top_of_an_older_state_gives_the_same(
            before in prop::collection::vec(any_line(), 0..10),
            after in prop::collection::vec(any_line(), 0..10),
        ) {
            let before = read(&before.join(&b'\n'));
            let bytes = after.join(&b'\n');
            let fresh = read(&bytes);
            let reused = Lines::read(&bytes, Origin::User, &before);
            prop_assert_eq!(reused.bytes(), bytes);
            prop_assert_eq!(
                fresh.prompts().collect::<Vec<_>>(),
                reused.prompts().collect::<Vec<_>>()
            );
        }

        #[test]
        fn a_change_touches_one_line_only(lines in prop::collection::vec(any_line(), 1..12)) {
            let bytes = lines.join(&b'\n');
            let mut changed = read(&bytes);
            let before = changed.clone();
            if let Some(at) = changed.position("a") {
                let renamed = vec![("name", Some("renamed".into()))];
                changed.replace(at, renamed, prompt("renamed")).unwrap();
                for (number, (old, new)) in before.0.iter().zip(&changed.0).enumerate() {
                    prop_assert!(number == at || old.raw == new.raw);
                }
                prop_assert_eq!(changed.0.len(), before.0.len());
            }
        }
    }
}
