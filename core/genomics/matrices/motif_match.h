/* Compares a motif with every motif of a database, and computes for each match the probability that chance gives one as
 * good.
 *
 * The method is that of Tomtom (Gupta et al. 2007, Genome Biology 8:R24) with the complete scores of Tanaka et al.
 * 2011 (Bioinformatics 27:1603). The similarity of two columns is minus their Euclidean distance. The score of a
 * query column and another column is their similarity, less the median similarity of the query column and all
 * columns of the database. A query column without a partner counts 0. The score of two motifs is the largest sum
 * over all offsets and both strands. The database is the null model: each query column has the distribution of its
 * scores with all columns of the database, and columns are independent. Therefore compare a motif with a whole
 * database, never with only the few motifs that you expect. */
#ifndef MOTIF_CORE_GENOMICS_MATRICES_MOTIF_MATCH_H
#define MOTIF_CORE_GENOMICS_MATRICES_MOTIF_MATCH_H

#include "core/data/uploads/collection.h"
#include "core/genomics/matrices/position_matrix.h"

/* Motifs as probabilities; column i of motif t is column[first[t] + i]. Borrowed arrays. */
struct motif_database {
    int count;
    const int *first;              /* [count + 1] ascending from 0 */
    const double (*column)[BASES]; /* [first[count]] rows whose sums are 1 */
    bool both_strands;             /* motifs are also compared with the reverse complement */
};

/* The comparison of a query with one motif of the database. */
struct motif_hit {
    int target;
    double p;      /* probability that the null model reaches the score at some offset and strand */
    double evalue; /* p times the number of motifs */
    double qvalue; /* Least false discovery rate at which this motif is accepted (Storey 2002). The share of true null
                    * hypotheses is estimated from the p-values of this query by the bootstrap of Storey, Taylor and
                    * Siegmund 2004, in its closed form (R package qvalue 2). */
    int offset;    /* column 0 of the target, as read on the strand of the match, lies on this column of the query */
    int overlap;   /* number of aligned columns */
    bool reverse;  /* the reverse complement of the target matches */
};

/* Compares `query`, [width] rows of probabilities with width in [1, MATRIX_WIDTH], with all motifs. hit: [count];
 * sorted by ascending p, motifs with the same p by their index in the database. Any thread. STATUS_NO_MEMORY;
 * STATUS_INVALID: an empty database or a width outside the range. */
enum status motif_match(const struct motif_database *database, const double (*query)[BASES], int width,
                        struct motif_hit *hit, struct error *err);

/* A data set of motifs. Queries compare it with the channels of a model, and a training can begin with its motifs. */

struct motif_library {
    struct collection collection;
    struct motif_database database; /* closed if its `count` is 0 */
    int *first;
    double (*column)[BASES];
};

/* Opens the data set `name` in the folder of data sets (core/data/dataset.h). The caller calls motif_library_close()
 * also after a failure. STATUS_INVALID with `pointer`: there is no such data set, or it contains no motifs. Other
 * errors: STATUS_NO_MEMORY, STATUS_IO, STATUS_CORRUPT. */
enum status motif_library_open(const char *data, const char *name, const char *pointer, bool both_strands,
                               struct motif_library *out, struct error *err);
void motif_library_close(struct motif_library *library); /* a zeroed struct is allowed */

/* Return the identifier and the name of a motif, valid until the library is closed. The name is NULL if the motif has
 * none. */
const char *motif_library_id(const struct motif_library *library, int motif);
const char *motif_library_name(const struct motif_library *library, int motif);

#endif
