//! Pipelines that strangers can take over, and downloads that go straight into a shell.

use super::{
    Alarm, Outcome, Subject,
    shell::{is_piped_download, starts_programs},
};
use crate::oss::{
    code::{Source, has_rules},
    report::{Evidence, quote},
    tree::File,
    verdict::Verdict,
};

/// Values of a workflow that anybody can choose.
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

/// Values of a workflow that name the code of a fork.
const FORKS: &[&str] = &[
    "github.event.pull_request.head.",
    "github.head_ref",
    "workflow_run.head_",
    "refs/pull/",
    "github.event.number",
    "github.event.pull_request.number",
    "github.event.pull_request.merge_commit_sha",
];

/// Workflows that run code or text of strangers with rights that strangers must not have.
pub fn dangerous(subject: &Subject) -> Outcome {
    let workflows: Vec<&File> =
        subject.tree.files.iter().filter(|file| file.is_workflow()).collect();
    if workflows.is_empty() {
        return Outcome::not_checked("there are no workflows in GitHub's form");
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
            add(0, format!("text of strangers goes into a shell: {}", quote(word)));
        }
        let foreign = FORKS.iter().any(|word| line.contains(word));
        let checked_out = key.starts_with("ref:") || key.starts_with("repository:");
        let fetched = line.contains("gh pr checkout")
            || (line.contains("git fetch") && line.contains("pull/"));
        if trusted && ((checked_out && foreign) || fetched) {
            add(0, "the code of a fork is checked out in a run that has secrets".into());
        }
        if line.contains("toJSON(secrets)") || line.contains("toJson(secrets)") {
            add(0, "all secrets are handed over at once".into());
        }
        if key.starts_with("permissions:") && key.contains("write-all") {
            add(5, "it holds every permission".into());
        }
        if key.contains("self-hosted") && text.contains("pull_request") {
            add(6, "pull requests run on a self-hosted machine".into());
        }
    }
    found
}

pub fn curl_pipe_shell(subject: &Subject) -> Outcome {
    let (mut run, mut prose_lines) = (Vec::new(), Vec::new());
    let mut programs = Vec::new();
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
            programs.extend(started_downloads(file));
            continue;
        }
        for (number, line) in
            file.lines().filter(|(_, line)| line.len() < 2000 && is_piped_download(line))
        {
            if line.trim_start().starts_with('#') && !prose {
                continue;
            }
            let evidence = Evidence::at(&file.path, number, quote(line));
            if prose { prose_lines.push(evidence) } else { run.push(evidence) }
        }
    }
    if !programs.is_empty() {
        let alarms = programs.iter().map(|evidence| {
            let place = format!(
                "{}:{}",
                evidence.file.as_deref().unwrap_or_default(),
                evidence.line.unwrap_or(1)
            );
            Alarm { ceiling: Verdict::Verify, text: format!("{place} runs what it downloads") }
        });
        let alarms = alarms.collect();
        programs.append(&mut run);
        return Outcome::new(0, programs).alarms(alarms);
    }
    let score = match (run.len(), prose_lines.len()) {
        (0, 0) => return Outcome::good("nothing is downloaded straight into a shell"),
        (0, _) => 8,
        (1..=2, _) => 4,
        _ => 0,
    };
    run.append(&mut prose_lines);
    Outcome::new(score, run)
}

/// Commands in a program that download into a shell, beside a call that starts them. A command
/// without such a call is an instruction for people.
fn started_downloads(file: &File) -> Option<Evidence> {
    if !has_rules(&file.ending()) || !file.text().contains('|') {
        return None;
    }
    let source = Source::read(file);
    let starts = |line: u32| {
        source.numbered().any(|(at, text)| {
            at.abs_diff(line) <= 3
                && starts_programs(&text.to_lowercase().replace("| sh", "").replace("| bash", ""))
        })
    };
    let value = source.texts.iter().find(|value| {
        value.text.len() < 2000 && is_piped_download(&value.text) && starts(value.line)
    })?;
    Some(Evidence::at(&file.path, value.line, quote(&value.text)))
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
        let merge = text.replace(
            "${{ github.event.pull_request.head.sha }}",
            "refs/pull/${{ github.event.number }}/merge",
        );
        assert_eq!(workflow(&merge).score, Some(0));
        assert_eq!(
            workflow(
                "on: pull_request_target\njobs:\n  a:\n    steps:\n      - run: gh pr checkout 1\n"
            )
            .score,
            Some(0)
        );
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
        let shown = "println!(\"install: curl https://x.example/i.sh | sh\");\n";
        assert_eq!(curl_pipe_shell(&subject(&[("src/main.rs", shown)])).score, Some(10));
        let started = "import os\nos.system('curl https://x.example/i.sh | sh')\n";
        let found = curl_pipe_shell(&subject(&[("src/a.py", started)]));
        assert_eq!((found.score, found.evidence[0].line), (Some(0), Some(2)));
        assert_eq!(found.alarms[0].ceiling, Verdict::Verify);
    }
}
