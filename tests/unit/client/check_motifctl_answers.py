#!/usr/bin/env python3
"""Tests what each command of motifctl prints and requests for given answers of the server, among them answers with missing members. Every test runs motifctl
against answers that the test writes; tests/wire runs it against a real daemon.

usage: check_motifctl_answers.py MOTIFCTL [TEST...]"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "harness")]
from client_answers import JOB, PROBLEM, answer, get, of_job, run_tests  # noqa: E402

# ---- kinds, system, version, health ----------------------------------------------------------------------------------

FIELDS = [
    {"name": "width", "group": "model", "level": "basic", "type": "integer", "min": 1, "max": 64, "default": 8, "unit": "units", "meaning": "Wide|r."},
    {"name": "decay", "group": "optimizer", "level": "advanced", "type": "number", "min": 0, "max": 1, "min_open": True, "max_open": True, "default": 0.5,
     "meaning": "Weight decay.", "domains": ["digits", "audio", 5]},
    {"name": "mode", "group": "model", "level": "basic", "type": "choice", "choices": ["plain", "strict", 3], "default": "plain"},
    {"name": "set", "group": "data", "level": "research", "type": "text", "default": ""},
    {"name": "seed", "group": "data", "level": "basic", "range": "[0, 2^53 - 1]", "default": 1, "meaning": "Seed.", "domains": []},
]
KIND = {"kind": "toy", "title": "A toy", "summary": "For tests.", "fields": FIELDS, "presets": [{"name": "small", "meaning": "Little."}, "large"],
        "metrics": [{"name": "loss"}], "queries": []}


def a_kind_is_printed_with_its_basic_fields_in_groups(c):
    ran = c.run("kinds toy", get("/v1/kinds/toy", KIND))
    ran.says(0, "A toy\nFor tests.\n", "data\nFIELD  DEFAULT  ALLOWED        UNIT  MEANING\nseed   1        [0, 2^53 - 1]        Seed.\n",
             "model\n", "width  8        [1, 64]           units  Wide|r.\n", "mode   plain    plain, strict, ?         \n", "2 further fields",
             "PRESET  MEANING\nsmall   Little.\nlarge   \n", "METRIC  MEANING\nloss    \n", never=("decay", "QUERY"))
    c.run("kinds toy --all", get("/v1/kinds/toy", KIND)).says(
        0, "set ", "optimizer\n", "decay  0.5      (0, 1)         Weight decay. (digits, audio, ?)\n", never="further fields")


def a_kind_without_groups_is_one_table_of_fields(c):
    old = {"kind": "toy", "config": [{"name": "width", "type": "integer", "min": 1}, {"name": "flag"}]}
    c.run("kinds toy", get("/v1/kinds/toy", old)).says(0, "toy\n\n\nFIELD  DEFAULT  ALLOWED  UNIT  MEANING\nwidth  -        integer        \nflag   -        -              \n")


def markdown_of_a_kind_escapes_the_bars_of_a_meaning(c):
    c.run("kinds toy --markdown", get("/v1/kinds/toy", KIND)).says(
        0, "**data**\n\n| FIELD | DEFAULT | ALLOWED | UNIT | MEANING |\n| --- | --- | --- | --- | --- |\n| seed | 1 |", "| units | Wide\\|r. |\n", never="A toy")


def a_terminal_gets_bold_titles_and_meanings_that_are_wrapped(c):
    long = {**KIND, "fields": [{**FIELDS[0], "meaning": "A wider model " * 8}]}
    ran = c.at_terminal("kinds toy", get("/v1/kinds/toy", long), columns=60)
    ran.says(0, "\033[1mA toy\033[0m\n", "A wider model")
    assert max(len(re.sub("\033\\[[0-9;]*m", "", line)) for line in ran.out.splitlines()) <= 60, ran.out
    plain = c.at_terminal("kinds toy", get("/v1/kinds/toy", long), columns=60, NO_COLOR="1")
    assert "\033" not in plain.out and plain.out == re.sub("\033\\[[0-9;]*m", "", ran.out), plain.out
    listed = {"kinds": [{"kind": "toy", "presets": [{"name": "small", "meaning": "A small model " * 8}]}]}
    ran = c.at_terminal("kinds", get("/v1/kinds", listed), columns=60).says(0, "\033[1mKIND\033[0m", "A small model")
    assert max(len(re.sub("\033\\[[0-9;]*m", "", line)) for line in ran.out.splitlines()) <= 60, ran.out
    dumb = c.at_terminal("kinds toy", get("/v1/kinds/toy", long), columns=60, TERM="dumb")
    assert "\033" not in dumb.out and max(map(len, dumb.out.splitlines())) > 100, dumb.out


def quiet_prints_names_of_kinds_and_presets(c):
    kinds = {"kinds": [{"kind": "toy", "presets": ["a", {"name": "b", "meaning": "B."}]}, {}]}
    c.run("kinds -q", get("/v1/kinds", kinds)).says(0, "toy\n-\n")
    c.run("kinds toy -q", get("/v1/kinds/toy", KIND)).says(0, "small\nlarge\n")
    c.run("kinds", get("/v1/kinds", kinds)).says(0, "KIND  PRESET  MEANING\ntoy   a       \ntoy   b       B.\n")
    c.run(["kinds", "k" * 5000]).says(2, err="the kind is too long")


def the_versions_of_client_and_server_are_printed(c):
    c.run("version", get("/v1/system", {"version": "1.2", "build": "abc"})).says(0, "motifctl ", "motifd 1.2 (abc) at http://127.0.0.1:")
    c.run("version", get("/v1/system", {})).says(0, "motifd - (-) at ")
    assert json.loads(c.run("version --json", get("/v1/system", {"version": "1.2"})).says(0).out) == {
        "motifctl": c.run("--version").out.split()[1], "motifd": "1.2", "build": ""}
    c.run("version", get("/v1/system", {}, status=500)).says(1, "motifctl ", err="answered 500; is it motifd?")
    c.run("health --json", get("/readyz", {})).says(0, '{"ready":true}\n')
    c.run("system", get("/v1/system", {"version": "1", "database_bytes": 2048, "uptime_seconds": 61, "cpu": {"model": "Zen", "cores": 2}, "list": [1]})).says(
        0, "version         1\n", "database_bytes  2.0 KiB\n", "uptime_seconds  1:01\n", "\ncpu\n", "model  Zen\n", never="list")


# ---- jobs ------------------------------------------------------------------------------------------------------------

def a_job_without_members_is_listed_with_dashes(c):
    c.run("list", get("/v1/jobs?limit=20", {"jobs": [{}, {"id": JOB, "state": "running", "task": "evaluate", "name": "n", "created_at": "yesterday",
                                                          "progress": {"fraction": 0.5, "eta_seconds": 59.6}}], "next_cursor": "x"})).says(
        0, "-   ", "job ", JOB, "n (evaluation)  running  50 %        -         -  1:00  \n", "there are more jobs", never="(null)")
    c.run("list -q", get("/v1/jobs?limit=20", {"jobs": [{}, {"id": JOB}]})).says(0, f"-\n{JOB}\n", never="(null)")
    c.run("list", get("/v1/jobs?limit=20", {"jobs": [{"id": JOB, "created_at": "2999-01-01T00:00:00Z"}]})).says(0, "0 s ago\n")
    c.run("list", get("/v1/jobs?limit=20", {"jobs": []})).says(0, "no jobs\n")
    c.run(["list", "--name", "n" * 5000]).says(2, err="the options are too long")
    c.run(["list", "--where", "verdict=learned", "--where", "fpe"], get("/v1/jobs?limit=20&result.verdict=learned&result.fpe=", {"jobs": []})).says(0, "no jobs")


def an_action_reports_the_state_that_the_server_sends(c):
    c.run(f"cancel {JOB}", answer("POST", f"/v1/jobs/{JOB}/cancel", {"state": "cancelled"}, status=202)).says(0, f"{JOB}: cancel requested; the job is cancelled\n")
    c.run(f"cancel {JOB}", answer("POST", f"/v1/jobs/{JOB}/cancel", status=202)).says(0, f"{JOB}: cancel requested; the job is -\n", never="(null)")
    c.run(f"cancel -q {JOB}", answer("POST", f"/v1/jobs/{JOB}/cancel", {"state": "x"}, status=202)).says(0, f"{JOB}\n", never="requested")
    c.run(f"delete {JOB} {JOB}", answer("DELETE", f"/v1/jobs/{JOB}", status=204), answer("DELETE", f"/v1/jobs/{JOB}", {"title": "gone"}, status=404, kind=PROBLEM)).says(
        2, f"{JOB}: deleted\n", err="error: gone")
    assert c.run(f"rm --json {JOB}", answer("DELETE", f"/v1/jobs/{JOB}", status=204)).says(0).out == ""


def show_prints_each_part_of_a_job_that_is_there(c):
    job = {"id": JOB, "name": "", "kind": "toy", "state": "failed", "progress": {"fraction": 0.25}, "config": {"width": 8, "wide": True},
           "error": {"detail": "no memory", "step": 7, "more": {}, "none": None},
           "result": {"verdict": "partly", "findings": [{}, {"code": "few", "severity": "warning", "text": "Few.", "try": "motifctl show JOB, then JOB"}],
                      "fpe": None, "seconds": 3.2, "confusion": {"symbols": ["a"], "channels": [0, 1], "names": ["x|y"], "counts": [[3, 0], [1]]},
                      "motif_counts": {"samples": 4, "motifs": 2.5, "tokens": 2, "as_many": 0.5, "motifs_overlapping": 0.1, "overlap": 0.2,
                                       "samples_overlapping": 0.3, "channels": [1, 2], "unused": 1, "least_use": 0.25}}}
    ran = c.run(f"show {JOB} --config --confusion", of_job("", job))
    ran.says(0, "partly\n  - (-): -\n  few (warning): Few.\n", f"try: motifctl show {JOB}, then {JOB}\n", "state  failed\n", "fraction  0.25\n", "width  8\nwide   yes\n",
             "failed: no memory\n  step: 7\n", "false positive error (FPE)  -\n", "motifs a sample             2.5; tokens 2; as many in 50.0 %\n",
             "footprints overlap          10.0 % of motifs, by 20.0 %; in 30.0 % of samples\n", "channels used               1 of 2; the least at 0.25 of an even share\n",
             "seconds                     3 s\n", "TRUE  x/y  1\na       3  .\n", never=("none", "more"))
    c.run(f"show -q {JOB}", of_job("", job)).says(0, JOB + "\n")
    c.run(f"show {JOB}", of_job("", {"id": JOB, "state": "failed", "error": {}})).says(0, "failed: no reason given\n", never="config")
    bold = c.at_terminal(f"show {JOB}", of_job("", job))
    bold.says(0, "\033[33mpartly\033[0m", "\033[2m    try: ", "\033[31mfailed\033[0m")


def results_with_numbers_as_targets_show_r_squared(c):
    rows = [{"density": 0.1, "fpe": 0.5, "fne": 0.25, "ce": 0, "r2": 0.75, "checkpoint": 3}]
    c.run(f"show {JOB}", of_job("", {"id": JOB, "state": "succeeded", "result": {"r2": 0.75, "e2ee": 0.5, "fpe": 0.5, "by_density": rows}})).says(
        0, "false positive error (FPE)", "r2  ", "DENSITY     FPE     FNE      CE      R2  CHECKPOINT\n", "0.1  50.0 %  25.0 %  0.00 %  75.0 %           3\n",
        never="end-to-end")


def members_of_a_job_are_printed_by_their_paths(c):
    job = {"id": JOB, "name": "n", "config": {"seed": 12345678901, "on": True, "list": [1, [2]], "none": None}}

    def member(path, code, out="", err="", more=""):
        c.run(f"get {JOB} {path} {more}", of_job("", job)).says(code, out, err=err)
    member("name config.seed config.on config.none", 0, "n\n12345678901\ntrue\nnull\n")
    member("config.list.1.0", 0, "2\n")
    member("config.list", 0, "[1,[2]]\n")
    member("name", 0, '"n"\n', more="--json")
    for wrong in ("config.list.2", "config.list.x", "nothing", ".name", "config..seed", "name.x", "x" * 130):
        member(wrong, 2, err="the job has no member " + wrong[:80])
    c.run(f"get {JOB} -o yaml", of_job("", {"a": [], "B": {"c d": 1, "no": "x\ny", "": {}}, "l": [[1, {"z": []}], 2]})).says(
        0, 'a: []\n"B":\n  "c d": 1\n  "no": "x\\ny"\n  "": {}\nl:\n  -\n    - 1\n    -\n      z: []\n  - 2\n')
    c.run(f"get {JOB} config.on config.list -o yaml", of_job("", job)).says(0, "true\n---\n- 1\n- [2]\n")


def jobs_whose_names_are_odd_are_usage_errors(c):
    c.run(["show", ""]).says(2, err="a job is an id, a name")
    c.run(["show", "\x01" * 127], get("/v1/jobs?fields=id&limit=2&name=" + "%01" * 127, {"jobs": []})).says(2, err="no job has the name \\x01")
    c.run("show nothing", get("/v1/jobs?fields=id&limit=2&name=nothing", {})).says(2, err="error: not on the tape")
    c.run("show latest", get("/v1/jobs?fields=id&limit=2&name=latest", {"jobs": []}), get("/v1/jobs/latest", {"title": "no jobs"}, status=404, kind=PROBLEM)).says(
        2, err="error: no jobs")


# ---- requests that fail ----------------------------------------------------------------------------------------------

def every_status_has_its_exit_code_and_message(c):
    for status, code in ((400, 2), (401, 2), (403, 2), (404, 2), (409, 1), (412, 1), (422, 2), (429, 1), (500, 1), (503, 3)):
        c.run(f"show {JOB}", of_job("", {"title": "Refused", "detail": "for a reason"}, status=status, kind=PROBLEM)).says(
            code, err=("error: Refused: for a reason", *(["give a token with --token or in MOTIFD_TOKEN"] if status == 401 else [])))
    c.run(f"show {JOB}", of_job("", {"detail": "only a detail"}, status=400)).says(2, err="error: only a detail\n")
    c.run(f"show {JOB}", of_job("", {"title": "T", "detail": "hidden", "errors": [{"parameter": "limit", "detail": "too large"}, {}]}, status=422)).says(
        2, err="error: T\n  limit  too large\n", never="hidden")
    ran = c.run(f"show {JOB} --json", of_job("", {"title": "T"}, status=404)).says(2, '{"title":"T"}\n', err="error: T")
    assert ran.out == '{"title":"T"}\n'


def an_answer_that_is_no_document_is_an_error(c):
    c.run(f"show {JOB}", of_job("", b"")).says(1, err="the server's answer is empty")
    c.run(f"show {JOB}", of_job("", b"<html>")).says(1, err="is not JSON; is it motifd?")
    c.run(f"show {JOB}", of_job("", b'{"id":"x"}', cut=4)).says(3, err=("error: http://127.0.0.1", "transfer closed"))
    c.run("datasets put x " + c.file("a.csv", b"a\n"), get("/v1/datasets", b"no JSON")).says(1, err="is not JSON; is it motifd?")


def documents_without_their_lists_print_only_their_titles(c):
    other = JOB[:-1] + "H"
    for line, request, text in (
            (f"artifacts {JOB}", of_job("/artifacts", {}), "NAME  TYPE  SIZE\n"), (f"compare {JOB} {other}", answer("POST", f"/v1/jobs/{JOB}/compare", {}), "CHANNEL  OTHER"),
            (f"checkpoints {JOB}", of_job("/checkpoints", {}), "SEQ  STEP"), (f"channels {JOB}", of_job("/channels", {}), "CHANNEL  NAME"), ("kinds", get("/v1/kinds", {}), "KIND  PRESET"),
            (f"pairs {JOB}", of_job("/pairs", {}), "FIRST  SECOND"), (f"rules {JOB}", of_job("/rules", {}), "NAME  RULE"), ("datasets", get("/v1/datasets", {}), "NAME  KIND"),
            (f"metrics {JOB}", of_job("/metrics?max_points=500", {}), "SERIES  POINTS"), (f"metrics {JOB} --csv", of_job("/metrics?max_points=500", {}), "name,step,value\n"),
            (f"show {JOB}", of_job("", {}), "JOB")):
        ran = c.run(line, request).says(0, text, never=("null", "nan,"))
        assert len(ran.out.splitlines()) < 10, ran.out
    for line, request in ((f"plot {JOB}", of_job("/metrics?max_points=200&name=loss%2Caccuracy", {})), ("list -q", get("/v1/jobs?limit=20", {})), ("kinds -q", get("/v1/kinds", {})),
                          ("datasets -q", get("/v1/datasets", {}))):
        assert c.run(line, request).says(0).out == "", line
    c.run(f"rules {JOB} --channel 0 --other 1", of_job("/rules?channel=0&other=1", {"pairs": [{}, {"names": [{"first_before_second": [None]}]}]})).says(0, "-     - before -  0 or more")
    c.run(f"plot {JOB} x --png x.png", of_job("/metrics?max_points=1500&name=x", {})).says(2, err="the job has no such series")


def a_name_that_no_job_has_is_an_error_of_every_command(c):
    c.file("w", b"W")
    for line in ("artifacts none", "attestation none", "cancel none", "channels none", "checkpoints none", "compare none none", f"compare {JOB} none", "delete none", "evaluate none",
                 "export none", "get none", "intervene none 1=delete", "logs none", "metrics none", "motifs none", "motifs none --input w", "pairs none", "plot none", "predict none --input w",
                 "rules none", "show none", "sites none", "submit --like none", "submit --kind toy --from none", "verify none", "watch none"):
        ran = c.run(line, get("/v1/jobs?fields=id&limit=2&name=none", {"jobs": []}), get("/v1/jobs?fields=id&limit=1000", {}))
        ran.says(2, err="error: no job has the name none, or an id that begins with it\n")
        assert ran.out == "" and all(path.startswith("/v1/jobs?fields=id") for _, path, _, _ in ran.player.asked), ran.player.asked


def ids_that_are_no_ids_are_not_taken(c):
    listed = get("/v1/jobs?fields=id&limit=1000", {"jobs": [{}, {"id": 5}, {"id": "02" * 40}, {"id": "0333"}, {"id": JOB}], "next_cursor": ""})

    def none(name):
        return get(f"/v1/jobs?fields=id&limit=2&name={name}", {"jobs": []})
    c.run("show 01j", none("01j"), listed, of_job("", {"state": "queued"})).says(0, "queued")
    c.run("show 02", none("02"), listed).says(2, err="no job has the name 02")
    for wrong in ({}, {"id": ""}, {"id": 5}, {"id": "x" * 64}):
        c.run("show n", get("/v1/jobs?fields=id&limit=2&name=n", {"jobs": [wrong]})).says(1, err="the server's answer is not a job; is it motifd?")
        c.run("show latest", none("latest"), get("/v1/jobs/latest", wrong)).says(1, err="the server's answer is not a job; is it motifd?")
    c.run("show " + "a-" * 13, none("a-" * 13)).says(2, err="no job has the name a-a-")
    c.run("show " + "a" * 30, none("a" * 30)).says(2, err="no job has the name aaa")
    c.run("show 01", none("01"), get("/v1/jobs?fields=id&limit=1000", {"jobs": [], "next_cursor": "c" * 5000})).says(2, err="not enough memory to list the jobs")


def a_wide_confusion_matrix_is_left_to_json(c):
    def job(width):
        return of_job("", {"id": JOB, "state": "succeeded", "result": {"confusion": {"symbols": ["a"], "channels": list(range(width)), "counts": [[5] * width]}}})
    c.run(f"show {JOB} --confusion", job(23)).says(0, "TRUE  0  1", "22\na     5  5")
    c.run(f"show {JOB} --confusion", job(24)).says(0, "\nthe confusion matrix has 24 channels, too many for a table; --json prints it\n", never="TRUE")


# ---- the connection --------------------------------------------------------------------------------------------------

def settings_of_the_connection_come_from_options_and_environment(c):
    job = of_job("", {"id": JOB, "state": "succeeded"})
    trace = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    assert c.run(f"show {JOB}", job, TRACEPARENT=trace, MOTIFD_TOKEN="").says(0).player.header("traceparent") == trace
    for wrong in ("", trace[:-1], trace.replace("b", "x")):
        assert c.run(f"show {JOB}", job, TRACEPARENT=wrong).says(0).player.header("traceparent") is None, wrong
    assert c.run(f"show {JOB}", job, MOTIFD_TOKEN="").player.header("Authorization") is None
    assert c.run(f"show {JOB} --token t", job, MOTIFD_TOKEN="u").player.header("Authorization") == "Bearer t"
    for name in ("MOTIFD_CACERT", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        c.run(f"show {JOB} --server https://127.0.0.1:1", **{name: "/no/such"}).says(
            2, err="error: /no/such cannot be read; --cacert, MOTIFD_CACERT, CURL_CA_BUNDLE or SSL_CERT_FILE must name a PEM file")
        for value in ("/no/such", ""):  # a server without TLS needs no authorities
            c.run(f"show {JOB}", job, **{name: value}).says(0, "succeeded")
    c.run(f"show {JOB} --cacert /no/option", job, MOTIFD_CACERT="/no/variable").says(2, err="/no/option cannot be read")
    c.run(f"show {JOB} --server https://127.0.0.1:1").says(3, err=("error: https://127.0.0.1:1: ", "is the daemon running?"))
    c.run(f"show {JOB} --server /").says(2, err="the server must be a URL such as http://127.0.0.1:8080; got /")
    https = c.run("health", MOTIFD_SERVER=c.server.play(None).replace("http:", "https:"))
    https.says(3, err=("error: https://127.0.0.1", "the server may expect http:// instead of https://"))


def headers_are_read_whatever_their_white_space(c):
    ran = c.run(f"watch {JOB} --interval 20", of_job("", {"id": JOB, "state": "queued"}, ETag='\t "a" ', ETagged='"b"'), of_job("", {"id": JOB, "state": "succeeded"}))
    ran.says(0, "succeeded")
    asked = [headers.get("If-None-Match") for _, path, headers, _ in ran.player.asked if path == f"/v1/jobs/{JOB}"]
    assert asked == [None, '"a"'], asked


if __name__ == "__main__":
    run_tests(globals())
