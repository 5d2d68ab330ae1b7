//! What a search may be narrowed by.

use super::{Kind, Timestamp, Visible, property::PropertyFilter};

/// The filters of `search`, already checked. Every filter that is set must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// Any of these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// A bookmark's category.
    pub category: Option<String>,
    /// Every one of these labels.
    pub labels: Vec<String>,
    /// A path or a folder: `guides/` holds for everything below it.
    pub path: Option<String>,
    /// The author, whatever the case.
    pub author: Option<String>,
    /// From this moment, inclusive.
    pub from: Option<Timestamp>,
    /// Before this moment, exclusive.
    pub until: Option<Timestamp>,
    /// A bookmark's sentiment.
    pub sentiment: Option<Sentiment>,
    /// A bookmark's action.
    pub action: Option<Action>,
    /// Every one of these conditions on properties.
    pub properties: Vec<PropertyFilter>,
    /// None of these may hold.
    pub excluded: Vec<Condition>,
    /// Whether archived cards are searched too.
    pub archived: bool,
    /// The part of the library that is searched. Set by the caller's rights, not by the question.
    pub visible: Visible,
}

impl Filters {
    /// The filters that the caller's rights set, without those of the question.
    pub fn of_rights(&self) -> Self {
        Self { visible: self.visible.clone(), ..Self::default() }
    }

    /// Whether the question itself narrows nothing; rights and connections do not count.
    pub fn is_open(&self) -> bool {
        let asked = Self { visible: Visible::default(), archived: false, ..self.clone() };
        asked == Self::default()
    }
}

/// A property of an item that a question can exclude.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Items of this kind.
    Kind(Kind),
    /// Bookmarks of this category.
    Category(String),
    /// Items with this label.
    Label(String),
    /// This path, or everything below this folder.
    Path(String),
    /// Items of this author.
    Author(String),
    /// Bookmarks of this sentiment.
    Sentiment(Sentiment),
    /// Bookmarks with this action.
    Action(Action),
}

/// A closed set of words with the error that lists them.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $noun:literal, { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[allow(missing_docs, reason = "a variant is the word beside it")]
        pub enum $name { $(#[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            /// The words and nothing else: a model pays for prose beside them.
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "enum": [$($word),+] })
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::domain::Error;

            fn from_str(text: &str) -> $crate::domain::Result<Self> {
                $name::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| {
                    $crate::domain::Error::invalid_params(format!(
                        concat!($noun, " `{}` is not one of {}"),
                        text,
                        [$($word),+].join(", "),
                    ))
                })
            }
        }
    };
}
pub(crate) use words;

words!(
    /// How a saved post sounds.
    Sentiment, "sentiment", { Positive = "positive", Neutral = "neutral", Negative = "negative" }
);

words!(
    /// What the person who saved it probably wants to do with it.
    Action, "action", {
        ReadLater = "read_later",
        TryTool = "try_tool",
        Reference = "reference",
        Share = "share",
        Archive = "archive",
    }
);
