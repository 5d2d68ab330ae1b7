//! Files as the protocol's crate sees them. A file is read whole when it is opened and written
//! whole when it is flushed.

use std::{
    io::SeekFrom,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::{Buf, Bytes, BytesMut};
use dav_server::fs::{DavDirEntry, DavFile, DavMetaData, FsError, FsFuture, FsResult};

use super::filesystem::VaultFiles;
use crate::{
    domain::VaultPath,
    store::hosted::{Expected, HostedFile},
    vault,
};

/// What is known of a file or folder.
#[derive(Debug, Clone)]
pub struct Metadata(pub HostedFile);

impl DavMetaData for Metadata {
    fn len(&self) -> u64 {
        self.0.size
    }

    fn modified(&self) -> FsResult<SystemTime> {
        Ok(time(self.0.mtime_ns))
    }

    fn created(&self) -> FsResult<SystemTime> {
        Ok(time(self.0.created_ns))
    }

    fn is_dir(&self) -> bool {
        self.0.is_folder()
    }

    /// That of the tools: from the content, so that equal content has equal etags.
    fn etag(&self) -> Option<String> {
        self.0.hash.as_ref().map(vault::etag)
    }
}

fn time(ns: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(u64::try_from(ns).unwrap_or(0))
}

impl DavDirEntry for Metadata {
    fn name(&self) -> Vec<u8> {
        self.0.name().as_bytes().to_vec()
    }

    fn metadata(&'_ self) -> FsFuture<'_, Box<dyn DavMetaData>> {
        let metadata: Box<dyn DavMetaData> = Box::new(self.clone());
        Box::pin(std::future::ready(Ok(metadata)))
    }
}

/// An open file.
pub struct OpenFile {
    pub files: VaultFiles,
    pub path: VaultPath,
    pub metadata: Option<Metadata>,
    pub bytes: BytesMut,
    pub at: usize,
    /// What must be there when it is written; `None` for a file that is read.
    pub expected: Option<Expected>,
}

impl std::fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenFile").field("size", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl OpenFile {
    fn write(&mut self, data: &[u8]) -> FsResult<()> {
        let end = self.at.checked_add(data.len()).ok_or(FsError::TooLarge)?;
        if end as u64 > self.files.app.config.hosted.file_bytes {
            return Err(FsError::TooLarge);
        }
        if end > self.bytes.len() {
            self.bytes.resize(end, 0);
        }
        self.bytes[self.at..end].copy_from_slice(data);
        self.at = end;
        Ok(())
    }
}

impl DavFile for OpenFile {
    fn metadata(&'_ mut self) -> FsFuture<'_, Box<dyn DavMetaData>> {
        let metadata = self.metadata.clone().ok_or(FsError::NotFound);
        let metadata = metadata.map(|metadata| Box::new(metadata) as Box<dyn DavMetaData>);
        Box::pin(std::future::ready(metadata))
    }

    fn write_buf(&'_ mut self, mut buf: Box<dyn Buf + Send>) -> FsFuture<'_, ()> {
        let size = buf.remaining();
        let data = buf.copy_to_bytes(size);
        Box::pin(std::future::ready(self.write(&data)))
    }

    fn write_bytes(&'_ mut self, buf: Bytes) -> FsFuture<'_, ()> {
        Box::pin(std::future::ready(self.write(&buf)))
    }

    fn read_bytes(&'_ mut self, count: usize) -> FsFuture<'_, Bytes> {
        let from = self.at.min(self.bytes.len());
        let end = from.saturating_add(count).min(self.bytes.len());
        self.at = end;
        let data = Bytes::copy_from_slice(&self.bytes[from..end]);
        Box::pin(std::future::ready(Ok(data)))
    }

    fn seek(&'_ mut self, pos: SeekFrom) -> FsFuture<'_, u64> {
        let moved = |from: usize, by: i64| i64::try_from(from).ok()?.checked_add(by);
        let at = match pos {
            SeekFrom::Start(at) => i64::try_from(at).ok(),
            SeekFrom::End(by) => moved(self.bytes.len(), by),
            SeekFrom::Current(by) => moved(self.at, by),
        };
        let at = at.and_then(|at| usize::try_from(at).ok());
        let at = at.filter(|at| *at as u64 <= self.files.app.config.hosted.file_bytes);
        let result = at.map_or(Err(FsError::TooLarge), |at| {
            self.at = at;
            Ok(at as u64)
        });
        Box::pin(std::future::ready(result))
    }

    fn flush(&'_ mut self) -> FsFuture<'_, ()> {
        Box::pin(async move {
            let Some(expected) = self.expected else { return Ok(()) };
            let bytes = self.bytes.clone().freeze();
            let written = self.files.put(self.path.clone(), bytes, expected).await?;
            self.expected = written.hash.map(Expected::Content);
            self.metadata = Some(Metadata(written));
            Ok(())
        })
    }
}
