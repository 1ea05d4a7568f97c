/* Tests the exchange of dictionaries with SAELens. An exported folder that is imported again gives the same codes,
 * for every learner and scale. Folders of other programs are read by the rules of SAELens. Exported files have the
 * format of a published file. */
#include <math.h>
#include <archive.h>
#include <archive_entry.h>
#include <cjson/cJSON.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/formats/archive.h"
#include "core/formats/json/tensors.h"
#include "core/kernels/blas.h"
#include "core/methods/registry.h"
#include "core/methods/dictionary/queries/model.h"
#include "core/methods/dictionary/run_int.h"
#include "tests/support/archive_add.h"
#include "tests/support/method_ask.h"
#include "tests/support/run_test.h"

enum { D = 6, M = 14, COUNT = 40 };
static const struct method *const method = &dictionary_method;

/* The header of sae_weights.safetensors of a published jumprelu dictionary with 16,384 latents of 2,304 inputs. In the
 * file, the length of the header (8 bytes) and the header (392 bytes) come before 302,130,176 bytes of tensors. */
static const char PUBLISHED[] =
    "{\"W_dec\":{\"dtype\":\"F32\",\"shape\":[16384,2304],\"data_offsets\":[0,150994944]},"
    "\"W_enc\":{\"dtype\":\"F32\",\"shape\":[2304,16384],\"data_offsets\":[150994944,301989888]},"
    "\"b_dec\":{\"dtype\":\"F32\",\"shape\":[2304],\"data_offsets\":[301989888,301999104]},"
    "\"b_enc\":{\"dtype\":\"F32\",\"shape\":[16384],\"data_offsets\":[301999104,302064640]},"
    "\"threshold\":{\"dtype\":\"F32\",\"shape\":[16384],\"data_offsets\":[302064640,302130176]}} ";

static void fill(float *values, int count, uint64_t seed)
{
    struct philox from = philox_stream(seed, 7, 0);
    for (int i = 0; i < count; i++)
        values[i] = (float)philox_normal(&from, (uint64_t)i);
}

/* ---- models -------------------------------------------------------------------------------------------------- */

static enum status read_bytes(void *context, uint64_t offset, void *to, size_t count, struct error *err)
{
    const struct buf *bytes = context;
    (void)err;
    assert_true(offset + count <= bytes->size);
    memcpy(to, (const char *)bytes->data + offset, count);
    return STATUS_OK;
}

static enum status append_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    struct buf *out = context;
    (void)err;
    buf_append(out, bytes, count);
    return STATUS_OK;
}

static struct method_model *open_model(const struct dictionary_config *config, const struct buf *checkpoint)
{
    const struct snapshot_reader reader = {(void *)(uintptr_t)checkpoint, checkpoint->size, read_bytes};
    struct method_model *model = NULL;
    assert_ok(method->open(config, kernels_best(), "/nowhere", &reader, &model, err));
    return model;
}

/* Sets the fields that the configuration of an imported job contains. */
static void configure(const struct buf *json, struct dictionary_config *config)
{
    static char names[16][32], values[16][64];
    struct config_setting settings[17] = {{NULL, NULL}};
    cJSON *parsed = cJSON_ParseWithLength(json->data, json->size), *item;
    int count = 0;
    assert_non_null(parsed);
    cJSON_ArrayForEach (item, parsed) {
        snprintf(names[count], sizeof names[count], "%s", item->string);
        if (cJSON_IsString(item))
            snprintf(values[count], sizeof values[count], "%s", item->valuestring);
        else
            snprintf(values[count], sizeof values[count], "%.17g", item->valuedouble);
        settings[count] = (struct config_setting){names[count], values[count]};
        settings[++count] = (struct config_setting){NULL, NULL};
    }
    cJSON_Delete(parsed);
    run_test_configure(method, config, settings);
}

static enum status adopt(const void *bytes, size_t size, struct buf *config, struct buf *checkpoint,
                         struct error *cause)
{
    struct byte_source_memory memory = {bytes, size, 0};
    const struct byte_source from = byte_source_of_memory(&memory);
    buf_init(config, 1 << 16);
    buf_init(checkpoint, 1 << 20);
    *cause = (struct error){0};
    return method->adopt(&from, config, checkpoint, cause);
}

static void encode(const struct method_model *model, const float *x, float *code)
{
    struct method_question question = {.model = model};
    assert_ok(dictionary_encode_rows(&question, x, COUNT, code, err));
}

/* ---- round trip ---------------------------------------------------------------------------------------------- */

