//! The project that an address leads to: a repository, or a package in a registry.

use url::Url;

/// A project, by the name people use for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// `owner/name`.
    pub name: String,
    /// Its repository, when the address leads to one.
    pub repository: Option<String>,
}

/// First parts of a forge's paths that are no account.
const PAGES: &[&str] = &[
    "about",
    "apps",
    "blog",
    "collections",
    "contact",
    "customers",
    "enterprise",
    "events",
    "explore",
    "features",
    "issues",
    "login",
    "marketplace",
    "new",
    "notifications",
    "orgs",
    "pricing",
    "pulls",
    "readme",
    "search",
    "security",
    "settings",
    "site",
    "sponsors",
    "stars",
    "topics",
    "trending",
    "users",
];

const FORGES: &[&str] = &["github.com", "gitlab.com", "codeberg.org", "bitbucket.org"];
/// Hosts that redirect to a forge.
const ALIASES: &[(&str, &str)] =
    &[("togithub.com", "github.com"), ("redirect.github.com", "github.com")];

/// The project of an address; `None` for any other page.
pub fn project(address: &str) -> Option<Project> {
    let url = Url::parse(address.trim()).ok()?;
    let host = url.host_str()?.to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let host = ALIASES.iter().find(|(alias, _)| *alias == host).map_or(host, |(_, forge)| forge);
    let parts: Vec<&str> = url.path_segments()?.filter(|part| !part.is_empty()).collect();
    if FORGES.contains(&host) {
        let [owner, name, ..] = parts[..] else { return None };
        let name = name.strip_suffix(".git").unwrap_or(name);
        if PAGES.contains(&owner) || name.is_empty() {
            return None;
        }
        let repository = Some(format!("https://{host}/{owner}/{name}"));
        return Some(Project { name: name.to_owned(), repository });
    }
    let name = match (host, &parts[..]) {
        ("npmjs.com", ["package", scope, name, ..]) if scope.starts_with('@') => {
            format!("{scope}/{name}")
        }
        ("npmjs.com", ["package", name, ..])
        | ("pypi.org", ["project", name, ..])
        | ("crates.io", ["crates", name, ..])
        | ("rubygems.org", ["gems", name, ..])
        | ("docs.rs", ["crate", name, ..])
        | ("packagist.org", ["packages", _, name, ..]) => (*name).to_owned(),
        _ => return None,
    };
    Some(Project { name, repository: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_or_a_package_is_a_project() {
        for (address, name) in [
            ("https://github.com/crewAIInc/crewAI/tree/main", "crewAI"),
            ("https://www.github.com/a/b.git", "b"),
            ("https://togithub.com/a/b", "b"),
            ("https://codeberg.org/forgejo/forgejo#readme", "forgejo"),
            ("https://www.npmjs.com/package/@scope/pkg", "@scope/pkg"),
            ("https://pypi.org/project/langchain/", "langchain"),
            ("https://crates.io/crates/tantivy", "tantivy"),
        ] {
            assert_eq!(project(address).unwrap().name, name, "{address}");
        }
        let repository = project("https://github.com/a/b/issues/1?x=1").unwrap().repository;
        assert_eq!(repository.as_deref(), Some("https://github.com/a/b"));
        for address in [
            "https://github.com/features/actions",
            "https://github.com/a",
            "https://example.org/a/b",
            "no",
        ] {
            assert_eq!(project(address), None, "{address}");
        }
    }
}
