#!/usr/bin/env bash
# Reads and changes the inputs of a fuzz target, which lie in tests/fuzz/corpus/TARGET.tar.xz.
#
#   tests/fuzz/corpus.sh unpack TARGET FOLDER      writes its inputs into FOLDER
#   tests/fuzz/corpus.sh add TARGET FILE ...       adds files, each under its name; an input of that name is replaced
#   tests/fuzz/corpus.sh pack TARGET FOLDER        the files of FOLDER become all inputs
set -euo pipefail
here=$(dirname "$(realpath "$0")")
archive=$here/corpus/$2.tar.xz

unpack() { [ ! -e "$archive" ] || tar -xJf "$archive" -C "$1"; }
# The same files give the same bytes.
pack() { (cd "$1" && LC_ALL=C ls) | tar -cf - -C "$1" --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -T - | xz -9e >"$archive.new" && mv "$archive.new" "$archive"; }

case $1 in
    unpack) mkdir -p "$3" && unpack "$3" ;;
    add)
        folder=$(mktemp -d)
        trap 'rm -rf "$folder"' EXIT
        unpack "$folder"
        cp -- "${@:3}" "$folder/"
        pack "$folder" ;;
    pack) pack "$3" ;;
    *) sed -n '2,6s/^# \?//p' "$0"; exit 2 ;;
esac
