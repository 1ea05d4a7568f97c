/* Tests the convolution of words: its gradients are those of differences, and it equals the convolution of one-hot
 * planes with the same bits for any number of threads. */
#include "tests/unit/core/gradient.h"

#include <math.h>

#include "tests/support/unit.h"

#define TOLERANCE 1e-6

struct word_case {
    struct map_shape in; /* channels: the size of the vocabulary */
    struct weight *w, *b;
    struct batch_norm norm;
    const real *planes;
};

static struct tensor *build_planar(struct probe *p, const void *context)
{
    const struct word_case *c = context;
    return op_conv_planar(&p->exec, c->planes, c->in.images, c->in.channels, 1, c->in.width, c->in.halo_h, c->w, c->b);
}

static struct tensor *build_words(struct probe *p, const void *context)
{
    const struct word_case *c = context;
    return op_conv_words(&p->exec, c->planes, c->in.images, c->in.width, c->in.halo_h, c->w, c->b);
}

/* In these two, a batch norm uses the moments that the convolution computed. */
static struct tensor *build_words_norm(struct probe *p, const void *context)
{
    struct word_case *c = (struct word_case *)context;
    return op_batch_norm(&p->exec, build_words(p, c), &c->norm, true);
}

static struct tensor *build_planar_norm(struct probe *p, const void *context)
{
    struct word_case *c = (struct word_case *)context;
    return op_batch_norm(&p->exec, build_planar(p, c), &c->norm, true);
}

/* Random words [images][width] of a vocabulary, some of them 0, and the same words as one-hot planes. */
static void draw_words(struct probe *p, const struct map_shape *in, int vocabulary, real *words, real *planes)
{
    probe_fill(p, words, (size_t)(in->images * in->width), 0.5);
    memset(planes, 0, (size_t)(in->images * in->width * vocabulary) * sizeof *planes);
    for (int i = 0; i < in->images * in->width; i++) {
        int word = (int)((words[i] + R(0.5)) * (real)(vocabulary + 1));
        words[i] = word > vocabulary ? vocabulary : word;
        if (words[i] > 0)
            planes[(i / in->width * vocabulary + (int)words[i] - 1) * in->width + i % in->width] = 1;
    }
}

static void word_conv_gradients_match_differences(void **state)
{
    real words[3 * 12], planes[3 * 12 * 6];
    struct probe p;
    probe_open(&p, 2, "ref");
    struct word_case c = {.in = {3, 1, 1, 12, 0, 1}, .planes = words};
    draw_words(&p, &c.in, 6, words, planes);
    c.w = probe_weight(&p, 4, (int[]){19, 6, 1, 5}, 0.5);
    c.b = probe_vector(&p, 19, 0.5);
    probe_check(&p, build_words, &c, TOLERANCE);
    probe_close(&p);
}

/* op_conv_words() must equal op_conv_planar() of the one-hot planes, and its bits must not depend on the threads. */
static void word_conv_equals_the_conv_of_one_hot_planes(void **state)
{
    static const struct {
        struct map_shape in;
        int vocabulary, out, taps;
    } cases[] = {{{1, 1, 1, 1, 0, 1}, 1, 1, 1},
                 {{4, 1, 1, 30, 0, 1}, 9, 33, 7},
                 {{3, 1, 1, 50, 1, 1}, 200, 16, 3},
                 {{2, 1, 1, 5, 0, 1}, 40, 20, 21},
                 {{40, 1, 1, 20, 0, 1}, 3, 8, 5}};
    static real words[1000], planes[1000 * 200], kept[33 * 200 * 21];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int threads = 1; threads < 4; threads++) {
            struct probe p;
            probe_open(&p, threads, "ref");
            struct word_case c = {.in = cases[i].in};
            c.in.channels = cases[i].vocabulary;
            draw_words(&p, &c.in, cases[i].vocabulary, words, planes);
            c.w = probe_weight(&p, 4, (int[]){cases[i].out, c.in.channels, 1, cases[i].taps}, 0.5);
            c.b = probe_vector(&p, cases[i].out, 0.5);
            c.norm = (struct batch_norm){.momentum = 0.1, .epsilon = 1e-5};
            c.norm.mean = probe_vector(&p, cases[i].out, 0.3);
            c.norm.variance = probe_vector(&p, cases[i].out, 0.5);
            c.planes = words;
            double sum = probe_run(&p, build_words_norm, &c);
            if (threads > 1)
                assert_memory_equal(kept, c.w->grad, c.w->count * sizeof *kept);
            memcpy(kept, c.w->grad, c.w->count * sizeof *kept);
            c.planes = planes;
            double plain = probe_run(&p, build_planar_norm, &c);
            assert_true(fabs(sum - plain) < 1e-9 * (1 + fabs(plain)));
            for (size_t k = 0; k < c.w->count; k++)
                assert_true(fabs(kept[k] - c.w->grad[k]) < 1e-9);
            probe_close(&p);
        }
}

static void words_outside_the_vocabulary_are_refused(void **state)
{
    static const real wrong[] = {R(7.0), R(-1.0), R(NAN)};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct probe p;
        probe_open(&p, 1, "ref");
        struct weight *w = probe_weight(&p, 4, (int[]){2, 6, 1, 3}, 0.5), *b = probe_vector(&p, 2, 0.5);
        exec_begin(&p.exec, true, 0);
        assert_null(op_conv_words(&p.exec, &wrong[i], 1, 1, 0, w, b));
        assert_int_equal(p.exec.error.code, STATUS_INTERNAL);
        probe_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(word_conv_gradients_match_differences),
        cmocka_unit_test(word_conv_equals_the_conv_of_one_hot_planes),
        cmocka_unit_test(words_outside_the_vocabulary_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
