//! Groups of tools that are switched on and off together.

use super::{Result, query::words};

words!(
    /// A group of tools.
    Toolset, "toolset", {
        Vault = "vault",
        Cards = "cards",
        Bookmarks = "bookmarks",
        Prompts = "prompts",
        Market = "market",
    }
);

/// A set of toolsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Toolsets(u8);

impl Toolsets {
    /// Every toolset.
    pub const ALL: Toolsets = Toolsets(u8::MAX);

    /// Parses a list such as `vault,cards`. A repeated name counts once.
    pub fn parse(list: &str) -> Result<Self> {
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(str::parse::<Toolset>).collect()
    }

    /// Whether a toolset is in the set.
    pub fn has(self, toolset: Toolset) -> bool {
        self.0 & Self::bit(toolset) != 0
    }

    /// The toolsets that are in both sets.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn bit(toolset: Toolset) -> u8 {
        1 << (toolset as u8)
    }
}

impl FromIterator<Toolset> for Toolsets {
    fn from_iter<T: IntoIterator<Item = Toolset>>(toolsets: T) -> Self {
        Self(toolsets.into_iter().fold(0, |bits, toolset| bits | Self::bit(toolset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_set_can_only_narrow() {
        let both =
            Toolsets::parse("vault, cards").unwrap().and([Toolset::Vault].into_iter().collect());
        assert!(both.has(Toolset::Vault));
        assert!(!both.has(Toolset::Cards) && !both.has(Toolset::Prompts));
        assert!(Toolsets::parse("vault,kitchen").is_err());
    }

    #[test]
    fn a_repeated_toolset_counts_once() {
        let once = Toolsets::parse("vault").unwrap();
        for list in ["vault,vault", "vault, vault,vault", ",vault,,vault"] {
            assert_eq!(Toolsets::parse(list).unwrap(), once, "{list}");
        }
    }
}
