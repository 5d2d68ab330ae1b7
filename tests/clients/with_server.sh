#!/usr/bin/env bash
# Runs a command beside a Notewell server that has a throwaway data directory and a free port.
#
#   with_server.sh [--anonymous-owner] [--skills] BINARY COMMAND [ARG...]
#
# With --skills the vault has the skills of tests/clients/skills.
#
# The command sees SERVER_BIN, SERVER_ARGS (JSON: the arguments of `notewell mcp` on the same data),
# SERVER_URL and SERVER_TOKEN. A server that dies meanwhile, or does not end when asked, is a failure.
set -euo pipefail

anonymous=()
if [ "${1:-}" = --anonymous-owner ]; then
    anonymous=(NOTEWELL_ANONYMOUS=owner)
    shift
fi
skills=
if [ "${1:-}" = --skills ]; then
    skills=yes
    shift
fi
SERVER_BIN=$(realpath "$1")
shift

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/notewell-test.XXXXXX")
server=
finish() {
    local status=$?
    if [ -n "$server" ] && kill -0 "$server" 2>/dev/null; then
        kill -KILL "$server" 2>/dev/null || true
    fi
    if [ "$status" -ne 0 ] && [ -s "$dir/stderr" ]; then
        echo "--- the server's last words"
        tail -n 30 "$dir/stderr"
    fi
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# An empty config file, so that the one of whoever runs the tests plays no part.
: >"$dir/notewell.toml"
mkdir "$dir/data"
common=(--config "$dir/notewell.toml" --data "$dir/data")
vault=()
if [ -d "$root/examples/vault" ]; then
    # A copy: the clients edit its notes.
    cp -r "$root/examples/vault" "$dir/vault"
    vault=(--vault "$dir/vault")
    [ -z "$skills" ] || cp -r "$root/tests/clients/skills" "$dir/vault/skills"
fi

SERVER_TOKEN=$("$SERVER_BIN" token create --scope owner "${common[@]}" | awk 'NF { word = $NF } END { print word }')
if [ -z "$SERVER_TOKEN" ]; then
    echo "fail server: \`token create\` printed no token"
    exit 1
fi

: >"$dir/stdout"
env "${anonymous[@]}" "$SERVER_BIN" serve --listen 127.0.0.1:0 "${common[@]}" "${vault[@]}" \
    >"$dir/stdout" 2>"$dir/stderr" </dev/null &
server=$!
address=
for _ in $(seq 300); do
    address=$(sed -n 's|.*listening on \(http://127\.0\.0\.1:[0-9]*\).*|\1|p' "$dir/stdout" | head -n 1)
    if [ -n "$address" ] || ! kill -0 "$server" 2>/dev/null; then
        break
    fi
    sleep 0.1
done
if [ -z "$address" ]; then
    echo "fail server: it printed no address within 30 s"
    cat "$dir/stdout"
    exit 1
fi

SERVER_URL=$address
SERVER_ARGS=$(printf '%s\0' mcp "${common[@]}" "${vault[@]}" |
    python3 -c 'import json, sys; print(json.dumps(sys.stdin.read().split("\0")[:-1]))')
export SERVER_BIN SERVER_ARGS SERVER_URL SERVER_TOKEN

status=0
"$@" || status=$?

if ! kill -0 "$server" 2>/dev/null; then
    echo "fail server: it died while the checks ran"
    exit 1
fi
kill -TERM "$server"
for _ in $(seq 150); do
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
if kill -0 "$server" 2>/dev/null; then
    echo "fail server: it did not end within 15 s of SIGTERM"
    exit 1
fi
ended=0
wait "$server" || ended=$?
if [ "$ended" -ne 0 ] && [ "$ended" -ne 143 ]; then
    echo "fail server: it ended with status $ended"
    exit 1
fi
exit "$status"
