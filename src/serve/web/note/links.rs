//! Where the links and pictures of a note lead on its page.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::{
    app::{App, notes::Opened, rendering::Links, rights::Rights},
    domain::{Pid, Result},
    markdown::{
        html::{Embedded, Resolve, page::ID_PREFIX},
        links::{LinkTarget, is_external},
    },
};

const KEPT: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Resolves links as agents see them, to paths of this site.
pub struct PageLinks<'a> {
    links: Links<'a>,
    site: String,
    pid: Pid,
}

impl<'a> PageLinks<'a> {
    /// The links of an open note for one viewer.
    pub fn new(app: &'a App, rights: &'a Rights, opened: &'a Opened) -> Result<Self> {
        let links = Links::new(app, rights, opened.page.as_ref())?;
        Ok(Self { links, site: app.config.public_url(), pid: opened.pid })
    }

    /// The address of a file that the note names.
    fn file(&self, path: &str) -> String {
        format!("/n/{}/file/{}", self.pid, utf8_percent_encode(path, &KEPT))
    }
}

impl Resolve for PageLinks<'_> {
    fn link(&self, target: &LinkTarget) -> Option<String> {
        let Some(href) = self.links.link(target) else {
            return is_file(&target.path).then(|| self.file(&target.path));
        };
        if href.starts_with('#') {
            return Some(href);
        }
        let path = href.strip_prefix(&self.site).unwrap_or(&href);
        Some(match path.split_once('#') {
            Some((path, place)) => format!("{path}#{ID_PREFIX}{place}"),
            None => path.to_owned(),
        })
    }

    fn embed(&self, target: &LinkTarget) -> Option<Embedded> {
        match self.links.embed(target)? {
            Embedded::Image(path) => Some(Embedded::Image(self.file(&path))),
            text => Some(text),
        }
    }

    fn image(&self, address: &str) -> Option<String> {
        // A picture of another site is a link: showing it would tell that site who reads.
        if is_external(address) {
            return None;
        }
        Some(self.file(&percent_decode_str(address).decode_utf8_lossy()))
    }

    fn limit(&self) -> usize {
        self.links.limit()
    }
}

/// Whether a path names a file that is no note.
fn is_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| {
        (1..=5).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && !ending.eq_ignore_ascii_case("md")
    })
}
