/* Tests dictionaries of uploaded rows, and the queries of dictionary jobs: the order of rows, exact resume, codes,
 * reconstructions, steering, the gallery, comparisons, refusals. */
#include <math.h>
#include <sys/stat.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/kernels/blas.h"
#include "core/methods/shared/rows.h"
#include "core/methods/registry.h"
#include "core/methods/dictionary/queries/model.h"
#include "core/methods/dictionary/run_int.h"
#include "tests/support/method_ask.h"
#include "tests/support/run_test.h"
#include "tests/support/stored_set.h"
#include "tests/support/text_sink.h"

enum { ROWS = 700, COLUMNS = 6, WIDTH = 12 };
static char root[] = "/tmp/motifd-rows-XXXXXX";
static const struct method *const method = &dictionary_method;

static double value_at(int row, int column)
{
    struct philox from = philox_stream(3, 1, (uint64_t)row);
    int own = row % 4; /* rows of four kinds, each along its own direction */
    return (column == own ? 3.0 + column : 0) + 0.1 * philox_normal(&from, (uint64_t)column);
}

static void store_numbers(void)
{
    struct error err = {0};
    char path[128], *text = malloc(ROWS * COLUMNS * 24 + 100), *to = text;
    assert_non_null(text);
    for (int k = 0; k < COLUMNS; k++)
        to += sprintf(to, "c%d,", k);
    to += sprintf(to, "label\n");
    for (int r = 0; r < ROWS; r++) {
        for (int k = 0; k < COLUMNS; k++)
            to += sprintf(to, "%.6f,", value_at(r, k));
        to += sprintf(to, "kind%d\n", r % 4);
    }
    snprintf(path, sizeof path, "%s/rows", root);
    if (stored_set(path, "csv", text, &err))
        fail_msg("%s", err.message);
    free(text);
}

static int byte_at(int row, int column)
{
    return (row * 7 + column * 13) % 256;
}

static enum status append_file(void *context, const void *bytes, size_t count, struct error *err)
{
    (void)err;
    return fwrite(bytes, 1, count, context) == count ? STATUS_OK : STATUS_IO;
}

/* Stores a data set of bytes, [ROWS / 2][2][COLUMNS]: each sample has two tokens. */
static void store_bytes(void)
{
    enum { SAMPLES = ROWS / 2 };
    static uint8_t values[ROWS * COLUMNS];
    static int64_t start[SAMPLES + 1], label_start[SAMPLES + 1];
    struct collection c = {.kind = COLLECTION_IMAGES,
                           .count = SAMPLES,
                           .channels = 1,
                           .rows = 2,
                           .cols = COLUMNS,
                           .bytes = values,
                           .start = start,
                           .label_start = label_start};
    char path[160];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (uint8_t)byte_at(i / COLUMNS, i % COLUMNS);
    for (int i = 0; i <= SAMPLES; i++)
        start[i] = (int64_t)i * COLUMNS;
    snprintf(path, sizeof path, "%s/bytes", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/bytes/" COLLECTION_FILE, root);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const struct snapshot_writer to = {file, append_file};
    assert_ok(collection_write(&c, &to, err));
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(root))
        return -1;
    store_numbers();
    store_bytes();
    return 0;
}

