/* motifd verify BUNDLE: repeats the training from each checkpoint of a bundle to the next on this machine and compares
 * the bits. It needs the file alone, no daemon. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/transfer/bundle.h"
#include "protocol/config_json.h"
#include "core/base/hash.h"
#include "core/base/utf8.h"
#include "core/kernels/blas.h"
#include "core/kernels/kernels.h"
#include "server/commands/commands.h"
#include "server/commands/usage.h"
#include "server/daemon.h"
#include "server/process/files.h"

#define BUNDLE_MAX (128u << 20)
#define THREADS_MOST 256

struct verifying {
    struct bundle bundle;
    const struct method *method;
    void *config;
    struct thread_pool *pool;
    struct method_env env;
    size_t at; /* number of checkpoints that the run may read: the first ones of the bundle */
    struct method_run *run;
};

/* ---- what a run sees ---------------------------------------------------------------------------------- */

static enum status read_stream(void *context, uint64_t offset, void *to, size_t count, struct error *err)
{
    const struct bundle_checkpoint *checkpoint = context;
    if (offset > checkpoint->count || count > checkpoint->count - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint ends too early");
    memcpy(to, checkpoint->bytes + offset, count);
    return STATUS_OK;
}

static struct snapshot_reader reader_of(struct bundle_checkpoint *checkpoint)
{
    return (struct snapshot_reader){checkpoint, checkpoint->count, read_stream};
}

static enum status table_count(void *context, size_t *count, struct error *err)
{
    const struct verifying *v = context;
    *count = v->at;
    return STATUS_OK;
}

static enum status table_describe(void *context, size_t index, struct method_checkpoint *out, struct error *err)
{
    const struct verifying *v = context;
    if (index >= v->at)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no checkpoint at index %zu", index);
    const struct bundle_checkpoint *checkpoint = &v->bundle.checkpoints[index];
    *out = (struct method_checkpoint){checkpoint->seq, checkpoint->step, checkpoint->density, checkpoint->stage_end};
    return STATUS_OK;
}

static enum status table_open(void *context, size_t index, struct snapshot_reader *reader, struct error *err)
{
    struct verifying *v = context;
    if (index >= v->at)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no checkpoint at index %zu", index);
    *reader = reader_of(&v->bundle.checkpoints[index]);
    return STATUS_OK;
}

static void no_metric(void *context, const char *name, int64_t step, double value) {}

static void no_artifact(void *context, const char *name, const char *media_type, const void *bytes, size_t count) {}

/* ---- one link ------------------------------------------------------------------------------------------ */

static enum status add_to_hash(void *context, const void *bytes, size_t count, struct error *err)
{
    hash_add(context, bytes, count);
    return STATUS_OK;
}

static enum status state_hash(struct verifying *v, char hex[HASH_TEXT], struct error *err)
{
    unsigned char digest[HASH_BYTES];
    struct hash hash;
    uint64_t bytes;
    struct snapshot_writer to = {&hash, add_to_hash};
    hash_init(&hash);
    enum status status = v->method->save(v->run, &to, &bytes, err);
    hash_finish(&hash, digest);
    hash_hex(digest, hex);
    return status;
}

/* Creates a run in the state of checkpoint `from`. If `from` is NULL, the run begins at the start of the training. */
static enum status begin_run(struct verifying *v, struct bundle_checkpoint *from, struct error *err)
{
    enum status status = v->method->create(v->config, &v->env, &v->run, err);
    if (!status && from != NULL) {
        struct snapshot_reader reader = reader_of(from);
        status = v->method->load(v->run, &reader, err);
    }
    return status;
}

/* Calls step() until the run has the same bits as checkpoint `to`, or has passed it. A validation takes several calls,
 * which change neither the number of updates nor the number of samples. The checkpoint may have been saved after any of
 * these calls. So every state with the two numbers of `to` is compared with it. *same is true if one of these states
 * has the same bits. */
static enum status run_until(struct verifying *v, const struct bundle_checkpoint *to, char hex[HASH_TEXT], bool *same,
                             struct error *err)
{
    enum method_request request = METHOD_CONTINUE;
    enum status status = STATUS_OK;
    struct method_progress progress = {.step = 0};
    while (!status && !*same && request != METHOD_DONE && progress.step <= to->step) {
        request = METHOD_CONTINUE;
        status = v->method->step(v->run, &request, err);
        if (!status)
            method_progress(v->method, v->run, &progress);
        if (!status && progress.step == to->step && progress.samples == to->samples) {
            status = state_hash(v, hex, err);
            *same = strcmp(hex, to->sha256) == 0;
        }
    }
    return status;
}

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static enum status verify_link(struct verifying *v, struct bundle_checkpoint *from, const struct bundle_checkpoint *to,
                               bool *same, struct error *err)
{
    char hex[HASH_TEXT] = "none";
    double begun = seconds_now();
    *same = false;
    v->run = NULL;
    v->at = from != NULL ? (size_t)(from - v->bundle.checkpoints) + 1 : 0;
    enum status status = begin_run(v, from, err);
    if (!status)
        status = run_until(v, to, hex, same, err);
    v->method->destroy(v->run);
    if (!status) {
        (void)printf("%lld -> %lld: step %lld, %.1f s, %s %.16s", from != NULL ? (long long)from->seq : 0LL,
                     (long long)to->seq, (long long)to->step, seconds_now() - begun,
                     *same ? "the same bits" : "OTHER BITS", to->sha256);
        (void)printf(*same ? "\n" : ", got %.16s\n", hex);
        (void)fflush(stdout);
    }
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

struct wanted {
    const char *file, *data;
    /* from: checkpoint from which the training is repeated; 0: the start of the training; -1: the first checkpoint of
     * the bundle. to: last checkpoint to compare; 0: the last one of the bundle. */
    long long from, to, threads;
};

static enum status open_method(struct verifying *v, const struct wanted *wanted, struct error *err)
{
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(v->bundle.attestation, "kind");
    struct buf text;
    struct api_faults *faults = calloc(1, sizeof *faults);
    buf_init(&text, 4u << 20);
    json_canonical(cJSON_GetObjectItemCaseSensitive(v->bundle.attestation, "config"), &text);
    v->method = cJSON_IsString(kind) ? method_find(kind->valuestring) : NULL;
    enum status status = STATUS_OK;
    if (faults == NULL || text.failed)
        status = error_memory(err, "a configuration");
    else if (v->method == NULL)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "this build does not have the kind of the bundle");
    else
        status = config_read_back(v->method, text.data, text.size, "/config", &v->config, faults, err);
    if (status && faults != NULL && faults->count > 0) {
        error_clear(err);
        (void)error_set(err, status, faults->items[0].pointer, "%s", faults->items[0].detail);
    }
    if (!status)
        status = thread_pool_create((int)wanted->threads, &v->pool, err);
    v->env = (struct method_env){
        .pool = v->pool,
        .kernels = kernels_best(),
        .data = wanted->data,
        .metric = no_metric,
        .artifact = no_artifact,
        .checkpoints = {v, table_count, table_describe, table_open},
    };
    buf_close(&text);
    free(faults);
    return status;
}

static enum status verify_links(struct verifying *v, const struct wanted *wanted, int *links, int *wrong,
                                struct error *err)
{
    enum status status = STATUS_OK;
    bool scratch = cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(v->bundle.attestation, "from"));
    for (size_t i = 0; !status && i < v->bundle.count; i++) {
        struct bundle_checkpoint *to = &v->bundle.checkpoints[i], *from = i > 0 ? to - 1 : NULL;
        long long seq = from != NULL ? (long long)from->seq : 0;
        bool same, asked = wanted->from >= 0 ? seq >= wanted->from : from != NULL;
        if (!asked || (wanted->to > 0 && to->seq > wanted->to) || (from == NULL && !scratch))
            continue;
        status = verify_link(v, from, to, &same, err);
        *links += 1;
        *wrong += !status && !same;
    }
    return status;
}

