//! Imports of hostile and of ordinary files: bounded memory, nothing outside of what was named, a
//! report that says what became of each record.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;

use crate::support::{Home, put};

/// Address space of the program while it imports, in KiB: far below what a bomb would take.
const MEMORY_KIB: u64 = 3 << 20;

/// Runs an import with bounded memory.
fn bounded(home: &Home, arguments: &[&str]) -> (bool, String, String) {
    let inner = home.command(arguments);
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\""));
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// A gzip file of `head`, then `part` again and again up to `bytes`, then `tail`.
fn packed(path: &Path, head: &str, part: &str, bytes: usize, tail: &str) {
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    out.write_all(head.as_bytes()).unwrap();
    let block = part.repeat((1 << 16) / part.len());
    for _ in 0..bytes / block.len() {
        out.write_all(block.as_bytes()).unwrap();
    }
    out.write_all(tail.as_bytes()).unwrap();
    out.finish().unwrap().flush().unwrap();
}

fn at(home: &Home, name: &str) -> PathBuf {
    home.dir.path().join(name)
}

#[test]
fn bombs_are_refused_with_the_limit_and_without_the_memory() {
    let home = Home::new();
    let bomb = at(&home, "bomb.gz");
    let jsonl = "{\"url\":\"https://example.org/1\"}\n";
    for (head, part, tail) in [
        // One object, one array, one line, one cell, one page, one archive: each without an end.
        ("{\"data\":[", "0,", "0]}"),
        ("[", "[0],", "{}]"),
        ("[{\"url\":\"https://a.org\",\"x\":\"", "a", "\"}]"),
        (jsonl, "x\n", ""),
        ("url,title\nhttps://a.org,\"", "a,", ""),
        ("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n", "<DL><DT><A HREF=\"x\">y</A>", ""),
        ("window.YTD.like.part0 ", "a", ""),
    ] {
        packed(&bomb, head, part, 300 << 20, tail);
        let (ok, _, err) = bounded(&home, &["import", "bookmarks", bomb.to_str().unwrap()]);
        assert!(!ok, "{head}: {err}");
        let told = ["times its size", "MiB", "more than", "no `=`", "no known shape"];
        assert!(told.iter().any(|part| err.contains(part)), "{head}: {err}");
        assert!(!err.contains("memory allocation") && !err.contains("panicked"), "{head}: {err}");
    }
    for (name, head, part) in [
        ("bomb.json.gz", "[", "{\"title\":\"a\",\"x\":[0,0,0,0,0,0]},"),
        ("bomb.jsonl.gz", "", "{\"title\":\"a\",\"text\":\"b\"}\n"),
        ("bomb.csv.gz", "title,prompt\n", "\"a"),
        ("bomb.md.gz", "", "a "),
    ] {
        let bomb = at(&home, name);
        packed(&bomb, head, part, 150 << 20, "]");
        let (ok, _, err) = bounded(&home, &["import", "prompts", bomb.to_str().unwrap()]);
        assert!(!ok && err.len() > 20, "{name}: {err}");
        assert!(!err.contains("memory allocation") && !err.contains("panicked"), "{name}: {err}");
    }
    // A file that is large without being packed, of values that cost much more than their bytes.
    let plain = at(&home, "zeros.json");
    put(&plain, format!("{{\"data\":[{}0]}}", "0,".repeat(30 << 20)));
    let (ok, _, err) = bounded(&home, &["import", "bookmarks", plain.to_str().unwrap()]);
    assert!(!ok && !err.contains("memory allocation"), "{err}");
    let (_, out, err) = bounded(&home, &["import", "cards", plain.to_str().unwrap()]);
    assert!(out.contains("0 added") && err.contains("values"), "{out} {err}");
    // A zip: each entry within its limit, all of them together a bomb.
    let zip = at(&home, "takeout.zip");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&zip).unwrap());
    let spaces = vec![b' '; 40 << 20];
    for n in 0..20 {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(format!("Keep/{n}.json"), options).unwrap();
        archive.write_all(&spaces).unwrap();
    }
    archive.finish().unwrap();
    let (ok, _, err) = bounded(&home, &["import", "cards", zip.to_str().unwrap()]);
    assert!(!ok && err.contains("times its size"), "{err}");
}

