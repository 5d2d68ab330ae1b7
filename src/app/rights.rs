//! What one request may see and do. Every transport makes one [`Rights`] for each request; nothing
//! else in the program decides who may do what.

use super::App;
use crate::{
    config,
    domain::{
        Author, Bookmark, Caller, Card, Error, Filters, Kind, Page, Result, Toolset, Toolsets,
        Visible,
        user::{Extent, Role, User},
    },
    store::revisions::Actor,
};

/// Something that a request may need to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Read items of a kind. Which of them, [`Rights::visible`] says.
    Read(Kind),
    /// Read every item of a kind, as counts over all of them do.
    ReadEvery(Kind),
    /// Read the prompts that are shared with everybody.
    SharedPrompts,
    /// Add, change and delete items of a kind. Which of them, [`Rights::writes`] and
    /// [`Rights::writes_card`] say.
    Write(Kind),
    /// Add, change and delete every item of a kind.
    WriteEvery(Kind),
    /// Use the tools of a toolset.
    Use(Toolset),
    /// See what was changed in the library, and take changes back.
    History,
    /// Have repositories fetched and verified on this machine.
    VerifyRepositories,
    /// Start long work on the library: imports, a new index.
    Maintain,
    /// Have the configured language model called, which may cost money.
    LanguageModel,
    /// Be shown what other bases answer to the owner's token.
    OtherBases,
    /// Be shown what other bases answer that the config marks as public.
    PublicBases,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    caller: Caller,
    toolsets: Toolsets,
    /// What it may read.
    readable: Visible,
    /// What it may write, as far as it may also read it.
    writable: Visible,
}

impl Rights {
    /// The rights of a caller, with the toolsets that the config switches on.
    pub fn new(caller: Caller, toolsets: &config::Toolsets) -> Self {
        let (readable, writable) = parts(&caller);
        Self { caller, toolsets: toolsets.enabled(), readable, writable }
    }

    /// The same rights with these toolsets only. Cannot add one.
    pub fn within(mut self, toolsets: Toolsets) -> Self {
        self.toolsets = self.toolsets.and(toolsets);
        self
    }

    /// The same rights, confined to the pages of one author. Nothing is written there.
    pub fn confined_to(mut self, author: Author) -> Self {
        self.readable = self.readable.confined_to(author);
        self.writable = Visible::of([], None);
        self
    }

    /// The same rights without an author. For looking up whether there is such an author.
    pub(super) fn unconfined(mut self) -> Self {
        self.readable = self.readable.unconfined();
        self
    }

    /// The rights of another caller on the same connection: its toolsets and its author stay.
    pub(super) fn of_caller(&self, caller: Caller) -> Self {
        let (readable, writable) = parts(&caller);
        let same = Self { caller, toolsets: self.toolsets, readable, writable };
        match self.author() {
            Some(author) => same.confined_to(author.clone()),
            None => same,
        }
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
        self.readable.author()
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
        let is_confined = self.author().is_some();
        let may_write = match &self.caller {
            Caller::Owner => true,
            Caller::User(user) => user.scopes.write,
            Caller::Anonymous => false,
        };
        match right {
            Right::Read(kind) => self.readable.has_kind(kind),
            Right::ReadEvery(kind) => self.readable.has_every(kind),
            Right::Write(kind) => self.writable.has_kind(kind),
            Right::WriteEvery(kind) => self.writable.has_every(kind),
            Right::SharedPrompts => !is_confined,
            Right::Use(toolset) => self.toolsets.has(toolset),
            Right::LibraryState => is_owner && self.readable.is_everything(),
            Right::OtherBases => is_owner && self.readable.is_everything() && !is_confined,
            Right::PublicBases => !is_confined,
            Right::History | Right::VerifyRepositories | Right::Maintain => {
                is_owner && may_write && !is_confined
            }
            Right::LanguageModel => self.caller.role() != Role::Anonymous,
            Right::Causes | Right::Metrics | Right::ReservedCapacity => is_owner,
        }
    }

    /// What the request may read. Requests with equal values read the same pages, and call the same
    /// methods.
    pub fn visible(&self) -> &Visible {
        &self.readable
    }

    /// Whether the request may read a page.
    pub fn sees(&self, page: &Page) -> bool {
        self.readable.has_page(page)
    }

    /// Whether the request may call a page that is a method. What is for sale can be called by
    /// everybody who pays; only its author and the owner read it.
    pub fn calls(&self, page: &Page) -> bool {
        let is_of = |author: &Author| author.is_called(page.author.as_deref());
        self.sees(page) || (page.price().is_some() && self.author().is_none_or(is_of))
    }

    /// Whether the request may change a page, or make it.
    pub fn writes(&self, page: &Page) -> bool {
        self.sees(page) && self.writable.has_page(page) && self.may_instruct(page)
    }

    /// Whether the request may write a page that is a method or a skill. Agents of everybody who
    /// sees such a page follow it, so that a grant does not suffice: only the owner and the page's
    /// author may.
    fn may_instruct(&self, page: &Page) -> bool {
        let is_own = |own: &Author| own.is_called(page.author.as_deref());
        !page.instructs()
            || self.caller.role() == Role::Owner
            || self.writable.own().is_some_and(is_own)
    }

