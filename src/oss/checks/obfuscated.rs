//! Code that hides what it does.

use super::{
    Alarm, Outcome, Subject,
    evaluated::{self, Payload},
};
use crate::oss::{
    code::{Source, turns_direction},
    report::{Evidence, quote},
    tree::File,
    verdict::Verdict,
};

const ENDINGS: &[&str] = &[
    "js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "cts", "vue", "svelte", "py", "php", "rb", "pl",
    "sh", "ps1", "rs", "go", "java", "c", "cc", "cpp", "h", "cs", "kt", "swift", "lua",
];
/// Spaces before code that push it out of every window.
const HIDING_SPACES: usize = 150;
/// Escaped bytes on one line that no text needs.
const ESCAPED_BYTES: usize = 200;
/// Names such as `_0x3f2a` that only an obfuscator makes.
const MACHINE_NAMES: usize = 40;

/// Something hidden, and the best verdict that it allows.
struct Hidden {
    ceiling: Option<Verdict>,
    evidence: Evidence,
}

pub fn obfuscated(subject: &Subject) -> Outcome {
    let (mut hidden, mut minified) = (Vec::new(), Vec::new());
    for file in subject.tree.own().filter(|file| is_examined(file)) {
        match find(file) {
            Some(found) => hidden.push(found),
            None if is_minified(file) => {
                minified.push(Evidence::in_file(&file.path, "minified: it cannot be reviewed"));
            }
            None => {}
        }
    }
    hidden.sort_by_key(|found| std::cmp::Reverse(found.ceiling.map_or(0, Verdict::rank)));
    let alarms: Vec<Alarm> = hidden
        .iter()
        .filter_map(|found| {
            let evidence = &found.evidence;
            let place = format!("{}:{}", evidence.file.as_deref()?, evidence.line.unwrap_or(1));
            Some(Alarm { ceiling: found.ceiling?, text: format!("{place} {}", evidence.text) })
        })
        .collect();
    let avoid = alarms.iter().any(|alarm| alarm.ceiling == Verdict::Avoid);
    let score = match (hidden.len(), minified.len()) {
        (0, 0) => return Outcome::good("the sources can be read"),
        _ if avoid => 0,
        (0, 1..=3) => 8,
        (0, _) => 5,
        (1, _) => 2,
        _ => 0,
    };
    let mut evidence: Vec<Evidence> = hidden.into_iter().map(|found| found.evidence).collect();
    evidence.append(&mut minified);
    Outcome::new(score, evidence).alarms(alarms)
}

/// Test data shows bad examples on purpose; nothing runs it.
fn is_examined(file: &File) -> bool {
    file.text.is_some() && ENDINGS.contains(&file.ending().as_str()) && !file.is_test()
}

/// The worst that one file hides.
fn find(file: &File) -> Option<Hidden> {
    let at = |line: u32, ceiling: Option<Verdict>, text: String| {
        Some(Hidden { ceiling, evidence: Evidence::at(&file.path, line, text) })
    };
    let source = Source::read(file);
    if let Some(line) = source.invisible_data {
        return at(line, Some(Verdict::Avoid), "carries data in invisible characters".into());
    }
    let evaluated = evaluated::find(&source, &file.ending());
    let worst = evaluated
        .iter()
        .find(|data| matches!(data.payload, Payload::Downloaded | Payload::Decoded));
    if let Some(data) = worst {
        return at(data.line, Some(Verdict::Avoid), data.payload.as_str().into());
    }
    if let Some((line, name, how)) = evaluated::hidden_name(&source) {
        return at(line, Some(Verdict::Caution), format!("hides the name {} ({how})", quote(name)));
    }
    if let Some(data) = evaluated.first() {
        return at(data.line, Some(Verdict::Caution), data.payload.as_str().into());
    }
    if let Some(line) = source.invisible_in_code {
        return at(line, Some(Verdict::Caution), "invisible characters in its code".into());
    }
    let mut machine_names = 0;
    for ((number, line), code) in file.lines().zip(&source.lines) {
        if line.chars().any(turns_direction) {
            return at(
                number,
                None,
                "direction characters: the line reads in another order than it runs".into(),
            );
        }
        if is_off_screen(code) {
            return at(number, Some(Verdict::Verify), "code far to the right, out of sight".into());
        }
        if code.contains("eval(function(p,a,c,k,e") {
            return at(number, None, "a packed script".into());
        }
        if line.matches("\\x").count() > ESCAPED_BYTES {
            return at(number, None, "a long run of escaped bytes".into());
        }
        machine_names += line.matches("_0x").count();
        if machine_names > MACHINE_NAMES {
            return at(number, None, "names made by an obfuscator".into());
        }
    }
    None
}

/// Whether code follows a run of spaces that is wider than a screen.
fn is_off_screen(line: &str) -> bool {
    line.len() > HIDING_SPACES && {
        let code = line.trim_end();
        let mut run = 0;
        code.chars().any(|c| {
            run = if c == ' ' || c == '\t' { run + 1 } else { 0 };
            run >= HIDING_SPACES
        })
    }
}

/// Whether a script was written by a program that saves space.
pub fn is_minified(file: &File) -> bool {
    let lines = file.text().lines().count().max(1);
    matches!(file.ending().as_str(), "js" | "mjs" | "cjs")
        && file.size > 5000
        && file.text().len() / lines > 400
}

#[cfg(test)]
mod tests {
    use super::{super::subject, *};

    #[test]
    fn hidden_code_is_found() {
        let spaces = " ".repeat(200);
        let off_screen = format!("let x = 1;\nlet y = 2;{spaces}steal();\n");
        let data = format!("x\nconst s = `{}`;\n", "\u{fe01}\u{e0101}".repeat(10));
        for (name, text, ceiling) in [
            ("a.js", "let x = 1;\neval(atob('YWxlcnQoMSkgLy8gaGVsbG8='))\n", Some(Verdict::Avoid)),
            ("a.py", "x = 1\nexec( base64.b64decode(blob))\n", Some(Verdict::Caution)),
            ("a.rs", "fn main() {\n// admin\u{202e} only\n}\n", None),
            ("a.js", "// обычный файл\nglobal['ev' + 'al'](x)\n", Some(Verdict::Caution)),
            ("a.js", "// 普通のファイル\nre\u{200b}quire('x')\n", Some(Verdict::Caution)),
            ("a.js", &off_screen, Some(Verdict::Verify)),
            ("a.js", &data, Some(Verdict::Avoid)),
        ] {
            let found = obfuscated(&subject(&[(name, text)]));
            assert!(found.score <= Some(2), "{text}");
            assert_eq!(found.evidence[0].line, Some(2), "{text}");
            assert_eq!(found.alarms.first().map(|alarm| alarm.ceiling), ceiling, "{text}");
        }
    }

    #[test]
    fn minified_and_vendored_sources_weigh_less() {
        let minified = "var a=1;".repeat(2000);
        assert_eq!(obfuscated(&subject(&[("dist/a.js", &minified)])).score, Some(8));
        assert_eq!(obfuscated(&subject(&[("vendor/a.js", &minified)])).score, Some(10));
        assert_eq!(obfuscated(&subject(&[("a.js", "retrieval(atob(x))")])).score, Some(10));
    }
}
