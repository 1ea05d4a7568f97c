#!/usr/bin/env python3
"""Tests what the commands of motifctl that ask a model print for given answers of the server: channels, motifs, predict, intervene, sites, pairs, rules and
others.

usage: check_motifctl_queries.py MOTIFCTL [TEST...]"""
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "harness")]
from client_answers import JOB, PROBLEM, answer, get, of_job, run_tests  # noqa: E402

FORMATS = [{"name": "bed", "media_type": "text/x-bed", "endings": ["bed"]}, {"name": "gff", "media_type": "text/x-gff3", "endings": ["gff", "gff3", 5]}, {}]
FILES = [{"name": "fasta", "media_type": "text/x-fasta", "endings": ["fa", "fasta"], "pieces": "records"},
         {"name": "csv", "media_type": "text/csv", "endings": ["csv"], "pieces": "rows"}, {"name": "npy", "media_type": "application/x-npy", "endings": ["npy"]}, {}]
TOY = (of_job("", {"id": JOB, "kind": "toy"}), get("/v1/kinds/toy", {"kind": "toy", "queries": [
    {}, {"name": "motifs", "method": "GET"}, *({"name": name, "method": method, "formats": FORMATS, "files": FILES}
                                                for name in ("motifs", "predict", "sites", "signal", "logos", "channels") for method in ("GET", "POST"))]}))


def post(rest, body=b"", **more):
    return answer("POST", f"/v1/jobs/{JOB}/{rest}", body, **more)


# ---- channels, compare, pairs, rules ---------------------------------------------------------------------------------

USE = {"channel": 3, "name": "seven", "strength": 0.5, "motifs": 4, "inputs": 3, "active": 9, "mean": 0.25, "max": 2, "symbol": "7",
       "symbols": [{"symbol": None, "count": 9}, {"symbol": "7", "count": 3}, {"symbol": "1", "count": 1}]}


def channels_are_listed_with_the_share_of_their_best_symbol(c):
    c.run(f"channels {JOB}", of_job("/channels", {"channels": [USE, {}]})).says(
        0, "CHANNEL  NAME   STRENGTH  MOTIFS  INPUTS  ACTIVE  MEAN  MAX  SYMBOL  SHARE\n", "      3  seven       0.5       4       3       9  0.25    2  7        75 %\n",
        "      -  -             -", never=("nan", "CONSENSUS"))


def channels_of_sequences_have_a_consensus_and_matches(c):
    matrix = {"consensus": "TGAC", "same_as": [5], "evalue": 1e-5}
    c.run(f"channels {JOB}", of_job("/channels", {"channels": [{**USE, "matrix": matrix}, {**USE, "matrix": {"consensus": "AA"}}, {"matrix": {"same_as": [1]}}]})).says(
        0, "CONSENSUS\n", "TGAC (as channel 5)\n", "AA", never="null")
    found = [{"id": "MA1", "name": "JUN", "qvalue": 0.01, "strand": "+"}, {"id": "MA2", "p": 0.5, "evalue": 2, "qvalue": 1, "offset": -1, "overlap": 4}]
    table = {"channels": [{**USE, "matrix": {**matrix, "matches": found}}, {"matrix": {"matches": []}}, {"channel": 4, "matrix": {"matches": found[1:]}}, {}]}
    c.run(f"channels {JOB} --against jaspar", of_job("/channels?against=jaspar", table)).says(
        0, "CHANNEL  NAME   MOTIFS  CONSENSUS                E  MOST SIMILAR     Q  STRAND\n",
        "      3  seven       4  TGAC (as channel 5)  1e-05  MA1 JUN       0.01  +", "      -  -           -  -", "      4  -", "MA2              1  -", never="nan")
    one = {"channel": 3, "active": 9, "inputs": 3, "samples": 8, "matrix": {"matches": found}}
    c.run(f"channels {JOB} 3", of_job("/channels/3", one)).says(
        0, "channel 3: active at 9 positions in 3 of 8 inputs\n", "ID   NAME    P  E     Q  OFFSET  OVERLAP  STRAND\n", "MA1  JUN     -  -  0.01       -        -  +",
        "MA2  -     0.5  2     1      -1        4  -")


def one_channel_is_printed_with_its_histogram_and_top_inputs(c):
    one = {**USE, "active": 9, "inputs": 3, "samples": 8, "histogram": {"edges": [0, 1, 2, 3], "counts": [2, 0, 4]},
           "top": [{"sample": 5, "position": [1, 2], "value": 0.75, "window": [0, 3, 1, 4]}, {"sample": 6}]}
    c.run(f"channels {JOB} 3", of_job("/channels/3", one)).says(
        0, "seven (strength 0.50)\n", "     9 motifs on nothing\n       3 motifs on 7\n", "         0 .. 1              2 ####################\n         2 .. 3              4 " + "#" * 40,
        "     5      1, 2   0.75  -       0, 3     1, 4\n", "     6         -      -  -          -        -\n", never="nan")
    for histogram in ({"edges": [0], "counts": [1]}, {"counts": [1]}, {"edges": [0, 1], "counts": [0]}):
        c.run(f"channels {JOB} 3", of_job("/channels/3", {"channel": 3, "histogram": histogram})).says(0, "channel 3:", never="#")
    c.run(["channels", JOB, "c" * 5000]).says(2, err="the options are too long")


