/* Tests that several ranks train one model: the curve is that of one rank, all ranks have the same bits in every
 * repetition, and any number of ranks continues from any checkpoint. The ranks are threads here. */
#include <math.h>

#include "tests/support/unit.h"
#include "tests/support/assert_ok.h"
#include "tests/support/rank_run.h"
#include "tests/support/sanitized.h"

enum { RANKS = 4, CONFIG_BYTES = 1 << 16 };

/* A run of some updates, and the allowed difference between the curves of several ranks and of one. */
struct trial {
    const char *name, *kind, *preset;
    struct config_setting more[48];
    int64_t updates, stretch;
    double near; /* allowed largest relative difference of the curves */
};

#define TINY                                                                                                           \
    {"image_size", "48"}, {"classes", "4"}, {"min_symbols", "1"}, {"max_symbols", "2"}, {"shift", "1"},                \
        {"min_radius", "6"}, {"width", "8"}, {"units", "1"}, {"motifs", "4"}, {"channels", "16"}, {"layers", "1"},     \
        {"heads", "2"}, {"feed_forward", "32"}, {"batch", "7"}, {"validation_samples", "20"},                          \
        {"checkpoint_every", "700"}, {"total_samples", "100000"},                                                      \
    {                                                                                                                  \
        "learning_rate", "1e-3"                                                                                        \
    }

static const struct trial sparling[] = {
    {"dropout, LSTM, dense",
     "sparling",
     NULL,
     {TINY, {"dropout", "0.1"}, {"validation_every", "350"}, {"density_start", "0.4"}},
     60,
     10,
     1e-5},
    {"few motifs",
     "sparling",
     NULL,
     {TINY, {"dropout", "0.1"}, {"validation_every", "350"}, {"density_start", "0.01"}, {"clip_norm", "0.5"}},
     60,
     10,
     1e-5},
    {"one sample takes the statistics' gradient, sparse backward",
     "sparling",
     NULL,
     {TINY,
      {"dropout", "0.1"},
      {"validation_every", "3500"},
      {"density_start", "0.01"},
      {"hold_below", "1"},
      {"backward", "sparse"}},
     60,
     10,
     1e-5},
    /* With the preset's learning rate, the curves would differ by 1.0e-5 under OpenBLAS's Haswell kernels, so this
     * trial sets another learning rate. */
    {"interpolated, active cells",
     "sparling",
     "digitcircle-quick",
     {{"image_size", "48"},
      {"classes", "4"},
      {"min_symbols", "1"},
      {"max_symbols", "2"},
      {"min_radius", "6"},
      {"motifs", "4"},
      {"width", "8"},
      {"learning_rate", "2e-4"},
      {"batch", "7"},
      {"validation_samples", "20"},
      {"validation_every", "700"}},
     60,
     10,
     1e-5},
    {"single threshold",
     "sparling",
     NULL,
     {TINY,
      {"sparsity", "single"},
      {"validation_every", "3500"},
      {"density_start", "0.1"},
      {"quantile", "interpolated"}},
     60,
     10,
     1e-5},
    {"collected",
     "sparling",
     NULL,
     {TINY, {"accumulate_motifs", "10"}, {"validation_every", "3500"}, {"density_start", "0.002"}},
     60,
     10,
     1e-5},
};

/* Compares runs of several ranks with a run of one rank, stretch by stretch. At the beginning of each stretch, all runs
 * load the checkpoint that the single rank saved at the end of the previous one. (In longer stretches, the
 * small differences of rounding in float would grow: docs/lab/performance.md.) */
