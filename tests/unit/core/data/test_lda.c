/* Tests the fit of topics to documents, and the draw of documents from shifted mixtures of topics. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/data/tables/lda.h"

enum { DOCUMENTS = 120, WORDS = 12, TOPICS = 4 };

static struct thread_pool *pool;

static int setup(void **state)
{
    return thread_pool_create(2, &pool, NULL) ? -1 : 0;
}

static int teardown(void **state)
{
    thread_pool_destroy(pool);
    return 0;
}

/* Creates documents of four kinds. The words of a document are the three words of its kind. */
static struct features *documents(void)
{
    struct features *f;
    struct philox from = philox_stream(5, 1, 0);
    assert_int_equal(features_create(DOCUMENTS, WORDS, 0, &f, NULL), STATUS_OK);
    for (int i = 0; i < DOCUMENTS; i++)
        for (int n = 0; n < 30; n++) {
            int word = 3 * (i % TOPICS) + (int)(philox_u32(&from, (uint64_t)(i * 30 + n)) % 3);
            f->x[i * WORDS + word] += 1;
        }
    return f;
}

static struct lda_setup four_topics(void)
{
    struct lda_setup s = LDA_DEFAULT;
    s.topics = TOPICS;
    s.document = s.word = 1.0 / TOPICS;
    s.passes = 30;
    return s;
}

static void digamma_equals_published_values(void **state)
{
    assert_true(fabs(lda_digamma(1) + 0.57721566490153286) < 1e-10);
    assert_true(fabs(lda_digamma(0.5) + 1.96351002602142348) < 1e-10);
    assert_true(fabs(lda_digamma(10) - 2.25175258906672111) < 1e-10);
    assert_true(fabs(lda_digamma(0.05) - (lda_digamma(1.05) - 20)) < 1e-10);
}

static void planted_topics_are_found(void **state)
{
    struct features *f = documents();
    struct lda_setup s = four_topics();
    struct lda lda = {0}, again = {0};
    struct thread_pool *one;
    uint64_t best_seed = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) { /* a fit may merge two topics; the fit with the best bound does not */
        s.seed = seed;
        assert_int_equal(lda_fit(&s, f, pool, &again, NULL), STATUS_OK);
        if (lda.theta == NULL || again.bound > lda.bound) {
            struct lda worse = lda;
            lda = again;
            again = worse;
            best_seed = seed;
        }
        lda_close(&again);
    }
    s.seed = best_seed;
    /* the topic that is largest in a document is the same for all documents of its kind */
    for (int i = TOPICS; i < DOCUMENTS; i++) {
        int best[2] = {0, 0}, which[2] = {i, i % TOPICS};
        double sum = 0;
        for (int d = 0; d < 2; d++)
            for (int t = 1; t < TOPICS; t++)
                best[d] = lda.theta[which[d] * TOPICS + t] > lda.theta[which[d] * TOPICS + best[d]] ? t : best[d];
        assert_int_equal(best[0], best[1]);
        assert_true(lda.theta[i * TOPICS + best[0]] > 0.9);
        for (int t = 0; t < TOPICS; t++)
            sum += lda.theta[i * TOPICS + t];
        assert_true(fabs(sum - 1) < 1e-12);
        double own = 0;
        for (int j = 0; j < 3; j++)
            own += lda.beta[best[0] * WORDS + 3 * (i % TOPICS) + j];
        assert_true(own > 0.95);
    }
    /* a topic draws from three words, so the perplexity cannot be much below 3 */
    assert_true(lda.bound < 0 && exp(-lda.bound / (30 * DOCUMENTS)) < 3.5);
    assert_int_equal(thread_pool_create(1, &one, NULL), STATUS_OK);
    assert_int_equal(lda_fit(&s, f, one, &again, NULL), STATUS_OK);
    assert_memory_equal(lda.theta, again.theta, sizeof(double) * DOCUMENTS * TOPICS);
    thread_pool_destroy(one);
    lda_close(&lda);
    lda_close(&again);
    features_destroy(f);
}

/* Compares drawn documents with their definition. The first DOCUMENTS rows are for training, and are drawn from shifted
 * mixtures: with shift 0, topics 2 and 3 have the weights of topics 0 and 1. The other rows are for tests, and are
 * drawn from the documents' own mixtures theta. */
static void shifted_documents_follow_their_definition(void **state)
{
    struct features *f = documents(), *drawn, *wide, *same;
    struct lda_setup s = four_topics();
    struct lda lda = {0};
    assert_int_equal(lda_fit(&s, f, pool, &lda, NULL), STATUS_OK);
    assert_int_equal(lda_shifted(&lda, f, 0, 1, &drawn, NULL), STATUS_OK);
    assert_int_equal(lda_shifted(&lda, f, 1, 1, &wide, NULL), STATUS_OK);
    assert_int_equal(lda_shifted(&lda, f, 1, 1, &same, NULL), STATUS_OK);
    assert_true(drawn->rows == 2 * DOCUMENTS && drawn->columns == WORDS);
    for (int i = 0; i < DOCUMENTS; i++)
        for (int j = 0; j < WORDS; j++) {
            const double *t = lda.theta + i * TOPICS;
            double a = lda.beta[j], b = lda.beta[WORDS + j], c = lda.beta[2 * WORDS + j], d = lda.beta[3 * WORDS + j];
            double shifted = (t[0] * (a + c) + t[1] * (b + d)) / (2 * (t[0] + t[1]));
            assert_true(fabs((double)drawn->x[i * WORDS + j] - 30 * shifted) <= 0.5 + 1e-9);
            double plain = t[0] * a + t[1] * b + t[2] * c + t[3] * d;
            assert_true(fabs((double)drawn->x[(DOCUMENTS + i) * WORDS + j] - 30 * plain) <= 0.5 + 1e-9);
        }
    size_t half = sizeof(float) * DOCUMENTS * WORDS;
    assert_memory_equal(wide->x, same->x, 2 * half);
    assert_true(memcmp(wide->x, drawn->x, half) != 0);
    assert_memory_equal(wide->x + DOCUMENTS * WORDS, drawn->x + DOCUMENTS * WORDS, half);
    features_destroy(drawn);
    features_destroy(wide);
    features_destroy(same);
    features_destroy(f);
    lda_close(&lda);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digamma_equals_published_values),
        cmocka_unit_test(planted_topics_are_found),
        cmocka_unit_test(shifted_documents_follow_their_definition),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