#[test]
fn a_large_ordinary_export_still_comes_in() {
    let home = Home::new();
    let file = at(&home, "links.jsonl.gz");
    let mut out = flate2::write::GzEncoder::new(
        std::fs::File::create(&file).unwrap(),
        flate2::Compression::fast(),
    );
    for n in 0..3000 {
        let text = "Заметка о саде. 庭のメモ。 ".repeat(20);
        writeln!(out, r#"{{"url":"https://example.org/{n}","title":"t{n}","text":"{text}"}}"#)
            .unwrap();
    }
    out.finish().unwrap();
    let (ok, out, err) = bounded(&home, &["import", "bookmarks", "--json", file.to_str().unwrap()]);
    assert!(ok, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["added"], &report["skipped"]["total"]), (&3000.into(), &0.into()));
    let again = home.say(&["import", "bookmarks", "--json", file.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&again).unwrap();
    assert_eq!((&report["added"], &report["unchanged"]), (&0.into(), &3000.into()));
}

#[cfg(unix)]
#[test]
fn links_out_of_an_export_are_not_followed() {
    let home = Home::new();
    let outside = at(&home, "outside");
    std::fs::create_dir(&outside).unwrap();
    put(&outside.join("secret.md"), "SECRET-WORD");
    put(&outside.join("secret.png"), [0x89, b'P', b'N', b'G', 1, 2, 3]);
    let folder = at(&home, "export");
    std::fs::create_dir(&folder).unwrap();
    put(&folder.join("plain.md"), "an ordinary card");
    let note = |image: &str| {
        format!(
            r#"{{"title":"n","textContent":"note {image}","isTrashed":false,"createdTimestampUsec":1,"attachments":[{{"filePath":"{image}","mimetype":"image/png"}}]}}"#
        )
    };
    put(&folder.join("note.json"), note("pic.png"));
    put(&folder.join("up.json"), note("../outside/secret.png"));
    let link = std::os::unix::fs::symlink::<PathBuf, PathBuf>;
    link(outside.join("secret.md"), folder.join("link.md")).unwrap();
    link(outside.clone(), folder.join("linked")).unwrap();
    link(outside.join("secret.png"), folder.join("pic.png")).unwrap();
    let (ok, _, err) = home.run(&["import", "cards", folder.to_str().unwrap()]);
    assert!(ok && err.contains("`link.md`: is a symbolic link"), "{err}");
    let one = folder.join("note.json");
    assert!(home.run(&["import", "cards", one.to_str().unwrap()]).0);
    // A zip that says a link is one of its files.
    let zip = at(&home, "links.zip");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&zip).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    archive.add_symlink("out.md", outside.join("secret.md").to_str().unwrap(), options).unwrap();
    archive.finish().unwrap();
    let (ok, _, err) = home.run(&["import", "cards", zip.to_str().unwrap()]);
    assert!(ok && err.contains("`out.md`: is a symbolic link"), "{err}");
    // Prompts, too.
    let (ok, _, err) = home.run(&["import", "prompts", folder.to_str().unwrap()]);
    assert!(ok, "{err}");
    let all = at(&home, "all.json");
    home.say(&["export", "cards", all.to_str().unwrap()]);
    let cards = std::fs::read_to_string(&all).unwrap();
    assert!(cards.contains("an ordinary card"), "{cards}");
    for leaked in ["SECRET-WORD", "secret.md", "data:image/png"] {
        assert!(!cards.contains(leaked), "{leaked} came in: {cards}");
    }
    assert!(!home.say(&["prompt", "list", "--json"]).contains("SECRET-WORD"));
}

