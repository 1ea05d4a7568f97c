/* Tests several ranks with the whole core in double precision. From the first update to the last, their curves agree
 * with the curve of one rank to the precision of double. Differences in float are therefore rounding
 * (docs/lab/performance.md, "Ranks"). The ranks are threads here. */
#include "tests/support/unit.h"
#include "core/base/real.h"
#include "tests/support/assert_ok.h"
#include "tests/support/rank_run.h"

enum { RANKS = 3, CONFIG_BYTES = 1 << 17 };

#define TINY                                                                                                           \
    {"image_size", "32"}, {"classes", "3"}, {"min_symbols", "1"}, {"max_symbols", "2"}, {"shift", "1"},                \
        {"margin", "8"}, {"min_radius", "5"}, {"width", "8"}, {"units", "1"}, {"motifs", "3"}, {"channels", "16"},     \
        {"layers", "1"}, {"heads", "2"}, {"feed_forward", "32"}, {"batch", "7"}, {"validation_samples", "20"},         \
        {"validation_every", "3500"}, {"checkpoint_every", "7000"}, {"total_samples", "100000"},                       \
        {"learning_rate", "1e-3"},                                                                                     \
    {                                                                                                                  \
        "dropout", "0.1"                                                                                               \
    }

static const struct trial {
    const char *name, *kind;
    struct config_setting set[32];
    int64_t updates;
    double near; /* allowed largest relative difference of the curves */
} trials[] = {
    {"dropout, LSTM, dense", "sparling", {TINY, {"density_start", "0.4"}}, 20, 1e-13},
    {"sparse backward, held, clipped",
     "sparling",
     {TINY, {"density_start", "0.01"}, {"hold_below", "1"}, {"backward", "sparse"}, {"clip_norm", "0.5"}},
     20,
     1e-13},
    {"autoencoder",
     "superposition",
     {{"n_s", "40"}, {"batch", "41"}, {"total_samples", "100000"}, {"stop", "never"}},
     60,
     1e-13},
    {"sparse VAE", "factors", {{"rows", "150"}, {"epochs", "50"}, {"batch", "37"}}, 60, 1e-11},
    {"pseudo-inputs", "factors", {{"model", "vsc"}, {"rows", "150"}, {"epochs", "50"}, {"batch", "40"}}, 60, 1e-11},
    {"MLP",
     "environments",
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
     1e-13},
};

static void only_rounding_separates_the_curves_of_ranks(void **state)
{
    struct rank_witness *w = calloc(RANKS + 1, sizeof *w), *alone = w + RANKS;
    void *config = calloc(1, CONFIG_BYTES);
    assert_true(w && config);
    assert_int_equal(sizeof(real), sizeof(double)); /* fails if the wrong core is linked */
    for (const struct trial *t = trials; t < trials + sizeof trials / sizeof trials[0]; t++) {
        struct rank_plan plan = {.method = method_find(t->kind), .config = config, .threads = 1, .updates = t->updates};
        assert_ok(rank_configure(plan.method, NULL, t->set, config, err));
        assert_ok(rank_run(&plan, NULL, alone, err));
        assert_true(alone->losses >= 2);
        for (int ranks = 2; ranks <= RANKS; ranks++) {
            assert_ok(rank_run_threads(&plan, ranks, w, err));
            double apart = rank_apart(&w[0], alone);
            print_message("%s: %d ranks are %.1e apart after %lld updates\n", t->name, ranks, apart,
                          (long long)t->updates);
            assert_true(apart <= t->near);
        }
    }
    free(config);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_rounding_separates_the_curves_of_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
