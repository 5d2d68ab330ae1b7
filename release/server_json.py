"""Prints the entry for the MCP registry, from the bundles in the folder of a release.

    server_json.py OUT"""

import json
import sys
from pathlib import Path

from files import setting, sha256

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def bundle(file, address):
    """A bundle: the client asks for the folders itself, by the manifest in it."""
    return {
        "registryType": "mcpb",
        "identifier": f"{address}/{file.name}",
        "version": setting("VERSION"),
        "fileSha256": sha256(file),
        "transport": {"type": "stdio"},
    }


def image():
    """The image, with one folder of notes."""
    mount = {
        "type": "named",
        "name": "--mount",
        "value": "type=bind,src={vault},dst=/notes",
        "variables": {
            "vault": {"description": "A folder with Markdown files", "format": "filepath", "isRequired": True}
        },
    }
    data = {"type": "named", "name": "--volume", "value": "notewell:/data"}
    return {
        "registryType": "oci",
        "identifier": f"{setting('IMAGE')}:{setting('VERSION')}",
        "runtimeHint": "docker",
        "runtimeArguments": [data, mount],
        "packageArguments": [
            {"type": "positional", "value": "mcp"},
            {"type": "positional", "value": "/notes"},
        ],
        "transport": {"type": "stdio"},
    }


def main():
    out = Path(sys.argv[1])
    repository = setting("REPOSITORY")
    address = f"{repository}/releases/download/v{setting('VERSION')}"
    packages = [bundle(file, address) for file in sorted(out.glob("*.mcpb"))]
    if list(out.glob("*-oci.tar")):
        packages.append(image())
    entry = {
        "$schema": SCHEMA,
        "name": setting("SERVER_NAME"),
        "title": "Notewell",
        "description": "Your notes, cards, bookmarks and prompts, found by words and by meaning",
        "version": setting("VERSION"),
        "websiteUrl": repository,
        "repository": {
            "url": repository,
            "source": "github" if "//github.com/" in repository else "git",
        },
        "packages": packages,
    }
    print(json.dumps(entry, indent=2))


main()