def channels_are_saved_in_the_format_of_the_file(c):
    uses, bed, png = of_job("/channels", {"channels": []}), of_job("/channels", b"BED", kind="text/x-bed"), of_job("/channels", b"PNG", kind="image/png")
    ran = c.run(f"channels {JOB} --png a.png --output b.BED", uses, png, *TOY, bed).says(0, "a.png: 3 bytes\n", "b.BED: 3 bytes\n")
    assert [ran.player.header("Accept", at) for at in (1, 4)] == ["image/png", "text/x-bed"], ran.player.asked
    assert c.content("a.png") == b"PNG" and c.content("b.BED") == b"BED"
    c.run(f"channels {JOB} --output b.doc", uses, *TOY).says(2, err="the ending of b.doc is not that of a format of channels; allowed are .bed, .gff")
    c.run(f"channels {JOB} --output b.bed", uses, TOY[0], get("/v1/kinds/toy", {"kind": "toy", "queries": []})).says(
        2, err="jobs of the kind toy do not answer the query channels")
    c.run(f"channels {JOB} --output b.bed", uses, of_job("", {"id": JOB})).says(2, err="jobs of the kind - do not answer the query channels")
    c.run(f"channels {JOB} --output b.bed", uses, TOY[0], get("/v1/kinds/toy", {"kind": "toy", "queries": [{"name": "channels", "method": "GET", "formats": []}]})).says(
        2, err="and the query has no formats of files")
    c.run(f"channels {JOB} --png a.png", uses, of_job("/channels", {"title": "No drawing"}, status=406, kind=PROBLEM)).says(2, err="error: No drawing")


def compare_prints_the_agreement_of_two_jobs(c):
    other = JOB[:-1] + "H"
    ran = c.run(f"compare {JOB} {other} --samples 8", post("compare", {
        "channels": [{"channel": 0, "other": 2, "motifs": 5, "other_motifs": 4, "together": 3, "agreement": 0.666}, {"channel": 1}],
        "agreement": 0.5, "least_agreement": 0.25, "samples": 8}))
    ran.says(0, "      0      2       5        4         3     66.6 %\n", "      1      -       -        -         -          -\n",
             "\nagreement 50.0 %, at least 25.0 %, on 8 inputs\n")
    assert json.loads(ran.player.body()) == {"with": other, "samples": 8}
    c.run(f"compare {JOB} {other} --samples 0").says(2, err="--samples")


def pairs_and_rules_show_missing_figures_as_dashes(c):
    pair = {"first": {"name": "a"}, "second": {"name": "b"}, "records": 7, "expected": 2.25, "p": 0.001, "near": {"share": 0.5, "expected": 0.25, "p": 0.01}}
    c.run(f"pairs {JOB} --set test", of_job("/pairs?set=test", {"pairs": [pair, {}]})).says(
        0, "a      b             7       2.2  1.0e-03  50 % / 25 %  1.0e-02       -  -            -  -\n", "-      -             -         -        -            -        -", never="nan")
    effect, share = {"difference": 0.5, "low": 0.25, "high": 0.75, "p": 0.001}, {"share": 0.5, "low": 0.4, "high": 0.6}
    seen, unseen = {**share, "samples": 40, "seen": True}, {"share": None, "low": None, "high": None, "samples": 3, "seen": False}
    name = {"name": "x", "rule": "order", "samples": 40, "order": effect, "neither": share, "first_alone": share, "first_before_second": [seen, None], "second_before_first": [unseen]}
    document = {"pairs": [{"first": {"name": "a"}, "second": {"name": "b"}, "names": [name, {}]}], "gaps": [0, 30]}
    c.run(f"rules {JOB}", of_job("/rules", document)).says(0, "x     order       40  a      b       +0.50 (+0.25 to +0.75)  1.0e-03     -  -", "-     -            -  a", never=("nan", "ANSWERED", "not tried"))
    left = {"pairs": [], "left_out": [{"first": {"name": "c"}, "second": {"name": "d"}}]}
    c.run(f"rules {JOB} --support 9", of_job("/rules?support=9", left)).says(0, "not tried", "  c and d\n")
    c.run(f"rules {JOB} --channel 0 --other 3", of_job("/rules?channel=0&other=3", document)).says(
        0, "NAME  MOTIFS", "x     neither              -  50 % (40 to 60)            -\n", "x     b                    -                -            -\n",
        "x     a before b     0 to 29  50 % (40 to 60)           40\n", "x     a before b  30 or more                -            -\n",
        "x     b before a     0 to 29                -  3 (too few)\n", never="nan")
    named = {"names": [{"name": "x", "text": "all of (a, b)", "as_good": True, "test": {"rule": .9, "model": .95, "fidelity": 1}}, {"name": "y", "text": None, "test": {"rule": None}}]}
    c.run(f"rules {JOB} --names --samples 50", of_job("/name-rules?samples=50", named)).says(
        0, "NAME  RULE           AS GOOD   RULE  MODEL  FIDELITY\n", "x     all of (a, b)      yes  0.900  0.950     1.000\n", "y     -                   no      -      -         -\n", never="nan")
    c.run(["rules", JOB, "--channel", "0" * 5000]).says(2, err="the options are too long")


