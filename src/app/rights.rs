//! What one request may see and do. Every transport makes one [`Rights`] for each request; nothing
//! else in the program decides who may do what.

use super::App;
use crate::{
    config,
    domain::{
        Author, Caller, Filters, Kind, Page, Toolset, Toolsets,
        user::{Extent, Role, User},
    },
    store::revisions::Actor,
};

/// Something that a request may need to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Read items of a kind. Of pages, only those that [`Rights::sees`] are visible.
    Read(Kind),
    /// Read the prompts that are shared with everybody.
    SharedPrompts,
    /// Add, change and delete items of a kind.
    Write(Kind),
    /// Use the tools of a toolset.
    Use(Toolset),
    /// See what was changed in the library, and take changes back.
    History,
    /// Have repositories fetched and verified on this machine.
    VerifyRepositories,
    /// Have the configured language model called, which may cost money.
    LanguageModel,
    /// Know the state of the library: that it is empty, that a vault cannot be read, which
    /// categories there are.
    LibraryState,
    /// Read why something failed.
    Causes,
    /// Read the metrics.
    Metrics,
    /// Use the part of the server's capacity that is kept for the owner.
    ReservedCapacity,
}

/// The rights of one request: its caller, the toolsets of its connection, and the author to whom it
/// is confined.
#[derive(Debug, Clone)]
pub struct Rights {
    caller: Caller,
    toolsets: Toolsets,
    author: Option<Author>,
}

/// Which pages a request sees. Requests with equal values see the same pages, prompts and methods.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VisiblePages {
    /// Only pages that everybody may see.
    pub only_free: bool,
    /// Only pages of this author.
    pub author: Option<Author>,
}

impl VisiblePages {
    /// Whether nothing of the library is hidden.
    pub fn is_everything(&self) -> bool {
        !self.only_free && self.author.is_none()
    }
}

impl Rights {
    /// The rights of a caller, with the toolsets that the config switches on.
    pub fn new(caller: Caller, toolsets: &config::Toolsets) -> Self {
        Self { caller, toolsets: toolsets.enabled(), author: None }
    }

    /// The same rights with these toolsets only. Cannot add one.
    pub fn within(mut self, toolsets: Toolsets) -> Self {
        self.toolsets = self.toolsets.and(toolsets);
        self
    }

    /// The same rights, confined to the pages of one author.
    pub fn confined_to(mut self, author: Author) -> Self {
        self.author = Some(author);
        self
    }

    /// The same rights without an author. For looking up whether there is such an author.
    pub(super) fn unconfined(mut self) -> Self {
        self.author = None;
        self
    }

    /// What the caller is to the library, for logs and metrics.
    pub fn role(&self) -> Role {
        self.caller.role()
    }

    /// The user who makes the request; `None` for whoever runs the process, and without a token.
    pub fn user(&self) -> Option<&User> {
        match &self.caller {
            Caller::User(user) => Some(user),
            Caller::Owner | Caller::Anonymous => None,
        }
    }

    /// Who makes the request.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The author to whom the request is confined.
    pub fn author(&self) -> Option<&Author> {
        self.author.as_ref()
    }

    /// Who makes a change with this tool, for the journal.
    pub fn actor(&self, tool: &str) -> Actor {
        let who = match &self.caller {
            Caller::User(user) => user.name.as_str(),
            Caller::Owner | Caller::Anonymous => self.role().as_str(),
        };
        Actor::new(who, tool)
    }

    /// Whether the request may do this.
    pub fn may(&self, right: Right) -> bool {
        let is_owner = self.caller.role() == Role::Owner;
        let is_confined = self.author.is_some();
        match right {
            Right::Read(kind) => {
                // Only pages have an author.
                (!is_confined || kind == Kind::Page)
                    && self.caller.grants().any(|grant| grant.extent.has_kind(kind))
            }
            Right::Write(kind) => {
                !is_confined
                    && self.caller.grants().any(|grant| grant.write && grant.extent.has_kind(kind))
            }
            Right::SharedPrompts => !is_confined,
            Right::Use(toolset) => self.toolsets.has(toolset),
            Right::LibraryState | Right::History | Right::VerifyRepositories => {
                is_owner && !is_confined
            }
            Right::LanguageModel => self.caller.role() != Role::Anonymous,
            Right::Causes | Right::Metrics | Right::ReservedCapacity => is_owner,
        }
    }

