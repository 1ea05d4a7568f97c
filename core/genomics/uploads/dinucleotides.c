/* The shuffle of Altschul and Erickson (1985, Molecular Biology and Evolution 2:526).
 *
 * A sequence is a walk through a graph. The nodes of the graph are letters, and each pair of neighbours in the sequence
 * is an edge. The order in which the edges of each node are used determines the walk. The walk uses all edges if the
 * last edges of the nodes form a tree towards the final letter. So the function draws such a tree, shuffles the other
 * edges of each node, puts the edge of the tree after them, and walks. */
#include "core/genomics/uploads/dinucleotides.h"

#include <stdbool.h>
#include <string.h>

enum { LETTERS = 5 };

struct walk {
    int64_t edges[LETTERS][LETTERS]; /* [a][b]: number of unused edges from letter a to letter b */
    int64_t leaving[LETTERS];
    int last[LETTERS]; /* [a]: the letter to which the last edge of letter a leads */
};

static int64_t below(const struct philox *from, uint64_t *at, int64_t n)
{
    uint64_t bits = (uint64_t)philox_u32(from, *at) << 32 | philox_u32(from, *at + 1);
    *at += 2;
    return (int64_t)(bits % (uint64_t)n); /* n is far below 2^64, so the bias is negligible */
}

/* Draws one of the edges that leave a node, each with the same probability, and returns its target. */
static int draw_edge(const struct walk *w, int node, const struct philox *from, uint64_t *at)
{
    int64_t number = below(from, at, w->leaving[node]);
    int target = 0;
    while (number >= w->edges[node][target])
        number -= w->edges[node][target++];
    return target;
}

/* Draws a random tree towards `root`: from each node, a random walk that ends at a node of the tree. Loops are
 * erased, because a later visit of a node overwrites its edge. */
static void draw_tree(struct walk *w, int root, const struct philox *from, uint64_t *at)
{
    bool joined[LETTERS] = {false};
    joined[root] = true;
    for (int i = 0; i < LETTERS; i++) {
        if (w->leaving[i] == 0)
            continue;
        for (int node = i; !joined[node]; node = w->last[node])
            w->last[node] = draw_edge(w, node, from, at);
        for (int node = i; !joined[node]; node = w->last[node])
            joined[node] = true;
    }
}

void dinucleotides_shuffle(const uint8_t *base, int64_t count, const struct philox *from, uint64_t *at, uint8_t *out)
{
    struct walk w = {0};
    if (count == 0)
        return;
    for (int64_t i = 0; i + 1 < count; i++) {
        w.edges[base[i]][base[i + 1]]++;
        w.leaving[base[i]]++;
    }
    int root = base[count - 1];
    draw_tree(&w, root, from, at);
    for (int i = 0; i < LETTERS; i++)
        if (i != root && w.leaving[i] > 0) { /* the walk uses a node's edge of the tree last */
            w.edges[i][w.last[i]]--;
            w.leaving[i]--;
        }
    int node = base[0];
    out[0] = base[0];
    for (int64_t i = 1; i < count; i++) {
        int target = w.last[node];
        if (w.leaving[node] > 0) {
            target = draw_edge(&w, node, from, at);
            w.edges[node][target]--;
            w.leaving[node]--;
        }
        out[i] = (uint8_t)target;
        node = target;
    }
}