# ---- motifs ----------------------------------------------------------------------------------------------------------

MAP = {"shape": [4, 4, 5], "motifs": [{"position": [0, 1], "channel": 3, "value": 1.7, "maximal": True, "name": "seven", "extent": [0, 2, 1, 3]},
                                      {"position": [3, 3], "channel": 0, "value": 0.9, "maximal": True}],
       "truth": [{"symbol": "7", "box": [0, 2, 0, 4]}], "label": ["7", 5], "prediction": ["7"], "input": {"shape": [4, 4], "values": [9] * 12 + [0] * 4},
       "warnings": [{"text": "Unlike the training."}, {}]}


def a_motif_map_is_drawn_with_extents_truth_and_warnings(c):
    c.run(f"motifs {JOB}", post("motifs", {"answers": [MAP]})).says(
        0, "sample 0\n", "  0  channel 0    1 motif   1 on no symbol\n", "  3  channel 3    1 motif   seven  at rows 0-1, columns 1-2  on 7\n",
        "  prediction  7\n  truth       7 ?  wrong\n", "  warning: Unlike the training.\n  warning: -\n")
    c.run(f"motifs {JOB}", post("motifs", {"answers": [{**MAP, "motifs": [], "prediction": [], "label": [], "input": None}]})).says(
        0, "  no motif\n  prediction  (empty)\n", never="truth")
    c.run(f"motifs {JOB}", post("motifs", {"absent": "ok", "answers": [{**MAP, "motifs": [], "prediction": [], "label": [], "input": None}]})).says(
        0, "  prediction  ok\n")
    c.run(f"motifs {JOB}", post("motifs", {"answers": [{**MAP, "numbers": [1], "label": ["2.5"]}]})).says(0, "  truth       2.5\n", never=("right", "wrong"))
    c.run(f"motifs {JOB}", post("motifs", {"answers": [{**MAP, "motifs": [], "input": {"values": [7] * 16}}]})).says(0, "sample 0\n    \n    \n  no motif\n")
    c.run(f"motifs {JOB}", post("motifs", {"answers": [{"shape": [4, 4]}]})).says(1, err="the server's answer is not a motif map")
    c.run(f"motifs {JOB}", post("motifs", {"title": "No checkpoint"}, status=409, kind=PROBLEM)).says(1, err="error: No checkpoint")


def motifs_are_shown_with_their_error_rates_and_the_bound(c):
    rated = {**MAP, "motifs": [{**MAP["motifs"][0], "p": 0.01, "q": 0.034}]}
    bound = {"marks": 1, "false_at_most": 0, "confidence": 0.95}
    ran = c.run(f"motifs {JOB} --false-marks 0.1", post("motifs", {"answers": [rated], "bound": bound, "why": "channel 4 has no name"}))
    ran.says(0, "columns 1-2 (p 0.01, q 0.034)", "  of these 1 marks at most 0 are false (95 %)\n", "  left out: channel 4 has no name\n")
    assert json.loads(ran.player.body())["false_marks"] == 0.1
    c.run(f"motifs {JOB} --false-marks 0.1", post("motifs", {"answers": [{**MAP, "motifs": []}], "bound": None, "why": "targets are numbers"})).says(
        0, "  no error rate, so no motif is shown\n", "targets are numbers", never="of these")
    c.run(f"motifs {JOB} --false-marks 2").says(2, err="false-marks")
    assert "false_marks" not in json.loads(c.run(f"motifs {JOB}", post("motifs", {"answers": [rated]})).player.body())


def a_terminal_gets_a_coloured_map_and_a_shrunk_one_if_it_is_narrow(c):
    ran = c.at_terminal(f"motifs {JOB}", post("motifs", {"answers": [MAP]}), columns=60)
    ran.says(0, "\033[1msample 0\n\033[0m", "\033[38;2;255;255;255m\033[48;2;255;255;255m▀", "\033[1;38;2;", "\033[31mwrong\033[0m\n")
    wide = {**MAP, "shape": [2, 90, 5], "motifs": [{"position": [0, i], "channel": i % 2, "value": i, "maximal": i % 3 == 0} for i in range(30)], "input": None, "label": ["7"]}
    c.at_terminal(f"motifs {JOB}", post("motifs", {"answers": [wide]}), columns=45).says(
        0, "(20 weaker motifs are not drawn)\n  (shrunk 2 times to fit 45 columns)\n", " and ", " weaker", "\033[32mright\033[0m")


def a_weaker_motif_is_dim_and_high_channels_share_a_sign(c):
    big = {"shape": [10, 20, 70], "motifs": [{"position": [1, 1], "channel": 65, "value": 1, "maximal": False}, {"position": [1, 1], "channel": 2, "value": 0.5, "maximal": True},
                                             {"position": [8, 9], "channel": 65, "value": 1, "name": "far"}, {"position": [8, 9], "channel": 3, "value": 2}], "prediction": ["a"], "truth": [{"symbol": "a", "box": [0, 5, 0, 5]}]}
    ran = c.at_terminal(f"motifs {JOB}", post("motifs", {"answers": [big]}))
    ran.says(0, "\033[1;38;2;", "m2\033[0m", "\033[2;38;2;", "m3\033[0m", "*\033[0m  channel 65   0 motifs and 2 weaker  far\n", never="not drawn")


