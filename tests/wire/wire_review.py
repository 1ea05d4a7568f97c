#!/usr/bin/env python3
"""Tests reviews with a real daemon: cards, answers and their history, the estimate, files of other programs, what is refused, and that a restart loses nothing.

usage: wire_review.py MOTIFD MOTIFCTL [CHECK...]        exit code 77: NumPy is missing"""
import io
import json
import math
import os
import signal
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
from daemon import Daemon, run_each  # noqa: E402

RNG = np.random.default_rng(1)
SMALL = {"width": 8, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "units": 1, "validation_every": 40, "validation_samples": 8, "checkpoint_every": 100,
         "curriculum": 0, "reference": False}
SHARES = ("marks", "answers", "yes", "no", "unsure", "share", "low", "high")


def train(daemon, name, body, kind, **config):
    assert daemon.ask("PUT", f"/v1/datasets/{name}", body, kind)[0] == 201
    motifd.Client(daemon.url).submit("sparling", {**SMALL, "dataset_name": name, "seed": 3, **config}, "dataset", name=name).wait(120)


def train_pictures(daemon):
    x, y = np.zeros((240, 20, 20), "f4"), RNG.integers(2, size=240)
    for picture, kind, (r, c) in zip(x, y, RNG.integers(2, 13, (240, 2))):
        picture[r:r + 5, c:c + 5] = np.eye(5) + kind * np.eye(5)[::-1]
    out = io.BytesIO()
    np.savez_compressed(out, x=x, y=np.eye(2, dtype=bool)[y], names=np.array(["one line", "a & cross"]))
    train(daemon, "pictures", out.getvalue(), "application/x-npz", total_samples=600)


def get(daemon, query="", job="pictures", status=200):
    got, headers, body = daemon.ask("GET", f"/v1/jobs/{job}/review{query}")
    assert got == status, (got, body)
    return body


def post(daemon, answers, query="", status=200, job="pictures"):
    """Sends a list of answers."""
    return send(daemon, {"answers": answers}, query, status, job)


def send(daemon, body, query="", status=200, job="pictures"):
    got, headers, answer = daemon.ask("POST", f"/v1/jobs/{job}/review{query}", body)
    assert got == status, (got, answer)
    return answer


def cards_are_drawn_by_the_seed(daemon, motifctl, folder):
    train_pictures(daemon)
    review = get(daemon)
    cards = review["cards"]
    assert review == get(daemon) and review["count"] == 20 and review["marks"] >= len(cards) > 5, review
    assert [card["id"] for card in get(daemon, "?count=40")["cards"]][:len(cards)] == [card["id"] for card in cards], "a longer review begins with the shorter one"
    assert [card["id"] for card in get(daemon, "?seed=1")["cards"]] != [card["id"] for card in cards]
    assert len({card["id"] for card in cards}) == len(cards) and all(card["answer"] is None for card in cards)
    assert review["estimate"]["share"] is None and (review["estimate"]["low"], review["estimate"]["high"]) == (0, 1) and review["threshold"] is None
    assert sum(name["marks"] for name in review["estimate"]["names"]) == review["marks"]
    listed = daemon.ask("GET", "/v1/jobs/pictures/marks")[2]["marks"]
    assert len(listed) == review["marks"]
    for card in cards:
        row = next(m for m in listed if [m["sample"], m["channel"], m["position"]] == [card["input"]["sample"], card["channel"], card["position"]])
        assert (row["value"], row["q"], row["extent"], row["number"]) == (card["score"], card["q"], card["extent"], card["input"]["index"])
        assert card["name"] == (row["name"] or f"channel {row['channel']}")
    for link, size in ((cards[0]["picture"], None), (cards[0]["picture"] + "&plain=true", (20, 20))):
        status, headers, png = daemon.ask("GET", link, headers={"Accept": "image/png"})
        assert status == 200 and headers.get_content_type() == "image/png" and png[:4] == b"\x89PNG"
        sides = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
        assert sides == size if size else min(sides) > 100, sides
    shown = daemon.ask("GET", cards[0]["picture"])[2]
    assert [m["position"] for m in shown["marks"]] == [cards[0]["position"]]
    assert daemon.ask("GET", cards[0]["picture"].replace("&col=", "&col=9"))[0] == 404 and daemon.ask("GET", "/v1/jobs/pictures/marks/99999")[0] == 404


