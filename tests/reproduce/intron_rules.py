#!/usr/bin/env python3
"""Windows of real genes with splice sites, and the rules that a model of them has learned.

    tests/reproduce/intron_rules.py make smallgenes.fa smallgenes.gff3 train > introns.fa    # train: four fifths of the genes; test: the others
    tests/reproduce/intron_rules.py check URL JOB introns-test.fa

A window has 200 bases of a gene and begins at a multiple of 20 bases. Its label lists what the annotation places into it: `donor` (the start of an
intron), `acceptor` (the end of one) and `intron` (both ends of one intron). In a window with a donor, an acceptor and no whole intron, the acceptor
lies before the donor. Such windows are rare, so all that begin at an even base are taken. Windows that cut a site are left out: a site has 3 bases of
the exon and 6 of the intron (donor), or 12 of the intron and 3 of the exon (acceptor). The introns are those of the source WormBase. The genes are
on the forward strand of their records.

`check` prints how well the model answers each name in windows of genes that it has not seen, and the rules of the model for the pair of donor and
acceptor: the shares of 200 samples in which it answers each name, with intervals of 95 %.
"""
import collections
import hashlib
import json
import sys
import urllib.request

LENGTH, STEP, NEAR, EACH = 200, 20, 2, 100
DONOR, ACCEPTOR = (3, 6), (12, 3)  # bases before and behind the end of an intron
NAMES = ("donor", "acceptor", "intron")


def genes_of(fasta, gff):
    """Returns {name: (letters, introns)}; introns are (first, end), counted from 0."""
    letters, introns = {}, collections.defaultdict(set)
    with open(fasta, encoding="utf-8") as file:
        for line in file:
            if line.startswith(">"):
                name = line[1:].split()[0]
                letters[name] = []
            else:
                letters[name].append(line.strip().upper())
    with open(gff, encoding="utf-8") as file:
        for words in (line.split("\t") for line in file if not line.startswith("#")):
            if len(words) > 6 and words[1] == "WormBase" and words[2] == "intron" and words[6] == "+":
                introns[words[0]].add((int(words[3]) - 1, int(words[4])))
    return {name: ("".join(parts), sorted(introns[name])) for name, parts in letters.items()}


def label_of(introns, start):
    """Returns the names of the window that begins at a position; None if the window cuts a site."""
    inside = {}
    for kind, sites, (before, behind) in (("donor", {a for a, _ in introns}, DONOR), ("acceptor", {b for _, b in introns}, ACCEPTOR)):
        inside[kind] = {at for at in sites if start <= at - before and at + behind <= start + LENGTH}
        if any(start < at + behind and at - before < start + LENGTH for at in sites - inside[kind]):
            return None
    whole = any(a in inside["donor"] and b in inside["acceptor"] for a, b in introns)
    return [name for name, has in zip(NAMES, (inside["donor"], inside["acceptor"], whole)) if has]


def make(fasta, gff, part):
    for name, (letters, introns) in genes_of(fasta, gff).items():
        if (hashlib.sha256(name.encode()).digest()[0] < 51) != (part == "test"):
            continue
        for start in range(0, len(letters) - LENGTH + 1, NEAR):
            label, window = label_of(introns, start), letters[start:start + LENGTH]
            if label is not None and set(window) <= set("ACGT") and (start % STEP == 0 or label == ["donor", "acceptor"]):
                print(f">{name}:{start} {' '.join(label)}\n{window}")


def ask(url, job, query, body=None):
    request = urllib.request.Request(f"{url}/v1/jobs/{job}/{query}", body, {"Content-Type": "text/x-fasta"} if body else {})
    with urllib.request.urlopen(request, timeout=1200) as answer:
        return json.load(answer)


def answers_of(url, job, records):
    for first in range(0, len(records), EACH):
        text = "".join(f">w{i}\n{letters}\n" for i, (_, letters) in enumerate(records[first:first + EACH]))
        yield from (set(one["prediction"]) for one in ask(url, job, "predict", text.encode())["answers"])


def share(value):
    return f"{value['share']:.2f} ({value['low']:.2f} to {value['high']:.2f})"


def check(url, job, path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    records = [(set(head.split()[1:]), letters) for head, letters in zip(lines[::2], lines[1::2])]
    answers = list(answers_of(url, job, records))
    print(f"{len(records)} windows of other genes\n\n| name | windows with it | recall | precision |\n| --- | --- | --- | --- |")
    for name in NAMES:
        has, said = ({i for i, names in enumerate(every) if name in names} for every in ([label for label, _ in records], answers))
        print(f"| {name} | {len(has)} | {len(has & said) / max(1, len(has)):.2f} | {len(has & said) / max(1, len(said)):.2f} |")
    channel = {use["name"]: use for use in ask(url, job, "channels?set=test&samples=1000")["channels"]}
    print("\n" + "\n".join(f"channel {use['channel']} ({name}): {use['matrix']['consensus']}" for name, use in channel.items() if use["matrix"]))
    pair = ask(url, job, f"rules?samples=200&channel={channel['donor']['channel']}&other={channel['acceptor']['channel']}")["pairs"][0]
    for name in pair["names"]:
        print(f"\n{name['name']}: {name['rule'] or 'no rule'}; neither motif {share(name['neither'])}, the first alone "
              f"{share(name['first_alone'])}, the second alone {share(name['second_alone'])}\n")
        for effect in ("order", "distance", "strand"):
            if name[effect]:
                print(f"{effect}: {name[effect]['difference']:+.2f} ({name[effect]['low']:+.2f} to {name[effect]['high']:+.2f}), p = {name[effect]['p']:.1e}")
        for order in ("first_before_second", "second_before_first"):
            first, second = (pair[end]["name"] for end in (("first", "second") if order == "first_before_second" else ("second", "first")))
            print(f"| {first} before {second} | " + " | ".join(share(value) for value in name[order]) + " |")


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "make" and sys.argv[4] in ("train", "test"):
        make(*sys.argv[2:5])
    elif len(sys.argv) == 5 and sys.argv[1] == "check":
        check(*sys.argv[2:5])
    else:
        sys.exit(__doc__)
