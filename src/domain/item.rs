//! What the library holds: items of four kinds, each with a number that is never reused, and the
//! pointer to a passage inside one.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::error::{Error, Result};

/// The four kinds of item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A Markdown file of a vault.
    Page,
    /// A Keep-like note.
    Card,
    /// A saved post or link.
    Bookmark,
    /// A named list of messages with variables.
    Prompt,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 4] = [Kind::Page, Kind::Card, Kind::Bookmark, Kind::Prompt];

    /// The word used in arguments and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Page => "page",
            Kind::Card => "card",
            Kind::Bookmark => "bookmark",
            Kind::Prompt => "prompt",
        }
    }
}

impl schemars::JsonSchema for Kind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Kind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": Kind::ALL.map(Kind::as_str) })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            Error::invalid_params(format!(
                "kind `{text}` is not one of page, card, bookmark, prompt"
            ))
        })
    }
}

/// The number of an item. It survives edits, renames and moves, and is never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pid(pub i64);

impl Pid {
    /// The number of `p29`, which is `p29:c32` without its passage.
    pub fn of_pointer(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('p')?;
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| digits.parse::<i64>().ok()).flatten().map(Self)
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A passage of an item: `p29:c32` is chunk 32 of item 29.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatchId {
    /// The item.
    pub pid: Pid,
    /// The chunk's ordinal in the item.
    pub chunk: u32,
}

impl fmt::Display for MatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}:c{}", self.pid, self.chunk)
    }
}

impl FromStr for MatchId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || {
            let (pid, chunk) = text.strip_prefix('p')?.split_once(":c")?;
            let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            (digits(pid) && digits(chunk)).then_some(())?;
            Some(MatchId { pid: Pid(pid.parse().ok()?), chunk: chunk.parse().ok()? })
        };
        parse().ok_or_else(|| {
            Error::invalid_params(format!(
                "match_id `{text}` is not of the form `p29:c32`; take it from a search result"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_id_reads_back() {
        let id: MatchId = "p29:c32".parse().unwrap();
        assert_eq!(id, MatchId { pid: Pid(29), chunk: 32 });
        assert_eq!(id.to_string(), "p29:c32");
        for bad in ["", "p29", "29:32", "p:c", "p-1:c2", "p1:c+2", "p1:c2 "] {
            assert!(bad.parse::<MatchId>().is_err(), "{bad:?}");
        }
        assert_eq!(Pid::of_pointer("p29"), Some(Pid(29)));
        for bad in ["", "p", "29", "p29:c32", "p-1", "p+1", "p1 ", "P1", "p99999999999999999999"] {
            assert_eq!(Pid::of_pointer(bad), None, "{bad:?}");
        }
    }
}
