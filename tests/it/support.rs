//! Starting the program and talking to it as clients do.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// How long anything may take before a test gives up on it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program, free of the settings of whoever runs the tests.
pub fn notewell() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_notewell"));
    for (name, _) in std::env::vars() {
        if name.starts_with("NOTEWELL_") {
            command.env_remove(name);
        }
    }
    command.env("NOTEWELL_EMBED_PROVIDER", "none");
    command
}

/// The server that the tests run over, `None` where they run over SQLite. `./test postgres` and
/// `scripts/with-postgres` set it.
fn server() -> Option<String> {
    std::env::var("NOTEWELL_TEST_POSTGRES").ok().filter(|address| !address.is_empty())
}

/// Whether the tests run over a server, where each call takes some round trips longer.
pub fn over_server() -> bool {
    server().is_some()
}

/// The address of the library that belongs to a data directory, where the tests run over a server.
pub fn store_url(data: &Path) -> Option<String> {
    let server = server()?;
    let hash = <sha2::Sha256 as sha2::Digest>::digest(data.as_os_str().as_encoded_bytes());
    let name: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let and = if server.contains('?') { '&' } else { '?' };
    Some(format!("{server}{and}library=test-{name}"))
}

/// Where the durable state of a data directory's library is.
pub fn store(data: &Path) -> notewell::store::StoreUrl {
    match store_url(data) {
        Some(url) => notewell::store::StoreUrl::parse(&url).unwrap(),
        None => notewell::store::StoreUrl::from(data),
    }
}

/// The settings of a library whose data directory is `data`.
pub fn config(data: &Path) -> notewell::config::Config {
    let store = notewell::config::Store {
        url: store_url(data).unwrap_or_default(),
        ..notewell::config::Store::default()
    };
    notewell::config::Config { data: data.to_path_buf(), store, ..Default::default() }
}

/// Runs one statement on a library's database: the first column of its rows, as text.
pub fn sql(data: &Path, statement: &str) -> Vec<String> {
    if let Some(url) = store_url(data) {
        let (server, library) = url.split_once("library=").unwrap();
        let library = format!(
            "SELECT set_config('nw.lib', id::text, false) FROM libraries WHERE name = '{library}'"
        );
        let mut psql = Command::new("psql");
        psql.arg(server.trim_end_matches(['&', '?'])).args(["-qAt", "-v", "ON_ERROR_STOP=1"]);
        psql.args(["-c", &library, "-c", "SET ROLE notewell_library", "-c", statement]);
        let output = psql.output().expect("`psql`");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        return printed.lines().skip(1).map(str::to_owned).collect();
    }
    let database = rusqlite::Connection::open(data.join("notewell.db")).unwrap();
    database.busy_timeout(Duration::from_secs(10)).unwrap();
    let mut statement = database.prepare(statement).unwrap();
    if statement.column_count() == 0 {
        statement.execute([]).unwrap();
        return Vec::new();
    }
    let text = |row: &rusqlite::Row<'_>| {
        Ok(match row.get::<_, rusqlite::types::Value>(0)? {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => panic!("{other:?} is neither a number nor a text"),
        })
    };
    statement.query_map([], text).unwrap().map(Result::unwrap).collect()
}

/// Whether a test ends here because it is about the files of SQLite, and the tests run over a
/// server. The reason is printed.
pub fn only_sqlite(reason: &str) -> bool {
    let skipped = server().is_some();
    if skipped {
        println!("only over SQLite: {reason}");
    }
    skipped
}

/// The folder of settings in a home.
pub const SETTINGS: &str =
    if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
/// The folder of data in a home.
pub const DATA: &str =
    if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };

/// A data directory and a vault, gone with the last one that uses them.
pub struct Home {
    pub dir: Arc<tempfile::TempDir>,
}

