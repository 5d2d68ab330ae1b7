//! One request's view of a hosted vault, as the file system that the protocol's crate asks for.

use std::{
    collections::HashMap,
    future::Future,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use axum::http::{Method, StatusCode};
use bytes::{Bytes, BytesMut};
use dav_server::{
    davpath::DavPath,
    fs::{
        DavDirEntry, DavFile, DavFileSystem, DavMetaData, DavProp, FsError, FsFuture, FsResult,
        FsStream, OpenOptions, ReadDirMeta,
    },
};
use futures::stream;
use tokio::sync::OnceCell;

use super::{
    file::{Metadata, OpenFile},
    lost,
    outcome::{CHANGED, Outcome},
    transfer::Transfer,
};
use crate::{
    app::{
        App,
        hosted::{Ends, HostedVault},
        rights::Rights,
    },
    domain::{Code, Error, Result, VaultPath},
    store::{
        hosted::{Expected, HostedFile, Property},
        pages::VaultRow,
    },
    vault::walk,
};

/// Folders that one PROPFIND lists at most.
const MAX_LISTED: usize = 100;

/// The vault of one request.
#[derive(Clone)]
pub struct VaultFiles {
    pub app: Arc<App>,
    pub rights: Arc<Rights>,
    pub vault: Arc<str>,
    /// The vault as it was when the request began, once the caller is known to know it.
    pub row: Arc<OnceCell<VaultRow>>,
    pub method: Method,
    /// The request says what it expects to be there.
    pub conditional: bool,
    /// The time that a written file gets.
    pub mtime_ns: Option<i64>,
    /// What was first seen at each path: what the request's conditions were checked against.
    pub seen: Arc<Mutex<HashMap<VaultPath, Expected>>>,
    pub listed: Arc<AtomicUsize>,
    /// Whether any file of the vault has properties. The crate asks for each file of a listing.
    pub has_properties: Arc<OnceCell<bool>>,
    /// What a COPY or MOVE takes where.
    pub transfer: Option<Transfer>,
    /// The crate asked to delete what is at the destination before something takes its place.
    pub is_replacing: Arc<AtomicBool>,
    /// Something took the place of the destination.
    pub is_replaced: Arc<AtomicBool>,
    pub outcome: Arc<Outcome>,
}

impl VaultFiles {
    /// Runs work on the blocking pool.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&HostedVault<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (app, rights, vault) = (self.app.clone(), self.rights.clone(), self.vault.clone());
        let known = self.row.clone();
        let done = tokio::task::spawn_blocking(move || {
            let vault = match known.get() {
                Some(row) => app.same_hosted_vault(row.clone(), &rights),
                None => app.hosted_vault(&vault, &rights)?,
            };
            work(&vault)
        });
        done.await.unwrap_or_else(|error| Err(lost(error)))
    }

    /// The same, in the terms of the protocol's crate.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&HostedVault<'_>) -> Result<T> + Send + 'static,
    ) -> FsResult<T> {
        self.run(work).await.map_err(|error| self.outcome.refuse(&error))
    }

    /// Refuses a vault that the caller does not know or that is no hosted one.
    pub async fn open_vault(&self) -> Result<()> {
        let row = self.run(|vault| Ok(vault.row.clone())).await?;
        // It is set once: nobody else has this request.
        let _ = self.row.set(row);
        Ok(())
    }

    /// Refuses what the caller has no right to, before the protocol's crate looks at locks: that
    /// there is one says that a file is there.
    pub async fn check_rights(&self, path: Option<VaultPath>) -> Result<()> {
        let (method, transfer) = (self.method.clone(), self.transfer.clone());
        self.run(move |vault| match (method.as_str(), path, transfer) {
            ("LOCK" | "UNLOCK", path, _) => vault.check_change(path.as_ref()),
            ("PUT" | "PATCH" | "MKCOL", Some(path), _) => vault.check_reach(&path),
            (_, _, Some(transfer)) => vault.check_reach(&transfer.to),
            _ => Ok(()),
        })
        .await
    }

    /// Whether the caller may lock a path, in normal form; the empty one is the vault itself.
    pub async fn may_lock(&self, path: &str) -> bool {
        let path = VaultPath::parse(path).ok();
        self.run(move |vault| vault.check_change(path.as_ref())).await.is_ok()
    }

    /// Whether the caller may know of a lock at a path, in normal form: they see what is there, or
    /// may write there.
    pub async fn reaches(&self, path: &str) -> bool {
        // The vault itself is known to everybody who gets here.
        let Ok(path) = VaultPath::parse(path) else { return true };
        match self.run(move |vault| vault.check_reach(&path)).await {
            Ok(()) => true,
            Err(error) => error.code != Code::InvalidParams,
        }
    }

    /// The path of a request; `None` is the vault itself.
    fn path(&self, path: &DavPath) -> FsResult<Option<VaultPath>> {
        let refuse = |error: &Error| self.outcome.refuse(error);
        let text = std::str::from_utf8(path.as_bytes())
            .map_err(|_| refuse(&Error::invalid_params("the path is not UTF-8")))?;
        match text.trim_matches('/') {
            "" => Ok(None),
            text => VaultPath::parse(text).map(Some).map_err(|error| refuse(&error)),
        }
    }

    /// The same for what cannot be done to the vault itself.
    fn inner_path(&self, path: &DavPath) -> FsResult<VaultPath> {
        self.path(path)?.ok_or_else(|| {
            self.outcome.refuse(&Error::invalid_params(
                "this is the vault itself; name something inside it",
            ))
        })
    }

    /// Whether this is what a COPY or MOVE replaces. The crate empties it first; here it goes when
    /// something takes its place, or stays.
    fn is_destination(&self, path: Option<&VaultPath>) -> bool {
        let destination = self.transfer.as_ref().map(|transfer| &transfer.to);
        destination.is_some() && destination == path
    }

    /// What must be at a path still: what the request's conditions were checked against.
    fn expected(&self, path: &VaultPath) -> Expected {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match self.conditional {
            true => seen.get(path).copied().unwrap_or(Expected::Any),
            false => Expected::Any,
        }
    }

    /// The same for both ends of a COPY or MOVE.
    fn ends(&self, from: &VaultPath, to: &VaultPath) -> Ends {
        let is_destination = self.is_destination(Some(to));
        let keeps = self.transfer.as_ref().is_some_and(|transfer| transfer.keeps_destination);
        Ends {
            source: self.expected(from),
            destination: match is_destination && keeps {
                true => Expected::Absent,
                false => self.expected(to),
            },
            replaces_folder: is_destination && self.is_replacing.load(Ordering::Relaxed),
        }
    }

    /// Runs a write to a path that gives `false` where the request's conditions do not hold any more.
    async fn change(
        &self,
        at: VaultPath,
        work: impl FnOnce(&HostedVault<'_>) -> Result<bool> + Send + 'static,
    ) -> FsResult<()> {
        match self.ask(work).await? {
            true => {
                self.is_replaced.fetch_or(self.is_destination(Some(&at)), Ordering::Relaxed);
                Ok(())
            }
            false => {
                self.outcome.refuse_with(StatusCode::PRECONDITION_FAILED, CHANGED);
                Err(FsError::Exists)
            }
        }
    }

    async fn stat(&self, path: Option<VaultPath>) -> FsResult<HostedFile> {
        let Some(path) = path else {
            // A listing of a store that does not answer is refused before it begins.
            if self.method.as_str() == "PROPFIND" {
                self.ask(|vault| vault.check_store()).await?;
            }
            return Ok(root());
        };
        let at = path.clone();
        let found = self.ask(move |vault| vault.stat(&at)).await?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(path).or_insert(Expected::like(found.as_ref()));
        found.ok_or(FsError::NotFound)
    }

    /// Writes a file, and gives what it is now.
    pub async fn put(
        &self,
        path: VaultPath,
        bytes: Bytes,
        expected: Expected,
    ) -> FsResult<HostedFile> {
        let mtime = self.mtime_ns;
        let done = self.run(move |vault| vault.put(&path, &bytes, mtime, expected)).await;
        done.map_err(|error| {
            if error.code == Code::Conflict {
                self.outcome.refuse_with(StatusCode::PRECONDITION_FAILED, error.plain());
            }
            self.outcome.refuse(&error)
        })
    }

    async fn open_file(&self, path: VaultPath, options: OpenOptions) -> FsResult<OpenFile> {
        let at = path.clone();
        let found = self.ask(move |vault| vault.read(&at)).await?;
        let is_writing = options.write || options.append || options.create;
        if !is_writing {
            let (file, bytes) = found.ok_or(FsError::NotFound)?;
            let metadata = Some(Metadata(file));
            let bytes = BytesMut::from(bytes.as_slice());
            return Ok(OpenFile {
                files: self.clone(),
                path,
                metadata,
                bytes,
                at: 0,
                expected: None,
            });
        }
        if found.is_none() && !options.create && !options.create_new {
            return Err(FsError::NotFound);
        }
        if found.is_some() && options.create_new {
            return Err(FsError::Exists);
        }
        self.check_parent(&path).await?;
        let expected = self.expected(&path);
        let (metadata, kept) = match found {
            Some((file, bytes)) => (Some(Metadata(file)), bytes),
            None => (None, Vec::new()),
        };
        let bytes = match options.truncate {
            true => BytesMut::new(),
            false => BytesMut::from(kept.as_slice()),
        };
        let at = if options.append { bytes.len() } else { 0 };
        let files = self.clone();
        Ok(OpenFile { files, path, metadata, bytes, at, expected: Some(expected) })
    }

    /// A file is put only into a folder that is there.
    async fn check_parent(&self, path: &VaultPath) -> FsResult<()> {
        let Ok(parent) = VaultPath::parse(path.folder()) else { return Ok(()) };
        let found = self.ask(move |vault| vault.stat(&parent)).await?;
        match found.is_some_and(|file| file.is_folder()) {
            true => Ok(()),
            false => Err(FsError::NotFound),
        }
    }
}

