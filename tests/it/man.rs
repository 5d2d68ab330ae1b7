//! The man pages, as `man` reads them.

use clap::CommandFactory;
use notewell::cli::Cli;

use crate::support::Account;

/// The names of a command's page and of those below it.
fn names(command: &clap::Command, names: &mut Vec<String>) {
    names.push(format!("{}.1", command.get_display_name().unwrap_or(command.get_name())));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        self::names(inner, names);
    }
}

#[test]
fn every_command_has_a_page_and_the_same_program_writes_the_same_bytes() {
    let account = Account::new();
    let folder = account.path().join("share/man/man1");
    let (code, out, err) = account.run(&["man", folder.to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut expected = Vec::new();
    names(&command, &mut expected);
    expected.sort();
    let read = |folder: &std::path::Path| {
        let mut pages: Vec<(String, String)> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, std::fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        pages.sort();
        pages
    };
    let pages = read(&folder);
    let written: Vec<&String> = pages.iter().map(|(name, _)| name).collect();
    assert_eq!(written, expected.iter().collect::<Vec<_>>());
    assert!(out.contains(&format!("{} pages", expected.len())), "{out}");
    let search = &pages.iter().find(|(name, _)| name == "notewell-search.1").unwrap().1;
    assert!(search.contains(".TH notewell-search 1"), "{search}");
    assert!(search.contains("Notewell 0."), "{search}");

    let again = account.path().join("again");
    assert_eq!(account.run(&["man", again.to_str().unwrap()]).0, 0);
    assert_eq!(read(&again), pages);
}

#[test]
fn a_file_in_the_way_is_named() {
    let account = Account::new();
    account.note("taken", "a file");
    let (code, _, err) = account.run(&["man", "taken"]);
    assert_eq!(code, 2);
    assert!(err.contains("`taken`"), "{err}");
}
