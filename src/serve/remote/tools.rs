//! Which tools of a server search and read, and how they are called: chosen by name, and called
//! with the arguments that their input schemas name.

use serde_json::{Map, Value};

/// How to search and to read on one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Tools {
    pub search: SearchTool,
    pub read: Option<ReadTool>,
}

/// A tool that searches.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchTool {
    pub name: String,
    /// The argument that takes the question.
    query: String,
    /// The argument that takes a number of results.
    limit: Option<String>,
    fixed: Map<String, Value>,
    /// Whether it reads filters in a question as ours does.
    pub knows_filters: bool,
}

/// A tool that reads a note.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadTool {
    pub name: String,
    /// The argument that takes a path or another name of a note.
    reference: Option<String>,
    /// Arguments of ours that it takes, too.
    properties: Vec<String>,
    fixed: Map<String, Value>,
}

const SEARCH: [&str; 8] = [
    "search",
    "search_notes",
    "search_knowledge",
    "search_memory",
    "vault_search",
    "query",
    "find",
    "find_notes",
];
const READ: [&str; 9] = [
    "note_html",
    "read_note",
    "read",
    "fetch",
    "get_note",
    "read_content",
    "vault_read",
    "open",
    "get",
];
const QUERY: [&str; 8] = ["query", "q", "question", "text", "search", "keywords", "term", "input"];
const LIMIT: [&str; 8] =
    ["limit", "page_size", "max_results", "n_results", "top_k", "k", "count", "num_results"];
const REFERENCE: [&str; 9] =
    ["identifier", "path", "id", "permalink", "uri", "file_path", "note", "href", "name"];

impl Tools {
    /// Chooses from the tools that a server lists; `named` is the one that the config names.
    pub fn choose(listed: &[Value], named: &str) -> Result<Self, String> {
        let search = match named.is_empty() {
            true => {
                let found = ranked(listed, &SEARCH, "search");
                let found: Vec<SearchTool> = found.into_iter().filter_map(SearchTool::of).collect();
                // One that takes a number of results is the fuller one of two.
                let fuller = found.iter().find(|tool| tool.limit.is_some());
                fuller.or(found.first()).cloned().ok_or_else(|| {
                    let names = listed.iter().filter_map(|tool| tool["name"].as_str());
                    let names: Vec<&str> = names.take(20).collect();
                    format!(
                        "lists no tool that searches and takes a question alone; its tools: {}. Name one with `tool`",
                        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
                    )
                })?
            }
            false => {
                let tool = listed.iter().find(|tool| tool["name"] == named);
                let tool = tool.ok_or_else(|| format!("lists no tool called `{named}`"))?;
                SearchTool::of(tool).ok_or_else(|| {
                    format!("lists `{named}`, which is no tool that takes a question alone")
                })?
            }
        };
        let read = ranked(listed, &READ, "read").into_iter().find_map(ReadTool::of);
        Ok(Self { search, read })
    }
}

/// Tools that change nothing, those with these names first, then those whose names have the word.
fn ranked<'a>(listed: &'a [Value], names: &[&str], word: &str) -> Vec<&'a Value> {
    let rank = |tool: &Value| {
        let name = tool["name"].as_str()?.to_lowercase();
        let place = names.iter().position(|known| *known == name);
        place.or_else(|| name.split(['_', '-', '.', '/']).any(|part| part == word).then_some(99))
    };
    let mut found: Vec<(usize, &Value)> = listed
        .iter()
        .filter(|tool| is_harmless(tool))
        .filter_map(|tool| Some((rank(tool)?, tool)))
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, tool)| tool).collect()
}

/// Whether a tool changes nothing, as far as the server says.
fn is_harmless(tool: &Value) -> bool {
    let hints = &tool["annotations"];
    hints["readOnlyHint"] == true
        || (hints["readOnlyHint"].is_null() && hints["destructiveHint"] != true)
}

/// The arguments of a tool: their names with their schemas, and which are required.
struct Arguments<'a> {
    properties: Vec<(&'a str, &'a Value)>,
    required: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    fn of(tool: &'a Value) -> Self {
        let schema = &tool["inputSchema"];
        let properties = schema["properties"].as_object().into_iter().flatten();
        let required = schema["required"].as_array().into_iter().flatten();
        Self {
            properties: properties.map(|(name, schema)| (name.as_str(), schema)).collect(),
            required: required.filter_map(Value::as_str).collect(),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.properties.iter().find(|(own, _)| *own == name).map(|(_, schema)| *schema)
    }

    /// The first of these arguments that takes a value of this type.
    fn first(&self, names: &[&str], kind: &str) -> Option<String> {
        let is = |name: &&&str| self.get(name).is_some_and(|schema| takes(schema, kind));
        names.iter().find(is).map(|name| (*name).to_owned())
    }

    /// An argument that asks for JSON instead of text, where there is one.
    fn json_format(&self) -> Map<String, Value> {
        let names = ["output_format", "response_format"];
        let found = names.iter().filter(|name| {
            self.get(name).is_some_and(|schema| {
                let options = schema["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
                options.iter().any(|option| option == "json")
            })
        });
        found.map(|name| ((*name).to_owned(), "json".into())).collect()
    }
}

/// Whether a schema takes a value of a type.
fn takes(schema: &Value, kind: &str) -> bool {
    let is = |found: &Value| found == kind || (kind == "integer" && found == "number");
    is(&schema["type"])
        || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(is))
        || schema["anyOf"].as_array().is_some_and(|some| some.iter().any(|it| takes(it, kind)))
}

