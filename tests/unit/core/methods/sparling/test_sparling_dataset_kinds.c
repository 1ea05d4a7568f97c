/* Tests uploaded data of every kind as a domain of SPARLING: scales, boxes, labels at positions, spectrograms, split of
 * groups, pictures, refusals, damaged files, and failing allocations. */

#include <math.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/data/audio/audio_spectrum.h"
#include "core/data/uploads/collection.h"
#include "core/formats/audio_wave.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/domains/domain.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "core/methods/sparling/training/label_counts.h"
#include "tests/support/fault.h"
#include "tests/support/made_samples.h"
#include "tests/support/run_env.h"
#include "tests/support/text_sink.h"

static char root[] = "/tmp/motifd-kinds-XXXXXX";
static char *numbers[] = {"0", "1", "3"};
enum { TONE = 8000 };

static int setup(void **state)
{
    static struct made m;
    static int64_t box_start[COUNT + 1], long_start[COUNT + 1];
    static int32_t box[COUNT][5], where[COUNT * 6], many[COUNT * 70];
    if (!mkdtemp(root))
        return -1;
    /* Stores sets of images. In the set `plain`, all pixels of image i have the value i / COUNT. In the set `boxed`,
     * image i has one box, of symbol i % 3. */
    make(&m, COLLECTION_IMAGES, 2, 4, 6);
    for (int i = 0; i < COUNT * 48; i++)
        m.c.values[i] = (float)(i / 48) / COUNT; /* NOLINT(bugprone-integer-division) */
    store(root, "plain", &m.c);
    for (int i = 0; i < COUNT; i++) {
        box_start[i + 1] = i + 1;
        memcpy(box[i], (int32_t[]){i % 3, 1, 3, 2, 6}, sizeof box[i]);
    }
    m.c.boxes = COUNT;
    m.c.box_start = box_start;
    m.c.box = box;
    for (int i = 0; i < COUNT * 48; i++)
        m.c.values[i] = i % 12 == 0 ? -100 : 20; /* the rare value becomes ink */
    store(root, "boxed", &m.c);
    m.c.vocabulary.count = 1;
    memset(m.label, 0, sizeof m.label);
    for (int i = 0; i < COUNT; i++)
        box[i][0] = 0;
    store(root, "one-name", &m.c);
    m.c.vocabulary.count = 3;
    m.c.vocabulary.name = numbers;
    m.c.target = TARGET_COUNT;
    m.c.boxes = 0;
    for (int i = 0; i < COUNT; i++)
        m.label[i] = i % 3;
    store(root, "counts", &m.c);
    test_free(m.c.values);
    make(&m, COLLECTION_SEQUENCES, 2, 1, 40); /* signals of two channels, with a bump whose height is the class */
    for (int i = 0; i < COUNT * 80; i++)
        m.c.values[i] = (float)(i * 7 % 11) / 10 + (i % 40 / 8 == 2 ? (float)(i / 80 % 3) : 0);
    store(root, "waves", &m.c);
    test_free(m.c.values);
    /* Stores sequences of two lengths with a class at every position. The third class does not occur. */
    make(&m, COLLECTION_SEQUENCES, 2, 1, 6);
    for (int i = 0; i < COUNT; i++) {
        m.start[i + 1] = m.start[i] + (i % 2 ? 4 : 6);
        for (int64_t at = m.start[i]; at < m.start[i + 1]; at++)
            where[at] = at - m.start[i] == 1 ? 1 : at - m.start[i] == 2 ? -1 : 0;
    }
    for (int64_t i = 0; i < m.start[COUNT] * 2; i++)
        m.c.values[i] = (float)(i % 3) / 2;
    memcpy(m.label_start, m.start, sizeof m.start);
    m.c.target = TARGET_POSITIONS;
    m.c.label = where;
    m.c.longest = 6;
    store(root, "places", &m.c);
    for (int i = 0; i < COUNT * 6; i++)
        where[i] = where[i] > 0 ? 0 : where[i];
    m.c.vocabulary.count = 1;
    store(root, "one-class", &m.c);
    m.c.vocabulary.count = 3;
    m.c.target = TARGET_SEQUENCE; /* these labels are longer than the head can decode */
    for (int i = 0; i < COUNT; i++)
        long_start[i + 1] = (int64_t)(i + 1) * 70;
    m.c.label_start = long_start;
    m.c.label = many;
    m.c.longest = 70;
    store(root, "long", &m.c);
    test_free(m.c.values);
    /* Stores tones with a box over the second quarter of each. */
    make(&m, COLLECTION_RECORDINGS, 1, 1, TONE);
    for (int i = 0; i < COUNT * TONE; i++)
        m.c.values[i] = (float)(0.4 * sin(6.283185307 * (400 + 40 * (i / TONE % 5)) * (i % TONE) / AUDIO_RATE));
    for (int i = 0; i < COUNT; i++)
        memcpy(box[i], (int32_t[]){i % 3, 0, 1, TONE / 4, TONE / 2}, sizeof box[i]);
    m.c.boxes = COUNT;
    m.c.box_start = box_start;
    m.c.box = box;
    store(root, "tones", &m.c);
    m.c.rate = 44100;
    store(root, "calls", &m.c);
    m.c.rate = 0;
    for (int i = 0; i <= COUNT; i++)
        m.start[i] = (int64_t)i * 100;
    m.c.cols = 100;
    m.c.boxes = 0;
    store(root, "clicks", &m.c);
    test_free(m.c.values);
    return 0;
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static struct sparling_config configured(const char *name, const struct config_setting *more)
{
    struct sparling_config c = {0};
    struct error err = {0};
    const struct config_setting always[] = {
        {"domain", "dataset"}, {"dataset_name", name}, {"dataset_fit", "true"}, {NULL, NULL}};
    assert_int_equal(config_defaults(&sparling_config_table, &c, NULL), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &c, always, NULL), STATUS_OK);
    if (more && config_apply(&sparling_config_table, &c, more, &err))
        fail_msg("%s %s", err.pointer, err.message);
    return c;
}

