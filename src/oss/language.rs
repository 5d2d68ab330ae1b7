//! The main language of a repository: the one with the most bytes, without copies of other projects.

use std::collections::BTreeMap;

use super::tree::Tree;

const ENDINGS: &[(&str, &str)] = &[
    ("rs", "Rust"),
    ("go", "Go"),
    ("py", "Python"),
    ("js", "JavaScript"),
    ("mjs", "JavaScript"),
    ("cjs", "JavaScript"),
    ("jsx", "JavaScript"),
    ("ts", "TypeScript"),
    ("tsx", "TypeScript"),
    ("mts", "TypeScript"),
    ("c", "C"),
    ("h", "C"),
    ("cc", "C++"),
    ("cpp", "C++"),
    ("cxx", "C++"),
    ("hpp", "C++"),
    ("hh", "C++"),
    ("java", "Java"),
    ("kt", "Kotlin"),
    ("kts", "Kotlin"),
    ("swift", "Swift"),
    ("rb", "Ruby"),
    ("php", "PHP"),
    ("cs", "C#"),
    ("fs", "F#"),
    ("scala", "Scala"),
    ("clj", "Clojure"),
    ("ex", "Elixir"),
    ("exs", "Elixir"),
    ("erl", "Erlang"),
    ("hs", "Haskell"),
    ("ml", "OCaml"),
    ("lua", "Lua"),
    ("pl", "Perl"),
    ("pm", "Perl"),
    ("r", "R"),
    ("jl", "Julia"),
    ("dart", "Dart"),
    ("zig", "Zig"),
    ("nim", "Nim"),
    ("sh", "Shell"),
    ("bash", "Shell"),
    ("zsh", "Shell"),
    ("ps1", "PowerShell"),
    ("sql", "SQL"),
    ("vue", "Vue"),
    ("svelte", "Svelte"),
    ("m", "Objective-C"),
    ("mm", "Objective-C++"),
    ("tf", "HCL"),
    ("nix", "Nix"),
    ("css", "CSS"),
    ("scss", "CSS"),
    ("html", "HTML"),
    ("ipynb", "Jupyter Notebook"),
];

/// Languages that come along with others. They are the main language only if there is nothing else.
const LESSER: &[&str] = &["HTML", "CSS", "Shell", "Jupyter Notebook"];

pub fn of_ending(ending: &str) -> Option<&'static str> {
    ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, language)| *language)
}

pub fn main(tree: &Tree) -> Option<String> {
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    for file in tree.own().filter(|file| file.text.is_some()) {
        if let Some(language) = of_ending(&file.ending()) {
            *bytes.entry(language).or_default() += file.size;
        }
    }
    let largest = |lesser: bool| {
        let fitting = bytes.iter().filter(|(name, _)| LESSER.contains(name) == lesser);
        // On a tie the first by name, always the same.
        fitting
            .max_by_key(|(name, bytes)| (**bytes, std::cmp::Reverse(**name)))
            .map(|(name, _)| *name)
    };
    largest(false).or_else(|| largest(true)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{super::tree::tests::tree, *};

    #[test]
    fn bytes_decide() {
        let long = "x".repeat(1000);
        let mixed = tree(&[
            ("a.rs", "fn main() {}"),
            ("b.py", "pass"),
            ("index.html", &long),
            ("vendor/c.js", &long),
        ]);
        assert_eq!(main(&mixed).as_deref(), Some("Rust"));
        assert_eq!(
            main(&tree(&[("index.html", "x"), ("README.md", &long)])).as_deref(),
            Some("HTML")
        );
        assert_eq!(main(&tree(&[("README.md", "x")])), None);
    }
}
