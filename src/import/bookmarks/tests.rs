//! Every format by a file of our own, garbage, and the files of the shared data.

use std::{io::Write, path::PathBuf};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::{
    bookmark::{By, Judged},
    query::{Action, Sentiment},
};

const NOW: Timestamp = Timestamp(1_700_000_000_000);

type Read = (Result<Format>, Vec<Bookmark>, Vec<Skipped>);

fn read_bytes(bytes: &[u8]) -> Read {
    let (mut taken, mut skipped) = (Vec::new(), Vec::new());
    let mut sink = |found: Record| {
        match found.bookmark {
            Ok(bookmark) => taken.push(bookmark),
            Err(left_out) => skipped.push(left_out),
        }
        Ok(())
    };
    let format = match ImportFile::from_bytes(bytes, MAX_EXPORT_BYTES) {
        Ok(source) => read_source(source, NOW, &mut sink),
        Err(error) => Err(failed(&error)),
    };
    (format, taken, skipped)
}

/// What must read whole.
fn all(format: Format, text: &str) -> Vec<Bookmark> {
    let (read, taken, skipped) = read_bytes(text.as_bytes());
    assert_eq!(read.unwrap(), format);
    assert_eq!(skipped, []);
    taken
}

const ARCHIVE: &str = r#"window.YTD.tweets.part0 = [ { "tweet": {
  "id_str": "1700000000000000001", "id": "1700000000000000001",
  "full_text": "Ёлка &amp; 記事 https://t.co/abc #Rust",
  "created_at": "Mon Oct 16 22:59:00 +0000 2017", "favorite_count": "12", "lang": "ja",
  "entities": { "hashtags": [{"text": "Rust", "indices": ["1", "2"]}], "urls": [
    {"url": "https://t.co/abc", "expanded_url": "https://example.org/статья", "indices": ["3", "4"]}] },
  "source": "<a>Web</a>", "retweeted": false, "in_reply_to": null } } ]"#;

#[test]
fn the_archive_of_x() {
    let post = &all(Format::XArchive, ARCHIVE)[0];
    assert_eq!(post.id, "1700000000000000001");
    assert_eq!(post.text, "Ёлка & 記事 https://example.org/статья #Rust");
    assert_eq!(post.url, "https://x.com/i/web/status/1700000000000000001");
    assert_eq!(post.date.to_string(), "2017-10-16T22:59:00.000Z");
    assert_eq!(post.labels, ["Rust"]);
    assert_eq!(post.links, ["https://example.org/статья"]);
    assert_eq!(post.engagement["likes"], 12);
    assert_eq!(post.lang.as_deref(), Some("ja"));
    assert_eq!(
        (&post.extra["source"], &post.extra["kind"]),
        (&json!("<a>Web</a>"), &json!("tweet"))
    );
    assert!(!post.extra.contains_key("id") && !post.extra.contains_key("in_reply_to"));
}

#[test]
fn likes_have_no_date_but_their_number() {
    let likes = r#"window.YTD.like.part0 = [{"like": {"tweetId": "920061541986250758",
        "fullText": "text", "expandedUrl": "https://twitter.com/i/web/status/920061541986250758"}}]"#;
    let like = &all(Format::XArchive, likes)[0];
    assert_eq!(like.date.date(), "2017-10-16");
    assert_eq!(like.url, "https://twitter.com/i/web/status/920061541986250758");
}

const EXPORTER: &str = r#"[{"id": "922440008971292672", "created_at": "2017-10-23 12:30:00 +00:00",
  "full_text": "Привет, мир!", "media": [{"type": "photo", "original": "https://pbs.example/1.jpg"}],
  "screen_name": "someone", "name": "Some One", "favorite_count": 5, "views_count": null,
  "bookmarked": true, "url": "https://twitter.com/someone/status/922440008971292672"}]"#;

