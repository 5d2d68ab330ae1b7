//! What the code is made of that others wrote.

use super::{Outcome, Subject};
use crate::oss::{
    report::{Evidence, quote},
    vulnerabilities::Known,
};

pub fn locked(subject: &Subject) -> Outcome {
    let manifests = &subject.dependencies.manifests;
    if manifests.is_empty() {
        return Outcome::good("it depends on nothing");
    }
    let open: Vec<Evidence> = manifests
        .iter()
        .filter(|manifest| manifest.lock.is_none())
        .map(|manifest| {
            let text = format!("{} dependencies, and no lock file", manifest.dependencies);
            Evidence::in_file(&manifest.file, text)
        })
        .collect();
    if open.is_empty() {
        let found = manifests.iter().filter_map(|manifest| manifest.lock.as_deref()).next();
        return Outcome::new(
            10,
            vec![Evidence::in_file(found.unwrap_or_default(), "versions are locked")],
        );
    }
    Outcome::new(((manifests.len() - open.len()) * 10 / manifests.len()) as u8, open)
}

pub fn pinned(subject: &Subject) -> Outcome {
    let (mut pinned, mut open) = (0, Vec::new());
    for file in subject.tree.own() {
        let workflow = file.is_workflow();
        let container = file.name().starts_with("Dockerfile") || file.name() == "Containerfile";
        if !workflow && !container {
            continue;
        }
        let mut stages: Vec<&str> = Vec::new();
        for (number, line) in file.lines() {
            let line = line.trim().trim_start_matches("- ");
            let (what, fixed) = if let Some(used) = line.strip_prefix("uses:").filter(|_| workflow)
            {
                let used =
                    used.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
                if used.starts_with("./") {
                    continue;
                }
                let fixed = match used.strip_prefix("docker://") {
                    Some(image) => image.contains("@sha256:"),
                    None => used.rsplit_once('@').is_some_and(|(_, at)| is_hash(at)),
                };
                (used, fixed)
            } else if let Some(from) = line.strip_prefix("FROM ").filter(|_| container) {
                let mut words = from.split_whitespace().filter(|word| !word.starts_with("--"));
                let image = words.next().unwrap_or_default();
                let built = image == "scratch" || stages.contains(&image) || image.contains('$');
                stages.extend(words.nth(1));
                if built {
                    continue;
                }
                (image, image.contains("@sha256:"))
            } else {
                continue;
            };
            match fixed {
                true => pinned += 1,
                false => open.push(Evidence::at(
                    &file.path,
                    number,
                    format!("{} can change under its name", quote(what)),
                )),
            }
        }
    }
    match (pinned, open.len()) {
        (0, 0) => Outcome::not_checked("no actions and no base images are used"),
        (_, 0) => Outcome::good(format!("all {pinned} actions and images are pinned")),
        (pinned, open_count) => Outcome::new((pinned * 10 / (pinned + open_count)) as u8, open),
    }
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.chars().all(|c| c.is_ascii_hexdigit())
}

pub fn count(subject: &Subject) -> Outcome {
    let dependencies = &subject.dependencies;
    let asked: usize = dependencies.manifests.iter().map(|manifest| manifest.dependencies).sum();
    let (count, of) = match dependencies.packages.len() {
        0 => (asked, "in its manifests, and nobody knows how many behind them"),
        locked => (locked, "in its lock files"),
    };
    let score = match count {
        0..=20 => 10,
        21..=100 => 8,
        101..=300 => 6,
        301..=1000 => 3,
        _ => 1,
    };
    let text = if count == 0 {
        "it depends on nothing".to_owned()
    } else {
        format!("{count} packages {of}")
    };
    Outcome::new(score, vec![Evidence::text(text)])
}

pub fn vulnerabilities(subject: &Subject) -> Outcome {
    let dependencies = &subject.dependencies;
    match &subject.vulnerabilities {
        Known::NotChecked(why) => Outcome::not_checked(why),
        Known::Checked { .. }
            if dependencies.manifests.is_empty() && dependencies.packages.is_empty() =>
        {
            Outcome::good("it depends on nothing")
        }
        Known::Checked { .. } if dependencies.packages.is_empty() => {
            Outcome::not_checked("no lock file says which versions are used")
        }
        Known::Checked { found, .. } if found.is_empty() => Outcome::good(format!(
            "none of {} locked packages is known to be vulnerable",
            dependencies.packages.len()
        )),
        Known::Checked { found, .. } => {
            let evidence = found
                .iter()
                .map(|(package, ids)| {
                    let text = format!(
                        "{} {}: {}",
                        quote(&package.name),
                        quote(&package.version),
                        ids.join(", ")
                    );
                    Evidence::in_file(&package.file, text)
                })
                .collect();
            let score = 10_usize.saturating_sub(3 + 2 * found.len());
            Outcome::new(score as u8, evidence)
        }
    }
}

const UPDATERS: &[&str] = &[
    ".github/dependabot.yml",
    ".github/dependabot.yaml",
    "renovate.json",
    "renovate.json5",
    ".renovaterc",
    ".renovaterc.json",
    ".github/renovate.json",
    ".github/renovate.json5",
    ".gitlab/renovate.json",
    ".forgejo/renovate.json",
    ".pyup.yml",
];

pub fn update_tool(subject: &Subject) -> Outcome {
    if let Some(file) = UPDATERS.iter().find_map(|path| subject.tree.file(path)) {
        return Outcome::new(10, vec![Evidence::in_file(&file.path, "proposes updates")]);
    }
    if subject.dependencies.manifests.is_empty() {
        return Outcome::not_checked("there are no dependencies to update");
    }
    Outcome::bad("neither Dependabot nor Renovate is set up")
}

#[cfg(test)]
mod tests {
    use super::{super::subject, *};
    use crate::oss::lockfiles::Package;

    #[test]
    fn a_tag_is_no_pin() {
        let hash = "a".repeat(40);
        let workflow = format!(
            "steps:\n  - uses: actions/checkout@v4\n  - uses: 'a/b@{hash}' # v1\n  - uses: ./local\n"
        );
        let found = pinned(&subject(&[
            (".github/workflows/ci.yml", &workflow),
            (
                "Dockerfile",
                "FROM rust:1 AS build\nFROM build AS next\nFROM debian@sha256:abc\nFROM scratch\n",
            ),
        ]));
        assert_eq!(found.score, Some(5));
        let places: Vec<(Option<&str>, Option<u32>)> =
            found.evidence.iter().map(|e| (e.file.as_deref(), e.line)).collect();
        assert_eq!(
            places,
            [(Some(".github/workflows/ci.yml"), Some(2)), (Some("Dockerfile"), Some(1))]
        );
        assert_eq!(pinned(&subject(&[])).score, None);
    }

    #[test]
    fn vulnerable_packages_are_named() {
        let mut subject = subject(&[("package.json", r#"{"dependencies":{"left":"1"}}"#)]);
        assert_eq!(vulnerabilities(&subject).score, None);
        let package = Package {
            ecosystem: "npm",
            name: "left".into(),
            version: "1.0.0".into(),
            file: "package-lock.json".into(),
        };
        subject.vulnerabilities = Known::Checked {
            by: "x".into(),
            found: vec![(package.clone(), vec!["GHSA-1".into()])],
        };
        assert_eq!(vulnerabilities(&subject).score, None, "without a lock nothing is known");
        subject.dependencies.packages = vec![package];
        let found = vulnerabilities(&subject);
        assert_eq!(found.score, Some(5));
        assert!(found.evidence[0].text.contains("GHSA-1"));
    }
}
