//! Where a repository keeps code that runs by itself.

use super::manifests;
use crate::oss::tree::{File, Tree};

/// A piece of code that runs by itself.
pub struct AutoRun<'a> {
    pub file: &'a File,
    /// What makes it run, as the start of a sentence: "an npm install script".
    pub when: &'static str,
    pub snippet: Snippet,
    /// The score where nothing is wrong with it, when it is worth a mention all the same.
    pub notable: Option<u8>,
}

pub enum Snippet {
    WholeFile,
    Command {
        line: u32,
        text: String,
    },
    /// Something that has no honest use, whatever it says.
    Forbidden {
        line: u32,
    },
}

/// Files that run whole, by name.
const NAMES: &[(&str, &str)] = &[
    ("setup.py", "the setup script"),
    ("conftest.py", "the pytest configuration"),
    ("sitecustomize.py", "a file that Python runs at every start"),
    ("usercustomize.py", "a file that Python runs at every start"),
    ("build.rs", "the build script"),
    (".pnpmfile.cjs", "the pnpm hook file"),
    ("pnpmfile.js", "the pnpm hook file"),
    (".yarnrc.yml", "the yarn configuration"),
    (".envrc", "the direnv file"),
    (".exrc", "an editor file"),
    (".nvimrc", "an editor file"),
    (".nvim.lua", "an editor file"),
    (".vimrc", "an editor file"),
    (".lvimrc", "an editor file"),
    (".dir-locals.el", "an editor file"),
    (".Rprofile", "a file that R runs at every start"),
    ("Makefile", "the makefile"),
    ("makefile", "the makefile"),
    ("GNUmakefile", "the makefile"),
    ("configure", "the configure script"),
    ("autogen.sh", "the configure script"),
    ("CMakeLists.txt", "the CMake file"),
    ("meson.build", "the Meson file"),
    ("build.gradle", "the Gradle build"),
    ("build.gradle.kts", "the Gradle build"),
    ("settings.gradle", "the Gradle build"),
    ("settings.gradle.kts", "the Gradle build"),
    ("init.gradle", "the Gradle build"),
    ("gradlew", "the Gradle wrapper"),
    ("mvnw", "the Maven wrapper"),
    ("extensions.xml", "the Maven extensions"),
    ("pom.xml", "the Maven build"),
    ("jvm.config", "the Maven options"),
    ("extconf.rb", "the gem's build script"),
    ("Gemfile", "the Gemfile"),
    ("Rakefile", "the Rakefile"),
    ("mix.exs", "the Mix file"),
    ("Makefile.PL", "the Perl build script"),
    ("Build.PL", "the Perl build script"),
    ("Setup.hs", "the Cabal build script"),
    ("Package.swift", "the Swift package"),
    ("shell.nix", "the Nix shell"),
    ("flake.nix", "the Nix flake"),
    ("Vagrantfile", "the Vagrant file"),
    ("Directory.Build.props", "the .NET build"),
    ("Directory.Build.targets", "the .NET build"),
    ("init.ps1", "a package script"),
    ("chocolateyinstall.ps1", "a package script"),
    ("binding.gyp", "the native build of an npm install"),
    (".pre-commit-config.yaml", "a pre-commit hook"),
    ("lefthook.yml", "a git hook"),
    (".lefthook.yml", "a git hook"),
    (".gitpod.yml", "a Gitpod task"),
    (".bazelrc", "the Bazel configuration"),
    ("startup.xml", "an IDE start-up task"),
];

/// Files that run whole, by the end of their name.
const ENDINGS: &[(&str, &str)] = &[
    (".gemspec", "the gem specification"),
    (".nimble", "the Nimble file"),
    (".csproj", "the .NET build"),
    (".vcxproj", "the Visual Studio build"),
    (".pbxproj", "the Xcode build"),
    (".podspec", "the pod specification"),
];

/// Folders whose files run.
const FOLDERS: &[(&str, &str)] = &[
    (".husky/", "a git hook"),
    (".githooks/", "a git hook"),
    (".git-hooks/", "a git hook"),
    ("githooks/", "a git hook"),
    (".hooks/", "a git hook"),
    (".idea/runConfigurations/", "an IDE run configuration"),
    (".claude/hooks/", "a coding agent's hook"),
];

/// Every piece of code that runs by itself, in the order of the files.
pub fn find(tree: &Tree) -> Vec<AutoRun<'_>> {
    let mut found = Vec::new();
    for file in tree.own().filter(|file| file.text.is_some() && is_live(file)) {
        manifests::commands(tree, file, &mut found);
        lines(file, &mut found);
        let name = file.name();
        let when = NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .or_else(|| ENDINGS.iter().find(|(end, _)| name.ends_with(end)))
            .or_else(|| FOLDERS.iter().find(|(folder, _)| file.path.starts_with(folder)))
            .map(|(_, when)| *when);
        if let Some(when) = when.filter(|_| !file.is_prose()) {
            let notable = (name == "setup.py" && file.text().contains("cmdclass")).then_some(7);
            found.push(AutoRun { file, when, snippet: Snippet::WholeFile, notable });
        }
    }
    found
}

/// Tests run only when somebody runs them; `conftest.py` runs then by itself. Test data never does.
fn is_live(file: &File) -> bool {
    let data = file
        .path
        .split('/')
        .any(|part| matches!(part, "fixtures" | "fixture" | "testdata" | "test-data"));
    !file.is_test() || (file.name() == "conftest.py" && !data)
}

/// Single lines that run: `ONBUILD`, `//go:generate`, `.pth` imports, submodule commands, wrappers.
fn lines<'a>(file: &'a File, found: &mut Vec<AutoRun<'a>>) {
    let name = file.name();
    let container = name.starts_with("Dockerfile") || name == "Containerfile";
    for (number, line) in file.lines() {
        let bare = line.trim();
        let mut add = |when: &'static str, text: &str, notable: Option<u8>| {
            let snippet = Snippet::Command { line: number, text: text.to_owned() };
            found.push(AutoRun { file, when, snippet, notable });
        };
        if container && let Some(rest) = bare.strip_prefix("ONBUILD ") {
            add("an ONBUILD step", rest, Some(7));
        } else if file.ending() == "go"
            && let Some(rest) = bare.strip_prefix("//go:generate ")
        {
            add("a go generate step", rest, None);
        } else if name.ends_with(".pth") && line.starts_with("import ") {
            add("a file that Python runs at every start", line, Some(1));
        } else if name == ".gitmodules"
            && let Some((key, value)) = bare.split_once('=')
            && key.trim() == "update"
            && value.trim().starts_with('!')
        {
            // Git refuses this today; nobody writes it by accident.
            let snippet = Snippet::Forbidden { line: number };
            found.push(AutoRun { file, when: "a submodule update", snippet, notable: None });
        } else if name.ends_with("-wrapper.properties")
            && let Some((key, value)) = bare.split_once('=')
            && matches!(key, "distributionUrl" | "wrapperUrl")
            && !is_official(value)
        {
            add("a build wrapper with a download of its own", value, Some(3));
        }
    }
}

/// Where wrappers download from, unless somebody changed it.
fn is_official(address: &str) -> bool {
    let address = address.trim().replace('\\', "");
    [
        "https://services.gradle.org/",
        "https://repo.maven.apache.org/",
        "https://repo1.maven.org/",
        "https://downloads.gradle.org/",
    ]
    .iter()
    .any(|start| address.starts_with(start))
}
