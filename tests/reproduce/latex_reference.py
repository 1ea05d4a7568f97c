#!/usr/bin/env python3
"""Compares our pages of LaTeX-OCR with pages from pdflatex and poppler (Debian packages texlive-latex-base and poppler-utils):

    python3 tests/reproduce/latex_reference.py build/tests/reproduce/latex_sheet [COUNT]

Prints the largest distance between the outermost ink pixels of both pages, and the share of black pixels that differ after binarising."""
import glob
import subprocess
import sys
import tempfile

import numpy as np

ROWS, COLS, BLACK = 120, 360, 0.75 * 255


def reference_pages(sources, folder):
    lines = [r"\documentclass{article}\usepackage{amsmath}\pdfhorigin=3pt\pdfvorigin=3pt",
             r"\hoffset=0pt\voffset=0pt\begin{document}"]
    for source in sources:
        lines.append(r"\setbox0\hbox{$\displaystyle %s$}\pdfpagewidth=\dimexpr\wd0+6pt"
                     r"\pdfpageheight=\dimexpr\ht0+\dp0+6pt\shipout\box0" % source)
    lines.append(r"\end{document}")
    with open(folder + "/pages.tex", "w") as file:
        file.write("\n".join(lines))
    subprocess.run(["pdflatex", "-interaction=batchmode", "pages.tex"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["pdftoppm", "-r", "200", "-gray", "pages.pdf", "page"], cwd=folder, check=True)
    for name in sorted(glob.glob(folder + "/page-*.pgm")):
        with open(name, "rb") as file:
            header, size, _, data = file.read().split(b"\n", 3)
        cols, rows = map(int, size.split())
        yield np.frombuffer(data, np.uint8).reshape(rows, cols)


def centred(page):
    rows, cols = page.shape
    whole = np.full((ROWS, COLS), 255, np.uint8)
    row, col = (ROWS - rows) // 2, (COLS - cols) // 2
    whole[row:row + rows, col:col + cols] = page
    return whole


def ends(page):
    rows, cols = np.where((page < 255).any(1))[0], np.where((page < 255).any(0))[0]
    return np.array([rows[0], rows[-1], cols[0], cols[-1]])


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    with tempfile.TemporaryDirectory() as folder:
        sources = subprocess.run([sys.argv[1], folder + "/ours", "--pages", "--count", str(count)], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout.splitlines()
        ours = np.fromfile(folder + "/ours", np.uint8).reshape(-1, ROWS, COLS)
        apart, differing, black, cut = [], 0, 0, 0
        for source, page, own in zip(sources, reference_pages(sources, folder), ours):
            if page.shape[0] > ROWS or page.shape[1] > COLS:
                cut += 1
                continue
            page = centred(page)
            apart.append(np.abs(ends(page) - ends(own)).max())
            differing += ((page <= BLACK) != (own <= BLACK)).sum()
            black += (page <= BLACK).sum()
    for pixels, pages in enumerate(np.bincount(apart)):
        print(f"{pages} pages: outermost ink pixels at most {pixels} px apart")
    print(f"{cut} pages left out because they are larger than the picture")
    print(f"black pixels: {black} in the reference, {differing} differ ({100 * differing / black:.1f} %)")
    return 0 if max(apart) <= 1 else 1


sys.exit(main())