/* Makes a checkpoint of a trained model: rows of any norm, biases, thresholds, and samples that were scaled by 0.37. */
static void make(enum learner learner, struct dictionary_config *config, struct buf *checkpoint)
{
    const struct config_setting settings[] = {{"source", "dataset"}, {"learner", dictionary_learners[learner]},
                                              {"inputs", "6"},       {"width", "14"},
                                              {"l0", "3"},           {"seeds", "1"},
                                              {NULL, NULL}};
    int64_t phase = 0, tested = 0;
    double scale = 0.37;
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("run.phase", &phase),
                                        SNAPSHOT_NUMBER("evaluation.samples", &tested),
                                        SNAPSHOT_NUMBER("run.scale", &scale)};
    struct snapshot *snapshot;
    struct sae *sae;
    run_test_configure(method, config, settings);
    struct dictionary_setup c = dictionary_setup(config);
    struct sae_shape shape = dictionary_shape(config, &c);
    assert_ok(sae_create(&shape, "0.", false, &sae, err));
    sae_init(sae, 5);
    fill(sae->encoder->value, D * M, 1);
    fill(sae->decoder->value, D * M, 2);
    fill(sae->encoder_bias->value, M, 3);
    fill(sae->bias->value, D, 4);
    for (int j = 0; sae->threshold && j < M; j++)
        sae->threshold->value[j] = 0.3f * (float)(j - 4);
    if (sae->cut)
        sae->cut->value[CUT_MEAN] = 0.8f;
    assert_ok(snapshot_create(&snapshot, err));
    assert_ok(params_snapshot(sae->params, snapshot, err));
    assert_ok(snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err));
    const struct snapshot_writer to = {checkpoint, append_bytes};
    buf_init(checkpoint, 1 << 20);
    assert_ok(snapshot_write(snapshot, &to, err));
    snapshot_destroy(snapshot);
    sae_destroy(sae);
}

static void an_exported_folder_gives_the_same_codes_after_import(void **state)
{
    static const enum learner learners[] = {LEARNER_L1, LEARNER_TOPK, LEARNER_BATCHTOPK, LEARNER_JUMPRELU,
                                            LEARNER_MATRYOSHKA};
    float x[COUNT * D], before[COUNT * M], after[COUNT * M];
    (void)state;
    fill(x, COUNT * D, 9);
    for (size_t l = 0; l < sizeof learners / sizeof learners[0]; l++) {
        struct dictionary_config config, other;
        struct buf checkpoint, tar, read_config, read_checkpoint;
        int active = 0;
        make(learners[l], &config, &checkpoint);
        struct method_model *model = open_model(&config, &checkpoint), *again;
        struct method_question question = {.model = model};
        buf_init(&tar, 1 << 20);
        assert_ok(dictionary_saelens(&question, &tar, err));
        struct error cause;
        if (adopt(tar.data, tar.size, &read_config, &read_checkpoint, &cause))
            fail_msg("%s", cause.message);
        configure(&read_config, &other);
        again = open_model(&other, &read_checkpoint);
        assert_true(again->scale <= 1 && again->scale >= 1);
        encode(model, x, before);
        encode(again, x, after);
        for (int i = 0; i < COUNT * M; i++) {
            active += before[i] > 0;
            assert_true(fabsf(before[i] - after[i]) < 1e-4f * (1 + fabsf(before[i])));
            assert_int_equal(before[i] > 0, after[i] > 0); /* the same latents pass the threshold */
        }
        assert_true(active > COUNT && active < COUNT * M);
        method->close(model);
        method->close(again);
        buf_close(&checkpoint);
        buf_close(&tar);
        buf_close(&read_config);
        buf_close(&read_checkpoint);
    }
}

/* ---- folders of other programs --------------------------------------------------------------------------------- */

struct weights {
    float decoder[M * D], encoder[D * M], bias[D], encoder_bias[M], threshold[M];
};
static char packed[1 << 16];

