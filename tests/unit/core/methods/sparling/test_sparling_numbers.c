/* Tests numbers as targets of SPARLING: what the domain draws, and what it refuses. A planted word must be learned and
 * named. Answers must be in the units of the data set. Pauses and threads must change no bit. */

#include <math.h>
#include <sys/stat.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/data/uploads/collection.h"
#include "core/kernels/kernels.h"
#include "core/methods/findings.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/queries/query.h"
#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "core/metrics/binning.h"
#include "tests/support/run_env.h"
#include "tests/support/sanitized.h"
#include "tests/support/text_sink.h"

static char root[] = "/tmp/motifd-numbers-XXXXXX";
enum { COUNT = 400, COLS = 40, WORD = 8 };
static const uint8_t word[WORD] = {0, 2, 0, 3, 0, 0, 2, 1};
static struct error err;

static enum status put(void *context, const void *bytes, size_t count, struct error *error)
{
    return fwrite(bytes, 1, count, context) == count ? STATUS_OK : error_set(error, STATUS_IO, NULL, "not written");
}

/* Stores random bases. Every second sample contains a word. The first number of a sample is 1004 if it contains the
 * word, otherwise 1000. The second number is -1 with the word, otherwise 1. Noise of at most 0.5 is added to both. */
static void store(const char *name, int width, bool profile)
{
    static uint8_t bytes[COUNT * 4 * COLS];
    static int64_t start[COUNT + 1], label_start[COUNT + 1];
    static float number[COUNT * 2];
    char path[128], *names[] = {"up", "down"};
    struct philox from = philox_stream(7, 7, 7);
    uint64_t at = 0;
    memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < COUNT; i++) {
        bool has = i % 2 == 1;
        int where = (int)(philox_u32(&from, at++) % (COLS - WORD));
        for (int col = 0; col < COLS; col++) {
            uint32_t base = has && col >= where && col < where + WORD ? word[col - where] : philox_u32(&from, at++) % 4;
            bytes[(i * 4 + (int)base) * COLS + col] = 1;
        }
        float noise = (float)philox_u32(&from, at++) / 4294967296.0F - 0.5F;
        number[i * width] = (has ? 1004 : 1000) + noise;
        if (width > 1)
            number[i * width + 1] = (has ? -1 : 1) + noise;
        start[i + 1] = (int64_t)(i + 1) * COLS;
    }
    struct collection c = {.kind = COLLECTION_SEQUENCES,
                           .target = TARGET_NUMBER,
                           .count = COUNT,
                           .channels = 4,
                           .rows = 1,
                           .cols = COLS,
                           .bytes = bytes,
                           .start = start,
                           .label_start = label_start,
                           .number = number,
                           .profile = profile,
                           .vocabulary = {width, names}};
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s/" COLLECTION_FILE, root, name);
    FILE *file = fopen(path, "wb");
    if (!file || collection_write(&c, &(struct snapshot_writer){file, put}, &err))
        fail_msg("%s", err.message);
    fclose(file);
    snprintf(path, sizeof path, "%s/%s/sha256", root, name);
    file = fopen(path, "wb");
    fputs("ff", file);
    fclose(file);
}

