//! `notewell edit`: the person's own editor, and what happens when somebody else writes meanwhile.

use crate::support::{Home, put};

const NOTE: &str = "---\ntags: [x]\n---\n# Кофе\n\n## Помол\n\nКрупный.\n\n## 抽出\n\n九十二度。\n";

/// Runs `edit` with a shell script for an editor; `$1` is the file to edit.
fn edit(home: &Home, arguments: &[&str], script: &str) -> (bool, String, String) {
    let editor = home.dir.path().join("editor.sh");
    put(&editor, format!("set -e\n{script}\n"));
    let mut command = home.command(&[&["edit"], arguments].concat());
    command.env_remove("VISUAL").env("EDITOR", format!("sh {}", editor.display()));
    command.env("NOTE", home.vault().join("кофе.md"));
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn note(home: &Home) -> String {
    std::fs::read_to_string(home.vault().join("кофе.md")).unwrap()
}

#[test]
fn a_note_or_a_section_is_edited_in_the_persons_editor() {
    let home = Home::new();
    home.note("кофе.md", NOTE);
    let (ok, out, err) = edit(&home, &["кофе"], "sed -i 's/tags: .x./tags: [y]/' \"$1\"");
    assert!(ok && out.contains("Saved кофе.md (change 1)."), "{out}{err}");
    assert_eq!(note(&home), NOTE.replace("[x]", "[y]"));
    let script = "grep -q 抽出 \"$1\" && exit 3; sed -i 's/Крупный/Мелкий/' \"$1\"";
    let (ok, out, err) = edit(&home, &["кофе.md", "--toc", "Помол"], script);
    assert!(ok, "{out}{err}");
    assert_eq!(note(&home), NOTE.replace("[x]", "[y]").replace("Крупный", "Мелкий"));
    let (ok, out, _) = edit(&home, &["кофе.md"], "true");
    assert!(ok && out.contains("Nothing changed."), "{out}");
    let (ok, _, err) = edit(&home, &["кофе.md"], "exit 1");
    assert!(!ok && err.contains("nothing was saved"), "{err}");
    let (ok, _, err) = edit(&home, &["нет.md"], "true");
    assert!(!ok && err.contains("no note"), "{err}");
}

#[test]
fn what_others_wrote_meanwhile_is_merged_or_nothing_is_saved() {
    let home = Home::new();
    home.note("кофе.md", NOTE);
    // Somebody saves another section, a while before the editor closes.
    let elsewhere = "sed -i 's/九十二度/九十度/' \"$NOTE\"; touch -d '1 minute ago' \"$NOTE\"; sed -i 's/Крупный/Мелкий/' \"$1\"";
    let (ok, out, err) = edit(&home, &["кофе.md", "--toc", "Помол"], elsewhere);
    assert!(ok && err.contains("both are kept"), "{out}{err}");
    let both = NOTE.replace("九十二度", "九十度").replace("Крупный", "Мелкий");
    assert_eq!(note(&home), both);
    let same = "sed -i 's/Мелкий/Средний/' \"$NOTE\"; touch -d '1 minute ago' \"$NOTE\"; sed -i 's/Мелкий/Тонкий/' \"$1\"";
    let (ok, _, err) = edit(&home, &["кофе.md", "--toc", "Помол"], same);
    assert!(!ok && err.contains("changed by somebody else"), "{err}");
    assert_eq!(note(&home), both.replace("Мелкий", "Средний"));
    let kept = err.split('`').nth(1).unwrap();
    assert!(kept.starts_with(home.data().to_str().unwrap()), "{kept}");
    assert!(std::fs::read_to_string(kept).unwrap().contains("Тонкий"), "{kept}");
    let drafts = std::fs::read_dir(home.data().join("drafts")).unwrap().count();
    assert_eq!(drafts, 1, "a saved text leaves no draft");
}

#[test]
fn a_text_that_cannot_be_taken_is_kept() {
    let home = Home::new();
    home.note("кофе.md", NOTE);
    let drafts = || {
        let folder = std::fs::read_dir(home.data().join("drafts"));
        folder.map_or(0, |entries| entries.count())
    };
    let kept = |err: &str| std::fs::read(err.split('`').nth(1).unwrap_or_default()).unwrap();
    let (ok, _, err) = edit(&home, &["кофе.md"], "printf 'typed \\377' > \"$1\"");
    assert!(!ok && err.contains("not UTF-8") && err.contains("nothing was saved"), "{err}");
    assert_eq!(kept(&err), b"typed \xff");
    let (ok, _, err) = edit(&home, &["кофе.md"], "echo typed > \"$1\"; exit 1");
    assert!(!ok && err.contains("the editor ended with"), "{err}");
    assert_eq!(kept(&err), b"typed\n");
    assert_eq!(drafts(), 2);
    // Nothing was typed, so nothing is kept.
    let (ok, _, err) = edit(&home, &["кофе.md"], "exit 1");
    assert!(!ok && err.contains("nothing was saved") && !err.contains('`'), "{err}");
    let (ok, _, err) = edit(&home, &["кофе.md"], "rm \"$1\"");
    assert!(!ok && err.contains("could not read the edited file"), "{err}");
    assert_eq!((drafts(), note(&home)), (2, NOTE.to_owned()));
}