impl SearchTool {
    /// `None` where a question alone is not enough to call it.
    fn of(tool: &Value) -> Option<Self> {
        let arguments = Arguments::of(tool);
        let only = || match arguments.required.as_slice() {
            [one] if takes(arguments.get(one)?, "string") => Some((*one).to_owned()),
            _ => None,
        };
        let query = arguments.first(&QUERY, "string").or_else(only)?;
        let limit = arguments.first(&LIMIT, "integer");
        let is_filled = |name: &&str| *name == query || Some(*name) == limit.as_deref();
        if !arguments.required.iter().all(is_filled) {
            return None;
        }
        Some(Self {
            name: tool["name"].as_str()?.to_owned(),
            query,
            limit,
            fixed: arguments.json_format(),
            knows_filters: ["filters", "cursor", "max_tokens", "rerank"]
                .iter()
                .all(|name| arguments.get(name).is_some()),
        })
    }

    /// The arguments of a search: the question, and how many results are shown.
    pub fn arguments(&self, question: &str, results: usize) -> Map<String, Value> {
        let mut arguments = self.fixed.clone();
        arguments.insert(self.query.clone(), question.into());
        if let Some(limit) = &self.limit {
            arguments.insert(limit.clone(), results.into());
        }
        arguments
    }
}

impl ReadTool {
    fn of(tool: &Value) -> Option<Self> {
        let arguments = Arguments::of(tool);
        let reference = arguments.first(&REFERENCE, "string");
        if reference.is_none() && arguments.get("match_id").is_none() {
            return None;
        }
        if !arguments.required.iter().all(|name| Some(*name) == reference.as_deref()) {
            return None;
        }
        let own = ["match_id", "toc_path", "context_words", "max_tokens"];
        let own = own.iter().filter(|name| arguments.get(name).is_some());
        let mut fixed = arguments.json_format();
        let formats = arguments.get("format").and_then(|schema| schema["enum"].as_array());
        if formats.is_some_and(|formats| formats.iter().any(|format| format == "markdown")) {
            fixed.insert("format".into(), "markdown".into());
        }
        Some(Self {
            name: tool["name"].as_str()?.to_owned(),
            reference,
            properties: own.map(|name| (*name).to_owned()).collect(),
            fixed,
        })
    }

    /// The arguments of a read. `None` where the tool cannot take this handle.
    pub fn arguments(&self, handle: &str, ours: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut arguments = self.fixed.clone();
        let is_match = handle.parse::<crate::domain::MatchId>().is_ok();
        match (&self.reference, self.takes("match_id") && is_match) {
            (_, true) => drop(arguments.insert("match_id".into(), handle.into())),
            (Some(reference), false) => drop(arguments.insert(reference.clone(), handle.into())),
            (None, false) => return None,
        }
        for name in ["toc_path", "context_words", "max_tokens"] {
            if let Some(value) = ours.get(name).filter(|value| self.takes(name) && !value.is_null())
            {
                arguments.insert(name.to_owned(), value.clone());
            }
        }
        Some(arguments)
    }

    pub fn takes(&self, name: &str) -> bool {
        self.properties.iter().any(|own| own == name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, properties: Value, required: &[&str]) -> Value {
        json!({ "name": name, "inputSchema": { "properties": properties, "required": required } })
    }

    fn text() -> Value {
        json!({ "type": "string" })
    }

    #[test]
    fn the_tools_of_real_servers_are_chosen() {
        // basic-memory.
        let number = json!({ "type": "integer", "default": 10 });
        let tools = [
            tool("search", json!({ "query": text() }), &["query"]),
            tool(
                "search_notes",
                json!({
                    "query": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                    "page_size": number,
                    "output_format": { "enum": ["text", "json"], "type": "string" },
                }),
                &[],
            ),
            tool("read_note", json!({ "identifier": text(), "page": number }), &["identifier"]),
        ];
        let chosen = Tools::choose(&tools, "").unwrap();
        assert_eq!(chosen.search.name, "search_notes");
        let arguments = Value::Object(chosen.search.arguments("розы", 5));
        assert_eq!(arguments, json!({ "output_format": "json", "query": "розы", "page_size": 5 }));
        let read = chosen.read.unwrap().arguments("garden/roses", &Map::new()).unwrap();
        assert_eq!(Value::Object(read), json!({ "identifier": "garden/roses" }));
        // trip2g.
        let tools = [
            tool("similar", json!({ "text": text() }), &["text"]),
            tool("search", json!({ "query": text() }), &["query"]),
            tool("note_html", json!({ "path": text(), "match_id": text(), "pid": number }), &[]),
        ];
        let chosen = Tools::choose(&tools, "").unwrap();
        assert_eq!(Value::Object(chosen.search.arguments("京都", 5)), json!({ "query": "京都" }));
        let read = chosen.read.unwrap();
        for (handle, expected) in [
            ("p29:c32", json!({ "match_id": "p29:c32" })),
            ("/programming/go", json!({ "path": "/programming/go" })),
        ] {
            assert_eq!(Value::Object(read.arguments(handle, &Map::new()).unwrap()), expected);
        }
    }

    #[test]
    fn a_tool_that_writes_or_needs_more_is_not_called() {
        let mut writes = tool("search", json!({ "query": text() }), &["query"]);
        writes["annotations"] = json!({ "destructiveHint": true });
        let more = tool(
            "search_notes",
            json!({ "query": text(), "project": text() }),
            &["query", "project"],
        );
        let odd = tool("search_files", json!({ "pattern": text() }), &["pattern"]);
        let refused = Tools::choose(&[writes.clone(), more.clone()], "").unwrap_err();
        assert!(refused.contains("search, search_notes"), "{refused}");
        assert_eq!(Tools::choose(&[writes, more, odd], "").unwrap().search.name, "search_files");
        assert!(Tools::choose(&[], "look").unwrap_err().contains("`look`"));
    }
}