static void opened(const char *name, const struct config_setting *more, struct sparling_config *c,
                   struct open_domain *d)
{
    struct error err = {0};
    *c = configured(name, more);
    if (sparling_method.resolve(c, NULL, root, &err) || domain_open(c, root, d, &err))
        fail_msg("%s: %s", err.pointer, err.message);
}

static void draw(const struct open_domain *d, int64_t seed, int64_t index, float *planes, struct domain_truth *truth)
{
    const struct domain_request request = {.seed = seed, .index = index};
    assert_int_equal(domain_sample(d, &request, planes, truth, NULL), STATUS_OK);
}

/* ---- pictures ----------------------------------------------------------------------------------------------- */

static void values_in_zero_to_one_are_unchanged(void **state)
{
    struct sparling_config c;
    struct open_domain d;
    float planes[48], grey[24], given[48];
    opened("plain", NULL, &c, &d);
    assert_true(d.shape.channels == 2 && d.shape.rows == 4 && d.shape.cols == 6 && d.shape.tokens == 3 &&
                d.shape.longest == 1 && d.shape.boxes == 0);
    draw(&d, 1, 5, planes, NULL);
    double number = (double)planes[0] * COUNT;
    assert_true(fabs(number - round(number)) < 1e-4 && planes[47] == planes[0]);
    d.domain->grey(d.state, planes, grey);
    /* grey 0 stands for the least value of the data set, and grey 1 for the largest */
    assert_true(fabs((double)grey[0] - fabs((double)(planes[0]) / ((COUNT - 1.0) / COUNT))) < 1e-5);
    for (int i = 0; i < 48; i++)
        given[i] = 0.25F;
    struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 3, .dim = {2, 4, 6}, .values = given};
    struct error err = {0};
    assert_int_equal(d.domain->prepare(d.state, &input, planes, &err), STATUS_OK);
    assert_true(planes[0] == 0.25F && planes[47] == 0.25F);
    input.dim[2] = 7;
    assert_int_equal(d.domain->prepare(d.state, &input, planes, &err), STATUS_INVALID);
    assert_string_equal(err.pointer, "/array");
    assert_string_equal(d.domain->symbol(d.state, 2), "c");
    assert_null(d.domain->token(d.state, 3));
    assert_null(d.domain->token(d.state, -1));
    domain_close(&d);
}