static int teardown(void **state)
{
    char command[96];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static const struct config_setting topk[] = {{"source", "dataset"},
                                             {"dataset_name", "rows"},
                                             {"inputs", "6"},
                                             {"learner", "topk"},
                                             {"width", "12"},
                                             {"l0", "2"},
                                             {"seeds", "2"},
                                             {"batch", "50"},
                                             {"learning_rate", "1e-2"},
                                             {"total_samples", "6000"},
                                             {"test_samples", "1000"},
                                             {"pursuit_samples", "30"},
                                             {"checkpoint_every", "2000"},
                                             {NULL, NULL}};
static const struct config_setting nested[] = {{"source", "dataset"},
                                               {"dataset_name", "bytes"},
                                               {"inputs", "6"},
                                               {"learner", "matryoshka"},
                                               {"width", "40"},
                                               {"l0", "3"},
                                               {"seeds", "1"},
                                               {"batch", "50"},
                                               {"total_samples", "600"},
                                               {"test_samples", "60"},
                                               {"pursuit_samples", "9"},
                                               {"checkpoint_every", "200"},
                                               {NULL, NULL}};

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static void an_order_contains_every_number_once(void **state)
{
    static const int64_t counts[] = {1, 2, 3, 4, 5, 17, 64, 1000, 4097};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        int64_t count = counts[c], moved = 0;
        bool *seen = calloc((size_t)count, sizeof *seen);
        struct permutation order = permutation_make(count, 5, 1, 2), other = permutation_make(count, 5, 1, 3);
        for (int64_t i = 0; i < count; i++) {
            int64_t at = permutation_at(&order, i);
            assert_in_range(at, 0, count - 1);
            assert_false(seen[at]);
            seen[at] = true;
            moved += at != permutation_at(&other, i);
        }
        assert_true(count < 64 || moved > count / 2);
        free(seen);
    }
}

static void an_epoch_reads_every_training_row_once_and_no_test_row(void **state)
{
    struct rows rows;
    int seen[ROWS] = {0}, followed = 0;
    (void)state;
    assert_ok(rows_open(&(struct rows_request){root, "rows", "", 9, DIVIDE_AUTO, ""}, &rows, err));
    assert_int_equal(rows.count, ROWS);
    int64_t tests = rows_test_count(&rows), train = ROWS - tests, before = -2;
    assert_in_range(tests, ROWS / 20, ROWS / 5);
    for (int64_t i = 0; i < tests; i++)
        seen[rows_test(&rows, i)] += 100;
    for (int64_t i = 0; i < 2 * train; i++) {
        int64_t row = rows_train(&rows, i);
        rows_expect(&rows, i);
        seen[row]++;
        followed += row == before + 1;
        before = row;
    }
    for (int r = 0; r < ROWS; r++)
        assert_true(seen[r] == 2 || seen[r] == 100);
    assert_true(followed < train / 10); /* the rows are mixed */
    rows_close(&rows);
}

static void rows_are_the_uploaded_numbers(void **state)
{
    struct rows rows, bytes;
    float x[COLUMNS];
    (void)state;
    assert_ok(rows_open(&(struct rows_request){root, "rows", "", 9, DIVIDE_AUTO, ""}, &rows, err));
    assert_ok(rows_open(&(struct rows_request){root, "bytes", "", 9, DIVIDE_AUTO, ""}, &bytes, err));
    assert_null(bytes.set.values); /* stored as bytes */
    for (int r = 0; r < ROWS; r += 13) {
        assert_ok(rows_read(&rows, r, x, err));
        for (int k = 0; k < COLUMNS; k++)
            assert_true(fabs((double)x[k] - value_at(r, k)) < 1e-5);
        assert_ok(rows_read(&bytes, r, x, err));
        for (int k = 0; k < COLUMNS; k++)
            assert_true(fabsf(x[k] - (float)byte_at(r, k)) < 1e-6f);
    }
    rows_close(&rows);
    rows_close(&bytes);
}

static void a_data_set_gives_the_same_bits_for_any_threads_and_pauses(void **state)
{
    static const struct run_test test = {&dictionary_method, root, NULL};
    const struct config_setting *const all[] = {topk, nested};
    (void)state;
    run_test_bits(&test, all, sizeof all / sizeof all[0], 3);
}

