//! Vaults whose folder moved: recognised when the folder is added again, and pointed at the new one.
//! A vault keeps its name, so its numbers, history and grants stay.

use std::path::Path;

use crate::{
    app::Sources,
    domain::{Error, Result, VaultPath},
    store::pages::VaultRow,
    vault,
};

/// Notes that are looked for in a new folder.
const SAMPLE: usize = 200;

/// Notes of a vault that a folder has at their old paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Overlap {
    there: usize,
    of: usize,
}

impl Sources {
    /// Refuses a new folder that has the notes of a vault whose own folder is gone, unless it is
    /// given another name.
    pub(super) fn check_not_moved(&self, root: &Path, name: Option<&str>) -> Result<()> {
        for vault in self.store.pages.vaults()? {
            let is_meant = name.is_none_or(|name| name.is_empty() || name == vault.name);
            if vault.is_hosted() || vault.folder().is_dir() || !is_meant {
                continue;
            }
            let overlap = self.overlap(&vault, root)?;
            if overlap.there > 0 && overlap.there * 2 >= overlap.of {
                return Err(Error::conflict(format!(
                    "`{new}` has the notes of the vault `{name}`, whose folder `{old}` is gone. If the folder moved, run `notewell vault move {name} {new}`, which keeps history and grants; to read it as another vault, give it a name of its own",
                    new = root.display(),
                    name = vault.name,
                    old = vault.location
                )));
            }
        }
        Ok(())
    }

    /// Reads a vault from another folder from now on. The folder must have notes of the vault.
    pub fn move_vault(&self, name: &str, folder: &Path) -> Result<VaultRow> {
        let vault = self.vault(name)?.ok_or_else(|| super::unknown_vault(name))?;
        if vault.is_hosted() {
            return Err(Error::invalid_params(format!(
                "`{name}` is a hosted vault, which has no folder; `notewell export vault {name} DIR` writes its files to one"
            )));
        }
        let root = super::folder_of_vault(folder)?;
        let location = root.to_string_lossy();
        if location == vault.location {
            return Ok(vault);
        }
        if let Some(other) = self.store.pages.vaults()?.iter().find(|row| row.location == location)
        {
            return Err(Error::conflict(format!(
                "`{location}` is read as the vault `{other}` already; `notewell vault remove {other}` ends that, then move `{name}` there. Nothing was changed",
                other = other.name
            )));
        }
        let overlap = self.overlap(&vault, &root)?;
        if overlap.of > 0 && overlap.there == 0 {
            return Err(Error::conflict(format!(
                "`{location}` has none of the notes of `{name}` at their paths, so they would all leave the library; nothing was changed. `notewell vault add {location}` reads it as another vault"
            )));
        }
        self.store.pages.move_vault(name, &location)?;
        self.vault(name)?.ok_or_else(|| super::unknown_vault(name))
    }

    fn overlap(&self, vault: &VaultRow, root: &Path) -> Result<Overlap> {
        let pages = self.store.pages.of_vault(&vault.name)?;
        let step = pages.len().div_ceil(SAMPLE).max(1);
        let sample = pages.iter().step_by(step);
        let (mut there, mut of) = (0, 0);
        for page in sample {
            of += 1;
            let path = VaultPath::parse(&page.path)?;
            there += usize::from(vault::locate(root, &path).is_file());
        }
        Ok(Overlap { there, of })
    }
}