static void other_values_are_standardised_and_rare_values_are_ink(void **state)
{
    struct sparling_config c;
    struct open_domain d;
    struct domain_truth *truth;
    float planes[48], grey[24];
    opened("boxed", NULL, &c, &d);
    assert_int_equal(domain_truths_create(&d.shape, 1, &truth, NULL), STATUS_OK);
    draw(&d, 1, 0, planes, truth);
    double mean = 10, deviation = sqrt((100.0 * 100 + 11 * 20 * 20) / 12 - 100);
    assert_true(fabs((double)planes[0] - (-100 - mean) / deviation) < 1e-5 &&
                fabs((double)planes[1] - (20 - mean) / deviation) < 1e-5);
    d.domain->grey(d.state, planes, grey);
    assert_true(fabs((double)grey[0] - 1) < 1e-6 && fabs((double)grey[1]) < 1e-6 && fabs((double)grey[12] - 1) < 1e-6);
    assert_int_equal(truth->boxes, 1);
    const struct box *box = truth->box;
    assert_true(box->symbol == truth->label[0] && box->row0 == 1 && box->row1 == 3 && box->col0 == 2 &&
                box->col1 == 6 && box->row == 1 && box->col == 3);
    /* A client sends the same numbers in another order: the channels are last. */
    float given[48], prepared[48];
    for (int channel = 0; channel < 2; channel++)
        for (int i = 0; i < 24; i++)
            given[i * 2 + channel] = (channel * 24 + i) % 12 == 0 ? -100 : 20;
    const struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 3, .dim = {4, 6, 2}, .values = given};
    assert_int_equal(d.domain->prepare(d.state, &input, prepared, NULL), STATUS_OK);
    assert_memory_equal(prepared, planes, sizeof planes);
    domain_truths_destroy(truth);
    domain_close(&d);
}

static void warned(const struct open_domain *d, float scale, const char *says)
{
    float given[48];
    struct buf text;
    struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 3, .dim = {2, 4, 6}, .values = given};
    for (int i = 0; i < 48; i++)
        given[i] = scale * (float)i / 48;
    buf_init(&text, 1000);
    struct sink out = text_sink(&text);
    d->domain->warn(d->state, &input, &out);
    if (says[0] == '\0')
        assert_int_equal(text.size, 0);
    else if (!strstr(text.data, says))
        fail_msg("%s does not say %s", text.data, says);
    buf_close(&text);
}

/* The values of the data set are from 0 to almost 1. */
static void inputs_far_from_the_range_of_the_data_are_reported(void **state)
{
    struct sparling_config c;
    struct open_domain d;
    opened("plain", NULL, &c, &d);
    warned(&d, 1, "");
    warned(&d, 0.5F, "");
    warned(&d, 255, "code='outside-range'");
    warned(&d, 255, "the values are from 0 to 249.6");
    warned(&d, -3, "code='outside-range'");
    warned(&d, 1.F / 255, "code='narrow-range'");
    warned(&d, 0, ""); /* a uniform input */
    domain_close(&d);
}

/* A sequence of one position, where the samples of the data set have 4 to 6. */
static void lengths_unlike_those_of_the_data_are_reported(void **state)
{
    struct sparling_config c;
    struct open_domain d = {0};
    struct buf text;
    float bases[4] = {1};
    const struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 3, .dim = {1, 1, 2}, .values = bases};
    opened("places", NULL, &c, &d);
    buf_init(&text, 1000);
    struct sink out = text_sink(&text);
    d.domain->warn(d.state, &input, &out);
    assert_non_null(strstr(text.data, "code='unusual-length'"));
    assert_non_null(strstr(text.data, "the length is 1, but those of the training data are from"));
    buf_close(&text);
    domain_close(&d);
}