static void a_missing_data_set_is_refused_by_its_field(void **state)
{
    struct dictionary_config config;
    struct error fault = {0};
    (void)state;
    run_test_configure(method, &config, topk);
    assert_int_equal(config.inputs, 6);
    config.inputs = 1;
    assert_ok(method->resolve(&config, NULL, root, err));
    assert_int_equal(config.inputs, COLUMNS);
    strcpy(config.dataset_name, "gone");
    assert_int_equal(method->resolve(&config, NULL, root, &fault), STATUS_NOT_FOUND);
    assert_string_equal(fault.pointer, "/config/dataset_name");
    config.dataset_name[0] = '\0';
    error_clear(&fault);
    assert_int_equal(method->resolve(&config, NULL, root, &fault), STATUS_INVALID);
    assert_string_equal(fault.pointer, "/config/dataset_name");
}

/* ---- codes --------------------------------------------------------------------------------------------------- */

/* Compares the codes of infer_codes() with those of step_run(). For the learners of this test, both functions select
 * latents in the same way. */
static void queries_encode_as_training_does(void **state)
{
    enum { D = 10, M = 30, COUNT = 50 };
    static const enum learner learners[] = {LEARNER_L1, LEARNER_TOPK, LEARNER_JUMPRELU, LEARNER_MATCHING_PURSUIT};
    struct run_env environment;
    struct philox from = philox_stream(11, 2, 0);
    float x[COUNT * D], code[COUNT * M];
    (void)state;
    assert_ok(run_env_open(&environment, 2, NULL, err));
    for (int i = 0; i < COUNT * D; i++)
        x[i] = (float)philox_normal(&from, (uint64_t)i);
    for (size_t l = 0; l < sizeof learners / sizeof learners[0]; l++) {
        struct sae_shape shape = {.learner = learners[l],
                                  .inputs = D,
                                  .width = M,
                                  .l0 = 4,
                                  .levels = 1,
                                  .level_end = {M},
                                  .bandwidth = 1,
                                  .aux_latents = 1,
                                  .iterations = 10};
        struct sae *sae;
        struct step *step;
        struct step_outcome out;
        int active = 0;
        assert_ok(sae_create(&shape, "", false, &sae, err));
        assert_ok(step_create(&shape, environment.pool, environment.env.kernels, COUNT, &step, err));
        sae_init(sae, 4);
        for (int k = 0; k < D; k++)
            sae->bias->value[k] = 0.1f * (float)k;
        for (int j = 0; sae->encoder_bias && j < M; j++)
            sae->encoder_bias->value[j] = 0.02f * (float)(j - 10);
        float *scratch = malloc(infer_scratch(&shape) * sizeof *scratch);
        assert_non_null(scratch);
        struct infer infer = infer_make(sae, environment.env.kernels, scratch);
        assert_true(step_run(step, sae, x, COUNT, false, &out));
        infer_codes(&infer, x, COUNT, code, scratch);
        for (int r = 0; r < COUNT; r++) {
            for (int i = step->codes.start[r]; i < step->codes.start[r] + step->codes.count[r]; i++) {
                code[r * M + step->codes.index[i]] -= step->codes.value[i];
                active += step->codes.value[i] > 0;
            }
            for (int j = 0; j < M; j++)
                assert_true(fabsf(code[r * M + j]) < 1e-5f);
        }
        assert_true(active > COUNT / 4);
        free(scratch);
        step_destroy(step);
        sae_destroy(sae);
    }
    run_env_close(&environment);
}

/* ---- a finished job ------------------------------------------------------------------------------------------ */

struct finished {
    struct dictionary_config config;
    struct run_env environment;
    struct run_env_bytes saved;
    struct method_model *model;
};

static void finish(struct finished *f, const struct config_setting *settings)
{
    enum method_request request = METHOD_CONTINUE;
    *f = (struct finished){0};
    assert_ok(run_env_open(&f->environment, 2, NULL, err));
    f->environment.env.data = root;
    run_test_configure(method, &f->config, settings);
    struct method_run *run = run_test_start(method, &f->environment, &f->config);
    while (request != METHOD_DONE)
        assert_ok(method->step(run, &request, err));
    assert_ok(run_env_save(method, run, &f->saved, err));
    method->destroy(run);
    struct snapshot_reader reader = run_env_reader(&f->saved);
    assert_ok(method->open(&f->config, f->environment.env.kernels, root, &reader, &f->model, err));
}