def answers_give_an_estimate(daemon, motifctl, folder):
    cards = get(daemon, "?count=100")["cards"]
    first = post(daemon, [{"id": cards[0]["id"], "answer": "yes"}])["estimate"]
    assert [first[key] for key in SHARES[1:6]] == [1, 1, 0, 0, 0] and first["low"] == 0 and abs(first["high"] - 0.975) < 1e-9, first
    state = post(daemon, [{"id": card["id"], "answer": "no" if at % 4 == 1 else "unsure" if at == 6 else "yes"} for at, card in enumerate(cards)], "?count=100")
    estimate, review = state["estimate"], get(daemon, "?count=100")
    assert review["estimate"] == estimate and review["threshold"] == state["threshold"] and state["received"] == len(cards)
    assert estimate["answers"] == 100 and estimate["yes"] + estimate["no"] + estimate["unsure"] == 100 and estimate["unsure"] >= 1
    assert estimate["low"] < estimate["share"] < estimate["high"] and abs(estimate["share"] - estimate["no"] / (estimate["yes"] + estimate["no"])) < 1e-12
    assert [card["answer"]["answer"] for card in review["cards"]][:3] == ["yes", "no", "yes"]
    strict, loose = (post(daemon, [], f"?count=100&false_marks={share}")["threshold"] for share in (0.0001, 0.9))
    assert loose["marks"] == loose["of"] == state["marks"] and loose["share"] <= 0.9 and loose["low"] <= estimate["low"], (strict, loose)
    assert strict is None or strict["marks"] < state["marks"]


def history_is_kept_and_exported(daemon, motifctl, folder):
    card = get(daemon)["cards"][0]
    post(daemon, [{"id": card["id"], "answer": "yes"}])  # the same again: no new version
    post(daemon, [{"id": card["id"], "answer": "no", "box": [0, 5, 3, 9]}])
    history = [one for one in get(daemon, "?format=answers")["answers"] if one["id"] == card["id"]]
    assert [(one["answer"], one["box"], one["version"]) for one in history] == [("yes", None, 1), ("no", [0, 5, 3, 9], 2)], history
    assert history[0]["place"]["extent"] == card["extent"] and history[0]["place"]["number"] == card["input"]["index"]
    assert get(daemon)["cards"][0]["answer"]["version"] == 2
    everything = get(daemon, "?format=answers")
    send(daemon, everything)  # what is exported can be imported; the newest version wins
    assert get(daemon)["cards"][0]["answer"]["answer"] == "no"


def a_restart_loses_no_answer(daemon, motifctl, folder):
    before = get(daemon, "?format=answers")
    daemon.end(signal.SIGKILL)
    daemon.start()
    assert get(daemon, "?format=answers") == before and len(before["answers"]) > 5


def other_programs_read_the_marks(daemon, motifctl, folder):
    cards = get(daemon)["cards"]
    tasks = get(daemon, "?format=label-studio")
    assert [task["data"]["mark"] for task in tasks] == [card["id"] for card in cards]
    for task, card in zip(tasks, cards):
        region, = task["predictions"][0]["result"]
        value, box = region["value"], card["answer"]["box"] or card["extent"] or [card["position"][0], card["position"][0] + 1, card["position"][1], card["position"][1] + 1]
        got = [value["y"] / 5, (value["y"] + value["height"]) / 5, value["x"] / 5, (value["x"] + value["width"]) / 5]
        assert np.allclose(got, box) and value["rectanglelabels"] == [card["name"]], (value, box)
        assert task["data"]["image"].startswith(daemon.url + "/v1/jobs/") and (card["answer"] is None) == (task["annotations"] == [])
    coco = get(daemon, "?format=coco")
    names = {one["id"]: one["name"] for one in coco["categories"]}
    kept = [card for card in cards if card["answer"] and (card["answer"]["answer"] == "yes" or card["answer"]["box"])]
    assert len(coco["annotations"]) == len(kept) and {one["id"] for one in coco["images"]} == {card["input"]["sample"] for card in cards}
    for one, card in zip(coco["annotations"], kept):
        x, y, w, h = one["bbox"]
        assert names[one["category_id"]] == card["name"] and one["image_id"] == card["input"]["sample"]
        assert [y, y + h, x, x + w] == (card["answer"]["box"] or card["extent"] or [y, y + 1, x, x + 1])
    get(daemon, "?format=raven", status=409)


