//! The help of every command, as people see it.

use clap::CommandFactory;
use notewell::cli::Cli;

/// The whole help of a command and of everything below it.
fn collect(command: &mut clap::Command, path: &str, pages: &mut Vec<(String, String)>) {
    let path = format!("{path}{}", command.get_name());
    pages.push((path.clone(), command.render_long_help().to_string()));
    for inner in command.get_subcommands_mut().filter(|inner| inner.get_name() != "help") {
        collect(inner, &format!("{path} "), pages);
    }
}

#[test]
fn help_of_every_command() {
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut pages = Vec::new();
    collect(&mut command, "", &mut pages);
    assert!(pages.len() > 30, "{}", pages.len());
    let mut text = String::new();
    for (path, page) in &pages {
        let rule = "=".repeat(path.len());
        let page: Vec<&str> = page.trim_end().lines().map(str::trim_end).collect();
        text += &format!("{path}\n{rule}\n{}\n\n", page.join("\n"));
    }
    insta::assert_snapshot!(text);
}
