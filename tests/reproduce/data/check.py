#!/usr/bin/env python3
"""Tests the scripts of this folder on small files, whose tables are known. Exit status 77 without NumPy."""
import contextlib
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import numpy as np
except ImportError:
    sys.exit(77)
import abstracts
import cells
import environments
import ratings
import spliceai
import upload


@contextlib.contextmanager
def folder(**files):
    """A folder with these files; `__` in a name stands for a dot."""
    with tempfile.TemporaryDirectory() as path:
        for name, text in files.items():
            with open(os.path.join(path, name.replace("__", ".")), "w", encoding="utf-8") as file:
                file.write(text)
        yield path


def refuses(made, word, *arguments, **named):
    try:
        made(*arguments, **named)
    except SystemExit as end:
        assert word in str(end), end
        return
    raise AssertionError(f"accepted; expected an error about {word}")


def ratings_are_filtered():
    # Ratings of 4 or more are positive. User 9 has only one and is left out. Movie 30 then has three positive ratings, and movies 10 and
    # 20 have two each. Two movies are kept: 30, and 20, which appears before 10. User 7 has no positive rating of the two.
    text = ("userId,movieId,rating,timestamp\n1,20,4.0,0\n1,30,5,0\n2,10,4.5,0\n2,30,4,0\n2,40,1,0\n"
            "5,10,4,0\n5,20,4,0\n5,30,4,0\n7,10,3.5,0\n7,50,4,0\n7,60,5,0\n9,30,4,0\n")
    few = {"least_count": 2, "most_movies": 2}
    with folder(ratings__csv=text, movies__csv='movieId,title,genres\n20,"Two, The (1990)",Drama\n') as path:
        x, names = ratings.table(path, **few)
        assert names == ["Two, The (1990)", "movie 30"] and x.tolist() == [[1, 1], [0, 1], [1, 1]], (names, x)
        assert len(ratings.table(path, **few, most_users=2)[0]) == 2
    for wrong in ("a,b,c\n1,2,3\n", "userId,movieId,rating\n1,x,4\n", "userId,movieId,rating\n1,2\n", "userId,movieId,rating\n-1,2,5\n", ""):
        with folder(ratings__csv=wrong) as path:
            refuses(ratings.table, "ratings.csv", path, **few)
    with folder(ratings__csv="userId,movieId,rating\n1,2,5\n") as path:
        refuses(ratings.table, "0 users", path, **few)


def plurals_become_singulars():
    for word, expected in (("cats", ["cat"]), ("queries", ["querie", "query"]), ("classes", ["classe", "class"]), ("boxes", ["boxe", "box"]),
                           ("loss", []), ("bias", ["bia"]), ("corpus", []), ("analysis", []), ("women", ["woman"]),
                           ("halves", ["halve", "half"]), ("branches", ["branche", "branch"]), ("uss", ["us"])):
        assert list(abstracts.singulars(word)) == expected, word


def abstracts_are_counted():
    lines = ('{"abstract":"The networks learn; a Network learns state-of-the-art models (deep)."}\n'
             '{"title":"t","abstract":"Deep models. Deep, deep network models!"}\n{"abstract":"the of and"}\n{"abstract":"Networks"}\n')
    with folder(abstracts__jsonl=lines) as path:
        # the word "network" occurs 4 times (2 + 1 + 0 + 1), "deep" 4 times, "models" 3 times; "model" does not occur
        x, words, titles = abstracts.table(path, least=0, most_words=3)
        assert words == ["deep", "network", "models"] and x.tolist() == [[1, 2, 1], [3, 1, 2]], (words, x)
        assert titles == ["document 1", "t"]
    with folder(abstracts__jsonl='{"abstract":"a"}\n{"title":"none"}\n') as path:
        refuses(abstracts.table, "line 2", path)
    with folder(abstracts__csv='title,abstract_text\n1,"deep, deep model"\n2,model\n"on, nets",net net\n') as path:
        x, words, titles = abstracts.table(path, least=0, most_words=3)
        assert x[0, words.index("deep")] == 2 and titles == ["1", "on, nets"], (x, titles)  # a document of one word is removed
    with folder(docword__txt="2\n3\n3\n1 1 4\n1 3 1\n2 2 5\n", vocab__txt="red\ngreen\nblue\n") as path:
        x, words, titles = abstracts.table(path)
        assert x.tolist() == [[4, 0, 1], [0, 5, 0]] and words[2] == "blue" and titles is None
    with folder(docword__txt="2\n3\n3\n1 4 4\n", vocab__txt="red\ngreen\nblue\n") as path:
        refuses(abstracts.table, "docword.txt", path)