/* Makes a tar of a folder "gpt2/" in which the weights come before the configuration. */
static size_t pack(const struct weights *w, const char *config, bool threshold)
{
    char head[640];
    struct buf file;
    size_t used;
    int length =
        snprintf(head, sizeof head,
                 "{\"W_dec\":{\"dtype\":\"F32\",\"shape\":[14,6],\"data_offsets\":[0,336]},\"W_enc\":{"
                 "\"dtype\":\"F32\",\"shape\":[6,14],\"data_offsets\":[336,672]},\"b_dec\":{\"dtype\":\"F32\","
                 "\"shape\":[6],\"data_offsets\":[672,696]},\"b_enc\":{\"dtype\":\"F32\",\"shape\":[14],"
                 "\"data_offsets\":[696,752]}%s}",
                 threshold ? ",\"threshold\":{\"dtype\":\"F32\",\"shape\":[14],\"data_offsets\":[752,808]}" : "");
    const unsigned char bytes[8] = {(unsigned char)length, (unsigned char)(length >> 8)};
    struct archive *a = archive_write_new();
    buf_init(&file, 1 << 16);
    buf_append(&file, bytes, 8);
    buf_append(&file, head, (size_t)length);
    buf_append(&file, w, sizeof *w - (threshold ? 0 : sizeof w->threshold));
    assert_int_equal(archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &used), ARCHIVE_OK);
    archive_add(a, "gpt2/sae_weights.safetensors", file.data, file.size);
    archive_add(a, "gpt2/README.md", "read me", 7);
    archive_add(a, "gpt2/cfg.json", config, strlen(config));
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    buf_close(&file);
    return used;
}

static struct weights make_weights(void)
{
    struct weights w;
    fill(w.decoder, M * D, 11);
    fill(w.encoder, D * M, 12);
    fill(w.bias, D, 13);
    fill(w.encoder_bias, M, 14);
    for (int j = 0; j < M; j++)
        w.threshold[j] = 0.2f * (float)(j - 3);
    return w;
}

static double pre_activation(const struct weights *w, const float *x, int j, bool centred)
{
    double h = (double)w->encoder_bias[j];
    for (int k = 0; k < D; k++)
        h += ((double)x[k] - (centred ? (double)w->bias[k] : 0)) * (double)w->encoder[k * M + j];
    return h;
}

static double norm_of(const struct weights *w, int j)
{
    double square = 0;
    for (int k = 0; k < D; k++)
        square += (double)w->decoder[j * D + k] * (double)w->decoder[j * D + k];
    return sqrt(square);
}

static void encode_folder(const char *config, bool threshold, const float *x, float *code)
{
    struct weights w = make_weights();
    struct dictionary_config parsed;
    struct buf json, checkpoint;
    struct error cause;
    if (adopt(packed, pack(&w, config, threshold), &json, &checkpoint, &cause))
        fail_msg("%s", cause.message);
    configure(&json, &parsed);
    struct method_model *model = open_model(&parsed, &checkpoint);
    encode(model, x, code);
    method->close(model);
    buf_close(&json);
    buf_close(&checkpoint);
}

/* Rows of a dictionary have norm 1 in motifd, so the import multiplies an activation by the norm of its row. */
static void folders_are_read_by_the_rules_of_saelens(void **state)
{
    struct weights w = make_weights();
    float x[COUNT * D], code[COUNT * M];
    int active = 0;
    (void)state;
    fill(x, COUNT * D, 15);
    encode_folder("{\"architecture\":\"jumprelu\",\"d_in\":6,\"d_sae\":14,\"dtype\":\"float32\"}", true, x, code);
    for (int i = 0; i < COUNT * M; i++) {
        double h = pre_activation(&w, x + i / M * D, i % M, true), t = fmax(0, (double)w.threshold[i % M]);
        assert_true(fabs((double)code[i] - (h > t ? h * norm_of(&w, i % M) : 0)) < 1e-4);
    }
    encode_folder("{\"architecture\":\"standard\",\"apply_b_dec_to_input\":false}", false, x, code);
    for (int i = 0; i < COUNT * M; i++) {
        double h = pre_activation(&w, x + i / M * D, i % M, false);
        assert_true(fabs((double)code[i] - fmax(0, h) * norm_of(&w, i % M)) < 1e-4);
    }
    encode_folder("{\"architecture\":\"topk\",\"k\":3,\"rescale_acts_by_decoder_norm\":true}", false, x, code);
    for (int r = 0; r < COUNT; r++)
        for (int j = 0; j < M; j++) {
            double own = pre_activation(&w, x + r * D, j, true) * norm_of(&w, j);
            int larger = 0;
            for (int i = 0; i < M; i++)
                larger += pre_activation(&w, x + r * D, i, true) * norm_of(&w, i) > own;
            double expected = larger < 3 && own > 0 ? own : 0;
            active += expected > 0;
            assert_true(fabs((double)code[r * M + j] - expected) < 1e-4);
        }
    assert_true(active > 2 * COUNT);
}

