/* Compares motifs for check_motif_match.py. Reads from stdin: the number of motifs, "1" or "2" strands, and for each
 * motif its width and rows of four probabilities; then the queries in the same form, without the strands. Prints for
 * each query and each target in the order of the file: p-value, E-value, q-value, offset, overlap and strand. */
#include <stdio.h>
#include <stdlib.h>

#include "core/genomics/matrices/motif_match.h"

enum { MOTIFS = 4096, ROWS = 65536 };
struct motifs {
    int count, first[MOTIFS + 1];
    double (*row)[BASES];
};

static bool read_motifs(struct motifs *m, int *strands)
{
    int width;
    m->row = malloc(ROWS * sizeof *m->row);
    if (!m->row || scanf("%d", &m->count) != 1 || m->count > MOTIFS || (strands && scanf("%d", strands) != 1))
        return false;
    m->first[0] = 0;
    for (int i = 0; i < m->count; i++) {
        if (scanf("%d", &width) != 1 || m->first[i] + width > ROWS)
            return false;
        m->first[i + 1] = m->first[i] + width;
        for (int j = m->first[i]; j < m->first[i + 1]; j++)
            if (scanf("%lf %lf %lf %lf", &m->row[j][0], &m->row[j][1], &m->row[j][2], &m->row[j][3]) != 4)
                return false;
    }
    return true;
}

static int by_target(const void *a, const void *b)
{
    return ((const struct motif_hit *)a)->target - ((const struct motif_hit *)b)->target;
}

int main(void)
{
    static struct motifs targets, queries;
    static struct motif_hit hit[MOTIFS];
    int strands = 0;
    if (!read_motifs(&targets, &strands) || !read_motifs(&queries, NULL))
        return 1;
    const struct motif_database database = {targets.count, targets.first, (const double(*)[BASES])targets.row,
                                            strands == 2};
    for (int q = 0; q < queries.count; q++) {
        struct error err = {0};
        if (motif_match(&database, (const double(*)[BASES])queries.row + queries.first[q],
                        queries.first[q + 1] - queries.first[q], hit, &err)) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
        qsort(hit, (size_t)targets.count, sizeof *hit, by_target);
        for (int k = 0; k < targets.count; k++)
            printf("%.17g %.17g %.17g %d %d %c\n", hit[k].p, hit[k].evalue, hit[k].qvalue, hit[k].offset,
                   hit[k].overlap, hit[k].reverse ? '-' : '+');
    }
    free(targets.row);
    free(queries.row);
    return 0;
}
