#!/usr/bin/env bash
# Installs the servers of two peers below TOOLS/peers: markdown-vault-mcp and basic-memory, which wants
# a newer Python than some systems have. Debian's is unpacked beside it then, with its own libraries.
set -euo pipefail

VAULT=5.1.0
MEMORY=0.23.2
peers=$TOOLS/peers
stamp=$VAULT-$MEMORY-$(sha256sum <"$0" | cut -d' ' -f1)
[ "$(cat "$peers/stamp" 2>/dev/null)" = "$stamp" ] && exit
rm -rf "$peers"
mkdir -p "$peers"
cd "$peers"

python3 -m venv vault
vault/bin/pip install --quiet --disable-pip-version-check "markdown-vault-mcp==$VAULT" uv

if python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
    ln -s "$(command -v python3)" python
else
    mkdir -p apt/lists apt/cache apt/state root
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main" >apt/sources.list
    : >apt/status
    # The folder may be closed to the user that apt downloads as.
    apt=(-o APT::Sandbox::User=root -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State=$PWD/apt/state"
        -o "Dir::State::lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache" -o "Dir::State::status=$PWD/apt/status")
    apt-get "${apt[@]}" -qq update
    apt-get "${apt[@]}" -qq download python3.13-minimal libpython3.13-minimal libpython3.13-stdlib libc6 zlib1g \
        libexpat1 libssl3t64 libsqlite3-0 libffi8 libbz2-1.0 liblzma5 libreadline8t64 libtinfo6 libncursesw6 \
        libuuid1 libgcc-s1 libstdc++6 libdb5.3t64 libzstd1
    for package in *.deb; do
        dpkg -x "$package" root
    done
    rm -rf ./*.deb apt
    cat >python <<END
#!/bin/sh
exec $PWD/root/usr/lib64/ld-linux-x86-64.so.2 --library-path $PWD/root/usr/lib/x86_64-linux-gnu $PWD/root/usr/bin/python3.13 "\$@"
END
    chmod +x python
fi

version=$(./python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# Two of its dependencies come as source only, plain Python both, and are unpacked as they are.
printf 'pybars3; python_version < "3"\npymeta3; python_version < "3"\n' >overrides.txt
vault/bin/uv pip install --quiet --target memory --python-version "$version" --python-platform x86_64-manylinux_2_28 \
    --only-binary :all: --override overrides.txt "basic-memory==$MEMORY"
vault/bin/pip download --quiet --no-deps --no-binary :all: pybars3==0.9.7 pymeta3==0.5.1 -d source
for package in source/*.tar.gz; do
    tar -xzf "$package" -C source
done
cp -r source/*/pybars source/*/pymeta memory/
./python -c 'import sys; sys.path.insert(0, "memory"); import basic_memory'
echo "$stamp" >stamp
