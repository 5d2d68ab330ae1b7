//! Keys, tokens and passwords that lie in the open. What is found is never repeated in full.

use super::{Alarm, Outcome, Subject};
use crate::oss::{report::Evidence, tree::File, verdict::Verdict};

/// A token is a prefix, and so many characters of a kind after it.
struct Form {
    what: &'static str,
    prefix: &'static str,
    least: usize,
    most: usize,
    also: &'static str,
}

const fn form(
    what: &'static str,
    prefix: &'static str,
    least: usize,
    most: usize,
    also: &'static str,
) -> Form {
    Form { what, prefix, least, most, also }
}

const FORMS: &[Form] = &[
    form("an AWS access key", "AKIA", 16, 16, ""),
    form("an AWS access key", "ASIA", 16, 16, ""),
    form("a GitHub token", "ghp_", 36, 36, ""),
    form("a GitHub token", "gho_", 36, 36, ""),
    form("a GitHub token", "ghu_", 36, 36, ""),
    form("a GitHub token", "ghs_", 36, 36, ""),
    form("a GitHub token", "ghr_", 36, 36, ""),
    form("a GitHub token", "github_pat_", 60, 100, "_"),
    form("a GitLab token", "glpat-", 20, 60, "-_"),
    form("a Slack token", "xoxb-", 20, 100, "-"),
    form("a Slack token", "xoxp-", 20, 100, "-"),
    form("a Slack token", "xoxa-", 20, 100, "-"),
    form("a Google API key", "AIza", 35, 35, "-_"),
    form("a Stripe key", "sk_live_", 24, 120, ""),
    form("a Stripe key", "rk_live_", 24, 120, ""),
    form("an Anthropic key", "sk-ant-", 40, 200, "-_"),
    form("an OpenAI key", "sk-proj-", 40, 250, "-_"),
    form("an npm token", "npm_", 36, 36, ""),
    form("a PyPI token", "pypi-AgEIcHlwaS5vcmc", 50, 300, "-_"),
    form("a Hugging Face token", "hf_", 34, 40, ""),
    form("a SendGrid key", "SG.", 60, 70, "-_."),
    form("a DigitalOcean token", "dop_v1_", 64, 64, ""),
];

/// How far a real secret may be excused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    Sure,
    /// In a test or an example, or only looks like one.
    Maybe,
}

pub fn secrets(subject: &Subject) -> Outcome {
    let (mut sure, mut maybe) = (Vec::new(), Vec::new());
    for file in subject.tree.files.iter().filter(|file| file.text.is_some() && !is_lock(file)) {
        let excused = file.is_test() || file.is_prose() || file.is_vendored() || is_example(file);
        look(file, &mut |line, what, weight| {
            let evidence = Evidence::at(&file.path, line, what);
            match weight == Weight::Sure && !excused {
                true => sure.push(evidence),
                false => maybe.push(evidence),
            }
        });
    }
    match (sure.first().cloned(), maybe.len()) {
        (None, 0) => Outcome::good("no key and no token was seen"),
        (None, 1..=2) => Outcome::new(8, maybe),
        (None, _) => Outcome::new(6, maybe),
        (Some(first), _) => {
            let place =
                format!("{}:{}", first.file.unwrap_or_default(), first.line.unwrap_or_default());
            sure.append(&mut maybe);
            let text = format!("a secret lies in the open ({place})");
            Outcome::new(0, sure).alarms(vec![Alarm { ceiling: Verdict::Avoid, text }])
        }
    }
}

fn is_lock(file: &File) -> bool {
    file.name().ends_with(".lock")
        || matches!(file.name(), "package-lock.json" | "pnpm-lock.yaml" | "go.sum")
}

fn is_example(file: &File) -> bool {
    let name = file.name().to_lowercase();
    ["example", "sample", "template", ".dist"].iter().any(|word| name.contains(word))
}

fn look(file: &File, found: &mut dyn FnMut(u32, String, Weight)) {
    let mut lines = file.lines().peekable();
    while let Some((number, line)) = lines.next() {
        if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") {
            // A name for the header is no key: the key itself must follow.
            let after =
                line.split("PRIVATE KEY-----").nth(1).unwrap_or_default().trim_start_matches("\\n");
            let next = lines
                .peek()
                .map(|(_, next)| next.trim().trim_matches(['"', '\'', '+', ' ', ',']))
                .unwrap_or_default();
            if is_base64(after) || is_base64(next) || next.starts_with("Proc-Type") {
                found(number, "a private key".into(), Weight::Sure);
            }
            continue;
        }
        if let Some((what, token)) = token(line) {
            found(number, format!("{what}, `{}…`", head(token)), Weight::Sure);
        } else if let Some(value) = assigned(line) {
            found(
                number,
                format!("a password or key in an assignment, `{}…`", head(value)),
                Weight::Maybe,
            );
        }
    }
}