/* ---- sequences ---------------------------------------------------------------------------------------------- */

static void labels_at_every_position_end_with_the_sequence(void **state)
{
    struct sparling_config c;
    struct open_domain d = {0};
    struct domain_truth *truth;
    float planes[12], grey[48 * 6];
    int lengths[7] = {0};
    opened("places", (const struct config_setting[]){{"curriculum", "1000"}, {NULL, NULL}}, &c, &d);
    assert_true(c.dataset.positions && c.dataset.longest == 6 && d.shape.positions && d.shape.longest == 6 &&
                d.shape.picture_rows == 48);
    assert_true(c.channels_motif == 2 && c.reinitialise_below == 0); /* class 0 does not count as a motif */
    assert_true(fabs(d.domain->mean_symbols(d.state) - 1) < 1e-9);
    assert_int_equal(domain_truths_create(&d.shape, 1, &truth, NULL), STATUS_OK);
    for (int64_t i = 0; i < 30; i++) {
        const struct domain_request request = {.set = DOMAIN_LESSON, .seed = 1, .index = i};
        assert_int_equal(domain_sample(&d, &request, planes, truth, NULL), STATUS_OK);
        int length = truth->label[4] < 0 ? 4 : 6; /* after the end of a sequence, labels are -1 and values are 0 */
        lengths[length]++;
        assert_int_equal(truth->length, 6);
        for (int at = 0; at < 6; at++) {
            assert_int_equal(truth->label[at], at >= length || at == 2 ? -1 : at == 1);
            if (at >= length)
                assert_true(planes[at] == 0 && planes[6 + at] == 0);
        }
    }
    /* both lengths occur: with labels at positions, there is no curriculum by length */
    assert_true(lengths[4] > 3 && lengths[6] > 3);
    d.domain->grey(d.state, planes, grey);
    for (int i = 0; i < 48 * 6; i++)
        assert_true(grey[i] >= 0 && grey[i] <= 0.5F); /* the picture is at most half dark, so that marks stay visible */
    assert_true(fabsf(grey[0] - planes[0] / 2) < 1e-6F &&
                fabsf(grey[47 * 6] - planes[6] / 2) < 1e-6F); /* the channels are drawn below each other */
    domain_truths_destroy(truth);
    domain_close(&d);
}

/* ---- recordings --------------------------------------------------------------------------------------------- */

static const struct config_setting presence[] = {{"presence_weight", "1"},
                                                 {"presence_samples", "100"},
                                                 {"batch", "2"},
                                                 {"density_by_name", "true"},
                                                 {"calibrate", "true"},
                                                 {"reading_samples", "8"},
                                                 {"width", "8"},
                                                 {"units", "1"},
                                                 {"channels", "16"},
                                                 {"heads", "2"},
                                                 {"layers", "1"},
                                                 {"total_samples", "64"},
                                                 {"validation_every", "16"},
                                                 {"validation_samples", "8"},
                                                 {"motif_samples", "4"},
                                                 {"test_samples", "4"},
                                                 {"stage_samples", "0"},
                                                 {"embed_order", "pool-then-embed"},
                                                 {"pool", "2"},
                                                 {"lstm", "false"},
                                                 {NULL, NULL}};

/* Returns whether channel 0 or 2 is active in one of the first validation samples. */
static bool others_are_active(struct method_run *run)
{
    bool active = false;
    for (int first = 0; first < 20; first += 2) {
        const struct batch_request request = {.seed = VALIDATION_SEED, .first = first, .seen = first, .count = 2};
        const struct batch *batch;
        assert_int_equal(batch_source_take(run->source, &request, NULL, &batch, NULL), STATUS_OK);
        exec_begin(&run->exec, false, 0);
        struct tensor *map = network_motifs(&run->exec, run->network, batch->images, 2, 1);
        assert_non_null(map);
        for (int i = 0; i < 2 * 24; i++) {
            const real *at = map->data + map_offset(&map->map, i / 24, 0, i % 24 / 6, i % 6);
            active |= at[0] > 0 || at[2] > 0;
        }
    }
    return active;
}

