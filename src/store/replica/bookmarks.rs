use super::Replica;
use crate::{
    domain::{Bookmark, Pid, Result, Timestamp},
    store::{
        bookmarks::{BookmarkState, Bookmarks, Counted, Filed, Put, Series, Window},
        revisions::NewChange,
    },
};

impl Bookmarks for Replica {
    fn put(&self, batch: &[Filed], change: &mut NewChange) -> Result<Vec<Put>> {
        self.write(|remote| remote.put(batch, change))
    }

    fn record(&self, pid: Pid) -> Result<Option<String>> {
        self.read(|local| Bookmarks::record(local, pid))
    }

    fn put_states(&self, states: &[BookmarkState], change: &mut NewChange) -> Result<()> {
        self.write(|remote| remote.put_states(states, change))
    }

    fn twin(&self, bookmark: &Bookmark) -> Result<Option<(Pid, Bookmark)>> {
        self.read(|local| local.twin(bookmark))
    }

    fn get(&self, pid: Pid) -> Result<Option<Bookmark>> {
        self.read(|local| Bookmarks::get(local, pid))
    }

    fn get_many(&self, pids: &[Pid]) -> Result<Vec<(Pid, Bookmark)>> {
        self.read(|local| Bookmarks::get_many(local, pids))
    }

    fn find(&self, id: &str) -> Result<Option<(Pid, Bookmark)>> {
        self.read(|local| Bookmarks::find(local, id))
    }

    fn list(&self, after: Option<Pid>, limit: usize) -> Result<Vec<(Pid, Bookmark)>> {
        self.read(|local| Bookmarks::list(local, after, limit))
    }

    fn remove(&self, id: &str, change: &mut NewChange) -> Result<bool> {
        self.write(|remote| Bookmarks::remove(remote, id, change))
    }

    fn replace(&self, filed: &Filed, change: &mut NewChange) -> Result<Option<Pid>> {
        self.write(|remote| remote.replace(filed, change))
    }

    fn categories(&self) -> Result<Vec<(String, u64)>> {
        self.read(Bookmarks::categories)
    }

    fn count(&self, window: &Window) -> Result<Counted> {
        self.read(|local| Bookmarks::count(local, window))
    }

    fn series(&self, bounds: &[Timestamp], category: Option<&str>) -> Result<Series> {
        self.read(|local| local.series(bounds, category))
    }

    fn notable(&self, window: &Window, limit: usize) -> Result<Vec<(Pid, Bookmark)>> {
        self.read(|local| local.notable(window, limit))
    }

    fn new_tools(&self, window: &Window, limit: usize) -> Result<Vec<(String, u64)>> {
        self.read(|local| local.new_tools(window, limit))
    }

    fn about_tool(&self, tool: &str, topic: &str, limit: usize) -> Result<Vec<Bookmark>> {
        self.read(|local| local.about_tool(tool, topic, limit))
    }

    fn tool_of(&self, pid: Pid) -> Result<Option<String>> {
        self.read(|local| local.tool_of(pid))
    }
}
