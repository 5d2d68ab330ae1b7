#!/bin/sh
# Installs Notewell for this account, or removes it again. `sh install.sh --help` has the options.
# Runs with dash, busybox, bash and zsh; downloads with curl or wget.
set -eu
# The shell reads to the last brace before it runs anything: a download that was cut off does nothing.
{
# zsh would stop at a pattern that no file fits.
[ -z "${ZSH_VERSION:-}" ] || emulate sh

repository=${NOTEWELL_REPOSITORY:-https://code.example.org/notewell/notewell}
prefix=
from=
version=
uninstall=

say() {
    printf '%s\n' "$*"
}

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

# Not read from the file of the script, which is a pipe in `curl … | sh`.
usage() {
    cat <<'USAGE'
Installs Notewell for this account, or removes it again. Needs no root.

  sh install.sh                      the newest release, into ~/.local
  sh install.sh --from DIR           out of a folder with the files of a release
  sh install.sh --version 0.2.0      another release than the newest
  sh install.sh --prefix DIR         into DIR/bin and DIR/share instead of ~/.local
  sh install.sh --uninstall          removes what was installed; notes, data and config stay

The file is compared with its SHA-256 sum before anything is unpacked. What is installed is
complete or not there: on an error the program of before stays. NOTEWELL_REPOSITORY names another
place for releases.
USAGE
}

while [ $# -gt 0 ]; do
    case $1 in
    --from | --version | --prefix)
        if [ $# -lt 2 ] || [ -z "$2" ]; then
            fail "\`$1\` needs a value"
        fi
        case $1 in
        --from) from=$2 ;;
        --version) version=${2#v} ;;
        --prefix) prefix=$2 ;;
        esac
        shift
        ;;
    --uninstall) uninstall=yes ;;
    -h | --help)
        usage
        exit
        ;;
    *) fail "there is no option \`$1\`; \`sh install.sh --help\` lists them" ;;
    esac
    shift
done

if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || fail "\`HOME\` is not set; name a folder with \`--prefix DIR\`"
    prefix=$HOME/.local
fi
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
while [ "$prefix" != "${prefix%/}" ]; do
    prefix=${prefix%/}
done
program=$prefix/bin/notewell
# One path a line, relative to the prefix: what --uninstall removes.
# Not share/notewell: that is the data directory.
list=$prefix/lib/notewell/installed

