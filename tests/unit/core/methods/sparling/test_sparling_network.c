/* Tests the networks: sizes, decoding, batches, annotation and densities. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/kernels/kernels.h"
#include "core/methods/sparling/training/batch.h"
#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/queries/annotation.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static const struct config_setting tiny[] = {
    {"image_size", "48"},   {"classes", "4"},    {"min_symbols", "1"}, {"max_symbols", "3"},
    {"shift", "1"},         {"min_radius", "6"}, {"width", "8"},       {"units", "1"},
    {"motifs", "4"},        {"channels", "16"},  {"layers", "1"},      {"heads", "2"},
    {"feed_forward", "32"}, {"batch", "4"},      {"dropout", "0"},     {NULL, NULL}};

struct setup {
    struct sparling_config config;
    struct network *network;
    struct thread_pool *pool;
    struct arena arena;
    struct exec exec;
    struct open_domain domain;
    struct batch_source *source;
};

static void open_setup(struct setup *s, const struct config_setting *more)
{
    struct error err = {0};
    memset(s, 0, sizeof *s);
    assert_int_equal(config_defaults(&sparling_config_table, &s->config, &err), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &s->config, tiny, &err), STATUS_OK);
    if (more)
        assert_int_equal(config_apply(&sparling_config_table, &s->config, more, &err), STATUS_OK);
    assert_int_equal(network_create(&s->config, true, NULL, &s->network, &err), STATUS_OK);
    assert_int_equal(thread_pool_create(1, &s->pool, &err), STATUS_OK);
    assert_int_equal(domain_open(&s->config, NULL, &s->domain, &err), STATUS_OK);
    assert_int_equal(batch_source_create(&s->domain, 8, &s->source, &err), STATUS_OK);
    arena_init(&s->arena, 1 << 20, 0);
    exec_init(&s->exec, kernels_best(), s->pool, &s->arena, 1);
}

static void close_setup(struct setup *s)
{
    batch_source_destroy(s->source);
    domain_close(&s->domain);
    network_destroy(s->network);
    arena_close(&s->arena);
    thread_pool_destroy(s->pool);
}

static const struct batch *take(struct setup *s, const struct batch_request *now, const struct batch_request *next)
{
    const struct batch *batch = NULL;
    struct error err = {0};
    assert_int_equal(batch_source_take(s->source, now, next, &batch, &err), STATUS_OK);
    return batch;
}

static void parameters_match_the_estimate(void **state)
{
    static const struct config_setting variants[][4] = {
        {{NULL, NULL}},
        {{"head_norm", "pre"}, {"positions", "learned"}, {"lstm", "false"}, {NULL, NULL}},
        {{"batch_norm", "plain"}, {"positions", "grid"}, {"embed_order", "pool-then-embed"}, {NULL, NULL}},
        {{"batch_norm", "none"}, {"layers", "3"}, {"units", "2"}, {NULL, NULL}},
        {{"motif_scale", "rms"}, {"embed_order", "pool-then-embed"}, {"lstm", "false"}, {NULL, NULL}},
        {{"stride", "4"}, {"first_window", "3"}, {NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        struct setup s;
        open_setup(&s, variants[i]);
        assert_int_equal(params_count(s.network->params), sparling_parameters_g(&s.config) +
                                                              sparling_parameters_sparse(&s.config) +
                                                              sparling_parameters_h(&s.config));
        close_setup(&s);
    }
}

/* Image 47 x 47 and stride 4: 12 x 12 blocks, those at the edges with three pixels. */
static void a_stride_keeps_positions_density_and_scores(void **state)
{
    enum { SIDE = 47, MOTIFS = 4, IMAGES = 8, ALL = IMAGES * MOTIFS * SIDE * SIDE };
    static float planes[ALL], scores[ALL];
    struct setup s;
    open_setup(&s,
               (const struct config_setting[]){{"stride", "4"}, {"image_size", "47"}, {"momentum", "0"}, {NULL, NULL}});
    const struct sparling_geometry *map = &s.network->map;
    assert_true(map->rows == SIDE && map->inner_rows == 12 && map->reach == 4 * 4 + 6);
    const struct batch *batch = take(&s, &(struct batch_request){.seed = 3, .count = IMAGES}, NULL);
    exec_begin(&s.exec, true, 0);
    struct tensor *motifs = network_motifs(&s.exec, s.network, batch->images, IMAGES, 0.01);
    assert_near(network_density(motifs), 0.01, 0.001);
    exec_begin(&s.exec, false, 0);
    tensor_to_planes(network_motifs(&s.exec, s.network, batch->images, IMAGES, 1), planes);
    tensor_to_planes(network_scores(&s.exec, s.network, batch->images, IMAGES, &s.network->shape), scores);
    for (int i = 0; i < ALL; i++) {
        bool own = i / SIDE % SIDE % 4 == 1 && i % SIDE % 4 == 1;
        assert_true(own ? planes[i] == fmaxf(0, scores[i]) : planes[i] == 0 && scores[i] == -INFINITY);
    }
    close_setup(&s);
}

