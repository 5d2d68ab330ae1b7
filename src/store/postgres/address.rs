//! The address of a library in a PostgreSQL database:
//! `postgres://user:password@host1,host2/db?library=NAME&sslmode=…&sslrootcert=…`.

use std::{fmt, path::PathBuf, time::Duration};

use percent_encoding::percent_decode_str;
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

use crate::domain::{Error, Result};

/// The library of an address that names none.
const MAIN: &str = "main";
const MAX_LIBRARY_CHARS: usize = 100;
/// Idle time after which the peer is probed, so that a host that vanished is noticed.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Where the library is, and how to get there. Never shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    config: Config,
    library: String,
    verify: Verify,
}

/// How far a server's certificate is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verify {
    /// The connection is encrypted, the server is not verified.
    Nothing,
    /// Against the public authorities, or those of a file.
    Full(Option<PathBuf>),
}

impl Address {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut library, mut mode, mut roots) = (MAIN.to_owned(), None, None);
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8().map_err(|_| {
                invalid(format_args!("the value of `{name}` is not UTF-8 after decoding"))
            })?;
            match name {
                "library" => library = value.into_owned(),
                "sslmode" => mode = Some(value.into_owned()),
                "sslrootcert" => roots = Some(PathBuf::from(value.as_ref())),
                _ => rest.push(pair),
            }
        }
        let wrong = library.is_empty()
            || library.chars().count() > MAX_LIBRARY_CHARS
            || library.chars().any(char::is_control);
        if wrong {
            return Err(invalid(format_args!(
                "`library` is a name of 1 to {MAX_LIBRARY_CHARS} characters"
            )));
        }
        let rest = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        // The parser's error names an option or a part of the address, never the password.
        let mut config: Config =
            format!("{base}{rest}").parse().map_err(|error| invalid(cause(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(invalid("it names no host"));
        }
        if config.get_user().is_none_or(str::is_empty) {
            return Err(invalid("it names no user; write `postgres://USER@…`"));
        }
        let verify = tls(&mut config, mode.as_deref(), roots)?;
        if !rest.contains("target_session_attrs=") {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_application_name().is_none() {
            config.application_name("notewell");
        }
        config.keepalives_idle(KEEPALIVE).keepalives_interval(KEEPALIVE / 3).keepalives_retries(3);
        Ok(Self { config, library, verify })
    }

    /// The library's name.
    pub fn library(&self) -> &str {
        &self.library
    }

    pub(super) fn verify(&self) -> &Verify {
        &self.verify
    }

    /// Each host with its own settings, in the order of the address.
    pub(super) fn hosts(&self) -> Vec<(String, Config)> {
        let from = &self.config;
        let ports = from.get_ports();
        let hosts = from.get_hosts().iter().enumerate().map(|(at, host)| {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
            let mut config = Config::new();
            let name = match host {
                Host::Tcp(name) => {
                    config.host(name);
                    format!("{name}:{port}")
                }
                #[cfg(unix)]
                Host::Unix(path) => {
                    config.host_path(path);
                    path.display().to_string()
                }
            };
            config.port(port);
            if let Some(address) = from.get_hostaddrs().get(at) {
                config.hostaddr(*address);
            }
            if let Some(user) = from.get_user() {
                config.user(user);
            }
            if let Some(password) = from.get_password() {
                config.password(password);
            }
            if let Some(database) = from.get_dbname() {
                config.dbname(database);
            }
            if let Some(options) = from.get_options() {
                config.options(options);
            }
            if let Some(program) = from.get_application_name() {
                config.application_name(program);
            }
            if let Some(limit) = from.get_connect_timeout() {
                config.connect_timeout(*limit);
            }
            config
                .ssl_mode(from.get_ssl_mode())
                .target_session_attrs(from.get_target_session_attrs())
                .channel_binding(from.get_channel_binding())
                .keepalives(from.get_keepalives())
                .keepalives_idle(from.get_keepalives_idle());
            if let Some(interval) = from.get_keepalives_interval() {
                config.keepalives_interval(interval);
            }
            if let Some(retries) = from.get_keepalives_retries() {
                config.keepalives_retries(retries);
            }
            (name, config)
        });
        hosts.collect()
    }
}

/// Sets the mode of encryption. `require` verifies the server if authorities are given, as libpq
/// does.
fn tls(config: &mut Config, mode: Option<&str>, roots: Option<PathBuf>) -> Result<Verify> {
    let (mode, verify) = match (mode.unwrap_or("prefer"), roots) {
        ("disable", _) => (SslMode::Disable, Verify::Nothing),
        ("prefer", None) => (SslMode::Prefer, Verify::Nothing),
        ("require", None) => (SslMode::Require, Verify::Nothing),
        ("prefer" | "require", Some(roots)) => (SslMode::Require, Verify::Full(Some(roots))),
        ("verify-ca" | "verify-full", roots) => (SslMode::Require, Verify::Full(roots)),
        (other, _) => {
            return Err(invalid(format_args!(
                "`sslmode` is `disable`, `prefer`, `require`, `verify-ca` or `verify-full`, not `{other}`"
            )));
        }
    };
    config.ssl_mode(mode);
    Ok(verify)
}

fn invalid(why: impl fmt::Display) -> Error {
    Error::invalid_params(format!(
        "the store's address cannot be read: {why}; write `postgres://USER:PASSWORD@HOST/DATABASE?library=NAME`"
    ))
}

/// The innermost reason of an error.
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Without the password: `postgres://user@host:5432/db?library=main`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts().into_iter().map(|(name, _)| name).collect();
        let user = self.config.get_user().unwrap_or_default();
        let database = self.config.get_dbname().unwrap_or(user);
        write!(f, "postgres://{user}@{}/{database}?library={}", hosts.join(","), self.library)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_and_the_roots_are_ours_the_rest_is_the_servers() {
        let address = Address::parse(
            "postgres://анна:s3cret@a,b:6432/notes?library=%D0%BC%D0%B8%D1%80&connect_timeout=3&sslmode=verify-full&sslrootcert=/etc/ca.pem",
        )
        .unwrap();
        assert_eq!(address.library(), "мир");
        assert_eq!(address.verify(), &Verify::Full(Some(PathBuf::from("/etc/ca.pem"))));
        let hosts = address.hosts();
        assert_eq!([&hosts[0].0, &hosts[1].0], ["a:5432", "b:6432"]);
        for (_, config) in &hosts {
            assert_eq!(config.get_user(), Some("анна"));
            assert_eq!(config.get_dbname(), Some("notes"));
            assert_eq!(config.get_ssl_mode(), SslMode::Require);
            assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
            assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        }
        for shown in [format!("{address}"), format!("{address:?}")] {
            assert!(!shown.contains("s3cret"), "{shown}");
            assert!(shown.contains("анна@a:5432,b:6432/notes"), "{shown}");
        }
    }

    #[test]
    fn a_socket_directory_is_a_host() {
        let address = Address::parse("postgres://nw@/notes?host=/run/pg").unwrap();
        assert_eq!(address.hosts()[0].0, "/run/pg");
        assert_eq!(address.library(), "main");
        let any = Address::parse("postgres://nw@/notes?host=/run/pg&target_session_attrs=any");
        let any = any.unwrap().hosts()[0].1.get_target_session_attrs();
        assert_eq!(any, TargetSessionAttrs::Any);
    }

    #[test]
    fn a_wrong_address_says_what_is_wrong_without_the_password() {
        for (text, part) in [
            ("postgres://nw:s3cret@h/db?library=", "`library`"),
            ("postgres://nw:s3cret@h/db?library=a%00b", "`library`"),
            ("postgres://nw:s3cret@h/db?sslmode=always", "`sslmode`"),
            ("postgres://nw:s3cret@h/db?colour=red", "colour"),
            ("postgres://nw:s3cret@h:port/db", "port"),
            ("postgres:///db", "names no host"),
            ("postgres://h/db", "names no user"),
        ] {
            let error = Address::parse(text).unwrap_err();
            assert!(error.message.contains(part), "{text}: {error}");
            assert!(!error.message.contains("s3cret"), "{text}: {error}");
        }
    }
}