def rows_get_the_same_quantiles():
    # the example of Bolstad et al. (2003)
    x = cells.quantiles(np.array([[5, 2, 3, 4], [4, 1, 4, 2], [3, 4, 6, 8]], np.float32))
    expected = [[17 / 3, 2, 3, 14 / 3], [31 / 6, 2, 31 / 6, 3], [2, 3, 14 / 3, 17 / 3]]
    assert np.abs(x - expected).max() < 1e-6, x


def genes_are_compared():
    # genes 0, 1 and 4 rise together, gene 3 falls, gene 2 is constant
    x = np.array([[1, 2, 7, 9, 0], [2, 4, 7, 8, 1], [3, 6, 7, 7, 2], [4, 8, 7, 6, 3]], np.float32)
    assert cells.neighbours(x, 0.5).tolist() == [3, 3, 1, 1, 3]
    noise = cells.noise(x, -0.56, 0.61)
    assert abs(noise[0] - (np.log2(np.sqrt(1.25) / 2.5) - np.log2(2.5 ** -0.56 + 0.61))) < 1e-12
    assert noise[2] < -1e9 and noise[4] > noise[0]


def published_cells_are_read():
    # A, B and C are correlated, D is not, and E has too few molecules. B has the least noise of A, B and C.
    about = "".join("\tlevel1class\tglia\tneuron\tglia\tneuron\n" if line == 9 else "\tabout\ta\tb\tc\td\n" for line in range(1, 11))
    genes = "A\t1\t1\t2\t3\t4\nB\t1\t9\t9\t10\t10\nC#2\t1\t0\t0\t9\t9\nD\t2\t5\t1\t5\t1\nE\t2\t0\t0\t1\t1\n"
    with folder(expression__txt=f"{about}\t\t\t\t\t\n{genes}") as path:
        x, names, labels = cells.table(path, least_molecules=5, genes=9, least_neighbours=3, correlation=0.5, noisiest=2)
        assert x.shape == (4, 2) and names == ["A", "C#2"] and labels == ["glia", "neuron", "glia", "neuron"], (x, names)
    with folder(expression__txt="\tlevel1class\tglia\tneuron\n\tabout\ta\n") as path:
        refuses(cells.table, "level1class", path)


def cells_are_read_by_line_and_by_column():
    across = "\tc1\tc2\tc3\nA\t1\t9\t2\nB\t0\t1\t0\nC\t3\t3\t3\nD\t8\t0\t4\n"
    with folder(counts__tsv=across, cells__tsv="cell_id\tlevel1class\nc1\tx\nc2\ty\nc3\tx\n") as path:
        # B has too few molecules, and C has the smallest deviation
        x, names, labels = cells.table(path, least_molecules=3, genes=2)
        assert names == ["A", "D"] and labels == ["x", "y", "x"] and x[0, 0] == 1, (x, names)
    with folder(counts__tsv=across, cells__tsv="cell_id\tlevel1class\nc1\tx\nc3\ty\nc2\tx\n") as path:
        refuses(cells.table, "different ids", path)
    with folder(counts__tsv="id\tcell_type\tA\tB\tC\nq\tT\t1\t5\t2\nr\tB\t4\t1\t2\n") as path:
        x, names, labels = cells.table(path, least_molecules=3, genes=2)
        assert x.shape == (2, 2) and labels == ["T", "B"]
    with folder(counts__tsv="id\tcell_type\tA\tB\tC\nq\tT\t1\t5\n") as path:
        refuses(cells.table, "counts.tsv", path)


