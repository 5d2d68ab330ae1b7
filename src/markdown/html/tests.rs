use super::*;

fn render(markdown: &str, resolver: &dyn Resolve) -> String {
    super::render(markdown, resolver).unwrap()
}

/// A vault where every embed shows a megabyte; counts how often it is asked for one.
struct Heavy(Cell<usize>);

impl Resolve for Heavy {
    fn link(&self, target: &LinkTarget) -> Option<String> {
        Some(format!("/p/{}", target.path))
    }

    fn embed(&self, _target: &LinkTarget) -> Option<Embedded> {
        self.0.set(self.0.get() + 1);
        Some(Embedded::Markdown("Text. ".repeat(170_000)))
    }

    fn limit(&self) -> usize {
        4 << 20
    }
}

#[test]
fn embeds_have_a_budget_and_what_is_left_out_is_said() {
    let heavy = Heavy(Cell::new(0));
    let html = render(&"![[Big]]\n\n".repeat(1000), &heavy);
    assert!(html.len() < 4 << 20, "{}", html.len());
    assert!(heavy.0.get() < 5, "{}", heavy.0.get());
    assert_eq!(html.matches("<div class=\"embed\">").count(), 2);
    assert_eq!(html.matches("this note embeds too much").count(), 998);
    assert!(html.contains("<a href=\"/p/Big\">Big</a>"), "a link is left");
}

#[test]
fn a_page_above_the_limit_is_an_error() {
    let heavy = Heavy(Cell::new(0));
    let error = super::render(&"Длинный текст. ".repeat(400_000), &heavy).unwrap_err();
    assert_eq!(error.code, crate::domain::Code::Limit);
}

struct Vault;

impl Resolve for Vault {
    fn link(&self, target: &LinkTarget) -> Option<String> {
        let place = target.heading.last().map(|heading| format!("#{}", slug(heading)));
        (target.path != "Нет").then(|| format!("/p/{}{}", target.path, place.unwrap_or_default()))
    }

    fn embed(&self, target: &LinkTarget) -> Option<Embedded> {
        match target.path.as_str() {
            "Цель" => Some(Embedded::Markdown("Внутри ![[Цель]] конец".into())),
            "図.png" => Some(Embedded::Image("/f/図.png".into())),
            _ => None,
        }
    }
}

#[test]
fn nothing_that_acts_gets_through() {
    for evil in [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "<a href=\"java&#115;cript:alert(1)\">x</a>",
        "<style>body{}</style>",
        "<p style=\"background:url(x)\">",
        "<iframe src=\"//evil\"></iframe>",
        "<svg onload=alert(1)>",
        "[[javascript:alert(1)]]",
        "<form action=x><button>y</button></form>",
        "> [!a\"onclick=\"x] y",
        "![x](data:text/html;base64,PHNjcmlwdD4=)",
        "<input type=text onfocus=x autofocus>",
        "<math><mtext></mtext><script>x</script></math>",
    ] {
        let html = render(evil, &|target: &LinkTarget| Some(target.path.clone())).to_lowercase();
        // Only what stands in tags can act.
        let tags = html.split('<').skip(1).map(|tag| tag.split('>').next().unwrap_or(tag));
        for tag in tags {
            for bad in [
                "script",
                "style",
                "iframe",
                "form",
                "svg",
                "onerror=",
                "onload=",
                "onclick=",
                "onfocus=",
                "autofocus",
                "data:text",
            ] {
                assert!(!tag.contains(bad), "{evil} gave {html}");
            }
        }
    }
}

#[test]
fn links_lead_where_the_resolver_says() {
    let html =
        render("[[Сон#Фаза 2|тут]] [[Нет|там]] [md](б.md) [out](https://x.y) [self](#a)", &Vault);
    assert_eq!(
        html,
        "<p><a href=\"/p/Сон#фаза-2\">тут</a> <span class=\"missing\">там</span> <a href=\"/p/б.md\">md</a> <a href=\"https://x.y\">out</a> <a href=\"#a\">self</a></p>\n".replace("Сон#фаза-2", "%D0%A1%D0%BE%D0%BD#%D1%84%D0%B0%D0%B7%D0%B0-2").replace("/p/б.md", "/p/%D0%B1.md")
    );
}

#[test]
fn embeds_show_one_level() {
    let html = render("![[Цель]]\n\n![[図.png|200]] ![[Другая]] ![[Нет]]", &Vault);
    assert!(
        html.starts_with(
            "<div class=\"embed\">\n<p>Внутри <a href=\"/p/Цель\">Цель</a> конец</p>\n</div>"
        ),
        "{html}"
    );
    assert!(
        html.contains("<img src=\"/f/") && html.contains("<a href=\"/p/Другая\">Другая</a>"),
        "{html}"
    );
    assert!(html.contains("<span class=\"missing\">Нет</span>"), "{html}");
}

#[test]
fn callouts_tables_tasks_and_marks_are_shown() {
    let html = render(
        "> [!Warning]- Осторожно **тут**\n> Текст\n\n> [!tip]\n> 本文\n\n> просто\n\n- [x] done\n\n| a |\n|---|\n| b |\n\n~~old~~ ==new== a == b\n\nT[^1]\n\n[^1]: note\n",
        &Vault,
    );
    for part in [
        "<div class=\"callout\" data-callout=\"warning\"><p class=\"callout-title\">Осторожно <strong>тут</strong></p>\n<p>Текст</p>",
        "data-callout=\"tip\"><p class=\"callout-title\">tip</p>\n<p>本文</p>",
        "<blockquote>\n<p>просто</p>\n</blockquote>",
        "<input disabled=\"\" type=\"checkbox\" checked=\"\">",
        "<td>b</td>",
        "<del>old</del> <mark>new</mark> a == b",
        "<div class=\"footnote-definition\" id=\"1\">",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
}

#[test]
fn headings_have_ids_of_their_own() {
    let html = render("# Раз два\n# 見出し\n# Раз два\n# !!!\n# `a` b {#own}\n", &Vault);
    for id in ["раз-два", "見出し", "раз-два-1", "section", "a-b"] {
        assert!(html.contains(&format!("id=\"{id}\"")), "{id}: {html}");
    }
}

#[test]
fn a_part_knows_the_definitions_of_its_note() {
    let text = "## A\n\nSee [the book][Книга].\n\n## B\n\n[книга]: https://x.y/z\n";
    let note = Note::parse(text, "t");
    let section = note.outline.find(&["A"]).unwrap();
    let html = note.html(note.section(text, section), &Vault).unwrap();
    assert!(html.contains("<a href=\"https://x.y/z\">the book</a>"), "{html}");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic_or_act(text in "(> |\\[!a\\]|==|!?\\[\\[|\\]\\]|<script>|<b |# |\\[a\\]|`|javascript:|\\(|\\)|\n|[aЯ日 |^]){0,60}") {
        let html = render(&text, &Vault);
        proptest::prop_assert!(!html.contains("<script"));
        proptest::prop_assert!(!html.contains("href=\"javascript"));
    }
}
