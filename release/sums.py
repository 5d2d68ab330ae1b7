"""Writes SHA256SUMS for the files of a release and lists them with their sizes.

    sums.py OUT"""

import sys
from pathlib import Path

from files import sha256


def main():
    out = Path(sys.argv[1])
    files = sorted(file for file in out.iterdir() if file.is_file() and file.name != "SHA256SUMS")
    lines = [f"{sha256(file)}  {file.name}\n" for file in files]
    (out / "SHA256SUMS").write_text("".join(lines))
    for file in files:
        print(f"{file.stat().st_size / 1e6:9.1f} MB  {file.name}")


main()
