//! What WebDAV clients keep beside their files is bounded: properties, and the owners of locks. What
//! the trash holds makes room.

use notewell::{
    domain::{Code, VaultPath},
    store::{
        Store,
        hosted::{Expected, FileStep, HostedLimits, HostedWrite, Property},
        revisions::{Actor, NewChange},
    },
};

use crate::{
    dav::Dav,
    dav_moves::{make_folders, serve_small_vault, transfer},
    dav_rights::user,
    hosted::{hosted, serve, token},
    store::every_store,
};

#[test]
fn properties_cannot_fill_the_disk() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    dav.put("a.md", "# A\n");
    let patch = |path: &str, name: &str, value: &str| {
        let body = format!(
            "<D:propertyupdate xmlns:D=\"DAV:\"><D:set><D:prop><{name} xmlns=\"n:\">{value}</{name}></D:prop></D:set></D:propertyupdate>"
        );
        dav.send("PROPPATCH", path, &[], body.as_bytes())
    };
    let long = "x".repeat(20_000);
    for name in ["a", "b", "c", "a"] {
        assert_eq!(patch("a.md", name, &long).status, 207, "{name}");
    }
    let refused = patch("a.md", "d", &long);
    assert_eq!(refused.status, 507, "{}", refused.body);
    assert!(refused.body.contains("65536 bytes; nothing was changed"), "{}", refused.body);
    dav.put("b.md", "# B\n");
    for number in 0..100 {
        assert_eq!(patch("b.md", &format!("p{number}"), "").status, 207, "{number}");
    }
    assert_eq!(patch("b.md", "p100", "").status, 507);
    assert_eq!(patch("b.md", "p99", "other").status, 207, "one that is there changes");
}

fn write(store: &Store, steps: &[FileStep]) -> notewell::domain::Result<()> {
    let mut change = NewChange::new(&Actor::shell("test"), "test");
    let limits = HostedLimits { files: 1000, bytes: 1 << 20 };
    let write = HostedWrite { vault: "v", steps, pages: &[], limits };
    store.hosted.write(&write, &mut change, &mut [])
}

/// The number that the store keeps is that of the properties that there are.
fn assert_counted(store: &Store) {
    let files = store.hosted.below("v", "").unwrap();
    let of_file = |path: &str| store.hosted.properties("v", path).unwrap();
    let bytes = files.iter().flat_map(|file| of_file(&file.path)).map(|property| {
        (property.xml.len() + property.name.len() + property.namespace.len()) as u64
    });
    assert_eq!(store.hosted.usage("v").unwrap().property_bytes, bytes.sum::<u64>());
}

