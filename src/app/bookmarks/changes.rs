//! What the owner does to bookmarks one by one: adds, judges, takes away.

use crate::{
    app::App,
    domain::{
        Bookmark, Error, Pid, Result, Timestamp,
        bookmark::Judged,
        query::{Action, Sentiment},
    },
    store::{
        bookmarks::Put,
        revisions::{Actor, NewChange},
    },
};

/// A bookmark that somebody adds by hand: what they say of it is theirs.
#[derive(Debug, Clone, Default)]
pub struct Add {
    /// The address; empty for a text without a link.
    pub url: String,
    /// The page's title.
    pub title: Option<String>,
    /// What the page or post says: the caller has it, nothing is fetched.
    pub text: Option<String>,
    /// The account's handle.
    pub author: Option<String>,
    /// The person's own fields.
    pub change: Change,
}

/// What the owner decides. `None` leaves what there is.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Replaces the tags.
    pub tags: Option<Vec<String>>,
    /// A name of the taxonomy.
    pub category: Option<String>,
    /// What to do with it.
    pub action: Option<Action>,
    /// How the text speaks.
    pub sentiment: Option<Sentiment>,
    /// One sentence.
    pub summary: Option<String>,
}

impl Change {
    fn apply(&self, bookmark: &mut Bookmark) {
        fn set<T: Clone>(field: &mut Option<Judged<T>>, value: &Option<T>) {
            if let Some(value) = value {
                *field = Some(Judged::by_user(value.clone()));
            }
        }
        set(&mut bookmark.tags, &self.tags);
        set(&mut bookmark.category, &self.category);
        set(&mut bookmark.action, &self.action);
        set(&mut bookmark.sentiment, &self.sentiment);
        set(&mut bookmark.summary, &self.summary);
    }
}

/// The most that one bookmark may say.
const MAX_BYTES: usize = 1 << 20;

impl App {
    /// Saves a link, or updates the one that is there.
    pub fn add_bookmark(&self, add: Add, now: Timestamp, actor: &Actor) -> Result<(Put, Bookmark)> {
        let url = url::Url::parse(add.url.trim())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some())
            .ok_or_else(|| {
                Error::invalid_params(format!(
                    "url `{}` is not an http or https address; write it whole, as `https://example.org/page`",
                    add.url.chars().take(200).collect::<String>()
                ))
            })?;
        let text = add.text.unwrap_or_default();
        if text.len() > MAX_BYTES {
            return Err(Error::invalid_params(format!(
                "text has {} bytes, at most {MAX_BYTES} are kept; give the part that matters",
                text.len()
            )));
        }
        let id = post_id(&url);
        let mut bookmark = Bookmark::new(id.as_deref(), url.as_str(), &text, now)?;
        bookmark.title = add.title.unwrap_or_default();
        bookmark.author = add
            .author
            .map(|author| author.trim().trim_start_matches('@').to_owned())
            .filter(|author| !author.is_empty());
        add.change.apply(&mut bookmark);
        let filed = self.judge(vec![bookmark])?;
        let mut journalled = NewChange::new(actor, "save bookmark");
        let put = self.store.bookmarks.put(&filed, &mut journalled)?.into_iter().next();
        self.journal.prune(&journalled);
        let put = put.ok_or_else(|| Error::internal("the store put nothing"))?;
        self.wake_index();
        let bookmark = self.store.bookmarks.get(put.pid())?;
        Ok((put, bookmark.ok_or_else(|| Error::internal("the bookmark is not there after all"))?))
    }

    /// Changes what the owner decides of a bookmark, by its id or address.
    pub fn change_bookmark(
        &self,
        id: &str,
        change: &Change,
        actor: &Actor,
    ) -> Result<(Pid, Bookmark)> {
        let (_, mut bookmark) = self.named_bookmark(id)?;
        change.apply(&mut bookmark);
        let filed = self.judge(vec![bookmark.clone()])?;
        let filed = filed.first().ok_or_else(|| Error::internal("nothing was filed"))?;
        let mut journalled = NewChange::new(actor, "change bookmark");
        let replaced = self.store.bookmarks.replace(filed, &mut journalled)?;
        self.journal.prune(&journalled);
        let pid = replaced.ok_or_else(|| missing(id))?;
        self.wake_index();
        Ok((pid, bookmark))
    }

    /// Deletes a bookmark and returns it.
    pub fn remove_bookmark(&self, id: &str, actor: &Actor) -> Result<Bookmark> {
        let (_, bookmark) = self.named_bookmark(id)?;
        let mut journalled = NewChange::new(actor, "remove bookmark");
        if !self.store.bookmarks.remove(&bookmark.id, &mut journalled)? {
            return Err(missing(id));
        }
        self.journal.prune(&journalled);
        self.wake_index();
        Ok(bookmark)
    }

    /// The bookmark of that id or address.
    pub fn named_bookmark(&self, id: &str) -> Result<(Pid, Bookmark)> {
        if let Some(found) = self.store.bookmarks.find(id)? {
            return Ok(found);
        }
        let address = Bookmark::new(None, id, "", Timestamp(0)).map_err(|_| missing(id))?;
        self.store.bookmarks.twin(&address)?.ok_or_else(|| missing(id))
    }
}

fn missing(id: &str) -> Error {
    Error::invalid_params(format!(
        "there is no bookmark `{id}`; `search` with kind bookmark gives ids and addresses"
    ))
}

/// A post on X is known by its number, wherever the address came from.
fn post_id(url: &url::Url) -> Option<String> {
    let same = crate::domain::bookmark::same_address(url.as_str());
    same.strip_prefix("x.com/i/status/").map(str::to_owned)
}
