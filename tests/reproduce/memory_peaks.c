/* Compares the memory that a dry run predicts ("bytes") with the memory that the job uses:
 *
 *      memory_peaks [--runs 300] [--seed 1] [--kind KIND] [--list] [--seconds 20] [--only NUMBER]
 *
 * For each kind, draws random configurations (memory_draws.h) and runs each in a child process, from create() to
 * result(), with checkpoints in an unnamed file. The peak is the largest resident memory of the child minus its
 * resident memory before the run. A kind's table has the number of runs, how many peaks lie within 25 % of the
 * estimate (or within 8 MB, because the pages of libraries differ by so much), and the quantiles of peak / estimate.
 *
 * A run that never touches a part of its memory has a smaller resident peak. Therefore the column "Allocated too" also
 * counts runs whose peak of allocated bytes (trainer/job_memory.h) is within these limits, and runs whose estimate lies
 * between both peaks. --list prints every run. Exit code 1: "Allocated too" does not count all runs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/random/philox.h"
#include "core/data/uploads/collection.h"
#include "core/kernels/blas.h"
#include "core/kernels/kernels.h"
#include "core/kernels/pace.h"
#include "core/methods/method.h"
#include "tests/reproduce/memory_draws.h"
#include "tests/support/run_env.h"
#include "tests/support/stored_set.h"
#include "trainer/job_memory.h"

enum { TRIES = 1000, TEXT = 1600, RUNS_MOST = 4000 };
static const double WORK_MOST = 1.5, BYTES_MOST = 3e9, SHARE = 0.25, SLACK = 8e6;

struct outcome {
    int64_t resident, allocated; /* peaks in bytes; 0: the child ended before it could report them */
    char stage[32], error[256];
};

struct options {
    int runs, seconds, only;
    uint64_t seed;
    const char *kind;
    bool list;
    char data[64];
};

/* ---- drawing ---------------------------------------------------------------------------------------------------- */

static double uniform(const struct philox *from, uint64_t *at)
{
    return philox_uniform(from, (*at)++);
}

static void draw_value(const struct draw *d, const struct philox *from, uint64_t *at, char value[CONFIG_TEXT])
{
    if (d->choices == NULL) {
        double low = log(d->low > 0 ? d->low : 0.5), high = log(d->high + 0.5);
        double number = floor(exp(low + (high - low) * uniform(from, at)));
        snprintf(value, CONFIG_TEXT, "%.0f", fmax(d->low, number));
        return;
    }
    int count = 1;
    for (const char *c = d->choices; *c; c++)
        count += *c == ' ';
    int chosen = (int)(uniform(from, at) * count);
    const char *word = d->choices;
    while (chosen-- > 0)
        word = strchr(word, ' ') + 1;
    snprintf(value, CONFIG_TEXT, "%.*s", (int)strcspn(word, " "), word);
}

static void count_fault(void *context, const char *field, const char *detail)
{
    (void)field, (void)detail;
    ++*(int *)context;
}

static enum status set(const struct method *m, void *config, const char *name, const char *value, char text[TEXT],
                       struct error *err)
{
    size_t length = strlen(text);
    const struct config_field *field = config_find(&m->config, name);
    snprintf(text + length, TEXT - length, " %s=%s", name, value);
    return field != NULL ? config_parse(field, config, value, err)
                         : error_set(err, STATUS_NOT_FOUND, NULL, "no field %s", name);
}

/* Sets all numbers of the form, and about half of its fields with choices. */
static enum status draw_config(const struct method *m, const struct form *form, const struct philox *from, uint64_t *at,
                               const char *data, void *config, char text[TEXT], struct error *err)
{
    static const char *const sets[] = {"small", "middle", "large"};
    char value[CONFIG_TEXT];
    memset(config, 0, m->config.struct_bytes);
    snprintf(text, TEXT, "%s:", form->name);
    enum status status = config_defaults(&m->config, config, err);
    if (!status)
        status = config_apply(&m->config, config, form->base, err);
    for (const struct draw *d = form->draws; !status && d->field; d++) {
        bool always = d->choices == NULL; /* numbers are always set, because their defaults are for long trainings */
        if (!always && uniform(from, at) < 0.5)
            continue;
        draw_value(d, from, at, value);
        status = set(m, config, d->field, value, text, err);
    }
    if (!status && form->set)
        status = set(m, config, form->set, sets[(int)(3 * uniform(from, at))], text, err);
    snprintf(value, sizeof value, "%d", 1 + (int)(2 * uniform(from, at)));
    return status ? status : set(m, config, "threads", value, text, err);
}

