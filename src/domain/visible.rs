//! Which part of the library a caller may use, as one value: the index filters by it, and what is
//! computed from a part of the library is kept under it.

use std::sync::Arc;

use super::{Author, Kind, Page, author::fold, user::Extent};

/// A part of the library. Equal values are the same part of every library.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Visible {
    /// What was granted, in canonical order. Priced pages are not in it.
    extents: Arc<[Extent]>,
    /// Whether the priced pages of everybody are in it too.
    priced: bool,
    /// Whose pages are in it, priced or not, whatever was granted.
    own: Option<Author>,
    /// Only pages of this author.
    author: Option<Author>,
}

impl Default for Visible {
    fn default() -> Self {
        Self::everything()
    }
}

impl Visible {
    /// The whole library.
    pub fn everything() -> Self {
        Self { extents: [Extent::All].into(), priced: true, own: None, author: None }
    }

    /// What everybody may read.
    pub fn free() -> Self {
        Self::of([Extent::Free], None)
    }

    /// These parts, and the pages of the author `own`. The price of anybody else's page hides it.
    pub fn of(extents: impl IntoIterator<Item = Extent>, own: Option<Author>) -> Self {
        let mut extents: Vec<Extent> = extents.into_iter().map(canonical).collect();
        extents.sort_unstable();
        extents.dedup();
        if extents.first() == Some(&Extent::All) {
            extents.truncate(1);
        }
        Self { extents: extents.into(), priced: false, own, author: None }
    }

    /// The pages of one author in this part, and nothing else.
    pub fn confined_to(mut self, author: Author) -> Self {
        self.author = Some(author);
        self
    }

    /// The same part of everybody's pages.
    pub fn unconfined(mut self) -> Self {
        self.author = None;
        self
    }

    /// The author whose pages alone are in it.
    pub fn author(&self) -> Option<&Author> {
        self.author.as_ref()
    }

    /// What was granted, in canonical order.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Whose pages are in it whatever was granted.
    pub fn own(&self) -> Option<&Author> {
        self.own.as_ref()
    }

    /// Whether a price hides a page.
    pub fn hides_priced(&self) -> bool {
        !self.priced
    }

    /// Whether nothing of the library is outside.
    pub fn is_everything(&self) -> bool {
        self.has_all() && self.priced && self.author.is_none()
    }

    /// Whether nothing but free pages can be in it.
    pub fn is_only_free(&self) -> bool {
        *self.extents == [Extent::Free] && self.own.is_none()
    }

    fn has_all(&self) -> bool {
        self.extents.first() == Some(&Extent::All)
    }

    /// Whether a page is in it.
    pub fn has_page(&self, page: &Page) -> bool {
        let author = page.author.as_deref().and_then(Author::new);
        let is_of = |wanted: &Author| author.as_ref() == Some(wanted);
        if !self.author.as_ref().is_none_or(is_of) {
            return false;
        }
        if self.own.as_ref().is_some_and(is_of) {
            return true;
        }
        (self.priced || !page.is_priced())
            && self.extents.iter().any(|extent| extent.has_page(page))
    }

    /// Whether a card, a bookmark or a prompt with these labels is in it.
    pub fn has_labelled<'a>(
        &self,
        kind: Kind,
        labels: impl IntoIterator<Item = &'a String> + Clone,
    ) -> bool {
        self.author.is_none()
            && self.extents.iter().any(|extent| match extent {
                Extent::All => true,
                Extent::Kind(own) => *own == kind,
                Extent::Label(label) => {
                    extent.has_kind(kind)
                        && labels.clone().into_iter().any(|own| fold_label(own) == *label)
                }
                _ => false,
            })
    }

    /// Whether items of a kind can be in it.
    pub fn has_kind(&self, kind: Kind) -> bool {
        match kind {
            Kind::Page => {
                self.own.is_some() || self.extents.iter().any(|extent| extent.has_kind(kind))
            }
            // Only pages have an author.
            _ => self.author.is_none() && self.extents.iter().any(|extent| extent.has_kind(kind)),
        }
    }

    /// Whether every item of a kind is in it.
    pub fn has_every(&self, kind: Kind) -> bool {
        let is_whole =
            |extent: &Extent| matches!(extent, Extent::All) || *extent == Extent::Kind(kind);
        self.author.is_none()
            && (kind != Kind::Page || self.priced)
            && self.extents.iter().any(is_whole)
    }
}

/// The form in which labels are compared.
pub fn fold_label(label: &str) -> String {
    fold(label.trim().trim_start_matches('#'))
}

/// One spelling for each extent.
fn canonical(extent: Extent) -> Extent {
    match extent {
        Extent::Label(label) => Extent::Label(fold_label(&label)),
        Extent::Folder { vault, folder } => match folder.trim_matches('/') {
            "" => Extent::Vault(vault),
            trimmed => Extent::Folder { vault, folder: trimmed.to_owned() },
        },
        other => other,
    }
}
