//! The address of the running server and its process, in the data directory, so that `open` finds it
//! whatever its port, and `service` does not take another one on the same library for its own.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use crate::vault;

const FILE: &str = "serving";

/// The file with the address, gone when this is dropped.
pub struct Serving {
    file: PathBuf,
    text: String,
}

impl Serving {
    /// Writes the address down. A server without the file serves as well.
    pub fn announce(data: &Path, address: SocketAddr) -> Self {
        let text = format!("{address}\n{}\n", std::process::id());
        let serving = Self { file: data.join(FILE), text };
        vault::remove_abandoned(data);
        if let Err(error) = vault::write::replace(&serving.file, serving.text.as_bytes()) {
            tracing::warn!(%error, "`notewell open` will not find this server by itself");
        }
        serving
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // A second server on the same library may have written its own address since.
        if std::fs::read_to_string(&self.file).is_ok_and(|text| text == self.text) {
            drop(std::fs::remove_file(&self.file));
        }
    }
}

/// The address that was written down last. Whether a server still answers there is not known.
pub fn address(data: &Path) -> Option<SocketAddr> {
    Some(read(data)?.0)
}

/// The address that was written down last, where this process did it.
pub fn address_of(data: &Path, process: u32) -> Option<SocketAddr> {
    let (address, by) = read(data)?;
    (by == Some(process)).then_some(address)
}

/// The address, and the process of the server.
fn read(data: &Path) -> Option<(SocketAddr, Option<u32>)> {
    let text = std::fs::read_to_string(data.join(FILE)).ok()?;
    let mut lines = text.lines();
    let address = lines.next()?.parse().ok()?;
    Some((address, lines.next().and_then(|line| line.parse().ok())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_server_is_found_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(address(folder.path()), None);
        let [first, second]: [SocketAddr; 2] =
            ["127.0.0.1:1".parse().unwrap(), "[::1]:2".parse().unwrap()];
        let earlier = Serving::announce(folder.path(), first);
        let later = Serving::announce(folder.path(), second);
        drop(earlier);
        assert_eq!(address(folder.path()), Some(second));
        drop(later);
        assert_eq!(address(folder.path()), None);
    }

    #[test]
    fn an_address_is_that_of_the_process_that_wrote_it() {
        let folder = tempfile::tempdir().unwrap();
        let here: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let _serving = Serving::announce(folder.path(), here);
        assert_eq!(address_of(folder.path(), std::process::id()), Some(here));
        assert_eq!(address_of(folder.path(), std::process::id() + 1), None);
    }
}
