/* Latent Dirichlet allocation by batch variational Bayes (Blei, Ng, Jordan 2003; Hoffman, Blei, Bach 2010, with the
 * defaults of scikit-learn): documents are mixtures of topics, topics are distributions over words. */
#ifndef MOTIF_CORE_DATA_TABLES_LDA_H
#define MOTIF_CORE_DATA_TABLES_LDA_H

#include <stdint.h>

#include "core/base/parallel/thread_pool.h"
#include "core/data/tables/features.h"

struct lda_setup {
    /* topics: number of topics; passes: maximum number of passes over all documents; inner: maximum number of updates
     * of a document in one pass */
    int topics, passes, inner;
    /* concentrations of the Dirichlet priors: `document` for the topics of a document, `word` for the words of a
     * topic */
    double document, word;
    double tolerance; /* updates of a document end when the mean change of its parameters is smaller than this */
    uint64_t seed;
};
#define LDA_DEFAULT ((struct lda_setup){20, 10, 100, 1.0 / 20, 1.0 / 20, 1e-3, 1})

struct lda {
    int documents, topics, words;
    double *theta; /* [documents][topics]; every row sums to 1 */
    double *beta;  /* [topics][words]; every row sums to 1 */
    double bound;  /* lower bound of the log likelihood of all counts; perplexity is exp(-bound / sum of all counts) */
};

/* Fits all rows of `counts`; the caller closes `lda`. The result does not depend on the number of threads.
 * STATUS_CANCELLED when the pool is stopped. */
enum status lda_fit(const struct lda_setup *setup, const struct features *counts, struct thread_pool *pool,
                    struct lda *lda, struct error *err);
void lda_close(struct lda *lda); /* a zeroed struct is allowed */

/* The derivative of log gamma, x > 0. */
double lda_digamma(double x);

/* Generates documents with a distribution shift, like the paper's semi-synthetic experiment on abstracts. Rows [0,
 * documents) have shifted mixtures of topics, in which each topic of the second half depends on one of the first:
 * theta_(k + half) = theta_k e^(sigma * normal), normalised to sum 1, where half is half the number of topics. Rows
 * [documents, 2 documents) have the unshifted mixtures theta. The count of a word is round(length of the document *
 * theta . beta). Rows whose counts are all 0 stay in the table. Names of words are copied. The caller destroys
 * *features. */
enum status lda_shifted(const struct lda *lda, const struct features *counts, double sigma, uint64_t seed,
                        struct features **features, struct error *err);

#endif