#[test]
fn twitter_web_exporter() {
    let post = &all(Format::WebExporter, EXPORTER)[0];
    assert_eq!(post.author.as_deref(), Some("someone"));
    assert_eq!(post.author_name.as_deref(), Some("Some One"));
    assert_eq!(post.date.to_string(), "2017-10-23T12:30:00.000Z");
    assert_eq!(post.engagement.len(), 1);
    assert_eq!(post.extra["media"][0]["type"], "photo");
    assert_eq!(post.extra["bookmarked"], true);
}

const API: &str = r#"{"data": [{"id": "1", "author_id": "7", "text": "short… https://t.co/a",
   "note_tweet": {"text": "the long text https://t.co/a"}, "created_at": "2025-01-08T10:00:00.000Z",
   "lang": "und", "public_metrics": {"like_count": 3, "impression_count": 9, "odd": 1},
   "attachments": {"media_keys": ["3_1"]}, "referenced_tweets": [{"type": "quoted", "id": "5"}],
   "entities": {"urls": [{"url": "https://t.co/a", "expanded_url": "https://example.org"}],
                "hashtags": [{"tag": "MCP"}]}},
   {"id": "2", "author_id": "8", "text": "another"}, "no object"],
  "includes": {"users": [{"id": "7", "username": "ai", "name": "AI"}],
    "media": [{"media_key": "3_1", "url": "https://pbs.example/2.jpg"}],
    "tweets": [{"id": "5", "text": "the quoted one"}]},
  "errors": [{"detail": "Could not find tweet with id: [9]."}], "meta": {"result_count": 2}}"#;

#[test]
fn the_api_of_x() {
    let (format, posts, skipped) = read_bytes(API.as_bytes());
    assert_eq!(format.unwrap(), Format::XApi);
    assert_eq!(posts.len(), 2);
    let post = &posts[0];
    assert_eq!(post.text, "the long text https://example.org");
    assert_eq!(post.author.as_deref(), Some("ai"));
    assert_eq!(post.url, "https://x.com/ai/status/1");
    assert_eq!(post.labels, ["MCP"]);
    assert_eq!((&post.engagement["likes"], &post.engagement["views"]), (&json!(3), &json!(9)));
    assert_eq!((&post.extra["odd"], &post.extra["lang"]), (&json!(1), &json!("und")));
    assert_eq!(post.extra["included_media"][0]["url"], "https://pbs.example/2.jpg");
    assert_eq!(post.extra["included_tweets"][0]["text"], "the quoted one");
    assert_eq!(posts[1].date, NOW, "a number too small to hold a date");
    let reasons: Vec<&str> = skipped.iter().map(|left_out| left_out.reason.as_str()).collect();
    assert_eq!(
        reasons,
        ["it is not an object", "X left it out: Could not find tweet with id: [9]."]
    );
    let single = r#"{"data": {"id": "1", "text": "one", "edit_history_tweet_ids": ["1"]}}"#;
    assert_eq!(all(Format::XApi, single).len(), 1);
    let pages = format!("{}\n{}\n", single, single.replace("\"1\"", "\"2\""));
    assert_eq!(all(Format::XApi, &pages).len(), 2, "a page on each line");
}

const NETSCAPE: &str = r#"<!DOCTYPE NETSCAPE-Bookmark-file-1>
<TITLE>Bookmarks</TITLE><H1>Bookmarks</H1>
<DL><p>
  <DT><H3 PERSONAL_TOOLBAR_FOLDER="true">Bar</H3>
  <DL><p>
    <DT><H3 ADD_DATE="1">Рецепты &amp; еда</H3>
    <DD>folder's note
    <DL><p>
      <DT><A HREF="https://example.org/a?b=1&amp;c=2" ADD_DATE="1515515697780642" PRIVATE="1" TOREAD="1" TAGS="суп,multi word">Борщ &lt;настоящий&gt;</A>
      <DD>Note with <b>markup</b>, a < b
