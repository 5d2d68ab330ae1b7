//! TOML settings. Our entry is a table of its own at the end; an entry that is there is changed value
//! by value. Everything else keeps its bytes, which is checked before anything is written.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{Document, Item, TableLike};

use super::file::{NAME, apart, line_end};

/// The text with our entry below these keys.
pub fn set(text: &str, keys: &[&str], server: &Value) -> Result<String, String> {
    let (entry, rest) = read(text, keys)?;
    let after = match entry {
        None => appended(text, keys, server),
        Some(_) => updated(text, keys, server)?,
    };
    let (written, others) = read(&after, keys)?;
    if others != rest || !written.is_some_and(|written| covers(&written, server)) {
        return Err(unplain());
    }
    Ok(after)
}

/// The text without our entry; `None` where there is none.
pub fn remove(text: &str, keys: &[&str]) -> Result<Option<String>, String> {
    let (Some(_), rest) = read(text, keys)? else { return Ok(None) };
    let header = header(keys);
    let mut after = String::with_capacity(text.len());
    let mut ours = false;
    // Comments and empty lines before the next table belong to it.
    let mut held = String::new();
    for line in text.split_inclusive('\n') {
        let bare: String = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        if bare.starts_with('[') {
            ours = bare == format!("[{header}]") || bare.starts_with(&format!("[{header}."));
            if !ours {
                after += &held;
            }
            held.clear();
        }
        match (ours, bare.is_empty()) {
            (false, _) => after += line,
            (true, true) => held += line,
            (true, false) => held.clear(),
        }
    }
    match read(&after, keys)? {
        (None, others) if others == rest => Ok(Some(after)),
        _ => Err(unplain()),
    }
}

fn unplain() -> String {
    "written in a way that this program does not edit".to_owned()
}

fn header(keys: &[&str]) -> String {
    format!("{}.{NAME}", keys.join("."))
}

/// Our entry, and everything else.
fn read(text: &str, keys: &[&str]) -> Result<(Option<Value>, Value), String> {
    let value: toml::Value =
        toml::from_str(text).map_err(|error| format!("not TOML ({})", error.message()))?;
    let value = serde_json::to_value(value).map_err(|_| unplain())?;
    Ok(apart(value, keys))
}

/// Whether an entry has all that ours has.
fn covers(entry: &Value, server: &Value) -> bool {
    match (entry, server) {
        (Value::Object(entry), Value::Object(server)) => {
            server.iter().all(|(name, value)| entry.get(name).is_some_and(|own| covers(own, value)))
        }
        (entry, server) => entry == server,
    }
}

fn appended(text: &str, keys: &[&str], server: &Value) -> String {
    let end = line_end(text);
    let mut after = text.to_owned();
    if !after.is_empty() && !after.ends_with('\n') {
        after += end;
    }
    if !after.trim().is_empty() && !after.ends_with(&format!("{end}{end}")) {
        after += end;
    }
    after += &format!("[{}]{end}", header(keys));
    for (name, value) in server.as_object().into_iter().flatten() {
        after += &format!("{name} = {}{end}", written(value));
    }
    after
}

/// A value as TOML writes it, on one line.
fn written(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name} = {}", written(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => toml::Value::String(text.clone()).to_string(),
        other => other.to_string(),
    }
}

/// Changes the values of an entry that are ours. Fields and variables that the user added stay.
fn updated(text: &str, keys: &[&str], server: &Value) -> Result<String, String> {
    let document = Document::parse(text).map_err(|_| unplain())?;
    let mut entry: &Item = document.as_item();
    for key in keys.iter().chain(&[NAME]) {
        entry = entry.get(key).ok_or_else(unplain)?;
    }
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    update(text, entry, server, &mut edits)?;
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut after = text.to_owned();
    for (range, new) in edits {
        if after.get(range.clone()).is_none() {
            return Err(unplain());
        }
        after.replace_range(range, &new);
    }
    Ok(after)
}