def motifs_outside_of_the_map_are_refused(c):
    for motif in ({"position": [0, 0], "channel": 5000}, {"position": [0, 0]}, {"position": [None, 0], "channel": 1}, {"position": [0, 9999], "channel": 1}):
        c.run(f"motifs {JOB}", post("motifs", {"answers": [{"shape": [4, 4, 5], "motifs": [motif]}]})).says(1, err="the server's answer is not a motif map")
    for shape in ([4, 4, 1.5], [4, 4, 9999], [5000, 4, 1], [4, 0, 1], [4, "4", 1]):
        c.run(f"motifs {JOB}", post("motifs", {"answers": [{"shape": shape, "motifs": []}]})).says(1, err="the server's answer is not a motif map")
    odd = {"shape": [4, 4, 5], "motifs": [{"position": [0, 0], "channel": 7, "name": "beyond", "maximal": True, "extent": [0, 1e9, 0, 1]}, {"position": [1, 1], "channel": 1, "maximal": True,
                                                                                                                                     "extent": [0, 1]}]}
    c.run(f"motifs {JOB}", post("motifs", {"answers": [odd]})).says(0, "  1  channel 1    1 motif \n", never=("beyond", "rows"))
    c.run(f"motifs {JOB} --seed x").says(2, err="--seed must be an integer")
    c.run(f"motifs {JOB} --count 0").says(2, err="--count must be an integer")


def many_extents_of_a_channel_are_counted(c):
    motifs = [{"position": [0, i], "channel": 1, "maximal": True, "extent": [0, 1, i, i + 1]} for i in range(11)]
    line = {"shape": [1, 40, 2], "motifs": motifs, "truth": [{"symbol": "a", "box": [0, 1, 0, 4]}, {"symbol": "b", "box": [0, 1, 4, 40]}], "prediction": ["a"]}
    c.run(f"motifs {JOB}", post("motifs", {"answers": [line]})).says(0, "  at 0-0; 1-1; ", "; 7-7; and 3 more  on a, a, a, a, b, b, b, b, b, b, b\n", never="rows")


def letters_are_printed_with_the_marks_of_both_strands(c):
    letters = "".join("ACGT"[i * i % 7 % 4] for i in range(70))
    motifs = [{"position": [0, 12], "channel": 0, "value": 1, "maximal": True, "strand": "+", "extent": [0, 1, 10, 16]},
              {"position": [0, 13], "channel": 1, "value": 1, "maximal": True, "strand": "-", "extent": [0, 1, 12, 18]},
              *({"position": [0, 14], "channel": 2, "value": 1, "maximal": True, "strand": "?"} for _ in range(4)),
              {"position": [0, 60], "channel": 1, "value": 1, "maximal": False},
              {"position": [0, 47], "channel": 2, "value": 1, "maximal": True, "strand": "+", "extent": [0, 1, 42, 45]}]
    ran = c.run(f"motifs {JOB}", post("motifs", {"answers": [{"shape": [1, 70, 3], "motifs": motifs, "record": "chr1:5-75", "letters": letters, "prediction": ["a"]}]}))
    ran.says(0, "sample 0  chr1:5-75\n", f"      0 {letters}\n", " " * 18 + "==0==>" + " " * 26 + "=====2\n", " " * 20 + "<1====\n", " " * 22 + "2\n")
    narrow = c.at_terminal(f"motifs {JOB}", post("motifs", {"answers": [{"shape": [1, 70, 3], "motifs": motifs, "letters": letters, "prediction": ["a"]}]}), columns=40)
    tiny = c.at_terminal(f"motifs {JOB}", post("motifs", {"answers": [{"shape": [1, 70, 3], "motifs": [], "letters": letters, "prediction": ["a"]}]}), columns=25)
    tiny.says(0, f"      0 {letters[:20]}\n", f"     60 {letters[60:]}\n")
    narrow.says(0, f"      0 {letters[:30]}\n", "\033[1;38;2;", f"     30 {letters[30:60]}\n", f"     60 {letters[60:]}\n")


def pictures_of_several_inputs_have_their_seed_in_the_name(c):
    ran = c.run(f"motifs {JOB} --seed 7 --count 2 --png some.png", post("motifs", {"answers": [MAP]}), post("motifs", b"PNG", kind="image/png"),
                post("motifs", {"answers": [MAP]}), post("motifs", b"PNG8", kind="image/png"))
    ran.says(0, "sample 7\n", "some-7.png: 3 bytes\n", "sample 8\n", "some-8.png: 4 bytes\n")
    c.run(f"motifs {JOB} --count 2 --png pic", *(post("motifs", {"answers": [MAP]}), post("motifs", b"PNG", kind="image/png")) * 2).says(0, "pic-0.png", "pic-1.png")
    c.run(f"motifs {JOB} --png no/such.png", post("motifs", {"answers": [MAP]}), post("motifs", b"PNG")).says(1, err="no/such.png: cannot be written")
    c.run(f"motifs {JOB} --output x.npy").says(2, err="--output and --batch need --input")
    c.run(f"motifs {JOB} --batch --input x.npy").says(2, err="--batch needs --output or --json")