    /// Whether the request may read a page.
    pub fn sees(&self, page: &Page) -> bool {
        let by_author =
            self.author.as_ref().is_none_or(|author| author.is_called(page.author.as_deref()));
        by_author && self.caller.grants().any(|grant| grant.extent.has_page(page))
    }

    /// Whether the request may call a page that is a method. What is for sale can be called by
    /// everybody who pays; only its author and the owner read it.
    pub fn calls(&self, page: &Page) -> bool {
        let is_of = |author: &Author| author.is_called(page.author.as_deref());
        self.sees(page) || (page.is_priced() && self.author().is_none_or(is_of))
    }

    /// Which pages the request sees, as a key for what is computed from them.
    pub fn visible_pages(&self) -> VisiblePages {
        VisiblePages { only_free: self.only_free(), author: self.author.clone() }
    }

    /// Whether the request sees only what everybody may.
    pub fn only_free(&self) -> bool {
        !self.caller.grants().any(|grant| grant.extent == Extent::All)
    }

    /// Narrows a search to what the request may read.
    pub fn narrow(&self, filters: &mut Filters) {
        filters.only_free |= self.only_free();
        filters.only_author = self.author.clone();
    }
}

impl App {
    /// The rights of a caller in this library.
    pub fn rights(&self, caller: Caller) -> Rights {
        Rights::new(caller, &self.config.toolsets)
    }

    /// The rights of whoever runs this process.
    pub fn owner(&self) -> Rights {
        self.rights(Caller::Owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Scopes,
        user::{Grant, User},
    };

    fn of(caller: Caller) -> Rights {
        Rights::new(caller, &config::Toolsets::default())
    }

    fn user(role: Role, grants: Vec<Grant>) -> Caller {
        let scopes = Scopes::ALL;
        Caller::User(User { id: None, name: "n".into(), role, grants: grants.into(), scopes })
    }

    #[test]
    fn a_role_decides_what_is_about_the_server() {
        let (reader, owner) = (of(user(Role::Reader, Vec::new())), of(Caller::Owner));
        for right in [
            Right::Metrics,
            Right::Causes,
            Right::ReservedCapacity,
            Right::LibraryState,
            Right::History,
            Right::VerifyRepositories,
        ] {
            assert!(owner.may(right) && !reader.may(right), "{right:?}");
        }
        assert!(reader.may(Right::LanguageModel));
        assert!(!of(Caller::Anonymous).may(Right::LanguageModel));
    }

    #[test]
    fn a_grant_decides_what_is_read_and_written() {
        let reader = of(user(Role::Reader, Vec::new()));
        let all = Grant { write: false, ..Grant::EVERYTHING };
        let trusted = of(user(Role::Reader, vec![all]));
        assert!(reader.may(Right::Read(Kind::Page)) && !reader.may(Right::Read(Kind::Card)));
        assert!(trusted.may(Right::Read(Kind::Card)) && !trusted.may(Right::Write(Kind::Card)));
        assert!(of(Caller::Owner).may(Right::Write(Kind::Card)));
        assert!(reader.only_free() && !trusted.only_free());
    }

    #[test]
    fn an_authors_address_has_pages_only() {
        let confined = of(Caller::Owner).confined_to(Author::new("Mira").unwrap());
        assert!(confined.may(Right::Read(Kind::Page)) && !confined.may(Right::Write(Kind::Page)));
        for kind in [Kind::Card, Kind::Bookmark, Kind::Prompt] {
            assert!(!confined.may(Right::Read(kind)) && !confined.may(Right::Write(kind)));
        }
        let mut filters = Filters::default();
        confined.narrow(&mut filters);
        assert!(!filters.only_free && filters.only_author.is_some());
    }
}