/* Prints an error. The pointer and the message of the error may contain text of the bundle, so their control characters
 * are escaped. */
static void print_error(const struct error *err)
{
    struct buf text;
    buf_init(&text, 1u << 16);
    utf8_escape(&text, err->pointer, strlen(err->pointer), UTF8_FOR_TERMINAL);
    buf_text(&text, err->pointer[0] != '\0' ? ": " : "");
    utf8_escape(&text, err->message, strlen(err->message), UTF8_FOR_TERMINAL);
    (void)fprintf(stderr, "motifd verify: %s\n", text.data != NULL ? text.data : "not enough memory for the error");
    buf_close(&text);
}

static int verify(const struct wanted *wanted)
{
    struct verifying v = {.method = NULL};
    struct error err = {0};
    size_t size = 0;
    int links = 0, wrong = 0;
    char *bytes = file_read(wanted->file, BUNDLE_MAX, &size, &err);
    if (bytes == NULL) {
        (void)fprintf(stderr, "motifd verify: %s\n", err.message);
        return EXIT_USAGE;
    }
    blas_init();
    enum status status = bundle_open(bytes, size, &v.bundle, &err);
    if (!status) {
        (void)printf("%zu checkpoints, hashes and chain are intact; kernels %s, BLAS core %s\n", v.bundle.count,
                     kernels_best()->name, blas_core());
        status = open_method(&v, wanted, &err);
    }
    if (!status)
        status = verify_links(&v, wanted, &links, &wrong, &err);
    if (status) {
        print_error(&err);
    } else if (links == 0) {
        (void)fprintf(stderr, "motifd verify: the bundle has fewer than two checkpoints; export it with --checkpoint "
                              "all, or start at the beginning with --from 0\n");
    } else {
        (void)printf("%d of %d links have the same bits\n", links - wrong, links);
    }
    thread_pool_destroy(v.pool);
    free(v.config);
    bundle_close(&v.bundle);
    free(bytes);
    return !status && links > 0 && wrong == 0 ? EXIT_OK : EXIT_FAULT;
}

