//! The files of a checkout. They are read once, in the order of their paths; links are not followed.

use std::{
    collections::HashMap,
    fs::File as Handle,
    io::Read,
    path::{Path, PathBuf},
};

use super::code::has_rules;
use crate::domain::{Result, error::Doing};

/// The largest file that is read whole. Of a larger one only the first [`HEAD`] bytes are read.
const MAX_WHOLE_FILE: u64 = 1 << 20;
const HEAD: u64 = 64 << 10;
/// The most text that is kept of all files together.
const MAX_TEXT: usize = 128 << 20;
/// Source code below this many bytes is hardly anything to judge.
const LITTLE_CODE: u64 = 100;

/// A checkout in memory.
pub struct Tree {
    pub root: PathBuf,
    pub files: Vec<File>,
    pub bytes: u64,
    /// Files whose text is not kept whole because of its size.
    pub cut: Vec<String>,
    /// Symbolic links. They are counted and never followed.
    pub links: usize,
    by_path: HashMap<String, usize>,
}

/// One file of a checkout.
pub struct File {
    /// With `/` between its parts, from the root.
    pub path: String,
    pub size: u64,
    pub executable: bool,
    /// The first bytes, for telling what it is.
    pub magic: [u8; 8],
    /// None for a binary file.
    pub text: Option<String>,
}

impl File {
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The ending in lower case, without its dot.
    pub fn ending(&self) -> String {
        self.name().rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default()
    }

    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Lines with their numbers, from one.
    pub fn lines(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..).zip(self.text().lines())
    }

    fn folders(&self) -> impl Iterator<Item = &str> {
        self.path.rsplit_once('/').map_or("", |(folders, _)| folders).split('/')
    }

    /// Whether the file is a test, or data that a test reads.
    pub fn is_test(&self) -> bool {
        let folder = self.folders().any(|part| {
            matches!(
                part.to_lowercase().as_str(),
                "test"
                    | "tests"
                    | "spec"
                    | "specs"
                    | "__tests__"
                    | "testdata"
                    | "test-data"
                    | "fixtures"
                    | "fixture"
                    | "e2e"
                    | "it"
                    | "mocks"
            )
        });
        let name = self.name().to_lowercase();
        folder
            || name.starts_with("test_")
            || name == "tests.rs"
            || ["_test.go", "_test.py", "_test.rs", "_test.c", "_test.cc", "_spec.rb", "test.java"]
                .iter()
                .any(|end| name.ends_with(end))
            || [".test.", ".spec."].iter().any(|part| name.contains(part))
    }

    /// Whether the file is a copy of somebody else's code.
    pub fn is_vendored(&self) -> bool {
        self.folders().any(|part| {
            matches!(
                part,
                "vendor"
                    | "node_modules"
                    | "third_party"
                    | "third-party"
                    | "bower_components"
                    | "external"
            )
        })
    }

    /// Whether the file is documentation or an example.
    pub fn is_prose(&self) -> bool {
        matches!(self.ending().as_str(), "md" | "markdown" | "rst" | "txt" | "adoc" | "html")
            || self.folders().any(|part| matches!(part, "docs" | "doc" | "examples" | "example"))
    }

    pub fn is_workflow(&self) -> bool {
        let yaml = matches!(self.ending().as_str(), "yml" | "yaml");
        yaml && [".github/workflows/", ".forgejo/workflows/", ".gitea/workflows/", ".woodpecker/"]
            .iter()
            .any(|folder| self.path.starts_with(folder))
    }

    /// A pipeline of any forge.
    pub fn is_pipeline(&self) -> bool {
        self.is_workflow()
            || matches!(
                self.path.as_str(),
                ".gitlab-ci.yml"
                    | ".travis.yml"
                    | ".cirrus.yml"
                    | ".woodpecker.yml"
                    | ".circleci/config.yml"
                    | "azure-pipelines.yml"
                    | "Jenkinsfile"
                    | ".drone.yml"
                    | "appveyor.yml"
                    | "bitbucket-pipelines.yml"
                    | ".build.yml"
            )
    }
}

impl Tree {
    pub fn read(root: &Path) -> Result<Self> {
        let mut tree = Self {
            root: root.to_path_buf(),
            files: Vec::new(),
            bytes: 0,
            cut: Vec::new(),
            links: 0,
            by_path: HashMap::new(),
        };
        let mut kept = 0;
        tree.walk(root, "", &mut kept)?;
        tree.index();
        Ok(tree)
    }

    fn index(&mut self) {
        let paths = self.files.iter().enumerate().map(|(at, file)| (file.path.clone(), at));
        self.by_path = paths.collect();
    }

    /// A file by its exact path.
    pub fn exact(&self, path: &str) -> Option<&File> {
        self.by_path.get(path).and_then(|at| self.files.get(*at))
    }

    /// Bytes of source code, scripts and manifests that the project's own people wrote.
    pub fn code_bytes(&self) -> u64 {
        let code = |file: &&File| {
            let script = file.text().starts_with("#!") || file.name().ends_with("akefile");
            file.text.is_some() && !file.is_prose() && (script || has_rules(&file.ending()))
        };
        self.own().filter(code).map(|file| file.size).sum()
    }

