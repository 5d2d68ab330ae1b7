use super::Replica;
use crate::{
    domain::{Result, VaultPath},
    store::{
        Pages,
        texts::{Texts, Unread},
    },
    vault::{Stamp, TextFile},
};

impl Texts for Replica {
    fn read(&self, vault: &str, path: &VaultPath) -> Result<Result<TextFile, Unread>> {
        let local = self.fresh()?;
        if let Some(row) = Pages::find(local, vault, path.as_str())?
            && let Some(data) = local.mirrored_text(row.pid, &row.hash)?
            && let Ok(text) = String::from_utf8(data)
        {
            let stamp = Stamp { size: row.size, mtime_ns: row.mtime_ns };
            return Ok(Ok(TextFile { text, stamp, hash: row.hash }));
        }
        self.texts.read(vault, path)
    }
}