static void refuses(const char *config, bool threshold, const char *message)
{
    struct weights w = make_weights();
    struct buf json, checkpoint;
    struct error cause;
    assert_int_equal(adopt(packed, pack(&w, config, threshold), &json, &checkpoint, &cause), STATUS_INVALID);
    if (!strstr(cause.message, message))
        fail_msg("'%s' does not say '%s'", cause.message, message);
    buf_close(&json);
    buf_close(&checkpoint);
}

static void folders_that_would_give_other_codes_are_refused(void **state)
{
    (void)state;
    refuses("{\"architecture\":\"gated\"}", false, "architecture is 'gated'");
    refuses("{\"architecture\":\"standard\",\"activation_fn\":\"tanh-relu\"}", false, "activation_fn is 'tanh-relu'");
    refuses("{\"architecture\":\"jumprelu\"}", false, "threshold [14]");
    refuses("{\"architecture\":\"topk\",\"k\":15}", false, "k must be from 1 to 14");
    /* The file does not contain the factor of this scaling. Without the factor, thresholds would be wrong. */
    refuses("{\"architecture\":\"jumprelu\",\"normalize_activations\":\"expected_average_only_in\"}", true,
            "the factor is not in the file");
    refuses("[1]", false, "one JSON object");
    struct buf json, checkpoint;
    struct error cause;
    struct weights w = make_weights();
    size_t bytes = pack(&w, "{}", false);
    assert_int_not_equal(adopt(packed, bytes / 3, &json, &checkpoint, &cause), STATUS_OK);
    buf_close(&json);
    buf_close(&checkpoint);
    memcpy(packed + 512 + 8, "[[[[", 4);
    assert_int_not_equal(adopt(packed, bytes, &json, &checkpoint, &cause), STATUS_OK);
    buf_close(&json);
    buf_close(&checkpoint);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* A sparse member of a few bytes would unpack to any size. */
static void a_sparse_member_is_refused(void **state)
{
    char tar[1 << 14];
    size_t used = 0;
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    struct buf json, checkpoint;
    struct error cause;
    (void)state;
    assert_int_equal(archive_write_set_format_pax(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, tar, sizeof tar, &used), ARCHIVE_OK);
    archive_entry_set_pathname(e, "sae_weights.safetensors");
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, 1 << 30);
    archive_entry_sparse_add_entry(e, 0, 4);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, "abcd", 4), 4);
    archive_entry_free(e);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    assert_int_equal(archive_write_free(a), ARCHIVE_OK);
    assert_int_equal(adopt(tar, used, &json, &checkpoint, &cause), STATUS_INVALID);
    assert_non_null(strstr(cause.message, "is a sparse file"));
    buf_close(&json);
    buf_close(&checkpoint);
}

/* Imports the packed folder with at most `memory` bytes. */
static enum status adopt_within(size_t bytes, int64_t memory, struct ledger_state *after, struct error *cause)
{
    const int64_t limit[LEDGER_RESOURCES] = {[LEDGER_MEMORY] = memory};
    struct ledger *ledger = NULL;
    struct work work = {0};
    struct byte_source_memory source = {(const unsigned char *)packed, bytes, 0};
    struct byte_source from = byte_source_of_memory(&source);
    struct buf json, checkpoint;
    assert_ok(ledger_create(limit, &ledger, err));
    ledger_open(&work.account, ledger, "");
    from.work = &work;
    buf_init(&json, 1 << 16);
    buf_init(&checkpoint, 1 << 20);
    *cause = (struct error){0};
    enum status status = method->adopt(&from, &json, &checkpoint, cause);
    ledger_read(ledger, after);
    ledger_close(&work.account);
    ledger_destroy(ledger);
    buf_close(&json);
    buf_close(&checkpoint);
    return status;
}

/* The tensors take three times their bytes, of which those of the checkpoint stay taken. */
static void memory_is_taken_before_a_tensor_is_read(void **state)
{
    enum { TENSORS_BYTES = 3 * 4 * (2 * M * D + M + D) };
    struct weights w = make_weights();
    struct ledger_state after;
    struct error cause;
    (void)state;
    size_t bytes = pack(&w, "{\"architecture\":\"standard\"}", false);
    assert_ok(adopt_within(bytes, TENSORS_BYTES, &after, &cause));
    assert_true(after.most[LEDGER_MODELS] == TENSORS_BYTES && after.held[LEDGER_MODELS] <= TENSORS_BYTES);
    assert_int_equal(adopt_within(bytes, TENSORS_BYTES - 1, &after, &cause), STATUS_LIMIT);
    assert_true(after.held[LEDGER_MODELS] == 0);
}

/* ---- a published file ------------------------------------------------------------------------------------------ */

