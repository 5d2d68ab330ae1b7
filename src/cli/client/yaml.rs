//! YAML settings, as Goose keeps them. Lines are added or replaced; a file that is written in another
//! way than one key a line is refused. Everything else keeps its bytes, which is checked before
//! anything is written.

use std::ops::Range;

use serde_json::{Map, Value};

use super::file::{NAME, apart, line_end};

/// The text with our entry below a key.
pub fn set(text: &str, keys: &[&str], server: &Value) -> Result<String, String> {
    let (entry, rest) = read(text, keys)?;
    if entry.as_ref().is_some_and(|entry| covers(entry, server)) {
        return Ok(text.to_owned());
    }
    let [section] = keys else { return Err(unplain()) };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let after = match (place(&lines, section), &entry) {
        (None, Some(_)) => return Err(unplain()),
        (None, None) => {
            let end = line_end(text);
            let open = if text.is_empty() || text.ends_with('\n') { "" } else { end };
            let entry = written(server, 2, end);
            format!("{text}{open}{section}:{end}{entry}")
        }
        (Some(place), None) => {
            let entry = written(server, place.indent, line_end(text));
            let open = if lines[place.line].ends_with('\n') { "" } else { line_end(text) };
            let (before, rest) = lines.split_at(place.line + 1);
            format!("{}{open}{entry}{}", before.concat(), rest.concat())
        }
        (Some(place), Some(entry)) => updated(&lines, &place, entry, server, line_end(text))?,
    };
    match read(&after, keys)? {
        (Some(entry), others) if others == rest && covers(&entry, server) => Ok(after),
        _ => Err(unplain()),
    }
}

/// The text without our entry; `None` where there is none.
pub fn remove(text: &str, keys: &[&str]) -> Result<Option<String>, String> {
    let (Some(_), rest) = read(text, keys)? else { return Ok(None) };
    let [section] = keys else { return Err(unplain()) };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let place = place(&lines, section).ok_or_else(unplain)?;
    let block = block(&lines, place.line + 1..lines.len(), place.indent, NAME);
    let block = block.ok_or_else(unplain)?;
    let after = [&lines[..block.start], &lines[block.end..]].concat().concat();
    match read(&after, keys)? {
        (None, others) if others == rest => Ok(Some(after)),
        _ => Err(unplain()),
    }
}

fn unplain() -> String {
    "written in a way that this program does not edit".to_owned()
}

/// Our entry, and everything else.
fn read(text: &str, keys: &[&str]) -> Result<(Option<Value>, Value), String> {
    let is_empty = text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#'));
    let value = match is_empty {
        true => Value::Object(Map::new()),
        false => serde_saphyr::from_str::<Value>(text).map_err(|_| "not YAML".to_owned())?,
    };
    match value.is_object() {
        true => Ok(apart(value, keys)),
        false => Err("not of the shape of this client's settings".to_owned()),
    }
}

/// Whether an entry has all that ours has. Whether it is switched on is the person's to say, and
/// how it is described.
fn covers(entry: &Value, server: &Value) -> bool {
    ["cmd", "args", "envs"].iter().all(|name| match (&entry[*name], &server[*name]) {
        (Value::Object(own), Value::Object(ours)) => {
            ours.iter().all(|(name, value)| own.get(name) == Some(value))
        }
        (own, Value::Object(ours)) => ours.is_empty() && own.is_null(),
        (own, ours) => own == ours,
    })
}

/// Where a section begins, and how its entries are indented.
struct Section {
    line: usize,
    indent: usize,
}

fn place(lines: &[&str], section: &str) -> Option<Section> {
    let line = lines.iter().position(|line| key_of(line) == Some((0, section)))?;
    // A value on the same line is not a block.
    let value = lines[line].split_once(':')?.1.trim();
    if !(value.is_empty() || value.starts_with('#')) {
        return None;
    }
    let next = lines[line + 1..].iter().find_map(|line| key_of(line));
    let indent = next.map(|(indent, _)| indent).filter(|indent| *indent > 0);
    Some(Section { line, indent: indent.unwrap_or(2) })
}