/* The label of a sample is its number of motifs. The name "1" stands for every number above 0, so after the calibration
 * only the channel of this name is active. */
static void counts_train_one_channel_to_mark_as_many_motifs(void **state)
{
    static const int count_of[3] = {0, 1, 3};
    struct sparling_config c = configured("counts", presence), plain = configured("plain", presence);
    struct run_env host;
    struct error err = {0};
    struct method_run *run;
    if (sparling_method.resolve(&c, NULL, root, &err) || sparling_method.resolve(&plain, NULL, root, &err))
        fail_msg("%s %s", err.pointer, err.message);
    assert_true(c.tally_weight == 1 && plain.tally_weight == 0);
    /* small pictures with one class get a network whose window covers the picture */
    assert_true(plain.first_window == 15 && plain.units == 3);
    assert_int_equal(run_env_open(&host, 1, NULL, &err), STATUS_OK);
    host.env.data = root;
    if (sparling_method.create(&c, &host.env, &run, &err))
        fail_msg("%s", err.message);
    run->step_seconds = 0; /* each step then makes only one update, or reads one batch */
    assert_true(run->presence.counted == 1 && run->presence.exact);
    for (int32_t label = 0; label < 3; label++) {
        const struct domain_truth truth = {.length = 1, .label = &label};
        assert_int_equal(tally_of(run, &truth, 1), count_of[label]);
        assert_int_equal(tally_of(run, &truth, 2), 0);
        assert_int_equal(presence_true(run, &truth, 1), count_of[label] > 0);
    }
    double count[3], share[3];
    run->domain.domain->frequencies(run->domain.state, count, share);
    assert_true(fabs((double)run->presence.offset[1] - log((share[1] + 3 * share[2]) / 24)) < 1e-5);
    enum method_request request = METHOD_CONTINUE;
    bool before = false;
    for (int i = 0; i < 20000 && request != METHOD_DONE; i++) {
        if (run_env_step(&host, &sparling_method, run, &request, &err))
            fail_msg("%s", err.message);
        before |= run->activity == ACTIVITY_CALIBRATE && run->calibration.position == 1 && others_are_active(run);
    }
    assert_true(request == METHOD_DONE && run->reading.to - run->reading.from == 8);
    assert_true(before && !others_are_active(run));
    /* For t >= 1, tokens[t] counts samples: `present` those whose label is at least t, and `read` those whose answer is
     * at least t. Neither number can grow with t. */
    const struct evidence *e = &run->evaluation.evidence;
    assert_true(e->sums.read == 4 && e->tokens[0].present + e->tokens[1].present == 4);
    assert_true(e->tokens[0].read + e->tokens[1].read <= 4 && e->tokens[2].present <= e->tokens[1].present &&
                e->tokens[2].read <= e->tokens[1].read);
    sparling_method.destroy(run);
    run_env_close(&host);
}

/* With all that keeps a model from learning by heart, threads and pauses change no bit. */
static void regularised_run_gives_same_bits_with_threads_and_pauses(void **state)
{
    static const struct config_setting more[] = {{"units", "3"},           {"dilation", "2"},
                                                 {"motif_dropout", "0.2"}, {"augment_shift", "0.1"},
                                                 {"augment_noise", "0.1"}, {"select_by_validation", "true"},
                                                 {"presence_weight", "0"}, {NULL, NULL}};
    struct sparling_config c = configured("waves", presence);
    struct run_env_witness seen[2];
    struct error err = {0};
    int steps;
    assert_true(!config_apply(&sparling_config_table, &c, more, NULL) &&
                !sparling_method.resolve(&c, NULL, root, &err));
    for (int i = 0; i < 2; i++) {
        struct run_env_plan plan = {
            .method = &sparling_method, .config = &c, .data = root, .threads = 1 + i, .every = 3 * i};
        if (run_env_run(&plan, &seen[i], &steps, &err))
            fail_msg("%s %s", err.pointer, err.message);
    }
    assert_string_equal(seen[0].weights, seen[1].weights);
}

