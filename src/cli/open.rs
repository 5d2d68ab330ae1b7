//! `open` shows the pages in the browser, or hands an item to an editor, Obsidian or the browser.

use std::{net::SocketAddr, process::Command, time::Duration};

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    Common, out,
    read::{reference, refresh},
    serving,
};
use crate::{
    config::{self, Config},
    domain::{Error, Kind, Result},
    post::probe::Probe,
    vault,
};

/// How long a server on this machine may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Args)]
#[command(after_help = "\
Examples:
  notewell open                                   the pages of the running server, in the browser
  notewell open p29:c32                           a note, in $VISUAL or $EDITOR
  notewell open \"Coffee brewing\" --obsidian")]
pub struct Open {
    /// The match_id of a search result, a path, a title, an address or a number [default: the pages]
    #[arg(value_name = "REF")]
    note: Option<String>,
    /// In Obsidian instead of $VISUAL or $EDITOR
    #[arg(long, requires = "note")]
    obsidian: bool,
}

impl Open {
    pub fn run(self, common: &Common) -> Result<()> {
        match &self.note {
            Some(note) => self.open_item(note, common),
            None => open_pages(&common.config()?),
        }
    }

    fn open_item(&self, note: &str, common: &Common) -> Result<()> {
        let app = common.open()?;
        refresh(&app)?;
        let opened = app.open_note(&reference(&app, note)?, &app.owner())?;
        if let Some(row) = &opened.page {
            let root = app.sources.root(&row.vault)?;
            let file = vault::locate(&root, &row.facts.page.path).display().to_string();
            if self.obsidian {
                let encoded = utf8_percent_encode(&file, NON_ALPHANUMERIC);
                show(&format!("obsidian://open?path={encoded}"));
            } else {
                edit(&file);
            }
            return Ok(());
        }
        match opened.kind {
            Kind::Bookmark if is_web(&opened.url) => show(&opened.url),
            // A handler of another scheme may run what the address names.
            Kind::Bookmark => {
                out::say(&opened.url);
                out::note(
                    "The address is neither http nor https, so it was not opened. Open it yourself if you trust it.",
                );
            }
            kind => {
                // Neither a file nor an address: what there is to see is its text.
                out::note(format_args!("A {kind} has no file to open; this is its text."));
                out::say(opened.text.trim_end());
            }
        }
        Ok(())
    }
}

/// Opens the pages of the server that runs on this library. Starts none.
fn open_pages(config: &Config) -> Result<()> {
    let address = serving::address(&config.data).unwrap_or(config.server.listen);
    let here = format!("http://{}", reachable(address));
    check(&here)?;
    let pages = match config.server.public_url.is_empty() {
        true => here,
        false => config.public_url(),
    };
    let pages = format!("{pages}/");
    match config::has_display() {
        true => {
            out::note(format_args!("Opening {pages}"));
            show(&pages);
        }
        false => {
            out::say(&pages);
            out::note("There is no display here: open the address in a browser.");
        }
    }
    Ok(())
}

/// An address that a browser on this machine can open.
pub fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

fn check(server: &str) -> Result<()> {
    let answer = Probe::new(PATIENCE, false).get(&format!("{server}/healthz"), &[]);
    match answer {
        Ok(answer) if answer.status == 200 && answer.body.trim() == "ok" => Ok(()),
        Ok(answer) => Err(Error::outside(format!(
            "what answers at `{server}` is not Notewell (status {}); start Notewell on another port with `notewell serve --listen PORT`, then run `notewell open` again",
            answer.status
        ))),
        Err(_) => Err(Error::outside(format!(
            "no server answers at `{server}`; start one with `notewell serve`, then run `notewell open` again"
        ))),
    }
}

/// Whether an address is one of the web. Imports keep addresses of every scheme.
fn is_web(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// Opens a file in the person's editor.
fn edit(file: &str) {
    launch(&config::editor(), file, "Set $VISUAL or $EDITOR to your editor.");
}

/// Opens an address with what this platform opens addresses with.
fn show(address: &str) {
    let program = match () {
        () if cfg!(target_os = "macos") => "open",
        () if cfg!(windows) => "explorer",
        () => "xdg-open",
    };
    launch(program, address, "Open the address yourself.");
}

/// Starts a program on a file or an address. Where it cannot start, the person still learns what
/// there was to open.
fn launch(program: &str, what: &str, advice: &str) {
    let mut words = program.split_whitespace();
    let status = match words.next() {
        Some(name) => Command::new(name).args(words).arg(what).status(),
        None => Err(std::io::ErrorKind::NotFound.into()),
    };
    match status {
        // Explorer ends with 1 when it opened what it was asked to.
        Ok(status) if status.success() || cfg!(windows) => {}
        Ok(status) => {
            out::say(what);
            out::note(format_args!("`{program}` ended with {status}."));
        }
        Err(error) => {
            out::say(what);
            out::note(format_args!("`{program}` could not be started ({error}). {advice}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_are_handed_over() {
        assert!(is_web("https://example.org/a") && is_web("HTTP://example.org"));
        for other in ["file:///etc/passwd", "smb://host/a", "--help", "javascript:1", "/bin/sh", ""]
        {
            assert!(!is_web(other), "{other}");
        }
    }

    #[test]
    fn every_address_can_be_opened_here() {
        for (listen, expected) in [
            ("0.0.0.0:7717", "127.0.0.1:7717"),
            ("[::]:80", "[::1]:80"),
            ("192.168.1.5:7717", "192.168.1.5:7717"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()).to_string(), expected);
        }
    }
}
