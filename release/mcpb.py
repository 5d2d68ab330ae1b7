"""Makes the bundle that Claude Desktop and others install by a double click.

    mcpb.py TARGET WORK OUT"""

import json
import sys
import time
import zipfile
from pathlib import Path

from files import QUICK, built, epoch, setting

PLATFORMS = {"linux": "linux", "darwin": "darwin", "windows": "win32"}
TEXTS = ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "THIRD-PARTY.txt", "sbom.cdx.json"]


def manifest(platform, program):
    """What the client shows, asks for and starts. Clients refuse keys that they do not know."""
    return {
        "manifest_version": "0.3",
        "name": "notewell",
        "display_name": "Notewell",
        "version": setting("VERSION"),
        "description": "Your notes, cards, bookmarks and prompts, found by words and by meaning",
        "long_description": "Searches a folder of Markdown notes (an Obsidian vault, for example), cards, "
        "bookmarks and prompts in English, Russian and Japanese, and reads the passage that answers "
        "instead of the whole note. Everything stays on this machine.",
        "author": {"name": "Notewell", "url": setting("REPOSITORY")},
        "repository": {"type": "git", "url": setting("REPOSITORY")},
        "homepage": setting("REPOSITORY"),
        "license": setting("LICENCE"),
        "keywords": ["notes", "markdown", "obsidian", "search", "bookmarks", "prompts"],
        "server": {
            "type": "binary",
            "entry_point": f"server/{program}",
            "mcp_config": {
                "command": "${__dirname}/server/" + program,
                "args": ["mcp", "${user_config.vaults}"],
                "env": {},
            },
        },
        "user_config": {
            "vaults": {
                "type": "directory",
                "title": "Folders of notes",
                "description": "Folders with Markdown files. They are read in place.",
                "multiple": True,
                "required": True,
            }
        },
        # Methods in notes are tools, and prompts come and go.
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {"platforms": [platform]},
    }


def main():
    target, work, out = sys.argv[1:]
    binary, stage = built(work, target)
    platform = next(name for part, name in PLATFORMS.items() if part in target)
    program = "notewell.exe" if platform == "win32" else "notewell"
    contents = {
        "manifest.json": (json.dumps(manifest(platform, program), indent=2).encode(), 0o644),
        f"server/{program}": (binary.read_bytes(), 0o755),
    }
    for name in TEXTS:
        contents[name] = ((stage / name).read_bytes(), 0o644)
    # A zip has times from 1980 on, without a zone.
    date = time.gmtime(max(epoch(), 315532800))[:6]
    file = Path(out) / f"notewell-{setting('VERSION')}-{target}.mcpb"
    level = 0 if QUICK else 9
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name in sorted(contents):
            data, mode = contents[name]
            header = zipfile.ZipInfo(name, date)
            header.compress_type = zipfile.ZIP_DEFLATED
            header.create_system = 3
            header.external_attr = (0o100000 | mode) << 16
            archive.writestr(header, data)


main()
