//! The links of a vault before and after a note has moved: which of them lead elsewhere, and how
//! they are written so that they lead where they did. Pure, but for a look at attachments.

use serde_json::Value;

use crate::{
    domain::{Pid, VaultPath},
    markdown::{
        LinkTarget,
        edit::{LinkForm, LinkPlace, link_places, rewrite_links},
    },
    store::pages::PageRow,
    vault::{self, LinkIndex},
};

/// A move of one page, as every link of its vault sees it.
pub struct Relink<'a> {
    pages: &'a [PageRow],
    moved: usize,
    to: &'a VaultPath,
    before: LinkIndex,
    after: LinkIndex,
}

/// A text whose links were rewritten.
pub struct Relinked {
    pub text: String,
    /// Each path as it was written, and as it is now.
    pub links: Vec<(String, String)>,
}

impl<'a> Relink<'a> {
    /// `title` is the one that the page has after the move.
    pub fn new(pages: &'a [PageRow], pid: Pid, to: &'a VaultPath, title: &str) -> Option<Self> {
        let moved = pages.iter().position(|page| page.pid == pid)?;
        let entry = |row: &'a PageRow| {
            let page = &row.facts.page;
            (&page.path, page.title.as_str(), page.aliases.as_slice())
        };
        let before = LinkIndex::new(pages.iter().map(entry));
        let after = LinkIndex::new(pages.iter().enumerate().map(|(at, row)| {
            let (path, old, aliases) = entry(row);
            if at == moved { (to, title, aliases) } else { (path, old, aliases) }
        }));
        Some(Self { pages, moved, to, before, after })
    }

    /// Where a page is before and after the move.
    fn places(&self, at: usize) -> (&VaultPath, &VaultPath) {
        let old = &self.pages[at].facts.page.path;
        (old, if at == self.moved { self.to } else { old })
    }

    /// The pages with a link that would lead elsewhere, or nowhere, and the moved page itself.
    pub fn concerned(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.pages.len()).filter(|&at| {
            let (old, new) = self.places(at);
            at == self.moved
                || links_of(&self.pages[at]).iter().any(|link| {
                    let before = self.before.resolve_address(Some(old), link);
                    before.is_some() && before != self.target_after(old, new, link)
                })
        })
    }

    /// Where a link leads after the move. One that led there by its path must do so again: that a
    /// title or an alias happens to be the same helps no other program.
    fn target_after(&self, old: &VaultPath, new: &VaultPath, link: &str) -> Option<usize> {
        match self.before.resolve_address_path(Some(old), link) {
            Some(_) => self.after.resolve_address_path(Some(new), link),
            None => self.after.resolve_address(Some(new), link),
        }
    }

    /// The text of a page with every link leading where it led. Only paths of links change.
    /// `has_file` says whether the vault has a file.
    pub fn rewrite(
        &self,
        at: usize,
        text: &str,
        has_file: &dyn Fn(&VaultPath) -> bool,
    ) -> Relinked {
        let (old, new) = self.places(at);
        let places = link_places(text);
        let mut paths: Vec<(&LinkPlace, String)> = Vec::new();
        for place in &places {
            let before = self.before.resolve_address(Some(old), &place.path);
            let path = match before {
                Some(target) => {
                    let after = self.target_after(old, new, &place.path);
                    (after != Some(target)).then(|| self.path_to(target, place, old, new))
                }
                None => attachment(place, old, new, has_file),
            };
            paths.extend(path.map(|path| (place, path)));
        }
        let links = paths.iter().map(|(place, path)| (place.path.clone(), path.clone())).collect();
        Relinked { text: rewrite_links(text, &paths), links }
    }

    /// Whether every link of a rewritten text leads where it led before.
    pub fn keeps_links(&self, at: usize, before: &str, after: &str) -> bool {
        let (old, new) = self.places(at);
        let targets = |index: &LinkIndex, from: &VaultPath, text: &str| -> Vec<Option<usize>> {
            let places = link_places(text);
            places.iter().map(|place| index.resolve_address(Some(from), &place.path)).collect()
        };
        let (old, new) = (targets(&self.before, old, before), targets(&self.after, new, after));
        old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| old.is_none() || old == new)
    }

    /// A path to a page in the style of the link: a bare name stays one where it is enough, a
    /// relative path stays relative, `.md` is kept or left out.
    fn path_to(
        &self,
        target: usize,
        place: &LinkPlace,
        old: &VaultPath,
        new: &VaultPath,
    ) -> String {
        let full = self.places(target).1.as_str();
        let written = place.path.as_str();
        let has_extension = written.len() > 3 && written.to_ascii_lowercase().ends_with(".md");
        let trim = |path: &str| match has_extension {
            true => path.to_owned(),
            false => path[..path.len() - ".md".len()].to_owned(),
        };
        let relative = relative(new.folder(), full);
        let dotted = match relative.starts_with("../") {
            true => relative.clone(),
            false => format!("./{relative}"),
        };
        let name = full.rsplit('/').next().unwrap_or(full);
        let beside = vault::join_path(old.folder(), written).is_some_and(|path| {
            let was = self.pages[target].facts.page.path.as_str();
            path.eq_ignore_ascii_case(was) || format!("{path}.md").eq_ignore_ascii_case(was)
        });
        let mut styles: Vec<&str> = Vec::new();
        if written.starts_with("./") || written.starts_with("../") {
            styles.push(&dotted);
        } else if place.form != LinkForm::Wiki && beside {
            styles.push(&relative);
        } else if !written.contains('/') {
            styles.push(name);
        }
        let absolute = format!("/{full}");
        if written.starts_with('/') {
            styles.push(&absolute);
        }
        styles.extend([full, dotted.as_str(), absolute.as_str()]);
        let leads_there =
            |path: &String| self.after.resolve_address_path(Some(new), path) == Some(target);
        let mut paths = styles.iter().map(|path| trim(path));
        paths.find(leads_there).unwrap_or_else(|| dotted.clone())
    }
}

