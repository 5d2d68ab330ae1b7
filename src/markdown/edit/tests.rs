use super::*;

fn edit(text: &str, path: &[&str], edit: Edit<'_>) -> Result<String> {
    let note = Note::parse(text, "t");
    let section = note.outline.find(path)?;
    let edited = apply(text, &note, section, edit)?;
    assert!(edited.text.get(edited.changed.clone()).is_some());
    Ok(edited.text)
}

const NOTE: &str =
    "---\na: 1\n---\n# T\n\nintro\n\n## A\n\none\n\n### Deep\n\n- x\n- y\n\n## Б\n二\n";

#[test]
fn each_op_changes_its_target() {
    let ok = |path: &[&str], op| edit(NOTE, path, op).unwrap();
    assert_eq!(
        ok(&["A"], Edit::Replace("new\nlines\n")),
        "---\na: 1\n---\n# T\n\nintro\n\n## A\n\nnew\nlines\n\n## Б\n二\n"
    );
    assert_eq!(
        ok(&["A"], Edit::Replace("## Neu\nx")),
        "---\na: 1\n---\n# T\n\nintro\n\n## Neu\nx\n\n## Б\n二\n"
    );
    // A deeper heading is content of the section.
    assert_eq!(
        ok(&["A"], Edit::Replace("### Sub\nx")),
        "---\na: 1\n---\n# T\n\nintro\n\n## A\n\n### Sub\nx\n\n## Б\n二\n"
    );
    assert_eq!(ok(&[], Edit::Replace("only")), "---\na: 1\n---\nonly\n");
    assert_eq!(ok(&[], Edit::Replace("---\nb: 2\n---\nonly\n")), "---\nb: 2\n---\nonly\n");
    assert_eq!(ok(&["A", "Deep"], Edit::Append("- z")), NOTE.replace("- y\n", "- y\n- z\n"));
    assert_eq!(ok(&["Deep"], Edit::Append("text")), NOTE.replace("- y\n", "- y\n\ntext\n"));
    assert_eq!(ok(&["Б"], Edit::Append("三")), NOTE.replace("二\n", "二\n\n三\n"));
    assert_eq!(ok(&["A"], Edit::Prepend("zero")), NOTE.replace("one", "zero\n\none"));
    assert_eq!(ok(&["Deep"], Edit::Prepend("- w")), NOTE.replace("- x", "- w\n- x"));
    assert_eq!(ok(&[], Edit::Prepend("lead")), NOTE.replace("intro", "lead\n\nintro"));
    assert_eq!(ok(&["Б"], Edit::Before("## New\nn")), NOTE.replace("## Б", "## New\nn\n\n## Б"));
    assert_eq!(ok(&["A"], Edit::After("## New")), NOTE.replace("- y\n", "- y\n\n## New\n"));
    assert_eq!(ok(&["A"], Edit::Delete), "---\na: 1\n---\n# T\n\nintro\n\n## Б\n二\n");
    let find = Edit::Find { find: "二", text: "2\n3", count: 1 };
    assert_eq!(ok(&["Б"], find), NOTE.replace("二", "2\n3"));
}

#[test]
fn a_body_that_starts_like_frontmatter_is_a_body() {
    let body = "---\nbetween rules\n---\ntext\n";
    let text = format!("---\na: 1\n---\n{body}");
    let ok = |new: &str| edit(&text, &[], Edit::Replace(new)).unwrap();
    assert_eq!(ok(body), text);
    assert_eq!(ok(&body.replace("text", "new")), text.replace("text", "new"));
    assert_eq!(ok(&body.replace('\n', "\r\n")), text);
    assert_eq!(ok("---\nb: 2\n---\nonly\n"), "---\nb: 2\n---\nonly\n");
}

