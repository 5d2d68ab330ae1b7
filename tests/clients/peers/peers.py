"""Searches the real servers of two peers beside a Notewell: `peers.py`.

SERVER_BIN is the binary, TOOLS/peers what `install.sh` made. Each check prints `pass` or `fail`.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

BINARY = os.environ["SERVER_BIN"]
PEERS = Path(os.environ["TOOLS"]) / "peers"
NOTES = {
    "Roses": ("roses", "Prune roses in early spring, before the frost ends."),
    "Розы": ("розы", "Обрезать розы весной, пока не сошёл снег."),
    "薔薇": ("薔薇", "薔薇 は 三月 に 剪定 する 。"),
}
failed = 0


def check(name, holds, seen=""):
    global failed
    failed += not holds
    print(f"{'pass' if holds else 'fail'} peers: {name}" + ("" if holds else f": {seen}"), flush=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port, process, seconds=90):
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.2)
    return False


def notes(folder, frontmatter):
    folder.mkdir(parents=True)
    for title, (_, text) in NOTES.items():
        head = f"---\ntitle: {title}\ntype: note\n---\n" if frontmatter else ""
        (folder / f"{title}.md").write_text(f"{head}# {title}\n\n{text}\n", encoding="utf-8")


class Server:
    """A Notewell whose other bases the peers are."""

    def __init__(self, home, remotes):
        config = home / "notewell.toml"
        config.write_text(remotes, encoding="utf-8")
        (home / "vault").mkdir()
        (home / "vault" / "Own.md").write_text("# Own\n\nroses, розы, 薔薇\n", encoding="utf-8")
        self.common = ["--config", str(config), "--data", str(home / "data"), "--vault", str(home / "vault")]
        made = self.run("token", "create", "--scope", "owner")
        self.token = made.stdout.split()[-1]
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", *self.common]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "listening on " in line:
                self.url = line.split("listening on ")[1].strip() + "/_system/mcp"
                break

    def run(self, *arguments):
        return subprocess.run([BINARY, *arguments, *self.common], capture_output=True, text=True, timeout=120)

    def call(self, tool, arguments):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def found(self, query, name):
        """The results of one base; its first answer may be late."""
        answer = None
        for _ in range(60):
            answer = self.call("search", {"query": query, "limit": 10})
            hits = answer["result"]["structuredContent"].get("elsewhere", [])
            hits = [hit for hit in hits if hit["from"] == name]
            if hits:
                return hits, answer
            time.sleep(0.5)
        return [], answer


def main():
    home = Path(tempfile.mkdtemp(prefix="notewell-peers-"))
    notes(home / "vault-notes", False)
    notes(home / "memory-notes", True)
    ports = {"vault": free_port()}
    if (PEERS / "memory").exists():
        ports["memory"] = free_port()
    else:
        print("skip basic-memory: there is no Python 3.12 or newer")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "HOME": str(home)}
    processes = {
        "vault": subprocess.Popen(
            [PEERS / "vault/bin/markdown-vault-mcp", "serve", "--transport", "http", "--port", str(ports["vault"])],
            env={**environment, "MARKDOWN_VAULT_MCP_SOURCE_DIR": str(home / "vault-notes"), "MARKDOWN_VAULT_MCP_READ_ONLY": "true"},
            **quiet,
        ),
    }
    if "memory" in ports:
        processes["memory"] = subprocess.Popen(
            [PEERS / "memory/bin/basic-memory", "mcp", "--transport", "streamable-http", "--host", "127.0.0.1",
             "--port", str(ports["memory"]), "--path", "/mcp"],
            env={**environment, "BASIC_MEMORY_HOME": str(home / "memory-notes"), "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"},
            **quiet,
        )
    server = None
    try:
        for name, process in processes.items():
            check(f"{name} listens", wait_for(ports[name], process))
        remotes = "".join(f'[[remote]]\nname = "{name}"\nurl = "http://127.0.0.1:{port}/mcp"\n' for name, port in ports.items())
        server = Server(home, remotes + "[remotes]\nlimit_ms = 5000\ncache_seconds = 1\n")
        checked = server.run("remote", "check")
        check("remote check", checked.returncode == 0, checked.stdout + checked.stderr)
        print(checked.stdout)
        for title, (query, text) in NOTES.items():
            for name in ports:
                hits, answer = server.found(query, name)
                hit = next((hit for hit in hits if hit["title"] == title), None)
                check(f"{name} finds {title}", hit is not None, json.dumps(answer, ensure_ascii=False))
                if hit is None:
                    continue
                read = server.call("note_html", {"match_id": hit["match_id"], "format": "markdown"})
                content = read.get("result", {}).get("structuredContent", {})
                check(f"{name} reads {title}", text in content.get("content", "") and content.get("from") == name, read)
                own = answer["result"]["structuredContent"]["results"][0]["title"]
                check(f"{name} leaves our own results first for {query}", own == "Own", own)
        # Without one of them the other still answers, and the answer says who is missing.
        processes["vault"].kill()
        processes["vault"].wait()
        answer = server.call("search", {"query": "frost spring"})
        check("a peer that ended is named", "`vault`" in json.dumps(answer, ensure_ascii=False), answer)
    finally:
        for process in [*processes.values(), *([server.process] if server else [])]:
            process.kill()
            process.wait()
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(failed > 0)


main()