    /// Whether there is enough code for its judgement to mean something.
    pub fn has_code(&self) -> bool {
        self.code_bytes() >= LITTLE_CODE
    }

    fn walk(&mut self, folder: &Path, prefix: &str, kept: &mut usize) -> Result<()> {
        let entries = std::fs::read_dir(folder).doing("read a folder of the clone")?;
        let mut entries: Vec<_> = entries.flatten().collect();
        // The order decides whose text is kept: it must be the same every time.
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if prefix.is_empty() && name == ".git" {
                continue;
            }
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            let Ok(metadata) = entry.path().symlink_metadata() else { continue };
            if metadata.is_dir() {
                self.walk(&entry.path(), &path, kept)?;
            } else if metadata.is_file() {
                self.add_file(&entry.path(), path, &metadata, kept)?;
            } else {
                self.links += 1;
            }
        }
        Ok(())
    }

    fn add_file(
        &mut self,
        place: &Path,
        path: String,
        metadata: &std::fs::Metadata,
        kept: &mut usize,
    ) -> Result<()> {
        let size = metadata.len();
        let most = if size > MAX_WHOLE_FILE { HEAD } else { MAX_WHOLE_FILE };
        let mut bytes = Vec::new();
        Handle::open(place)
            .and_then(|file| file.take(most).read_to_end(&mut bytes))
            .doing("read a file of the clone")?;
        let mut magic = [0; 8];
        for (to, from) in magic.iter_mut().zip(&bytes) {
            *to = *from;
        }
        let text = as_text(bytes, size > most);
        let fits = text.as_ref().is_none_or(|text| *kept + text.len() <= MAX_TEXT);
        let text = text.map(|text| if fits { text } else { String::new() });
        *kept += text.as_ref().map_or(0, String::len);
        if text.is_some() && (!fits || size > most) {
            self.cut.push(path.clone());
        }
        self.bytes += size;
        let executable = is_executable(metadata);
        self.files.push(File { path, size, executable, magic, text });
        Ok(())
    }

    /// A file by its path, whatever its case.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path.eq_ignore_ascii_case(path))
    }

    /// Files that people of this project wrote.
    pub fn own(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| !file.is_vendored())
    }

    /// Files of this name in any folder of the project's own.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a File> {
        self.own().filter(move |file| file.name() == name)
    }
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

/// Only Unix marks programs.
#[cfg(not(unix))]
fn is_executable(_metadata: &std::fs::Metadata) -> bool {
    false
}

/// The text of a file, or None for a binary one. A cut inside a character is repaired.
fn as_text(bytes: Vec<u8>, cut: bool) -> Option<String> {
    if bytes.contains(&0) {
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(whole);
            String::from_utf8(bytes).ok()
        }
        Err(error) => {
            // An older encoding is still text: few of its bytes are control characters.
            let bytes = error.into_bytes();
            let odd = bytes.iter().filter(|byte| **byte < 9 || (14..32).contains(*byte)).count();
            (odd * 100 <= bytes.len()).then(|| String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A tree of the test's own, in memory.
    pub fn tree(files: &[(&str, &str)]) -> Tree {
        let mut files: Vec<File> = files
            .iter()
            .map(|(path, text)| File {
                path: (*path).to_owned(),
                size: text.len() as u64,
                executable: false,
                magic: [0; 8],
                text: Some((*text).to_owned()),
            })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let bytes = files.iter().map(|file| file.size).sum();
        let (cut, by_path) = (Vec::new(), HashMap::new());
        let mut tree = Tree { root: PathBuf::new(), files, bytes, cut, links: 0, by_path };
        tree.index();
        tree
    }

    #[test]
    fn files_are_known_by_where_they_are() {
        let tree = tree(&[
            ("src/a.rs", ""),
            ("tests/it/b.rs", ""),
            ("vendor/x/c.js", ""),
            ("docs/d.md", ""),
            (".github/workflows/ci.yml", ""),
        ]);
        let seen = |test: fn(&File) -> bool| -> Vec<&str> {
            tree.files.iter().filter(|file| test(file)).map(|file| file.name()).collect()
        };
        assert_eq!(seen(File::is_test), ["b.rs"]);
        assert_eq!(seen(File::is_vendored), ["c.js"]);
        assert_eq!(seen(File::is_prose), ["d.md"]);
        assert_eq!(seen(File::is_workflow), ["ci.yml"]);
    }

    #[test]
    fn links_are_not_followed_and_binaries_have_no_text() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| {
            use std::io::Write;
            Handle::create(dir.path().join(name)).unwrap().write_all(bytes).unwrap();
        };
        put("a.txt", "вода".as_bytes());
        put("b.bin", b"\x7fELF\0\0\0\0");
        put("c.txt", b"caf\xe9 au lait, in Latin-1");
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let tree = Tree::read(dir.path()).unwrap();
        let names: Vec<&str> = tree.files.iter().map(File::name).collect();
        assert_eq!(names, ["a.txt", "b.bin", "c.txt"]);
        assert_eq!(tree.files[0].text(), "вода");
        assert!(tree.files[1].text.is_none() && tree.files[1].magic.starts_with(b"\x7fELF"));
        assert!(tree.files[2].text.is_some());
    }
}
