//! What is in the files themselves: programs, hidden code, dangerous calls.

use super::{Outcome, Subject};
use crate::oss::{
    report::{Evidence, quote},
    tree::File,
};

pub fn binaries(subject: &Subject) -> Outcome {
    let mut evidence = Vec::new();
    let mut worth = 0;
    for file in &subject.tree.files {
        let Some(kind) = program(file) else { continue };
        // What a test reads does less harm than what an install runs.
        worth += if file.is_test() { 1 } else { 4 };
        evidence.push(Evidence::in_file(&file.path, format!("{kind}, {} bytes", file.size)));
    }
    match worth {
        0 => Outcome::good("no programs and no libraries are in the tree"),
        1..=3 => Outcome::new(8, evidence),
        4..=7 => Outcome::new(5, evidence),
        8..=15 => Outcome::new(3, evidence),
        _ => Outcome::new(0, evidence),
    }
}

fn program(file: &File) -> Option<&'static str> {
    let ending = file.ending();
    let magic = &file.magic;
    if magic.starts_with(b"\x7fELF") {
        return Some("an ELF program");
    }
    if magic.starts_with(b"MZ")
        && matches!(ending.as_str(), "exe" | "dll" | "sys" | "scr" | "com" | "pyd" | "node")
    {
        return Some("a Windows program");
    }
    let mach = [
        [0xfe, 0xed, 0xfa, 0xce],
        [0xfe, 0xed, 0xfa, 0xcf],
        [0xce, 0xfa, 0xed, 0xfe],
        [0xcf, 0xfa, 0xed, 0xfe],
    ];
    if mach.iter().any(|start| magic.starts_with(start)) {
        return Some("a macOS program");
    }
    if magic.starts_with(&[0xca, 0xfe, 0xba, 0xbe]) {
        return Some("a Java class or a macOS program");
    }
    if magic.starts_with(b"PK\x03\x04")
        && matches!(ending.as_str(), "jar" | "war" | "apk" | "whl" | "egg")
    {
        // The wrapper that every Gradle project carries.
        return (file.name() != "gradle-wrapper.jar").then_some("a package of programs");
    }
    if magic.starts_with(b"\0asm") {
        return Some("a WebAssembly program");
    }
    (ending == "pyc" && file.text.is_none()).then_some("compiled Python")
}

/// Characters that make a line read in another order than it runs.
pub fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

const JAVASCRIPT: &[&str] = &["js", "mjs", "cjs", "jsx", "ts", "tsx"];
const PYTHON: &[&str] = &["py"];
const PHP: &[&str] = &["php"];

/// What hides, by language: the same words in a string of another one hide nothing.
const HIDDEN: &[(&[&str], &str, &str)] = &[
    (JAVASCRIPT, "eval(atob(", "a decoded string is run"),
    (JAVASCRIPT, "eval(buffer.from(", "a decoded string is run"),
    (JAVASCRIPT, "new function(atob(", "a decoded string is run"),
    (JAVASCRIPT, "eval(function(p,a,c,k,e", "a packed script"),
    (JAVASCRIPT, "eval(unescape(", "a decoded string is run"),
    (JAVASCRIPT, "eval(string.fromcharcode(", "a decoded string is run"),
    (PYTHON, "exec(base64.b64decode", "a decoded string is run"),
    (PYTHON, "exec(zlib.decompress", "a packed script"),
    (PYTHON, "exec(marshal.loads", "a packed script"),
    (PYTHON, "exec(bytes.fromhex", "a decoded string is run"),
    (PHP, "eval(base64_decode(", "a decoded string is run"),
    (PHP, "eval(gzinflate(", "a packed script"),
];

const SCRIPTS: &[&str] = &[
    "js", "mjs", "cjs", "jsx", "ts", "tsx", "py", "php", "rb", "pl", "sh", "ps1", "rs", "go",
    "java", "c", "cc", "cpp", "h", "cs", "kt", "swift", "lua",
];

pub fn obfuscated(subject: &Subject) -> Outcome {
    let (mut hidden, mut minified) = (Vec::new(), Vec::new());
    for file in subject.tree.own().filter(|file| SCRIPTS.contains(&file.ending().as_str())) {
        if let Some(found) = hides(file) {
            hidden.push(found);
        } else if matches!(file.ending().as_str(), "js" | "mjs" | "cjs") && is_minified(file) {
            minified.push(Evidence::in_file(&file.path, "minified: it cannot be reviewed"));
        }
    }
    let score = match (hidden.len(), minified.len()) {
        (0, 0) => return Outcome::good("the sources can be read"),
        (0, 1..=3) => 8,
        (0, _) => 5,
        (1, _) => 2,
        _ => 0,
    };
    hidden.append(&mut minified);
    Outcome::new(score, hidden)
}

fn hides(file: &File) -> Option<Evidence> {
    let mut made_up = 0;
    let ending = file.ending();
    for (number, line) in file.lines() {
        if line.chars().any(turns_direction) {
            return Some(Evidence::at(
                &file.path,
                number,
                "direction characters: the line reads in another order than it runs",
            ));
        }
        let lower = line.to_lowercase().replace("( ", "(");
        let found = HIDDEN
            .iter()
            .find(|(endings, word, _)| endings.contains(&ending.as_str()) && begins(&lower, word));
        if let Some((_, _, what)) = found {
            return Some(Evidence::at(&file.path, number, format!("{what}: {}", quote(line))));
        }
        if line.matches("\\x").count() > 200 {
            return Some(Evidence::at(&file.path, number, "a long run of escaped bytes"));
        }
        made_up += line.matches("_0x").count();
        if made_up > 40 {
            return Some(Evidence::at(&file.path, number, "names made by an obfuscator"));
        }
    }
    None
}