def files_are_sent_with_the_media_type_of_their_ending(c):
    c.file("in.npy", b"numbers")
    ran = c.run(f"motifs {JOB} --input in.npy --png p.png --checkpoint density:1e-3", *TOY, post("motifs?checkpoint=density%3A1e-3", {"answers": [MAP]}),
                post("motifs?checkpoint=density%3A1e-3", b"PNG", kind="image/png"))
    ran.says(0, "in.npy\n", "p.png: 3 bytes\n")
    assert ran.player.header("Content-Type", 2) == "application/x-npy" and ran.player.body(2) == "numbers"
    ran = c.run(f"motifs {JOB} --input in.npy --batch --output map.npy", *TOY, post("motifs?batch=1&checkpoint=latest", b"MAP", kind="application/x-npy"))
    ran.says(0, "map.npy: 3 bytes\n")
    c.run(f"motifs {JOB} --input in.doc", *TOY).says(2, err="the ending of in.doc is not that of an input format; allowed are .fa, .csv, .npy")
    c.run(f"motifs {JOB} --input absent.npy", *TOY).says(2, err="absent.npy: cannot be read")
    c.run(f"motifs {JOB} --input " + c.file("empty.npy", b""), *TOY).says(2, err="empty.npy: is empty")
    c.run(["motifs", JOB, "--input", "in.npy", "--checkpoint", "1" * 5000], *TOY).says(2, err="--checkpoint is too long")


# ---- ask -------------------------------------------------------------------------------------------------------------

ARRAYS = {"name": "npy", "media_type": "application/x-npy", "endings": ["npy"], "pieces": "axis"}


def kind_of(*names, files=FILES):
    return of_job("", {"id": JOB, "kind": "toy"}), get("/v1/kinds/toy", {"kind": "toy", "queries": [{"name": name, "method": "POST", "formats": [], "files": files} for name in names]})


def ask_prints_label_confidence_and_places_of_each_input(c):
    motif = {"position": [0, 1], "channel": 3, "name": "seven", "value": 1.7, "maximal": True, "extent": [2, 5, 1, 3]}
    told = [{"prediction": ["7", "1"], "probability": 0.925, "warnings": [{"text": "Odd."}] * 7}, {"prediction": []}, {"prediction": ["9"], "probability": 1}, {}]
    seen = [{"shape": [9, 9, 5], "motifs": [motif, {**motif, "maximal": False, "value": 0.1}, {**motif, "extent": None, "name": None}]}, {"shape": [9, 9, 5], "motifs": []},
            {"shape": [1, 12, 5], "letters": "ACGTACGTACGT", "motifs": [{**motif, "extent": [0, 1, 2, 6], "strand": "-"}, {**motif, "extent": [0, 1, 9, 99]}]},
            {"shape": [1, 12, 5], "text": "to be", "motifs": [{**motif, "words": [{"word": "to", "start": 0, "end": 2}, {"word": "be", "start": 3, "end": 5}]}, {**motif, "words": []},
                                                            {**motif, "extent": [0, 1, 2, 6], "seconds": [0.25, 0.75]}, {"maximal": True}]}]
    c.file("in.fa", b">a one\nAC\n>b\nAC\n>c\nGT\n>d\nAA\n")
    tape = (*kind_of("motifs", "predict"), post("predict?checkpoint=latest", {"absent": "none", "answers": told}), post("motifs?checkpoint=latest", {"answers": seen}))
    ran = c.run(f"ask {JOB} in.fa", *tape)
    ran.says(0, "INPUT  LABEL  CONFIDENCE  PLACE                  NAME   CHANNEL  VALUE\n", "a      7 1        92.5 %  rows 2-4, columns 1-2  seven        3   1.70\n",
             "                          row 0, column 1        -            3   1.70\n", "b      none            -  no place               -            -      -\n",
             "c      9         100.0 %  2-5 GTAC -             seven        3   1.70\n", "                          9-98                   seven        3   1.70\n",
             "d      -               -  0-4 to be              seven        3   1.70\n", "                          beyond the text        seven", "                          0.250-0.750 s          seven",
             "                          -                      -            -      -\n", never=("0.10", "nan"), err="warning: input 0: Odd.\n")
    assert ran.err.count("Odd.") == 5 and "and 2 more warnings" in ran.err and ran.player.body(2) == ran.player.body(3) == c.content("in.fa").decode(), ran.err
    lines = ran.out.splitlines()
    assert all(line.strip() for line in lines) and len({len(line) for line in lines}) == 1, lines
    c.run(f"ask {JOB} in.fa -q", *tape).says(0, "7 1\nnone\n9\n-\n")
    both = json.loads(c.run(f"ask {JOB} in.fa --json", *tape).says(0).out)["answers"]
    assert both[0]["motifs"][0] == motif and both[0]["probability"] == 0.925 and both[0]["record"] == "a", both


