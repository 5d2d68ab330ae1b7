"""Prints the bill of materials of one target as CycloneDX 1.6.

    sbom.py TARGET

It lists the crates that are linked into the program, with the hashes of Cargo.lock."""

import json
import sys
import tomllib
import uuid

from files import ROOT, linked, metadata, moment, setting

# Any fixed name space: the number of a document follows from what it describes.
SPACE = uuid.UUID("8f0c6f5e-6c0c-4b0e-9d0a-3f2f4f0a7b11")


def purl(package):
    """The package URL of a crate."""
    return f"pkg:cargo/{package['name']}@{package['version']}"


def licences(package):
    """The licence of a crate as an SPDX expression."""
    text = package.get("license")
    return [{"expression": text.replace("/", " OR ")}] if text else []


def component(package, sums, kind="library"):
    entry = {
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    }
    if package.get("description"):
        entry["description"] = " ".join(package["description"].split())
    if licences(package):
        entry["licenses"] = licences(package)
    digest = sums.get((package["name"], package["version"]))
    if digest:
        entry["hashes"] = [{"alg": "SHA-256", "content": digest}]
    if package.get("repository"):
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def main():
    target = sys.argv[1]
    data = metadata(target)
    packages = {package["id"]: package for package in data["packages"]}
    root = data["resolve"]["root"]
    needs = linked(data, target)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    sums = {(p["name"], p["version"]): p["checksum"] for p in lock["package"] if "checksum" in p}
    others = sorted((packages[name] for name in needs if name != root), key=purl)
    name = f"{setting('REPOSITORY')}/{setting('VERSION')}/{setting('COMMIT')}/{target}"
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(SPACE, name)}",
        "version": 1,
        "metadata": {
            "timestamp": moment(),
            "component": component(packages[root], sums, "application")
            | {"licenses": [{"expression": setting("LICENCE")}]},
            "properties": [
                {"name": "notewell:commit", "value": setting("COMMIT")},
                {"name": "notewell:target", "value": target},
            ],
        },
        "components": [component(package, sums) for package in others],
        "dependencies": [
            {"ref": purl(packages[name]), "dependsOn": sorted(purl(packages[need]) for need in needs[name])}
            for name in sorted(needs, key=lambda name: purl(packages[name]))
        ],
    }
    print(json.dumps(document, indent=1, ensure_ascii=False))


main()
