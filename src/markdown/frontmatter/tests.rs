use super::*;

fn front(text: &str) -> Frontmatter {
    let split = split(text);
    split.yaml.map(|yaml| parse(&text[yaml])).unwrap_or_default()
}

#[test]
fn the_block_is_found_in_every_guise() {
    for (text, yaml, body) in [
        ("---\na: 1\n---\nText", Some("a: 1\n"), "Text"),
        ("\u{feff}---\r\na: 1\r\n---\r\nText", Some("a: 1\r\n"), "Text"),
        ("---\na: 1\n...\nText", Some("a: 1\n"), "Text"),
        ("---  \na: 1\n--- \n", Some("a: 1\n"), ""),
        ("---\n---\nText", Some(""), "Text"),
        ("---\na: 1\n---", Some("a: 1\n"), ""),
        ("---\na: 1\nText", None, "---\na: 1\nText"),
        ("----\na: 1\n----\n", None, "----\na: 1\n----\n"),
        ("\u{feff}Text", None, "Text"),
        ("---", None, "---"),
        ("", None, ""),
    ] {
        let split = split(text);
        assert_eq!(split.yaml.map(|range| &text[range]), yaml, "{text:?}");
        assert_eq!(&text[split.body..], body, "{text:?}");
    }
}

#[test]
fn fields_are_read_in_three_languages() {
    let front = front(
        "---\ntitle: Заметка о сне\nfree: true\ntags: [сон, 睡眠, '#health/sleep']\naliases:\n  - 夢\n  - Dreams\ndate: 2025-01-31\nlang: RU\nauthor: Анна\nprice: 0.01\nmcp_method: sleep\nmcp_description: \"Как спать\"\narguments:\n  hours: сколько часов\nsearch: false\nrating: 5\n---\n",
    );
    assert_eq!(front.title.as_deref(), Some("Заметка о сне"));
    assert!(front.free);
    assert_eq!(front.labels, ["сон", "睡眠", "health/sleep"]);
    assert_eq!(front.aliases, ["夢", "Dreams"]);
    assert_eq!(front.date, Timestamp::parse("2025-01-31"));
    assert_eq!(front.lang.as_deref(), Some("ru"));
    assert_eq!(front.author.as_deref(), Some("Анна"));
    assert_eq!(front.price.as_deref(), Some("0.01"));
    assert_eq!(front.method.as_deref(), Some("sleep"));
    assert_eq!(front.arguments["hours"], "сколько часов");
    assert_eq!(front.search, Some(false));
    assert_eq!(front.extra["rating"], 5);
    assert!(front.problems.is_empty() && !front.broken);
}

#[test]
fn tags_may_be_one_string() {
    assert_eq!(front("---\ntags: a, #b c/d, A\n---\n").labels, ["a"], "` #` starts a comment");
    assert_eq!(front("---\ntags: 'a, #b c/d, A'\n---\n").labels, ["a", "b", "c/d"]);
    assert_eq!(front("---\nlabels: 仕事、家\ntags: [2024]\n---\n").labels, ["仕事", "家", "2024"]);
}

#[test]
fn a_number_keeps_its_spelling_as_a_title() {
    assert_eq!(front("---\ntitle: 1.10\n---\n").title.as_deref(), Some("1.10"));
    assert_eq!(front("---\ntitle: 007 # agent\n---\n").title.as_deref(), Some("007"));
}

#[test]
fn a_price_is_its_text_and_never_a_float() {
    let price = |line: &str| front(&format!("---\n{line}\nmcp_method: m\n---\n"));
    for (line, text) in [
        ("price: 0.1", "0.1"),
        ("price: 0.10 # a call", "0.10"),
        ("price: '0.01'", "0.01"),
        ("\"price\": 0.000001", "0.000001"),
        ("price: 2", "2"),
    ] {
        let front = price(line);
        assert_eq!(front.price.as_deref(), Some(text), "{line}");
        assert!(front.problems.is_empty(), "{line}: {:?}", front.problems);
    }
    for line in ["price: 0", "price: 0.00", "title: x"] {
        assert_eq!(price(line).price, None, "{line}");
    }
    let flow = front("---\n{ price: 0.1, mcp_method: m }\n---\n");
    assert_eq!(flow.price.as_deref(), Some(""), "the text of a number is not at hand");
}