second line, https://example.org/n.
      <HR>
      <dt><a href='https://example.jp/記事' add_date=1456433748 description="説明">日本語の記事</a>
    </DL><p>
  </DL><p>
  <DT><A HREF="http://www.example.org/a/?c=2&amp;b=1" TAGS="again">Second copy</A>
  <DT><A HREF="">&nbsp;</A>
  <DT><A HREF="javascript:alert(1)" ADD_DATE="soon">bookmarklet
</DL><p>"#;

#[test]
fn the_file_of_browsers() {
    let (format, found, skipped) = read_bytes(NETSCAPE.as_bytes());
    assert_eq!(format.unwrap(), Format::Netscape);
    assert_eq!(found.len(), 3, "{found:#?}");
    let soup = &found[0];
    assert_eq!(soup.url, "https://example.org/a?b=1&c=2");
    assert_eq!(soup.title, "Борщ <настоящий>");
    assert_eq!(soup.text, "Note with <b>markup</b>, a < b\nsecond line, https://example.org/n.");
    assert_eq!(soup.labels, ["Рецепты & еда", "суп", "multi word", "again"]);
    assert_eq!(soup.date.to_string(), "2018-01-09T16:34:57.780Z");
    assert_eq!(soup.action, Some(Judged::by_user(Action::ReadLater)));
    assert_eq!(soup.links, ["https://example.org/n"]);
    assert_eq!(soup.extra["private"], "1");
    assert_eq!(soup.extra["folder"], "Bar/Рецепты & еда");
    assert_eq!(soup.extra["folderNote"], "folder's note");
    assert_eq!((found[1].title.as_str(), found[1].text.as_str()), ("日本語の記事", "説明"));
    assert_eq!(found[1].date.to_string(), "2016-02-25T20:55:48.000Z");
    assert_eq!((found[2].date, &found[2].extra["add_date"]), (NOW, &json!("soon")));
    assert_eq!(found[2].title, "bookmarklet");
    let places: Vec<_> = skipped.iter().map(|left_out| left_out.place.as_str()).collect();
    assert_eq!(places, ["record 3", "record 4"]);
}

const PINBOARD: &str = r#"[{"href": "https://example.org/", "description": "Title", "extended": "Note",
  "meta": "abc", "hash": "", "time": "2026-08-22T22:09:26Z", "shared": "no", "toread": "yes",
  "tags": "rust ржавчина 錆 rust"}]"#;

#[test]
fn pinboard() {
    let pin = &all(Format::Pinboard, PINBOARD)[0];
    assert_eq!((pin.title.as_str(), pin.text.as_str()), ("Title", "Note"));
    assert_eq!(pin.labels, ["rust", "ржавчина", "錆"]);
    assert_eq!(pin.action.as_ref().unwrap().source, By::User);
    assert_eq!((&pin.extra["meta"], &pin.extra["shared"]), (&json!("abc"), &json!("no")));
    assert!(pin.has_made_id());
    let post =
        PINBOARD.replace("https://example.org/", "https://mobile.twitter.com/a/status/77?s=20");
    assert_eq!(all(Format::Pinboard, &post)[0].id, "77", "a link to a post is the post");
}

