/* Tests the search for motifs in misread samples, which are samples that a model answers wrongly. In the test data,
 * each sample with the label "bound" contains one of two words, each equally often. The sequences are so long that
 * random positions rarely lie on a word. */

#include <math.h>

#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/methods/sparling/genomics/enriched_filters.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "core/methods/sparling/training/prototype.h"
#include "tests/support/assert_ok.h"
#include "tests/support/method_ask.h"
#include "tests/support/run_env.h"
#include "tests/support/stored_set.h"
#include "tests/support/text_sink.h"

enum { RECORDS = 400, LENGTH = 800, WORD = 10 };
static const char *const word[2] = {"GATTACAGGC", "CCGTTCTCAA"};
static char root[] = "/tmp/motifd-misread-XXXXXX";

static const struct config_setting settings[] = {{"domain", "dataset"},
                                                 {"dataset_name", "words"},
                                                 {"dataset_test", "0.2"},
                                                 {"dataset_validation", "0.1"},
                                                 {"dataset_fit", "true"},
                                                 {"channels", "16"},
                                                 {"layers", "1"},
                                                 {"heads", "2"},
                                                 {"feed_forward", "32"},
                                                 {"lstm", "false"},
                                                 {"batch", "8"},
                                                 {"pool", "4"},
                                                 {"batch_norm", "plain"},
                                                 {"presence_weight", "1"},
                                                 {"presence_samples", "1000"},
                                                 {"presence_sharpness", "2"},
                                                 {"motif_start_words", "true"},
                                                 {"total_samples", "2000"},
                                                 {NULL, NULL}};

/* Smaller sizes than those that dataset_fit() computes, for speed. */
static const struct config_setting sizes[] = {{"width", "16"}, {"units", "2"}, {"first_window", "15"}, {NULL, NULL}};
/* A whole run, whose first validation is followed by a search. */
static const struct config_setting brief[] = {{"presence_samples", "64"},   {"total_samples", "160"},
                                              {"validation_every", "48"},   {"checkpoint_every", "48"},
                                              {"validation_samples", "20"}, {"test_samples", "20"},
                                              {"motif_samples", "10"},      {"stage_samples", "0"},
                                              {"reading_samples", "0"},     {NULL, NULL}};

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static int setup(void **state)
{
    char *text = malloc((size_t)RECORDS * (LENGTH + 32)), *to = text, path[128];
    struct error err = {0};
    if (!text || !mkdtemp(root))
        return -1;
    for (int i = 0; i < RECORDS; i++) {
        to += sprintf(to, ">r%d%s\n", i, i % 2 ? " bound" : "");
        for (int j = 0; j < LENGTH; j++)
            to[j] = "ACGT"[draw(4)];
        int at = (int)draw(LENGTH - WORD);
        bool reverse = draw(2);
        for (int j = 0; i % 2 && j < WORD; j++) {
            char letter = word[i / 2 % 2][reverse ? WORD - 1 - j : j];
            to[at + j] = reverse ? "TGCA"[strchr("ACGT", letter) - "ACGT"] : letter;
        }
        to += LENGTH;
        *to++ = '\n';
    }
    *to = '\0';
    snprintf(path, sizeof path, "%s/words", root);
    enum status status = stored_set(path, "fasta", text, &err);
    free(text);
    snprintf(path, sizeof path, "%s/words/sha256", root);
    FILE *file = fopen(path, "wb");
    if (status || !file)
        return -1;
    fputs("55", file);
    return fclose(file);
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

struct trial {
    struct run_env environment;
    struct sparling_config config;
    struct method_run *run;
};

static void configure(struct sparling_config *config)
{
    assert_ok(config_defaults(&sparling_config_table, config, err));
    assert_ok(config_apply(&sparling_config_table, config, settings, err));
    assert_ok(sparling_method.resolve(config, NULL, root, err));
    assert_ok(config_apply(&sparling_config_table, config, sizes, err));
}

static void begin(struct trial *t, int threads)
{
    memset(t, 0, sizeof *t);
    configure(&t->config);
    assert_ok(run_env_open(&t->environment, threads, NULL, err));
    t->environment.env.data = root;
    assert_ok(sparling_method.create(&t->config, &t->environment.env, &t->run, err));
    t->run->step_seconds = 0;
    for (int i = 0; i < 8; i++) { /* lets the running statistics of the batch norms settle */
        enum method_request request;
        assert_ok(run_env_step(&t->environment, &sparling_method, t->run, &request, err));
    }
    assert_true(phase_of_g_alone(plan_now(t->run)) && t->run->presence.names == 1);
}

static void end(struct trial *t)
{
    sparling_method.destroy(t->run);
    run_env_close(&t->environment);
}

/* Returns the difference of the mean scores of validation samples with and without the label, in standard deviations.
 */
static double separation(struct trial *t)
{
    enum { COUNT = 100 };
    static float planes[BASES * LENGTH];
    struct exec *e = &t->run->exec;
    struct domain_truth *truth;
    double sum[2] = {0}, squares = 0, count[2] = {0};
    assert_ok(domain_truths_create(&t->run->domain.shape, 1, &truth, err));
    for (int i = 0; i < COUNT; i++) {
        struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = VALIDATION_SEED, .index = i};
        struct network_extras extras;
        assert_ok(domain_sample(&t->run->domain, &request, planes, truth, err));
        exec_begin(e, false, 0);
        (void)network_motifs_extras(e, t->run->network, planes, 1, t->run->annealer.density, &extras);
        assert_ok(exec_status(e, err));
        double score = (double)extras.scores->data[0];
        count[truth->length > 0]++;
        sum[truth->length > 0] += score;
        squares += score * score;
    }
    domain_truths_destroy(truth);
    double mean[2] = {sum[0] / count[0], sum[1] / count[1]};
    return (mean[1] - mean[0]) /
           sqrt(fmax(squares - count[0] * mean[0] * mean[0] - count[1] * mean[1] * mean[1], 1e-12) / COUNT);
}