static void recordings_become_spectrograms(void **state)
{
    static float planes[64 * 128], given[64 * 128], wave[TONE];
    struct sparling_config c;
    struct open_domain d;
    struct domain_truth *truth;
    opened("tones", (const struct config_setting[]){{"dataset_mels", "32"}, {NULL, NULL}}, &c, &d);
    const int hop = (int)(3.0 * AUDIO_RATE / 32) / 2, cols = 1 + TONE / hop;
    assert_true(d.shape.channels == 32 && d.shape.rows == 1 && d.shape.cols == cols && d.shape.boxes == 1);
    assert_int_equal(domain_truths_create(&d.shape, 1, &truth, NULL), STATUS_OK);
    draw(&d, -2, 0, planes, truth);
    struct domain_record record;
    for (int set = 0; set < 2; set++) { /* the length of a recording is in frames, as the map's is */
        const struct domain_request request = {.set = set ? DOMAIN_RECORD : DOMAIN_SAMPLE, .seed = -2, .index = 0};
        assert_true(d.domain->record(d.state, &request, &record));
        assert_int_equal(record.length, cols);
    }
    /* A tone has its loudest band at all times, far above the level of the highest band. */
    int loudest = 0;
    for (int m = 0; m < 32; m++)
        if (planes[m * cols + cols / 2] > planes[loudest * cols + cols / 2])
            loudest = m;
    assert_true(loudest > 1 && loudest < 16 && planes[loudest * cols + cols / 2] > planes[31 * cols + cols / 2] + 1);
    const struct box *box = truth->box;
    assert_true(truth->boxes == 1 && box->row0 == 0 && box->row1 == 1 && box->col0 == TONE / 4 / hop);
    assert_true(box->col1 >= TONE / 2 / hop && box->col1 <= TONE / 2 / hop + 2 && box->col1 <= cols);
    /* The recording of the sample is one of these five tones. A client sends all five, and one of them must give the
     * planes of the sample. After a recording that is too short, silence follows. */
    double best = INFINITY;
    for (int tone = 0; tone < 5; tone++) {
        for (int i = 0; i < TONE; i++)
            wave[i] = (float)(0.4 * sin(6.283185307 * (400 + 40 * tone) * i / AUDIO_RATE));
        const struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {TONE}, .values = wave};
        double most = 0;
        assert_int_equal(d.domain->prepare(d.state, &input, given, NULL), STATUS_OK);
        for (int i = 0; i < 32 * cols; i++)
            most = fmax(most, fabs((double)(given[i] - planes[i])));
        best = fmin(best, most);
    }
    assert_true(best < 0.05);
    const struct method_input shorter = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {TONE / 2}, .values = wave};
    assert_int_equal(d.domain->prepare(d.state, &shorter, given, NULL), STATUS_OK);
    assert_true(given[loudest * cols + cols / 4] > given[loudest * cols + cols * 7 / 8] + 1);
    float *grey = test_calloc((size_t)d.shape.picture_rows * (size_t)cols, sizeof *grey);
    d.domain->grey(d.state, planes, grey); /* the highest band is at the top */
    assert_int_equal(d.shape.picture_rows, 32);
    assert_true(grey[(31 - loudest) * cols + cols / 2] > grey[cols / 2] && grey[cols / 2] >= 0);
    test_free(grey);
    domain_truths_destroy(truth);
    domain_close(&d);
}