impl Home {
    pub fn new() -> Self {
        let home = Self { dir: Arc::new(tempfile::tempdir().unwrap()) };
        std::fs::create_dir(home.vault()).unwrap();
        home
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn vault(&self) -> PathBuf {
        self.dir.path().join("vault")
    }

    /// Writes a note of the vault.
    pub fn note(&self, path: &str, text: &str) -> &Self {
        let file = self.vault().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        put(&file, text);
        self
    }

    /// Makes every note so far equally old: which of two is the newest is then no matter of the
    /// clock.
    pub fn settle(&self) -> &Self {
        let mut folders = vec![self.vault()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let file = std::fs::File::options().write(true).open(path).unwrap();
                file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_750_000_000))
                    .unwrap();
            }
        }
        self
    }

    /// The program on this home's data and vault.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = notewell();
        command.args(arguments).arg("--data").arg(self.data());
        command.arg("--vault").arg(self.vault());
        if let Some(url) = store_url(&self.data()) {
            command.env("NOTEWELL_STORE_URL", url);
            // Prompts that a test made as files: a server's library takes them from the configured folder.
            if self.data().join("prompts").is_dir() {
                command.env("NOTEWELL_PROMPTS_DIRECTORY", self.data().join("prompts"));
            }
        }
        // Nobody's config file.
        command.env("XDG_CONFIG_HOME", self.dir.path().join("config"));
        command.env("HOME", self.dir.path());
        command
    }

    /// Runs a command to its end: status, stdout, stderr.
    pub fn run(&self, arguments: &[&str]) -> (bool, String, String) {
        let output = self.command(arguments).stdin(Stdio::null()).output().unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// Runs a command to its end on a terminal of its own: exit status, and everything it wrote.
    #[cfg(target_os = "linux")]
    pub fn on_terminal(&self, arguments: &[&str], environment: &[(&str, &str)]) -> (i32, String) {
        let inner = self.command(arguments);
        let quote =
            |word: &std::ffi::OsStr| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"));
        let line: Vec<String> =
            std::iter::once(inner.get_program()).chain(inner.get_args()).map(quote).collect();
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &line.join(" "), "/dev/null"]);
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => terminal.env(name, value),
                None => terminal.env_remove(name),
            };
        }
        terminal.env_remove("NO_COLOR").env("TERM", "xterm").envs(environment.iter().copied());
        let output = terminal.stdin(Stdio::null()).output().expect("`script`");
        let out = String::from_utf8(output.stdout).unwrap();
        // A slow machine shows a bar, which clears its line in the end.
        let out = out.rsplit_once("\r\x1b[2K").map_or(out.as_str(), |(_, after)| after).to_owned();
        (output.status.code().unwrap(), out)
    }

    /// Runs a command that must succeed, and gives what it printed.
    pub fn say(&self, arguments: &[&str]) -> String {
        let (ok, out, err) = self.run(arguments);
        assert!(ok, "{arguments:?} failed: {err}");
        out
    }

    pub fn stdio(&self) -> Client {
        let mut client = Client::start(self.command(&["mcp"]));
        client.home = Some(self.dir.clone());
        client
    }

    pub fn serve(&self) -> Server {
        Server::start(self.command(&["serve", "--listen", "127.0.0.1:0"]))
    }

    pub fn token(&self, scope: &str) -> String {
        let out = self.say(&["token", "create", "--scope", scope, "--name", "test"]);
        out.split_whitespace().last().unwrap().to_owned()
    }
}

/// An account that has never run Notewell: a home, and nothing else.
pub struct Account(tempfile::TempDir);

impl Account {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = notewell();
        command.args(arguments).env("HOME", self.path()).current_dir(self.path());
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
        if let Some(url) = store_url(self.path()) {
            command.env("NOTEWELL_STORE_URL", url);
        }
        let output = command.stdin(Stdio::null()).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    pub fn note(&self, path: &str, text: &str) {
        let file = self.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        put(&file, text);
    }
}

#[allow(clippy::disallowed_methods, reason = "a test's own file")]
pub fn put(file: &Path, text: impl AsRef<[u8]>) {
    std::fs::write(file, text).unwrap();
}

/// The real data beside the repository, where it is.
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    if found.exists() {
        return Some(found);
    }
    eprintln!("skipped: ../shared/{path} is not here");
    None
}

/// A client on the program's stdin and stdout.
pub struct Client {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next: i64,
    /// Notifications that came while an answer was awaited.
    pub notices: Vec<Value>,
    /// `Home::new().stdio()` must not take the folders away from under the program.
    home: Option<Arc<tempfile::TempDir>>,
}

impl Client {
    pub fn start(mut command: Command) -> Self {
        command.stderr(Stdio::inherit());
        Self::start_logging(command)
    }

