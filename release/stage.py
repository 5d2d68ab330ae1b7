"""Lays out what every package holds besides the program: texts, man pages, completions, units.

    stage.py RUNNER NOTICES SBOM FOLDER

RUNNER is a Notewell that runs on this machine; its pages are those of every target."""

import shutil
import subprocess
import sys
from pathlib import Path

from files import ROOT

TEXTS = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "config.example.toml"]
# What each shell looks for.
SHELLS = {"bash": "notewell.bash", "zsh": "_notewell", "fish": "notewell.fish"}


def main():
    runner, notices, sbom, folder = map(Path, sys.argv[1:])
    for name in TEXTS:
        shutil.copyfile(ROOT / name, folder / name)
    shutil.copyfile(notices, folder / "THIRD-PARTY.txt")
    shutil.copyfile(sbom, folder / "sbom.cdx.json")
    for name in ("man/man1", "completions", "units"):
        (folder / name).mkdir(parents=True)
    subprocess.run([runner, "man", folder / "man/man1"], check=True, stdout=subprocess.DEVNULL)
    for shell, name in SHELLS.items():
        done = subprocess.run([runner, "completions", shell], check=True, stdout=subprocess.PIPE)
        (folder / "completions" / name).write_bytes(done.stdout)
    for unit in (ROOT / "release/units").iterdir():
        shutil.copyfile(unit, folder / "units" / unit.name)


main()
