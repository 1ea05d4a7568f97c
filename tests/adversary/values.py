"""Draws configurations. Each is a small configuration of a kind in which some fields have other values: an end of the range, a value within it, or a strange text."""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY  # noqa: E402

SEQUENCES = {"width": 8, "units": 1, "motifs": 8, "channels": 16, "context": 80, "batch": 4, "validation_every": 20, "validation_samples": 4,
             "checkpoint_every": 20, "test_samples": 4, "motif_samples": 4, "stage_samples": 2, "total_samples": 40, "splicing_length": 200}
FORMULAS = {"latex_rows": 32, "latex_cols": 64, "latex_dpi": 60, "latex_max_tokens": 4, "width": 8, "units": 1, "motifs": 16, "channels": 16, "layers": 1,
            "heads": 2, "feed_forward": 16, "batch": 4, "validation_every": 20, "validation_samples": 4, "checkpoint_every": 20, "test_samples": 4,
            "motif_samples": 4, "stage_samples": 2, "total_samples": 20}
SPARSE = {"n_s": 16, "n_d": 4, "batch": 8, "block": 0, "total_samples": 200, "test_samples": 50, "checkpoint_every": 100}
TABLE = {"rows": 50, "latent": 3, "hidden": 4, "epochs": 2, "batch": 10, "nmf_iterations": 5, "restarts": 1}
TREE = {"depth": 3, "samples": 20, "test_samples": 20, "inputs": 5, "fit_samples": 5, "updates": 5, "batch": 16, "unseen": 1}
CODES = {"filter_length": 16, "length": 64, "trials": 4, "draws": 2, "points": 3, "sizes": 1, "dictionaries": 1}
PLANTED = {"features": 16, "inputs": 8, "width": 16, "l0": 2, "seeds": 1, "batch": 8, "total_samples": 64, "test_samples": 16, "roots": 2, "pursuit_samples": 4,
           "iterations": 3, "alternations": 1}
# (kind, preset, small configuration)
BASES = (("sparling", "digitcircle-quick", TINY), ("sparling", "splicing", SEQUENCES), ("sparling", "latex-ocr", FORMULAS), ("superposition", "fig3", SPARSE),
         ("superposition", "rug", SPARSE), ("factors", "synthetic", TABLE), ("environments", None, TREE), ("pathways", "single-layer", CODES), ("pathways", "decoders", CODES),
         ("dictionary", "planted-quick", PLANTED))
TEXTS = ("", "0", "1", "0.5", "0.1,0.9", "2,4,8", "1,1,1", "1e308", "-1", "nan", "none", "trained,rug", "nmf", "vae,vsc", "../../etc/passwd", "a" * 300,
         "\x1b[31mred", "\u202egnp", ",,,", "relu,gated", "none,oracle")


def inner(field, dice):
    """Draws a number inside the range, small ones more often."""
    low, high = field["min"], field["max"]
    if field["type"] == "integer":
        return min(high, low + int(math.exp(dice.uniform(0, math.log(max(2, high - low))))))
    return min(high, max(low, math.exp(dice.uniform(math.log(1e-12), math.log(max(high, 1e-11))))))


def draw(field, dice):
    """Draws a value that the field allows, or a strange text."""
    kind = field["type"]
    if kind == "choice":
        return dice.choice(field["choices"])
    if kind == "boolean":
        return dice.random() < 0.5
    if kind == "text":
        return dice.choice(TEXTS)
    low, high = field["min"], field["max"]
    if kind == "number":
        low = math.nextafter(low, high) if field["min_open"] else low
        high = math.nextafter(high, low) if field["max_open"] else high
    return dice.choice((low, high, inner(field, dice), inner(field, dice)))


def draw_job(kinds, dice):
    """A job whose configuration differs in up to eight fields from a small one."""
    kind, preset, base = dice.choice(BASES)
    fields = {field["name"]: field for field in kinds[kind]["fields"]}
    changed = dice.sample(sorted(set(fields) - {"threads"}), dice.choice((1, 2, 3, 8)))
    config = {**{name: value for name, value in base.items() if name in fields}, **{name: draw(fields[name], dice) for name in changed}}
    return {"kind": kind, "preset": preset, "config": config}
