#!/usr/bin/env bash
# The unit tests under valgrind's memcheck, one line a program; needs the package valgrind. Ends with 1 when a program fails, reads what
# was never written, or definitely loses memory.
#
#   tests/reproduce/valgrind.sh BUILD [NAME ...]     all of them, or these: storage_job pack ...
set -euo pipefail
build=$(realpath "${1:-build}")
shift || true
cd "$(dirname "$0")/../.."
command -v valgrind >/dev/null || { echo "valgrind is not installed (Debian package valgrind)"; exit 77; }
wrap="valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite"
exec meson test -C "$build" --no-rebuild --suite unit --wrap="$wrap" --timeout-multiplier 60 --logbase valgrind "$@"