/// The indentation and the key of a line that begins with one.
fn key_of(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let (key, rest) = text.trim_end().split_once(':')?;
    let is_key = !key.is_empty()
        && !key.starts_with(['#', '-', '\t', '{', '['])
        && (rest.is_empty() || rest.starts_with(' '));
    is_key.then(|| (indent, key.trim_matches(['"', '\''])))
}

/// The lines of a key at an indentation, with everything below it.
fn block(lines: &[&str], within: Range<usize>, indent: usize, key: &str) -> Option<Range<usize>> {
    let mut start = None;
    let mut end = within.end;
    for at in within {
        let text = lines[at].trim();
        let own = lines[at].len() - lines[at].trim_start_matches(' ').len();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        match start {
            None if own < indent => return None,
            None if key_of(lines[at]) == Some((indent, key)) => start = Some(at),
            None => {}
            // A list may stand at the indentation of its key.
            Some(_) if own > indent || (own == indent && text.starts_with("- ")) => {}
            Some(_) => {
                end = at;
                break;
            }
        }
    }
    let start = start?;
    // Comments and empty lines at the end belong to what follows.
    while end > start + 1 {
        let text = lines[end - 1].trim();
        if !(text.is_empty() || text.starts_with('#')) {
            break;
        }
        end -= 1;
    }
    Some(start..end)
}

/// Our entry at an indentation.
fn written(server: &Value, indent: usize, end: &str) -> String {
    let pad = " ".repeat(indent);
    let mut text = format!("{pad}{NAME}:{end}");
    for (name, value) in server.as_object().into_iter().flatten() {
        text += &field(name, value, indent + 2, end);
    }
    text
}

fn field(name: &str, value: &Value, indent: usize, end: &str) -> String {
    let pad = " ".repeat(indent);
    match value {
        Value::Array(values) if !values.is_empty() => {
            let rows: String = values.iter().map(|value| format!("{pad}- {value}{end}")).collect();
            format!("{pad}{name}:{end}{rows}")
        }
        Value::Object(fields) if !fields.is_empty() => {
            let rows = fields.iter().map(|(name, value)| format!("{pad}  {name}: {value}{end}"));
            format!("{pad}{name}:{end}{}", rows.collect::<String>())
        }
        // JSON is YAML.
        other => format!("{pad}{name}: {other}{end}"),
    }
}

