//! Places where people keep keys, tokens and passwords, and how code names them.

use crate::oss::code::{Disguise, Source};

/// A kind of secret by where it is kept.
pub struct CredentialKind {
    pub what: &'static str,
    /// Paths and calls, in lower case.
    words: &'static [&'static str],
    /// Only its owner's own tools read it. The others are read by many honest programs.
    pub grave: bool,
    /// Hosts that the secret is made for: sending it there is its purpose.
    pub homes: &'static [&'static str],
}

const fn kind(
    what: &'static str,
    words: &'static [&'static str],
    grave: bool,
    homes: &'static [&'static str],
) -> CredentialKind {
    CredentialKind { what, words, grave, homes }
}

pub const SSH_KEY: &str = "an SSH private key";
pub const ENVIRONMENT: &str = "the whole environment";

pub const KINDS: &[CredentialKind] = &[
    kind(SSH_KEY, &["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"], true, &[]),
    kind(
        "AWS credentials",
        &[".aws/credentials", ".aws\\credentials"],
        true,
        &["amazonaws.com", "aws.amazon.com"],
    ),
    kind(
        "Google Cloud credentials",
        &[
            "application_default_credentials.json",
            "gcloud/credentials.db",
            "gcloud/access_tokens.db",
        ],
        true,
        &["googleapis.com", "google.com"],
    ),
    kind(
        "Azure credentials",
        &[".azure/accesstokens.json", "msal_token_cache"],
        true,
        &["azure.com", "microsoftonline.com", "windows.net"],
    ),
    kind(
        "git credentials",
        &[".git-credentials", "gh/hosts.yml"],
        true,
        &["github.com", "gitlab.com"],
    ),
    kind("a GnuPG private key", &["private-keys-v1.d", "secring.gpg"], true, &[]),
    kind(
        "a browser's passwords or cookies",
        &[
            "cookies.sqlite",
            "logins.json",
            "key4.db",
            "google/chrome/user data",
            "google-chrome/default",
            "local storage/leveldb",
        ],
        true,
        &[],
    ),
    kind(
        "a wallet",
        &[
            "wallet.dat",
            "nkbihfbeogaeaoehlefnkodbefgpgknn",
            ".electrum/wallets",
            "exodus.wallet",
            "ethereum/keystore",
            "solana/id.json",
        ],
        true,
        &[],
    ),
    kind("password hashes", &["/etc/shadow"], true, &[]),
    kind("a Vault token", &[".vault-token"], true, &[]),
    kind(
        "a keychain",
        &[
            "find-generic-password",
            "find-internet-password",
            "dump-keychain",
            "login.keychain",
            "secret-tool lookup",
        ],
        false,
        &[],
    ),
    kind("passwords of .netrc", &[".netrc", "_netrc"], false, &[]),
    kind(
        "an npm token",
        &[".npmrc"],
        false,
        &["npmjs.org", "npmjs.com", "yarnpkg.com", "github.com"],
    ),
    kind("a PyPI token", &[".pypirc"], false, &["pypi.org", "pythonhosted.org"]),
    kind("a crates.io token", &[".cargo/credentials"], false, &["crates.io"]),
    kind(
        "a registry login",
        &[".docker/config.json"],
        false,
        &["docker.io", "docker.com", "ghcr.io", "quay.io"],
    ),
    kind("a cluster login", &[".kube/config"], false, &[]),
    kind("a shell history", &[".bash_history", ".zsh_history"], false, &[]),
    kind(
        ENVIRONMENT,
        &[
            "json.stringify(process.env)",
            "json.stringify({...process.env",
            "json.dumps(dict(os.environ",
            "json.dumps(os.environ",
            "str(os.environ)",
            "str(dict(os.environ",
            "urlencode(os.environ",
            "data=os.environ",
            "json=os.environ",
            "data=dict(os.environ",
            "json=dict(os.environ",
            "body: process.env",
            "data: process.env",
            "printenv |",
            "env | curl",
            "env | base64",
            "env|base64",
            "$(env)",
            "$(printenv)",
            "`env`",
            "`printenv`",
            "-d \"$(env",
            "json_encode($_env",
            "json_encode(getenv()",
            "env.to_h.to_json",
            "axios.post(process.env",
        ],
        false,
        &[],
    ),
];

/// Folders of secrets: naming one is harmless, listing it is not.
const FOLDERS: &[(&str, &str)] = &[
    (".ssh", SSH_KEY),
    (".gnupg", "a GnuPG private key"),
    (".aws", "AWS credentials"),
    (".password-store", "a password store"),
];

const LISTING: &[&str] = &[
    "readdir",
    "listdir",
    "scandir",
    "os.walk",
    "walkdir",
    "glob",
    "read_dir",
    "get-childitem",
    "tar ",
    "tar.",
    "zip ",
    "zip -",
    "make_archive",
    "scp ",
    "rsync ",
    "cp -r",
    "copytree",
    "iterdir",
    "filepath.walk",
];

const READING: &[&str] = &[
    "readfile",
    "createreadstream",
    "open(",
    "read_text",
    "read_bytes",
    "fs::read",
    "read_to_string",
    "file::open",
    "os.open",
    "cat ",
    "file_get_contents",
    "fopen",
    "file.read",
    "get-content",
    "copyfile",
    "copy(",
    "tar ",
    "zip ",
    "cp ",
    "--data-binary",
    "-d @",
    "=@",
    "-f ",
    "--upload-file",
    "-t ",
    "sqlite3",
    "include_str!",
    "include_bytes!",
    "readall",
    "slurp",
    "< ~",
    "<~",
    "stdin",
    "bun.file",
    "readtextfile",
    "ifstream",
    "read(",
];

