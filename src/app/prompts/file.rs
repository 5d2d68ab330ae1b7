//! A file written for somebody else: whole or not at all.

use std::{io::Write, path::Path};

use crate::{
    domain::{Error, Result, error::Doing},
    vault,
};

pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = vault::folder_of(path);
    let doing = || format!("write `{}`", path.display());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any program would make it: the umask takes away what it takes away.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.prefix(".notewell-").tempfile_in(folder).doing(doing())?;
    file.write_all(bytes).doing(doing())?;
    file.as_file().sync_all().doing(doing())?;
    file.persist(path).map_err(|error| {
        Error::internal(format!("could not {}: {error}", doing())).with_source(error)
    })?;
    vault::sync_folder(folder)
}