def ask_finds_out_whether_an_array_is_one_input(c):
    name, kind = c.file("in.npy", b"numbers"), kind_of("motifs", "predict", files=[ARRAYS])
    told, seen = {"answers": [{"prediction": ["7"]}]}, {"answers": [{"shape": [2, 2, 5], "motifs": []}]}
    refused = {"body": {"title": "Some fields are invalid", "errors": [{"pointer": "", "detail": "must have 2 rows"}]}, "status": 422, "kind": PROBLEM}
    one, batch = (lambda body, **more: post("predict?checkpoint=latest", body, **more)), (lambda body, **more: post("predict?batch=1&checkpoint=latest", body, **more))
    c.run(f"ask {JOB} {name}", *kind, one(told), batch(**refused), post("motifs?checkpoint=latest", seen)).says(0, "0      7 ")
    c.run(f"ask {JOB} {name}", *kind, one(**refused), batch(told), post("motifs?batch=1&checkpoint=latest", seen)).says(0, "0      7 ")
    c.run(f"ask {JOB} {name}", *kind, one(**refused), batch(**refused)).says(2, err="must have 2 rows")
    c.run(f"ask {JOB} {name}", *kind, one(told), batch({"answers": [{}] * 3})).says(2, err="the array can be one input, or 3 inputs; say --one or --batch")
    c.run(f"ask {JOB} {name} --one", *kind, one(told), post("motifs?checkpoint=latest", seen)).says(0, "0      7 ")
    c.run(f"ask {JOB} {name} --batch", *kind, batch(told), post("motifs?batch=1&checkpoint=latest", seen)).says(0, "0      7 ")
    c.run(f"ask {JOB} {name} --batch --one").says(2, err="--one and --batch contradict each other")
    c.run(f"ask {JOB} {name}", *kind, one({"title": "No checkpoint"}, status=409, kind=PROBLEM)).says(1, err="error: No checkpoint")


def ask_refuses_what_no_query_reads(c):
    c.run(f"ask {JOB} in.doc", *kind_of("motifs", "predict")).says(2, err="the ending of in.doc is not that of an input format; allowed are .fa, .csv, .npy")
    c.run(f"ask {JOB} absent.fa", *kind_of("motifs", "predict")).says(2, err="absent.fa: cannot be read")
    c.run(f"ask {JOB} in.fa", *kind_of("channels")).says(2, err="jobs of the kind toy answer no questions about files")
    c.run(f"ask {JOB}").says(2, err="usage: motifctl ask JOB FILE")
    codes = {"answers": [{"codes": [{"latent": 3, "value": 0.5}]}]}
    c.run(f"ask {JOB} " + c.file("in.csv", b"a\n1\n"), *kind_of("encode"), post("encode?checkpoint=latest", codes)).says(0, "input 0\n  codes          \nLATENT  VALUE\n     3    0.5\n")


# ---- predict ---------------------------------------------------------------------------------------------------------

def npy(rows, columns, first=0, text=None):
    head = text or f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.encode().ljust(117) + b"\n" + struct.pack(f"<{rows * columns}f", *range(first, first + rows * columns))


def answers_of_a_model_are_printed_in_full_or_shortened(c):
    answers = [{"prediction": ["7", "0"], "tokens": [{"token": "7", "probability": 0.5}, {"token": "0"}], "sites": [{"at": 3, "score": [1, 0.5], "more": {}}],
                "code": list(range(20)), "nested": [[1], 2], "none": None, "object": {}, "empty": [], "sum": 0.125, "warnings": [{"text": "Odd."}, {}]}, {}]
    c.file("in.npy", b"numbers")
    c.run(f"predict {JOB} --input in.npy", *TOY, post("predict?checkpoint=latest", {"answers": answers})).says(
        0, "input 0\n  prediction     7 0\n", "tokens         7 (50.0 %) 0 (-)\n", "sites          \nAT  SCORE\n 3  1 0.5\n", "code           0 1 2 3 4 5 6 7 8 9 10 11 ...\n",
        "nested         ... 2\n", "empty          nothing\n", "sum            0.125\n", "  warning: Odd.\n  warning: -\ninput 1\n", never=("none", "object", "more"))
    c.run(f"predict {JOB} --input in.npy", *TOY, post("predict?checkpoint=latest", {"absent": "ok", "answers": [{"prediction": [], "presence": []}]})).says(
        0, "input 0\n  prediction     ok\n  presence       nothing\n")
    rows = [{"factor": i, "fed_by": [1] * (i % 2), "mean": 0.5, "more": {}} for i in range(14)]
    c.run(f"predict {JOB} --input in.npy", *TOY, post("predict?checkpoint=latest", {"answers": [{"factors": rows, "odd": [{}, {"a": 1}]}]})).says(
        0, "  factors        \nFACTOR  FED BY  MEAN\n     0  -        0.5\n     1  1        0.5\n", "    11  1        0.5\nand 2 more; --json shows them\n",
        "  odd            nothing\n", never=("    12", "more  "))
    c.run(f"predict {JOB} --input in.npy --output out.npy", *TOY, post("predict?checkpoint=latest", b"NUM", kind="application/x-npy")).says(0, "out.npy: 3 bytes\n")
    c.run(f"predict {JOB}").says(2, err="--input FILE or --text TEXT is required")
    c.run(f"predict {JOB} --input in.npy --query ../x").says(2, err="--query must be the name of a query")
    c.run(f"predict {JOB} --input in.npy --query encode", *TOY).says(2, err="jobs of the kind toy do not answer the query encode")


