//! What was on the server after the last push, so that what others changed there is noticed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    domain::{Error, Result, error::Doing},
    store::private,
    vault,
};

/// One file as it was pushed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Its etag, here and on the server.
    pub etag: String,
    /// Its size here.
    pub size: u64,
    /// Its modification time here.
    pub mtime_ns: i64,
}

/// Every file by its path.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub files: BTreeMap<String, Known>,
}

/// Where the state of a folder and a server is.
pub fn file(data: &Path, address: &str, root: &Path) -> PathBuf {
    let mut hash = Sha256::new();
    hash.update(address.as_bytes());
    hash.update([0]);
    hash.update(root.as_os_str().as_encoded_bytes());
    let name: String = hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    data.join("push").join(format!("{name}.json"))
}

impl State {
    /// The state, empty before the first push.
    pub fn read(file: &Path) -> Result<Self> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(error).doing(format_args!("read `{}`", file.display())),
        };
        serde_json::from_str(&text).map_err(|error| {
            Error::damaged(format!(
                "`{}` cannot be read ({error}); remove it: then only what is equal on both sides, or new, is pushed without --force",
                file.display()
            ))
        })
    }

    /// Replaces the state.
    pub fn write(&self, file: &Path) -> Result<()> {
        if let Some(folder) = file.parent() {
            if let Some(data) = folder.parent() {
                private::make_private(data)?;
            }
            private::make_private(folder)?;
        }
        let text = serde_json::to_string(self)
            .map_err(|error| Error::internal(format!("could not write JSON: {error}")))?;
        vault::replace(file, text.as_bytes())
    }
}
