#!/usr/bin/env bash
# The MCP Inspector's command line: lists the tools and calls one, over stdio and HTTP, in both eras.
#
#   with_server.sh BINARY inspector.sh [TOOL [ARGUMENTS]]
set -euo pipefail

tool=${1:-search}
arguments=${2:-'{"query":"tea"}'}
inspector=$TOOLS/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js
# The Inspector keeps a catalogue in the home directory.
HOME=$(mktemp -d "${TMPDIR:-/tmp}/notewell-inspector.XXXXXX")
export HOME
trap 'rm -rf "$HOME"' EXIT

python3 - >"$HOME/servers.json" <<'PY'
import json, os
print(json.dumps({"mcpServers": {
    "stdio": {"type": "stdio", "command": os.environ["SERVER_BIN"], "args": json.loads(os.environ["SERVER_ARGS"])},
    "http": {
        "type": "streamable-http",
        "url": os.environ["SERVER_URL"] + "/_system/mcp",
        "headers": {"Authorization": "Bearer " + os.environ["SERVER_TOKEN"]},
    },
}}))
PY

failed=0
# check NAME EXPRESSION ARG...: the answer, as `answer`, must make the Python expression true.
check() {
    local name=$1 expression=$2 status=0
    shift 2
    timeout -k 10 60 "$NODE" "$inspector" --cli --config "$HOME/servers.json" --format json --stored-auth-only \
        "$@" >"$HOME/out" 2>"$HOME/err" </dev/null || status=$?
    if [ "$status" -eq 0 ] && TOOL=$tool EXPRESSION=$expression python3 - "$HOME/out" <<'PY'; then
import json, os, sys
answer = json.load(open(sys.argv[1]))
answer = answer.get("result", answer)
assert eval(os.environ["EXPRESSION"]), answer
PY
        echo "pass inspector $name"
    else
        echo "fail inspector $name (status $status)"
        head -c 2000 "$HOME/out"
        head -c 2000 "$HOME/err"
        failed=1
    fi
}

for server in stdio http; do
    for era in legacy auto; do
        at=(--server "$server" --protocol-era "$era")
        check "$server $era tools/list" 'any(t["name"] == os.environ["TOOL"] for t in answer["tools"])' \
            "${at[@]}" --method tools/list --strict
        check "$server $era tools/call" 'answer["content"] and not answer.get("isError")' \
            "${at[@]}" --method tools/call --tool-name "$tool" --tool-args-json "$arguments"
    done
done
exit "$failed"