def records_are_sent_in_pieces_and_their_answers_joined(c):
    path = "predict?checkpoint=latest"
    c.file("many.fa", b"".join(b">r%d of many\nAC>GT\n" % i for i in range(300)))
    ran = c.run(f"predict {JOB} --input many.fa --json", *TOY, *(post(path, {"answers": [{"x": i} for i in range(100)]}) for _ in range(3)))
    bodies = [body for method, _, _, body in ran.says(0).player.asked if method == "POST"]
    assert b"".join(bodies) == c.content("many.fa") and len(bodies) > 1 and all(body.startswith(b">r") for body in bodies), bodies
    names = [one.get("record") for one in json.loads(ran.out)["answers"]]
    assert names[:2] == ["r0", "r1"] and len(names) == 100 * len(bodies), names
    c.file("names.fa", b">\nAC\n>a\x01b\nAC\n>" + b"n" * 100 + b" x\nAC\n>last\n")
    ran = c.run(f"predict {JOB} --input names.fa", *TOY, post(path, {"answers": [{"x": 1}, {"x": 2}, {"x": 3}, {"x": 4}]}))
    ran.says(0, "input 0\n", "input 1\n", "input 2  " + "n" * 79 + "\n", "input 3  last\n")
    for wrong in ({}, {"answers": 5}):
        c.run(f"predict {JOB} --input many.fa --json", *TOY, post(path, {"answers": []}), post(path, wrong)).says(1, err="the server's answer contains no answers; is it motifd?")
        assert c.run(f"predict {JOB} --input names.fa", *TOY, post(path, wrong)).says(1, err="contains no answers").out == ""
    c.run(f"predict {JOB} --input names.fa", *TOY, post(path, {"title": "Bad record"}, status=422, kind=PROBLEM)).says(2, err="error: Bad record")


def rows_are_sent_in_pieces_that_repeat_the_header(c):
    path = "predict?checkpoint=latest"
    rows = b"".join(b'%d,"a\nb"\n' % i for i in range(300))
    c.file("t.csv", b"x,y\n" + rows)
    ran = c.run(f"predict {JOB} --input t.csv --output out.npy", *TOY, *(post(path, npy(2, 3, 6 * i), kind="application/x-npy") for i in range(9)))
    bodies = [body for method, _, _, body in ran.says(0, "out.npy: ").player.asked if method == "POST"]
    assert len(bodies) > 1 and b"".join(body[4:] for body in bodies) == rows and all(body[:4] == b"x,y\n" and body[4:5].isdigit() for body in bodies), bodies
    count, made = len(bodies), c.content("out.npy")
    length = struct.unpack("<H", made[8:10])[0]
    assert f"'shape': ({2 * count}, 3), ".encode() in made[:length + 10] and (length + 10) % 64 == 0, made[:200]
    assert made[length + 10:] == struct.pack(f"<{6 * count}f", *range(6 * count))
    only = c.run(f"predict {JOB} --input " + c.file("head.csv", b"x,y\n"), *TOY, post(path, {"title": "No rows"}, status=422, kind=PROBLEM)).says(2, err="No rows")
    assert only.player.body() == "x,y\n"


def answers_that_do_not_join_are_errors(c):
    path = "predict?checkpoint=latest"
    c.file("t.csv", b"x\n" + b"1\n" * 300)

    def joined(*answers):
        return c.run(f"predict {JOB} --input t.csv --output out.npy", *TOY, *(post(path, body, kind="application/x-npy") for body in answers))
    joined(npy(2, 3), npy(2, 4)).says(1, err="the answers have different shapes, so they do not fit into one array")
    joined(npy(2, 3), npy(2, 3).replace(b"<f4", b"<f8")).says(1, err="the answers have different shapes")
    for wrong in (b"", b"short", b"\x93NUMPY\x02\x00" + npy(2, 3)[8:], npy(2, 3)[:60], npy(0, 3), npy(2, 3, text="{}"), npy(2, 3)[:8] + b"\xff\x01" + npy(2, 3)[10:] + b"x" * 600):
        joined(wrong).says(1, err="the server's answer is not a .npy file")
    assert not os.path.exists(os.path.join(c.folder, "out.npy"))


# ---- intervene -------------------------------------------------------------------------------------------------------

