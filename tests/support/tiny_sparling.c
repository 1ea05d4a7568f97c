/* A SPARLING run that is small enough for tests. Each picture has TINY_SIZE x TINY_SIZE pixels and shows one of
 * four digits. */
#include "tests/support/unit.h"
#include "tests/support/assert_ok.h"
#include "tests/support/tiny_network.h"
#include "tests/support/tiny_sparling.h"

/* A validation reads five batches. Every second validation ends a stage (training at one density), because no training
 * reaches the gain that the plateau rule requires. After three stages, the run evaluates the model of each stage.
 * Dropout is on. With this seed, the model guesses one digit of four correctly often enough that not all accuracies
 * are zero. */
static const struct config_setting tiny[] = {TINY_NETWORK,
                                             {"seed", "3"},
                                             {"image_size", "32"}, /* TINY_SIZE */
                                             {"margin", "8"},
                                             {"max_symbols", "1"},
                                             {"min_radius", "6"},
                                             {"motifs", "4"},
                                             {"batch", "4"},
                                             {"dropout", "0.1"},
                                             {"learning_rate", "1e-2"},
                                             {"validation_every", "20"},
                                             {"validation_samples", "18"},
                                             {"checkpoint_every", "12"},
                                             {"total_samples", "1000"},
                                             {"density_start", "0.4"},
                                             {"density_factor", "0.5"},
                                             {"density_final", "0.09"},
                                             {"plateau_validations", "1"},
                                             {"plateau_gain", "0.99"},
                                             {"plateau_density", "1e-9"},
                                             {"motif_samples", "10"},
                                             {"test_samples", "9"},
                                             {"stage_samples", "6"},
                                             {"warm_up", "5"},
                                             {"clip_norm", "1"},
                                             {"schedule", "cosine"},
                                             {NULL, NULL}};

void tiny_configure(struct sparling_config *config, const struct config_setting *more)
{
    memset(config, 0, sizeof *config);
    assert_ok(config_defaults(&sparling_config_table, config, err));
    assert_ok(config_apply(&sparling_config_table, config, tiny, err));
    if (more)
        assert_ok(config_apply(&sparling_config_table, config, more, err));
}

struct method_run *tiny_start(struct run_env *environment, const struct sparling_config *config)
{
    struct method_run *run = NULL;
    assert_ok(sparling_method.create(config, &environment->env, &run, err));
    run->step_seconds = 0; /* each step then makes one update, or reads one batch of a validation */
    return run;
}

struct method_run *tiny_open(struct run_env *environment, int threads, struct sparling_config *config,
                             const struct config_setting *more)
{
    tiny_configure(config, more);
    assert_ok(run_env_open(environment, threads, NULL, err));
    return tiny_start(environment, config);
}

void tiny_checkpoint(struct sparling_config *config, struct run_env *environment, struct run_env_bytes *bytes)
{
    enum method_request request;
    struct method_run *run = tiny_open(environment, 1, config, NULL);
    for (int i = 0; i < 4; i++)
        assert_ok(run_env_step(environment, &sparling_method, run, &request, err));
    assert_ok(run_env_save(&sparling_method, run, bytes, err));
    sparling_method.destroy(run);
}
