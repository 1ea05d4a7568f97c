#!/usr/bin/env python3
"""Tests texts from the upload to the marked words: a table of texts is stored as numbers of words, a job trains on it, and queries take texts and answer with
the words that the model marks.

usage: wire_texts.py MOTIFD"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import JSON, Daemon, run_checks  # noqa: E402

ANIMALS = ["cat", "dog", "bird"]
FILLER = "the a of quick slow river stone blue red house garden über naïve walks runs under over near far".split()
SMALL = {"dataset_name": "animals", "effort": "quick", "reference": False, "presence_samples": 12000, "total_samples": 30000, "reading_samples": 4000}


def table(rows=500):
    draw = random.Random(1)
    lines = ["id,text,labels"]
    for row in range(rows):
        words = [draw.choice(FILLER) for _ in range(draw.randint(4, 9))]
        named = draw.sample(ANIMALS, draw.randint(0, 2))
        for animal in named:
            words.insert(draw.randint(0, len(words)), animal.capitalize() if row % 2 else animal)
        lines.append(f"{row},{' '.join(words)}{'.' if row % 3 else ''}{f' rare{row}' if row % 5 == 0 else ''},{'|'.join(sorted(named))}")
    return "\n".join(lines)


def upload(daemon, name, text, kind="text/csv", **options):
    query = "&".join(f"{key}={value}" for key, value in options.items())
    return daemon.ask("PUT", f"/v1/datasets/{name}?{query}", text.encode(), kind)


def texts_are_described(daemon, job):
    status, _, made = daemon.ask("GET", "/v1/datasets/animals")
    assert status == 200 and made["kind"] == "texts" and made["samples"] == 500 and made["shape"]["channels"] == 1, made
    recognised = made["recognised"]
    assert "Unicode word boundaries, in lower case; vocabulary of 23 words" in recognised["words"], recognised
    assert made["first"][1]["text"].split()[0].strip(".").lower() in FILLER + ANIMALS, made["first"]
    assert daemon.ask("GET", "/v1/datasets/animals/preview")[0] == 200
    facts = daemon.ask("GET", f"/v1/jobs/{job}")[2]["facts"]
    assert facts["dataset_words"] == 23 + 33 and facts["dataset_channels"] == 1, facts


def queries_take_texts(daemon, job):
    text = "Über a river: the DOG walks."
    status, _, answer = daemon.ask("POST", f"/v1/jobs/{job}/motifs", {"inputs": [text, "a stone", {"sample": {"seed": 2}}]})
    assert status == 200, answer
    dog, none, sample = answer["answers"]
    assert dog["prediction"] == ["dog"] and none["prediction"] == [], answer
    assert dog["text"] == text and none["text"] == "a stone", answer
    marks = [word for motif in dog["motifs"] if motif["name"] == "dog" for word in motif["words"]]
    assert {"word": "DOG", "start": 18, "end": 21} in marks, dog["motifs"]
    assert sample["text"] and all(sample["text"][w["start"]:w["end"]] == w["word"] for m in sample["motifs"] for w in m["words"]), sample
    status, _, answer = daemon.ask("POST", f"/v1/jobs/{job}/predict", {"inputs": ["the bird"]})
    assert status == 200 and answer["answers"][0]["prediction"] == ["bird"], answer


def numbers_of_words_are_an_input_too(daemon, job):
    answers = daemon.ask("POST", f"/v1/jobs/{job}/motifs", {"inputs": [{"sample": {"seed": seed}} for seed in range(9)]})[2]["answers"]
    sample = next(answer for answer in answers if answer["motifs"])
    status, _, answer = daemon.ask("POST", f"/v1/jobs/{job}/motifs", {"inputs": [{"array": sample["input"]["values"]}]})
    assert status == 200 and answer["answers"][0]["motifs"][0]["value"] == sample["motifs"][0]["value"], answer
    for wrong in (0.5, 57, -1):
        values = [wrong] + sample["input"]["values"][1:]
        status, _, problem = daemon.ask("POST", f"/v1/jobs/{job}/motifs", {"inputs": [{"array": values}]})
        assert status == 422 and "numbers of words, 0 to 56" in problem["errors"][0]["detail"], problem


def python_client_trains_on_texts(daemon, job):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
    import motifd
    rows = [line.split(",") for line in table().splitlines()[1:]]
    texts, names = [row[1].split() for row in rows], [set(row[2].split("|")) - {""} for row in rows]
    small = {name: value for name, value in SMALL.items() if name not in ("dataset_name", "effort", "total_samples")}
    model = motifd.Motifs(f"http://127.0.0.1:{daemon.port}", effort="quick", total_samples=SMALL["total_samples"], config=small, progress=False)
    model.fit(texts, names)
    assert model.predict([["the", "bird", "walks"], "a stone"]).tolist() == [{"bird"}, set()]
    boxes = model.boxes(["the bird walks"])[0]
    assert any({"word": "bird", "start": 4, "end": 8} in box["words"] for box in boxes if box["name"] == "bird"), boxes
    assert model.transform(texts[:2]).shape[0] == 2


def json_lines_are_the_same_set(daemon, job):
    rows = [line.split(",", 2) for line in table().splitlines()[1:]]
    lines = [json.dumps({"id": row[0], "text": row[1], "labels": [name for name in row[2].split("|") if name]}) for row in rows]
    status, _, made = upload(daemon, "lines", "\n".join(lines), "application/x-ndjson")
    assert status == 201, made
    csv, same = daemon.ask("GET", "/v1/datasets/animals")[2], daemon.ask("GET", "/v1/datasets/lines")[2]
    for member in ("kind", "samples", "shape", "vocabulary", "first"):
        assert csv[member] == same[member], (member, csv[member], same[member])
    assert csv["recognised"]["words"] == same["recognised"]["words"], same
    status, _, problem = upload(daemon, "broken", lines[0] + '\n{"text": "a", "labels": ["x"]', "application/jsonl")
    assert status == 422 and "line 2 is no JSON object" in str(problem), problem
    status, _, made = upload(daemon, "events", '{"tokens": ["log in", "Pay"], "label": "x"}\n{"tokens": ["Pay", "log in"], "label": "y"}\n', "application/x-ndjson")
    assert status == 201 and "4 words, as given, separated by tabs, case kept; vocabulary of 2 words" in made["recognised"]["words"], made


def files_of_texts_are_inputs(daemon, job):
    status, _, answer = daemon.ask("POST", f"/v1/jobs/{job}/predict", "\ufeffthe bird\n\nThe DOG walks.\r\n".encode(), "text/plain")
    assert status == 200 and [one["prediction"] for one in answer["answers"]] == [["bird"], ["dog"]], answer
    status, _, answer = daemon.ask("POST", f"/v1/jobs/{job}/motifs", {"inputs": [["the", "dog"]]})
    assert status == 200 and answer["answers"][0]["text"] == "the\tdog" and answer["answers"][0]["prediction"] == ["dog"], answer
    for body, kind in ((b" \n", "text/plain"), (b"\xff\n", "text/plain"), ({"inputs": [["a\tb"]]}, JSON), ({"inputs": [[1]]}, JSON)):
        status, _, problem = daemon.ask("POST", f"/v1/jobs/{job}/predict", body, kind)
        assert status == 422, problem


def motifctl(daemon, *arguments):
    return subprocess.run([os.path.join(os.path.dirname(sys.argv[1]), "motifctl"), "--server", daemon.url, *arguments], check=True, capture_output=True, text=True).stdout


def motifctl_takes_texts(daemon, job):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write('the "bird\na stone\n')
        file.flush()
        asked = motifctl(daemon, "predict", job, "--input", file.name)
        assert asked.count("input ") == 2 and "bird" in asked, asked
    drawn = motifctl(daemon, "motifs", job, "--text", "Über a river: the DOG walks.")
    line = next(line for line in drawn.splitlines() if "Über" in line)
    below = drawn.splitlines()[drawn.splitlines().index(line) + 1]
    assert below[line.index("DOG")] not in " =" and below[line.index("DOG") + 1] == "=", drawn
    assert "'DOG'" in drawn and "prediction  dog" in drawn, drawn


def events_keep_their_names(daemon, job):
    draw = random.Random(2)
    rows = ["sample,time,event,labels"]
    for sample in range(200):
        alarm = sample % 2
        names = [draw.choice(("open door", "Beep", "walk")) for _ in range(6)]
        names = names[:3] + ["fire alarm"] * alarm + names[3:]
        rows += [f"s{sample},{time},{name},{'alarm' * alarm}" for time, name in sorted(enumerate(names), key=lambda row: -row[0])]
    status, _, made = upload(daemon, "log", "\n".join(rows))
    assert status == 201 and made["kind"] == "texts" and made["samples"] == 200, made
    assert "events in the order of their times, separated by tabs, case kept; vocabulary of 4 words, 0.0 % other" in made["recognised"]["words"], made
    made = train(daemon, "log")
    tokens = ["walk", "Beep", "walk", "fire alarm", "Beep", "open door", "Beep"]
    answers = daemon.ask("POST", f"/v1/jobs/{made['id']}/motifs", {"inputs": [tokens, "\t".join(tokens), {"sample": {"seed": 1}}]})[2]["answers"]
    assert answers[0]["text"] == "\t".join(tokens) and answers[0]["prediction"] == answers[1]["prediction"] == ["alarm"], answers
    shown = {word["word"] for answer in answers for motif in answer["motifs"] for word in motif["words"]}
    assert shown and shown <= {"walk", "fire alarm", "Beep", "open door"}, answers


def wrong_texts_are_refused(daemon, job):
    status, _, problem = daemon.ask("POST", f"/v1/jobs/{job}/motifs", {"inputs": ["the cat", "a " * 40]})
    assert status == 422 and problem["errors"][0]["pointer"] == "/inputs/1", problem
    assert "the text has 40 words; the longest of the data set has" in problem["errors"][0]["detail"], problem
    status, _, problem = upload(daemon, "other", "a,label\n1,x\n2,y\n", cut=5)
    assert status == 422 and "name their column with text" in str(problem), problem


def train(daemon, name):
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": {**SMALL, "dataset_name": name}})
    assert status == 201, job
    for _ in range(6000):
        now = daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]
        if now["state"] not in ("queued", "running"):
            break
        time.sleep(0.05)
    assert now["state"] == "succeeded" and now["result"]["exact"] > 0.9, now
    return now


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(sys.argv[1], os.path.join(folder, "db"), "--data", os.path.join(folder, "data")) as daemon:
            status, _, made = upload(daemon, "animals", table())
            assert status == 201, made
            job = train(daemon, "animals")["id"]
            run_checks(*[(check.__name__, lambda check=check: check(daemon, job)) for check in (
                texts_are_described, queries_take_texts, numbers_of_words_are_an_input_too, json_lines_are_the_same_set, files_of_texts_are_inputs, motifctl_takes_texts, events_keep_their_names, python_client_trains_on_texts, wrong_texts_are_refused)])


main()
