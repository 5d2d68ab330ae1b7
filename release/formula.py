"""Prints the Homebrew formula, from the tarballs in the folder of a release.

    formula.py OUT"""

import sys
from pathlib import Path

from files import setting, sha256

SYSTEMS = {"macos": "apple-darwin", "linux": "unknown-linux-musl"}
PROCESSORS = {"arm": "aarch64", "intel": "x86_64"}

HEAD = """\
class Notewell < Formula
  desc "Gives AI agents your notes, cards, bookmarks and prompts over MCP"
  homepage "{homepage}"
  version "{version}"
  license all_of: ["CC-BY-SA-4.0", {{ any_of: ["MIT", "Apache-2.0"] }}]
"""

TAIL = """
  def install
    bin.install "notewell"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/notewell.bash" => "notewell"
    zsh_completion.install "completions/_notewell"
    fish_completion.install "completions/notewell.fish"
    doc.install "README.md", "CHANGELOG.md", "NOTICE", "THIRD-PARTY.txt", "sbom.cdx.json"
    pkgshare.install "config.example.toml"
  end

  service do
    run [opt_bin/"notewell", "serve"]
    keep_alive true
    log_path var/"log/notewell.log"
    error_log_path var/"log/notewell.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/notewell --version")
    (testpath/"notes/Tea.md").write "# Tea\\n\\nSteep the leaves for three minutes.\\n"
    ENV["NOTEWELL_DATA"] = testpath/"data"
    assert_match "Tea", shell_output("#{bin}/notewell search steep --vault #{testpath}/notes")
  end
end"""


def main():
    out = Path(sys.argv[1])
    repository, version = setting("REPOSITORY"), setting("VERSION")
    print(HEAD.format(homepage=repository, version=version), end="")
    for system, triple in SYSTEMS.items():
        blocks = []
        for processor, machine in PROCESSORS.items():
            file = out / f"notewell-{version}-{machine}-{triple}.tar.gz"
            if file.exists():
                url = f"{repository}/releases/download/v{version}/{file.name}"
                blocks.append(
                    f'    on_{processor} do\n      url "{url}"\n      sha256 "{sha256(file)}"\n    end\n'
                )
        if blocks:
            print(f"\n  on_{system} do\n" + "".join(blocks) + "  end")
    print(TAIL)


main()