def changes_of_motifs_become_edits(c):
    before = {"before": {"motif_count": 3, "prediction": ["7", {"class": "up", "position": 4}, {"position": 1}, 5], "probability": 0.5}, "after": {"motif_count": 2}, "label": ["7"]}
    ran = c.run(["intervene", JOB, "--seed", "-4", "--maximal", "--checkpoint", "7", "1=delete", "3=5", "3@40,12=@10,60", "5=*2.5", "2@1,2=3@4,5*0.5"],
                post("interventions", {"answers": [before]}))
    ran.says(0, "sample -4\n  before    3 motifs, read as 7 up@4  (probability 0.5)\n  after     2 motifs, read as\n  truth   7\n")
    assert json.loads(ran.player.body()) == {"checkpoint": 7, "inputs": [{"sample": {"seed": -4}, "keep": "maximal", "edits": [
        {"channel": 1, "delete": True}, {"channel": 3, "to": {"channel": 5}}, {"channel": 3, "position": [40, 12], "to": {"position": [10, 60]}},
        {"channel": 5, "to": {"value": 2.5}}, {"channel": 2, "position": [1, 2], "to": {"channel": 3, "position": [4, 5], "value": 0.5}}]}]}
    c.run(f"intervene {JOB} 1=delete", post("interventions", {})).says(0, "sample 0\n  before    - motifs", never=("truth", "nan"))
    for wrong in ("x=delete", "1", "1=", "1=x", "1=5x", "1@2=delete", "1@=delete", "1@2,=delete", "1@2,3", "1=@", "1=@1", "1=@1,x", "1=5*", "1=*x", "inf=delete", "1=nan"):
        c.run(f"intervene {JOB} {wrong}").says(2, err=f"{wrong} is not a change: use CHANNEL[@ROW,COL]=delete")
    c.run(f"intervene {JOB} 1=delete", post("interventions", {"title": "No"}, status=409, kind=PROBLEM)).says(1, err="error: No")


# ---- sites, signal, logos --------------------------------------------------------------------------------------------

def sites_are_written_in_the_wanted_format(c):
    def wants(words, media, *more, code=0, out=(), err=()):
        ran = c.run(f"sites {JOB} {words}", *TOY, *more, of_job("/sites", b"SITES", kind=media or "text/plain")).says(code, *out, err=err)
        assert media is None or ran.player.header("Accept") == media, ran.player.asked
    wants("", "text/x-bed", out=("SITES",))
    wants("--json", "application/json", out=("SITES",))
    wants("--format gff", "text/x-gff3", out=("SITES",))
    wants("--format json --output x.bed", "application/json", out=("x.bed: 5 bytes\n",))
    wants("--output s.gff3", "text/x-gff3", out=("s.gff3: 5 bytes\n",))
    wants("--output s.gff.gz", None, code=2, err="s.gff.gz: motifctl does not compress")
    wants("--output s.json", "application/json", out=("s.json: 5 bytes\n",))
    wants("--output s.other", None, code=2, err="the ending of s.other is not that of a format of this query")
    wants("--output s -q", "text/x-bed")
    wants("--format doc", None, code=2, err="this query does not write doc; allowed are bed, gff")
    wants("--output s.pdf", None, code=2, err="the ending of s.pdf is not that of a format of this query; allowed are .bed, .gff")
    wants("--output no/such.bed", None, code=1, err="no/such.bed: cannot be written")
    wants("--genome hg38", None, code=2, err="--genome and --window need --input with regions")
    wants("--window 5", None, code=2, err="--genome and --window need --input with regions")
    for record in ("--set test", "--samples 5", "--first 1"):
        wants(f"--input x.fa {record}", None, code=2, err="--set, --samples and --first select records of the data set, and --input replaces it")
    c.run(f"sites {JOB} --output s.bed", *TOY, of_job("/sites", {"title": "No motif"}, status=409, kind=PROBLEM)).says(1, err="error: No motif")
    assert not os.path.exists(os.path.join(c.folder, "s.bed"))
    c.run(f"sites {JOB}", *TOY, of_job("/sites", b"SITES", cut=2)).says(3, err="error: http://127.0.0.1")
    os.symlink("/dev/full", os.path.join(c.folder, "full.bed"))
    c.run(f"sites {JOB} --output full.bed", *TOY, of_job("/sites", b"SITES")).says(1, err="full.bed: cannot be written")
    assert os.path.islink(os.path.join(c.folder, "full.bed"))  # motifctl deletes no device
    c.run(f"logos {JOB} 3", *TOY, of_job("/logos/3", b"LOGO")).says(0, "LOGO")
    c.run(["logos", JOB, "3" * 5000], *TOY).says(2, err="the options are too long")


def sequences_of_a_file_are_sent_as_they_are(c):
    c.file("in.fa", b">a\nACGT\n")
    ran = c.run(f"signal {JOB} --input in.fa --channel 3", *TOY, post("signal?channel=3", b"SIGNAL")).says(0, "SIGNAL")
    assert ran.player.header("Content-Type") == "text/x-fasta" and ran.player.body() == ">a\nACGT\n"
    c.run(f"signal {JOB} --input in.doc", *TOY).says(2, err="the ending of in.doc is not that of an input format of this query; allowed are .fa, .csv, .npy")
    os.mkdir(os.path.join(c.folder, "folder.fa"))
    for name in ("absent.fa", "folder.fa", c.file("empty.fa", b"")):
        c.run(f"signal {JOB} --input {name}", *TOY).says(1, err=f"{name}: cannot be read, or is empty")


if __name__ == "__main__":
    run_tests(globals())