fn head(token: &str) -> String {
    token.chars().take(6).collect()
}

fn is_base64(text: &str) -> bool {
    let run = text.chars().take_while(|c| c.is_ascii_alphanumeric() || "+/=".contains(*c)).count();
    run >= 40
}

fn token(line: &str) -> Option<(&'static str, &str)> {
    for form in FORMS {
        for (at, _) in line.match_indices(form.prefix) {
            let joined =
                line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
            let rest = &line[at + form.prefix.len()..];
            let length = rest
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || form.also.contains(*c))
                .count();
            let body = &rest[..length];
            let upper = form.prefix.len() != 4
                || !form.prefix.ends_with("IA")
                || body.chars().all(|c| !c.is_ascii_lowercase());
            if !joined && upper && (form.least..=form.most).contains(&length) && is_random(body) {
                return Some((form.what, &line[at..at + form.prefix.len() + length]));
            }
        }
    }
    None
}

const NAMES: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "api_key",
    "apikey",
    "api-key",
    "access_token",
    "auth_token",
    "private_key",
];

/// The literal in `password = "…"`, when it looks like a real one.
fn assigned(line: &str) -> Option<&str> {
    if line.len() > 500 {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    let at = NAMES.iter().filter_map(|name| lower.find(name).map(|at| at + name.len())).min()?;
    let rest = &line[at..];
    // `"password": "…"`, `password = '…'`, `PASSWORD="…"`.
    let sign = rest.find(['=', ':']).filter(|sign| *sign <= 3)?;
    let value = rest[sign + 1..].trim_start_matches(['=', ' ', '>']);
    let mark = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let value = value[1..].split(mark).next()?;
    let fits = (16..=200).contains(&value.len())
        && value.chars().all(|c| c.is_ascii_graphic())
        && !value.contains(['$', '{', '<', '(', '/'])
        && value.chars().any(|c| c.is_ascii_digit())
        && value.chars().any(|c| c.is_ascii_alphabetic());
    (fits && is_random(value)).then_some(value)
}

/// Not a word for a secret, not a row of the same: a real token has many different characters.
fn is_random(body: &str) -> bool {
    let lower = body.to_lowercase();
    let words = [
        "example",
        "xxxx",
        "your",
        "dummy",
        "placeholder",
        "changeme",
        "redacted",
        "abcdef",
        "012345",
        "123456",
        "aaaa",
        "0000",
        "fake",
        "insert",
        "replace",
    ];
    if words.iter().any(|word| lower.contains(word)) {
        return false;
    }
    let mut seen: Vec<char> = body.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len() >= 8.min(body.len() * 2 / 3)
}

#[cfg(test)]
mod tests {
    use super::{super::subject, *};

    /// Put together here, so that no scanner takes this file for a leak.
    fn key() -> String {
        format!("{}{}", "AKI", "AQ3EGR7TZMKW5PLXB")
    }

    #[test]
    fn a_key_in_the_open_raises_the_alarm() {
        let text = format!("region = eu\nkey = {}\n", key());
        let found = secrets(&subject(&[("config/prod.ini", &text)]));
        assert_eq!(found.score, Some(0));
        assert_eq!(found.alarms[0].text, "a secret lies in the open (config/prod.ini:2)");
        assert!(!found.evidence[0].text.contains(&key()), "the secret is repeated: {found:?}");
        let pem = format!(
            "-----BEGIN {} KEY-----\n{}\n",
            "RSA PRIVATE",
            "MIIEpAIBAAKCAQEA7bq3".repeat(3)
        );
        assert!(!secrets(&subject(&[("id", &pem)])).alarms.is_empty());
        let token = format!("token: {}_{}", "ghp", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF1hJ3");
        assert!(!secrets(&subject(&[("a.yml", &token)])).alarms.is_empty());
    }

    #[test]
    fn examples_and_names_are_no_leak() {
        let text = format!("key = {}\n", key());
        for (path, score) in
            [("tests/a.ini", 8), ("docs/a.md", 8), (".env.example", 8), ("package-lock.json", 10)]
        {
            let found = secrets(&subject(&[(path, &text)]));
            assert_eq!((found.score, found.alarms), (Some(score), vec![]), "{path}");
        }
        let example = format!("{}{}", "AKIA", "IOSFODNN7EXAMPLE");
        for text in [
            example.as_str(),
            "if line == \"-----BEGIN PRIVATE KEY-----\" {",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "password = \"\"",
            "password = os.environ['PASSWORD']",
            "let secret = \"your-secret-goes-here-1\";",
            "SKAKIAQ3EGR7TZMKW5PLXB",
        ] {
            assert_eq!(secrets(&subject(&[("src/a.rs", text)])).score, Some(10), "{text}");
        }
        let assigned = "password = \"kX9#mQ2vL8pR4tW7z\"";
        assert_eq!(secrets(&subject(&[("src/a.rs", assigned)])).score, Some(8));
    }
}