static void compare(const struct trial *t, int least, int most)
{
    const struct method *method = method_find(t->kind);
    char *config = calloc(1, CONFIG_BYTES);
    struct rank_witness *w = calloc(2 * RANKS, sizeof *w), *alone = w + RANKS, *again = alone + 1;
    struct run_env_bytes now = {0};
    assert_true(config && w && method);
    assert_ok(rank_configure(method, t->preset, t->more, config, err));
    int64_t last = SANITIZED ? 2 * t->stretch : t->updates;
    for (int64_t end = t->stretch; end <= last && end <= t->updates; end += t->stretch) {
        struct run_env_bytes next = {0};
        struct rank_plan plan = {.method = method, .config = config, .threads = 1, .updates = end};
        plan.from = end > t->stretch ? &now : NULL;
        plan.to = &next;
        assert_ok(rank_run(&plan, NULL, alone, err));
        plan.to = NULL;
        for (int ranks = least; ranks <= most; ranks++) {
            assert_ok(rank_run_threads(&plan, ranks, w, err));
            double apart = rank_apart(&w[0], alone);
            if (apart > t->near)
                fail_msg("%s: %d ranks are %.1e apart up to update %lld", t->name, ranks, apart, (long long)end);
            for (int r = 1; r < ranks; r++) {
                assert_string_equal(w[r].state, w[0].state);
                assert_true(memcmp(w[r].loss, w[0].loss, sizeof w[0].loss) == 0);
            }
            if (ranks == 1 || t->near == 0)
                assert_string_equal(w[0].state, alone->state);
            if (ranks == most && end == t->stretch) {
                *again = w[0];
                assert_ok(rank_run_threads(&plan, ranks, w, err));
                assert_string_equal(w[0].state, again->state);
            }
        }
        run_env_bytes_close(&now);
        now = next;
    }
    run_env_bytes_close(&now);
    free(config);
    free(w);
}

static const struct trial others[] = {
    {"sparse VAE, a last batch of one row",
     "factors",
     NULL,
     {{"rows", "150"}, {"epochs", "50"}, {"batch", "37"}},
     60,
     20,
     1e-5},
    {"restarts",
     "factors",
     NULL,
     {{"rows", "120"}, {"epochs", "50"}, {"batch", "25"}, {"restarts", "3"}, {"screen_epochs", "2"}},
     40,
     20,
     1e-5},
    {"pseudo-inputs",
     "factors",
     NULL,
     {{"model", "vsc"}, {"rows", "150"}, {"epochs", "50"}, {"batch", "40"}},
     40,
     20,
     1e-5},
    {"zeros skipped",
     "factors",
     NULL,
     {{"zeros", "skip"}, {"zeros_after", "6"}, {"rows", "200"}, {"epochs", "50"}, {"lambda0", "100"}, {"batch", "31"}},
     60,
     20,
     1e-5},
    {"linear",
     "environments",
     NULL,
     {{"depth", "3"},
      {"samples", "30"},
      {"updates", "100"},
      {"batch", "65"},
      {"factors", "3"},
      {"latent", "3"},
      {"inputs", "5"},
      {"restarts", "2"}},
     60,
     20,
     1e-5},
    {"MLP",
     "environments",
     NULL,
     {{"depth", "3"},
      {"samples", "30"},
      {"updates", "100"},
      {"batch", "33"},
      {"factors", "3"},
      {"latent", "3"},
      {"inputs", "5"},
      {"encoder", "mlp"},
      {"psi", "tanh"},
      {"hidden", "16"}},
     60,
     20,
     1e-5},
    {"autoencoder",
     "superposition",
     NULL,
     {{"n_s", "40"}, {"batch", "41"}, {"total_samples", "100000"}, {"stop", "never"}},
     60,
     20,
     1e-5},
};
/* These methods sum over work items in a fixed order, so several ranks have the same bits as one rank. */
static const struct trial counted[] = {
    {"curves",
     "pathways",
     NULL,
     {{"filters", "2"},
      {"filter_length", "64"},
      {"length", "256"},
      {"nonzeros", "1,2,4"},
      {"trials", "60"},
      {"draws", "5"}},
     6,
     6,
     0},
};

static void other_methods_give_the_same_bits_on_any_number_of_ranks(void **state)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        compare(&others[i], i == 0 ? 1 : 2, i == 0 ? RANKS : 3);
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        compare(&counted[i], 1, RANKS);
}

static void sparling_on_several_ranks_follows_the_curve_of_one_rank(void **state)
{
    for (size_t i = 0; i < sizeof sparling / sizeof sparling[0]; i++)
        compare(&sparling[i], i == 0 ? 1 : 2, i == 0 ? RANKS : 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_methods_give_the_same_bits_on_any_number_of_ranks),
        cmocka_unit_test(sparling_on_several_ranks_follows_the_curve_of_one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
