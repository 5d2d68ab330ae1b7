use super::{Replica, lock};
use crate::{
    domain::{Kind, Pid, Result},
    store::items::{Item, Items, Synced},
};

impl Items for Replica {
    fn get(&self, pid: Pid) -> Result<Option<Item>> {
        self.read(|local| local.get(pid))
    }

    fn get_many(&self, pids: &[Pid]) -> Result<Vec<Item>> {
        self.read(|local| Items::get_many(local, pids))
    }

    fn find(&self, kind: Kind, key: &str) -> Result<Option<Item>> {
        self.read(|local| Items::find(local, kind, key))
    }

    fn list(&self, kind: Option<Kind>, after: Option<Pid>, limit: usize) -> Result<Vec<Item>> {
        self.read(|local| Items::list(local, kind, after, limit))
    }

    fn count(&self, kind: Option<Kind>) -> Result<u64> {
        self.read(|local| Items::count(local, kind))
    }

    fn record(&self, kind: Kind, key: &str, stamp: i64) -> Result<Pid> {
        self.write(|remote| Items::record(remote, kind, key, stamp))
    }

    fn remove(&self, kind: Kind, key: &str) -> Result<Option<Pid>> {
        self.write(|remote| Items::remove(remote, kind, key))
    }

    fn sync(&self, kind: Kind, all: &[(String, i64)]) -> Result<Synced> {
        self.write(|remote| Items::sync(remote, kind, all))
    }

    fn forget_stamps(&self, kind: Kind) -> Result<()> {
        self.write(|remote| remote.forget_stamps(kind))
    }

    fn changes(&self, after: i64, limit: usize) -> Result<Vec<(i64, Pid)>> {
        self.read(|local| local.changes(after, limit))
    }

    fn head(&self) -> Result<i64> {
        self.read(Items::head)
    }

    fn acknowledged(&self) -> Result<i64> {
        let local = self.head()?;
        // Asked for in the same request, so the answer is at hand.
        Ok(self.pulse()?.map_or(local, |pulse| pulse.head.max(local)))
    }

    fn absence(&self) -> Option<String> {
        lock(&self.away).as_ref().map(|(_, why)| why.clone())
    }

    fn is_full(&self) -> bool {
        lock(&self.full).is_some()
    }

    fn library(&self) -> Result<i64> {
        self.local.library()
    }
}