/* Counts the sites of a motif that lie on each of the two words. */
static void count_sites(struct trial *t, const struct misread *m, int motif, int on[2])
{
    on[0] = on[1] = 0;
    for (int i = 0; i < PROBES; i++) {
        const struct batch *batch;
        assert_ok(probe_batch(t->run, i, &batch, err));
        for (int image = 0; image < batch->request.count; image++) {
            unsigned char base[LENGTH];
            char text[2][LENGTH + 1] = {{0}};
            int middle = m->middle[motif * m->samples + i * batch->request.count + image];
            words_bases(batch->images + (size_t)image * BASES * LENGTH, LENGTH, base);
            for (int j = 0; j < LENGTH; j++) {
                text[0][j] = "ACGTN"[base[j]];
                text[1][LENGTH - 1 - j] = "TGCAN"[base[j]];
            }
            for (int strand = 0; middle >= 0 && strand < 2; strand++)
                for (int w = 0; w < 2; w++) {
                    const char *at = strstr(text[strand], word[w]);
                    int centre = at ? (int)(at - text[strand]) + WORD / 2 : -LENGTH;
                    int found = strand ? LENGTH - 1 - middle : middle;
                    on[w] += abs(centre - found) <= WORD / 2;
                }
        }
    }
}

static void words_of_misread_samples_give_the_channel_weights_that_random_positions_do_not_find(void **state)
{
    double found[2];
    for (int words = 0; words < 2; words++) {
        struct trial t;
        begin(&t, 1);
        t.run->config.dataset.motif_start_words = words; /* the filters are the same in both runs */
        assert_ok(prototype_search(t.run, 0, err));
        found[words] = separation(&t);
        end(&t);
    }
    print_message("separation: %.2f without, %.2f with motifs of misread samples\n", found[0], found[1]);
    assert_true(found[1] > 0.7 && found[1] > 2 * found[0]);
}

