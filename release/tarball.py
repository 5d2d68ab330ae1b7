"""Packs the program with its texts.

    tarball.py TARGET WORK OUT"""

import sys
from pathlib import Path

from files import built, files_and_folders, pack, setting, tar, tree


def main():
    target, work, out = sys.argv[1:]
    binary, stage = built(work, target)
    name = f"notewell-{setting('VERSION')}-{target}"
    contents = {path: (file.read_bytes(), 0o644) for path, file in tree(stage).items()}
    program = "notewell.exe" if "windows" in target else "notewell"
    contents[program] = (binary.read_bytes(), 0o755)
    inside = {f"{name}/{path}": entry for path, entry in contents.items()}
    (Path(out) / f"{name}.tar.gz").write_bytes(pack(tar(files_and_folders(inside))))


main()