#[test]
fn an_import_says_what_it_renamed_and_a_table_runs_no_formula() {
    let home = Home::new();
    let table = at(&home, "lib.csv");
    put(
        &table,
        "act,prompt\nCrane count,\"=HYPERLINK(\"\"http://x\"\") посмотри 見て\"\nCrane count,other\n",
    );
    let (ok, out, err) = home.run(&["import", "prompts", table.to_str().unwrap()]);
    assert!(ok && out.starts_with("2 added"), "{out} {err}");
    assert!(err.contains("`crane_count` is taken; it is `crane_count_2` here"), "{err}");
    let out = at(&home, "out.csv");
    let told = home.say(&["export", "prompts", "--json", out.to_str().unwrap()]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["written"], 2);
    let written = std::fs::read_to_string(&out).unwrap();
    assert!(written.contains("'=HYPERLINK"), "{written}");
    // Back in an empty library it is what it was.
    let other = Home::new();
    other.say(&["import", "prompts", out.to_str().unwrap()]);
    let listed = other.say(&["prompt", "show", "crane_count"]);
    assert!(listed.contains("\n=HYPERLINK") && !listed.contains("'=HYPERLINK"), "{listed}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_import_keeps_what_it_filed_and_says_so() {
    let home = Home::new();
    let file = at(&home, "many.jsonl");
    let lines: String = (0..12_000)
        .map(|n| format!("{{\"url\":\"https://example.org/{n}\",\"title\":\"Запись {n} 記録\"}}\n"))
        .collect();
    put(&file, lines);
    let mut command = home.command(&["import", "bookmarks", file.to_str().unwrap()]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    let child = command.spawn().unwrap();
    crate::support::until("some are filed", || crate::interrupt::saved(&home) > 0);
    let interrupted =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success() && err.contains("What was imported so far is kept"), "{err}");
    let added: usize = out.split_whitespace().next().unwrap().parse().unwrap();
    assert!(added > 0 && added < 12_000, "{out}");
    let status: Value = serde_json::from_str(&home.say(&["status", "--json"])).unwrap();
    assert_eq!(status["bookmarks"], added, "{status}");
    let again = home.say(&["import", "bookmarks", file.to_str().unwrap()]);
    assert!(again.contains(&format!("{added} already there")), "{again}");
}

/// What a search of a folder leaves out by itself is not left out of an import.
#[test]
fn every_prompt_of_a_folder_is_taken_or_named() {
    let home = Home::new();
    let folder = at(&home, "prompts");
    for (file, text) in [
        ("a.md", "One {{x}}."),
        ("b.markdown", "Two."),
        ("ignored/c.md", "Three."),
        (".gitignore", "ignored/\nb.*\n"),
        (".ignore", "a.md\n"),
        (".hidden/d.md", "Four."),
    ] {
        std::fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
        put(&folder.join(file), text);
    }
    std::fs::create_dir(folder.join(".git")).unwrap();
    let said = home.say(&["import", "prompts", folder.to_str().unwrap()]);
    assert!(said.starts_with("3 added, 0 updated, 0 already there, 0 skipped"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_folder_of_prompts_that_cannot_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let folder = at(&home, "prompts");
    let locked = folder.join("locked");
    std::fs::create_dir_all(&locked).unwrap();
    put(&folder.join("a.md"), "One.");
    put(&locked.join("b.md"), "Two.");
    let mode = |mode| std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(mode));
    mode(0o000).unwrap();
    let is_readable = std::fs::read_dir(&locked).is_ok();
    let (ok, out, err) = home.run(&["import", "prompts", folder.to_str().unwrap()]);
    mode(0o755).unwrap();
    if is_readable {
        eprintln!("skipped: this account reads every folder");
        return;
    }
    assert!(ok && out.starts_with("1 added") && out.contains("1 skipped"), "{out}{err}");
    assert!(err.contains("locked") && err.contains("ermission denied"), "{err}");
}