    /// Starts a program whose stderr goes where the command says.
    pub fn start_logging(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, next: 0, notices: Vec::new(), home: None }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("an answer in time")
    }

    pub fn read(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("not JSON ({error}): {line}"))
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(format!("{request}\n").as_bytes());
        loop {
            let message = self.read();
            if message.get("id") == Some(&json!(id)) {
                return message;
            }
            self.notices.push(message);
        }
    }

    /// Sends a request to a program that may die meanwhile; `None` without an answer.
    #[allow(dead_code, reason = "the other test binary uses it")]
    pub fn try_ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.next += 1;
        let id = self.next;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let stdin = self.stdin.as_mut()?;
        stdin.write_all(format!("{request}\n").as_bytes()).and_then(|()| stdin.flush()).ok()?;
        let end = Instant::now() + PATIENCE;
        loop {
            let line = match self.lines.recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("{method}: no answer in time"),
            };
            // Half a line is no answer.
            let message: Value = serde_json::from_str(&line).ok()?;
            if message.get("id") == Some(&json!(id)) {
                return Some(message);
            }
        }
    }

    pub fn initialize(&mut self) -> Value {
        let answer = self.ask(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } }),
        );
        self.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        answer
    }

    /// Calls a tool that must succeed; gives its whole result.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer.get("result").is_some(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must be refused; gives the error.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer.get("error").is_some(), "{tool} was not refused: {answer}");
        answer["error"].clone()
    }

    /// Closes stdin, and waits for the end.
    pub fn finish(mut self) -> (Vec<String>, bool) {
        self.stdin = None;
        let mut rest = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            rest.push(line);
        }
        (rest, self.child.wait().unwrap().success())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running HTTP server.
pub struct Server {
    pub child: Child,
    pub address: String,
}

pub struct Answer {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.body))
    }
}

impl Server {
    pub fn start(mut command: Command) -> Self {
        command.stderr(Stdio::inherit());
        Self::start_logging(command)
    }

    /// Starts a server whose stderr goes where the command says.
    pub fn start_logging(command: Command) -> Self {
        Self::try_start(command).expect("the server says where it listens")
    }

    /// Starts a server that may die meanwhile; `None` when it ends before it listens.
    pub fn try_start(mut command: Command) -> Option<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut address = None;
        let mut line = String::new();
        while address.is_none() && stdout.read_line(&mut line).unwrap() > 0 {
            address =
                line.trim().strip_prefix("notewell is listening on http://").map(str::to_owned);
            line.clear();
        }
        if address.is_none() {
            let _ = child.wait();
        }
        address.map(|address| Self { child, address })
    }

    /// Sends a request with these very headers and bytes.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.open(method, path, headers, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        parse(&bytes)
    }

    /// Sends a request to a server that may die meanwhile; `None` without a whole JSON answer.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<Value> {
        serde_json::from_str(&self.try_answer(method, path, headers, body)?.body).ok()
    }

    /// Sends a request to a server that may die meanwhile; `None` without a whole answer.
    pub fn try_answer(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<Answer> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body).ok()?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok()?;
        Some(parse(&bytes)).filter(|answer| answer.status > 0)
    }

    /// Sends a request and leaves the stream open, for what comes piece by piece.
    pub fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses by the length alone may close before the body is read.
        let _ = stream.write_all(body);
        stream
    }

    /// What `curl -d` sends: no JSON content type, any Accept, no handshake.
    pub fn post(&self, body: &str) -> Answer {
        let headers = [("Accept", "*/*"), ("Content-Type", "application/x-www-form-urlencoded")];
        self.send("POST", "/_system/mcp", &headers, body.as_bytes())
    }

    pub fn post_as(&self, token: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str())];
        self.send("POST", "/_system/mcp", &headers, body.as_bytes())
    }

    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, b"")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or("0");
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let chunked = headers.get("transfer-encoding").is_some_and(|value| value == "chunked");
    let body = if chunked { unchunk(body) } else { body.to_owned() };
    Answer { status: status.parse().unwrap_or(0), headers, body }
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else { break };
        if size == 0 || size > rest.len() {
            break;
        }
        whole += &rest[..size];
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what} did not happen in time");
        std::thread::sleep(Duration::from_millis(20));
    }
}
