/* Tests runs of environments: uploaded tables, recovery, results, artifacts,
 * queries, faults. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/methods/registry.h"
#include "core/methods/environments/run.h"
#include "core/methods/environments/run_int.h"
#include "tests/support/run_test.h"
#include "tests/support/short_runs.h"
#include "tests/support/stored_set.h"
#include "tests/support/method_ask.h"

static const struct method *const method = &environments_method;

static const struct config_setting table[] = {{"data", "table"}, {"dataset_name", "plants"}, {"factors", "2"},
                                              {"latent", "2"},   {"updates", "15"},          {"batch", "16"},
                                              {"unseen", "1"},   {"fit_samples", "2"},       {NULL, NULL}};
static char data_root[64];

/* The names of the groups describe the tree. The outcome of an uploaded table is a column or the label. */
static const char uploaded_text[] = "id,group,tall,wide,y\n"
                                    "a,woods/oak,1,0.5,3\nb,woods/oak,2,1.5,1\nc,woods/elm,3,-1,2\nd,woods/elm,-1,0,4\n"
                                    "e,moss,0.5,2,1\nf,moss,2,1,0\ng,woods/oak,0,0.1,2\nh,woods/elm,1,1,1\n";
static const struct config_setting uploaded[] = {{"data", "table"}, {"dataset_name", "garden"}, {"latent", "2"},
                                                 {"factors", "2"},  {"updates", "15"},          {"batch", "4"},
                                                 {"unseen", "0"},   {"test_share", "0.5"},      {"found_above", "0"},
                                                 {NULL, NULL}};

static void store(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", data_root, name);
    assert_ok(stored_set(path, "csv", text, err));
}

static void remove_stored(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s/set.pack", data_root, name);
    unlink(path);
    snprintf(path, sizeof path, "%s/%s/sha256", data_root, name);
    unlink(path);
    snprintf(path, sizeof path, "%s/%s", data_root, name);
    rmdir(path);
}

static int make_data(void **state)
{
    strcpy(data_root, "/tmp/motif-envs-XXXXXX");
    if (!mkdtemp(data_root))
        return -1;
    static const char *const names[] = {"trees/oak",    "trees/elm", "shrubs/rose",
                                        "shrubs/hazel", "low/moss",  "low/fern"};
    char text[1 << 14];
    size_t used = (size_t)snprintf(text, sizeof text, "id,group,f0,f1,f2,f3\n");
    for (int i = 0; i < 90; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "p%d,%s,%g,%g,%g,%g\n", i, names[i % 6], sin(i),
                                 cos(3.0 * i), sin(5.0 * i * i), cos(1.0 * i * i));
    store("plants", text);
    store("garden", uploaded_text);
    return 0;
}

static int remove_data(void **state)
{
    remove_stored("garden");
    remove_stored("plants");
    return rmdir(data_root);
}

static void configure(struct environments_config *config, const struct config_setting *settings)
{
    run_test_configure(method, config, settings);
}

struct witness {
    struct run_env_witness same;
    struct outcome outcome;
    int steps;
};

static void take_outcome(void *context, struct method_run *run)
{
    ((struct witness *)context)->outcome = run->outcome;
}

static const struct run_test test = {&environments_method, data_root, take_outcome};

static void run_through(const struct config_setting *settings, int threads, int often, struct witness *w)
{
    w->steps = run_test_through(&test, settings, threads, often, w, &w->same);
}

static const char *const baselines[] = {"none",       "no-penalty", "independent", "pooled",
                                        "l1-weights", "l2-changes", "oracle"};

static void tables_give_the_same_bits_for_any_threads_and_pauses(void **state)
{
    const struct config_setting *const tables[] = {table, uploaded};
    run_test_bits(&test, tables, sizeof tables / sizeof tables[0], 2);
}

static void run_baseline(const struct config_setting *settings, int baseline, struct witness *w)
{
    struct config_setting own[RUN_TEST_SETTINGS];
    run_test_vary(settings, "baseline", baselines[baseline], own);
    run_through(own, 2, 0, w);
}

static void every_baseline_is_measured(void **state)
{
    struct witness w;
    const struct outcome *o = &w.outcome;
    for (int i = 0; i < BASELINES; i++) {
        run_baseline(environments_every, i, &w);
        assert_true(o->mcc > 0 && o->mcc <= 1 + 1e-9 && o->mse > 0 && o->mse_unseen > 0 && o->mse_unseen_fit > 0);
        assert_true(isnan(o->accuracy) && o->updates == 12);
        if (i == BASELINE_ORACLE)
            assert_true(o->mcc > 1 - 1e-6); /* the oracle knows the true variables */
    }
    run_through(environments_deep, 1, 0, &w);
    assert_true(o->objective < o->worst_objective && o->restart < 3);
    run_baseline(table, BASELINE_POOLED, &w);
    assert_true(o->mse > 0);
    run_baseline(table, BASELINE_NONE, &w);
    assert_true(o->mse_unseen > 0 && o->mcc > 0);
}

