"""Reads every file of a release with the tool of whoever will read it.

    check.py RELEASE NODE TOOLS

RELEASE is a folder that release/build made, TOOLS has the packages of package.json beside this file;
those of requirements.txt are where this runs. Prints a line for each check: pass, fail or skip."""

import functools
import gzip
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from pathlib import Path

import jsonschema
import skillsaw
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

HERE = Path(__file__).resolve().parent
RELEASE, NODE, TOOLS = (Path(argument).absolute() for argument in sys.argv[1:])
SCHEMA = Path(skillsaw.__file__).parent / "schemas/mcp_registry/v2025_12_11/server.schema.json"
MACHINE = platform.machine()
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}[MACHINE]
SCRATCH = tempfile.TemporaryDirectory()
checks = []


class Skip(Exception):
    """The tool is not on this machine."""


def check(function):
    checks.append(function)
    return function


def run(*command, **options):
    """The output of a command; its failure is ours."""
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options,
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stdout}"
    return done.stdout


def tool(name):
    path = shutil.which(name)
    if path is None:
        raise Skip(f"{name} is not installed")
    return path


def files(pattern, count=None):
    found = sorted(RELEASE.glob(pattern))
    assert found, f"there is no {pattern}"
    assert count is None or len(found) == count, f"{len(found)} files are {pattern}, not {count}"
    return found


def sha256(file):
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


@functools.cache
def unpacked_tarball():
    """The tarball of this machine, unpacked."""
    [file] = files(f"*-{MACHINE}-*.tar.gz", 1)
    run("tar", "-xzf", file, "-C", SCRATCH.name)
    return Path(SCRATCH.name) / file.name.removesuffix(".tar.gz")


@check
def sums_name_every_file(folder):
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=RELEASE)
    named = {line.split("  ")[1] for line in (RELEASE / "SHA256SUMS").read_text().splitlines()}
    assert named == {file.name for file in RELEASE.iterdir()} - {"SHA256SUMS"}


@check
def archives_hold_nothing_of_this_machine(folder):
    for file in files("*.tar.gz"):
        with file.open("rb") as data:
            head = data.read(10)
        assert head[3:8] == bytes(5) and head[9] == 255, f"{file.name} has a name, a time or a system"
        with tarfile.open(file) as archive:
            members = archive.getmembers()
        assert len({member.mtime for member in members}) == 1, "times differ"
        assert all(member.uid == 0 and member.gid == 0 and not member.uname for member in members)
        assert all(member.mode in (0o644, 0o755) for member in members)


@check
def tarball_runs(folder):
    top = unpacked_tarball()
    version = top.name.split("-")[1]
    assert version in run(top / "notewell", "--version")
    for name in ("README.md", "LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "THIRD-PARTY.txt",
                 "config.example.toml", "completions/_notewell", "man/man1/notewell-search.1",
                 "units/notewell.service"):
        assert (top / name).stat().st_size > 0, name
    notices = (top / "THIRD-PARTY.txt").read_text()
    for name in ("tokio ", "rusqlite ", "musl: MIT", "WordNet 3.0", "Mozilla Public License"):
        assert name in notices, f"no licence of {name}"
    notes = folder / "notes"
    notes.mkdir()
    (notes / "Tea.md").write_text("# Tea\n\nSteep the leaves for three minutes.\n")
    found = run(top / "notewell", "search", "steep", "--vault", notes, "--data", folder / "data")
    assert "three minutes" in found, found


@check
def man_pages_are_rendered(folder):
    groff = tool("groff")
    pages = sorted((unpacked_tarball() / "man/man1").iterdir())
    assert len(pages) > 30, f"{len(pages)} pages"
    warnings = run(groff, "-K", "utf8", "-T", "utf8", "-m", "man", "-ww", "-z", *pages)
    assert not warnings, warnings[:2000]


@check
def completions_are_read_by_their_shells(folder):
    top = unpacked_tarball()
    run("bash", "-n", top / "completions/notewell.bash")


@check
def unit_is_valid(folder):
    verify = tool("systemd-analyze")
    top = unpacked_tarball()
    unit = folder / "notewell.service"
    text = (top / "units/notewell.service").read_text()
    unit.write_text(text.replace("%h/.local/bin/notewell", str(top / "notewell")))
    run(verify, "--user", "--man=no", "verify", unit, env={**os.environ, "XDG_RUNTIME_DIR": str(folder)})


