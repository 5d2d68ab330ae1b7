//! Free pages as a site.

use super::{library, owner, values};
use crate::support::{Home, Server, put};

#[test]
fn the_free_pages_are_a_site() {
    let home = library();
    let server = home.serve();
    let base = format!("http://{}", server.address);
    let note = server.get("/garden/Roses.md", &[]).body;
    let canonical = format!("<link rel=\"canonical\" href=\"{base}/garden/Roses.md\">");
    assert!(note.contains(&canonical), "{note}");
    assert!(note.contains("property=\"og:title\" content=\"Roses\""), "{note}");
    assert!(!note.contains("name=\"robots\""), "{note}");
    // Links among free notes only.
    assert!(note.contains("href=\"/garden/Tulips.md\""), "{note}");
    assert!(note.contains("<span class=\"missing\">Diary</span>"), "{note}");
    let feed = server.get("/feed.xml", &[]);
    assert!(feed.headers["content-type"].starts_with("application/atom+xml"));
    assert_eq!(feed.body.matches("<entry>").count(), 4, "{}", feed.body);
    assert!(feed.body.contains("Укройте розы") && feed.body.contains("遅霜"), "{}", feed.body);
    let map = server.get("/sitemap.xml", &[]).body;
    assert_eq!(map.matches("<url>").count(), 4, "{map}");
    for address in map.split("<loc>").skip(1).map(|rest| rest.split('<').next().unwrap()) {
        let path = address.strip_prefix(&base).unwrap();
        assert_eq!(server.get(path, &[]).status, 200, "{address}");
    }
    let robots = server.get("/robots.txt", &[]).body;
    assert!(robots.contains(&format!("Sitemap: {base}/sitemap.xml")), "{robots}");
}

#[test]
fn a_note_keeps_its_number_when_it_moves() {
    let home = library();
    let key = owner(&home);
    let server = home.serve();
    let found = server.get("/?q=bulbs", &[("Authorization", &key)]).body;
    let number = values(&found, "href").into_iter().find(|href| href.starts_with("/n/")).unwrap();
    let number = number.split('#').next().unwrap().to_owned();
    drop(server);
    std::fs::rename(home.vault().join("garden/Tulips.md"), home.vault().join("Bulbs.md")).unwrap();
    home.say(&["doctor"]);
    let server = home.serve();
    let page = server.get(&number, &[]).body;
    assert!(page.contains("Bulbs go in") && page.contains("/Bulbs.md\">"), "{page}");
}

#[test]
fn an_author_has_a_page() {
    let home = library();
    home.note("m.md", "---\nfree: true\nauthor: Mira\nmcp_method: weather\nmcp_description: Tells the weather\n---\n# Weather\n\nSun.\n");
    home.say(&["doctor"]);
    let server = home.serve();
    for path in ["/@mira", "/@MIRA", "/mira", "/@%40Mira"] {
        let page = server.get(path, &[]);
        assert_eq!(page.status, 200, "{path}");
        for part in [">Roses</a>", ">Tulips</a>", "weather", "/mcp/mira"] {
            assert!(page.body.contains(part), "{path}: {part} in {}", page.body);
        }
        assert!(!page.body.contains("Розы"), "{path}");
    }
    assert_eq!(server.get("/@nobody", &[]).status, 404);
}

#[test]
fn a_site_can_stay_out_of_search_engines() {
    let home: Home = library();
    let config = home.dir.path().join("web.toml");
    put(&config, "[web]\nrobots = false\ntitle = \"Сад & 庭\"\n");
    let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--config").arg(&config);
    let server = Server::start(command);
    let note = server.get("/garden/Roses.md", &[]).body;
    assert!(note.contains("<meta name=\"robots\" content=\"noindex\">"), "{note}");
    assert!(note.contains("<title>Roses · Сад &#38; 庭</title>"), "{note}");
    assert_eq!(server.get("/robots.txt", &[]).body, "User-agent: *\nDisallow: /\n");
    assert!(!server.get("/sitemap.xml", &[]).body.contains("<url>"));
}
