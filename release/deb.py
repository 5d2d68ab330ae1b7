"""Makes the Debian package of one target.

    deb.py TARGET WORK OUT"""

import hashlib
import sys
import time
from pathlib import Path

from files import built, epoch, files_and_folders, pack, setting, squeeze, tar, tree

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

CONTROL = """\
Package: notewell
Version: {version}
Section: utils
Priority: optional
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size}
Homepage: {homepage}
Description: gives AI agents your notes, cards, bookmarks and prompts
 One program that serves a person's knowledge over the Model Context Protocol:
 a folder of Markdown notes, short cards, bookmarks and prompts. It finds the
 right passage in English, Russian and Japanese, by words and by meaning.
 .
 It is statically linked, brings its own model, and needs no network.
 To begin, run "notewell init". "systemctl --user enable --now notewell" keeps
 a server running.
"""

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Notewell
Source: {homepage}

Files: *
Copyright: the authors of Notewell
License: MIT or Apache-2.0
Comment:
 The program is linked from the crates that THIRD-PARTY.txt.gz in this folder
 lists with their licences; NOTICE has those of the data in it. The text of
 Apache-2.0 is in /usr/share/common-licenses/Apache-2.0 too.

License: MIT
{mit}

License: Apache-2.0
 See /usr/share/common-licenses/Apache-2.0.
"""


def indented(text):
    """The text of a field of several lines."""
    return "\n".join(f" {line}" if line.strip() else " ." for line in text.strip().splitlines())


def maintainer():
    """An address is wanted; nobody reads mail yet. On GitHub the domain is not ours, so it is the owner's."""
    host, owner = setting("REPOSITORY").removeprefix("https://").split("/")[:2]
    address = f"{owner}@users.noreply.github.com" if host == "github.com" else f"notewell@{host}"
    return f"Notewell <{address}>"


def changelog():
    """The changes in the form of Debian, which has the day of each version."""
    day = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch()))
    entry = f"notewell ({setting('VERSION')}) unstable; urgency=medium"
    return f"{entry}\n\n  * See NEWS.gz.\n\n -- {maintainer()}  {day}\n"


def contents(stage, binary):
    """Where everything goes, as {path: (bytes, mode)}."""
    documents = "usr/share/doc/notewell"
    files = {
        "usr/bin/notewell": (binary, 0o755),
        f"{documents}/NEWS.gz": (pack((stage / "CHANGELOG.md").read_bytes()), 0o644),
        f"{documents}/changelog.gz": (pack(changelog().encode()), 0o644),
        f"{documents}/THIRD-PARTY.txt.gz": (pack((stage / "THIRD-PARTY.txt").read_bytes()), 0o644),
        f"{documents}/sbom.cdx.json.gz": (pack((stage / "sbom.cdx.json").read_bytes()), 0o644),
    }
    places = {
        "README.md": f"{documents}/README.md",
        "NOTICE": f"{documents}/NOTICE",
        "config.example.toml": f"{documents}/examples/config.example.toml",
        "completions/notewell.bash": "usr/share/bash-completion/completions/notewell",
        "completions/_notewell": "usr/share/zsh/vendor-completions/_notewell",
        "completions/notewell.fish": "usr/share/fish/vendor_completions.d/notewell.fish",
    }
    for source, place in places.items():
        files[place] = ((stage / source).read_bytes(), 0o644)
    for name, page in tree(stage / "man/man1").items():
        files[f"usr/share/man/man1/{name}.gz"] = (pack(page.read_bytes()), 0o644)
    unit = (stage / "units/notewell.service").read_text()
    # The unit of the tarball starts the program in ~/.local/bin.
    unit = unit.replace("%h/.local/bin/notewell", "/usr/bin/notewell")
    files["usr/lib/systemd/user/notewell.service"] = (unit.encode(), 0o644)
    copyright_file = COPYRIGHT.format(
        homepage=setting("REPOSITORY"), mit=indented((stage / "LICENSE-MIT").read_text())
    )
    files[f"{documents}/copyright"] = (copyright_file.encode(), 0o644)
    return files


def ar(members):
    """The outer archive of a package."""
    archive = b"!<arch>\n"
    for name, data in members:
        archive += f"{name:<16}{epoch():<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        archive += data + b"\n" * (len(data) % 2)
    return archive


def main():
    target, work, out = sys.argv[1:]
    binary, stage = built(work, target)
    architecture = ARCHITECTURES[target.split("-")[0]]
    files = contents(stage, binary.read_bytes())
    control = CONTROL.format(
        version=setting("VERSION"),
        architecture=architecture,
        maintainer=maintainer(),
        size=sum(len(data) for data, _ in files.values()) // 1024 + 1,
        homepage=setting("REPOSITORY"),
    )
    sums = "".join(
        f"{hashlib.md5(data, usedforsecurity=False).hexdigest()}  {path}\n"
        for path, (data, _) in sorted(files.items())
    )
    head = {"control": (control.encode(), 0o644), "md5sums": (sums.encode(), 0o644)}
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", squeeze(tar(files_and_folders(head, "./")))),
        ("data.tar.xz", squeeze(tar(files_and_folders(files, "./")))),
    ]
    name = f"notewell_{setting('VERSION')}_{architecture}.deb"
    (Path(out) / name).write_bytes(ar(members))


main()