/// The vault itself.
fn root() -> HostedFile {
    HostedFile { path: String::new(), size: 0, mtime_ns: 0, created_ns: 0, hash: None }
}

impl DavFileSystem for VaultFiles {
    fn open<'a>(
        &'a self,
        path: &'a DavPath,
        options: OpenOptions,
    ) -> FsFuture<'a, Box<dyn DavFile>> {
        Box::pin(async move {
            if path.is_collection() && (options.write || options.create) {
                self.outcome.refuse_with(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "the path ends with a slash, which names a folder; nothing was changed",
                );
                return Err(FsError::Exists);
            }
            let path = self.inner_path(path)?;
            let mut file = self.open_file(path, options).await?;
            if self.method.as_str() == "LOCK" {
                // A lock of something that is not there makes it.
                file.flush().await?;
            }
            Ok(Box::new(file) as Box<dyn DavFile>)
        })
    }

    fn read_dir<'a>(
        &'a self,
        path: &'a DavPath,
        _meta: ReadDirMeta,
    ) -> FsFuture<'a, FsStream<Box<dyn DavDirEntry>>> {
        Box::pin(async move {
            let is_listing = self.method.as_str() == "PROPFIND";
            if is_listing && self.listed.fetch_add(1, Ordering::Relaxed) >= MAX_LISTED {
                return Err(FsError::InsufficientStorage);
            }
            let path = self.path(path)?;
            if self.is_destination(path.as_ref()) {
                // The crate asks what to delete.
                return Ok(Box::pin(stream::empty()) as FsStream<Box<dyn DavDirEntry>>);
            }
            let mut files = self.ask(move |vault| vault.list(path.as_ref())).await?;
            if self.method == Method::DELETE {
                // The crate deletes in this order: a file goes after the notes that show it.
                files.sort_by_key(|file| match file.is_folder() {
                    true => 1,
                    false if walk::is_note(Path::new(&file.path)) => 0,
                    false => 2,
                });
            }
            let entries =
                files.into_iter().map(|file| Ok(Box::new(Metadata(file)) as Box<dyn DavDirEntry>));
            let entries: Vec<FsResult<Box<dyn DavDirEntry>>> = entries.collect();
            Ok(Box::pin(stream::iter(entries)) as FsStream<Box<dyn DavDirEntry>>)
        })
    }

    fn metadata<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, Box<dyn DavMetaData>> {
        Box::pin(async move {
            let file = self.stat(self.path(path)?).await?;
            if path.is_collection() && !file.is_folder() {
                return Err(FsError::NotFound);
            }
            Ok(Box::new(Metadata(file)) as Box<dyn DavMetaData>)
        })
    }

    fn create_dir<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, ()> {
        Box::pin(async move {
            let Some(path) = self.path(path)? else { return Err(FsError::Exists) };
            self.check_parent(&path).await?;
            let replaced = self.transfer.clone().filter(|transfer| {
                transfer.to == path && self.is_replacing.load(Ordering::Relaxed)
            });
            let Some(Transfer { from, is_shallow, .. }) = replaced else {
                let transfer = self.transfer.as_ref();
                let is_copied = transfer.is_some_and(|transfer| path.is_inside(&transfer.to));
                return self
                    .ask(move |vault| match is_copied {
                        true => vault.make_copied_folder(&path),
                        false => vault.make_folder(&path),
                    })
                    .await;
            };
            let ends = self.ends(&path, &path);
            let copied = from.filter(|_| !is_shallow);
            let at = path.clone();
            self.change(at, move |vault| vault.replace_by_folder(copied.as_ref(), &path, ends))
                .await
        })
    }

    fn remove_dir<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, ()> {
        Box::pin(async move {
            let path = self.inner_path(path)?;
            if self.is_destination(Some(&path)) {
                self.is_replacing.store(true, Ordering::Relaxed);
                return Ok(());
            }
            self.ask(move |vault| vault.remove_folder(&path)).await
        })
    }

    fn remove_file<'a>(&'a self, path: &'a DavPath) -> FsFuture<'a, ()> {
        Box::pin(async move {
            let path = self.inner_path(path)?;
            if self.is_destination(Some(&path)) {
                self.is_replacing.store(true, Ordering::Relaxed);
                return Ok(());
            }
            let expected = self.expected(&path);
            self.change(path.clone(), move |vault| vault.delete(&path, expected)).await
        })
    }

    fn rename<'a>(&'a self, from: &'a DavPath, to: &'a DavPath) -> FsFuture<'a, ()> {
        Box::pin(async move {
            let (from, to) = (self.inner_path(from)?, self.inner_path(to)?);
            let ends = self.ends(&from, &to);
            self.change(to.clone(), move |vault| vault.rename(&from, &to, ends)).await
        })
    }

    fn copy<'a>(&'a self, from: &'a DavPath, to: &'a DavPath) -> FsFuture<'a, ()> {
        Box::pin(async move {
            let (from, to) = (self.inner_path(from)?, self.inner_path(to)?);
            let ends = self.ends(&from, &to);
            let transfer = self.transfer.clone();
            self.change(to.clone(), move |vault| {
                let folder = transfer.as_ref().and_then(|transfer| transfer.around(&from));
                vault.copy(&from, &to, ends, folder)
            })
            .await
        })
    }

    fn have_props<'a>(
        &'a self,
        path: &'a DavPath,
    ) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        let is_inside = path.as_bytes().iter().any(|byte| *byte != b'/');
        Box::pin(async move {
            if !is_inside || self.method.as_str() == "PROPPATCH" {
                return is_inside;
            }
            // A store that does not answer refuses the properties themselves, with its reason.
            let look = || async { self.run(|vault| vault.has_properties()).await.unwrap_or(true) };
            *self.has_properties.get_or_init(look).await
        })
    }

    fn patch_props<'a>(
        &'a self,
        path: &'a DavPath,
        patch: Vec<(bool, DavProp)>,
    ) -> FsFuture<'a, Vec<(StatusCode, DavProp)>> {
        Box::pin(async move {
            let path = self.inner_path(path)?;
            let changes: Vec<(Property, bool)> =
                patch.iter().map(|(set, prop)| (property(prop), *set)).collect();
            self.ask(move |vault| vault.set_properties(&path, &changes)).await?;
            Ok(patch.into_iter().map(|(_, prop)| (StatusCode::OK, bare(prop))).collect())
        })
    }

    fn get_props<'a>(&'a self, path: &'a DavPath, do_content: bool) -> FsFuture<'a, Vec<DavProp>> {
        Box::pin(async move {
            let path = self.inner_path(path)?;
            let found = self.ask(move |vault| vault.properties(&path)).await?;
            let known = |property: Property| DavProp {
                name: property.name,
                prefix: None,
                namespace: (!property.namespace.is_empty()).then_some(property.namespace),
                xml: do_content.then_some(property.xml),
            };
            Ok(found.into_iter().map(known).collect())
        })
    }

    fn get_prop<'a>(&'a self, path: &'a DavPath, prop: DavProp) -> FsFuture<'a, Vec<u8>> {
        Box::pin(async move {
            let path = self.inner_path(path)?;
            let found = self.ask(move |vault| vault.properties(&path)).await?;
            let wanted = property(&prop);
            let is_it =
                |one: &Property| one.name == wanted.name && one.namespace == wanted.namespace;
            found.into_iter().find(is_it).map(|one| one.xml).ok_or(FsError::NotFound)
        })
    }

    fn get_quota(&'_ self) -> FsFuture<'_, (u64, Option<u64>)> {
        Box::pin(async move { self.ask(|vault| vault.quota()).await })
    }
}

fn property(prop: &DavProp) -> Property {
    Property {
        namespace: prop.namespace.clone().unwrap_or_default(),
        name: prop.name.clone(),
        xml: prop.xml.clone().unwrap_or_default(),
    }
}

/// A property without its value, as answers name it.
fn bare(prop: DavProp) -> DavProp {
    DavProp { xml: None, ..prop }
}