static int setup(void **state)
{
    if (!mkdtemp(root))
        return -1;
    store("one", 1, false);
    store("two", 2, false);
    store("profile", 2, true);
    return 0;
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static const struct config_setting tiny[] = {{"width", "16"},
                                             {"units", "1"},
                                             {"first_window", "9"},
                                             {"motifs", "3"},
                                             {"channels", "16"},
                                             {"layers", "1"},
                                             {"heads", "2"},
                                             {"feed_forward", "32"},
                                             {"learning_rate", "3e-3"},
                                             {"presence_samples", "2400"},
                                             {"validation_every", "800"},
                                             {"validation_samples", "40"},
                                             {"reading_samples", "800"},
                                             {"checkpoint_every", "4000"},
                                             {"total_samples", "8000"},
                                             {"patience", "2"},
                                             {NULL, NULL}};

static struct sparling_config configured(const char *name, const struct config_setting *more)
{
    struct sparling_config c = {0};
    const struct config_setting always[] = {{"dataset_name", name}, {NULL, NULL}};
    const struct config_setting *own = NULL, *all[4];
    for (size_t i = 0; i < sparling_method.preset_count; i++)
        if (strcmp(sparling_method.presets[i].name, "dataset") == 0)
            own = sparling_method.presets[i].settings;
    assert_int_equal(config_defaults(&sparling_config_table, &c, NULL), STATUS_OK);
    all[0] = own;
    all[1] = always;
    all[2] = tiny;
    all[3] = more;
    for (int i = 0; i < 4; i++)
        if (all[i] && config_apply(&sparling_config_table, &c, all[i], &err))
            fail_msg("%s %s", err.pointer, err.message);
    if (sparling_method.resolve(&c, NULL, root, &err))
        fail_msg("%s %s", err.pointer, err.message);
    /* sets the same fields again, because resolve() has set every field that no client has given */
    for (int i = 2; i < 4; i++)
        if (all[i] && config_apply(&sparling_config_table, &c, all[i], &err))
            fail_msg("%s %s", err.pointer, err.message);
    return c;
}

/* ---- the domain ---------------------------------------------------------------------------------------------- */

static void samples_have_numbers_in_their_units_and_a_spread(void **state)
{
    struct sparling_config c = configured("two", NULL);
    struct open_domain d;
    struct domain_truth *truth;
    static float planes[4 * COLS];
    double mean[2], deviation[2];
    assert_int_equal(domain_open(&c, root, &d, &err), STATUS_OK);
    assert_true(c.dataset.numbers && d.shape.numbers == 2 && d.shape.longest == 1);
    assert_string_equal(d.domain->token(d.state, 1), "down");
    assert_int_equal(domain_truths_create(&d.shape, 1, &truth, &err), STATUS_OK);
    for (int i = 0; i < 40; i++) {
        const struct domain_request request = {.seed = 1, .index = i};
        assert_int_equal(domain_sample(&d, &request, planes, truth, &err), STATUS_OK);
        assert_int_equal(truth->length, 0);
        bool has = truth->number[0] > 1002;
        assert_true(fabsf(truth->number[1] - (has ? -1 : 1)) <= 0.5F);
    }
    d.domain->spread(d.state, mean, deviation);
    assert_true(fabs(mean[0] - 1002) < 0.5 && fabs(deviation[0] - 2) < 0.2);
    assert_true(fabs(mean[1]) < 0.3 && fabs(deviation[1] - 1) < 0.2);
    domain_truths_destroy(truth);
    domain_close(&d);
}

static void a_profile_is_reversed_on_the_other_strand(void **state)
{
    static const char *const names[] = {"two", "profile"};
    for (int i = 0; i < 2; i++) {
        struct sparling_config c = configured(names[i], NULL);
        struct open_domain d;
        struct domain_truth *truth;
        static float planes[4 * COLS];
        float before[2];
        assert_int_equal(domain_open(&c, root, &d, &err), STATUS_OK);
        assert_int_equal(domain_truths_create(&d.shape, 1, &truth, &err), STATUS_OK);
        struct domain_request request = {.seed = 1, .index = 3};
        assert_int_equal(domain_sample(&d, &request, planes, truth, &err), STATUS_OK);
        memcpy(before, truth->number, sizeof before);
        request.turned = true;
        assert_int_equal(domain_sample(&d, &request, planes, truth, &err), STATUS_OK);
        assert_true(truth->number[0] == before[i] && truth->number[1] == before[1 - i]);
        domain_truths_destroy(truth);
        domain_close(&d);
    }
}

/* ---- training ------------------------------------------------------------------------------------------------ */

static void check_result(void *context, struct method_run *run)
{
    struct buf text;
    struct findings findings = {0};
    (void)context;
    buf_init(&text, 1 << 20);
    struct sink out = text_sink(&text);
    assert_int_equal(sparling_result(run, &out, &err), STATUS_OK);
    assert_int_equal(sparling_judge(run, &findings, &err), STATUS_OK);
    assert_int_equal(findings_verdict(&findings), VERDICT_LEARNED);
    const struct regression *test = numbers_all(run, NUMBERS_TEST);
    if (!(regression_r2(test) > 0.8))
        fail_msg("R squared is %g", regression_r2(test));
    for (const char *const *word_of =
             (const char *const[]){"r2=", "pearson=", "numbers=", "effects=", "raises up", NULL};
         *word_of; word_of++)
        if (!strstr(text.data, *word_of))
            fail_msg("the result has no %s", *word_of);
    float most = 0;
    for (int c = 0; c < 3; c++)
        most = fmaxf(most, run->numbers.effect[c]);
    assert_true(most > 2 && most < 6); /* in the units of the data set: the word adds 4 */
    const struct reference_figures *reference = &run->evaluation.reference;
    assert_true(reference->samples > 0 && reference->r2 > 0.5 && reference->r2_low < reference->r2);
    assert_non_null(strstr(text.data, "random-convolutions"));
    buf_close(&text);
}

static void a_planted_word_is_learned_and_named(void **state)
{
    struct sparling_config c = configured("one", NULL);
    struct run_env_witness witness;
    int steps;
    struct run_env_plan plan = {
        .method = &sparling_method, .config = &c, .data = root, .threads = 2, .look = check_result};
    if (run_env_run(&plan, &witness, &steps, &err))
        fail_msg("%s", err.message);
}

/* A reload starts the calibration of thresholds again. With a reload after every step, it would never end. A run with a
 * calibration is therefore reloaded only after every RARELY steps, which are more than a calibration takes. */
static void pauses_and_threads_change_no_bit(void **state)
{
    enum { RARELY = 421 };
    const struct config_setting brief[] = {{"total_samples", "240"},
                                           {"presence_samples", "80"},
                                           {"validation_every", "80"},
                                           {"checkpoint_every", "120"},
                                           {"reading_samples", "48"},
                                           {"test_samples", "20"},
                                           {"motif_samples", "20"},
                                           {"stage_samples", "16"},
                                           {"calibrate", "false"},
                                           {"reference", "false"},
                                           {NULL, NULL}};
    for (int calibrated = 0; calibrated < 2; calibrated++) {
        struct sparling_config c = configured("two", brief);
        struct run_env_witness witness[2];
        int steps;
        c.calibrate = calibrated;
        for (int i = 0; i < 2; i++) {
            struct run_env_plan plan = {.method = &sparling_method,
                                        .config = &c,
                                        .data = root,
                                        .threads = 1 + i,
                                        .every = i == 0       ? 0
                                                 : calibrated ? RARELY
                                                 : SANITIZED  ? 7
                                                              : 1};
            if (run_env_run(&plan, &witness[i], &steps, &err))
                fail_msg("%s", err.message);
            assert_true(!calibrated || steps > RARELY);
        }
        assert_string_equal(witness[0].weights, witness[1].weights);
        assert_memory_equal(witness[0].state, witness[1].state, sizeof witness[0].state);
    }
}

/* ---- answers ------------------------------------------------------------------------------------------------- */

struct held {
    struct run_env_bytes bytes;
};

static void keep(void *context, struct method_run *run)
{
    struct held *k = context;
    assert_int_equal(run_env_save(&sparling_method, run, &k->bytes, &err), STATUS_OK);
}

static void answers_are_in_the_units_of_the_data_set(void **state)
{
    static const struct config_setting brief[] = {
        {"total_samples", "160"}, {"presence_samples", "80"}, {"validation_every", "80"}, {"checkpoint_every", "80"},
        {"reading_samples", "0"}, {"test_samples", "10"},     {"motif_samples", "10"},    {NULL, NULL}};
    struct sparling_config c = configured("two", brief);
    struct held k = {0};
    struct run_env_witness witness;
    struct method_model *model;
    int steps, rank;
    int64_t dim[4];
    struct run_env_plan plan = {
        .method = &sparling_method, .config = &c, .data = root, .threads = 1, .look = keep, .context = &k};
    if (run_env_run(&plan, &witness, &steps, &err))
        fail_msg("%s", err.message);
    struct snapshot_reader reader = run_env_reader(&k.bytes);
    assert_int_equal(sparling_open(&c, kernels_best(), root, &reader, &model, &err), STATUS_OK);
    struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = 2};
    struct rules_parameters rules = {.samples = 2, .channel = -1, .other = -1};
    struct method_question question = {.model = model, .input = &input, .item = -1, .parameters = &rules};
    struct buf text, values, tensor;
    buf_init(&text, 1 << 20);
    buf_init(&values, 1 << 16);
    buf_init(&tensor, 1 << 16);
    struct sink out = text_sink(&text);
    assert_int_equal(sparling_predict(&question, &out, &err), STATUS_OK);
    assert_non_null(strstr(text.data, "name='up'"));
    assert_non_null(strstr(text.data, "true="));
    assert_int_equal(sparling_predict_array(&question, &values, &rank, dim, &err), STATUS_OK);
    assert_true(rank == 1 && dim[0] == 2 && values.size == 2 * sizeof(float));
    float predicted[2], inferred[2];
    memcpy(predicted, values.data, sizeof predicted);
    assert_true(fabsf(predicted[0] - 1002) < 10 && fabsf(predicted[1]) < 5);
    struct buf *outputs[] = {NULL, NULL, NULL, &tensor};
    assert_int_equal(sparling_infer(&question, outputs, &err), STATUS_OK);
    memcpy(inferred, tensor.data, sizeof inferred);
    assert_memory_equal(predicted, inferred, sizeof predicted);
    for (int i = 0; i < SPARLING_OUTPUTS; i++) {
        sparling_outputs[i].shape(model, &rank, dim);
        assert_int_equal(rank, i == 0 ? 3 : i == 3 ? 1 : -1);
    }
    assert_int_equal(sparling_rules(&question, &out, &err), STATUS_CONFLICT);
    buf_close(&text);
    buf_close(&values);
    buf_close(&tensor);
    sparling_close(model);
    run_env_bytes_close(&k.bytes);
}