static void spectrograms_follow_the_rate_of_the_recordings(void **state)
{
    struct sparling_config c;
    struct open_domain d;
    opened("calls", (const struct config_setting[]){{"dataset_mels", "64"}, {NULL, NULL}}, &c, &d);
    /* the window has 46 ms, at most trunc(3 * 44100 / 64) = 2067 samples, and 2048 is a product of 2, 3 and 5 */
    assert_true(c.dataset.rate == 44100 && d.shape.cols == 1 + TONE / 1024);
    assert_int_equal(d.domain->rate(d.state), 44100);
    assert_true(fabs(d.domain->duration(d.state) - (double)d.shape.cols * 1024 / 44100) < 1e-9);
    domain_close(&d);
    opened("tones", (const struct config_setting[]){{"dataset_mels", "64"}, {NULL, NULL}}, &c, &d);
    assert_true(c.dataset.rate == 8000 && d.domain->rate(d.state) == 8000 && d.shape.cols == 1 + TONE / 187);
    domain_close(&d);
}

/* ---- training, validation and test part --------------------------------------------------------------------- */

/* Writes to part[i] in which parts sample i occurs, as a sum of 1 (training), 2 (validation) and 4 (test). */
static void parts(const struct config_setting *more, int part[COUNT])
{
    static const int64_t seeds[] = {1, -1, -2};
    struct sparling_config c;
    struct open_domain d;
    float planes[48];
    opened("plain", more, &c, &d);
    memset(part, 0, COUNT * sizeof *part);
    for (int s = 0; s < 3; s++)
        for (int64_t i = 0; i < 20 * COUNT; i++) {
            draw(&d, seeds[s], i, planes, NULL);
            part[lrintf(planes[0] * COUNT)] |= 1 << s;
        }
    domain_close(&d);
}

static void groups_stay_together(void **state)
{
    int part[COUNT], other[COUNT], seen = 0, differ = 0;
    parts(
        (const struct config_setting[]){
            {"dataset_split", "groups"}, {"dataset_test", "0.3"}, {"dataset_validation", "0.3"}, {NULL, NULL}},
        part);
    for (int i = 0; i < COUNT; i++) {
        assert_true(part[i] == 1 || part[i] == 2 || part[i] == 4);
        assert_int_equal(part[i], part[i / 5 * 5]);
        seen |= part[i];
    }
    assert_int_equal(seen, 7);
    parts((const struct config_setting[]){{"dataset_split", "groups"},
                                          {"dataset_test", "0.3"},
                                          {"dataset_validation", "0.3"},
                                          {"dataset_split_seed", "8"},
                                          {NULL, NULL}},
          other);
    for (int i = 0; i < COUNT; i++)
        differ += part[i] != other[i];
    assert_true(differ > 0);
    /* only the group that the configuration names is the test part */
    parts(
        (const struct config_setting[]){
            {"dataset_test_group", "g3"}, {"dataset_test", "0.5"}, {"dataset_validation", "0.3"}, {NULL, NULL}},
        part);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(part[i] == 4, i / 5 == 3);
}

/* ---- refused and damaged data ------------------------------------------------------------------------------- */

static void refused(const char *name, const struct config_setting *more, const struct config_setting *after,
                    enum status wanted, const char *says)
{
    struct sparling_config c = configured(name, more);
    struct open_domain d = {0};
    struct error err = {0};
    enum status status = sparling_method.resolve(&c, NULL, root, &err);
    if (!status && after)
        assert_int_equal(config_apply(&sparling_config_table, &c, after, NULL), STATUS_OK);
    if (!status)
        status = domain_open(&c, root, &d, &err);
    if (status != wanted || !strstr(err.message, says))
        fail_msg("%s: %d %s: '%s', not '%s'", name, (int)status, err.pointer, err.message, says);
    assert_null(d.state);
}

#define SETTINGS(...) ((const struct config_setting[]){__VA_ARGS__, {NULL, NULL}})