static void samples_that_are_read_rightly_do_not_count(void **state)
{
    struct trial t;
    struct misread before, after;
    int on[MISREAD_MOTIFS][2] = {{0}};
    begin(&t, 1);
    /* a channel that reads nothing: all samples with the name are misread, and each word is found */
    t.run->network->presence_gain->value[0] = R(0.0);
    t.run->network->presence_bias->value[0] = R(-1.0);
    assert_ok(misread_search(t.run, 0, &before, err));
    assert_true(before.motifs >= 2);
    for (int i = 0; i < 2; i++)
        count_sites(&t, &before, i, on[i]);
    int one = on[0][1] > on[0][0];
    assert_true(on[0][one] > 30 && on[1][!one] > 30);
    /* a channel that reads every sample: no sample is misread */
    t.run->network->presence_bias->value[0] = R(1.0);
    assert_ok(misread_search(t.run, 0, &after, err));
    assert_int_equal(after.motifs, 0);
    misread_close(&after);
    misread_close(&before);
    end(&t);
}

static void look(void *context, struct method_run *run)
{
    *(double *)context += (double)run->reinitialisation.count;
}

static void run_with_a_search_gives_the_same_bits_with_threads_and_pauses(void **state)
{
    struct sparling_config c = {0};
    struct run_env_witness one, two;
    double searches = 0;
    int steps;
    configure(&c);
    assert_ok(config_apply(&sparling_config_table, &c, brief, err));
    struct run_env_plan plan = {
        .method = &sparling_method, .config = &c, .data = root, .threads = 1, .look = look, .context = &searches};
    assert_ok(run_env_run(&plan, &one, &steps, err));
    assert_true(searches >= 1);
    plan.threads = 2;
    plan.every = 8; /* the first pause comes during the validation before the search */
    assert_ok(run_env_run(&plan, &two, &steps, err));
    assert_string_equal(one.weights, two.weights);
}

/* Returns the score of the only name in the answers of a model of the run. */
static double score_of(const struct method_model *model, const float *planes)
{
    struct buf out;
    struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 2, .dim = {LENGTH, BASES}, .values = planes};
    const struct sink sink = text_sink(&out);
    buf_init(&out, 1 << 20);
    assert_ok(method_ask(&sparling_method, model, "predict", &input, &sink, err));
    const char *at = strstr(out.data, "presence=[");
    assert_non_null(at);
    at = strstr(at, "score=");
    assert_non_null(at);
    double score = strtod(at + strlen("score="), NULL);
    buf_close(&out);
    return score;
}

/* If the run found motifs on either strand, the score of a name is the mean of both readings. */
static void scores_are_means_of_both_strands_if_motifs_lie_on_either(void **state)
{
    static float planes[2][LENGTH * BASES];
    double score[2][2];
    struct trial t;
    begin(&t, 1);
    for (int i = 0; i < LENGTH; i++) {
        int base = (int)draw(BASES);
        planes[0][i * BASES + base] = 1;
        planes[1][(LENGTH - 1 - i) * BASES + BASES - 1 - base] = 1;
    }
    for (int both = 0; both < 2; both++) {
        struct run_env_bytes bytes = {0};
        struct method_model *model;
        t.run->presence.turns = both ? TURNS_YES : TURNS_NO;
        assert_ok(run_env_save(&sparling_method, t.run, &bytes, err));
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_ok(sparling_method.open(&t.config, t.environment.env.kernels, root, &reader, &model, err));
        for (int strand = 0; strand < 2; strand++)
            score[both][strand] = score_of(model, planes[strand]);
        sparling_method.close(model);
        run_env_bytes_close(&bytes);
    }
    double mean = (score[0][0] + score[0][1]) / 2;
    assert_true(fabs(score[0][0] - score[0][1]) > 1e-3);
    for (int strand = 0; strand < 2; strand++)
        assert_true(fabs(score[1][strand] - mean) < 1e-5 * (1 + fabs(mean)));
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_misread_samples_give_the_channel_weights_that_random_positions_do_not_find),
        cmocka_unit_test(samples_that_are_read_rightly_do_not_count),
        cmocka_unit_test(run_with_a_search_gives_the_same_bits_with_threads_and_pauses),
        cmocka_unit_test(scores_are_means_of_both_strands_if_motifs_lie_on_either),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