# Removes the files of a list, and the folders of our own that are empty then.
remove_listed() {
    while IFS= read -r entry; do
        case $entry in
        '' | /* | *..*) fail "\`$list\` names \`$entry\`, which install.sh did not write; nothing more was removed" ;;
        esac
        rm -f "$prefix/$entry"
    done <"$1"
}

# A folder without symbolic links, or as it is written where it is gone.
physical() {
    (cd "$1" 2>/dev/null && pwd -P) || printf '%s\n' "$1"
}

# The file of the service that runs this program, if there is one.
service_file() {
    real=$(physical "$prefix/bin")
    # How the unit of the tarball names ~/.local/bin.
    home=$real
    [ "$real" != "$(physical "${HOME:-}/.local/bin")" ] || home=%h/.local/bin
    for file in "${XDG_CONFIG_HOME:-${HOME:-}/.config}/systemd/user/notewell.service" \
        "${HOME:-}/Library/LaunchAgents/org.notewell.serve.plist"; do
        if [ -f "$file" ] && grep -qF -e "$program" -e "$real/notewell" -e "$home/notewell" "$file"; then
            printf '%s\n' "$file"
            return
        fi
    done
}

if [ -n "$uninstall" ]; then
    [ -f "$list" ] || fail "nothing to remove: there is no \`$list\`; if Notewell was installed elsewhere, name that place with \`--prefix DIR\`"
    unit=$(service_file)
    if [ -n "$unit" ]; then
        if [ -x "$program" ] && grep -qF 'Written by `notewell service install`' "$unit"; then
            stop="run \`$program service uninstall\` first"
        else
            # The program removes no unit that it did not write.
            case $unit in
            *.plist) stop="run \`launchctl bootout gui/$(id -u)/org.notewell.serve\` and remove that file first" ;;
            *) stop="run \`systemctl --user disable --now notewell\` and remove that file first" ;;
            esac
        fi
        fail "the service in \`$unit\` runs this program; $stop"
    fi
    remove_listed "$list"
    rm -f "$list"
    rmdir "$prefix/lib/notewell" "$prefix/share/doc/notewell" 2>/dev/null || :
    say "Removed Notewell from $prefix. Your notes, its data and its config are untouched."
    exit
fi

# The target that the tarballs are named after.
system=$(uname -s)
machine=$(uname -m)
case $machine in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=aarch64 ;;
*) fail "there is no release for the processor \`$machine\`; build it with \`cargo install --path . --features passkeys\`" ;;
esac
case $system in
Linux) target=$machine-unknown-linux-musl ;;
Darwin) target=$machine-apple-darwin ;;
*) fail "there is no release for the system \`$system\`; build it with \`cargo install --path . --features passkeys\`" ;;
esac

if command -v sha256sum >/dev/null 2>&1; then
    sum_of() { sha256sum <"$1" | cut -d ' ' -f 1; }
elif command -v shasum >/dev/null 2>&1; then
    sum_of() { shasum -a 256 <"$1" | cut -d ' ' -f 1; }
else
    fail "neither \`sha256sum\` nor \`shasum\` is here, so the download could not be checked; install coreutils"
fi

work=
staged=
clean() {
    [ -z "$work" ] || rm -rf "$work"
    if [ -n "$staged" ]; then
        rm -rf "$staged"
        rmdir "$prefix/lib/notewell" 2>/dev/null || :
    fi
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
work=$(mktemp -d "${TMPDIR:-/tmp}/notewell-install.XXXXXX") || fail "could not make a temporary folder"

if [ -n "$from" ]; then
    [ -d "$from" ] || fail "there is no folder \`$from\`"
    get() { # NAME FILE
        [ -f "$from/$1" ] || fail "there is no \`$1\` in \`$from\`"
        cp "$from/$1" "$2"
    }
else
    case $version in
    '') base=$repository/releases/latest/download ;;
    *) base=$repository/releases/download/v$version ;;
    esac
    # No redirect leads from https to http.
    case $base in
    https:*) protocols='=https' ;;
    *) protocols='=https,http' ;;
    esac
    if command -v curl >/dev/null 2>&1; then
        fetch() { curl -fsSL --retry 2 --proto "$protocols" -o "$2" "$1"; }
    elif command -v wget >/dev/null 2>&1; then
        # wget has no option for it, but names each redirect.
        fetch() {
            wget -S -O "$2" "$1" 2>"$work/headers" || return 1
            [ "$protocols" != '=https' ] || ! grep -qi '^ *location: *http:' "$work/headers"
        }
    else
        fail "neither \`curl\` nor \`wget\` is here; download the files yourself and run \`sh install.sh --from DIR\`"
    fi
    get() { # NAME FILE
        fetch "$base/$1" "$2" || fail "could not download \`$base/$1\`; check the address and the connection, or run \`sh install.sh --from DIR\`"
    }
fi

get SHA256SUMS "$work/SHA256SUMS"
# The names of the tarballs for this machine that have a sum. `*` stands before a name in binary mode.
names=$(sed -n 's/^[0-9a-fA-F]\{64\} [ *]\(notewell-[0-9][^/ ]*-'"$target"'\.tar\.gz\)$/\1/p' "$work/SHA256SUMS")
if [ -n "$version" ]; then
    names=$(printf '%s\n' "$names" | grep -Fx "notewell-$version-$target.tar.gz" || :)
fi
case $names in
'') fail "\`SHA256SUMS\` has no tarball ${version:+of version \`$version\` }for \`$target\`" ;;
*'
'*) fail "there are several tarballs for \`$target\`: $(printf '%s' "$names" | tr '\n' ' '); choose with \`--version\`" ;;
esac
name=$names
get "$name" "$work/$name"
expected=$(sed -n "s/^\([0-9a-fA-F]\{64\}\) [ *]$name\$/\1/p" "$work/SHA256SUMS" | tr 'A-F' 'a-f')
actual=$(sum_of "$work/$name")
[ "$expected" = "$actual" ] ||
    fail "\`$name\` has the SHA-256 sum $actual, and \`SHA256SUMS\` says $expected: it is damaged or was changed. Nothing was installed"

folder=${name%.tar.gz}
(cd "$work" && gzip -dc "$name" | tar -xf -) || fail "could not unpack \`$name\`. Nothing was installed"
unpacked=$work/$folder
[ -f "$unpacked/notewell" ] || fail "\`$name\` has no program \`notewell\` in \`$folder\`. Nothing was installed"

# Everything is copied beside its place first, so that a full disk is found before anything changes.
mkdir -p "$prefix/bin" "$prefix/lib/notewell" || fail "could not make \`$prefix\`; name another folder with \`--prefix DIR\`"
staged=$(mktemp -d "$prefix/lib/notewell/install.XXXXXX") || fail "could not write to \`$prefix\`"
: >"$staged/list"
put() { # FILE PATH MODE
    mkdir -p "$staged/files/$(dirname "$2")"
    cp "$1" "$staged/files/$2"
    chmod "$3" "$staged/files/$2"
    printf '%s\n' "$2" >>"$staged/list"
}
put "$unpacked/notewell" bin/notewell 755
for page in "$unpacked"/man/man1/*.1; do
    [ ! -f "$page" ] || put "$page" "share/man/man1/${page##*/}" 644
