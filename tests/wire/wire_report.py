#!/usr/bin/env python3
"""Tests the report of a job with a real daemon: its parts, that names never become markup, its size, and that its commands repeat the job.

usage: wire_report.py MOTIFD MOTIFCTL [CHECK...]        exit code 77: NumPy is missing"""
import html
import html.parser
import io
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness"), os.path.join(HERE, "..", "..", "clients", "python")]
import motifd  # noqa: E402
from daemon import TINY, Daemon, run_each  # noqa: E402

RNG = np.random.default_rng(1)
SMALL = {"width": 8, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "units": 1, "validation_every": 40, "validation_samples": 8, "checkpoint_every": 100,
         "curriculum": 0}
NAMES = ["<script>alert(1)</script>", "a&b\"c'd</style><svg onload=alert(2)>"]
TITLE = "<img src=x onerror=alert(3)> & \"quotes\" '$(touch pwned)'"
TAGS = {"html", "head", "meta", "link", "title", "style", "body", "main", "h1", "h2", "h3", "p", "ul", "li", "b", "code", "table", "tr", "th", "td", "div", "figure", "figcaption", "img",
        "br", "mark", "pre"}
VOID = {"meta", "link", "img", "br"}


class Page(html.parser.HTMLParser):
    """The text and the elements of a report. Refuses all that a report must not contain."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.text, self.images, self.classes = [], "", [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS, tag
        for name, value in attributes:
            assert name in ("charset", "content", "http-equiv", "name", "lang", "class", "src", "alt") or (tag, name, value) in (("link", "rel", "icon"), ("link", "href", "data:,")), (tag, name)
            assert name != "src" or re.match(r"data:image/(png|svg\+xml);base64,[A-Za-z0-9+/]+=*$", value), value[:80]
            if name == "src":
                self.images.append(value)
            if name == "class" and tag == "figure":
                self.classes.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data):
        self.text += data


def page_of(daemon, job):
    status, headers, body = daemon.ask("GET", f"/v1/jobs/{job}/report")
    assert status == 200 and headers.get_content_type() == "text/html", (status, body)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script" not in policy and "sandbox" in policy, policy
    assert len(body) < 5_000_000
    text = body.decode()
    assert '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; img-src data:">' in text
    assert "http:" not in text.replace("http-equiv", "") and "https:" not in text and "url(" not in text and "@import" not in text
    return Page(text), text


def npz(**arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def submit(daemon, name, config, wait=True, **more):
    job = motifd.Client(daemon.url).submit(more.pop("kind", "sparling"), config, more.pop("preset", "dataset"), name=name)
    return (job.wait(120) if wait else job).id


def put(daemon, name, data, query=""):
    status, _, body = daemon.ask("PUT", f"/v1/datasets/{name}{query}", data, "application/x-npz")
    assert status == 201, body


def a_report_has_all_its_parts(daemon, motifctl, folder):
    x, y = np.zeros((200, 20, 20), "f4"), RNG.integers(2, size=200)
    for picture, kind, (r, c) in zip(x, y, RNG.integers(2, 13, (200, 2))):
        picture[r:r + 5, c:c + 5] = np.eye(5) + kind * np.eye(5)[::-1]
    put(daemon, "named", npz(x=x, y=np.eye(2, dtype=bool)[y], names=np.array(NAMES)))
    job = submit(daemon, TITLE, {**SMALL, "dataset_name": "named", "total_samples": 600, "seed": 3, "reference": True})
    page, text = page_of(daemon, job)
    document = daemon.ask("GET", f"/v1/jobs/{job}")[2]
    result = document["result"]
    for part in ("Verdict", "Figures", "Error rates by name", "Are the marks the evidence?", "Test inputs", "Settings", "Versions and hashes", "Commands that repeat it", "95 % interval",
                 result["verdict"], job, result["weights_sha256"], result["build"], *NAMES, TITLE, *(finding["text"] for finding in result["findings"])):
        assert part in page.text, part
    exact = result["evidence"]
    assert f"{100 * exact['exact']:.1f} %{100 * exact['exact_low']:.1f} % to {100 * exact['exact_high']:.1f} %" in page.text, exact
    shares = [one[key] for one in exact["names"] for key in ("sufficient", "necessary") if one[key]]
    assert shares and all(f"{100 * s['share']:.0f} % ({100 * s['low']:.0f} to {100 * s['high']:.0f} %)" in page.text for s in shares), shares
    asked = daemon.ask("POST", f"/v1/jobs/{job}/motifs", {"inputs": [{"sample": {"seed": seed}} for seed in range(32)]})[2]["answers"]
    right = sum(answer["label"] == answer["prediction"] for answer in asked)
    shown = {name: page.classes.count(name) for name in ("right", "wrong")}
    assert shown == {"right": min(8, right), "wrong": min(8, 32 - right)} and sum(shown.values()) > 3, (shown, right)
    said = lambda answer: [f"rows {a} to {b - 1}, columns {c} to {d - 1}" for a, b, c, d in (m["extent"] for m in answer["motifs"][:1] if m["maximal"] and m["extent"])]
    doubtful = sorted(asked, key=lambda answer: answer["probability"])
    for is_right in (True, False):
        for answer in [a for a in doubtful if (a["label"] == a["prediction"]) == is_right][:8]:
            assert all(text in page.text for text in said(answer)), said(answer)
    with_pins = Page(daemon.ask("GET", f"/v1/jobs/{job}/report?inputs=31,7,100")[2].decode())
    assert len(with_pins.classes) > 3 and with_pins.text.index("Pinned") < with_pins.text.index("answers", with_pins.text.index("Pinned")) and "Pinned" not in page.text
    assert all(text in with_pins.text for seed in (31, 7) for text in said(asked[seed]))
    for wrong in ("x", "-1", "1,,2", "1;2", "4294967296", ",".join("1" * 33)):
        status, _, problem = daemon.ask("GET", f"/v1/jobs/{job}/report?inputs={wrong}")
        assert status == 400 and problem["errors"][0]["parameter"] == "inputs" and "seeds of samples" in problem["errors"][0]["detail"], (wrong, problem)
    attested = daemon.ask("GET", f"/v1/jobs/{job}/attestation")[2]
    assert attested["chain"] in page.text and attested["dataset"]["sha256"] in page.text
    changed = set(re.findall(r'<tr class="changed"><td>(\w+)</td>', text))
    assert {"dataset_name", "width", "total_samples", "seed"} <= changed and not changed & {"momentum", "effort"}, changed
    return job


def its_commands_repeat_the_job(daemon, motifctl, folder):
    job = next(one for one in daemon.ask("GET", "/v1/jobs")[2]["jobs"] if one["name"] == TITLE)["id"]
    commands = html.unescape(re.search(r"<pre>(.*?)</pre>", page_of(daemon, job)[1], re.S).group(1))
    command = commands.split("# the same training, on the daemon that")[0].replace("--watch", "--dry-run --json")
    bin = os.path.join(folder, "bin")
    os.makedirs(bin, exist_ok=True)
    if not os.path.exists(os.path.join(bin, "motifctl")):
        os.symlink(motifctl, os.path.join(bin, "motifctl"))
    ran = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "MOTIFD_SERVER": daemon.url})
    assert ran.returncode == 0, (command, ran)
    wanted = daemon.ask("GET", f"/v1/jobs/{job}")[2]["config"]
    got = json.loads(ran.stdout)["config"]  # motifctl prints 15 digits of a number
    assert set(got) == set(wanted)
    other = {name: (got[name], wanted[name]) for name in wanted if got[name] != wanted[name] and not (isinstance(wanted[name], float) and np.isclose(got[name], wanted[name], 1e-14))}
    assert not other, other
    assert f"density_factor={wanted['density_factor']!r}" in commands
    assert f"motifctl verify {job}\n" in commands and f"motifctl submit --like {job} --watch\n" in commands
    assert not os.path.exists(os.path.join(folder, "pwned"))


def clients_save_the_same_bytes(daemon, motifctl, folder):
    job = next(one for one in daemon.ask("GET", "/v1/jobs")[2]["jobs"] if one["name"] == TITLE)["id"]
    served = daemon.ask("GET", f"/v1/jobs/{job}/report")[2]
    ran = subprocess.run([motifctl, "--server", daemon.url, "report", job], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout.startswith(f"{job}.html: "), ran
    python = motifd.Client(daemon.url).job(job).report(os.path.join(folder, "python.html"))
    for name in (os.path.join(folder, f"{job}.html"), python):
        with open(name, "rb") as file:
            assert file.read() == served, name
    again = subprocess.run([motifctl, "--server", daemon.url, "report", job, "--output", "named.html"], cwd=folder, capture_output=True, text=True)
    assert again.returncode == 0 and os.path.exists(os.path.join(folder, "named.html")), again


def letters_and_texts_are_marked(daemon, motifctl, folder):
    rows = []
    for at in range(160):
        word = list(RNG.choice(list("ACGT"), 40))
        word[10:18] = "TGACTCAT" if at % 2 else "GGGGCGGG"
        rows.append(f">s{at} {'ap1' if at % 2 else 'sp1'}\n{''.join(word)}\n")
    assert daemon.ask("PUT", "/v1/datasets/letters", "".join(rows).encode(), "text/x-fasta")[0] == 201
    page, text = page_of(daemon, submit(daemon, "letters", {"dataset_name": "letters", "total_samples": 2000}))
    marks = re.findall(r"<mark>([ACGT]+)</mark>", text)
    assert marks and any("GACTC" in mark or "GGGCGG" in mark for mark in marks), marks
    assert any(image.startswith("data:image/svg+xml") for image in page.images), "logos"
    words = "text,label\n" + "\n".join(f"we <b>play</b> {'jazz' if at % 2 else 'rain'} & more today,{'music' if at % 2 else 'weather'}" for at in range(160))
    assert daemon.ask("PUT", "/v1/datasets/words", words.encode(), "text/csv")[0] == 201
    page, text = page_of(daemon, submit(daemon, "words", {"dataset_name": "words", "total_samples": 800}))
    assert "we <b>play</b> " in page.text and "&lt;b&gt;" in text and "<b>play" not in text


def large_pictures_are_left_out(daemon, motifctl, folder):
    x = RNG.integers(0, 255, (24, 570, 570), np.uint8)
    put(daemon, "large", npz(x=x, y=np.arange(24) % 2))
    page, text = page_of(daemon, submit(daemon, "large", {**SMALL, "dataset_name": "large", "total_samples": 8, "test_samples": 2, "motif_samples": 2,
                                                           "validation_samples": 2, "stage_samples": 1, "width": 4, "first_window": 3, "presence_weight": 0, "reference": False}))
    assert len(text) > 2_000_000 and "pictures are left out, because the report would be too large" in page.text, len(text)


def other_jobs_have_reports_too(daemon, motifctl, folder):
    tiny = motifd.Client(daemon.url).submit("sparling", TINY, "digitcircle-quick").wait(120).id
    assert "end-to-end error" in page_of(daemon, tiny)[0].text
    status, _, evaluation = daemon.ask("POST", f"/v1/jobs/{tiny}/evaluation", {"samples": 8})
    assert status == 201
    motifd.Job(motifd.Client(daemon.url), evaluation).wait(120)
    assert "Figures" in page_of(daemon, evaluation["id"])[0].text
    table = "a,b,c\n" + "\n".join(",".join(f"{v:.3f}" for v in row) for row in RNG.normal(size=(60, 3)))
    assert daemon.ask("PUT", "/v1/datasets/rows", table.encode(), "text/csv")[0] == 201
    factors = submit(daemon, "rows", {"dataset_name": "rows", "epochs": 3}, kind="factors")
    assert "mse" in page_of(daemon, factors)[0].text
    paths = motifd.Client(daemon.url).submit("pathways", {"filters": 2, "filter_length": 32, "length": 128, "nonzeros": "1,2,4", "trials": 10}).wait(120).id
    assert "no verdict" in page_of(daemon, paths)[0].text or "Verdict" in page_of(daemon, paths)[0].text
    assert daemon.ask("DELETE", "/v1/datasets/rows")[0] in (204, 409)
    assert "Commands" in page_of(daemon, factors)[0].text  # without its data, too


def what_has_no_result_has_no_report(daemon, motifctl, folder):
    job = motifd.Client(daemon.url).submit("sparling", {**TINY, "total_samples": 100_000_000, "plateau_validations": 0}, "digitcircle-quick")
    status, _, problem = daemon.ask("GET", f"/v1/jobs/{job.id}/report")
    assert status == 409 and "has no result yet" in problem["detail"], problem
    job.cancel()
    assert daemon.ask("GET", "/v1/jobs/01JD8AAAAAAAAAAAAAAAAAAAAA/report")[0] == 404
    assert daemon.ask("POST", f"/v1/jobs/{job.id}/report", {})[0] == 405
    assert daemon.ask("GET", f"/v1/jobs/{job.id}/report?x=1")[0] == 400


CHECKS = (a_report_has_all_its_parts, its_commands_repeat_the_job, clients_save_the_same_bytes, letters_and_texts_are_marked, other_jobs_have_reports_too,
          what_has_no_result_has_no_report, large_pictures_are_left_out)


def main(program, motifctl, *names):
    """names: the checks to run, in their order; none: all."""
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(os.path.abspath(program), os.path.join(folder, "db"), "--data", os.path.join(folder, "sets"), "--workers", "2", "--threads-per-job", "1") as daemon:
            run_each((daemon, os.path.abspath(motifctl), folder), *(check for check in CHECKS if not names or check.__name__ in names))


if __name__ == "__main__":
    main(*sys.argv[1:])