#[test]
fn a_section_starts_with_its_own_heading_though_that_reads_as_a_list_elsewhere() {
    let text = "[a]: /x\n0) y\n---\nbody\n\n## Next\n";
    let ok = |new: &str| edit(text, &["0) y"], Edit::Replace(new)).unwrap();
    assert_eq!(ok("0) y\n---\nbody\n"), text);
    assert_eq!(ok("0) y\n---\nnew\n"), text.replace("body", "new"));
    assert_eq!(ok("0) y\r\n---\r\nbody\r\n"), text);
    // A list that is not the heading is content.
    assert_eq!(ok("0) z\n"), text.replace("body", "0) z"));
}

#[test]
fn a_section_may_start_with_a_byte_order_mark() {
    let text = "a\n\n\u{feff}\nB\n===\nb\n";
    let note = Note::parse(text, "t");
    for section in note.outline.sections() {
        let own = note.section(text, section);
        let same = apply(text, &note, section, Edit::Replace(own)).unwrap();
        assert_eq!(same.text, text, "{own:?}");
    }
    assert_eq!(
        edit("\u{feff}\u{feff}a", &[], Edit::Replace("\u{feff}a")).unwrap(),
        "\u{feff}\u{feff}a"
    );
    assert_eq!(edit("a", &[], Edit::Replace("\u{feff}b")).unwrap(), "b");
}

#[test]
fn empty_sections_and_notes_take_text() {
    assert_eq!(edit("", &[], Edit::Append("a")).unwrap(), "a\n");
    assert_eq!(edit("", &[], Edit::Replace("a")).unwrap(), "a\n");
    assert_eq!(edit("---\nx: 1\n---\n", &[], Edit::Append("a\n")).unwrap(), "---\nx: 1\n---\na\n");
    assert_eq!(edit("## A\n\n## B\n", &["A"], Edit::Replace("x")).unwrap(), "## A\n\nx\n\n## B\n");
    assert_eq!(edit("## A\n## B\n", &["A"], Edit::Append("x")).unwrap(), "## A\n\nx\n## B\n");
    assert_eq!(edit("## A", &["A"], Edit::Replace("x")).unwrap(), "## A\n\nx");
    assert_eq!(edit("## A", &["A"], Edit::Prepend("x")).unwrap(), "## A\n\nx");
    assert_eq!(edit("a", &[], Edit::Append("b")).unwrap(), "a\n\nb");
}

#[test]
fn line_endings_marks_and_missing_newlines_stay() {
    let text = "\u{feff}# T\r\n\r\n## A\r\na  \r\n\r\n## B\r\nb\tc  ";
    assert_eq!(
        edit(text, &["A"], Edit::Append("x\ny")).unwrap(),
        text.replace("a  \r\n", "a  \r\n\r\nx\r\ny\r\n")
    );
    assert_eq!(edit(text, &["B"], Edit::Append("x")).unwrap(), format!("{text}\r\n\r\nx"));
    let find = Edit::Find { find: "A\na", text: "A\nz", count: 1 };
    assert_eq!(edit(text, &[], find).unwrap(), text.replace("A\r\na", "A\r\nz"));
    let setext = "Head\n====\n\ntext\n\nNext\n----\nmore\n";
    assert_eq!(edit(setext, &["Next"], Edit::Replace("x")).unwrap(), setext.replace("more", "x"));
}

#[test]
fn a_bare_carriage_return_ends_a_line() {
    let text = "above\r# A\ntext\n\n# B\nmore\n";
    let note = Note::parse(text, "t");
    for section in note.outline.sections() {
        let own = note.section(text, section).to_owned();
        assert_eq!(apply(text, &note, section, Edit::Replace(&own)).unwrap().text, text);
    }
    assert_eq!(edit(text, &["A"], Edit::Replace("new")).unwrap(), text.replace("text", "new"));
}