#[test]
fn tables_of_services_and_people() {
    let raindrop = "id,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite\n\
        123,Заголовок,моя заметка,о чём страница,https://example.org/r,Чтение,\"rust, веб\",2023-01-02T03:04:05.000Z,,,true\n";
    let one = &all(Format::Csv, raindrop)[0];
    assert!(one.has_made_id(), "a number of Raindrop's own is no post's");
    assert_eq!(one.extra["id"], "123");
    assert_eq!(one.text, "моя заметка\n\nо чём страница");
    assert_eq!(one.labels, ["Чтение", "rust", "веб"]);
    assert_eq!(one.tags.as_ref().unwrap().value, ["rust", "веб"]);
    assert_eq!(one.extra["favorite"], "true");

    let pocket =
        "title,url,time_added,tags,status\nA page,https://example.org/p,1456433748,a|b c,unread\n";
    let one = &all(Format::Csv, pocket)[0];
    assert_eq!(one.labels, ["a", "b c"]);
    assert_eq!(one.date.to_string(), "2016-02-25T20:55:48.000Z");
    assert_eq!(one.action, Some(Judged::by_user(Action::ReadLater)));

    let instapaper = "URL,Title,Selection,Folder,Timestamp,Tags\n\
        https://example.org/i,T,\"a, \"\"quote\"\"\nof two lines\",Archive,1456433748,\"[\"\"x y\"\"]\"\n";
    let one = &all(Format::Csv, instapaper)[0];
    assert_eq!(one.text, "a, \"quote\"\nof two lines");
    assert_eq!(one.action, Some(Judged::by_user(Action::Archive)));
    assert_eq!(one.labels, ["Archive", "x y"]);

    let mine = "Ссылка;Название;Дата;Категория;Sentiment;Action;Summary\n\
        https://example.org/m;Имя;04.03.2023;Сад;positive;try_tool;кратко\n\
        https://example.org/n;Имя;неизвестно;;glad;;\n";
    let found = all(Format::Csv, mine);
    assert_eq!(found[0].category, Some(Judged::by_user("Сад".to_owned())));
    assert_eq!(found[0].sentiment, Some(Judged::by_user(Sentiment::Positive)));
    assert_eq!(found[0].date.date(), "2023-03-04");
    assert_eq!((found[1].date, &found[1].extra["date"]), (NOW, &json!("неизвестно")));
    assert_eq!(found[1].extra["sentiment"], "glad", "a word that is none of ours is kept");

    let japanese = "タイトル\tURL\tメモ\tタグ\n題名\thttps://example.jp/\t覚え書き\t料理、東京\n";
    let one = &all(Format::Csv, japanese)[0];
    assert_eq!((one.title.as_str(), one.text.as_str()), ("題名", "覚え書き"));
    assert_eq!(one.labels, ["料理", "東京"]);

    let bytes = b"url,title\nhttps://example.org/1,\xff\xfe\nhttps://example.org/2,good,more\n";
    let (_, found, skipped) = read_bytes(bytes);
    assert_eq!(skipped[0].place, "line 2");
    assert_eq!(found[0].extra["column 3"], "more");
}

#[test]
fn our_own_form_comes_back_as_it_went() {
    let mut bookmark = Bookmark::new(Some("42"), "https://example.org/", "текст\n文", NOW).unwrap();
    bookmark.author = Some("someone".into());
    bookmark.author_name = Some("Some One".into());
    bookmark.title = "題".into();
    bookmark.lang = Some("ja".into());
    bookmark.labels = vec!["a b".into(), "в".into()];
    bookmark.links = vec!["https://example.org/l".into()];
    bookmark.engagement.insert("likes".into(), 3.into());
    bookmark.summary = Some(Judged::by_rule("s".into(), 0.5));
    bookmark.tags = Some(Judged { value: vec!["x".into()], confidence: 0.25, source: By::Model });
    bookmark.category = Some(Judged::by_user("AI-Tools".into()));
    bookmark.sentiment = Some(Judged::by_rule(Sentiment::Negative, 0.75));
    bookmark.action = Some(Judged::by_user(Action::Share));
    bookmark.extra.insert("kept".into(), json!({"deep": [1, null]}));
    let mut other = Bookmark::new(None, "", "only a text", NOW).unwrap();
    other.extra.insert("category".into(), json!(7));
    let lines: String =
        [&bookmark, &other].map(|one| serde_json::to_string(one).unwrap() + "\n").concat();
    assert_eq!(all(Format::Json, &lines), [bookmark.clone(), other.clone()]);
    let list = serde_json::to_string_pretty(&[&bookmark, &other]).unwrap();
    assert_eq!(all(Format::Json, &list), [bookmark, other]);
}

