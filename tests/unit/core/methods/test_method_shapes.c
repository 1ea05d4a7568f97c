/* Tests that a method compares the shapes of a checkpoint with its configuration before it allocates. A small
 * checkpoint is opened with a configuration whose model needs hundreds of megabytes, as a hostile import would. */
#include "tests/support/unit.h"
#include "tests/support/fault.h"
#include "tests/support/run_test.h"
#include "tests/support/short_runs.h"

/* bytes that opening a checkpoint may allocate, for lists of cases and tables of contents; each large model below needs
 * at least 64 MB */
enum { MOST_BYTES = 4 << 20 };

struct subject {
    const char *kind;
    const struct config_setting *small, *large; /* `large` is applied on top of `small` */
};

#define NOTHING                                                                                                        \
    {                                                                                                                  \
        NULL, NULL                                                                                                     \
    }
static const struct config_setting wide[] = {{"width", "1024"}, {"units", "8"}, NOTHING};
static const struct config_setting collecting[] = {{"accumulate_elements", "1000000"}, {"motifs", "64"}, NOTHING};
static const struct config_setting many[] = {{"n_s", "16384"}, NOTHING};
static const struct config_setting rug[] = {{"model", "rug"}, {"n_s", "1024"}, {"test_samples", "20"}, NOTHING};
static const struct config_setting many_rows[] = {{"n_s", "16777216"}, NOTHING};
static const struct config_setting long_filters[] = {
    {"filters", "256"}, {"filter_length", "65536"}, {"length", "1048576"}, NOTHING};
static const struct config_setting deep_factors[] = {{"hidden", "4096"}, {"latent", "512"}, NOTHING};
static const struct config_setting environments[] = {
    {"depth", "2"},  {"samples", "10"},      {"updates", "3"},   {"batch", "32"},  {"factors", "2"}, {"latent", "2"},
    {"inputs", "4"}, {"test_samples", "10"}, {"encoder", "mlp"}, {"hidden", "16"}, NOTHING};
static const struct config_setting deep_environments[] = {{"hidden", "4096"}, {"inputs", "4096"}, NOTHING};
static const struct subject subjects[] = {{"sparling", tiny_sparling, wide},
                                          {"sparling", tiny_sparling, collecting},
                                          {"superposition", tiny_superposition, many},
                                          {"superposition", rug, many_rows},
                                          {"pathways", tiny_pathways, long_filters},
                                          {"factors", tiny_factors, deep_factors},
                                          {"environments", environments, deep_environments}};

/* Trains three steps and saves. */
static void train(struct run_env *environment, const struct method *m, const void *config, struct run_env_bytes *bytes)
{
    enum method_request request = METHOD_CONTINUE;
    struct method_run *run;
    assert_ok(m->create(config, &environment->env, &run, err));
    for (int i = 0; i < 3 && request != METHOD_DONE; i++)
        assert_ok(run_env_step(environment, m, run, &request, err));
    assert_ok(run_env_save(m, run, bytes, err));
    m->destroy(run);
}

static void check(const struct subject *s)
{
    const struct method *m = method_find(s->kind);
    struct run_env_bytes bytes = {0};
    struct method_model *model = NULL;
    struct method_estimate estimate;
    struct run_env environment;
    struct error fault = {0};
    void *config = calloc(1, m->config.struct_bytes);
    assert_non_null(config);
    run_test_configure(m, config, s->small);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    train(&environment, m, config, &bytes);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(m->open(config, environment.env.kernels, NULL, &reader, &model, err));
    m->close(model);
    assert_ok(config_apply(&m->config, config, s->large, err));
    size_t before = fault_bytes();
    assert_ok(method_estimate(m, config, NULL, &estimate, err));
    assert_true(fault_bytes() - before < MOST_BYTES);
    before = fault_bytes();
    enum status status = m->open(config, environment.env.kernels, NULL, &reader, &model, &fault);
    if (status != STATUS_CORRUPT || fault_bytes() - before >= MOST_BYTES || strncmp(fault.message, "entry ", 6) != 0)
        fail_msg("%s with %s=%s: %zu bytes, then: %s", s->kind, s->large[0].field, s->large[0].value,
                 fault_bytes() - before, fault.message);
    free(config);
    run_env_bytes_close(&bytes);
    run_env_close(&environment);
}

static void a_checkpoint_of_other_shapes_allocates_no_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        check(&subjects[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_checkpoint_of_other_shapes_allocates_no_model)};
    return cmocka_run_group_tests_name("method_shapes", tests, NULL, NULL);
}