def environments_have_paths():
    edges = "parent\tchild\nroot\tgenus:a/x\ngenus:a/x\tsample:1.5\ngenus:a/x\tsample:2.5\nroot\tsample:3.5\n"
    with folder(tree_edges__tsv=edges, samples__tsv="id\tresistant\tf0\n1.5\t0\t0.5\n2.5\t1\t1\n9\t1\t3\n3.5\t1\t2\n") as path:
        x, names, groups = environments.table(path)  # row 9 names no node
        assert names == ["resistant", "f0"] and groups == ["a-x/1.5", "a-x/2.5", "3.5"] and x.tolist() == [[0, 0.5], [1, 1], [1, 2]], x
    edges = "parent\tchild\nroot\tab\nab\ta\nab\tb\n"
    samples = "id\tweek\tpart\tplace\ns1\t1\tab\ta\ns2\t2\tab\tc\ns3\t1\tab\tb\n"
    with folder(tree_edges__tsv=edges, samples__tsv=samples, expression__tsv="\ts1\ts2\ts3\nhigh\t0\t3\t100\nlow\t1\t2\t2\n") as path:
        x, names, groups = environments.table(path)
        assert names == ["high", "low"] and groups == ["ab/a", "ab/b"] and x.tolist() == [[0, 1], [100, 2]], (x, names, groups)
    with folder(tree_edges__tsv=edges, samples__tsv=samples, expression__tsv="\ts1\ts3\ts2\nhigh\t0\t3\t100\n") as path:
        refuses(environments.table, "different ids", path)
    with folder(tree_edges__tsv=edges + "x\ta\n", samples__tsv=samples) as path:
        refuses(environments.table, "not a tree", path)


def windows_become_genes():
    length, flank = 4, 3
    letters = [np.array([0, 1, 2, 3, 0, 1, 2, 3, 2], int), np.array([3, 3, 1], int)]
    classes = [np.array([0, 2, 0, 0, 1, 0, 2, 1, 0], int), np.array([0, 0, 0], int)]
    x, y = [], []
    for bases, sites in zip(letters, classes):
        windows = -(-len(bases) // length)
        whole = np.full(windows * length + 2 * flank, 4)
        whole[flank:flank + len(bases)] = bases
        labels = np.zeros(windows * length, int)
        labels[:len(sites)] = sites
        for at in range(windows):
            x.append(np.eye(5, dtype=np.int8)[whole[at * length:(at + 1) * length + 2 * flank], :4])
            y.append(np.eye(3, dtype=np.int8)[labels[at * length:(at + 1) * length]])
    made = list(spliceai.genes(np.array(x), np.array([y])))
    assert len(made) == 2 and all((b == bases).all() and (s == sites).all()
                                  for (b, s), bases, sites in zip(made, letters, classes)), made
    assert spliceai.introns(classes[0]) == [(2, 5), (7, 8)]
    refuses(spliceai.introns, "alternate", np.array([0, 2, 2, 1]))
    x[0] = np.eye(5, dtype=np.int8)[[0] * (length + 2 * flank), :4]
    refuses(lambda: list(spliceai.genes(np.array(x), np.array([y]))), "flanks")
    names = [spliceai.name_of(number, test) for number in range(20) for test in (False, True)]
    assert len(set(names)) == 40


def an_upload_has_the_arrays():
    with folder() as path:
        file = os.path.join(path, "set.npz")
        upload.write(file, np.ones((2, 1)), ["\u00e9" * 200], y=["a b", "c"], id=None)
        with np.load(file) as arrays:
            assert list(arrays) == ["options", "y", "x", "columns"] and arrays["options"].tolist() == [b"target=class"], list(arrays)
            assert arrays["columns"][0].decode() == "\u00e9" * 127 and arrays["x"].dtype == np.float32


for test in (ratings_are_filtered, plurals_become_singulars, abstracts_are_counted, rows_get_the_same_quantiles, genes_are_compared,
             published_cells_are_read, cells_are_read_by_line_and_by_column, environments_have_paths, windows_become_genes,
             an_upload_has_the_arrays):
    test()
    print(f"ok {test.__name__}")
