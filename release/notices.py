"""Prints the licences of everything that is linked into the program.

    notices.py TARGET

Texts that several crates share are printed once. A crate that has no text of its own is listed with
its licence, whose usual text is among the others."""

import re
import sys
from collections import defaultdict
from pathlib import Path

from files import ROOT, linked, metadata

TEXT = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
RULE = "=" * 78

# What is no crate. The licence of musl and of the compiler's own parts is that of the libraries
# which the linker adds to a static program.
OTHERS = {
    "SQLite": "in the public domain (https://sqlite.org/copyright.html)",
    "The Rust standard library": "MIT OR Apache-2.0",
    "musl": "MIT; Copyright © 2005-2020 Rich Felker, et al.",
    "libunwind and compiler-rt of LLVM": "Apache-2.0 WITH LLVM-exception",
}


def expression(package):
    """A licence as SPDX writes it: some crates still have a slash for `OR`."""
    return (package.get("license") or "see its text").replace("/", " OR ")


def texts(package):
    """The licence files of a crate, also of the C sources that it brings."""
    folder = Path(package["manifest_path"]).parent
    places = [folder, *(place for place in folder.glob("*/*") if place.is_dir())]
    places += [place for place in folder.iterdir() if place.is_dir()]
    for place in sorted(set(places)):
        for file in sorted(place.iterdir()):
            if file.is_file() and TEXT.match(file.name) and file.suffix not in (".rs", ".html"):
                yield file.read_text(encoding="utf-8", errors="replace").strip()


def main():
    target = sys.argv[1]
    data = metadata(target)
    ours = set(data["workspace_members"])
    packages = {package["id"]: package for package in data["packages"]}
    used = [packages[name] for name in linked(data, target) if name not in ours]
    used.sort(key=lambda package: (package["name"], package["version"]))

    shared = defaultdict(list)
    bare = []
    print("What Notewell is made of besides its own sources\n")
    for package in used:
        name = f"{package['name']} {package['version']}"
        print(f"- {name}: {expression(package)}")
        found = False
        for text in texts(package):
            found = True
            # Spaces and line ends differ between copies of one text.
            shared[" ".join(text.split())].append((name, text))
        if not found:
            bare.append(name)
    for name, licence in OTHERS.items():
        print(f"- {name}: {licence}")
    if bare:
        print("\nThese have no text of their own; that of their licence is below: " + ", ".join(bare))
    for copies in sorted(shared.values(), key=lambda copies: copies[0][0]):
        names = list(dict.fromkeys(name for name, _ in copies))
        print(f"\n{RULE}\n{', '.join(names)}\n{RULE}\n\n{copies[0][1]}")
    # The data that is part of the program.
    print(f"\n{RULE}\nNotewell's own data\n{RULE}\n\n{(ROOT / 'NOTICE').read_text().strip()}")


main()