def label_studio_comes_back(daemon, motifctl, folder):
    tasks = get(daemon, "?format=label-studio&seed=5")
    for at, task in enumerate(tasks):
        region = json.loads(json.dumps(task["predictions"][0]["result"][0]))
        if at == 1:
            region["value"].update(x=10, y=20, width=25, height=30)
        task["annotations"] = [{"result": [region] if at != 0 else []}]
    tasks[2]["annotations"] = [{"result": [{"type": "choices", "value": {"choices": ["unsure"]}}]}]
    tasks[3]["annotations"] = []
    tasks[4]["annotations"].append({"was_cancelled": True, "result": []})
    state = send(daemon, tasks, "?seed=5")
    assert state["received"] == len(tasks) - 1
    answers = {card["id"]: card["answer"] for card in get(daemon, "?seed=5")["cards"]}
    got = [answers[task["data"]["mark"]] for task in tasks]
    assert got[0]["answer"] == "no" and got[1]["answer"] == "yes" and got[1]["box"] == [4, 10, 2, 7] and got[2]["answer"] == "unsure" and got[4]["answer"] == "yes", got
    tasks[0]["data"]["mark"] = "1.2.3.4.5"
    assert send(daemon, tasks, status=422)["errors"][0]["pointer"] == "/0/data/mark"


def what_is_wrong_is_refused(daemon, motifctl, folder):
    card = get(daemon)["cards"][0]["id"]
    before = get(daemon, "?format=answers")
    wrong = [{"id": "1.1", "answer": "yes"}, {"id": card, "answer": "maybe"}, {"id": card, "answer": "yes", "box": [5, 4, 0, 1]}, {"id": card, "answer": "yes", "answr": 1}, 7]
    faults = post(daemon, wrong, status=422)["errors"]
    assert [fault["pointer"] for fault in faults] == ["/answers/0/id", "/answers/1/answer", "/answers/2/box", "/answers/3/answr", "/answers/4"], faults
    assert "20" in faults[2]["detail"] and "yes, no or unsure" in faults[1]["detail"]
    for body, status in ((b"{", 400), (b"{}", 422), (b'{"answers":3}', 422), (b'{"answers":[],"more":1}', 422), (b"3", 422)):
        assert daemon.ask("POST", "/v1/jobs/pictures/review", body)[0] == status, body
    assert get(daemon, "?format=answers") == before, "one wrong answer: none is stored"
    for query in ("?count=0", "?count=501", "?seed=-1", "?samples=0", "?false_marks=2", "?false_marks=x", "?format=xml", "?checkpoint=x"):
        get(daemon, query, status=400)
    get(daemon, "?checkpoint=999", status=404)
    get(daemon, job="01ARZ3NDEKTSV4RRFFQ69G5FAV", status=404)