static void paper_network_has_46030634_parameters(void **state)
{
    struct sparling_config config;
    struct network *network;
    struct error err = {0};
    memset(&config, 0, sizeof config);
    assert_int_equal(config_defaults(&sparling_config_table, &config, &err), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &config, sparling_presets[2].settings, &err), STATUS_OK);
    assert_int_equal(network_create(&config, false, NULL, &network, &err), STATUS_OK);
    int64_t g = 0, h = 0;
    for (size_t i = 0; i < params_arrays(network->params); i++) {
        const char *name = params_name(network->params, i);
        int64_t count = (int64_t)params_array(network->params, i)->count;
        g += strncmp(name, "g.", 2) == 0 ? count : 0;
        h += strncmp(name, "h.", 2) == 0 ? count : 0;
    }
    assert_int_equal(g, 297226);
    assert_int_equal(h, 45733388);
    assert_int_equal(params_count(network->params), 46030634);
    network_destroy(network);
}

/* Compares greedy decoding with a single pass over the prefixes of the labels. As long as decoding has produced the
 * prefix of the label, both must choose the same next token. */
static void decoding_agrees_with_teacher_forcing(void **state)
{
    struct setup s;
    struct error err = {0};
    open_setup(&s, (const struct config_setting[]){{"seed", "5"}, {NULL, NULL}});
    int exact = 0, vocabulary = sparling_vocabulary(&s.config);
    for (int round = 0; round < 40; round++) {
        struct batch_request request = {.seed = 1, .first = 8 * round, .count = 8};
        const struct batch *batch = take(&s, &request, NULL);
        struct decoded decoded[8];
        exec_begin(&s.exec, false, 0);
        struct tensor *motifs = network_motifs(&s.exec, s.network, batch->images, 8, 1);
        struct network_memory memory = network_memory(&s.exec, s.network, motifs);
        assert_int_equal(decode_greedy(&s.exec, s.network, &memory, 8, 5, decoded, &err), STATUS_OK);
        /* Samples with an even index get the decoded tokens as their label, so decoding is exact for them. All other
         * samples get other tokens. */
        int32_t inputs[8 * 6], targets[8 * 6];
        int length = 6;
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < length; j++) {
                bool own = i % 2 == 0 && j < 5;
                int32_t token = own ? decoded[i].tokens[j] : (int32_t)((i + j) % vocabulary);
                targets[i * length + j] = token;
                if (j + 1 < length)
                    inputs[i * length + j + 1] = token;
                if (j == 0)
                    inputs[i * length] = TOKEN_START;
            }
        struct tensor *logits = network_logits(&s.exec, s.network, &memory, inputs, 8, length);
        assert_non_null(logits);
        for (int i = 0; i < 8; i++) {
            int steps = decoded[i].length + (decoded[i].ended ? 1 : 0);
            bool all = true;
            for (int j = 0; j < steps; j++) {
                const real *row = logits->data + (i * length + j) * vocabulary;
                int best = 0;
                for (int k = 1; k < vocabulary; k++)
                    best = row[k] > row[best] ? k : best;
                bool prefix = all; /* whether decoding has produced the same prefix as the label */
                if (prefix)
                    assert_int_equal(best, decoded[i].tokens[j]);
                all = all && targets[i * length + j] == decoded[i].tokens[j];
            }
            exact += all;
        }
    }
    assert_true(exact >= 160); /* at least the samples with an even index: 4 in each of 40 rounds */
    close_setup(&s);
}