const LINES: &str = r#"{"id": "tw.890", "kind": "tweet", "author": "@a", "created_at": "2023-03-04T05:40:09Z", "title": "", "text": "t", "url": "https://twitter.com/a/statuses/890", "permalink": "https://www.twitter.com/a/statuses/890", "links": [], "hashtags": ["One"], "mentions": ["b"], "engagement": {}, "lang": "en"}
{"id": "hn.123", "kind": "link", "author": "", "created_at": "2016-09-07T07:59:00Z", "title": "T", "text": "", "url": "", "permalink": "https://news.example/item?id=123", "domain": "elsewhere.org", "engagement": {"points": 116}, "lang": ""}
{"id": "ght.owner/name", "title": 5, "url": ["no"], "text": "has a title of a wrong type", "last_seen": "2026-06-01", "tags": ["rust"]}

{"broken
[1]
{"nothing": "of use"}
{"id": "hn.123", "title": "again"}
"#;

#[test]
fn the_lines_of_a_data_set() {
    let (format, found, skipped) = read_bytes(LINES.as_bytes());
    assert_eq!(format.unwrap(), Format::Json);
    let ids: Vec<&str> = found.iter().map(|bookmark| bookmark.id.as_str()).collect();
    assert_eq!(ids, ["890", "hn.123", "ght.owner/name"]);
    assert_eq!(found[0].author.as_deref(), Some("a"));
    assert_eq!(found[0].labels, ["One"]);
    assert_eq!(found[0].extra["mentions"], json!(["b"]));
    assert_eq!(found[1].url, "https://news.example/item?id=123");
    assert_eq!(found[1].extra["domain"], "elsewhere.org");
    assert_eq!((found[1].author.as_ref(), found[1].lang.as_ref()), (None, None));
    assert_eq!((&found[2].extra["title"], &found[2].extra["url"]), (&json!(5), &json!(["no"])));
    assert_eq!(found[2].tags, Some(Judged::by_user(vec!["rust".to_owned()])));
    let remarks: Vec<(&str, &str)> = skipped
        .iter()
        .map(|left_out| (left_out.place.as_str(), left_out.reason.as_str()))
        .collect();
    assert_eq!(remarks.len(), 4, "{remarks:?}");
    assert_eq!(remarks[0].0, "line 5");
    assert!(remarks[0].1.starts_with("it is not JSON"));
    assert_eq!(remarks[1], ("line 6, item 1", "it is not an object"));
    assert_eq!(remarks[2], ("line 7", "it has neither an address nor a text nor an id"));
    assert_eq!(remarks[3], ("line 8", "its id `hn.123` is that of line 2 already"));
}

const FIELD_THEORY: &str = r#"[{"id": "890935044474380288", "sortIndex": "100", "postedAt": "2017-07-28T14:00:00Z",
  "bookmarkedAt": "2018-01-01T00:00:00Z", "url": "https://x.com/a/status/890935044474380288", "text": "т",
  "authorName": "A", "authorHandle": "a", "folderNames": ["Reading list"], "likes": 5, "reposts": 2, "media": []}]"#;

#[test]
fn field_theory() {
    let post = &all(Format::FieldTheory, FIELD_THEORY)[0];
    assert_eq!(post.id, "890935044474380288");
    assert_eq!(post.date.to_string(), "2018-01-01T00:00:00.000Z", "when it was saved");
    assert_eq!(post.extra["postedAt"], "2017-07-28T14:00:00Z");
    assert_eq!(post.labels, ["Reading list"]);
    assert_eq!((&post.engagement["likes"], &post.engagement["retweets"]), (&json!(5), &json!(2)));
    assert_eq!(post.extra["sortIndex"], "100");
}