def clients_ask_and_answer(daemon, motifctl, folder):
    def ctl(*words, said=""):
        ran = subprocess.run([motifctl, "--server", daemon.url, "review", "letters", "--seed", "9", *words], input=said, cwd=folder, capture_output=True, text=True)
        assert ran.returncode == 0, ran
        return ran.stdout
    cards = [card for card in get(daemon, "?seed=9", job="letters")["cards"] if card["answer"] is None]
    assert len(cards) >= 4
    out = ctl(said="?\ny\nn\ns\nu\nq\n")
    got = {card["id"]: card["answer"] and card["answer"]["answer"] for card in get(daemon, "?seed=9", job="letters")["cards"]}
    assert [got[card["id"]] for card in cards[:4]] == ["yes", "no", None, "unsure"], got
    assert out.count("is this") >= 5 and any(f"[{card['context'][1]}]" in out for card in cards[:1]) and "marks are false (95 %: " in out and "NAME" in out, out
    assert json.loads(ctl("--json"))["estimate"] == get(daemon, "?seed=9", job="letters")["estimate"]
    with open(os.path.join(folder, "tasks.json"), "w") as file:
        file.write(ctl("--format", "answers"))
    assert "marks are false" in ctl("--answers", "tasks.json", "--false-marks", "0.5")
    model = motifd.Motifs.load("letters", daemon.url)
    review = model.review(seed=11)
    free = [card["id"] for card in review["cards"] if card["answer"] is None][:3]
    said = model.review(seed=11, answers=dict(zip(free, (True, (False, [0, 1, 0, 4]), None))))
    got = {card["id"]: card["answer"] for card in said["cards"]}
    assert [got[id]["answer"] for id in free] == ["yes", "no", "unsure"] and got[free[1]]["box"] == [0, 1, 0, 4]
    assert model.job_.review_picture(review["cards"][0])[:4] == b"\x89PNG"


def evidence_is_measured(daemon, motifctl, folder):
    first, again, other = (daemon.ask("GET", f"/v1/jobs/pictures/evidence?samples=30&seed={seed}") for seed in (0, 0, 1))
    assert first[0] == 200 and first[2] == again[2] and other[2]["seed"] == 1, first
    assert first[2]["judge"] == "model" and first[2]["samples"] == 30 and {one["name"] for one in first[2]["names"]} <= {"one line", "a & cross"}
    for one in first[2]["names"]:
        assert one["inputs"] + one["unread"] + one["unmarked"] <= 30
        for share in (one["sufficient"], one["necessary"], *(one["control"] or {}).values()):
            assert share is None or share["low"] - 1e-9 <= share["share"] <= share["high"] + 1e-9 and abs(share["share"] * one["inputs"] - round(share["share"] * one["inputs"])) < 1e-9
    assert daemon.ask("GET", "/v1/jobs/pictures/evidence?samples=0")[0] == 400
    assert "names" not in daemon.ask("GET", "/v1/jobs/pictures")[2]["result"]["evidence"], "without a reference, a result has no test of marks"


def the_result_has_the_evidence_of_both_judges(daemon, motifctl, folder):
    motifd.Client(daemon.url).submit("sparling", {**SMALL, "dataset_name": "pictures", "seed": 3, "total_samples": 600, "reference": True}, "dataset", name="judged").wait(120)
    result = daemon.ask("GET", "/v1/jobs/judged")[2]["result"]
    asked = daemon.ask("GET", f"/v1/jobs/judged/evidence?samples={result['evidence']['inputs']}")[2]["names"]
    counts = lambda names: [{key: value for key, value in one.items() if key not in ("reference", "findings")} for one in names]  # noqa: E731
    assert counts(result["evidence"]["names"]) == counts(asked), "a query repeats the result bit for bit"
    judged = [one for one in result["evidence"]["names"] if "reference" in one]
    assert judged and all(0 < one["reference"]["inputs"] <= one["inputs"] and one["reference"]["control"] for one in judged), result["evidence"]["names"]


def letters_have_a_context(daemon, motifctl, folder):
    rows = []
    for at in range(400):
        word = list(RNG.choice(list("ACGT"), 60))
        word[30:38] = "TGACTCAT" if at % 2 else "GGGGCGGG"
        rows.append(f">s{at} {'ap1' if at % 2 else 'sp1'}\n{''.join(word)}\n")
    train(daemon, "letters", "".join(rows).encode(), "text/x-fasta", total_samples=1200)
    cards = get(daemon, job="letters")["cards"]
    card = next(card for card in cards if card["extent"])
    before, marked, after = card["context"]
    assert len(marked) == card["extent"][3] - card["extent"][2] and len(before) <= 20 and card["input"]["file"].startswith("s")
    assert before + marked + after in rows[card["input"]["index"]]
    task = get(daemon, "?format=label-studio", job="letters")[cards.index(card)]
    value = task["predictions"][0]["result"][0]["value"]
    assert task["data"]["text"] == before + marked + after and task["data"]["text"][value["start"]:value["end"]] == marked == value["text"]
    get(daemon, "?format=coco", job="letters", status=409)