static void the_header_of_a_published_file_is_read(void **state)
{
    static const char *const names[] = {"W_dec", "W_enc", "b_dec", "b_enc", "threshold"};
    const unsigned char length[8] = {(unsigned char)strlen(PUBLISHED), (unsigned char)(strlen(PUBLISHED) >> 8)};
    struct buf file;
    struct tensors t;
    (void)state;
    assert_int_equal(8 + strlen(PUBLISHED), 400);
    buf_init(&file, 1024);
    buf_append(&file, length, 8);
    buf_append(&file, PUBLISHED, strlen(PUBLISHED));
    struct byte_source_memory memory = {(const unsigned char *)file.data, file.size, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    assert_ok(tensors_head_read(&from, &t, err));
    assert_int_equal(t.count, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(t.entry[i].name, names[i]);
    assert_true(t.entry[0].header.dim[0] == 16384 && t.entry[1].header.dim[0] == 2304);
    assert_true(t.entry[4].end == 302130176);
    tensors_close(&t);
    buf_close(&file);
}

/* The header of an export with six inputs and fourteen latents is the published header with other sizes. */
static void an_exported_file_has_the_header_of_a_published_one(void **state)
{
    struct dictionary_config config;
    struct buf checkpoint, tar;
    char *bytes = NULL, expected[640];
    size_t size = 0, begin = 0;
    bool more = true;
    (void)state;
    make(LEARNER_BATCHTOPK, &config, &checkpoint);
    struct method_model *model = open_model(&config, &checkpoint);
    struct method_question question = {.model = model};
    buf_init(&tar, 1 << 20);
    assert_ok(dictionary_saelens(&question, &tar, err));
    struct byte_source_memory memory = {(const unsigned char *)tar.data, tar.size, 0};
    const struct byte_source from = byte_source_of_memory(&memory);
    const struct archive_limits limits = {8, 1 << 20};
    struct archive_reader *archive;
    assert_ok(archive_reader_create(ARCHIVE_TAR, &from, &limits, &archive, err));
    while (!bytes) {
        const char *name;
        struct byte_source member;
        assert_ok(archive_reader_next(archive, &name, &member, &more, err));
        assert_true(more);
        if (strcmp(name, "sae_weights.safetensors") == 0)
            assert_ok(byte_source_all(&member, 1 << 20, &bytes, &size, err));
    }
    archive_reader_destroy(archive);
    const int sizes[] = {M * D * 4, D * M * 4, D * 4, M * 4, M * 4};
    int at = 0;
    for (const char *from_at = PUBLISHED; *from_at;) {
        static const struct {
            const char *published;
            int own;
        } numbers[] = {{"16384", M}, {"2304", D}};
        bool found = false;
        for (int i = 0; i < 2 && !found; i++)
            if (strncmp(from_at, numbers[i].published, strlen(numbers[i].published)) == 0 &&
                strchr(",]", from_at[strlen(numbers[i].published)])) {
                at += snprintf(expected + at, sizeof expected - (size_t)at, "%d", numbers[i].own);
                from_at += strlen(numbers[i].published);
                found = true;
            }
        if (!found && strncmp(from_at, "data_offsets\":[", 15) == 0) {
            static int which;
            at += snprintf(expected + at, sizeof expected - (size_t)at, "data_offsets\":[%zu,%zu]", begin,
                           begin + (size_t)sizes[which]);
            begin += (size_t)sizes[which++];
            from_at = strchr(from_at, ']') + 1;
            found = true;
        }
        if (!found)
            expected[at++] = *from_at++;
    }
    while (at > 0 && expected[at - 1] == ' ')
        at--;
    assert_memory_equal(bytes + 8, expected, (size_t)at);
    assert_int_equal(((unsigned char)bytes[0] | (unsigned char)bytes[1] << 8) % 8, 0);
    assert_int_equal(8 + ((unsigned char)bytes[0] | (unsigned char)bytes[1] << 8) + (int)begin, size);
    free(bytes);
    method->close(model);
    buf_close(&checkpoint);
    buf_close(&tar);
}

int main(void)
{
    blas_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exported_folder_gives_the_same_codes_after_import),
        cmocka_unit_test(folders_are_read_by_the_rules_of_saelens),
        cmocka_unit_test(folders_that_would_give_other_codes_are_refused),
        cmocka_unit_test(the_header_of_a_published_file_is_read),
        cmocka_unit_test(a_sparse_member_is_refused),
        cmocka_unit_test(memory_is_taken_before_a_tensor_is_read),
        cmocka_unit_test(an_exported_file_has_the_header_of_a_published_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
