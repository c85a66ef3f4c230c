#!/usr/bin/env bash
# Prints a folder with a git that can keep refs in a reftable (2.45 or later), for the tests that need one.
# Usage: install-test-git.sh FOLDER. FOLDER is where it is unpacked to, if the git of the machine is older.
# Debian 13 has such a git. Its package is unpacked beside the C library for which it was built. Nothing is installed.
# Fails, with the reason, if there is no such git.
set -euo pipefail
folder=$1

can_reftable() {
  local probe status=0
  probe=$(mktemp -d)
  "$1" init -q --ref-format=reftable "$probe" >/dev/null 2>&1 || status=1
  rm -rf "$probe"
  return $status
}

if system=$(command -v git) && can_reftable "$system"; then
  dirname "$system"
  exit 0
fi
if [ -x "$folder/bin/git" ] && can_reftable "$folder/bin/git"; then
  echo "$folder/bin"
  exit 0
fi
if [ -e "$folder" ] && [ ! -e "$folder/git.real" ] && ! rmdir "$folder" 2>/dev/null; then
  echo "$folder has something else in it: give a folder that is empty or does not exist" >&2
  exit 1
fi
for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "no git with reftables, and no $tool to get one" >&2; exit 1; }
done

# The archive from which this machine gets its own packages.
archive=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v '^ *#' |
  grep -oE '[a-z]+://[^ ]+/debian/?( |$)' | head -n 1 || true)
[ -n "$archive" ] || { echo "no git with reftables, and no archive of Debian to get one from" >&2; exit 1; }

work=$(mktemp -d)
mkdir -p "$(dirname "$folder")"
folder=$(cd "$(dirname "$folder")" && pwd -P)/$(basename "$folder")
fresh=$folder.$$
trap 'rm -rf "$work" "$fresh"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,parts,debs}
cat >"$work/parts/debian.sources" <<SOURCE
Types: deb
URIs: $archive
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCE
cat >"$work/apt.conf" <<CONF
Dir::State::lists "$work/lists";
Dir::Cache "$work/cache";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$work/parts";
APT::Sandbox::User "root";
CONF
apt-get -qq -c "$work/apt.conf" update >&2
(cd "$work/debs" && apt-get -qq -c "$work/apt.conf" download git/trixie libc6/trixie >&2)
for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/unpacked"; done

mkdir -p "$fresh/bin" "$fresh/lib"
find "$work/unpacked" -name 'ld-linux*' -exec cp -L {} "$fresh/lib/loader" \; -quit
cp -L "$(dirname "$(find "$work/unpacked" -name libc.so.6)")"/lib*.so.* "$fresh/lib/"
cp -a "$work/unpacked/usr/lib/git-core" "$fresh/core"
cp -a "$work/unpacked/usr/share/git-core" "$fresh/share"
cp -L "$work/unpacked/usr/bin/git" "$fresh/git.real"
# The programs of git-core that are git itself. They start this script as well, so that it finds the C library.
cat >"$fresh/bin/git" <<WRAPPER
#!/bin/sh
folder='${folder//\'/\'\\\'\'}'
GIT_EXEC_PATH=\$folder/core GIT_TEMPLATE_DIR=\$folder/share/templates
export GIT_EXEC_PATH GIT_TEMPLATE_DIR
exec "\$folder/lib/loader" --library-path "\$folder/lib" --argv0 "\$0" "\$folder/git.real" "\$@"
WRAPPER
chmod +x "$fresh/bin/git"
rm -f "$fresh/core/git"
ln -s "$folder/bin/git" "$fresh/core/git"
# What is there is an earlier git of this script, because it has a git.real.
rm -rf "$folder"
mv "$fresh" "$folder"
can_reftable "$folder/bin/git" || { echo "the git of Debian 13 does not run here" >&2; exit 1; }
echo "$folder/bin"