/* A head that attends only to positions with a motif, as in the preset `dataset`. */
#define READER                                                                                                         \
    {"attend", "active"}, {"motif_scale", "rms"}, {"embed_order", "pool-then-embed"}, {"head_norm", "pre"},            \
    {                                                                                                                  \
        "lstm", "false"                                                                                                \
    }

/* Passes the head a map in which channel `channel` has one motif of `value` at each of the `sites` (columns of the
 * pooled map). Writes the logits of the first token to `out`. */
static void read_sites(struct setup *s, int channel, real value, const int *sites, int count, real *out)
{
    const struct sparling_geometry *map = &s->network->map;
    struct map_shape shape = {1, (int)s->config.channels_motif, map->rows, map->cols, 1, 1};
    size_t positions = (size_t)map->rows * (size_t)map->cols;
    real *planes = calloc((size_t)shape.channels * positions, sizeof *planes);
    for (int i = 0; i < count; i++)
        planes[(size_t)channel * positions + (size_t)(sites[i] * map->max_pool_w)] = value;
    exec_begin(&s->exec, false, 0);
    struct network_memory memory =
        network_memory(&s->exec, s->network, tensor_from_planes(&s->exec, planes, &shape, false));
    const struct tensor *logits = network_logits(&s->exec, s->network, &memory, (const int32_t[]){TOKEN_START}, 1, 1);
    assert_non_null(logits);
    memcpy(out, logits->data, (size_t)sparling_vocabulary(&s->config) * sizeof *out);
    free(planes);
}

static double distance(const real *a, const real *b, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, fabs((double)(a[i] - b[i])));
    return most;
}

static void with_a_motif_floor_the_head_sees_the_kind_of_a_weak_motif(void **state)
{
    static const struct config_setting settings[2][7] = {{READER, {NULL, NULL}},
                                                         {READER, {"motif_floor", "1"}, {NULL, NULL}}};
    for (int floor = 0; floor < 2; floor++) {
        struct setup s;
        real one[16], other[16];
        open_setup(&s, settings[floor]);
        read_sites(&s, 0, R(1e-6), (const int[]){1}, 1, one);
        read_sites(&s, 1, R(1e-6), (const int[]){1}, 1, other);
        double apart = distance(one, other, sparling_vocabulary(&s.config));
        assert_true(floor ? apart > 1e-3 : apart < 1e-4);
        close_setup(&s);
    }
}

/* All position encodings are set to zero. So the head can learn only from the ranks of motifs how many motifs come
 * before a motif. */
static void with_rank_positions_the_head_sees_which_motif_is_the_first(void **state)
{
    static const struct config_setting settings[2][7] = {{READER, {NULL, NULL}},
                                                         {READER, {"rank_positions", "true"}, {NULL, NULL}}};
    for (int ranks = 0; ranks < 2; ranks++) {
        struct setup s;
        real one[16], two[16];
        open_setup(&s, settings[ranks]);
        memset(s.network->sines.value, 0, s.network->sines.count * sizeof(real));
        read_sites(&s, 0, R(1.0), (const int[]){1}, 1, one);
        read_sites(&s, 0, R(1.0), (const int[]){1, 2}, 2, two);
        double apart = distance(one, two, sparling_vocabulary(&s.config));
        assert_true(ranks ? apart > 1e-3 : apart < 1e-5); /* attention to two equal rows equals attention to one */
        close_setup(&s);
    }
}

static void set_bias(struct setup *s, int token, real value)
{
    struct weight *bias = s->network->out.b;
    memset(s->network->out.w->value, 0, s->network->out.w->count * sizeof(real));
    for (size_t i = 0; i < bias->count; i++)
        bias->value[i] = 0;
    bias->value[token] = value;
}

