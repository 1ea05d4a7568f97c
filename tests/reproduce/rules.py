#!/usr/bin/env python3
"""Data with a planted rule between two motifs, and a check of the rules that the query `rules` finds.

    tests/reproduce/rules.py make silence 16000 1 > rule.fa     # silence, order, distance or none; number of samples; seed
    tests/reproduce/rules.py check URL JOB silence              # exits with 1 if the rule is not found, or a rule is found that was not planted
    tests/reproduce/rules.py splicing URL JOB                   # the same for a job with the preset splicing

A sample has 200 random bases. With a probability of 0.8 each, it has the words CCACCAGGGGGCGC ("ctcf") and AGATAAGA ("gata") with 4 % substitutions, in
either order; 60 % of the gaps are below 60. The label lists the names, but `ctcf` is silenced:

    silence   if gata lies after ctcf with a gap below 60
    order     if gata lies before ctcf
    distance  if the gap is below 30
    none      never

In the preset `splicing`, six proteins enhance or silence each kind of splice site from within 60 bases, and which they do depends on the side (docs/lab/splicing.md).
"""
import json
import random
import sys
import urllib.request

CTCF, GATA, LENGTH = "CCACCAGGGGGCGC", "AGATAAGA", 200
RULES = {
    "silence": (lambda ctcf_first, gap: ctcf_first and gap < 60, "not ctcf before gata within 60 bases"),
    "order": (lambda ctcf_first, gap: not ctcf_first, "not gata before ctcf at any distance"),
    "distance": (lambda ctcf_first, gap: gap < 30, "not ctcf and gata within 30 bases"),
    "none": (lambda ctcf_first, gap: False, None),
}


def sample(rng, silenced):
    bases = rng.choices("ACGT", k=LENGTH)
    places, label = {}, []
    has = {word: rng.random() < 0.8 for word in (CTCF, GATA)}
    gap = rng.randrange(60) if rng.random() < 0.6 else rng.randrange(60, 150)
    order = [CTCF, GATA] if rng.random() < 0.5 else [GATA, CTCF]
    if all(has.values()):
        start = rng.randrange(LENGTH - len(CTCF) - len(GATA) - gap)
        places = {order[0]: start, order[1]: start + len(order[0]) + gap}
    else:
        places = {word: rng.randrange(LENGTH - len(word)) for word in has if has[word]}
    for word, start in places.items():
        for i, base in enumerate(word):
            bases[start + i] = base if rng.random() > 0.04 else rng.choice("ACGT")
    if has[CTCF] and not (has[GATA] and silenced(order[0] == CTCF, gap)):
        label.append("ctcf")
    if has[GATA]:
        label.append("gata")
    return " ".join(label), "".join(bases)


def make(rule, count, seed):
    rng = random.Random(seed)
    for i in range(count):
        label, bases = sample(rng, RULES[rule][0])
        print(f">s{i} {label}\n{bases}")


def check(url, job, rule):
    with urllib.request.urlopen(f"{url}/v1/jobs/{job}/channels?set=test&samples=10") as answer:
        channel = {use["name"]: use["channel"] for use in json.load(answer)["channels"]}
    with urllib.request.urlopen(f"{url}/v1/jobs/{job}/rules?samples=100&channel={channel['ctcf']}&other={channel['gata']}") as answer:
        pair = json.load(answer)["pairs"][0]
    wrong = 0
    for name in pair["names"]:
        wanted = RULES[rule][1] if name["name"] == "ctcf" else None
        wrong += name["rule"] != wanted
        print(f"{name['name']}: {name['rule'] or 'no rule'}{'' if name['rule'] == wanted else f'; planted: {wanted}'}")
        for order in ("first_before_second", "second_before_first"):
            print(f"  {order}: " + ", ".join(f"{share['share']:.2f} [{share['low']:.2f}, {share['high']:.2f}]" for share in name[order]))
        for effect in ("order", "distance", "strand"):
            if name[effect]:
                print(f"  {effect}: {name[effect]['difference']:+.2f} [{name[effect]['low']:+.2f}, {name[effect]['high']:+.2f}], p = {name[effect]['p']:.1e}")
    return wrong


# For donors and acceptors: the effect from upstream and from downstream.
PROTEINS = {"GAAGR": ("+-", "-+"), "TAGGG": ("-+", "+-"), "TGCATG": ("++", "--"), "CACACC": ("--", "++"), "TGTAAA": ("++", "++"), "CCGGAT": ("--", "--")}


def splicing(url, job):
    def get(path):
        with urllib.request.urlopen(f"{url}/v1/jobs/{job}/{path}") as answer:
            return json.load(answer)
    channel = {}
    for use in get("channels?set=test&samples=100")["channels"]:
        channel.setdefault(use["symbol"], use["channel"])
    right = effects = 0
    intervals = []
    print("| site | protein | from upstream | from downstream | the core alone | rule |\n| --- | --- | --- | --- | --- | --- |")
    for kind, (site, core) in enumerate((("donor", "5P"), ("acceptor", "3P"))):
        for protein, signs in PROTEINS.items():
            pair = get(f"rules?samples=150&channel={channel[core]}&other={channel[protein]}")["pairs"][0]
            name = next(name for name in pair["names"] if name["name"] == site)
            core_first = pair["first"]["channel"] == channel[core]
            orders = name["second_before_first"], name["first_before_second"]
            upstream, downstream = orders if core_first else orders[::-1]
            without = name["first_alone" if core_first else "second_alone"]
            alone = without["share"]
            intervals.append((site, protein, *(f"{share['share']:.2f} ({share['low']:.2f} to {share['high']:.2f})" for share in (upstream[1], downstream[1], without))))
            cells = []
            for shares, sign in zip((upstream, downstream), signs[kind]):
                near = [share["share"] for share in shares[:3]]  # gaps below 60
                effects += 1
                good = all((share > alone) == (sign == "+") for share in near)
                right += good
                cells.append(f"{sign} {' '.join(f'{share:.2f}' for share in near)}{'' if good else ' WRONG'}")
            rule = (name["rule"] or "none").replace(f"channel {channel[core]}", core).replace(f"channel {channel[protein]}", protein)
            print(f"| {site} | {protein} | {cells[0]} | {cells[1]} | {alone:.2f} | {rule} |")
    print("\n| site | protein | 10 to 29 upstream | 10 to 29 downstream | the core alone |\n| --- | --- | --- | --- | --- |")
    for row in intervals:
        print("| " + " | ".join(row) + " |")
    print(f"\n{right} of {effects} effects have the right sign at all three gaps below 60")
    return effects - right


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "make" and sys.argv[2] in RULES:
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif len(sys.argv) == 4 and sys.argv[1] == "splicing":
        sys.exit(splicing(*sys.argv[2:4]) > 0)
    elif len(sys.argv) == 5 and sys.argv[1] == "check" and sys.argv[4] in RULES:
        sys.exit(check(*sys.argv[2:5]) > 0)
    else:
        sys.exit(__doc__)