/* Draws configurations until one is valid, fits into memory, and trains for a short time only. */
static bool draw_run(const struct method *m, const struct form *form, const struct philox *from, uint64_t *at,
                     double pace, const char *data, void *config, struct method_estimate *estimate, char text[TEXT])
{
    for (int i = 0; i < TRIES; i++) {
        struct error err = {0};
        int faults = 0;
        if (draw_config(m, form, from, at, data, config, text, &err) || method_resolve(m, config, NULL, data, &err)) {
            fprintf(stderr, "%s%s: %s %s\n", m->kind, text, err.pointer, err.message);
            return false;
        }
        method_check(m, config, &(struct method_faults){&faults, count_fault});
        if (faults || method_estimate(m, config, data, estimate, &err))
            continue;
        double gflops = (estimate->gflops > 0 ? estimate->gflops : 30) * pace;
        double seconds = estimate->flops_per_sample * (double)estimate->samples / gflops * 1e-9;
        if (seconds < WORK_MOST && (double)estimate->memory_bytes < BYTES_MOST)
            return true;
    }
    fprintf(stderr, "%s %s: no configuration found\n", m->kind, form->name);
    return false;
}

/* ---- data sets ----------------------------------------------------------------------------------------------------
 */

/* Stores tables of three sizes under the names that draw_config() uses. */
static enum status make_sets(const char *data, struct error *err)
{
    static const struct {
        const char *name;
        int rows, cols;
    } sets[] = {{"small", 200, 20}, {"middle", 4000, 200}, {"large", 30000, 600}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        size_t room = (size_t)sets[i].rows * (size_t)sets[i].cols * 2 + (size_t)sets[i].cols * 8 + 64, size = 0;
        char *text = malloc(room), folder[128];
        if (!text)
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a table");
        for (int c = 0; c < sets[i].cols; c++)
            size += (size_t)snprintf(text + size, room - size, "g%d%c", c, c + 1 < sets[i].cols ? ',' : '\n');
        for (int r = 0; r < sets[i].rows; r++)
            for (int c = 0; c < sets[i].cols; c++) {
                text[size++] = (char)('0' + (r * 7 + c * 13 + r * c) % 10);
                text[size++] = c + 1 < sets[i].cols ? ',' : '\n';
            }
        text[size] = '\0';
        snprintf(folder, sizeof folder, "%s/%s", data, sets[i].name);
        enum status status = stored_set(folder, "csv", text, err);
        free(text);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* ---- one run, in a child process ------------------------------------------------------------------------------------
 */

struct store { /* checkpoints in an unnamed file */
    FILE *file;
    struct stored {
        struct method_checkpoint info;
        long begin;
        uint64_t bytes;
    } list[4096];
    size_t count;
    struct stored *reading;
};

static enum status write_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    struct store *s = context;
    s->list[s->count].bytes += count;
    return fwrite(bytes, 1, count, s->file) == count ? STATUS_OK
                                                     : error_set(err, STATUS_IO, NULL, "cannot write a checkpoint");
}

static enum status read_bytes(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    struct store *s = context;
    bool read =
        fseek(s->file, s->reading->begin + (long)offset, SEEK_SET) == 0 && fread(bytes, 1, count, s->file) == count;
    return read ? STATUS_OK : error_set(err, STATUS_IO, NULL, "cannot read a checkpoint");
}

static enum status count_stored(void *context, size_t *count, struct error *err)
{
    (void)err;
    *count = ((struct store *)context)->count;
    return STATUS_OK;
}

static enum status describe_stored(void *context, size_t index, struct method_checkpoint *out, struct error *err)
{
    (void)err;
    *out = ((struct store *)context)->list[index].info;
    return STATUS_OK;
}

static enum status open_stored(void *context, size_t index, struct snapshot_reader *reader, struct error *err)
{
    struct store *s = context;
    (void)err;
    s->reading = &s->list[index];
    *reader = (struct snapshot_reader){s, s->reading->bytes, read_bytes};
    return STATUS_OK;
}

static void no_metric(void *context, const char *name, int64_t step, double value)
{
    (void)context, (void)name, (void)step, (void)value;
}

static void no_artifact(void *context, const char *name, const char *media_type, const void *bytes, size_t count)
{
    (void)context, (void)name, (void)media_type, (void)bytes, (void)count;
}

static enum status save(const struct method *m, struct method_run *run, struct store *s, bool stage_end,
                        struct error *err)
{
    struct method_progress at = {0};
    uint64_t bytes = 0;
    if (s->count > 0 && !s->list[s->count - 1].info.stage_end)
        s->count--; /* only the newest of the regular checkpoints is kept */
    if (s->count >= sizeof s->list / sizeof s->list[0])
        return error_set(err, STATUS_LIMIT, NULL, "too many checkpoints");
    struct stored *stored = &s->list[s->count];
    method_progress(m, run, &at);
    fseek(s->file, 0, SEEK_END);
    *stored = (struct stored){{(int64_t)s->count, at.step, at.density, stage_end}, ftell(s->file), 0};
    enum status status = m->save(run, &(struct snapshot_writer){s, write_bytes}, &bytes, err);
    s->count += !status;
    return status;
}

static void put_nothing(void *context, const char *key)
{
    (void)context, (void)key;
}
static void put_end(void *context)
{
    (void)context;
}
static void put_number(void *context, const char *key, double value)
{
    (void)context, (void)key, (void)value;
}
static void put_integer(void *context, const char *key, int64_t value)
{
    (void)context, (void)key, (void)value;
}
static void put_boolean(void *context, const char *key, bool value)
{
    (void)context, (void)key, (void)value;
}
static void put_text(void *context, const char *key, const char *value)
{
    (void)context, (void)key, (void)value;
}

/* Returns a number of /proc/self/status in bytes. */
static int64_t process_bytes(const char *name)
{
    char line[200];
    long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    size_t length = strlen(name);
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            kilobytes = strtoll(line + length + 1, NULL, 10);
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

static enum status drive(const struct method *m, const void *config, const char *data, struct outcome *out,
                         struct error *err)
{
    static struct store store;
    static const struct sink sink = {NULL,       put_nothing, put_end,     put_nothing, put_end,
                                     put_number, put_integer, put_boolean, put_text,    put_nothing};
    struct run_env environment;
    struct method_run *run = NULL;
    struct job_memory memory = {0};
    enum method_request request = METHOD_CONTINUE;
    const struct config_field *threads = config_find(&m->config, "threads");
    store.file = tmpfile();
    enum status status = store.file ? run_env_open(&environment, (int)config_number(threads, config), NULL, err)
                                    : error_set(err, STATUS_IO, NULL, "no temporary file");
    if (status)
        return status;
    environment.env.data = data;
    environment.env.step_seconds = 0;
    environment.env.metric = no_metric;
    environment.env.artifact = no_artifact;
    environment.env.checkpoints = (struct method_checkpoints){&store, count_stored, describe_stored, open_stored};
    int64_t before = process_bytes("VmRSS"), peak = 0;
    job_memory_begin(&memory, 0);
    status = m->create(config, &environment.env, &run, err);
    snprintf(out->stage, sizeof out->stage, "create");
    while (!status) {
        struct method_progress at = {.stage = ""};
        if (memory.peak > peak && run) {
            method_progress(m, run, &at);
            peak = memory.peak;
            snprintf(out->stage, sizeof out->stage, "%s", at.stage);
        }
        if (request == METHOD_DONE)
            break;
        request = METHOD_CONTINUE;
        status = m->step(run, &request, err);
        if (!status && request != METHOD_CONTINUE)
            status = save(m, run, &store, request == METHOD_STAGE_END, err);
    }
    if (!status)
        status = method_result(m, run, &sink, err);
    m->destroy(run);
    job_memory_end();
    out->allocated = memory.peak;
    out->resident = process_bytes("VmHWM") - before;
    return status;
}

static struct outcome run_child(const struct method *m, const void *config, const struct options *options)
{
    struct outcome out = {0};
    int ends[2];
    if (pipe(ends) != 0)
        return out;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {(rlim_t)options->seconds, (rlim_t)options->seconds};
        struct error err = {0};
        (void)setrlimit(RLIMIT_CPU, &limit);
        if (drive(m, config, options->data, &out, &err))
            snprintf(out.error, sizeof out.error, "%s", err.message);
        _exit(write(ends[1], &out, sizeof out) == (ssize_t)sizeof out ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &out, sizeof out) != (ssize_t)sizeof out) {
        out = (struct outcome){0};
        snprintf(out.error, sizeof out.error, "did not end");
    }
    close(ends[0]);
    (void)waitpid(child, NULL, 0);
    return out;
}

/* ---- tables -------------------------------------------------------------------------------------------------------
 */

struct table {
    int runs, within, between, failed;
    double ratio[RUNS_MOST];
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool near(double bytes, double estimated)
{
    return fabs(bytes - estimated) <= fmax(SHARE * fmax(bytes, estimated), SLACK);
}

static void note(struct table *t, const struct outcome *out, const struct method_estimate *estimate, int number,
                 const char *text, bool list)
{
    double peak = (double)out->resident, estimated = (double)estimate->memory_bytes;
    bool ended = out->error[0] == '\0';
    bool within = ended && near(peak, estimated);
    double least = fmin(peak, (double)out->allocated), most = fmax(peak, (double)out->allocated);
    bool between =
        ended && (near(least, estimated) || near(most, estimated) || (least < estimated && estimated < most));
    t->failed += !ended;
    if (ended) {
        t->ratio[t->runs++] = peak / estimated;
        t->within += within;
        t->between += between;
    }
    if (list || !within) {
        printf("%s %d: estimate %.1f MB, resident %.1f MB, allocated %.1f MB (%s), ratio %.2f; %s%s\n",
               within  ? "in "
               : ended ? "OUT"
                       : "???",
               number, estimated / 1e6, peak / 1e6, (double)out->allocated / 1e6, out->stage, peak / estimated,
               out->error, text);
        fflush(stdout);
    }
}

static bool print_table(const char *kind, struct table *t)
{
    if (t->runs == 0)
        return false;
    qsort(t->ratio, (size_t)t->runs, sizeof t->ratio[0], by_value);
    printf("| %s | %d | %d | %d | %d | %.2f | %.2f | %.2f | %.2f | %.2f |\n", kind, t->runs, t->failed, t->within,
           t->between, t->ratio[0], t->ratio[t->runs / 20], t->ratio[t->runs / 2], t->ratio[t->runs * 19 / 20],
           t->ratio[t->runs - 1]);
    fflush(stdout);
    return t->between == t->runs && t->failed == 0;
}

static bool measure_kind(const struct method *m, const struct options *options, double pace)
{
    static struct table table;
    const struct form *own[8];
    int count = 0;
    void *config = calloc(1, m->config.struct_bytes);
    table = (struct table){0};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(forms[i].kind, m->kind) == 0)
            own[count++] = &forms[i];
    for (int i = 0; config && count > 0 && i < options->runs; i++) {
        struct philox from = philox_stream(options->seed, 0x6d656d, (uint64_t)i);
        struct method_estimate estimate;
        char text[TEXT];
        uint64_t at = 0;
        if (options->only >= 0 && i != options->only)
            continue;
        if (!draw_run(m, own[i % count], &from, &at, pace, options->data, config, &estimate, text))
            return false;
        struct outcome out = run_child(m, config, options);
        note(&table, &out, &estimate, i, text, options->list);
    }
    free(config);
    return print_table(m->kind, &table);
}

static int usage(void)
{
    fprintf(stderr, "usage: memory_peaks [--runs N] [--seed S] [--kind KIND] [--seconds S] [--only NUMBER] [--list]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct options options = {.runs = 300, .seconds = 20, .only = -1, .seed = 1, .data = "/tmp/memory-peaks-XXXXXX"};
    struct error err = {0};
    size_t count;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--list") == 0)
            options.list = true;
        else if (more && strcmp(argv[i], "--runs") == 0)
            options.runs = atoi(argv[++i]);
        else if (more && strcmp(argv[i], "--seed") == 0)
            options.seed = strtoull(argv[++i], NULL, 10);
        else if (more && strcmp(argv[i], "--kind") == 0)
            options.kind = argv[++i];
        else if (more && strcmp(argv[i], "--seconds") == 0)
            options.seconds = atoi(argv[++i]);
        else if (more && strcmp(argv[i], "--only") == 0)
            options.only = atoi(argv[++i]);
        else
            return usage();
    }
    blas_init();
    job_memory_return_freed(); /* as motifd and motif-train do */
    if (options.runs > RUNS_MOST || !mkdtemp(options.data) || make_sets(options.data, &err)) {
        fprintf(stderr, "memory_peaks: %s\n", err.message[0] ? err.message : strerror(errno));
        return 2;
    }
    double pace = kernels_pace(kernels_best());
    const struct method *const *all = methods_all(&count);
    bool good = true;
    printf("| kind | runs | not ended | within 25 %% | allocated too | least | 5 %% | median | 95 %% | most |\n");
    printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++)
        if (!options.kind || strcmp(options.kind, all[i]->kind) == 0)
            good = measure_kind(all[i], &options, pace) && good;
    return good ? 0 : 1;
}