#[test]
fn packed_marked_and_wide_files() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(PINBOARD.as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    assert_eq!(read_bytes(&packed).1.len(), 1);
    let (format, ..) = read_bytes(&packed[..packed.len() - 30]);
    assert!(format.is_err(), "half a file is no file");
    let marked = [b"\xef\xbb\xbf", NETSCAPE.as_bytes()].concat();
    assert_eq!(read_bytes(&marked).1.len(), 3);
    let wide: Vec<u8> = "\u{feff}url,title\nhttps://example.org/,Ёж\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(read_bytes(&wide).1[0].title, "Ёж");
}

#[test]
fn what_is_too_large_is_told() {
    let text = "я".repeat(600_000);
    let lines =
        format!("{{\"id\":\"1\",\"text\":\"{text}\"}}\n{{\"id\":\"2\",\"text\":\"small\"}}\n");
    let (_, found, skipped) = read_bytes(lines.as_bytes());
    assert_eq!(found.len(), 1);
    assert_eq!(skipped[0].reason, "its text is 1200000 bytes; the limit is 1000000");
    let long =
        format!("{{\"id\":\"0\"}}\n{}\n{{\"id\":\"2\"}}\n", "x".repeat(MAX_RECORD_BYTES + 5));
    let (_, found, skipped) = read_bytes(long.as_bytes());
    assert_eq!((found.len(), skipped[0].place.as_str()), (2, "line 2"));
    let source = ImportFile::from_bytes(lines.as_bytes(), 1000);
    assert!(source.is_err(), "more than was allowed");
}

#[test]
fn an_unknown_file_says_what_to_do() {
    for bytes in [
        "".as_bytes(),
        b"  \n ",
        b"PK\x03\x04rest",
        b"<html><body><p>a page</p></body></html>",
        b"just some words\nand more",
        b"a,b,c\n1,2,3\n",
        b"[1, 2, 3]",
        b"{\"some\": \"settings\"}",
        &[0, 159, 146, 150],
    ] {
        let (format, found, _) = read_bytes(bytes);
        let message = format.unwrap_err().message;
        assert!(
            message.contains("Pinboard") && message.contains("export to one of these"),
            "{message}"
        );
        assert_eq!(found, []);
    }
    assert_eq!(read_bytes(b"[]").0.unwrap(), Format::Json, "a list of nothing is a list");
}

#[test]
fn deep_nesting_costs_one_record() {
    let deep = format!("[{}, {{\"id\": \"a\"}}]", "[".repeat(2000) + &"]".repeat(2000));
    let (_, found, skipped) = read_bytes(deep.as_bytes());
    assert_eq!((found.len(), skipped.len()), (1, 1));
}

const FIXTURES: [&str; 8] = [
    ARCHIVE,
    EXPORTER,
    API,
    NETSCAPE,
    PINBOARD,
    LINES,
    FIELD_THEORY,
    "url,title\nhttps://a.b,\"x\"\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_bytes(&bytes);
    }

    #[test]
    fn broken_files_are_read_or_refused(
        which in 0..FIXTURES.len(),
        at in any::<prop::sample::Index>(),
        cut in 0..20_usize,
        put in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..8),
            "[<>\"'{}\\[\\],:&;=/a\\\\\n-]{0,8}".prop_map(String::into_bytes),
        ],
    ) {
        let mut bytes = FIXTURES[which].as_bytes().to_vec();
        let at = at.index(bytes.len());
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, put);
        let (_, found, _) = read_bytes(&bytes);
        for bookmark in found {
            prop_assert!(!bookmark.id.is_empty());
        }
    }
}

fn shared(name: &str) -> Option<PathBuf> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/bookmarks").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no {name} beside the repository");
    None
}

fn read_file(path: &Path) -> (Format, Vec<Bookmark>, Vec<Skipped>) {
    let (mut taken, mut skipped) = (Vec::new(), Vec::new());
    let format = read(path, NOW, &mut |found| {
        match found.bookmark {
            Ok(bookmark) => taken.push(bookmark),
            Err(left_out) => skipped.push(left_out),
        }
        Ok(())
    });
    (format.unwrap(), taken, skipped)
}