#[test]
fn a_price_that_cannot_be_read_is_still_a_price() {
    for line in
        ["dear", "1e-2", ".5", "-1", "0.0000001", "99999999", "[1]", "true", "1,50", "", "~"]
    {
        let front = front(&format!("---\nprice: {line}\nmcp_method: m\nfree: true\n---\n"));
        assert_eq!(front.price.as_deref(), Some(""), "{line}");
        assert_eq!(front.problems.len(), 1, "{line}: {:?}", front.problems);
    }
    let unnamed = front("---\nprice: 1\nmcp_method: [a]\n---\n");
    assert_eq!(unnamed.method.as_deref(), Some(""));
    assert_eq!(front("---\nprice: 1\n---\n").method, None);
}

#[test]
fn what_buyers_read_is_text() {
    let front = front(
        "---\nprice_free: 3\nmarket_description: Разбор кода\nmarket_example: コードの例\n---\n",
    );
    assert_eq!(front.price_free, 3);
    assert_eq!(front.market_description.as_deref(), Some("Разбор кода"));
    assert_eq!(front.market_example.as_deref(), Some("コードの例"));
    let wrong = parse("price_free: some\n");
    assert_eq!((wrong.price_free, wrong.problems.len()), (0, 1));
}

#[test]
fn dates_are_read_as_people_type_them() {
    for date in [
        "2025-01-31",
        "20250131",
        "2025/01/31",
        "2025.1.31",
        "2025-1-31",
        "'2025-01-31 00:00:00'",
        "2025-01-31T09:00:00+09:00",
    ] {
        let front = front(&format!("---\ndate: {date}\n---\n"));
        assert_eq!(front.date, Timestamp::parse("2025-01-31"), "{date}");
    }
    assert_eq!(front("---\ndate: 2025/13/31\n---\n").problems.len(), 1);
}

#[test]
fn a_wrong_type_is_a_problem_and_only_that_field_is_lost() {
    let front =
        front("---\ntitle: Ok\nfree: \"yes\"\nprice: dear\ndate: soon\ntags: {a: 1}\n---\n");
    assert_eq!(front.title.as_deref(), Some("Ok"));
    assert!(!front.free && !front.broken);
    assert_eq!(front.problems.len(), 4, "{:?}", front.problems);
    assert!(front.problems[0].contains("`free`"), "{:?}", front.problems);
}

#[test]
fn yes_is_not_true() {
    let front = front("---\nfree: yes\n---\n");
    assert!(!front.free);
    assert_eq!(front.problems.len(), 1);
}

#[test]
fn a_syntax_error_names_the_line_of_the_file() {
    let problem = |yaml| parse(yaml).problems.remove(0);
    let twice = problem("title: One\ntitle: Two\n");
    assert!(twice.contains("line 3"), "{twice}");
    assert!(!twice.contains("Options") && !twice.contains("Policy"), "{twice}");
    let open = problem("a: 1\nb: [1, 2\n");
    assert!(open.contains("not valid YAML") && open.contains("line "), "{open}");
}

#[test]
fn a_broken_block_is_named() {
    for text in [
        "---\na: [1\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\njust prose\n---\n",
        "---\na: \"b\n---\n",
    ] {
        let front = front(text);
        assert!(front.broken, "{text:?}");
        assert_eq!(front.problems.len(), 1);
        assert!(!front.problems[0].contains('\n'), "{:?}", front.problems);
    }
    assert!(!front("---\n# only a comment\n---\n").broken);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(---\n)?[a-zé: \\[\\]{}\"'#&*!|>%@`\n\t-]{0,80}(---\n)?.{0,20}") {
        let split = split(&text);
        proptest::prop_assert!(text.is_char_boundary(split.body));
        if let Some(yaml) = split.yaml { parse(&text[yaml]); }
    }
}