@check
def debian_packages_install(folder):
    dpkg = tool("dpkg-deb")
    for file in files("*.deb", len(files("*-linux-*.tar.gz"))):
        assert "Package: notewell" in run(dpkg, "--info", file)
        run(dpkg, "--contents", file)
    [file] = files(f"*_{DEBIAN}.deb", 1)
    root = folder / "root"
    if os.geteuid() == 0:
        for name in ("var/lib/dpkg/updates", "var/lib/dpkg/info", "usr", "bin"):
            (root / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        run("dpkg", f"--root={root}", "--force-script-chrootless", "--install", file)
        assert "Status: install ok installed" in run("dpkg", f"--root={root}", "--status", "notewell")
        run("dpkg", f"--root={root}", "--verify", "notewell")
    else:
        run(dpkg, "--extract", file, root)
    run(root / "usr/bin/notewell", "--version")
    assert gzip.decompress((root / "usr/share/man/man1/notewell.1.gz").read_bytes())
    unit = (root / "usr/lib/systemd/user/notewell.service").read_text()
    assert "ExecStart=/usr/bin/notewell serve" in unit
    if os.geteuid() == 0:
        run("dpkg", f"--root={root}", "--purge", "notewell")
        assert not (root / "usr/bin/notewell").exists()


@check
def debian_package_pleases_lintian(folder):
    lintian = tool("lintian")
    # A trial compresses weakly, and its program is no static one.
    trial = "poor-compression-in-manual-page,changelog-not-compressed-with-max-compression"
    trial += ",undeclared-elf-prerequisites,hardening-no-pie"
    [file] = files(f"*_{DEBIAN}.deb", 1)
    run(lintian, "--allow-root", "--fail-on", "error,warning", "--suppress-tags", trial, file)


@check
def bundles_are_valid_and_serve(folder):
    cli = TOOLS / "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"
    for file in files("*.mcpb", len(files("*.tar.gz"))):
        top = folder / file.stem
        run(NODE, cli, "unpack", file, top)
        run(NODE, cli, "validate", top / "manifest.json")
        assert os.access(top / "server/notewell", os.X_OK), "the program cannot be executed"
        if MACHINE not in file.name:
            shutil.rmtree(top)
    [file] = files(f"*-{MACHINE}-*.mcpb", 1)
    env = {**os.environ, "TOOLS": str(TOOLS), "NOTEWELL_DATA": str(folder / "data")}
    print(run(NODE, HERE / "bundle.mjs", folder / file.stem, folder, env=env), end="")


@check
def image_is_read_by_skopeo(folder):
    skopeo = tool("skopeo")
    [file] = files("*-oci.tar", 1)
    for architecture in ("amd64", "arm64"):
        if not list(RELEASE.glob(f"*_{architecture}.deb")):
            continue
        shown = run(skopeo, "inspect", "--config", "--override-arch", architecture, f"oci-archive:{file}")
        shown = json.loads(shown)
        assert shown["architecture"] == architecture
        assert shown["config"]["User"] == "65532:65532"
        label = shown["config"]["Labels"]["io.modelcontextprotocol.server.name"]
        assert label == json.loads((RELEASE / "server.json").read_text())["name"]


@check
def image_is_whole_and_serves(folder):
    [file] = files("*-oci.tar", 1)
    run("tar", "-xf", file, "-C", folder)
    blobs = folder / "blobs/sha256"
    for blob in blobs.iterdir():
        assert sha256(blob) == blob.name, "a blob does not have the digest of its name"

    def blob(entry):
        path = blobs / entry["digest"].removeprefix("sha256:")
        assert path.stat().st_size == entry["size"]
        return path

    top = json.loads((folder / "index.json").read_text())
    version = json.loads((RELEASE / "server.json").read_text())["version"]
    # The name that docs/install.md runs.
    name = top["manifests"][0]["annotations"]["io.containerd.image.name"]
    assert name == f"localhost/notewell:{version}", name
    index = json.loads(blob(top["manifests"][0]).read_text())
    [entry] = [m for m in index["manifests"] if m["platform"]["architecture"] == DEBIAN]
    manifest = json.loads(blob(entry).read_text())
    config = json.loads(blob(manifest["config"]).read_text())
    layer = gzip.decompress(blob(manifest["layers"][0]).read_bytes())
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
    root = folder / "root"
    root.mkdir()
    (folder / "layer.tar").write_bytes(layer)
    del layer
    run("tar", "-xf", folder / "layer.tar", "-C", root)
    (folder / "layer.tar").unlink()
    assert (root / "data").stat().st_mode & 0o777 == 0o700
    serve_as_container(root, config["config"], folder)


def serve_as_container(root, config, folder):
    """Runs the image with its own user, environment, command and health check, on a port of its own."""
    user, group = config["User"].split(":")
    data = folder / "volume"
    data.mkdir()
    # A trial's program needs the libraries of this machine.
    places = [] if is_static(root) else ["/lib", "/lib64", "/usr/lib"]
    libraries = [part for name in places if Path(name).exists() for part in ("--ro-bind", name, name)]
    for name in places:
        (root / name[1:]).mkdir(parents=True, exist_ok=True)
    for name in ("proc", "dev"):
        (root / name).mkdir()
    contain = [tool("bwrap"), "--unshare-user", "--unshare-pid", "--die-with-parent", "--clearenv",
               "--uid", user, "--gid", group, "--ro-bind", root, "/", *libraries, "--bind", data, "/data",
               "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", config["WorkingDir"]]
    for variable in config["Env"]:
        contain += ["--setenv", *variable.split("=", 1)]
    contain += ["--setenv", "NOTEWELL_LISTEN", "127.0.0.1:0"]
    command = [str(part) for part in contain]
    server = subprocess.Popen(command + config["Entrypoint"] + config["Cmd"])
    try:
        health = command + config["Healthcheck"]["Test"][1:]
        until = time.monotonic() + 60
        while subprocess.run(health).returncode != 0:
            assert server.poll() is None, "the server ended"
            assert time.monotonic() < until, "the server is not healthy after a minute"
            time.sleep(0.2)
    finally:
        server.terminate()
        server.wait()


def is_static(root):
    """Whether the program names no interpreter."""
    return b"/ld-linux" not in (root / "usr/bin/notewell").read_bytes()[:4096]


@check
def registry_entry_fits_its_schema(folder):
    entry = json.loads((RELEASE / "server.json").read_text())
    schema = json.loads(SCHEMA.read_text())
    assert entry["$schema"] == schema["$id"]
    checker = jsonschema.Draft7Validator.FORMAT_CHECKER
    jsonschema.Draft7Validator(schema, format_checker=checker).validate(entry)
    # A description that is longer is refused on publishing.
    assert len(entry["description"]) <= 100
    bundles = {package["identifier"].rsplit("/", 1)[1]: package for package in entry["packages"]
               if package["registryType"] == "mcpb"}
    assert set(bundles) == {file.name for file in files("*.mcpb")}
    for name, package in bundles.items():
        assert package["fileSha256"] == sha256(RELEASE / name)


@check
def bills_of_materials_are_valid(folder):
    for file in files("*.cdx.json", len(files("*.tar.gz"))):
        text = file.read_text()
        errors = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
        assert errors is None, f"{file.name}: {errors}"
        names = {component["name"] for component in json.loads(text)["components"]}
        assert {"tokio", "rusqlite", "webauthn-rs"} <= names
        assert not {"insta", "proptest"} & names, "crates of the tests are not in the program"


@check
def formula_points_at_the_tarballs(folder):
    text = (RELEASE / "notewell.rb").read_text()
    for file in files("*-linux-*.tar.gz"):
        assert f'/{file.name}"\n      sha256 "{sha256(file)}"' in text, f"no {file.name}"
    run(tool("ruby"), "-c", RELEASE / "notewell.rb")


@check
def installer_downloads_from_the_address_of_the_release(folder):
    [line] = [line for line in (RELEASE / "notewell.rb").read_text().splitlines() if "homepage" in line]
    address = line.split('"')[1]
    assert f"{{NOTEWELL_REPOSITORY:-{address}}}" in (RELEASE / "install.sh").read_text(), address


@check
def workflows_are_valid(folder):
    env = {**os.environ, "TOOLS": str(TOOLS)}
    run(NODE, HERE / "workflows.mjs", *sorted((HERE.parents[1] / ".github/workflows").glob("*.yml")), env=env)


def main():
    bad = 0
    for function in checks:
        name = function.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(Path(folder))
                print(f"pass {name}", flush=True)
            except Skip as reason:
                print(f"skip {name}: {reason}", flush=True)
            except Exception:
                bad += 1
                print(f"fail {name}", flush=True)
                traceback.print_exc(file=sys.stdout)
    return 1 if bad else 0


sys.exit(main())