static void decoding_stops_at_end_or_cap(void **state)
{
    struct setup s;
    struct error err = {0};
    struct decoded decoded[4];
    open_setup(&s, NULL);
    struct batch_request request = {.seed = 1, .count = 4};
    const struct batch *batch = take(&s, &request, NULL);
    exec_begin(&s.exec, false, 0);
    struct network_memory memory =
        network_memory(&s.exec, s.network, network_motifs(&s.exec, s.network, batch->images, 4, 1));

    set_bias(&s, TOKEN_END, 3);
    assert_int_equal(decode_greedy(&s.exec, s.network, &memory, 4, 5, decoded, &err), STATUS_OK);
    assert_true(decoded[0].ended);
    assert_int_equal(decoded[0].length, 0);
    /* One token has the weight exp(3), and five others have the weight 1. */
    assert_near(decoded[0].probability[0], exp(3) / (exp(3) + 5), 1e-6);
    assert_false(decoded_equals(&decoded[0], (const int32_t[]){1}, 1));
    assert_true(decoded_equals(&decoded[0], NULL, 0));

    set_bias(&s, TOKEN_FIRST + 2, 3);
    assert_int_equal(decode_greedy(&s.exec, s.network, &memory, 4, 5, decoded, &err), STATUS_OK);
    assert_false(decoded[3].ended);
    assert_int_equal(decoded[3].length, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(decoded[3].tokens[i], TOKEN_FIRST + 2);
    /* A decoded text that has no END equals no label. */
    assert_false(decoded_equals(&decoded[3], (const int32_t[]){2, 2, 2, 2, 2}, 5));

    set_bias(&s, TOKEN_START, 3); /* decoding treats START as an ordinary token */
    assert_int_equal(decode_greedy(&s.exec, s.network, &memory, 4, 2, decoded, &err), STATUS_OK);
    assert_int_equal(decoded[1].length, 2);
    assert_int_equal(decode_greedy(&s.exec, s.network, &memory, 4, 79, decoded, &err), STATUS_INTERNAL);
    close_setup(&s);
}

static void batches_contain_labels_as_inputs_and_targets(void **state)
{
    struct setup s;
    open_setup(&s, NULL);
    struct batch_request first = {.seed = 3, .count = 6}, second = {.seed = 3, .first = 6, .count = 6};
    struct batch_request far = {.seed = 3, .first = 600, .count = 2, .set = DOMAIN_EXAMPLE};
    const struct batch *batch = take(&s, &first, &second);
    assert_true(batch->length >= 2 && batch->length <= 4);
    int counted = 0;
    for (int i = 0; i < 6; i++) {
        const struct domain_truth *truth = &batch->truths[i];
        const int32_t *in = batch->inputs + i * batch->length, *out = batch->targets + i * batch->length;
        assert_int_equal(in[0], TOKEN_START);
        for (int j = 0; j < batch->length; j++) {
            if (j + 1 < batch->length && j < truth->length)
                assert_int_equal(in[j + 1], TOKEN_FIRST + truth->label[j]);
            int32_t want = j < truth->length ? TOKEN_FIRST + truth->label[j] : j == truth->length ? TOKEN_END : -1;
            assert_int_equal(out[j], want);
        }
        counted += truth->length + 1;
    }
    assert_int_equal(batch->counted, counted);

    /* A batch has the same samples whether or not the worker drew it ahead. */
    float direct[48 * 48];
    struct digitcircle domain = digitcircle_of(&s.config.digitcircle);
    batch = take(&s, &second, NULL);
    digitcircle_sample(&domain, 3, 7, direct, NULL);
    assert_memory_equal(batch->images + 48 * 48, direct, sizeof direct);
    batch = take(&s, &far, &first);
    digitcircle_draw(&domain, 601, direct, NULL);
    assert_memory_equal(batch->images + 48 * 48, direct, sizeof direct);
    batch = take(&s, &second, NULL); /* the worker has drawn the batch `first` ahead, but this call takes `second` */
    digitcircle_sample(&domain, 3, 6, direct, NULL);
    assert_memory_equal(batch->images, direct, sizeof direct);
    close_setup(&s);
}

/* During the curriculum, the largest number of digits in an image grows from 1 in equal steps, and some images have no
 * digit. The curriculum does not change the samples of other sets. */
static void curriculum_shows_few_digits_first(void **state)
{
    enum { SAMPLES = 600 };
    static const struct config_setting lessons[] = {
        {"max_symbols", "3"}, {"min_symbols", "2"}, {"curriculum", "600"}, {NULL, NULL}};
    struct setup s;
    open_setup(&s, lessons);
    int most[4] = {0}, least[4] = {9, 9, 9, 9};
    for (int64_t first = 0; first < SAMPLES + 200; first += 8) {
        struct batch_request request = {.seed = 1, .first = first, .count = 8, .seen = first, .set = DOMAIN_LESSON};
        const struct batch *batch = take(&s, &request, NULL);
        int part = (int)(first * 3 / SAMPLES);
        for (int i = 0; i < 8; i++) {
            most[part] = batch->truths[i].length > most[part] ? batch->truths[i].length : most[part];
            least[part] = batch->truths[i].length < least[part] ? batch->truths[i].length : least[part];
        }
    }
    const int want_most[4] = {1, 2, 3, 3}, want_least[4] = {0, 0, 0, 2};
    assert_memory_equal(most, want_most, sizeof most);
    assert_memory_equal(least, want_least, sizeof least);

    float direct[48 * 48];
    struct digitcircle domain = digitcircle_of(&s.config.digitcircle);
    struct batch_request other = {.seed = 1, .count = 8};
    const struct batch *batch = take(&s, &other, NULL);
    digitcircle_sample(&domain, 1, 0, direct, NULL);
    assert_memory_equal(batch->images, direct, sizeof direct);
    close_setup(&s);
}

static void annotation_lists_and_marks_motifs(void **state)
{
    struct setup s;
    struct error err = {0};
    struct annotation annotation;
    open_setup(&s, NULL);
    float image[48 * 48];
    struct domain_truth *truth;
    struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = 7};
    assert_int_equal(domain_truths_create(&s.domain.shape, 1, &truth, &err), STATUS_OK);
    assert_int_equal(s.domain.domain->sample(s.domain.state, &request, image, truth, &err), STATUS_OK);
    /* In an untrained network about half of all elements are active, more than a list contains. */
    assert_int_equal(
        annotation_make(&s.exec, s.network, &s.domain, &(struct channel_report){0}, image, truth, &annotation, &err),
        STATUS_OK);
    exec_begin(&s.exec, false, 0);
    struct tensor *motifs = network_motifs(&s.exec, s.network, image, 1, 1);
    double active = network_density(motifs) * 4 * 48 * 48;
    assert_near(active, annotation.total, 0.01);
    assert_true(annotation.total > 0 && annotation.count <= ANNOTATION_MOTIFS);
    int maximal = 0;
    for (int i = 0; i < annotation.count; i++) {
        const struct read_motif *a = &annotation.motifs[i];
        maximal += a->maximal;
        assert_true(a->maximal || !a->starred);
        for (int j = 0; a->maximal && j < annotation.count; j++) {
            const struct motif *b = &annotation.motifs[j].at;
            if (abs(a->at.row - b->row) <= 5 && abs(a->at.col - b->col) <= 5)
                assert_true(b->value <= a->at.value);
        }
    }
    assert_true(maximal > 0 && maximal < annotation.count);
    annotation_close(&annotation);
    domain_truths_destroy(truth);
    close_setup(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_match_the_estimate),
        cmocka_unit_test(a_stride_keeps_positions_density_and_scores),
        cmocka_unit_test(paper_network_has_46030634_parameters),
        cmocka_unit_test(decoding_agrees_with_teacher_forcing),
        cmocka_unit_test(with_a_motif_floor_the_head_sees_the_kind_of_a_weak_motif),
        cmocka_unit_test(with_rank_positions_the_head_sees_which_motif_is_the_first),
        cmocka_unit_test(decoding_stops_at_end_or_cap),
        cmocka_unit_test(batches_contain_labels_as_inputs_and_targets),
        cmocka_unit_test(curriculum_shows_few_digits_first),
        cmocka_unit_test(annotation_lists_and_marks_motifs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
