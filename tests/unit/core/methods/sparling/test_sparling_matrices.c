/* Tests the fit of position matrices to the motifs of channels. The data have two names: the motif of "one" is a word
 * with substitutions; that of "either" is one of two unrelated words, which no single matrix describes. Words lie on
 * either strand. */

#include <malloc.h>
#include <math.h>

#include "tests/support/unit.h"
#include "core/kernels/kernels.h"
#include "core/methods/sparling/genomics/scan.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "core/methods/sparling/training/label_counts.h"
#include "core/genomics/matrices/position_matrix.h"
#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"
#include "tests/support/sanitized.h"
#include "tests/support/stored_set.h"

enum { RECORDS = 2000, LENGTH = 64, SHORT = 24, WORD = 9, KINDS = 3 };
static const char *const word[KINDS] = {"GATTACAGG", "CCGTTCTCA", "TGAACGCAC"};
static char root[] = "/tmp/motifd-matrices-XXXXXX";

static const struct config_setting settings[] = {{"domain", "dataset"},
                                                 {"dataset_name", "words"},
                                                 {"dataset_test", "0.1"},
                                                 {"dataset_split_seed", "1"},
                                                 {"dataset_validation", "0.2"},
                                                 {"dataset_fit", "true"},
                                                 {"channels", "16"},
                                                 {"layers", "1"},
                                                 {"heads", "2"},
                                                 {"feed_forward", "32"},
                                                 {"lstm", "false"},
                                                 {"batch", "8"},
                                                 {"batch_norm", "plain"},
                                                 {"pool", "1"},
                                                 {"presence_weight", "1"},
                                                 {"presence_samples", "6000"},
                                                 {"presence_sharpness", "2"},
                                                 {"calibrate", "true"},
                                                 {"other_strand", "true"},
                                                 {"patience", "2"},
                                                 {"total_samples", "9000"},
                                                 {"validation_every", "1000"},
                                                 {"attend", "active"},
                                                 {"reading_samples", "400"},
                                                 {"validation_samples", "200"},
                                                 {"test_samples", "20"},
                                                 {"motif_samples", "20"},
                                                 {"stage_samples", "0"},
                                                 {NULL, NULL}};
/* Other sizes and rates than dataset_fit() sets, for speed. */
static const struct config_setting sizes[] = {{"width", "16"},
                                              {"units", "1"},
                                              {"first_window", "15"},
                                              {"learning_rate", "5e-3"},
                                              {"presence_samples", "6000"},
                                              {"total_samples", "9000"},
                                              {NULL, NULL}};
/* A short run, whose channels may not know their motifs. */
static const struct config_setting brief[] = {{"presence_samples", "600"},
                                              {"total_samples", "1200"},
                                              {"validation_every", "200"},
                                              {"checkpoint_every", "400"},
                                              {"validation_samples", "40"},
                                              {"reading_samples", "100"},
                                              {NULL, NULL}};

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 4242;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void plant(char *at, const char *letters)
{
    bool reverse = draw(2);
    for (int j = 0; j < WORD; j++) {
        char letter = draw(10) == 0 ? "ACGT"[draw(4)] : letters[reverse ? WORD - 1 - j : j];
        at[j] = reverse ? "TGCA"[strchr("ACGT", letter) - "ACGT"] : letter;
    }
}

/* Stores a data set. shorts: every tenth record has SHORT letters and no word, whatever its label says. */
static int store(const char *name, bool shorts)
{
    char *text = malloc((size_t)RECORDS * (LENGTH + 32)), *to = text, path[128];
    struct error err = {0};
    for (int i = 0; text && i < RECORDS; i++) {
        bool one = i % 2, either = i / 2 % 2;
        to += sprintf(to, ">r%d%s%s\n", i, one ? " one" : "", either ? " either" : "");
        for (int j = 0; j < SHORT; j++)
            to[j] = "ACGT"[shorts ? draw(4) : 0];
        if (shorts && draw(10) == 0) {
            to[SHORT] = '\n';
            to += SHORT + 1;
            continue;
        }
        for (int j = 0; j < LENGTH; j++)
            to[j] = "ACGT"[draw(4)];
        if (one)
            plant(to + draw(LENGTH / 2 - WORD), word[0]);
        if (either)
            plant(to + LENGTH / 2 + draw(LENGTH / 2 - WORD), word[1 + draw(2)]);
        to += LENGTH;
        *to++ = '\n';
    }
    if (!text)
        return -1;
    *to = '\0';
    snprintf(path, sizeof path, "%s/%s", root, name);
    enum status status = stored_set(path, "fasta", text, &err);
    free(text);
    snprintf(path, sizeof path, "%s/%s/sha256", root, name);
    FILE *file = fopen(path, "wb");
    if (status || !file)
        return -1;
    fputs("57", file);
    return fclose(file);
}

