#!/usr/bin/env python3
"""Shows that the tests find faults: puts one small fault after another into a source, and checks that a test fails in a build of deploy/test that runs it.

    meson setup build -Dtests=true
    meson setup build-asan -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
    tests/reproduce/mutants.py build build-asan [TEST ...]    all faults, or those that these tests must find

A test runs in the build that its suites name (tests/unit/meson.build): unit-release in the first one, unit-asan and wire in the second one. The sources
must be those of the last commit; the script restores each one. Prints rows for docs/lab/structure.md. Exits with 1 if a fault is not found."""
import json
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# (file, text, the text with a fault, the test that must find it, what the fault is)
MUTANTS = [
    ("core/base/buf.c", "needed = buf->size + count + 1;", "needed = buf->size + count;", "buf", "one byte beyond a heap block is written"),
    ("core/base/utf8.c", "u[0] == 0xED && u[1] > 0x9F", "u[0] == 0xED && u[1] > 0xBF", "utf8", "surrogates are accepted"),
    ("core/base/arena.c", "free(block);", "(void)block;", "arena", "blocks are not freed"),
    ("core/methods/shared/multi_start.c", "bool decided = multi_start->chosen >= 0;", "bool decided = multi_start->chosen > 0;", "multi_start",
     "the choice of the first fit is forgotten"),
    ("core/data/files/picture_file.c", '".tif", ".tiff"', '".tif"', "picture_file", "an ending of pictures is unknown"),
    ("core/metrics/edit_distance.c", "row[j - 1] + 1,", "row[j - 1] + 2,", "statistics", "an insertion costs two"),
    ("core/metrics/interval.c", "+ square / 4) / count)", "+ square / 2) / count)", "interval", "an interval is too wide"),
    ("core/metrics/binning.c", "(entropy + bits * density)", "(entropy + bits)", "binning", "a wrong formula"),
    ("core/formats/npy.c", "if (length + 1 >= size)", "if (length >= size + 8)", "fuzz_npy", "a text in a header overflows the stack"),
    ("core/formats/file_type.c", '"application/x-npy"', '"application/npy"', "file_type", "a media type has a wrong name"),
    ("core/kernels/fast/rows.c", "acc = v_add(acc, LOAD(x + r * ld_x + j));", "acc = v_add(acc, v_load(x + r * ld_x + j));", "kernels_rows",
     "a kernel reads beyond the last row, with the right result"),
    ("core/kernels/fast/rows.c", "STORE(x + i, v_mul(LOAD(x + i), f));", "STORE(x + i, v_add(LOAD(x + i), f));", "kernels_rows", "a sum instead of a product"),
    ("core/kernels/fast/max_pool.c", "vi_all(y * c->max_pool_w + x), where);", "vi_all(x * c->max_pool_w + y), where);", "kernels_map", "a wrong place of a maximum"),
    ("core/autodiff/ops/add.c", "(real)n->factor, node->out->grad);", "(real)(2 * n->factor), node->out->grad);", "autodiff_bottleneck", "a gradient is twice as large"),
    ("core/nn/adam.c", "factor = config->clip_norm / norm;", "factor = norm / config->clip_norm;", "nn_params", "large gradients are not clipped"),
    ("core/nn/adam.c", "    free(adam->squares);\n", "", "nn_params", "a block of memory is not freed"),
    ("core/nn/select_kth.c", "else if (at >= greater)", "else if (at > greater)", "nn_sparse", "a wrong order statistic"),
    ("core/superposed/theory.c", "return p / 3 - p * p / 4;", "return p / 3 - p * p / 3;", "superposition_theory", "a wrong variance"),
    ("trainer/pace.c", "fmax(RECENT_SECONDS, STEADY_SHARE * age)", "fmin(RECENT_SECONDS, STEADY_SHARE * age)", "pace", "the steady rate is not steady"),
    ("storage/jobs/lease_state.c", "{LEASE_ENDED, LEASE_END, LEASE_ENDED},", "{LEASE_ENDED, LEASE_END, LEASE_HELD}, ", "lease", "an ended lease is held again"),
    ("storage/series/pyramid.c", " || count > BLOCK_POINTS * POINT_BYTES)", ")", "storage_metric", "a damaged block that is too long is read"),
    ("storage/database/retry_queue.c", "            lost++;\n            c->destroy(c);", "            lost++;", "storage_full", "lost writes are not freed"),
    ("api/http/uri.c", "if (length + 1 >= out_bytes)", "if (length > out_bytes)", "api_text", "one byte beyond a block on the stack is written"),
    ("api/http/cursor.c", "bytes + ID_BYTES, CHECK_BYTES) == 0", "bytes + ID_BYTES, 1) <= 255", "api_lists", "a cursor of another list is accepted"),
    ("api/client/yaml.c", '"yes", "no", "on"', '"yes", "on"', "motifctl", "a key is read as a boolean"),
    ("server/http/rate.c", "rate->most = 2 * rate->per_second;", "rate->most = 3 * rate->per_second;", "rate", "too many requests are granted"),
    ("server/http/auth.c", "*any = *any || !tokens[i].revoked;", "*any = *any || tokens[i].revoked;", "auth", "a revoked token counts"),
    ("server/http/guard.c", "if (total > rules->headers_max)", "if (total > 2 * rules->headers_max)", "wire_framing", "headers may be twice as large"),
]
RELEASE, SANITIZED = {"unit-release"}, {"unit-asan", "wire"}


def tests_of(build):
    """The test's command, environment and suites, by name."""
    done = subprocess.run(["meson", "introspect", build, "--tests"], check=True, capture_output=True, text=True)
    return {test["name"]: {suite.split(":")[-1] for suite in test["suite"]} for test in json.loads(done.stdout)}


def run(build, test):
    """Builds what a test needs, and runs it. The answer is "built wrong", "found" or "not found"."""
    done = subprocess.run(["meson", "test", "-C", build, "--timeout-multiplier", "6", test], cwd=ROOT, capture_output=True, text=True)
    if "FAILED: " in done.stdout:
        return "built wrong"
    return "not found" if done.returncode == 0 else "found"


def main(release, sanitized, *wanted):
    suites = tests_of(release)
    missed = 0
    print("| file | fault | found by | suite |\n| --- | --- | --- | --- |")
    for file, text, fault, test, meaning in MUTANTS:
        if wanted and test not in wanted:
            continue
        builds = [(build, suite) for build, names in ((release, RELEASE), (sanitized, SANITIZED)) for suite in sorted(suites[test] & names)]
        path = ROOT / file
        good = path.read_text()
        assert good.count(text) == 1, f"{file} contains {text!r} {good.count(text)} times"
        began, answers = time.monotonic(), []
        try:
            path.write_text(good.replace(text, fault))
            for build, suite in builds:
                answers.append((suite, run(build, test)))
        finally:
            path.write_text(good)
        missed += "found" not in [answer for _, answer in answers]
        print(f"| `{file}` | {meaning} | `{test}` | {', '.join(suite if answer == 'found' else f'{suite}: {answer}' for suite, answer in answers)} |", flush=True)
        print(f"{test}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the source is restored
    sys.exit(main(*sys.argv[1:]))
