"""Writes archives whose bytes depend on their contents only, and reads what every part needs."""

import gzip
import hashlib
import io
import json
import lzma
import os
import subprocess
import tarfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Trial runs hardly compress: `release/build --quick`.
QUICK = os.environ.get("RELEASE_QUICK") == "1"


def epoch():
    """The time of the commit: every file of a release has it."""
    return int(os.environ["SOURCE_DATE_EPOCH"])


def moment():
    """The time of the commit in RFC 3339."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))


def setting(name):
    """A value of release/settings, which release/build exports."""
    return os.environ[name]


def sha256(data):
    """The hash of bytes or of a file, in hexadecimal."""
    if isinstance(data, Path):
        with data.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256(data).hexdigest()


def tree(folder):
    """The files below a folder by their relative path, in one order everywhere."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in sorted(files)}


def built(work, target):
    """The program of a target and the folder of what goes with it, as release/build lays them out."""
    folder = Path(work) / target
    return folder / "notewell", folder / "stage"


def member(name, mode=0o644, size=0, kind=tarfile.REGTYPE, owner=0, group=0):
    """The header of a tar member, without anything of this machine."""
    header = tarfile.TarInfo(name)
    header.type, header.mode, header.size = kind, mode, size
    header.uid, header.gid, header.mtime = owner, group, epoch()
    return header


def tar(entries):
    """A tar archive. Entries are (header, bytes or None for a folder)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for header, data in entries:
            if data is None:
                archive.addfile(header)
            else:
                header.size = len(data)
                archive.addfile(header, io.BytesIO(data))
    return buffer.getvalue()


def files_and_folders(contents, prefix=""):
    """Tar entries for {path: (bytes, mode)}, with every folder before what is in it."""
    seen = set()
    for path in sorted(contents):
        data, mode = contents[path]
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if folder not in seen:
                seen.add(folder)
                yield member(prefix + folder, 0o755, kind=tarfile.DIRTYPE), None
        yield member(prefix + path, mode), data


def pack(data):
    """gzip without a name, a time or a system."""
    buffer = io.BytesIO()
    level = 0 if QUICK else 9
    with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=buffer, mtime=0) as file:
        file.write(data)
    # The tenth byte is the system, 255 an unknown one. Versions of Python differ in what they write.
    buffer.getbuffer()[9] = 255
    return buffer.getvalue()


def squeeze(data):
    """xz, for what is unpacked by tools that know it."""
    return lzma.compress(data, preset=0 if QUICK else 6)


def metadata(target):
    """What cargo knows of the crates of one target, with the features of a release."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += ["--features", setting("FEATURES"), "--filter-platform", target]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def compiled(target):
    """The crates that cargo really compiles for the program, as {(name, version)}.

    The metadata has more: crates behind features that are off."""
    command = ["cargo", "tree", "--locked", "--features", setting("FEATURES"), "--target", target]
    command += ["--edges", "normal", "--prefix", "none", "--format", "{p}"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    words = (line.split() for line in done.stdout.splitlines())
    return {(line[0], line[1].removeprefix("v")) for line in words if line}


def linked(data, target):
    """The packages that the program is linked from, and the crates of each: {id: [id, ...]}.

    Crates that only build scripts or tests use are left out."""
    packages = {package["id"]: package for package in data["packages"]}
    real = compiled(target)
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    root = data["resolve"]["root"]
    reached, waiting = {}, [root]
    while waiting:
        package = waiting.pop()
        if package in reached:
            continue
        needs = [
            need["pkg"]
            for need in nodes[package]["deps"]
            if any(kind["kind"] is None for kind in need["dep_kinds"])
            and (packages[need["pkg"]]["name"], packages[need["pkg"]]["version"]) in real
        ]
        reached[package] = sorted(needs)
        waiting.extend(needs)
    return reached