    /// Whether the request may make pages somewhere in a vault, which may be an author's.
    pub fn may_write_in(&self, vault: &str, author: Option<&Author>) -> bool {
        let is_own = author.is_some() && self.writable.own() == author;
        is_own
            || self.writable.extents().iter().any(|extent| match extent {
                Extent::All | Extent::Kind(Kind::Page) => true,
                Extent::Vault(own) | Extent::Folder { vault: own, .. } => own == vault,
                Extent::Author(own) => author == Some(own),
                Extent::Free | Extent::Members | Extent::Label(_) | Extent::Kind(_) => false,
            })
    }

    /// Whether the request may read a card.
    pub fn sees_card(&self, card: &Card) -> bool {
        self.readable.has_labelled(Kind::Card, card.labels.iter().flatten())
    }

    /// Whether the request may change a card, or make it.
    pub fn writes_card(&self, card: &Card) -> bool {
        self.sees_card(card) && self.writable.has_labelled(Kind::Card, card.labels.iter().flatten())
    }

    /// Whether the request may read a bookmark.
    pub fn sees_bookmark(&self, bookmark: &Bookmark) -> bool {
        let tags = bookmark.tags.iter().flat_map(|judged| &judged.value);
        self.readable.has_labelled(Kind::Bookmark, bookmark.labels.iter().chain(tags))
    }

    /// Narrows a search to what the request may read.
    pub fn narrow(&self, filters: &mut Filters) {
        filters.visible = self.readable.clone();
    }

    /// Refuses a change that would leave a page, as it is or as it becomes, outside of what the
    /// request may write.
    pub fn check_write(&self, page: &Page) -> Result<()> {
        if self.writes(page) {
            return Ok(());
        }
        if !self.may_instruct(page) {
            return Err(Error::invalid_params(format!(
                "you may not write `{}`: agents follow a page with `mcp_method` and a `SKILL.md`, so only the owner and its author write one; nothing was changed",
                page.path
            )));
        }
        Err(Error::invalid_params(format!(
            "you may not write `{}`{}; nothing was changed. You may write {}",
            page.path,
            if self.sees(page) { "" } else { " as it would be" },
            self.describe_writable()
        )))
    }

    /// What the request may write, for an error.
    pub(super) fn describe_writable(&self) -> String {
        let extents = self.writable.extents().iter().map(ToString::to_string);
        let own = self
            .writable
            .own()
            .map(|author| format!("the pages whose `author` is `{}`", author.as_str()));
        let parts: Vec<String> = own.into_iter().chain(extents).collect();
        match parts.is_empty() {
            true => "nothing here".to_owned(),
            false => parts.join(", "),
        }
    }
}

/// What a caller may read, and what of it they may write.
fn parts(caller: &Caller) -> (Visible, Visible) {
    let nothing = || Visible::of([], None);
    let user = match caller {
        Caller::Owner => return (Visible::everything(), Visible::everything()),
        Caller::Anonymous => return (Visible::free(), nothing()),
        Caller::User(user) => user,
    };
    let User { role, scopes, .. } = user;
    if !scopes.read {
        return (Visible::free(), nothing());
    }
    if *role == Role::Owner {
        let writable = if scopes.write { Visible::everything() } else { nothing() };
        return (Visible::everything(), writable);
    }
    let own = || match role {
        Role::Author => Author::new(&user.name),
        Role::Owner | Role::Reader | Role::Anonymous => None,
    };
    let extents = |write: bool| -> Vec<Extent> {
        let grants = caller.grants().filter(|grant| grant.write || !write);
        grants.map(|grant| grant.extent.clone()).collect()
    };
    let writable = match scopes.write {
        true => Visible::of(extents(true), own()),
        false => nothing(),
    };
    (Visible::of(extents(false), own()), writable)
}

impl App {
    /// The rights of a caller in this library.
    pub fn rights(&self, caller: Caller) -> Rights {
        Rights::new(caller, &self.config.toolsets)
    }

    /// The same rights as they are now: what was granted to the account since they were made, or
    /// taken back. For connections that outlive a request.
    pub fn renewed(&self, rights: &Rights) -> Result<Rights> {
        let Caller::User(user) = rights.caller() else { return Ok(rights.clone()) };
        let Some(id) = user.id else { return Ok(rights.clone()) };
        let account = self.store.users.get(id)?.filter(|account| account.removed.is_none());
        let Some(account) = account else { return Ok(rights.of_caller(Caller::Anonymous)) };
        let grants = self.store.users.grants(id)?.into_iter().map(|row| row.grant);
        Ok(rights.of_caller(Caller::User(User {
            id: Some(id),
            name: account.name.to_string(),
            role: account.role,
            grants: grants.collect(),
            scopes: user.scopes,
        })))
    }

    /// The rights of whoever runs this process.
    pub fn owner(&self) -> Rights {
        self.rights(Caller::Owner)
    }
}

#[cfg(test)]
mod tests;