fn update(
    text: &str,
    item: &Item,
    server: &Value,
    edits: &mut Vec<(Range<usize>, String)>,
) -> Result<(), String> {
    let entry: &dyn TableLike = item.as_table_like().ok_or_else(unplain)?;
    // Where a new field goes: behind one that is there.
    let last =
        entry.iter().filter_map(|(_, item)| item.as_value()?.span()).map(|span| span.end).max();
    let mut new = Vec::new();
    for (name, value) in server.as_object().into_iter().flatten() {
        let Some(item) = entry.get(name) else {
            new.push(format!("{name} = {}", written(value)));
            continue;
        };
        if value.is_object() && item.is_table_like() {
            update(text, item, value, edits)?;
            continue;
        }
        let own = item.as_value().ok_or_else(unplain)?;
        let same = toml::from_str::<toml::Value>(&format!("x = {}", own.to_string().trim()));
        let same = same.ok().and_then(|parsed| serde_json::to_value(&parsed["x"]).ok());
        if same.as_ref() != Some(value) {
            edits.push((own.span().ok_or_else(unplain)?, written(value)));
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    let is_inline = item.is_inline_table();
    let last = last.ok_or_else(unplain)?;
    let rest = text.get(last..).unwrap_or_default();
    match is_inline {
        true => edits.push((last..last, format!(", {}", new.join(", ")))),
        false => {
            let end = line_end(text);
            let line = rest.find('\n').map_or(text.len(), |at| last + at + 1);
            let open = if rest.contains('\n') { "" } else { end };
            edits.push((line..line, format!("{open}{}{end}", new.join(end))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEYS: [&str; 1] = ["mcp_servers"];

    fn server() -> Value {
        json!({ "command": "/bin/notewell", "args": ["mcp", "--data", "C:\\d \"x\""], "env": { "NOTEWELL_DATA": "/d" } })
    }

    const REAL: &str = "# Codex\r\nmodel = \"gpt-5.4\"   # mine\r\n\r\n[mcp_servers.docs]\r\ncommand='npx'\r\nargs = [ \"-y\",\r\n  \"docs-mcp\", ]\r\n\r\n# trusted\r\n[projects.\"/home/me/a b\"]\r\ntrust_level = \"trusted\"\r\n";

    #[test]
    fn an_entry_is_added_and_every_byte_stays() {
        for text in
            [REAL, "", "\n", "model = \"x\"", "[mcp_servers]\n", &REAL.replace("\r\n", "\n")]
        {
            let after = set(text, &KEYS, &server()).unwrap();
            assert!(after.starts_with(text), "{after}");
            assert_eq!(set(&after, &KEYS, &server()).unwrap(), after);
            if text.contains("\r\n") {
                assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
            }
            let without = remove(&after, &KEYS).unwrap().unwrap();
            assert_eq!(without.trim_end(), text.trim_end());
            assert_eq!(remove(&without, &KEYS).unwrap(), None);
        }
    }

    #[test]
    fn an_entry_is_changed_where_it_stands() {
        let text = "[mcp_servers.notewell] # ours\ncommand = \"old\" # here\nargs = [\n  \"mcp\", # one\n]\nstartup_timeout_sec = 20\n\n[mcp_servers.notewell.env]\nLANG = \"ru_RU\"\n\n# next\n[tui]\nx = 1\n";
        let after = set(text, &KEYS, &server()).unwrap();
        for line in [
            "[mcp_servers.notewell] # ours",
            "command = \"/bin/notewell\" # here",
            "startup_timeout_sec = 20",
            "LANG = \"ru_RU\"\nNOTEWELL_DATA = \"/d\"\n\n# next\n[tui]\nx = 1\n",
        ] {
            assert!(after.contains(line), "{line}: {after}");
        }
        let removed = remove(&after, &KEYS).unwrap().unwrap();
        assert_eq!(removed.trim_start(), "# next\n[tui]\nx = 1\n");
        let inline = "[mcp_servers]\nnotewell = { command = \"old\", env = { A = \"b\" } }\nother = { command = \"x\" }\n";
        let after = set(inline, &KEYS, &server()).unwrap();
        assert!(
            after.contains("A = \"b\", NOTEWELL_DATA = \"/d\"")
                && after.contains("other = { command = \"x\" }\n"),
            "{after}"
        );
        // An inline entry is not taken out by whole lines.
        assert!(remove(inline, &KEYS).is_err());
    }

    #[test]
    fn what_is_not_settings_is_refused() {
        for text in [
            "{\"a\": 1}",
            "mcp_servers = 3\n",
            "mcp_servers = { a = { command = \"x\" } }\n",
            "a = \n",
        ] {
            assert!(set(text, &KEYS, &server()).is_err(), "{text}");
        }
        // A line that only looks like a header, within a text.
        let text = "note = '''\n[mcp_servers.notewell]\n'''\n";
        assert!(set(text, &KEYS, &server()).unwrap().starts_with(text));
        assert_eq!(remove(text, &KEYS).unwrap(), None);
    }
}