static void close_finished(struct finished *f)
{
    method->close(f->model);
    run_env_bytes_close(&f->saved);
    run_env_close(&f->environment);
}

/* Asks a query that answers with an array. `set`: the parameter of the query steer; NULL for other queries. */
static enum status ask_array(const struct finished *f, const char *name, const struct method_input *input,
                             const char *set, float *values, size_t count, struct error *err)
{
    const struct method_query *query = method_query_find(method, name, false);
    struct method_question question = method_question(query, f->model, input);
    struct buf out;
    int rank = 0;
    int64_t dim[4];
    buf_init(&out, 1 << 20);
    if (set)
        strcpy(((struct dictionary_question *)(uintptr_t)question.parameters)->set, set);
    enum status status = query->array(&question, &out, &rank, dim, err);
    if (!status) {
        assert_int_equal(out.size, count * sizeof *values);
        memcpy(values, out.data, out.size);
    }
    free((void *)(uintptr_t)question.parameters);
    buf_close(&out);
    return status;
}

static void codes_rebuild_samples_and_steering_moves_them(void **state)
{
    struct finished f;
    float x[COLUMNS], code[WIDTH], back[COLUMNS], again[COLUMNS], moved[COLUMNS];
    double error = 0, power = 0;
    (void)state;
    finish(&f, topk);
    for (int row = 0; row < ROWS; row += 50) {
        struct method_input sample = {.kind = METHOD_INPUT_SAMPLE, .seed = row};
        struct method_input coded = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {WIDTH}, .values = code};
        int active = 0, first = -1;
        char set[40];
        for (int k = 0; k < COLUMNS; k++)
            x[k] = (float)value_at(row, k);
        assert_ok(ask_array(&f, "encode", &sample, NULL, code, WIDTH, err));
        for (int j = 0; j < WIDTH; j++) {
            active += code[j] != 0;
            first = first < 0 && code[j] != 0 ? j : first;
        }
        assert_in_range(active, 1, 2);
        assert_ok(ask_array(&f, "decode", &coded, NULL, back, COLUMNS, err));
        for (int k = 0; k < COLUMNS; k++) {
            error += ((double)back[k] - (double)x[k]) * ((double)back[k] - (double)x[k]);
            power += (double)x[k] * (double)x[k];
        }
        /* Sets a latent of the code to a value that is larger by 2. Steering must move the sample by 2 times a unit
         * vector, and the reconstruction of the changed code must move by the same vector. */
        snprintf(set, sizeof set, "%d=%.6f", first, (double)code[first] + 2);
        assert_ok(ask_array(&f, "steer", &sample, set, moved, COLUMNS, err));
        code[first] += 2;
        assert_ok(ask_array(&f, "decode", &coded, NULL, again, COLUMNS, err));
        double length = 0;
        for (int k = 0; k < COLUMNS; k++) {
            assert_true(fabs((double)moved[k] - (double)x[k] - ((double)again[k] - (double)back[k])) < 1e-4);
            length += ((double)moved[k] - (double)x[k]) * ((double)moved[k] - (double)x[k]);
        }
        assert_true(fabs(sqrt(length) - 2) < 1e-4);
    }
    assert_true(error < 0.05 * power);
    close_finished(&f);
}