/// Whether a text holds words that do not go on from another.
fn begins(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

fn is_minified(file: &File) -> bool {
    let lines = file.text().lines().count().max(1);
    file.size > 5000 && file.text().len() / lines > 400
}

/// Calls that deserve a look, by ending.
const CALLS: &[(&[&str], &[&str])] = &[
    (&["rs"], &["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "transmute("]),
    (
        &["js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "vue", "svelte"],
        &["eval(", "new Function(", "dangerouslySetInnerHTML", "vm.runIn"],
    ),
    (
        &["py"],
        &[
            "eval(",
            "exec(",
            "pickle.load",
            "shell=True",
            "os.system(",
            "yaml.load(",
            "marshal.loads",
            "__import__(",
        ],
    ),
    (&["go"], &["unsafe.", "exec.Command("]),
    (
        &["c", "h", "cc", "cpp", "cxx", "hpp"],
        &["gets(", "strcpy(", "strcat(", "sprintf(", "system(", "popen("],
    ),
    (&["php"], &["eval(", "shell_exec(", "system(", "passthru(", "unserialize("]),
    (&["rb"], &["eval(", "instance_eval", "Marshal.load", "system("]),
    (&["java", "kt", "scala"], &["Runtime.getRuntime().exec", "ObjectInputStream("]),
    (&["lua"], &["loadstring(", "os.execute("]),
];

pub fn unsafe_code(subject: &Subject) -> Outcome {
    let (mut lines, mut evidence) = (0_usize, Vec::new());
    for file in subject.tree.own().filter(|file| !file.is_test()) {
        let ending = file.ending();
        let Some((_, calls)) = CALLS.iter().find(|(endings, _)| endings.contains(&ending.as_str()))
        else {
            continue;
        };
        for (number, line) in file.lines() {
            lines += 1;
            let bare = line.trim_start();
            if bare.starts_with("//")
                || bare.starts_with('#') && !bare.starts_with("#[")
                || bare.starts_with('*')
            {
                continue;
            }
            if let Some(call) = calls.iter().find(|call| calls_it(line, call)) {
                evidence.push(Evidence::at(&file.path, number, quote(call)));
            }
        }
    }
    if lines == 0 {
        return Outcome::not_checked(
            "there is no source code in a language that is understood here",
        );
    }
    let thousandths = evidence.len() * 1000 / lines.max(100);
    let score = match (evidence.len(), thousandths) {
        (0, _) => return Outcome::good(format!("none in {lines} lines")),
        (_, 0) => 9,
        (_, 1..=2) => 8,
        (_, 3..=9) => 6,
        (_, 10..=29) => 4,
        _ => 2,
    };
    let all = format!("{} places in {lines} lines", evidence.len());
    evidence.insert(0, Evidence::said(all));
    Outcome::new(score, evidence)
}

/// Whether the call stands on its own: `eval(` is not `retrieval(`, nor `re.eval(`.
fn calls_it(line: &str, call: &str) -> bool {
    line.match_indices(call).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '\'' | '`' | '$'))
    })
}

#[cfg(test)]
mod tests {
    use super::{super::subject, *};

    #[test]
    fn programs_are_known_by_their_first_bytes() {
        let mut all = subject(&[("tool", ""), ("tests/sample", ""), ("a.txt", "")]);
        assert_eq!(binaries(&all).score, Some(10));
        all.tree.files.iter_mut().find(|f| f.path == "tests/sample").unwrap().magic =
            *b"\x7fELF\x02\x01\x01\0";
        assert_eq!(binaries(&all).score, Some(8));
        all.tree.files.iter_mut().find(|f| f.path == "tool").unwrap().magic =
            *b"\x7fELF\x02\x01\x01\0";
        let found = binaries(&all);
        assert_eq!(found.score, Some(5));
        assert!(found.evidence.iter().any(|e| e.file.as_deref() == Some("tool")));
    }

    #[test]
    fn hidden_code_is_seen() {
        for (name, text) in [
            ("a.js", "let x = 1;\neval(atob('YWxlcnQoMSk='))\n"),
            ("a.py", "x = 1\nexec( base64.b64decode(blob))\n"),
            ("a.rs", "fn main() {\n// admin\u{202e} only\n}\n"),
        ] {
            let found = obfuscated(&subject(&[(name, text)]));
            assert_eq!((found.score, found.evidence[0].line), (Some(2), Some(2)), "{name}");
        }
        let minified = "var a=1;".repeat(2000);
        assert_eq!(obfuscated(&subject(&[("dist/a.js", &minified)])).score, Some(8));
        assert_eq!(obfuscated(&subject(&[("vendor/a.js", &minified)])).score, Some(10));
        assert_eq!(obfuscated(&subject(&[("a.js", "retrieval(atob(x))")])).score, Some(10));
    }

    #[test]
    fn calls_stand_on_their_own() {
        let clean = "fn retrieval() {}\n// unsafe { }\n".repeat(100);
        assert_eq!(unsafe_code(&subject(&[("a.rs", &clean)])).score, Some(10));
        let found = unsafe_code(&subject(&[("a.py", "x = 1\nmodel.eval()\ny = eval(x)\n")]));
        assert_eq!(found.evidence[1].line, Some(3));
        assert_eq!(found.evidence.len(), 2);
        assert_eq!(unsafe_code(&subject(&[])).score, None);
    }
}