/* Few weights change along an edge of the tree. Then training with the penalty finds the latent variables, and training
 * without it finds only the space that they span. With the penalty, predictions for unseen leaves are also better than
 * those of one head for all environments (`pooled`). */
static void the_penalty_separates_the_latent_variables(void **state)
{
    static const struct config_setting settings[] = {{"factors", "3"},          {"latent", "3"},  {"inputs", "8"},
                                                     {"samples", "100"},        {"batch", "256"}, {"updates", "4000"},
                                                     {"learning_rate", "1e-2"}, {NULL, NULL}};
    struct witness w[3];
    run_baseline(settings, BASELINE_NO_PENALTY, &w[0]);
    run_baseline(settings, BASELINE_POOLED, &w[1]);
    run_baseline(settings, BASELINE_NONE, &w[2]);
    const struct outcome *free_one = &w[0].outcome, *pooled = &w[1].outcome, *tree = &w[2].outcome;
    if (!(tree->mcc > 0.95 && free_one->mcc < tree->mcc - 0.03 && free_one->linear_r2 > 0.99 &&
          tree->mse_unseen < pooled->mse_unseen && tree->mse_unseen_fit < 0.3 * tree->mse_unseen &&
          tree->changes_found < 0.7 * free_one->changes_found))
        fail_msg("mcc %g and %g, r2 %g, unseen %g, %g, %g", tree->mcc, free_one->mcc, free_one->linear_r2,
                 tree->mse_unseen, tree->mse_unseen_fit, pooled->mse_unseen);
}

/* ---- uploaded tables ---------------------------------------------------------------------------------- */

static enum status read_stored(const char *text, bool plant, struct tree **tree, struct environments **e,
                               struct error *err)
{
    const struct environments_reading reading = {10, plant, true, NULL, {1, 2, 1, 0, 0.1}, NULL};
    char path[128];
    snprintf(path, sizeof path, "%s/other", data_root);
    store("other", text);
    enum status status = environments_read(path, &reading, tree, e, err);
    remove_stored("other");
    return status;
}

static void group_names_of_an_uploaded_table_give_its_tree(void **state)
{
    struct tree *tree;
    struct environments *e;
    assert_ok(read_stored(uploaded_text, false, &tree, &e, err));
    assert_int_equal(tree->nodes, 5); /* the nodes: all, woods, woods/oak, woods/elm, moss */
    assert_int_equal(tree->parent[tree_find(tree, "woods/elm")], tree_find(tree, "woods"));
    assert_int_equal(tree->parent[tree_find(tree, "moss")], 0);
    assert_true(e->rows == 8 && e->features == 2 && e->latent == 0 && !e->labels);
    assert_int_equal(e->node[2], tree_find(tree, "woods/elm"));
    assert_string_equal(e->names[1], "wide");
    assert_true(e->y[3] > 3.5F);
    environments_free(e);
    tree_destroy(tree);
    assert_ok(read_stored(uploaded_text, true, &tree, &e, err));
    assert_true(e->latent == 2);
    environments_free(e);
    tree_destroy(tree);
    assert_ok(read_stored("u,v,label,group\n1,2,no,a\n2,1,yes,b\n3,3,no,a\n", false, &tree, &e, err));
    assert_true(e->labels && e->y[0] < 0.5F && e->y[1] > 0.5F && tree->nodes == 3);
    environments_free(e);
    tree_destroy(tree);
}