done
for pair in \
    notewell.bash:share/bash-completion/completions/notewell \
    _notewell:share/zsh/site-functions/_notewell \
    notewell.fish:share/fish/vendor_completions.d/notewell.fish; do
    file=$unpacked/completions/${pair%%:*}
    [ ! -f "$file" ] || put "$file" "${pair#*:}" 644
done
for file in LICENSE-MIT LICENSE-APACHE NOTICE THIRD-PARTY.txt; do
    [ ! -f "$unpacked/$file" ] || put "$unpacked/$file" "share/doc/notewell/$file" 644
done

installed=$("$staged/files/bin/notewell" --version 2>&1) ||
    fail "the program does not run on this machine: $installed. Nothing was installed"

# A file that is there and that this script did not write is somebody's own.
while IFS= read -r entry; do
    if [ -e "$prefix/$entry" ] && ! { [ -f "$list" ] && grep -qFx "$entry" "$list"; }; then
        fail "there is a \`$prefix/$entry\` that this script did not install; move it away, or use \`--prefix DIR\`. Nothing was installed"
    fi
done <"$staged/list"

# The list names old and new files until both are settled, so that --uninstall always finds all.
before=
if [ -f "$list" ]; then
    before=$("$program" --version 2>/dev/null) || before='an earlier program'
    sort -u "$list" "$staged/list" >"$staged/all"
else
    cp "$staged/list" "$staged/all"
fi
mv -f "$staged/all" "$list"
place() {
    mkdir -p "$prefix/$(dirname "$1")" && mv -f "$staged/files/$1" "$prefix/$1"
}
# The program comes last: whoever starts it has its pages too.
grep -vFx bin/notewell "$staged/list" >"$staged/rest" || :
while IFS= read -r entry; do
    place "$entry" || fail "could not write \`$prefix/$entry\`; the program of before is still there. Run install.sh again"
done <"$staged/rest"
place bin/notewell || fail "could not write \`$program\`. Run install.sh again"
# What an earlier version had and this one has not.
grep -vFxf "$staged/list" "$list" >"$staged/gone" || :
remove_listed "$staged/gone"
mv -f "$staged/list" "$list"

say "Installed $installed in $prefix${before:+, in place of $before}."
resolved=$(command -v notewell 2>/dev/null || :)
case :${PATH:-}: in
*:"$prefix/bin":*)
    command=notewell
    if [ -n "$resolved" ] && [ "$resolved" != "$program" ]; then
        say "Another \`notewell\` comes first in PATH: $resolved. Remove it, or put $prefix/bin before it."
        command=$program
    fi
    ;;
*)
    command=$program
    # zsh, which macOS starts, does not read the file of the other shells.
    case ${SHELL:-} in
    */zsh) profile='~/.zprofile' ;;
    *) profile='~/.profile' ;;
    esac
    say "$prefix/bin is not in PATH. Add this line to $profile, and open a new shell:"
    say "  export PATH=\"$prefix/bin:\$PATH\""
    ;;
esac
if [ -n "$before" ]; then
    say "What runs goes on with the program of before: restart the clients and servers that use it."
    unit=$(service_file)
    if [ -n "$unit" ]; then
        say "Restart the service with:"
        case $unit in
        *.plist) say "  launchctl kickstart -k gui/$(id -u)/org.notewell.serve" ;;
        *) say "  systemctl --user restart notewell" ;;
        esac
    fi
    say "Next:"
    say "  $command self check"
else
    say "Next:"
    say "  $command init"
fi
exit
}
