#!/usr/bin/env bash
# Every allocation of every route, method and migration fails in turn: what the tests do in strides, without them.
#
#   tests/reproduce/faults.sh BUILD     minutes with a release build, hours with sanitizers (which see leaks)
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
