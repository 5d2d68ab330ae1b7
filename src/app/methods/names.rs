//! What a method is called by one caller.
//!
//! Two authors may give their pages the same `mcp_method`. On the common address the page with the
//! lower `pid`, which was published first, keeps the plain name; another author's is
//! `author.name`. On an author's own address every name is plain. Only the pages that the caller
//! may call take part, so that a hidden page changes no name.

use std::collections::HashSet;

use super::Method;
use crate::domain::Author;

/// The longest name that clients accept.
pub const MAX_NAME: usize = 128;

/// Whether clients accept a character in the name of a tool.
pub fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Gives every method its name for this caller; the result is ordered by it. Of several pages of
/// one author with the same `mcp_method`, the first in the list is the method.
pub(super) fn assign(methods: Vec<Method>) -> Vec<Method> {
    let mut known: HashSet<(Option<Author>, String)> = HashSet::new();
    let mut methods: Vec<Method> = methods
        .into_iter()
        .filter(|method| known.insert((method.author(), method.own_name().to_owned())))
        .collect();
    methods.sort_by_key(|method| method.row.pid);
    let authors: HashSet<Author> = methods.iter().filter_map(Method::author).collect();
    let mut taken: HashSet<String> = HashSet::new();
    for method in &mut methods {
        let candidates = [
            Some(method.own_name().to_owned())
                .filter(|name| !names_another(name, method, &authors)),
            method.author().and_then(|author| qualified(author.as_str(), method.own_name())),
            qualified(&format!("p{}", method.row.pid), method.own_name()),
        ];
        let name = candidates.into_iter().flatten().find(|name| !taken.contains(name));
        method.name = name.unwrap_or_else(|| format!("p{}", method.row.pid));
        taken.insert(method.name.clone());
    }
    methods.sort_by(|a, b| a.name.cmp(&b.name));
    methods
}

/// Whether a plain name reads as if it were another author's: `mira.review` is Mira's to give.
fn names_another(name: &str, method: &Method, authors: &HashSet<Author>) -> bool {
    let author = name.split_once('.').and_then(|(author, _)| Author::new(author));
    author.is_some_and(|author| authors.contains(&author) && method.author() != Some(author))
}

fn qualified(by: &str, name: &str) -> Option<String> {
    let full = format!("{by}.{name}");
    (full.len() <= MAX_NAME && !by.contains('.') && full.chars().all(is_plain)).then_some(full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{Pid, VaultPath},
        store::pages::{Authorship, Facts, PageRow},
        vault,
    };

    fn method(pid: i64, author: &str, name: &str) -> Method {
        let path = VaultPath::parse(&format!("{pid}.md")).unwrap();
        let text = format!("---\nmcp_method: {name}\nauthor: {author}\n---\n");
        let (page, _) = vault::page("v", &path, &text);
        let row = PageRow {
            pid: Pid(pid),
            vault: "v".into(),
            path: path.as_str().into(),
            size: 0,
            mtime_ns: 0,
            hash: [0; 32],
            facts: Facts { page, links: Vec::new(), toc: Vec::new(), slow_ms: None },
            authorship: Authorship::Frontmatter,
        };
        Method::new(row, None)
    }

    fn names(methods: Vec<Method>) -> Vec<(i64, String)> {
        let mut names: Vec<(i64, String)> =
            assign(methods).into_iter().map(|method| (method.row.pid.0, method.name)).collect();
        names.sort();
        names
    }

    #[test]
    fn the_first_author_keeps_the_plain_name() {
        let methods = vec![method(9, "Mira", "review"), method(4, "anna", "review")];
        assert_eq!(names(methods), [(4, "review".into()), (9, "mira.review".into())]);
    }

    #[test]
    fn an_author_without_a_plain_name_is_named_by_the_number_of_the_page() {
        let methods = vec![method(1, "mira", "review"), method(2, "Анна", "review")];
        assert_eq!(names(methods), [(1, "review".into()), (2, "p2.review".into())]);
        let methods = vec![method(1, "mira", "review"), method(2, "", "review")];
        assert_eq!(names(methods), [(1, "review".into()), (2, "p2.review".into())]);
    }

    #[test]
    fn nobody_takes_the_name_of_another_authors_method() {
        let methods = vec![
            method(1, "anna", "review"),
            method(2, "eve", "mira.review"),
            method(3, "mira", "review"),
        ];
        let expected =
            [(1, "review".into()), (2, "eve.mira.review".into()), (3, "mira.review".into())];
        assert_eq!(names(methods), expected);
    }

    #[test]
    fn one_author_has_a_name_once() {
        let methods = vec![method(5, "mira", "review"), method(2, "Mira", "review")];
        assert_eq!(names(methods), [(5, "review".into())]);
    }
}
