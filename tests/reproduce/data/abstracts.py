#!/usr/bin/env python3
"""Makes the data set of the presets abstracts* and shifted*: a table with a row for each document and a column for each word.

FOLDER has one of these:
  abstracts.jsonl           one object a line with a text "abstract" and possibly a "title"
  abstracts.csv             a column abstract or abstract_text and possibly a column title
  docword.txt, vocab.txt    counts of words, as in UCI's "bag of words"; they are taken as they are
Text is split at white space; each token loses the punctuation at its ends, becomes lower case, and stays if it has the letters a to z
only. English stop words go. Plural nouns become singular by the rules of WordNet's morphy if the singular occurs in the data too. Words
in more than 90 % or less than 0.07 % of the documents go, and the 500 most frequent of the others stay. Documents with fewer than two
tokens go.

    tests/reproduce/data/abstracts.py FOLDER abstracts.npz && motifctl datasets put abstracts abstracts.npz"""
import argparse
import collections
import json
import os
import re

import numpy as np

import upload

STOP_WORDS = set("""
a about above after again against all also am an and any are as at be because been before being below between both but by can d did do
does doing don down during each few for from further had has have having he her here hers herself him himself his how i if in into is it
its itself just ll m me more most my myself no nor not now o of off on once only or other our ours ourselves out over own re s same she
should so some such t than that the their theirs them themselves then there these they this those through to too under until up ve very
was we were what when where which while who whom why will with y you your yours yourself yourselves""".split())
RULES = (("ies", "y"), ("ves", "f"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("zes", "z"), ("ses", "s"), ("men", "man"))
LONGEST = 47  # letters of a word
EDGE = r"[\x00-/:-@\[-`{-\x7f]*"  # ASCII that is neither a letter nor a digit
TOKEN = re.compile(EDGE + "(.*?)" + EDGE, re.DOTALL)


def words_of(text):
    for part in re.split(r"[ \t-\r]+", text):
        word = TOKEN.fullmatch(part)[1]
        if re.fullmatch("[A-Za-z]{1,%d}" % LONGEST, word) and word.lower() not in STOP_WORDS:
            yield word.lower()


def ends(word, tail):
    return word.endswith(tail) and len(word) > len(tail) + 1


def singulars(word):
    """The singulars that a word can have, whether they occur in the data or not."""
    if ends(word, "s") and not any(ends(word, tail) for tail in ("ss", "us", "is")):
        yield word[:-1]
    for old, new in RULES:
        if ends(word, old):
            yield word[:-len(old)] + new
            return


def documents(folder):
    """Each document's words, and its title or None."""
    path = os.path.join(folder, "abstracts.jsonl")
    if os.path.exists(path):
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            document = json.loads(line) if line.strip() else None
            if document is None:
                continue
            if not isinstance(document, dict) or not isinstance(document.get("abstract"), str):
                upload.stop(f'line {number} of abstracts.jsonl is not an object with a text "abstract"')
            yield list(words_of(document["abstract"])), document.get("title") or None
        return
    lines = upload.lines_of(os.path.join(folder, "abstracts.csv"))
    header = next(lines, [])
    text = "abstract_text" if "abstract_text" in header else "abstract"
    if text not in header:
        upload.stop("abstracts.csv needs a column abstract or abstract_text")
    for line in lines:
        record = dict(zip(header, line))
        if text in record:
            yield list(words_of(record[text])), record.get("title")


def counted(folder, most, least, most_words):
    all_words, titles = zip(*documents(folder))
    there = set().union(*all_words)
    stands = {word: next((s for s in singulars(word) if s in there), word) for word in there}
    bags = [collections.Counter(stands[word] for word in words) for words in all_words]
    count, inside = collections.Counter(), collections.Counter()
    for bag in bags:
        count.update(bag)
        inside.update(bag.keys())
    usual = [word for word in count if least <= inside[word] / len(bags) <= most]
    columns = sorted(usual, key=lambda word: (-count[word], word))[:most_words]
    x = np.array([[bag[word] for word in columns] for bag in bags], np.float32).reshape(len(bags), len(columns))
    stays = x.sum(axis=1) > 1
    named = [title or f"document {at}" for at, title in enumerate(titles, 1)] if any(titles) else None
    return x[stays], columns, named and [name for name, stay in zip(named, stays) if stay]


def ready(folder):
    """A table that was counted already."""
    with open(os.path.join(folder, "docword.txt"), encoding="utf-8") as file:
        rows, columns, _ = (int(file.readline()) for _ in range(3))
        triples = np.array(file.read().split(), float).reshape(-1, 3)
    names = [line.strip() for line in open(os.path.join(folder, "vocab.txt"), encoding="utf-8")][:columns]
    place = triples[:, :2].astype(int) - 1
    if len(names) < columns or not ((place >= 0) & (place < (rows, columns))).all():
        upload.stop(f"docword.txt declares {rows} documents and {columns} words; vocab.txt or a triple does not fit")
    x = np.zeros((rows, columns), np.float32)
    x[place[:, 0], place[:, 1]] = triples[:, 2]
    return x, names, None


def table(folder, most=0.9, least=0.0007, most_words=500):
    if os.path.exists(os.path.join(folder, "docword.txt")):
        x, columns, titles = ready(folder)
    else:
        x, columns, titles = counted(folder, most, least, most_words)
    if min(x.shape) < 2:
        upload.stop(f"the filter leaves {x.shape[0]} documents and {x.shape[1]} words; there must be at least 2 of each")
    return x, columns, titles


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("output")
    parser.add_argument("--words", type=int, default=500)
    options = parser.parse_args()
    values, names, rows = table(options.folder, most_words=options.words)
    upload.write(options.output, values, names, id=rows)
