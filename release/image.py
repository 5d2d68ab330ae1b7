"""Makes the container image as an OCI layout in a tar file. No daemon is needed.

    image.py WORK OUT TARGET...

`skopeo copy oci-archive:FILE docker://…` publishes it, `podman load` reads it."""

import json
import sys
import tarfile
from pathlib import Path

from files import built, files_and_folders, member, moment, pack, setting, sha256, tar

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# The user that images without a shell agreed on.
USER = 65532
SECOND = 1_000_000_000


def layer(binary, stage):
    """The whole file system: the program, its licences, a user, and the folder for its data."""
    documents = "usr/share/doc/notewell"
    files = {
        "usr/bin/notewell": (binary, 0o755),
        "etc/passwd": (f"notewell:x:{USER}:{USER}:Notewell:/data:/sbin/nologin\n".encode(), 0o644),
        "etc/group": (f"notewell:x:{USER}:\n".encode(), 0o644),
    }
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "THIRD-PARTY.txt", "sbom.cdx.json"):
        files[f"{documents}/{name}"] = ((stage / name).read_bytes(), 0o644)
    entries = list(files_and_folders(files))
    entries.append((member("data", 0o700, kind=tarfile.DIRTYPE, owner=USER, group=USER), None))
    entries.append((member("tmp", 0o1777, kind=tarfile.DIRTYPE), None))
    return tar(entries)


def labels():
    """What registries show; the MCP registry checks the last one."""
    return {
        "org.opencontainers.image.title": "Notewell",
        "org.opencontainers.image.description": "Notes, cards, bookmarks and prompts for AI agents over MCP",
        "org.opencontainers.image.version": setting("VERSION"),
        "org.opencontainers.image.revision": setting("COMMIT"),
        "org.opencontainers.image.created": moment(),
        "org.opencontainers.image.source": setting("REPOSITORY"),
        "org.opencontainers.image.licenses": setting("LICENCE"),
        "io.modelcontextprotocol.server.name": setting("SERVER_NAME"),
    }


def configuration(architecture, plain):
    """How a container of this image runs."""
    return {
        "created": moment(),
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "ExposedPorts": {"7717/tcp": {}},
            "Env": ["PATH=/usr/bin", "HOME=/data", "NOTEWELL_DATA=/data", "NOTEWELL_LISTEN=0.0.0.0:7717"],
            "Entrypoint": ["/usr/bin/notewell"],
            "Cmd": ["serve"],
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "Labels": labels(),
            "StopSignal": "SIGTERM",
            # Not in the specification; Docker and Podman follow it.
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/notewell", "serve", "--health"],
                "Interval": 30 * SECOND,
                "Timeout": 10 * SECOND,
                "StartPeriod": 20 * SECOND,
                "Retries": 3,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(plain)}"]},
        "history": [{"created": moment(), "created_by": "release/image.py", "comment": setting("COMMIT")}],
    }


def main():
    work, out, *targets = sys.argv[1:]
    blobs = {}

    def store(data, kind, **more):
        if not isinstance(data, bytes):
            data = json.dumps(data, sort_keys=True).encode()
        digest = sha256(data)
        blobs[f"blobs/sha256/{digest}"] = (data, 0o644)
        kind = f"application/vnd.oci.image.{kind}"
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data), **more}

    manifests = []
    for target in targets:
        binary, stage = built(work, target)
        architecture = ARCHITECTURES[target.split("-")[0]]
        plain = layer(binary.read_bytes(), stage)
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": store(configuration(architecture, plain), "config.v1+json"),
            "layers": [store(pack(plain), "layer.v1.tar+gzip")],
            "annotations": labels(),
        }
        platform = {"architecture": architecture, "os": "linux"}
        manifests.append(store(manifest, "manifest.v1+json", platform=platform))
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
        "annotations": labels(),
    }
    name = {
        "org.opencontainers.image.ref.name": setting("VERSION"),
        # What `podman load` calls it: without a name it would be the version alone.
        "io.containerd.image.name": f"localhost/notewell:{setting('VERSION')}",
    }
    top = {"schemaVersion": 2, "manifests": [store(index, "index.v1+json", annotations=name)]}
    blobs["index.json"] = (json.dumps(top, sort_keys=True).encode(), 0o644)
    blobs["oci-layout"] = (b'{"imageLayoutVersion":"1.0.0"}', 0o644)
    file = Path(out) / f"notewell-{setting('VERSION')}-oci.tar"
    file.write_bytes(tar(files_and_folders(blobs)))


main()