static void blocks_of_rows_give_the_codes_of_single_rows(void **state)
{
    enum { COUNT = 150 };
    struct finished f;
    float x[COUNT * COLUMNS], codes[COUNT * WIDTH], one[WIDTH], back[COUNT * COLUMNS], single[COLUMNS];
    int from, to;
    (void)state;
    finish(&f, topk);
    struct dictionary_question asked = {.dictionary = 1};
    struct method_question question = {.model = f.model, .parameters = &asked, .item = -1};
    for (int r = 0; r < COUNT; r++)
        assert_ok(rows_read(&f.model->rows, r, x + r * COLUMNS, err));
    dictionary_encode_widths(f.model, &from, &to);
    assert_int_equal(from, COLUMNS);
    assert_int_equal(to, WIDTH);
    assert_ok(dictionary_encode_rows(&question, x, COUNT, codes, err));
    assert_ok(dictionary_decode_rows(&question, codes, COUNT, back, err));
    for (int r = 0; r < COUNT; r++) {
        assert_ok(dictionary_encode_rows(&question, x + r * COLUMNS, 1, one, err));
        assert_ok(dictionary_decode_rows(&question, codes + r * WIDTH, 1, single, err));
        for (int j = 0; j < WIDTH; j++)
            assert_true(fabsf(codes[r * WIDTH + j] - one[j]) < 1e-5f);
        for (int k = 0; k < COLUMNS; k++)
            assert_true(fabsf(back[r * COLUMNS + k] - single[k]) < 1e-5f);
    }
    asked.dictionary = 2;
    struct error fault = {0};
    assert_int_equal(dictionary_encode_rows(&question, x, 1, one, &fault), STATUS_INVALID);
    assert_string_equal(fault.pointer, "/dictionary");
    close_finished(&f);
}

/* Encodes each test row, and checks that the gallery of every latent has the rows with the largest values of that
 * latent. The test uses the learner topk, which selects latents in the same way in the evaluation and in queries. */
static void the_gallery_has_the_strongest_test_rows(void **state)
{
    struct finished f;
    (void)state;
    finish(&f, topk);
    const struct method_model *m = f.model;
    int64_t tests = rows_test_count(&m->rows);
    assert_int_equal(m->tested, tests); /* fewer than the 1,000 that the configuration requests */
    float *codes = malloc((size_t)tests * WIDTH * sizeof *codes), x[COLUMNS];
    struct method_question question = {.model = m, .item = -1};
    for (int64_t i = 0; i < tests; i++) {
        assert_ok(rows_read(&m->rows, rows_test(&m->rows, i), x, err));
        assert_ok(dictionary_encode_rows(&question, x, 1, codes + i * WIDTH, err));
    }
    for (int j = 0; j < WIDTH; j++) {
        int64_t active = 0, counted = 0, shown = 0, stronger = 0;
        for (int b = 0; b < GALLERY_BINS; b++)
            counted += m->gallery.counts[j].bins[b];
        while (shown < GALLERY_TOP && m->gallery.counts[j].input[shown] >= 0)
            shown++;
        double least = shown > 0 ? (double)m->gallery.values[j].value[shown - 1] / m->scale : 0;
        for (int64_t i = 0; i < tests; i++) {
            active += codes[i * WIDTH + j] > 0;
            stronger += (double)codes[i * WIDTH + j] > least + 1e-4;
        }
        assert_int_equal(active, counted);
        assert_int_equal(shown, active < GALLERY_TOP ? active : GALLERY_TOP);
        assert_true(stronger < GALLERY_TOP);
        assert_true(fabs(m->latents[j * LATENT_COLUMNS + LATENT_RATE] - (double)active / (double)tests) < 1e-9);
    }
    free(codes);
    close_finished(&f);
}