/* ---- refusals ------------------------------------------------------------------------------------------------ */

static char faults[400];

static void note(void *context, const char *field, const char *detail)
{
    (void)context;
    snprintf(faults + strlen(faults), sizeof faults - strlen(faults), "%s %s;", field, detail);
}

static void analyses_of_labels_are_refused(void **state)
{
    static const struct config_setting bins[] = {{"binning_samples", "10"}, {NULL, NULL}};
    struct sparling_config c = configured("one", bins);
    const struct method_faults to = {NULL, note};
    faults[0] = '\0';
    sparling_method.check(&c, &to);
    assert_non_null(strstr(faults, "binning_samples must be 0 with numbers as targets"));
}

static void a_job_of_labels_does_not_open_numbers(void **state)
{
    struct sparling_config c = configured("one", NULL);
    struct open_domain d;
    c.dataset.numbers = false;
    err = (struct error){0};
    assert_int_equal(domain_open(&c, root, &d, &err), STATUS_INVALID);
    assert_string_equal(err.pointer, "/config/dataset_name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_numbers_in_their_units_and_a_spread),
        cmocka_unit_test(a_profile_is_reversed_on_the_other_strand),
        cmocka_unit_test(a_planted_word_is_learned_and_named),
        cmocka_unit_test(pauses_and_threads_change_no_bit),
        cmocka_unit_test(answers_are_in_the_units_of_the_data_set),
        cmocka_unit_test(analyses_of_labels_are_refused),
        cmocka_unit_test(a_job_of_labels_does_not_open_numbers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