static int setup(void **state)
{
    return mkdtemp(root) ? store("words", false) || store("shorts", true) : -1;
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void configure(struct sparling_config *config)
{
    memset(config, 0, sizeof *config);
    assert_ok(config_defaults(&sparling_config_table, config, err));
    assert_ok(config_apply(&sparling_config_table, config, settings, err));
    assert_ok(sparling_method.resolve(config, NULL, root, err));
    assert_ok(config_apply(&sparling_config_table, config, sizes, err));
    assert_true(config->matrix_scores); /* the data are bases */
}

static void count_fault(void *context, const char *field, const char *detail)
{
    (void)field;
    (void)detail;
    ++*(int *)context;
}

static bool is_given(const void *context, const char *field)
{
    return strcmp(context, field) == 0;
}

/* Matrices are fitted by the calibration, and give one score for both strands. */
static void channels_of_bases_get_matrices(void **state)
{
    static const struct config_setting both[] = {{"strands", "both"}, {NULL, NULL}};
    static const struct config_setting without[] = {{"calibrate", "false"}, {NULL, NULL}};
    const struct config_setting *const more[] = {both, without};
    const struct method_given given = {is_given, "matrix_scores"};
    struct sparling_config c;
    configure(&c); /* which asserts that the field is on */
    for (int i = 0; i < 2; i++) {
        int faults = 0;
        c.matrix_scores = false;
        assert_ok(config_apply(&sparling_config_table, &c, more[i], err));
        assert_ok(sparling_method.resolve(&c, NULL, root, err));
        assert_false(c.matrix_scores);
        c.matrix_scores = true;
        sparling_check(&c, &(struct method_faults){&faults, count_fault});
        assert_true(faults >= 1);
        configure(&c);
    }
    c.matrix_scores = false;
    assert_ok(sparling_method.resolve(&c, &given, root, err));
    assert_false(c.matrix_scores);
}

/* Writes the letter with the largest entry at each position of a matrix that has entries. */
static void consensus(const struct matrix_scores *m, int channel, char *out)
{
    for (int j = 0; j < m->width; j++) {
        const real *entry = m->table->value + (channel * m->width + j) * BASES;
        int best = 0;
        for (int b = 1; b < BASES; b++)
            best = entry[b] > entry[best] ? b : best;
        if (entry[best] != 0)
            *out++ = "ACGT"[best];
    }
    *out = '\0';
}

static void reverse_of(const char *letters, char *out)
{
    for (int j = 0; j < WORD; j++)
        out[j] = "TGCA"[strchr("ACGT", letters[WORD - 1 - j]) - "ACGT"];
    out[WORD] = '\0';
}

static void a_channel_gets_the_matrix_of_its_motif_unless_no_matrix_describes_it(void **state)
{
    struct sparling_config c;
    struct run_env environment;
    struct method_run *run;
    enum method_request request = METHOD_CONTINUE;
    char text[64], turned[WORD + 1], name[2][16];
    configure(&c);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = root;
    assert_ok(sparling_method.create(&c, &environment.env, &run, err));
    const struct matrix_scores *m = &run->network->matrix;
    while (run->activity != ACTIVITY_CALIBRATE) {
        assert_ok(run_env_step(&environment, &sparling_method, run, &request, err));
        assert_true(request != METHOD_DONE);
        m = &run->network->matrix;
        assert_true(m->scale->value[0] == 0 && m->scale->value[1] == 0);
    }
    while (run->activity == ACTIVITY_CALIBRATE)
        assert_ok(run_env_step(&environment, &sparling_method, run, &request, err));
    assert_int_equal(run->presence.names, 2);
    for (int32_t k = 0; k < 2; k++)
        domain_label(&run->domain, &k, 1, name[k], sizeof name[k]);
    int one = strcmp(name[0], "one") != 0;
    assert_string_equal(name[one], "one");
    assert_string_equal(name[!one], "either");
    consensus(m, one, text);
    reverse_of(word[0], turned);
    print_message("matrix of \"one\": %s; scales %g (one), %g (either)\n", text, (double)m->scale->value[one],
                  (double)m->scale->value[!one]);
    assert_true(m->strands->value[0] == 1);
    assert_true(m->scale->value[one] > 0 && (strstr(text, word[0]) || strstr(text, turned)));
    assert_true(m->scale->value[!one] == 0);
    sparling_method.destroy(run);
    run_env_close(&environment);
}

/* Saves the run and replaces it by a new one that loads the checkpoint. */
static struct method_run *reload(const struct run_env *environment, const struct sparling_config *c,
                                 struct method_run *run)
{
    struct run_env_bytes bytes = {0};
    assert_ok(run_env_save(&sparling_method, run, &bytes, err));
    sparling_method.destroy(run);
    assert_ok(sparling_method.create(c, &environment->env, &run, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(sparling_method.load(run, &reader, err));
    run_env_bytes_close(&bytes);
    return run;
}

/* Trains to the end and writes the hash of the weights. `pauses` makes the pieces of the fit smaller, and replaces the
 * run by one that loads its checkpoint: at every 37th step outside of the calibration, three times during the fit, and
 * once after the fit, which then begins again. Returns how many channels have a matrix. */
static int train(int threads, bool pauses, char weights[65])
{
    struct sparling_config c;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_run *run;
    enum method_request request = METHOD_CONTINUE;
    int matrices = 0, fitting = 0, fitted = 0;
    configure(&c);
    assert_ok(config_apply(&sparling_config_table, &c, brief, err));
    assert_ok(run_env_open(&environment, threads, NULL, err));
    environment.env.data = root;
    assert_ok(sparling_method.create(&c, &environment.env, &run, err));
    for (int i = 0; request != METHOD_DONE; i++) {
        run->step_seconds = 0;
        run->calibration.fit_letters = pauses ? 20000 : 0;
        assert_ok(run_env_step(&environment, &sparling_method, run, &request, err));
        fitting += run->calibration.fit != NULL;
        fitted += run->calibration.fitted;
        bool inside = fitting == 40 || fitting == 900 || fitting == 3000 || (run->calibration.fitted && fitted == 30);
        bool now = run->activity == ACTIVITY_CALIBRATE ? inside : i % 37 == 0;
        if (pauses && now && request != METHOD_DONE)
            run = reload(&environment, &c, run);
    }
    /* A matrix of 9 positions on two strands reads 1,152 letters of a sample, so a piece has about 18 samples. One of
     * 20 rounds reads half of 8,000 samples. */
    assert_true(fitting > (pauses ? 5000 : 900) && fitted > 30);
    for (int k = 0; k < run->presence.names; k++)
        matrices += run->network->matrix.scale->value[k] > 0;
    assert_ok(run_env_save(&sparling_method, run, &bytes, err));
    assert_ok(run_env_weights_hash(&bytes, weights, err));
    run_env_bytes_close(&bytes);
    sparling_method.destroy(run);
    run_env_close(&environment);
    return matrices;
}

static void a_run_with_matrices_gives_the_same_bits_with_threads_and_pauses(void **state)
{
    char one[65], two[65];
    assert_true(train(1, false, one) > 0);
    assert_true(train(2, true, two) > 0);
    assert_string_equal(one, two);
}

/* Bytes that malloc() has given out. */
static double allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return (double)(info.uordblks + info.hblkhd);
}

/* If the configuration has matrix scores, runs until the fit of matrices begins, and returns how many bytes the last
 * step has allocated for the fit. *saved: size of a checkpoint of the new run. */
static double bytes_of_fit(const struct sparling_config *c, double *saved)
{
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_run *run;
    enum method_request request;
    double before = 0;
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = root;
    assert_ok(sparling_method.create(c, &environment.env, &run, err));
    assert_ok(run_env_save(&sparling_method, run, &bytes, err));
    *saved = (double)bytes.count;
    run_env_bytes_close(&bytes);
    while (c->matrix_scores && !run->calibration.fit) {
        run->step_seconds = 0;
        before = allocated();
        assert_ok(run_env_step(&environment, &sparling_method, run, &request, err));
    }
    before = allocated() - before;
    sparling_method.destroy(run);
    run_env_close(&environment);
    return before;
}

/* The estimate counts 92 % of most bytes. */
static void the_estimate_contains_the_fit_and_the_matrices(void **state)
{
    struct sparling_config c;
    struct method_estimate with, without;
    double saved[2], fit;
    configure(&c);
    assert_ok(config_apply(&sparling_config_table, &c, brief, err));
    assert_ok(sparling_estimate(&c, NULL, &with, err));
    fit = bytes_of_fit(&c, &saved[1]);
    c.matrix_scores = false;
    assert_ok(sparling_estimate(&c, NULL, &without, err));
    (void)bytes_of_fit(&c, &saved[0]);
    double memory = (double)(with.memory_bytes - without.memory_bytes),
           checkpoint = (double)(with.checkpoint_bytes - without.checkpoint_bytes);
    print_message("fit: %g bytes, estimated %g; checkpoint: %g more bytes, estimated %g\n", fit, memory,
                  saved[1] - saved[0], checkpoint);
    assert_true(checkpoint > 0 && checkpoint <= saved[1] - saved[0] && checkpoint > saved[1] - saved[0] - 1024);
    assert_true(memory > 0 && (SANITIZED || (memory > 0.9 * fit && memory < 1.1 * fit)));
}

/* The mean of the largest scores of a channel in the validation samples with its name. */
static double mean_score(struct method_run *run, int name, bool matrices)
{
    double sum = 0;
    int count = 0;
    run->network->matrices = matrices;
    for (int i = 0; i < 2000; i++) {
        struct batch_request request = {.seed = VALIDATION_SEED, .first = i, .seen = i, .count = 1};
        const struct batch *batch;
        float most = -INFINITY, map[KINDS * LENGTH];
        assert_ok(batch_source_take(run->source, &request, NULL, &batch, err));
        if (tally_of(run, &batch->truths[0], name) == 0)
            continue;
        exec_begin(&run->exec, false, 0);
        tensor_to_planes(network_scores(&run->exec, run->network, batch->images, 1, &run->domain.shape), map);
        for (int j = 0; j < LENGTH; j++)
            most = fmaxf(most, map[name * LENGTH + j]);
        sum += (double)most;
        count++;
    }
    return sum / count;
}

/* Padding consists of letters that are no base. The fit and the network must give them the same score. Then the scores
 * of a matrix have the same mean as the scores of the channel, also if samples are padded. */
static void the_fit_scores_padding_as_the_network_does(void **state)
{
    static const struct config_setting shorts[] = {{"dataset_name", "shorts"}, {NULL, NULL}};
    struct sparling_config c;
    struct run_env environment;
    struct method_run *run;
    enum method_request request = METHOD_CONTINUE;
    int used = 0;
    configure(&c);
    assert_ok(config_apply(&sparling_config_table, &c, shorts, err));
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = root;
    assert_ok(sparling_method.create(&c, &environment.env, &run, err));
    assert_true(run->config.channels_motif <= KINDS);
    while (!run->calibration.fitted) {
        run->step_seconds = 0;
        assert_ok(run_env_step(&environment, &sparling_method, run, &request, err));
    }
    for (int k = 0; k < run->presence.names; k++) {
        double scale = (double)run->network->matrix.scale->value[k];
        double matrix = mean_score(run, k, true), channel = mean_score(run, k, false);
        print_message("name %d: scale %g, mean score of the matrix %g, of the channel %g\n", k, scale, matrix, channel);
        assert_true(scale == 0 || fabs(matrix - channel) < 0.02 * scale);
        used += scale > 0;
    }
    assert_true(used > 0);
    sparling_method.destroy(run);
    run_env_close(&environment);
}

/* A matrix of a word that repeats within itself, which also exceeds its threshold two positions beside the word. */
static void set_repeating_matrix(struct network *n)
{
    static const char letters[] = "ATATATATA";
    int first = n->matrix.width / 2 - WORD / 2;
    for (int j = 0; j < WORD; j++)
        n->matrix.table->value[(first + j) * BASES + (letters[j] == 'T' ? 3 : 0)] = 1;
    n->matrix.scale->value[0] = 1;
    n->matrix.offset->value[0] = sparse_thresholds(n->sparse)[0] - R(5.5);
}

struct seen {
    int windows, at[4], count; /* at: the positions of a record where channel 0 is active */
};

static enum status see(void *context, const struct scan_window *window, struct error *err)
{
    struct seen *s = context;
    s->windows++;
    for (int64_t i = window->from; i < window->to; i++)
        if (window->map[i - window->origin] > 0 && s->count++ < 4)
            s->at[s->count - 1] = (int)i;
    return STATUS_OK;
}

/* Scans a record of A and C with one word in its middle. */
static struct seen scan_of(const struct method_model *model, int length)
{
    const struct method_question question = {.model = model};
    struct seen seen = {0};
    const struct scan_target to = {&seen, see};
    struct scan *scan;
    unsigned char *bases = malloc((size_t)length);
    assert_non_null(bases);
    for (int i = 0; i < length; i++)
        bases[i] = i % 4 == 1 ? 2 : 1;
    for (int j = 0; j < WORD; j++)
        bases[length / 2 + j] = j % 2 ? 3 : 0;
    assert_ok(scan_create(&question, 1, &to, &scan, err));
    assert_ok(scan_begin(scan, "r", err));
    assert_ok(scan_add(scan, bases, (size_t)length, err));
    assert_ok(scan_end(scan, err));
    assert_ok(scan_finish(scan, err));
    scan_destroy(scan);
    free(bases);
    return seen;
}

/* With never_empty, a scan computes all its windows as parts of a genome. */
static void a_scan_finds_the_peaks_of_a_matrix_and_not_the_positions_beside_them(void **state)
{
    static const int lengths[] = {LENGTH, LENGTH / 2, 500, 5000};
    struct sparling_config c;
    struct run_env environment;
    struct method_run *run;
    configure(&c);
    c.never_empty = true;
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = root;
    assert_ok(sparling_method.create(&c, &environment.env, &run, err));
    set_repeating_matrix(run->network);
    const struct method_model model = {.kernels = kernels_best(), .network = run->network, .domain = run->domain};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct seen seen = scan_of(&model, lengths[i]);
        assert_int_equal(seen.count, 1);
        assert_int_equal(seen.at[0], lengths[i] / 2 + WORD / 2);
        assert_true(seen.windows == 1 || lengths[i] > 2048);
    }
    sparling_method.destroy(run);
    run_env_close(&environment);
}

static void warm_start(struct method_run *run, struct run_env_bytes *bytes)
{
    struct snapshot_reader reader = run_env_reader(bytes);
    assert_ok(sparling_method.warm_start(run, &reader, err));
}

/* The matrices in a checkpoint belong to its weights and thresholds. An evaluation of this model uses them. A training
 * that starts from the checkpoint removes them, even if it will fit no matrices itself. */
static void training_from_a_model_with_matrices_begins_without_matrices(void **state)
{
    static const struct config_setting plain[] = {{"presence_weight", "0"}, {"calibrate", "false"}, {NULL, NULL}};
    struct sparling_config c;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_run *run;
    enum method_request request = METHOD_CONTINUE;
    configure(&c);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = root;
    assert_ok(sparling_method.create(&c, &environment.env, &run, err));
    set_repeating_matrix(run->network);
    assert_ok(run_env_save(&sparling_method, run, &bytes, err));
    for (int i = 0; i < 2; i++) {
        sparling_method.destroy(run);
        assert_ok(sparling_method.create(&c, &environment.env, &run, err));
        warm_start(run, &bytes);
        assert_true(network_uses_matrices(run->network));
        run->step_seconds = 0;
        assert_ok(run_env_step(&environment, &sparling_method, run, &request, err));
        assert_int_equal(run->updates, 1);
        assert_false(matrix_scores_used(&run->network->matrix));
        assert_true(run->network->matrix.table->value[run->network->matrix.width / 2 * BASES] == 0);
        assert_ok(config_apply(&sparling_config_table, &c, plain, err));
    }
    sparling_method.destroy(run);
    run_env_bytes_close(&bytes);
    run_env_close(&environment);
}

static void a_job_with_matrices_begins_from_a_model_without_them(void **state)
{
    struct sparling_config c;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_run *run;
    configure(&c);
    c.matrix_scores = false;
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = root;
    assert_ok(sparling_method.create(&c, &environment.env, &run, err));
    run->network->last.w->value[0] = R(0.625);
    assert_ok(run_env_save(&sparling_method, run, &bytes, err));
    sparling_method.destroy(run);
    c.matrix_scores = true;
    assert_ok(sparling_method.create(&c, &environment.env, &run, err));
    warm_start(run, &bytes);
    assert_true(run->network->last.w->value[0] == R(0.625) && !network_uses_matrices(run->network));
    sparling_method.destroy(run);
    run_env_bytes_close(&bytes);
    run_env_close(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_of_bases_get_matrices),
        cmocka_unit_test(a_channel_gets_the_matrix_of_its_motif_unless_no_matrix_describes_it),
        cmocka_unit_test(a_run_with_matrices_gives_the_same_bits_with_threads_and_pauses),
        cmocka_unit_test(the_estimate_contains_the_fit_and_the_matrices),
        cmocka_unit_test(a_scan_finds_the_peaks_of_a_matrix_and_not_the_positions_beside_them),
        cmocka_unit_test(the_fit_scores_padding_as_the_network_does),
        cmocka_unit_test(training_from_a_model_with_matrices_begins_without_matrices),
        cmocka_unit_test(a_job_with_matrices_begins_from_a_model_without_them),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