#define SEQ_MOST (1LL << 40)

static const struct config_field option_table[] = {
    OPTION_INTEGER("from", "SEQ", NULL, 0, SEQ_MOST,
                   "first checkpoint to start from; 0: the start of the training (the first of the bundle)"),
    OPTION_INTEGER("to", "SEQ", NULL, 1, SEQ_MOST, "last checkpoint to compare (the last of the bundle)"),
    OPTION_INTEGER("threads", "N", "1", 1, THREADS_MOST,
                   "threads of the repeated runs (1); the bits do not depend on it"),
    OPTION_TEXT("data", "DIR", "folder of data sets, for a job that trained on one (MOTIFD_DATA)"),
    OPTIONS_END,
};
static const char *const lines[] = {"verify BUNDLE [--from SEQ] [--to SEQ] [--threads N] [--data DIR]", NULL};
static const struct command_usage usage = {
    .name = "verify",
    .lines = lines,
    .text = "Checks every hash of a bundle, then repeats the training from each checkpoint to the next on this machine "
            "and\n"
            "compares the bits. Use it to check a training that somebody else ran; it needs no daemon. The bundle "
            "needs at\n"
            "least two checkpoints, or --from 0. Exit code 1 when anything differs.\n",
    .options = option_table,
    .example = "  motifctl export latest job.bundle --checkpoint all && motifd verify job.bundle\n",
    .least = 1,
    .most = 1,
};

int command_verify(int argc, char **argv)
{
    struct wanted wanted = {.from = -1};
    struct options given;
    struct error err = {0};
    int code;
    if (!command_read(&usage, argc, argv, &given, &code))
        return code;
    wanted.file = given.positional[0];
    wanted.data = options_has(&given, "data") ? options_value(&given, "data") : getenv("MOTIFD_DATA");
    if (options_integer(&given, "from", &wanted.from, &err) || options_integer(&given, "to", &wanted.to, &err) ||
        options_integer(&given, "threads", &wanted.threads, &err))
        return command_misused(&usage, err.message);
    return verify(&wanted);
}