static void latents_are_listed_with_rows_and_labels(void **state)
{
    struct finished f;
    struct buf out;
    struct error fault = {0};
    (void)state;
    finish(&f, topk);
    buf_init(&out, 1 << 20);
    struct sink sink = text_sink(&out);
    assert_ok(method_ask(method, f.model, "latents", NULL, &sink, err));
    assert_non_null(strstr(out.data, "row="));
    assert_non_null(strstr(out.data, "kind"));
    assert_null(strstr(out.data, "feature=")); /* the true features are unknown */
    buf_clear(&out);
    const struct method_query *one = method_query_find(method, "latents", true);
    struct method_question question = {.query = one, .model = f.model, .item = 3};
    assert_ok(one->answer(&question, &sink, err));
    assert_non_null(strstr(out.data, "nearest"));
    question.item = WIDTH;
    assert_int_equal(one->answer(&question, &sink, &fault), STATUS_NOT_FOUND);
    buf_close(&out);
    close_finished(&f);
}

static void a_dictionary_shares_all_latents_with_itself_and_few_with_another(void **state)
{
    struct finished f, g;
    struct buf out;
    char expected[40];
    (void)state;
    finish(&f, topk);
    finish(&g, nested);
    buf_init(&out, 1 << 20);
    struct sink sink = text_sink(&out);
    const struct method_query *compare = method_query_find(method, "compare", false);
    struct method_question question = method_question(compare, f.model, NULL);
    ((struct dictionary_question *)(uintptr_t)question.parameters)->shared = 0.999;
    question.with = f.model;
    assert_ok(compare->answer(&question, &sink, err));
    snprintf(expected, sizeof expected, "shared=%d", WIDTH);
    assert_non_null(strstr(out.data, expected));
    buf_clear(&out);
    question.with = g.model;
    assert_ok(compare->answer(&question, &sink, err));
    assert_null(strstr(out.data, expected));
    free((void *)(uintptr_t)question.parameters);
    buf_close(&out);
    close_finished(&f);
    close_finished(&g);
}

static void wrong_questions_are_refused(void **state)
{
    static const char *const sets[] = {"3", "3=", "12=1", "-1=1", "3=1,", "3=1,3=2", "3=nan", "x=1"};
    struct finished f;
    float x[COLUMNS] = {0}, values[WIDTH];
    struct error fault = {0};
    (void)state;
    finish(&f, topk);
    struct method_input sample = {.kind = METHOD_INPUT_SAMPLE, .seed = ROWS};
    struct method_input array = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {COLUMNS}, .values = x};
    assert_int_equal(ask_array(&f, "encode", &sample, NULL, values, WIDTH, &fault), STATUS_INVALID);
    assert_string_equal(fault.pointer, "/sample/seed");
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        error_clear(&fault);
        assert_int_equal(ask_array(&f, "steer", &array, sets[i], values, COLUMNS, &fault), STATUS_INVALID);
        assert_string_equal(fault.pointer, "/set");
    }
    array.dim[0] = 5;
    error_clear(&fault);
    assert_int_equal(ask_array(&f, "encode", &array, NULL, values, WIDTH, &fault), STATUS_INVALID);
    array.dim[0] = COLUMNS;
    x[2] = INFINITY;
    error_clear(&fault);
    assert_int_equal(ask_array(&f, "encode", &array, NULL, values, WIDTH, &fault), STATUS_INVALID);
    close_finished(&f);
}

int main(void)
{
    blas_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_contains_every_number_once),
        cmocka_unit_test(an_epoch_reads_every_training_row_once_and_no_test_row),
        cmocka_unit_test(rows_are_the_uploaded_numbers),
        cmocka_unit_test(a_data_set_gives_the_same_bits_for_any_threads_and_pauses),
        cmocka_unit_test(a_missing_data_set_is_refused_by_its_field),
        cmocka_unit_test(queries_encode_as_training_does),
        cmocka_unit_test(codes_rebuild_samples_and_steering_moves_them),
        cmocka_unit_test(blocks_of_rows_give_the_codes_of_single_rows),
        cmocka_unit_test(the_gallery_has_the_strongest_test_rows),
        cmocka_unit_test(latents_are_listed_with_rows_and_labels),
        cmocka_unit_test(a_dictionary_shares_all_latents_with_itself_and_few_with_another),
        cmocka_unit_test(wrong_questions_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