/// Replaces the fields of an entry that are ours. Variables that the user added stay.
fn updated(
    lines: &[&str],
    place: &Section,
    entry: &Value,
    server: &Value,
    end: &str,
) -> Result<String, String> {
    let ours = block(lines, place.line + 1..lines.len(), place.indent, NAME).ok_or_else(unplain)?;
    let inner = lines[ours.start + 1..ours.end].iter().find_map(|line| key_of(line));
    let indent = inner.map(|(indent, _)| indent).filter(|indent| *indent > place.indent);
    let indent = indent.ok_or_else(unplain)?;
    let mut kept: Vec<String> = lines[ours.clone()].iter().map(|line| (*line).to_owned()).collect();
    for name in ["cmd", "args", "envs"] {
        let value = match (&entry[name], &server[name]) {
            (Value::Object(own), Value::Object(ours)) => {
                let mut both = own.clone();
                both.extend(ours.clone());
                Value::Object(both)
            }
            (_, ours) => ours.clone(),
        };
        if entry[name] == value || value.is_null() {
            continue;
        }
        let borrowed: Vec<&str> = kept.iter().map(String::as_str).collect();
        let new = field(name, &value, indent, end);
        match block(&borrowed, 1..borrowed.len(), indent, name) {
            Some(range) => drop(kept.splice(range, [new])),
            None => kept.insert(1, new),
        }
    }
    let before: String = lines[..ours.start].concat();
    Ok(format!("{before}{}{}", kept.concat(), lines[ours.end..].concat()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEYS: [&str; 1] = ["extensions"];

    fn server() -> Value {
        json!({
            "enabled": true, "type": "stdio", "name": "notewell", "description": "Your notes: \"all\"",
            "cmd": "/bin/notewell", "args": ["mcp", "--vault", "/home/me/Мои заметки"],
            "envs": { "NOTEWELL_DATA": "/d" }, "timeout": 300,
        })
    }

    const REAL: &str = "# goose\nGOOSE_PROVIDER: anthropic   # mine\nextensions:\n  # built in\n  developer:\n    enabled: true\n    type: builtin\n    name: developer\n    timeout: 300\n    bundled: true\n\n  github:\n    args:\n    - -y\n    - '@modelcontextprotocol/server-github'\n    cmd: npx\n    enabled: false\n    envs: {}\n    type: stdio\nGOOSE_MODEL: claude-4.6-sonnet\n";

    #[test]
    fn an_entry_is_added_and_every_line_stays() {
        let odd = REAL.replace("\n  ", "\n     ");
        for text in [
            REAL.to_owned(),
            REAL.replace('\n', "\r\n"),
            odd,
            String::new(),
            "# only\n".into(),
            "A: 1".into(),
            "extensions:\n".into(),
            "extensions:".into(),
        ] {
            let after = set(&text, &KEYS, &server()).unwrap();
            let mut rest = after.lines();
            for line in text.lines() {
                assert!(rest.any(|found| found == line), "{line:?} is not in {after}");
            }
            if text.contains("\r\n") {
                assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
            }
            assert_eq!(set(&after, &KEYS, &server()).unwrap(), after);
            let parsed: Value = serde_saphyr::from_str(&after).unwrap();
            assert_eq!(parsed["extensions"]["notewell"], server());
            let without = remove(&after, &KEYS).unwrap().unwrap();
            assert!(without.starts_with(text.trim_end()), "{without}");
            assert_eq!(remove(&text, &KEYS).unwrap(), None);
        }
        let after = set(REAL, &KEYS, &server()).unwrap();
        assert_eq!(remove(&after, &KEYS).unwrap().as_deref(), Some(REAL));
    }

    #[test]
    fn an_entry_is_changed_where_it_stands() {
        let text = "extensions:\n  a: {}\n  notewell: # ours\n    cmd: old\n    enabled: false\n    args:\n    - x\n    # mine\n    envs:\n      LANG: ru\n    available_tools: [search]\n\n  # last\n  z:\n    enabled: true\n";
        let after = set(text, &KEYS, &server()).unwrap();
        let parsed: Value = serde_saphyr::from_str(&after).unwrap();
        let entry = &parsed["extensions"]["notewell"];
        assert_eq!(entry["enabled"], false);
        assert_eq!(entry["cmd"], "/bin/notewell");
        assert_eq!(entry["args"][2], "/home/me/Мои заметки");
        assert_eq!(entry["envs"], json!({ "LANG": "ru", "NOTEWELL_DATA": "/d" }));
        for line in [
            "  notewell: # ours\n",
            "    available_tools: [search]\n\n  # last\n  z:\n    enabled: true\n",
            "    # mine\n",
        ] {
            assert!(after.contains(line), "{line:?}: {after}");
        }
        assert_eq!(set(&after, &KEYS, &server()).unwrap(), after);
        let without = remove(&after, &KEYS).unwrap().unwrap();
        assert_eq!(without, "extensions:\n  a: {}\n\n  # last\n  z:\n    enabled: true\n");
    }

    #[test]
    fn what_is_not_plain_is_refused() {
        for text in [
            "extensions: {a: {enabled: true}}\n",
            "- a\n- b\n",
            "a: [\n",
            "extensions: 3\n",
            "{\"extensions\": {\"a\": 1}}\n",
        ] {
            assert!(set(text, &KEYS, &server()).is_err(), "{text}");
        }
        // A line that only looks like the section, within a text.
        let text = "note: |\n  extensions:\n    notewell:\nA: 1\n";
        assert!(set(text, &KEYS, &server()).unwrap().starts_with(text));
    }
}
