#!/usr/bin/env bash
# WebDAV by its own tools: litmus, and rclone up and down with a vault of real size.
#
#   tests/clients/dav.sh BINARY [VAULT]
#
# VAULT is a folder or a .tar.gz of notes; without one a small folder is made.
set -euo pipefail
binary=$(realpath "$1")
vault=${2:-}
work=$(mktemp -d)
server=
end() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT

export HOME=$work XDG_CONFIG_HOME=$work/config NOTEWELL_DATA=$work/data NOTEWELL_EMBED_PROVIDER=none
"$binary" vault create litmus >/dev/null
"$binary" vault create 'Команда 日本' >/dev/null
token=$("$binary" token create --scope owner --name dav | awk '{ print $NF }')
"$binary" serve --listen 127.0.0.1:0 >"$work/out" 2>"$work/err" &
server=$!
for _ in $(seq 100); do
    grep -q 'listening on' "$work/out" && break
    sleep 0.1
done
base=$(sed -n 's/^notewell is listening on //p' "$work/out")

cd "$work"
for suite in basic copymove props locks http; do
    if TESTS=$suite litmus -k "$base/_system/dav/litmus/" owner "$token" >"$work/$suite.log" 2>&1 &&
        ! grep -q FAIL "$work/$suite.log"; then
        echo "pass litmus $suite: $(grep 'summary for' "$work/$suite.log" | sed 's/.*: //')"
    else
        cat "$work/$suite.log"
        echo "fail litmus $suite"
    fi
done

up=$work/up
mkdir "$up"
case $vault in
*.tar.gz) tar -xzf "$vault" -C "$up" ;;
?*) cp -a "$vault/." "$up" ;;
*)
    mkdir -p "$up/кофе" "$up/珈琲/焙煎" "$up/.obsidian"
    for number in $(seq 60); do
        printf '# Note %s\r\n\r\nText %s.\n' "$number" "$number" >"$up/note $number.md"
    done
    printf '# Обжарка\n' >"$up/кофе/Обжарка [1].md"
    printf '# 焙煎\n' >"$up/珈琲/焙煎/豆#2.md"
    printf '{}' >"$up/.obsidian/app.json"
    head -c 3000000 /dev/urandom >"$up/кофе/pic.png"
    : >"$up/empty.txt"
    ;;
esac
find "$up" -type l -delete
address="$base/_system/dav/$(python3 -c 'import sys, urllib.parse; print(urllib.parse.quote(sys.argv[1]))' 'Команда 日本')/"
remote=(--webdav-url "$address" --webdav-vendor other --webdav-user owner
    --webdav-pass "$(rclone obscure "$token")" --config "$work/none")
begun=$SECONDS
rclone sync "$up" :webdav: "${remote[@]}" --transfers 8 -q
files=$(find "$up" -type f | wc -l)
echo "pass rclone up: $files files in $((SECONDS - begun)) s"
begun=$SECONDS
rclone sync :webdav: "$work/down" "${remote[@]}" --transfers 8 -q
if diff -r <(cd "$up" && find . -type f -exec sha256sum {} + | sort) \
    <(cd "$work/down" && find . -type f -exec sha256sum {} + | sort) >"$work/diff"; then
    echo "pass rclone down: the same bytes, in $((SECONDS - begun)) s"
else
    head -20 "$work/diff"
    echo "fail rclone down: other bytes"
fi
# What is deleted here goes there, and nothing comes back with the next sync.
first=$(find "$up" -name '*.md' | sort | sed -n 1p)
rm "$first"
rclone sync "$up" :webdav: "${remote[@]}" -q
rclone sync :webdav: "$work/down" "${remote[@]}" -q
if [ "$(find "$up" -type f | wc -l)" = "$(find "$work/down" -type f | wc -l)" ]; then
    echo "pass rclone delete"
else
    echo "fail rclone delete"
fi
"$binary" vault rescan | grep -q 'Команда 日本: 0 new, 0 changed, 0 gone' && echo "pass rescan" || echo "fail rescan"
