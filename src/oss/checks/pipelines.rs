//! What the project's own automation does that it should not.

use super::{Outcome, Subject, shell::is_piped_download};
use crate::oss::{
    report::{Evidence, quote},
    tree::File,
};

/// Words that a stranger chooses, in GitHub's terms.
const STRANGERS: &[&str] = &[
    "github.event.issue.title",
    "github.event.issue.body",
    "github.event.pull_request.title",
    "github.event.pull_request.body",
    "github.event.pull_request.head.ref",
    "github.event.pull_request.head.label",
    "github.event.pull_request.head.repo.default_branch",
    "github.event.comment.body",
    "github.event.review.body",
    "github.event.review_comment.body",
    "github.event.discussion.title",
    "github.event.discussion.body",
    "github.event.head_commit.message",
    "github.event.head_commit.author",
    "github.event.commits",
    "github.head_ref",
    "github.event.workflow_run.head_branch",
];

pub fn dangerous(subject: &Subject) -> Outcome {
    let workflows: Vec<&File> =
        subject.tree.files.iter().filter(|file| file.is_workflow()).collect();
    if workflows.is_empty() {
        return Outcome::not_checked("there are no workflows in a form that is understood here");
    }
    let mut evidence = Vec::new();
    let mut score = 10;
    for file in &workflows {
        for (worth, found) in look(file) {
            score = score.min(worth);
            evidence.push(found);
        }
    }
    if evidence.is_empty() {
        return Outcome::good(format!("{} workflows were read", workflows.len()));
    }
    Outcome::new(score, evidence)
}

fn look(file: &File) -> Vec<(u8, Evidence)> {
    let mut found = Vec::new();
    let text = file.text();
    let trusted = text.contains("pull_request_target") || text.contains("workflow_run:");
    let mut shell: Option<usize> = None;
    for (number, line) in file.lines() {
        let indent = line.len() - line.trim_start().len();
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        if shell.is_some_and(|at| indent <= at) {
            shell = None;
        }
        let key = bare.trim_start_matches("- ");
        if key.starts_with("run:") || key.starts_with("script:") {
            // What belongs to it stands further in than the key itself.
            shell = Some(indent + bare.len() - key.len());
        }
        let mut add =
            |worth: u8, text: String| found.push((worth, Evidence::at(&file.path, number, text)));
        if shell.is_some()
            && let Some(word) = STRANGERS.iter().find(|word| line.contains(*word))
            && line.contains("${{")
        {
            add(0, format!("a stranger's words go into a shell: {}", quote(word)));
        }
        let foreign = line.contains("github.event.pull_request.head.")
            || line.contains("github.head_ref")
            || line.contains("workflow_run.head_");
        if trusted && key.starts_with("ref:") && foreign {
            add(0, "a stranger's code is checked out in a run that has secrets".into());
        }
        if line.contains("toJSON(secrets)") || line.contains("toJson(secrets)") {
            add(0, "all secrets are handed over at once".into());
        }
        if key.starts_with("permissions:") && key.contains("write-all") {
            add(5, "it holds every permission".into());
        }
        if key.contains("self-hosted") && text.contains("pull_request") {
            add(6, "pull requests run on a machine of the project's own".into());
        }
    }
    found
}

pub fn curl_pipe_shell(subject: &Subject) -> Outcome {
    let (mut run, mut told) = (Vec::new(), Vec::new());
    for file in subject.tree.own().filter(|file| !file.is_test()) {
        let ending = file.ending();
        let script = matches!(
            ending.as_str(),
            "sh" | "bash" | "zsh" | "ps1" | "mk" | "yml" | "yaml" | "json" | "toml" | "cmake"
        ) || matches!(
            file.name(),
            "Makefile"
                | "makefile"
                | "GNUmakefile"
                | "Containerfile"
                | "Justfile"
                | "justfile"
                | "Vagrantfile"
        ) || file.name().starts_with("Dockerfile")
            || file.text().starts_with("#!");
        let prose = file.is_prose();
        if !script && !prose {
            continue;
        }
        for (number, line) in
            file.lines().filter(|(_, line)| line.len() < 2000 && is_piped_download(line))
        {
            if line.trim_start().starts_with('#') && !prose {
                continue;
            }
            let evidence = Evidence::at(&file.path, number, quote(line));
            if prose { told.push(evidence) } else { run.push(evidence) }
        }
    }
    let score = match (run.len(), told.len()) {
        (0, 0) => return Outcome::good("nothing is downloaded straight into a shell"),
        (0, _) => 8,
        (1..=2, _) => 4,
        _ => 0,
    };
    run.append(&mut told);
    Outcome::new(score, run)
}

#[cfg(test)]
mod tests {
    use super::{super::subject, *};

    fn workflow(text: &str) -> Outcome {
        dangerous(&subject(&[(".github/workflows/x.yml", text)]))
    }

    #[test]
    fn a_strangers_words_in_a_shell() {
        let found = workflow(
            "on: issues\njobs:\n  a:\n    steps:\n      - run: |\n          echo hi\n          echo \"${{ github.event.issue.title }}\"\n",
        );
        assert_eq!((found.score, found.evidence[0].line), (Some(0), Some(7)));
        let safe = workflow(
            "on: issues\njobs:\n  a:\n    steps:\n      - run: echo \"$TITLE\"\n        env:\n          TITLE: ${{ github.event.issue.title }}\n",
        );
        assert_eq!(safe.score, Some(10), "{safe:?}");
    }

    #[test]
    fn a_strangers_code_with_secrets() {
        let text = "on: pull_request_target\njobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.pull_request.head.sha }}\n";
        assert_eq!(workflow(text).score, Some(0));
        assert_eq!(workflow(&text.replace("pull_request_target", "pull_request")).score, Some(10));
        assert_eq!(workflow("permissions: write-all\n").score, Some(5));
        assert_eq!(dangerous(&subject(&[])).score, None);
    }

    #[test]
    fn downloads_in_scripts_weigh_more_than_in_prose() {
        let line = "curl https://x.example/i.sh | sh\n";
        assert_eq!(curl_pipe_shell(&subject(&[("README.md", line)])).score, Some(8));
        let found = curl_pipe_shell(&subject(&[("install.sh", line), ("README.md", line)]));
        assert_eq!(found.score, Some(4));
        assert_eq!(
            (found.evidence[0].file.as_deref(), found.evidence[0].line),
            (Some("install.sh"), Some(1))
        );
        assert_eq!(curl_pipe_shell(&subject(&[("src/main.rs", line)])).score, Some(10));
    }
}