def sites_have_error_rates(daemon, motifctl, folder):
    def sites(share, media_type="application/json"):
        status, headers, body = daemon.ask("GET", f"/v1/jobs/letters/sites{share and f'?false_marks={share!r}'}", headers={"Accept": media_type})
        assert status == 200, body
        return body["sites"] if media_type == "application/json" else [line.split("\t") for line in body.decode().splitlines() if line[0] != "#"]

    plain, every = sites(""), sites(0.999)
    place = lambda site: [site[key] for key in ("record", "start", "channel", "value", "p")]  # noqa: E731
    assert all(0 < s["p"] <= 1 and "q" not in s for s in plain if s["p"]) and any(s["p"] for s in plain)
    kept = [place(s) for s in every]
    assert kept == [place(s) for s in plain if place(s) in kept] and len(kept) > 20 and all(0 < s["q"] <= 0.999 for s in every)
    for channel in {s["channel"] for s in every}:
        q = [s["q"] for s in sorted(every, key=lambda s: -s["value"]) if s["channel"] == channel]
        assert q == sorted(q), "a stronger site has no larger q"
        strongest = max((s for s in every if s["channel"] == channel), key=lambda s: s["value"])
        assert strongest["q"] <= 400 * strongest["p"], "q is at most that of the strongest site alone"
    limit = sorted(s["q"] for s in every)[len(every) // 2]
    few = sites(limit)
    assert few == [s for s in every if s["q"] <= limit] and few
    assert [s["score"] for s in few] == [min(1000, round(-10 * math.log10(s["q"]))) for s in few]
    assert [int(row[4]) for row in sites(limit, "text/x-bed")] == [s["score"] for s in few]
    assert all(abs(float(row[7]) + math.log10(s["p"])) < 1e-4 and abs(float(row[8]) + math.log10(s["q"])) < 1e-4 for s, row in zip(few, sites(limit, "text/x-narrowpeak")))
    assert all(f";q={s['q']:.6g}" in row[8] for s, row in zip(few, sites(limit, "text/x-gff3")))
    bed = subprocess.run([motifctl, "--server", daemon.url, "sites", "letters", "--false-marks", repr(limit)], capture_output=True, text=True, check=True).stdout
    assert len(bed.splitlines()) == len(few)


def answers_go_with_their_job(daemon, motifctl, folder):
    post(daemon, [{"id": get(daemon, job="letters")["cards"][0]["id"], "answer": "yes"}], job="letters")
    job = daemon.ask("GET", "/v1/jobs/letters")[2]["id"]
    assert daemon.ask("DELETE", f"/v1/jobs/{job}")[0] == 204 and daemon.ask("GET", f"/v1/jobs/{job}/review")[0] == 404
    daemon.end()
    checked = subprocess.run([daemon.command[0], "check", "--db", daemon.command[5]], capture_output=True, text=True)
    assert checked.returncode == 0, checked
    daemon.start()


def main():
    checks = [cards_are_drawn_by_the_seed, answers_give_an_estimate, history_is_kept_and_exported, a_restart_loses_no_answer, other_programs_read_the_marks, label_studio_comes_back,
              what_is_wrong_is_refused, evidence_is_measured, the_result_has_the_evidence_of_both_judges, letters_have_a_context, sites_have_error_rates, clients_ask_and_answer, answers_go_with_their_job]
    with tempfile.TemporaryDirectory() as folder, Daemon(sys.argv[1], os.path.join(folder, "motifd.db"), "--data", os.path.join(folder, "data")) as daemon:
        run_each((daemon, os.path.abspath(sys.argv[2]), folder), *(check for check in checks if check.__name__ in sys.argv[3:] or not sys.argv[3:]))


if __name__ == "__main__":
    main()
