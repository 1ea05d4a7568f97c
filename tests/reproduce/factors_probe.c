/* Runs the learners that the factors method implements itself, and prints results that factors_sklearn.py compares with
 * scikit-learn's. Reads a table from standard input: "rows columns", then the rows, each with its values of x and then
 * y.
 *
 *      factors_probe boosting            importances of the columns for y
 *      factors_probe logistic            objective of the logistic regression of the class y on x
 *      factors_probe nmf LATENT PENALTY  objective of the factorisation of x
 *      factors_probe lda TOPICS          lower bound on the log likelihood of the counts x under the fitted topics */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/tables/lda.h"
#include "core/kernels/blas.h"
#include "core/methods/factors/model/nmf.h"
#include "core/metrics/dci.h"
#include "core/metrics/logistic.h"

struct table {
    int rows, columns;
    struct features *features;
    double *y;
    int *label, *order, classes;
};

static int read_table(struct table *t, struct error *err)
{
    if (scanf("%d %d", &t->rows, &t->columns) != 2 || features_create(t->rows, t->columns, 0, &t->features, err))
        return -1;
    t->y = calloc((size_t)t->rows, sizeof *t->y);
    t->label = calloc(2 * (size_t)t->rows, sizeof *t->label);
    if (!t->y || !t->label)
        return -1;
    t->order = t->label + t->rows;
    for (int i = 0; i < t->rows; i++) {
        for (int j = 0; j < t->columns; j++)
            if (scanf("%f", &t->features->x[(ptrdiff_t)i * t->columns + j]) != 1)
                return -1;
        if (scanf("%lf", &t->y[i]) != 1)
            return -1;
        t->label[i] = (int)t->y[i];
        t->order[i] = i;
        t->classes = t->label[i] >= t->classes ? t->label[i] + 1 : t->classes;
    }
    return 0;
}

static enum status boosting(const struct table *t, struct error *err)
{
    double *importance = calloc((size_t)t->columns, sizeof *importance), error = 0;
    enum status status = boosting_importance(&BOOSTING_DEFAULT, t->rows, t->columns, t->features->x, t->y, NULL,
                                             importance, &error, err);
    for (int j = 0; !status && j < t->columns; j++)
        printf("%.9f ", importance[j]);
    printf("%.9f\n", error);
    free(importance);
    return status;
}

static enum status logistic(const struct table *t, struct error *err)
{
    struct logistic fit;
    enum status status =
        logistic_fit(t->features->x, t->label, NULL, t->rows, t->columns, t->classes, 1, NULL, &fit, err);
    if (!status) {
        printf("%.9f\n", fit.objective);
        logistic_close(&fit);
    }
    return status;
}

static enum status factorise(const struct table *t, int latent, double penalty, struct error *err)
{
    struct nmf_setup setup = {t->columns, latent, penalty, 1e-4, 200};
    struct nmf *nmf = NULL;
    struct thread_pool *pool = NULL;
    enum status status = thread_pool_create(1, &pool, err);
    if (!status)
        status = nmf_create(&setup, t->features, t->order, t->rows, kernels_best(), pool, &nmf, err);
    while (!status && !nmf_finished(nmf))
        nmf_iterate(nmf);
    if (!status)
        printf("%.9f\n", nmf_objective(nmf));
    nmf_destroy(nmf);
    thread_pool_destroy(pool);
    return status;
}

static enum status topics(const struct table *t, int count, struct error *err)
{
    struct lda_setup setup = LDA_DEFAULT;
    struct lda lda = {0};
    struct thread_pool *pool = NULL;
    setup.topics = count;
    setup.document = setup.word = 1.0 / count;
    enum status status = thread_pool_create(1, &pool, err);
    if (!status)
        status = lda_fit(&setup, t->features, pool, &lda, err);
    if (!status)
        printf("%.6f\n", lda.bound);
    lda_close(&lda);
    thread_pool_destroy(pool);
    return status;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct table t = {0};
    enum status status = STATUS_INVALID;
    blas_init();
    if (argc < 2 || read_table(&t, &err)) {
        fprintf(stderr, "factors_probe: no table\n");
        return 2;
    }
    if (strcmp(argv[1], "boosting") == 0)
        status = boosting(&t, &err);
    if (strcmp(argv[1], "logistic") == 0)
        status = logistic(&t, &err);
    if (strcmp(argv[1], "nmf") == 0 && argc > 3)
        status = factorise(&t, atoi(argv[2]), atof(argv[3]), &err);
    if (strcmp(argv[1], "lda") == 0 && argc > 2)
        status = topics(&t, atoi(argv[2]), &err);
    if (status)
        fprintf(stderr, "factors_probe: %s\n", err.message);
    features_destroy(t.features);
    free(t.y);
    free(t.label);
    return status ? 1 : 0;
}
