#!/usr/bin/env python3
"""Writes a table whose numbers have very different sizes, as CSV, for the lab notes on factors.

    tests/reproduce/data/sizes.py houses|intensities|counts > FILE

houses: area and rooms follow the size of a house, the year of building follows nothing, the price follows size and year.
intensities: 40 peaks of 400 spectra over six orders of magnitude; three substances have ten peaks each, ten are noise.
counts: molecules of 60 genes in 500 cells of three types; cells have between 300 and 30,000 molecules."""
import random
import sys

kind = sys.argv[1]
draw = random.Random(1)
normal = draw.gauss
if kind == "houses":
    print("id,area,rooms,year,price")
    for i in range(600):
        size, year = normal(0, 1), draw.randint(1930, 2015)
        area = max(30, 120 + 40 * size + normal(0, 6))
        price = 2400 * area + 1200 * (year - 1970) + normal(0, 15000)
        print(f"{i},{area:.1f},{max(1, round(area / 24 + normal(0, .5)))},{year},{round(price)}")
elif kind == "intensities":
    print(",".join(f"mz{100 + 13.1 * j:.1f}" for j in range(40)))
    base = [normal(9, 3) for _ in range(40)]
    for _ in range(400):
        amount = [normal(0, 1.5) for _ in range(3)]
        print(",".join(f"{2.718281828 ** (base[j] + (amount[j // 10] if j < 30 else normal(0, 1)) + normal(0, .3)):.4g}" for j in range(40)))
elif kind == "counts":
    print(",".join(f"gene-{'abcdef'[j // 10]}{j % 10}" for j in range(60)) + ",label")
    for i in range(500):
        kind, depth = i % 3, 10 ** draw.uniform(2.5, 4.5)
        share = [(8 if j // 20 == kind else 1) * 2.718281828 ** normal(0, .3) * (1 + j % 10) for j in range(60)]
        expected = [depth * s / sum(share) for s in share]
        print(",".join(str(max(0, round(normal(e, e ** .5)))) if draw.random() > .15 else "0" for e in expected) + f",type{kind}")
