use super::*;

fn put(file: &Path, text: &str) {
    super::super::replace(file, text.as_bytes()).unwrap();
}

#[test]
fn a_file_changes_only_if_it_holds_what_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.md");
    put(&file, "one");
    let mut staged = Staged::replace(&file, b"one", b"two", ".notewell-1-").unwrap();
    assert!(staged.commit().unwrap());
    assert_eq!(fs::read(&file).unwrap(), b"two");
    staged.revert().unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"one");
    assert!(staged.commit().unwrap());
    staged.sync().unwrap();
    drop(staged);
    let mut staged = Staged::replace(&file, b"one", b"three", ".notewell-1-").unwrap();
    assert!(!staged.commit().unwrap(), "it holds `two`");
    drop(staged);
    let mut staged = Staged::remove(&file, b"one", ".notewell-1-").unwrap();
    assert!(!staged.commit().unwrap());
    drop(staged);
    assert_eq!(fs::read(&file).unwrap(), b"two");
    let mut staged = Staged::remove(&file, b"two", ".notewell-1-").unwrap();
    assert!(staged.commit().unwrap() && !file.exists());
    staged.revert().unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"two");
    drop(staged);
    let new = folder.path().join("x/y/б.md");
    let mut staged = Staged::create(&new, b"n", Some(&file), ".notewell-1-").unwrap();
    assert!(staged.commit().unwrap());
    staged.revert().unwrap();
    assert!(!new.exists());
    drop(staged);
    let mut staged = Staged::create(&file, b"n", None, ".notewell-1-").unwrap();
    assert!(!staged.commit().unwrap(), "it exists");
    drop(staged);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// A disk that fails, or a server that is away, after the file was set aside.
#[test]
fn a_file_that_cannot_be_checked_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.md");
    put(&file, "one");
    for stage in [
        Staged::remove(&file, b"one", ".notewell-1-"),
        Staged::replace(&file, b"one", b"two", ".notewell-1-"),
    ] {
        let mut staged = stage.unwrap();
        let error = staged.commit_with(&failing_once(|| {})).unwrap_err();
        assert!(error.message.contains("I/O error"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), b"one");
        staged.revert().unwrap();
        drop(staged);
        assert_eq!(fs::read(&file).unwrap(), b"one");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A reader that fails the first time, after something was done.
fn failing_once(meanwhile: impl Fn()) -> impl Fn(&Path) -> io::Result<Vec<u8>> {
    let has_failed = std::cell::Cell::new(false);
    move |file| {
        if has_failed.replace(true) {
            return fs::read(file);
        }
        meanwhile();
        Err(io::Error::other("I/O error"))
    }
}

#[test]
fn what_somebody_saved_while_a_file_could_not_be_checked_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.md");
    put(&file, "one");
    let mut staged = Staged::replace(&file, b"one", b"two", ".notewell-1-").unwrap();
    staged.commit_with(&failing_once(|| put(&file, "мой текст"))).unwrap_err();
    staged.revert().unwrap();
    drop(staged);
    assert_eq!(fs::read_to_string(&file).unwrap(), "мой текст");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_read_at_all_is_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.md");
    put(&file, "one");
    let mut staged = Staged::replace(&file, b"one", b"two", ".notewell-1-").unwrap();
    let saved = std::cell::Cell::new(false);
    let fails = |_: &Path| {
        if !saved.replace(true) {
            put(&file, "мой текст");
        }
        Err(io::Error::other("I/O error"))
    };
    staged.commit_with(&fails).unwrap_err();
    staged.revert().unwrap();
    drop(staged);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one");
    let entries = fs::read_dir(folder.path()).unwrap().flatten();
    let mut left = entries.map(|entry| fs::read_to_string(entry.path()).unwrap());
    assert!(left.any(|text| text == "мой текст"), "it may be all that is left");
}

#[test]
fn a_file_that_cannot_be_put_back_is_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (here, away) = (folder.path().join("here"), folder.path().join("away"));
    let stages: [fn(&Path) -> Result<Staged>; 2] = [
        |file| Staged::remove(file, b"one", ".notewell-1-"),
        |file| Staged::replace(file, b"one", b"two", ".notewell-1-"),
    ];
    for stage in stages {
        fs::create_dir(&here).unwrap();
        let file = here.join("a.md");
        put(&file, "one");
        let mut staged = stage(&file).unwrap();
        // The drive goes away in the middle.
        let fails = |_: &Path| {
            fs::rename(&here, &away)?;
            Err(io::Error::other("I/O error"))
        };
        staged.commit_with(&fails).unwrap_err();
        staged.revert().unwrap_err();
        fs::rename(&away, &here).unwrap();
        drop(staged);
        let held = |entry: fs::DirEntry| fs::read(entry.path()).unwrap();
        let mut left = fs::read_dir(&here).unwrap().flatten().map(held);
        assert!(left.any(|bytes| bytes == b"one"), "the old text is there");
        fs::remove_dir_all(&here).unwrap();
    }
}

#[test]
fn two_files_trade_places_without_help_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    put(&a, "1");
    put(&b, "2");
    exchange_in_steps(&a, &b).unwrap();
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"2".to_vec(), b"1".to_vec()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.md");
    put(&file, "1");
    put(&folder.path().join(".notewell-7-x.tmp"), "");
    put(&folder.path().join(".notewell-70-x.tmp"), "");
    let staged = folder.path().join(".notewell-7-x.tmp");
    assert!(!is_abandoned(&staged), "it was just written");
    fs::File::open(&staged).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(!is_abandoned(&staged), "the time of its content does not count");
    remove_staged([file], 7);
    assert!(!is_abandoned(&staged), "it is gone");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
