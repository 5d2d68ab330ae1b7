#!/usr/bin/env bash
# Installs the servers of two peers below TOOLS/peers: markdown-vault-mcp, and basic-memory, which wants
# Python 3.12 or newer. Where there is none, basic-memory is left out and peers.py says so.
set -euo pipefail

VAULT=5.1.0
MEMORY=0.23.2
peers=$TOOLS/peers

newer_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

python=$(newer_python)
stamp=$VAULT-$MEMORY-$python-$(sha256sum <"$0" | cut -d' ' -f1)
[ "$(cat "$peers/stamp" 2>/dev/null)" = "$stamp" ] && exit
rm -rf "$peers"
mkdir -p "$peers"

# uv resolves and unpacks in a fraction of pip's time.
python3 -m venv "$peers/vault"
"$peers/vault/bin/pip" install --quiet --disable-pip-version-check uv
install() {
    "$peers/vault/bin/uv" pip install --quiet --python "$peers/$1/bin/python" "$2"
}
install vault "markdown-vault-mcp==$VAULT"
if [ -n "$python" ]; then
    "$python" -m venv --without-pip "$peers/memory"
    install memory "basic-memory==$MEMORY"
fi
echo "$stamp" >"$peers/stamp"