/// Names of files beside the keys that hold no secret.
const PUBLIC: &[&str] = &[".pub", ".example", "_test", ".md"];

/// A secret that code names, and where.
#[derive(Debug, Clone)]
pub struct CredentialUse {
    pub what: &'static str,
    pub line: u32,
    pub grave: bool,
    pub homes: &'static [&'static str],
    /// How the name is hidden, when it is.
    pub disguise: Disguise,
}

/// The secrets that a source names and can read, the graver first.
pub fn named(source: &Source) -> Vec<CredentialUse> {
    let texts = source.texts.iter().map(|value| (value.line, value.text.as_str(), value.disguise));
    let lines = source.numbered().map(|(line, text)| (line, text, Disguise::Plain));
    let (mut lists, mut reads) = (false, false);
    for (_, text) in source.numbered() {
        let lower = text.to_lowercase();
        lists |= LISTING.iter().any(|word| lower.contains(word));
        reads |= READING.iter().any(|word| lower.contains(word));
    }
    let mut found: Vec<CredentialUse> = Vec::new();
    for (line, text, disguise) in lines.chain(texts) {
        let lower = text.to_lowercase().replace("\\\\", "/").replace('\\', "/");
        for kind in KINDS {
            if found.iter().any(|use_| use_.what == kind.what && !disguise.hides()) {
                continue;
            }
            let dump = kind.what == ENVIRONMENT;
            if (reads || lists || dump) && kind.words.iter().any(|word| names(&lower, word)) {
                found.push(CredentialUse {
                    what: kind.what,
                    line,
                    grave: kind.grave,
                    homes: kind.homes,
                    disguise,
                });
            }
        }
        // Chrome's files have everyday names: they count as parts of a path, in their own case.
        if reads
            && ["/Login Data", "\\Login Data", "\"Login Data\"", "'Login Data'"]
                .iter()
                .any(|word| text.contains(word))
        {
            found.push(CredentialUse {
                what: "a browser's passwords or cookies",
                line,
                grave: true,
                homes: &[],
                disguise,
            });
        }
        if lists
            && let Some((_, what)) = FOLDERS.iter().find(|(folder, _)| is_folder(&lower, folder))
        {
            found.push(CredentialUse { what, line, grave: true, homes: &[], disguise });
        }
    }
    found.sort_by_key(|use_| (!use_.grave, !use_.disguise.hides(), use_.line));
    found
}

/// Whether a word stands on its own: `id_rsa` is in `.ssh/id_rsa`, not in `valid_rsa` or `id_rsa.pub`.
fn names(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + word.len()..];
        let starts_word = word.starts_with(|c: char| c.is_alphanumeric());
        let joined = starts_word && before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let longer = word.ends_with(|c: char| c.is_alphanumeric())
            && after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        !joined && !longer && !PUBLIC.iter().any(|end| after.starts_with(end))
    })
}

/// Whether a text names the folder itself, not a file in it.
fn is_folder(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let after = text[at + folder.len()..].trim_start_matches('/');
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric())
            && (after.is_empty() || after.starts_with(['*', '"', '\'', '`', ' ', ')', ',', ';']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oss::code::Syntax;

    fn what(name: &str, code: &str) -> Vec<&'static str> {
        let source = Source::parse(code, Syntax::of(name, code));
        let mut found: Vec<_> = named(&source).iter().map(|use_| use_.what).collect();
        found.dedup();
        found
    }

    #[test]
    fn a_secret_is_named_whatever_the_writing() {
        for (name, code) in [
            ("a.js", "fs.readFileSync(home + '/.ssh/id_rsa')"),
            ("a.js", "fs.readFileSync(path.join(home, '.s' + 'sh', 'id_' + 'rsa'))"),
            ("a.py", "open(b64decode('LnNzaC9pZF9yc2E=').decode())"),
            ("a.py", "for f in os.listdir(home + '/.ssh'): pass"),
            ("a.sh", "tar c ~/.ssh | base64"),
            ("a.ps1", "Get-Content $HOME\\.ssh\\id_ed25519"),
        ] {
            assert_eq!(what(name, code), [SSH_KEY], "{code}");
        }
        assert_eq!(
            what("a.py", "shutil.copy(p + '/Default/Login Data', t)"),
            ["a browser's passwords or cookies"]
        );
    }

    #[test]
    fn what_only_looks_like_one_is_not() {
        for (name, code) in [
            ("a.js", "// reads ~/.ssh/id_rsa\nfs.readFileSync('x')"),
            ("a.py", "\"\"\"Reads ~/.ssh/id_rsa.\"\"\"\nopen('x')"),
            ("a.rs", "fs::read(home.join(\".ssh\").join(\"known_hosts\"))"),
            ("a.rs", "fs::read(home.join(\".ssh/id_rsa.pub\"))"),
            ("a.rs", "fs::read(valid_rsa)"),
            ("a.js", "open('x'); say('Could not load login data')"),
            ("a.py", "env = dict(os.environ)\nopen('x')"),
            ("a.rs", "println!(\"the key, for instance ~/.ssh/id_rsa\")"),
        ] {
            assert_eq!(what(name, code), [] as [&str; 0], "{code}");
        }
    }
}
