"""The families by name, and which half each belongs to: development or report (split.txt)."""
import os

import images
import public
import sequences
import signals

FAMILIES = {family.name: family for module in (sequences, images, signals, public) for family in module.FAMILIES}


def halves():
    """Returns {name of a family: development or report}."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "split.txt")
    lines = [line.split() for line in open(path, encoding="utf-8") if line.strip() and not line.startswith("#")]
    return {name: half for name, half in lines}
