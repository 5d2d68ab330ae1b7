//! The unit of a person's systemd.

use super::{super::client::Launch, MARK, STOP_GRACE_SECONDS};
use crate::domain::{Error, Result};

/// The name of the unit.
pub const FILE: &str = "notewell.service";

/// A unit that runs `launch`. The server gets `drain` seconds to finish what it accepted, and some
/// more before it is killed.
pub fn unit(launch: &Launch, drain: u64) -> Result<String> {
    let mut command = quoted(&launch.command)?;
    for argument in &launch.arguments {
        command += &format!(" {}", quoted(argument)?);
    }
    let mut environment = String::new();
    for (name, value) in &launch.environment {
        let pair = format!("{name}={}", value.as_str().unwrap_or_default());
        environment += &format!("Environment={}\n", assigned(&pair)?);
    }
    Ok(format!(
        "\
# {MARK}, which replaces it. Add to it with `systemctl --user edit notewell`.
[Unit]
Description=Notewell: notes, cards, bookmarks and prompts for AI agents
Documentation=man:notewell-serve(1)
# A library that is broken, or a port that is taken, is not tried for ever.
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart={command}
{environment}Restart=on-failure
RestartSec=2
# Exit status 2 is an error that a new start would meet again, such as a port that is taken.
RestartPreventExitStatus=2
TimeoutStopSec={}
LimitNOFILE=65536
UMask=0077
# What a server of notes never needs. No system call filter and no ban on namespaces: reports on
# repositories run a stranger's code in a sandbox of their own, which is made of both.
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native

[Install]
WantedBy=default.target
",
        drain + STOP_GRACE_SECONDS
    ))
}

/// A word of a command. `%` and `$` stand for themselves.
fn quoted(word: &str) -> Result<String> {
    assigned(&word.replace('$', "$$"))
}

/// A word of a unit, in double quotes where it has to be. `%` stands for itself, and outside of a
/// command so does `$`.
fn assigned(word: &str) -> Result<String> {
    if word.contains(|c: char| c.is_control()) {
        return Err(Error::invalid_params(format!(
            "{word:?} has a control character, which a unit of systemd cannot have"
        )));
    }
    let word = word.replace('%', "%%");
    let plain = |c: char| c.is_alphanumeric() || "/._-:=@+,%$[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Ok(word);
    }
    Ok(format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_systemd_reads_them() {
        assert_eq!(quoted("/usr/bin/notewell").unwrap(), "/usr/bin/notewell");
        assert_eq!(quoted("/home/a b/заметки").unwrap(), "\"/home/a b/заметки\"");
        assert_eq!(quoted("100%$x").unwrap(), "100%%$$x");
        assert_eq!(quoted(r#"a"\b"#).unwrap(), r#""a\"\\b""#);
        assert!(quoted("a\nExecStart=/bin/sh").is_err());
        assert_eq!(assigned("NOTEWELL_DATA=/srv/100%$x").unwrap(), "NOTEWELL_DATA=/srv/100%%$x");
    }
}