#[test]
fn what_follows_keeps_its_structure() {
    // Without a blank line the new text would become part of the next heading.
    let text = "## A\nB\n===\ntext\n";
    assert_eq!(edit(text, &["A"], Edit::Append("p")).unwrap(), "## A\n\np\n\nB\n===\ntext\n");
    let text = "p\n\n## X\nx\n\nC\n===\n";
    let deleted = edit(text, &["X"], Edit::Delete).unwrap();
    assert_eq!(Note::parse(&deleted, "").outline.sections().len(), 2);
    for open in ["```\ncode", "<!-- open", "~~~"] {
        let error = edit(NOTE, &["A"], Edit::Append(open)).unwrap_err();
        assert!(error.message.contains("close what it opens"), "{open}: {error}");
        assert!(edit(NOTE, &["A"], Edit::Prepend(open)).is_err());
    }
    assert!(edit("text\n", &[], Edit::Prepend("---\na: 1\n---")).is_err());
    assert!(edit(NOTE, &["Б"], Edit::Append("```\ncode")).is_ok(), "nothing follows");
}

#[test]
fn a_wrong_find_says_how_often_and_where() {
    let text = "---\nk: front\n---\none two\none\n## S\ntwo  words\n";
    let fail = |path: &[&str], find, count| {
        edit(text, path, Edit::Find { find, text: "", count }).unwrap_err().message
    };
    assert!(fail(&[], "one", 1).contains("2 times in the note (in lines 4, 5), not 1"));
    assert!(fail(&[], "two", 3).contains("count 2"));
    assert!(fail(&["S"], "one", 1).contains("lines 4, 5 of the note, outside the section"));
    assert!(fail(&[], "front", 1).contains("op set"));
    assert!(fail(&[], "Two words", 1).contains("differs only in spaces"));
    assert!(fail(&[], "", 1).contains("find is empty"));
    assert!(fail(&[], "x", 0).contains("count must be"));
    assert_eq!(
        edit(text, &[], Edit::Find { find: "one", text: "1", count: 2 }).unwrap(),
        text.replace("one", "1")
    );
}

proptest::proptest! {
    #[test]
    fn a_section_replaced_by_itself_changes_nothing(
        text in "(\u{feff})?((#{1,4} |> |- |```|---|===|\\| |\t)?[aАあ #`*.]{0,6}[ ]{0,2}\r?\n){0,20}(## a)?"
    ) {
        let note = Note::parse(&text, "t");
        for section in note.outline.sections() {
            let own = note.section(&text, section).to_owned();
            let edited = apply(&text, &note, section, Edit::Replace(&own)).unwrap();
            proptest::prop_assert_eq!(&edited.text, &text);
            let lf = own.replace("\r\n", "\n");
            let edited = apply(&text, &note, section, Edit::Replace(&lf)).unwrap();
            proptest::prop_assert_eq!(&edited.text, &text);
        }
    }

    #[test]
    fn an_edit_changes_only_its_target(
        text in "(\u{feff})?((#{1,4} |> |- |```|===|\\| |\t)?[aАあ #`*.]{0,6}[ ]{0,2}\r?\n){0,16}(## a)?",
        new in "(- |# )?[a-zаあ]{1,5}(\n[a-z]{0,4})?",
        op in 0usize..5,
    ) {
        let note = Note::parse(&text, "t");
        for section in note.outline.sections() {
            let ops = [Edit::Replace(&new), Edit::Append(&new), Edit::Prepend(&new), Edit::Before(&new), Edit::After(&new)];
            let Ok(edited) = apply(&text, &note, section, ops[op]) else { continue };
            let start = if section.level == 0 { note.body } else { section.range.start };
            proptest::prop_assert!(edited.text.starts_with(&text[..start]));
            proptest::prop_assert!(edited.text.ends_with(&text[section.range.end..]));
            if !matches!(ops[op], Edit::Replace(_)) {
                let grown = edited.text.len() - text.len();
                let at = edited.changed.start;
                let without = format!("{}{}", &edited.text[..at], &edited.text[at + grown..]);
                proptest::prop_assert_eq!(&without, &text);
            }
        }
    }
}
