//! What a line of shell does: a download that is run at once, and the words of malware.

/// A download that goes straight into an interpreter.
pub fn is_piped_download(line: &str) -> bool {
    let line = line.to_lowercase();
    let fetches = ["curl ", "wget ", "fetch ", "iwr ", "invoke-webrequest", "irm "];
    let Some(at) = fetches.iter().filter_map(|word| line.find(word)).min() else { return false };
    let before = &line[..at];
    let after = &line[at..];
    let piped = after.split('|').skip(1).any(|part| {
        let mut words = part
            .split_whitespace()
            .filter(|word| !matches!(*word, "sudo" | "-e" | "-h" | "env") && !word.contains('='));
        let first = words.next().unwrap_or_default().trim_matches(['"', '\'', '`', ')', ';']);
        let first = first.rsplit('/').next().unwrap_or(first);
        matches!(
            first,
            "sh" | "bash"
                | "zsh"
                | "dash"
                | "ksh"
                | "python"
                | "python3"
                | "node"
                | "perl"
                | "ruby"
                | "iex"
        )
    });
    let inside = ["$(", "<(", "`"].iter().any(|open| before.trim_end().ends_with(open));
    let runs = ["sh -c", "bash -c", "eval ", "bash <(", "sh <(", "source <(", ". <(", "iex "];
    piped || (inside && runs.iter().any(|word| before.contains(word) || before.ends_with(word)))
}

/// What a script is seen to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signs {
    /// Nothing honest looks like this.
    pub strong: Option<(u32, &'static str)>,
    pub network: Option<u32>,
    pub credentials: Option<u32>,
    pub executes: Option<u32>,
}

const STRONG: &[(&str, &str)] = &[
    ("/dev/tcp/", "opens a connection from the shell"),
    ("nc -e", "hands a shell to somebody else"),
    ("ncat -e", "hands a shell to somebody else"),
    ("bash -i >", "hands a shell to somebody else"),
    ("powershell -e", "runs an encoded command"),
    ("powershell.exe -e", "runs an encoded command"),
    ("eval(atob(", "runs a decoded string"),
    ("eval(buffer.from(", "runs a decoded string"),
    ("exec(base64", "runs a decoded string"),
    ("exec(__import__", "runs a decoded string"),
    ("exec(zlib", "runs a decoded string"),
    ("base64 -d | sh", "runs a decoded string"),
    ("base64 -d | bash", "runs a decoded string"),
    ("base64 --decode | sh", "runs a decoded string"),
    ("base64 --decode | bash", "runs a decoded string"),
    ("discord.com/api/webhooks", "sends to a chat"),
    ("discordapp.com/api/webhooks", "sends to a chat"),
    ("api.telegram.org/bot", "sends to a chat"),
    ("authorized_keys", "touches who may log in"),
    ("crontab -", "makes itself start again"),
    (">> ~/.bashrc", "makes itself start again"),
    (">> ~/.profile", "makes itself start again"),
    (">> $home/.bashrc", "makes itself start again"),
];

const NETWORK: &[&str] = &[
    "curl ",
    "wget ",
    "http://",
    "https://",
    "fetch(",
    "http.get",
    "https.get",
    "http.request",
    "https.request",
    "urllib",
    "requests.",
    "socket.",
    "net.connect",
    "tcpstream",
    "reqwest",
    "ureq",
    "axios",
    "xmlhttprequest",
    "dns.lookup",
    "dns.resolve",
    "nslookup",
];

const CREDENTIALS: &[&str] = &[
    "/.ssh",
    ".ssh/",
    "id_rsa",
    "id_ed25519",
    "/.aws",
    ".aws/",
    ".npmrc",
    ".netrc",
    ".gnupg",
    ".pypirc",
    ".docker/config",
    ".kube/config",
    ".git-credentials",
    "login data",
    "cookies.sqlite",
    "wallet.dat",
    "json.stringify(process.env",
    "dict(os.environ",
    "printenv",
    "/etc/passwd",
    "/etc/shadow",
    "keychain",
];

const EXECUTES: &[&str] = &[
    "child_process",
    "execsync",
    "spawnsync",
    "exec(",
    "spawn(",
    "os.system",
    "subprocess",
    "command::new",
    "eval(",
    "| sh",
    "| bash",
    "chmod +x",
];

/// Lines of comments say nothing of what runs.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//")
        || line.starts_with('#')
        || line.starts_with('*')
        || line.starts_with("/*")
}

pub fn signs(text: &str) -> Signs {
    let mut signs = Signs::default();
    for (number, line) in (1..).zip(text.lines()) {
        if is_comment(line) && !line.starts_with("#!") {
            continue;
        }
        let line = line.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if signs.strong.is_none() {
            let found = STRONG.iter().find(|(word, _)| line.contains(word));
            signs.strong = match found {
                Some((_, what)) => Some((number, what)),
                None if is_piped_download(&line) => Some((number, "runs what it downloads")),
                None => None,
            };
        }
        for (sign, words) in [
            (&mut signs.network, NETWORK),
            (&mut signs.credentials, CREDENTIALS),
            (&mut signs.executes, EXECUTES),
        ] {
            if sign.is_none() && has(words) {
                *sign = Some(number);
            }
        }
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_that_run() {
        for line in [
            "curl https://x.example/i.sh | sh",
            "curl -fsSL https://x.example | sudo -E bash -",
            "wget -qO- https://x.example|bash",
            "bash -c \"$(curl -fsSL https://x.example)\"",
            "sh -c \"$(wget https://x.example -O -)\"",
            "bash <(curl -s https://x.example)",
            "RUN curl https://x.example | tee log | FOO=1 /bin/sh",
            "curl https://x.example | python3 -",
            "iwr https://x.example | iex",
        ] {
            assert!(is_piped_download(line), "{line}");
        }
        for line in [
            "curl https://x.example -o file && sha256sum -c sums",
            "curl https://x.example | tar xz",
            "curl https://x.example | grep bash",
            "VERSION=$(curl -s https://x.example/version)",
            "echo hello | sh",
            "git fetch origin | cat",
        ] {
            assert!(!is_piped_download(line), "{line}");
        }
    }

    #[test]
    fn signs_name_their_line() {
        let found = signs(
            "// fine\nconst c = require('child_process');\nhttps.get('https://x');\nread('/.ssh/id_rsa');\n",
        );
        assert_eq!((found.network, found.credentials, found.executes), (Some(3), Some(4), Some(2)));
        assert_eq!(found.strong, None);
        assert_eq!(signs("x\neval(atob('YQ=='))").strong.map(|(line, _)| line), Some(2));
        assert_eq!(signs("# curl https://x | sh\n"), Signs::default());
    }
}
