//! Comments and quotes of the languages that the checks understand.

/// What separates comments and strings from code in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Syntax {
    /// What starts a comment that ends with the line.
    pub line_comments: &'static [&'static str],
    pub block_comment: Option<(&'static str, &'static str)>,
    /// Quotes of strings that end on their own line.
    pub quotes: &'static [char],
    /// Quotes of strings that may span lines: backticks, triple quotes.
    pub long_quotes: &'static [&'static str],
    /// `'` quotes one character, or is a lifetime.
    pub quoted_char: bool,
    /// `/…/` after an operator is a regular expression.
    pub regex: bool,
    /// A long string that is a statement of its own is documentation.
    pub docstrings: bool,
    /// Modules under `#[cfg(test)]` are not part of a build.
    pub test_modules: bool,
}

impl Syntax {
    const NONE: Self = Self {
        line_comments: &[],
        block_comment: None,
        quotes: &['"', '\''],
        long_quotes: &[],
        quoted_char: false,
        regex: false,
        docstrings: false,
        test_modules: false,
    };
    const C: Self = Self {
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: &['"'],
        quoted_char: true,
        ..Self::NONE
    };
    pub const RUST: Self = Self { test_modules: true, ..Self::C };
    const GO: Self = Self { long_quotes: &["`"], ..Self::C };
    const JAVA: Self = Self { long_quotes: &["\"\"\""], ..Self::C };
    const JAVASCRIPT: Self = Self {
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        long_quotes: &["`"],
        regex: true,
        ..Self::NONE
    };
    /// JSON as editors read it: with comments.
    pub const JSON: Self =
        Self { line_comments: &["//"], block_comment: Some(("/*", "*/")), ..Self::NONE };
    const PHP: Self =
        Self { line_comments: &["//", "#"], block_comment: Some(("/*", "*/")), ..Self::NONE };
    const PYTHON: Self = Self {
        line_comments: &["#"],
        long_quotes: &["\"\"\"", "'''"],
        docstrings: true,
        ..Self::NONE
    };
    pub const SHELL: Self = Self { line_comments: &["#"], ..Self::NONE };
    const POWERSHELL: Self =
        Self { line_comments: &["#"], block_comment: Some(("<#", "#>")), ..Self::NONE };
    const LUA: Self =
        Self { line_comments: &["--"], block_comment: Some(("--[[", "]]")), ..Self::NONE };
    const HASKELL: Self =
        Self { line_comments: &["--"], block_comment: Some(("{-", "-}")), ..Self::C };
    const LISP: Self = Self { line_comments: &[";"], quotes: &['"'], ..Self::NONE };
    const MARKUP: Self = Self { block_comment: Some(("<!--", "-->")), ..Self::NONE };

    /// The syntax of a file, by its ending, its name or its first line.
    pub fn of(name: &str, text: &str) -> Self {
        by_ending(&ending(name)).or_else(|| by_name(name)).unwrap_or_else(|| {
            let first = text.lines().next().unwrap_or_default();
            match first.strip_prefix("#!") {
                Some(program) if program.contains("node") => Self::JAVASCRIPT,
                Some(program) if program.contains("python") => Self::PYTHON,
                Some(_) => Self::SHELL,
                None => Self::NONE,
            }
        })
    }
}

fn ending(name: &str) -> String {
    name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default()
}

fn by_ending(ending: &str) -> Option<Syntax> {
    Some(match ending {
        "rs" => Syntax::RUST,
        "go" => Syntax::GO,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => {
            Syntax::JAVASCRIPT
        }
        "py" | "pyi" | "pyw" | "pth" | "gyp" | "gypi" => Syntax::PYTHON,
        "java" | "kt" | "kts" | "scala" | "swift" | "groovy" | "gradle" | "cs" | "dart" => {
            Syntax::JAVA
        }
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "m" | "mm" | "zig" => Syntax::C,
        "php" => Syntax::PHP,
        "json" | "jsonc" | "json5" | "code-workspace" => Syntax::JSON,
        "sh" | "bash" | "zsh" | "ksh" | "fish" | "envrc" | "rb" | "gemspec" | "pl" | "pm" | "r"
        | "jl" | "ex" | "exs" | "nim" | "nimble" | "nix" | "mk" | "cmake" | "toml" | "yml"
        | "yaml" | "cfg" | "ini" | "properties" | "tf" => Syntax::SHELL,
        "ps1" | "psm1" | "psd1" => Syntax::POWERSHELL,
        "lua" | "rockspec" | "sql" => Syntax::LUA,
        "hs" | "cabal" => Syntax::HASKELL,
        "el" | "clj" | "cljs" | "lisp" | "scm" => Syntax::LISP,
        "xml" | "csproj" | "fsproj" | "props" | "targets" | "html" => Syntax::MARKUP,
        _ => return None,
    })
}

fn by_name(name: &str) -> Option<Syntax> {
    let shell = matches!(
        name,
        "Makefile"
            | "makefile"
            | "GNUmakefile"
            | "Justfile"
            | "justfile"
            | "Rakefile"
            | "Gemfile"
            | "Vagrantfile"
            | "Brewfile"
            | "configure"
            | "gradlew"
            | "mvnw"
            | ".envrc"
            | "Containerfile"
            | ".Rprofile"
            | ".gitmodules"
            | ".gitconfig"
            | ".npmrc"
            | ".bazelrc"
    ) || name.starts_with("Dockerfile");
    shell.then_some(Syntax::SHELL)
}

/// Whether the checks of source code understand a language, by the ending of its files.
pub fn has_rules(ending: &str) -> bool {
    by_ending(ending).is_some()
}