#[test]
fn every_store_bounds_the_properties_of_a_file_and_of_a_vault() {
    every_store(|store, _| {
        let hosted = &store.hosted;
        let path = |text: &str| VaultPath::parse(text).unwrap();
        let property = |name: &str, size: usize| {
            let xml = vec![b'x'; size];
            (Property { namespace: "н".into(), name: name.into(), xml }, true)
        };
        let put = |at: &str| FileStep::Put {
            path: path(at),
            bytes: b"1".to_vec(),
            mtime_ns: 7,
            expected: Expected::Any,
        };
        let files: Vec<String> = (0..257).map(|number| format!("{number}.md")).collect();
        let steps: Vec<FileStep> = files.iter().map(|file| put(file)).collect();
        write(store, &steps).unwrap();
        // Bytes of names count, in any script.
        let full = (64 << 10) - "н".len() - "имя".len();
        let refused = hosted.set_properties("v", "0.md", &[property("имя", full + 1)]).unwrap_err();
        assert_eq!(refused.code, Code::Limit);
        assert!(hosted.properties("v", "0.md").unwrap().is_empty());
        let many: Vec<(Property, bool)> =
            (0..101).map(|number| property(&number.to_string(), 1)).collect();
        assert_eq!(hosted.set_properties("v", "0.md", &many).unwrap_err().code, Code::Limit);
        hosted.set_properties("v", "0.md", &many[..100]).unwrap();
        // Those of all files have a bound too.
        for file in &files[1..256] {
            hosted.set_properties("v", file, &[property("имя", full)]).unwrap();
        }
        let refused = hosted.set_properties("v", "256.md", &[property("имя", full)]).unwrap_err();
        assert!(refused.message.contains("vault `v`"), "{refused:?}");
        let copy = |from: &str, to: &str| {
            [FileStep::Copy { from: path(from), to: path(to), expected: Expected::Any }]
        };
        assert_eq!(write(store, &copy("1.md", "copy.md")).unwrap_err().code, Code::Limit);
        assert!(hosted.stat("v", "copy.md").unwrap().is_none());
        write(store, &copy("1.md", ".trash/1.md")).unwrap();
        assert!(hosted.properties("v", ".trash/1.md").unwrap().is_empty());
        assert_counted(store);
        // What there is can be removed, and another vault has its own.
        let (gone, _) = property("имя", 0);
        hosted.set_properties("v", "1.md", &[(gone, false)]).unwrap();
        write(store, &copy("2.md", "copy.md")).unwrap();
        assert_counted(store);
        // What is in the trash makes room, the oldest first.
        for file in ["3.md", "4.md"] {
            let (from, to) = (path(file), path(&format!(".trash/{file}")));
            write(store, &[FileStep::Move { from, to, expected: Expected::Any }]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_counted(store);
        hosted.set_properties("v", "256.md", &[property("имя", full)]).unwrap();
        assert!(hosted.properties("v", ".trash/3.md").unwrap().is_empty());
        assert_eq!(hosted.properties("v", ".trash/4.md").unwrap().len(), 1);
        assert_counted(store);
        for file in ["256.md", "copy.md", ".trash/4.md"] {
            let expected = Expected::Any;
            write(store, &[FileStep::Remove { path: path(file), expected }]).unwrap();
            assert_counted(store);
        }
        write(store, &copy("0.md", "5.md")).unwrap();
        assert_counted(store);
        hosted.delete_files("v").unwrap();
        assert_eq!(hosted.usage("v").unwrap().property_bytes, 0);
    });
}

#[test]
fn the_owner_of_a_lock_is_short() {
    let home = hosted("team");
    let owner = token(&home, "owner");
    let server = serve(&home);
    let dav = Dav::new(&server, &owner, "team");
    dav.put("a.md", "# A\n");
    let lock = |declared: &str, owner: &str| {
        let body = format!(
            "{declared}<D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>{owner}</D:owner></D:lockinfo>"
        );
        dav.send("LOCK", "a.md", &[("Depth", "0")], body.as_bytes())
    };
    let entity = format!("<!DOCTYPE l [<!ENTITY e \"{}\">]>", "<a/>".repeat(100));
    for (declared, owner) in [
        ("", "<a/>".repeat(15_000)),
        ("", "<?a?>".repeat(200)),
        ("", "<!---->".repeat(200)),
        ("", "<![CDATA[]]>".repeat(200)),
        ("", (0..200).fold(String::from("<a"), |tag, number| format!("{tag} a{number}=''")) + "/>"),
        ("", "x".repeat(2000)),
        ("", format!("<a b=\"{}\"/>", "x".repeat(2000))),
        ("", format!("<a xmlns:b=\"{}\"/>", "x".repeat(2000))),
        (entity.as_str(), "&e;&e;".to_owned()),
    ] {
        let refused = lock(declared, &owner);
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.body.contains("longer than 1 KiB; nothing was locked"), "{}", refused.body);
    }
    for owner in ["Ann", "<D:href>mailto:ann@example.com</D:href>"] {
        let locked = lock("", owner);
        assert!(locked.status == 200 && locked.body.contains(owner), "{}", locked.body);
    }
}

#[test]
fn the_trash_does_not_weigh_for_who_sees_a_part() {
    let home = hosted("team");
    let ann = user(&home, "ann", &[&["--whole-vault", "team"]]);
    let server = serve(&home);
    let owner = Dav::new(&server, &token(&home, "owner"), "team");
    let ann = Dav::new(&server, &ann, "team");
    for path in ["n.md", "p.png", "kept.md"] {
        assert_eq!(owner.put(path, "12345").status, 201);
    }
    let body = br#"<D:propfind xmlns:D="DAV:"><D:prop><D:quota-used-bytes/></D:prop></D:propfind>"#;
    let used = || ann.send("PROPFIND", "", &[("Depth", "0")], body).body;
    assert!(used().contains("<D:quota-used-bytes>15<"), "{}", used());
    for path in ["n.md", "p.png"] {
        assert_eq!(owner.send("DELETE", path, &[], b"").status, 204);
        assert_eq!(ann.get(&format!(".trash/{path}")).status, 200, "she may read it");
    }
    assert!(used().contains("<D:quota-used-bytes>5<"), "{}", used());
}

#[test]
fn a_file_that_a_folder_replaces_makes_room_for_it() {
    let home = hosted("team");
    let server = serve_small_vault(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    make_folders(&dav, &["src", "large"]);
    for (path, size) in [("src/a.bin", 400), ("old.bin", 500)] {
        assert_eq!(dav.put(path, &"x".repeat(size)).status, 201, "{path}");
    }
    let copied = transfer(&dav, "COPY", "src", "old.bin");
    assert_eq!(copied.status, 204, "{}", copied.body);
    assert_eq!(dav.get("old.bin/a.bin").body.len(), 400);
    assert_eq!(dav.get(".trash/old.bin").status, 404, "it made room");
    // What it makes is not enough for more.
    assert_eq!(dav.put("file.bin", &"x".repeat(100)).status, 201);
    assert_eq!(dav.send("DELETE", "old.bin", &[], b"").status, 204);
    assert_eq!(dav.put("large/b.bin", &"x".repeat(450)).status, 201);
    let refused = transfer(&dav, "COPY", "large", "file.bin");
    assert!(refused.body.contains("hosted.vault_bytes"), "{} {}", refused.status, refused.body);
    assert_eq!(dav.get("file.bin").body.len(), 100);
}

#[test]
fn what_is_replaced_in_the_trash_makes_room_once() {
    let home = hosted("team");
    let server = serve_small_vault(&home);
    let dav = Dav::new(&server, &token(&home, "owner"), "team");
    make_folders(&dav, &["large", "small", ".trash", ".trash/old"]);
    for (path, size) in [("large/a.bin", 600), ("small/a.bin", 100), (".trash/old/b.bin", 300)] {
        assert_eq!(dav.put(path, &"x".repeat(size)).status, 201, "{path}");
    }
    let refused = transfer(&dav, "COPY", "large", ".trash/old");
    assert!(refused.body.contains("hosted.vault_bytes"), "{} {}", refused.status, refused.body);
    assert_eq!(dav.get(".trash/old/b.bin").body.len(), 300);
    let copied = transfer(&dav, "COPY", "small", ".trash/old");
    assert_eq!(copied.status, 204, "{}", copied.body);
    assert_eq!(dav.get(".trash/old/a.bin").body.len(), 100);
    assert_eq!(dav.get(".trash/old/b.bin").status, 404);
}
