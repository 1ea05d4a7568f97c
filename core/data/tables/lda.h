/* Latent Dirichlet allocation by variational Bayes in whole passes (Blei, Ng, Jordan 2003; Hoffman, Blei, Bach 2010,
 * with the settings that scikit-learn has by default): documents are mixtures of topics, topics are distributions
 * over words. */
#ifndef MOTIF_CORE_DATA_TABLES_LDA_H
#define MOTIF_CORE_DATA_TABLES_LDA_H

#include <stdint.h>

#include "core/base/thread_pool.h"
#include "core/data/tables/features.h"

struct lda_setup {
    int topics, passes, inner; /* inner: updates of a document in a pass, at most */
    double document, word;     /* concentration of both Dirichlet priors */
    double tolerance;          /* mean change of a document's updates at which they end */
    uint64_t seed;
};
#define LDA_DEFAULT ((struct lda_setup){20, 10, 100, 1.0 / 20, 1.0 / 20, 1e-3, 1})

struct lda {
    int documents, topics, words;
    double *theta; /* [documents][topics], rows of sum 1 */
    double *beta;  /* [topics][words], rows of sum 1 */
    double bound;  /* of the log likelihood of all counts; perplexity is exp(-bound / counts) */
};

/* Of all rows of `counts`. The same result for any number of threads. */
enum status lda_fit(const struct lda_setup *setup, const struct features *counts, struct thread_pool *pool,
                    struct lda *lda, struct error *err);
void lda_close(struct lda *lda); /* zeroed is fine */

/* The derivative of log gamma, x > 0. */
double lda_digamma(double x);

/* Shifted documents, after a semi-synthetic experiment on abstracts: rows [0, documents) are drawn from mixtures in
 * which the second half of the topics follows the first, theta_(k + half) = theta_k e^(sigma * normal), rows to sum
 * 1; rows [documents, 2 documents) from theta as it is. Counts are round(length of the document * theta . beta); a
 * row without a count keeps its place with none. names: of the words, copied. */
enum status lda_shifted(const struct lda *lda, const struct features *counts, double sigma, uint64_t seed,
                        struct features **features, struct error *err);

#endif