static void uploads_without_a_tree_or_outcome_are_refused(void **state)
{
    static const char *const texts[][2] = {
        {"u,v,label\n1,2,no\n2,1,yes\n", "at least two groups"},
        {"u,v,label,group\n1,2,no,a\n2,1,yes,b\n3,3,maybe,a\n", "3 names"},
        {"u,v,y,group\n1,2,1,a//b\n2,1,2,b\n3,3,3,a\n", "empty part"},
        {"u,v,y,group\n1,2,1,/a\n2,1,2,b\n3,3,3,a\n", "empty part"},
        {"u,v,y,group\n1,2,1,a/\n2,1,2,b\n3,3,3,a\n", "empty part"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct tree *tree;
        struct environments *e;
        struct error error = {0};
        assert_int_equal(read_stored(texts[i][0], false, &tree, &e, &error), STATUS_INVALID);
        if (!strstr(error.message, texts[i][1]))
            fail_msg("%s", error.message);
        assert_true(!tree && !e);
    }
}

static void write_hash(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/garden/sha256", data_root);
    FILE *file = fopen(path, "wb");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* A run refuses to go on if its data set has changed. The job contains the hash of the uploaded file, and the
 * checkpoint contains the hash of the numbers that the run has read. Each of the two hashes must equal the hash of the
 * present data. */
static void a_checkpoint_refuses_other_data(void **state)
{
    struct environments_config config;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    enum method_request request;
    struct error error = {0};
    write_hash("0123456789012345678901234567890123456789 and more");
    configure(&config, uploaded);
    assert_ok(method->resolve(&config, NULL, data_root, err));
    assert_string_equal(config.dataset_hash, "0123456789012345678901234567890123456789");
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = data_root;
    struct method_run *run = run_test_start(method, &environment, &config);
    assert_ok(run_env_step(&environment, method, run, &request, err));
    assert_ok(run_env_save(method, run, &bytes, err));
    method->destroy(run);
    write_hash("1111111111111111111111111111111111111111");
    run = run_test_start(method, &environment, &config);
    assert_int_equal(method->step(run, &request, &error), STATUS_CONFLICT);
    assert_string_equal(error.pointer, "/config/dataset_hash");
    method->destroy(run);
    config.dataset_hash[0] = '\0';
    for (int other = 0; other < 2; other++) {
        remove_stored("garden");
        store("garden", other
                            ? "id,group,tall,wide,y\na,woods/oak,1,0.5,3\nb,woods/oak,2,1.5,1\nc,woods/elm,3,-1,2\n"
                              "d,woods/elm,-1,0,4\ne,moss,0.5,2,1\nf,moss,2,1,0\ng,woods/oak,0,7,2\nh,woods/elm,1,1,1\n"
                            : uploaded_text);
        run = run_test_start(method, &environment, &config);
        struct snapshot_reader reader = run_env_reader(&bytes);
        error_clear(&error);
        if (other)
            assert_int_equal(method->load(run, &reader, &error), STATUS_CONFLICT);
        else
            assert_ok(method->load(run, &reader, err));
        method->destroy(run);
    }
    remove_stored("garden");
    store("garden", uploaded_text);
    config.data = DATA_SIMULATED;
    strcpy(config.dataset_hash, "12");
    assert_ok(method->resolve(&config, NULL, data_root, err));
    assert_string_equal(config.dataset_hash, "");
    run_env_bytes_close(&bytes);
    run_env_close(&environment);
}

/* ---- configuration ------------------------------------------------------------------------------------ */

static void each_fault_names_its_field(void **state)
{
    static const struct run_test_wrong wrong[] = {{{{"data", "table"}, {"dataset_name", "../x"}}, "dataset_name"},
                                                  {{{"unseen", "31"}}, "unseen"},
                                                  {{{"fit_samples", "200"}}, "fit_samples"},
                                                  {{{"changes", "7"}}, "changes"},
                                                  {{{"depth", "12"}, {"children", "9"}}, "depth"},
                                                  {{{"samples", "1000000"}, {"inputs", "4000"}}, "samples"}};
    run_test_faults(method, wrong, sizeof wrong / sizeof wrong[0]);
    run_test_presets(method);
}

static void a_missing_data_set_is_reported(void **state)
{
    struct environments_config config;
    struct run_env environment;
    struct method_run *run;
    enum method_request request;
    configure(&config, table);
    strcpy(config.dataset_name, "animals");
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = data_root;
    assert_ok(method->create(&config, &environment.env, &run, err));
    assert_int_equal(method->step(run, &request, NULL), STATUS_NOT_FOUND);
    method->destroy(run);
    run_env_close(&environment);
}

/* ---- queries ------------------------------------------------------------------------------------------ */

struct answer {
    double numbers[128];
    /* named: number of "column" texts; tall: number of "column" and "name" texts that are "tall" */
    int count, objects, named, tall;
};

static void open_it(void *context, const char *key) {}
static void open_object(void *context, const char *key)
{
    ((struct answer *)context)->objects++;
}
static void close_it(void *context) {}
static void number(void *context, const char *key, double value)
{
    struct answer *h = context;
    if (h->count < 128)
        h->numbers[h->count++] = value;
}
static void integer(void *context, const char *key, int64_t value) {}
static void boolean(void *context, const char *key, bool value) {}
static void text(void *context, const char *key, const char *value)
{
    struct answer *h = context;
    bool column = key && strcmp(key, "column") == 0;
    h->named += column;
    h->tall += key && (column || strcmp(key, "name") == 0) && strcmp(value, "tall") == 0;
}
static void null(void *context, const char *key) {}

static void a_checkpoint_answers_queries(void **state)
{
    struct environments_config config;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_model *model;
    struct method_run *run;
    enum method_request request = METHOD_CONTINUE;
    configure(&config, environments_every);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    assert_ok(method->create(&config, &environment.env, &run, err));
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    assert_ok(run_env_save(method, run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->open(&config, environment.env.kernels, NULL, &reader, &model, err));
    float z[3], w[15 * 3], values[5];
    memcpy(values, run->test->x, sizeof values);
    assert_ok(tree_model_encode(tree_fit_of(run)->model, &tree_fit_of(run)->exec, run->test->x, NULL, 1, z, err));
    tree_edges_weights(&run->edges, tree_fit_of(run)->model->base, tree_fit_of(run)->model->changes, 3, w);
    struct answer answer = {0};
    const struct sink sink = {&answer, open_object, close_it, open_it, close_it, number, integer, boolean, text, null};
    struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {5}, .values = values};
    assert_ok(method_ask(method, model, "predict", &input, &sink, err));
    assert_int_equal(answer.count, 3 + 8);
    for (int leaf = 0; leaf < 8; leaf++) { /* unseen leaves are predicted too */
        double y = 0;
        for (int c = 0; c < 3; c++)
            y += (double)w[(7 + leaf) * 3 + c] * (double)z[c];
        assert_true(fabs(answer.numbers[3 + leaf] - y) < 1e-4);
    }
    input.dim[0] = 4;
    assert_int_equal(method_ask(method, model, "predict", &input, &sink, NULL), STATUS_INVALID);
    input.dim[0] = 5;
    values[1] = NAN;
    assert_int_equal(method_ask(method, model, "predict", &input, &sink, NULL), STATUS_INVALID);
    input = (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = 4};
    assert_ok(method_ask(method, model, "predict", &input, &sink, err));
    input.seed = -1;
    assert_int_equal(method_ask(method, model, "predict", &input, &sink, NULL), STATUS_INVALID);
    assert_true(method->model_bytes(model) > 0);
    method->close(model);
    double before = run->outcome.mse;
    struct method_evaluation what = {.samples = 2000, .seed = 99};
    assert_ok(method->begin_evaluation(run, &what, err));
    for (request = METHOD_CONTINUE; request != METHOD_DONE;)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    assert_true(run->outcome.mse != before && fabs(log(run->outcome.mse / before)) < 0.5);
    run_env_bytes_close(&bytes);
    method->destroy(run);
    run_env_close(&environment);
}

static void changes_name_the_columns_of_a_table(void **state)
{
    struct environments_config config;
    struct run_env environment;
    struct method_run *run;
    struct answer answer = {0};
    const struct sink sink = {&answer, open_object, close_it, open_it, close_it, number, integer, boolean, text, null};
    enum method_request request = METHOD_CONTINUE;
    configure(&config, uploaded);
    config.baseline = BASELINE_NO_PENALTY; /* without the penalty, no change is exactly zero */
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = data_root;
    assert_ok(method->create(&config, &environment.env, &run, err));
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    assert_ok(method->result(run, &sink, err));
    /* both latent variables depend on both columns, of which one is called "tall" */
    assert_true(answer.named >= 2 && answer.tall >= 2);
    method->destroy(run);
    run_env_close(&environment);
}

static void inconsistent_checkpoints_are_refused(void **state)
{
    struct environments_config config, other;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_run *run;
    enum method_request request;
    configure(&config, environments_every);
    configure(&other, environments_every);
    other.latent = 4;
    assert_ok(run_env_open(&environment, 1, NULL, err));
    assert_ok(method->create(&config, &environment.env, &run, err));
    for (int i = 0; i < 5; i++)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    for (int odd = 0; odd < 4; odd++) {
        struct method_run *again;
        int64_t updates = tree_fit_of(run)->updates, phase = run->base.phase;
        tree_fit_of(run)->updates = odd == 1 ? 1000 : odd == 2 ? -1 : updates;
        run->base.phase = odd == 3 ? 9 : phase;
        assert_ok(run_env_save(method, run, &bytes, err));
        tree_fit_of(run)->updates = updates;
        run->base.phase = phase;
        assert_ok(method->create(odd ? &config : &other, &environment.env, &again, err));
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_int_equal(method->load(again, &reader, NULL), STATUS_CORRUPT);
        method->destroy(again);
    }
    run_env_bytes_close(&bytes);
    method->destroy(run);
    run_env_close(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_give_the_same_bits_for_any_threads_and_pauses),
        cmocka_unit_test(every_baseline_is_measured),
        cmocka_unit_test(the_penalty_separates_the_latent_variables),
        cmocka_unit_test(group_names_of_an_uploaded_table_give_its_tree),
        cmocka_unit_test(uploads_without_a_tree_or_outcome_are_refused),
        cmocka_unit_test(a_checkpoint_refuses_other_data),
        cmocka_unit_test(each_fault_names_its_field),
        cmocka_unit_test(a_missing_data_set_is_reported),
        cmocka_unit_test(a_checkpoint_answers_queries),
        cmocka_unit_test(changes_name_the_columns_of_a_table),
        cmocka_unit_test(inconsistent_checkpoints_are_refused),
    };
    return cmocka_run_group_tests(tests, make_data, remove_data);
}
