#!/usr/bin/env bash
# Installs a release in a bare Debian without Rust, sets it up and searches: three commands, under a
# minute. Called by `./test install`.
#
#   tests/install/chroot.sh RELEASE [BASE]
#
# RELEASE is a folder with a tarball for this machine, install.sh and SHA256SUMS, as release/build makes
# it. BASE keeps the bare system (debootstrap, minbase) for the next run. Needs root, or user namespaces.
set -euo pipefail
cd "$(dirname "$0")/../.."
release=$(realpath "${1:?"call tests/install/chroot.sh RELEASE [BASE]"}")
base=$(realpath -m "${2:-target/test-tools/debian}")

if [ ! -e "$base/etc/debian_version" ]; then
    rm -rf "$base"
    mkdir -p "$(dirname "$base")"
    # Without DEBIAN_MIRROR, debootstrap asks its own default.
    debootstrap --variant=minbase bookworm "$base" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
fi

# A copy for this run: what is installed must not be there the next time.
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp -a "$base/." "$root/"
mkdir -p "$root/release" "$root/home/ann/notes"
cp "$release"/*.tar.gz "$release/SHA256SUMS" "$release/install.sh" "$root/release/"
# As it is downloaded.
chmod 644 "$root/release/install.sh"
printf '# Roses\n\nPrune roses after the last late frost.\n' >"$root/home/ann/notes/Roses.md"
chown -R 1000:1000 "$root/home/ann"

inside() {
    chroot --userspec=1000:1000 "$root" /usr/bin/env -i HOME=/home/ann \
        PATH=/home/ann/.local/bin:/usr/bin:/bin sh -c "cd && $1"
}

failed=0
check() { # NAME COMMAND EXPECTED
    local out
    out=$(inside "$2" 2>&1) || true
    case $out in
    *"$3"*) echo "pass $1" ;;
    *)
        echo "fail $1: no \`$3\` in: $out"
        failed=1
        ;;
    esac
}

check "no compiler and no Rust" 'command -v cargo rustc cc || echo none' none
begun=$(date +%s%N)
check install 'sh /release/install.sh --from /release' 'notewell init'
check init 'notewell init --yes --vault ~/notes' Roses
check search 'notewell search late frost' Roses
took=$((($(date +%s%N) - begun) / 1000000))
if [ "$took" -lt 60000 ]; then
    echo "pass three commands in $took ms"
else
    echo "fail three commands took $took ms, and a minute is the limit"
    failed=1
fi
check "self check" 'notewell self check; echo status $?' 'status 0'
check "pages and completions" 'ls .local/share/man/man1/notewell-search.1 .local/share/bash-completion/completions/notewell; echo listed' '/notewell-search.1'

# A changed tarball is refused, and what is installed stays.
for tarball in "$root"/release/*.tar.gz; do
    printf x >>"$tarball"
done
check "a changed tarball" 'sh /release/install.sh --from /release; notewell --version' 'Nothing was installed'
check "the program of before" 'notewell --version' 'notewell '
check uninstall 'sh /release/install.sh --uninstall; ls .local/bin/notewell 2>&1' 'No such file'
check "data stays" 'ls .local/share/notewell/notewell.db' notewell.db
exit "$failed"
