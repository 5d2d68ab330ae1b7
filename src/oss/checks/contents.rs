//! Programs in the tree, and calls in the sources that need care.

use super::{Outcome, Subject};
use crate::oss::{
    code::Source,
    report::{Evidence, quote},
    tree::File,
};

pub fn binaries(subject: &Subject) -> Outcome {
    let mut evidence = Vec::new();
    let mut worth = 0;
    for file in &subject.tree.files {
        let Some(kind) = program(file) else { continue };
        // A program among test data does less harm than one that an install runs.
        worth += if file.is_test() { 1 } else { 4 };
        evidence.push(Evidence::in_file(&file.path, format!("{kind}, {} bytes", file.size)));
    }
    match worth {
        0 => Outcome::good("there are no programs and no libraries in the tree"),
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

/// Calls that need a review, by the ending of the file.
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
        for (number, line) in Source::read(file).numbered() {
            lines += 1;
            if let Some(call) = calls.iter().find(|call| calls_it(line, call)) {
                evidence.push(Evidence::at(&file.path, number, quote(call)));
            }
        }
    }
    if lines == 0 {
        return Outcome::not_checked("there is no source code in a language with rules");
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
    evidence.insert(0, Evidence::text(all));
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
    fn calls_stand_on_their_own() {
        let clean = "fn retrieval() {}\n// unsafe { }\n".repeat(100);
        assert_eq!(unsafe_code(&subject(&[("a.rs", &clean)])).score, Some(10));
        let found = unsafe_code(&subject(&[("a.py", "x = 1\nmodel.eval()\ny = eval(x)\n")]));
        assert_eq!(found.evidence[1].line, Some(3));
        assert_eq!(found.evidence.len(), 2);
        assert_eq!(unsafe_code(&subject(&[])).score, None);
    }
}
