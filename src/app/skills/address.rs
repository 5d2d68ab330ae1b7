//! The addresses of skills: `skill://vaults/VAULT/FOLDER/NAME/FILE` for a folder of a vault,
//! `skill://methods/NAME/SKILL.md` for a method.
//!
//! The first part is fixed and in lower case, because clients may fold the case of what stands in
//! the place of a host.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::domain::VaultPath;

/// The file that makes a folder a skill.
pub const SKILL: &str = "SKILL.md";

/// The longest name of a skill.
pub const MAX_NAME: usize = 64;

const SCHEME: &str = "skill://";
const VAULTS: &str = "vaults";
const METHODS: &str = "methods";

/// What stands in a part of an address as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where an address points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A file or folder of a vault.
    Vault {
        /// The vault.
        vault: String,
        /// The path in it.
        path: VaultPath,
    },
    /// A file of the skill of a method, or, where `file` is `None`, its folder.
    Method {
        /// The skill's name.
        name: String,
        /// The path in the skill.
        file: Option<String>,
    },
}

impl Address {
    /// Reads an address; `None` if it is none of a skill, or has a part that leads elsewhere.
    pub fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?;
        let mut parts = Vec::new();
        for part in rest.split('/') {
            let part = percent_decode_str(part).decode_utf8().ok()?;
            if part.contains('/') {
                return None;
            }
            parts.push(part.into_owned());
        }
        let path = |parts: &[String]| VaultPath::parse(&parts.join("/")).ok();
        match parts.split_first()? {
            (kind, [vault, rest @ ..]) if kind == VAULTS => {
                Some(Self::Vault { vault: vault.clone(), path: path(rest)? })
            }
            (kind, [name]) if kind == METHODS => {
                Some(Self::Method { name: name.clone(), file: None })
            }
            (kind, [name, rest @ ..]) if kind == METHODS => {
                let file = Some(path(rest)?.as_str().to_owned());
                Some(Self::Method { name: name.clone(), file })
            }
            _ => None,
        }
    }
}

/// The address of a file or folder of a vault.
pub fn of_vault(vault: &str, path: &str) -> String {
    let mut uri = format!("{SCHEME}{VAULTS}/");
    uri.extend(utf8_percent_encode(vault, ESCAPED));
    for part in path.split('/') {
        uri.push('/');
        uri.extend(utf8_percent_encode(part, ESCAPED));
    }
    uri
}

/// The address of the skill of a method: its `SKILL.md`.
pub fn of_method(name: &str) -> String {
    format!("{SCHEME}{METHODS}/{name}/{SKILL}")
}

/// The address of a skill's folder.
pub fn folder(uri: &str) -> &str {
    uri.strip_suffix(SKILL).and_then(|uri| uri.strip_suffix('/')).unwrap_or(uri)
}

/// Whether a skill may be called this: `^(?!.*--)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        for (vault, path) in [
            ("notes", "skills/review/SKILL.md"),
            ("Мои заметки", "Навыки/review/файл 1.md"),
            ("日本語", "スキル/plan/図%20/a.png"),
        ] {
            let uri = of_vault(vault, path);
            assert!(uri.is_ascii(), "{uri}");
            let expected =
                Address::Vault { vault: vault.into(), path: VaultPath::parse(path).unwrap() };
            assert_eq!(Address::parse(&uri), Some(expected), "{uri}");
        }
        let expected = Address::Method { name: "plan".into(), file: Some(SKILL.into()) };
        assert_eq!(Address::parse(&of_method("plan")), Some(expected));
        assert_eq!(folder(&of_method("plan")), "skill://methods/plan");
    }

    #[test]
    fn an_address_cannot_leave_its_folder() {
        for uri in [
            "skill://vaults/v/a/../b/SKILL.md",
            "skill://vaults/v/a/%2e%2e/b/SKILL.md",
            "skill://vaults/v/a%2f..%2f..%2fetc/passwd",
            "skill://vaults/v/a/..%5cb",
            "skill://vaults/v//etc/passwd",
            "skill://vaults/v/a/%00",
            "skill://vaults/v/%ff",
            "skill://vaults/v",
            "skill://vaults/v/",
            "skill://methods/x/../y",
            "skill://methods",
            "skill://elsewhere/a/SKILL.md",
            "file:///etc/passwd",
        ] {
            assert_eq!(Address::parse(uri), None, "{uri}");
        }
    }

    #[test]
    fn names_follow_the_pattern() {
        for name in ["a", "0", "code-review", &"x".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "a--b", "A", "a_b", "обзор", "計画", &"x".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_address_names_a_path_with_dots(uri in "skill://vaults/v/[a./%2eEfF\\\\]{0,20}") {
            if let Some(Address::Vault { path, .. }) = Address::parse(&uri) {
                prop_assert!(path.as_str().split('/').all(|part| !matches!(part, "" | "." | "..")));
            }
        }
    }
}