static void unsuitable_data_sets_are_refused(void **state)
{
    refused("one-class", NULL, NULL, STATUS_INVALID, "has a vocabulary of 1 names; it must have 2 to 4096");
    refused("clicks", NULL, NULL, STATUS_INVALID, "recordings that are too short");
    refused("plain", SETTINGS({"dataset_test_group", "nobody"}, {"dataset_validation", "0.3"}), NULL, STATUS_INVALID,
            "names no group 'nobody'");
    refused("plain", SETTINGS({"dataset_test", "0"}), NULL, STATUS_INVALID, "must be above 0");
    static const struct config_setting other[][2] = {{{"dataset_rows", "5"}},         {{"dataset_channels", "1"}},
                                                     {{"dataset_tokens", "4"}},       {{"dataset_boxes", "0"}},
                                                     {{"dataset_positions", "true"}}, {{"dataset_longest", "0"}},
                                                     {{"dataset_cols", "7"}}};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        refused("boxed", NULL, other[i], STATUS_INVALID, "has other sizes than the facts of the job");
    refused("tones", NULL, SETTINGS({"dataset_mels", "32"}), STATUS_INVALID, "has other sizes");
    refused("plain", NULL, SETTINGS({"dataset_hash", ""}), STATUS_INVALID, "is not filled in");
}

static void keep_fault(void *context, const char *field, const char *detail)
{
    strcat(strcat(context, field), " ");
}

static void check_names_faulty_fields(void **state)
{
    char faults[512] = "";
    struct sparling_config c =
        configured("Not A Name", SETTINGS({"dataset_test", "0.6"}, {"dataset_validation", "0.5"}));
    sparling_check(&c, &(struct method_faults){faults, keep_fault});
    assert_non_null(strstr(faults, "dataset_name "));
    assert_non_null(strstr(faults, "dataset_test "));
    struct error err = {0};
    c = configured("long", NULL);
    assert_int_equal(sparling_method.resolve(&c, NULL, root, &err), STATUS_OK);
    faults[0] = '\0';
    sparling_check(&c, &(struct method_faults){faults, keep_fault});
    assert_non_null(strstr(faults, "dataset_name "));
}

static void truncated_file_is_corrupt(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "cp -r %s/plain %s/damaged && truncate -s 3000 %s/damaged/" COLLECTION_FILE, root,
             root, root);
    assert_int_equal(system(command), 0);
    refused("damaged", NULL, NULL, STATUS_CORRUPT, "");
}

static void failing_allocations_give_no_memory(void **state)
{
    static const char *const names[] = {"boxed", "tones"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct sparling_config c = configured(names[i], NULL), first = c;
        struct open_domain d = {0};
        int refusals = 0;
        for (int n = 0;; n++) {
            struct error err = {0};
            c = first;
            fault_after(n);
            enum status status = sparling_method.resolve(&c, NULL, root, &err);
            if (!status)
                status = domain_open(&c, root, &d, &err);
            if (!fault_happened()) {
                assert_int_equal(status, STATUS_OK);
                break;
            }
            refusals += status != STATUS_OK;
            assert_true(status == STATUS_OK || d.state == NULL);
            domain_close(&d);
        }
        assert_true(refusals >= 8);
        domain_close(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_in_zero_to_one_are_unchanged),
                                       cmocka_unit_test(other_values_are_standardised_and_rare_values_are_ink),
                                       cmocka_unit_test(inputs_far_from_the_range_of_the_data_are_reported),
                                       cmocka_unit_test(lengths_unlike_those_of_the_data_are_reported),
                                       cmocka_unit_test(labels_at_every_position_end_with_the_sequence),
                                       cmocka_unit_test(counts_train_one_channel_to_mark_as_many_motifs),
                                       cmocka_unit_test(regularised_run_gives_same_bits_with_threads_and_pauses),
                                       cmocka_unit_test(recordings_become_spectrograms),
                                       cmocka_unit_test(spectrograms_follow_the_rate_of_the_recordings),
                                       cmocka_unit_test(groups_stay_together),
                                       cmocka_unit_test(unsuitable_data_sets_are_refused),
                                       cmocka_unit_test(check_names_faulty_fields),
                                       cmocka_unit_test(truncated_file_is_corrupt),
                                       cmocka_unit_test(failing_allocations_give_no_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