#[test]
fn the_shared_files_read_whole() {
    for (name, format, count) in [
        ("github-trending-2026.jsonl.gz", Format::Json, 2270),
        ("hn-2016.jsonl.gz", Format::Json, 14635),
        ("hn-2026.jsonl.gz", Format::Json, 5120),
        ("hn-daily-top30.jsonl.gz", Format::Json, 22838),
        ("tweets-538.jsonl.gz", Format::Json, 6439),
        ("tweets-congress-2023.jsonl.gz", Format::Json, 9000),
        ("shapes/field-theory-bookmarks.json", Format::FieldTheory, 300),
        ("shapes/twitter-archive-like.js", Format::XArchive, 400),
        ("shapes/twitter-archive-tweets.js", Format::XArchive, 400),
        ("shapes/twitter-web-exporter-Bookmarks.json", Format::WebExporter, 800),
        ("shapes/pinboard_export.json", Format::Pinboard, 1500),
        ("shapes/netscape-bookmarks.html", Format::Netscape, 1500),
    ] {
        let Some(path) = shared(name) else { continue };
        let (read, taken, skipped) = read_file(&path);
        // These two name six pages twice.
        let twice = if matches!(format, Format::Pinboard | Format::Netscape) { 6 } else { 0 };
        assert_eq!((read, taken.len()), (format, count - twice), "{name}: {skipped:?}");
        assert_eq!(skipped.len(), twice, "{name}: {skipped:?}");
        assert!(taken.iter().all(|bookmark| bookmark.date != NOW), "{name}");
        assert!(taken.iter().all(|bookmark| !bookmark.url.is_empty()), "{name}");
    }
}

#[test]
fn the_same_post_is_the_same_in_every_shape() {
    let Some(data) = shared("tweets-538.jsonl.gz") else { return };
    let known: HashMap<String, Bookmark> =
        read_file(&data).1.into_iter().map(|post| (post.id.clone(), post)).collect();
    for name in [
        "field-theory-bookmarks.json",
        "twitter-archive-like.js",
        "twitter-web-exporter-Bookmarks.json",
    ] {
        let Some(path) = shared(&format!("shapes/{name}")) else { continue };
        for post in read_file(&path).1 {
            let same = &known[&post.id];
            assert_eq!(post.text, same.text, "{name}");
            assert!(
                (post.date.0 - same.date.0).abs() < 60_000,
                "{name}: {} {}",
                post.date,
                same.date
            );
        }
    }
}

#[test]
fn nothing_of_the_netscape_fixtures_is_lost() {
    let Some(folder) = shared("shapes/netscape-fixtures") else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".htm") || name == "empty.htm" {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lower = text.to_ascii_lowercase();
        let links = lower.matches("<dt><a ").count();
        let (format, taken, skipped) = read_file(&path);
        assert_eq!(format, Format::Netscape);
        assert_eq!(taken.len() + skipped.len(), links, "{name}");
        let again = skipped.iter().all(|left_out| left_out.reason.starts_with("the same address"));
        assert!(again, "{name}: {skipped:?}");
        // Every word outside the marks is in some bookmark.
        let all = serde_json::to_string(&taken).unwrap();
        for words in lower.split("<dd>").skip(1) {
            let first = words.split_whitespace().next().unwrap_or_default();
            let plain = first.chars().all(|c| c.is_ascii_alphanumeric());
            assert!(!plain || all.to_ascii_lowercase().contains(first), "{name}: {first}");
        }
        for bookmark in &taken {
            assert!(!bookmark.title.is_empty(), "{name}: {bookmark:?}");
            assert!(
                !bookmark.labels.iter().any(|label| label.contains(',')) || name.contains("nested")
            );
        }
    }
}
