#!/usr/bin/env bash
# Lets every allocation of every route, method and migration fail, one after another. In the unit suite the same tests let only every n-th allocation fail.
#
#   tests/reproduce/faults.sh BUILD     takes minutes with a release build, hours with sanitizers (which also find leaks)
set -euo pipefail
build=$(realpath "${1:-build}")
cd "$(dirname "$0")/../.."
export MOTIF_FAULT_STRIDE=1
status=0
"$build/tests/unit/test_api_memory" || status=1
"$build/tests/unit/test_api_models" || status=1
"$build/tests/unit/test_method_memory" || status=1
"$build/tests/unit/test_storage_migrate" || status=1
exit "$status"