/// Every target that a page names: in its text, and in quoted properties.
fn links_of(row: &PageRow) -> Vec<String> {
    let mut links = row.facts.links.clone();
    let mut values: Vec<&Value> = row.facts.page.extra.values().collect();
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) => links.extend(text.split("[[").skip(1).filter_map(|link| {
                let path = LinkTarget::wiki(link.split(['|', ']']).next()?).path;
                (!path.is_empty()).then_some(path)
            })),
            Value::Array(items) => values.extend(items),
            Value::Object(fields) => values.extend(fields.values()),
            _ => {}
        }
    }
    links
}

/// The new path of a link from the moved note to a file that is no note, such as a picture. `None`
/// when the link stays as it is.
fn attachment(
    place: &LinkPlace,
    old: &VaultPath,
    new: &VaultPath,
    has_file: &dyn Fn(&VaultPath) -> bool,
) -> Option<String> {
    if old.folder() == new.folder() || place.path.starts_with('/') {
        return None;
    }
    let is_dotted = place.path.starts_with("./") || place.path.starts_with("../");
    if place.form == LinkForm::Wiki && !is_dotted {
        return None;
    }
    let file = VaultPath::parse(&vault::join_path(old.folder(), &place.path)?).ok()?;
    has_file(&file).then(|| relative(new.folder(), file.as_str()))
}

/// The way from a folder to a file.
fn relative(folder: &str, file: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = file.split('/').collect();
    let shared = from.iter().zip(&to[..to.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_leads_from_folder_to_file() {
        for (folder, file, expected) in [
            ("", "a.md", "a.md"),
            ("x", "x/a.md", "a.md"),
            ("x/y", "x/a.md", "../a.md"),
            ("x", "日記/五月.md", "../日記/五月.md"),
            ("", "б/a.md", "б/a.md"),
        ] {
            assert_eq!(relative(folder, file), expected);
            assert_eq!(vault::join_path(folder, expected).as_deref(), Some(file));
        }
    }
}
