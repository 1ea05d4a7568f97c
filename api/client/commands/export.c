/* `motifctl checkpoints` and `motifctl export`.
 *
 * An export writes FILE.part and renames it when it is complete. If an earlier try left FILE.part, the export requests
 * only the bytes that follow. FILE.part.etag contains the ETag of the checkpoint, which the export sends as If-Range:
 * if the checkpoint has changed, the server sends the whole file again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/client/ctl.h"

/* --- checkpoints --- */

static const struct config_field no_options[] = {OPTIONS_END};

static int checkpoints_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID], path[128], text[64];
    cJSON *document = NULL;
    const cJSON *row = NULL;
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    snprintf(path, sizeof(path), "/v1/jobs/%s/checkpoints", id);
    code = ctl_get(ctl, path, &document);
    if (code != CTL_SUCCESS)
        return code;
    if (ctl->json) {
        ctl_print_json(ctl, document);
    } else {
        struct table table;
        table_init(&table, ">SEQ|>STEP|>DENSITY|>ACCURACY|>SIZE|PINNED|CREATED");
        cJSON_ArrayForEach (row, json_member(document, "checkpoints")) {
            view_scalar(json_member(row, "seq"), text, sizeof(text));
            table_add(&table, text);
            view_scalar(json_member(row, "step"), text, sizeof(text));
            table_add(&table, text);
            term_number(text, sizeof(text), json_number(row, "density"));
            table_add(&table, text);
            term_percent(text, sizeof(text), json_number(row, "accuracy"));
            table_add(&table, text);
            term_bytes(text, sizeof(text), json_number(row, "bytes"));
            table_add(&table, text);
            view_scalar(json_member(row, "pinned"), text, sizeof(text));
            table_add(&table, text);
            view_age(json_string(row, "created_at"), text, sizeof(text));
            table_add(&table, text);
        }
        term_table(&ctl->out, &table);
    }
    cJSON_Delete(document);
    return CTL_SUCCESS;
}

const struct command command_checkpoints = {
    .name = "checkpoints",
    .arguments = "JOB",
    .summary = "list the checkpoints of a job",
    .text = "A job keeps its latest and its most accurate checkpoint, the last one of each density, and pinned ones.",
    .example = "  motifctl checkpoints latest",
    .options = no_options,
    .least = 1,
    .most = 1,
    .run = checkpoints_run,
};

/* --- export --- */

static const struct config_field options[] = {
    OPTION_TEXT("checkpoint", "SEQ", "a sequence number, or latest (latest); with --bundle also all"),
    OPTION_FLAG("onnx", "save the model as ONNX, for other programs; also if FILE ends with .onnx"),
    OPTION_FLAG(
        "bundle",
        "save everything of the job that another daemon or motifctl verify needs; also if FILE ends with .bundle"),
    OPTIONS_END,
};

struct export
{
    struct ctl *ctl;
    char path[160];                   /* path of the checkpoint on the server */
    char part[4096], part_etag[4096]; /* names of FILE.part and FILE.part.etag */
    int64_t have;                     /* bytes of FILE.part when this try began */
    bool drawn;
};

static bool moving(void *context, int64_t received, int64_t expected)
{
    struct export *export = context;
    struct term *term = &export->ctl->err;
    struct buf out;
    char done[32], all[32];
    if (!term->live || export->ctl->json || expected <= 0)
        return true;
    buf_init(&out, 4096);
    term_bytes(done, sizeof(done), (double)(export->have + received));
    term_bytes(all, sizeof(all), (double)(export->have + expected));
    buf_text(&out, "\r▕");
    term_bar(&out, (double)(export->have + received) / (double)(export->have + expected), 30);
    buf_format(&out, "▏ %s of %s\033[K", done, all);
    term_flush(term, &out);
    buf_close(&out);
    export->drawn = true;
    return true;
}

static void read_line(const char *path, char *out, size_t bytes)
{
    FILE *file = fopen(path, "r");
    out[0] = 0;
    if (!file)
        return;
    if (!fgets(out, (int)bytes, file))
        out[0] = 0;
    out[strcspn(out, "\r\n")] = 0;
    fclose(file);
}

static void write_line(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "%s\n", text);
        fclose(file);
    }
}

/* Writes the ETag to disk before the first byte of FILE.part, so that the next run can continue the file of a killed
 * run. */
static void begins(void *context, const struct http_answer *answer)
{
    const struct export *export = context;
    if (export->have == 0 && answer->etag[0])
        write_line(export->part_etag, answer->etag);
    else if (export->have == 0)
        unlink(export->part_etag);
}

/* Returns whether the answer continues FILE.part. Otherwise FILE.part must be deleted, and the whole file requested
 * again. */
static bool goes_on(const struct export *export, const struct http_answer *answer)
{
    char wanted[64] = "";
    int bytes = 0;
    if (answer->status == 200)
        return export->have == 0; /* 200 sends the whole file, which continues only an empty FILE.part */
    if (answer->status == 206)
        bytes = snprintf(wanted, sizeof(wanted), "bytes %lld-", (long long)export->have);
    else if (answer->status == 416 && export->have > 0) /* FILE.part may be complete already */
        bytes = snprintf(wanted, sizeof(wanted), "bytes */%lld", (long long)export->have) + 1;
    return strncmp(answer->content_range, wanted, (size_t)bytes) == 0;
}

/* Makes one try. Returns CTL_SUCCESS if FILE.part is complete, or CTL_UNREACHABLE if the transfer was interrupted and
 * can be tried again. */
static int export_fetch(struct export *export, struct error *err)
{
    struct stat info;
    char etag[128], range[64], condition[160];
    struct http_answer answer;
    struct http_request request = {
        .method = "GET", .path = export->path, .accept = "*/*", .begins = begins, .moving = moving, .context = export};
    read_line(export->part_etag, etag, sizeof(etag));
    export->have = etag[0] && stat(export->part, &info) == 0 ? (int64_t)info.st_size : 0;
    request.file = fopen(export->part, export->have > 0 ? "r+b" : "wb");
    if (!request.file)
        return ctl_fault(export->ctl, CTL_FAILED,
                         (error_set(err, STATUS_IO, NULL, "%.200s: cannot be written", export->part), err));
    if (export->have > 0) {
        snprintf(range, sizeof(range), "Range: bytes=%lld-", (long long)export->have);
        snprintf(condition, sizeof(condition), "If-Range: %s", etag);
        request.headers[0] = range;
        request.headers[1] = condition;
        fseeko(request.file, (off_t) export->have, SEEK_SET);
    }
    enum status status = http_call(export->ctl->http, &request, &answer, err);
    bool closed = fclose(request.file) == 0;
    int code = CTL_SUCCESS;
    if (status == STATUS_IO || !closed) { /* the file cannot be written, so another try would fail too */
        code = ctl_fault(export->ctl, CTL_FAILED,
                         (error_clear(err),
                          error_set(err, STATUS_IO, NULL, "%.200s: cannot be written; is the disk full?", export->part),
                          err));
    } else if (!goes_on(export, &answer)) {
        unlink(export->part);
        unlink(export->part_etag);
        code = CTL_UNREACHABLE;
    } else if (answer.status == 416 && export->have > 0) {
        code = CTL_SUCCESS; /* the file is complete */
    } else if (answer.status == 200 || answer.status == 206) {
        code = status ? CTL_UNREACHABLE : CTL_SUCCESS;
    } else {
        code = status ? CTL_UNREACHABLE : ctl_refused(export->ctl, &answer);
        if (export->have == 0)
            unlink(export->part);
    }
    http_answer_close(&answer);
    return code;
}

static int fetch_all(struct export *export)
{
    int code = CTL_UNREACHABLE;
    struct error err = {0};
    for (int attempt = 0; attempt < 6 && code == CTL_UNREACHABLE; attempt++) {
        struct timespec pause = {attempt / 2, attempt % 2 * 500000000L};
        if (attempt > 0)
            nanosleep(&pause, NULL);
        error_clear(&err);
        code = export_fetch(export, &err);
    }
    if (export->drawn)
        fprintf(export->ctl->err.stream, "\r\033[K");
    if (code == CTL_UNREACHABLE)
        return ctl_fault(export->ctl, code, &err);
    return code;
}

/* Writes the sequence number of the wanted checkpoint to `seq`. "latest" becomes the number of the checkpoint that is
 * the latest now, so that every try requests the same checkpoint. */
static int export_resolve(struct ctl *ctl, const char *id, const char *wanted, char *seq, size_t bytes)
{
    char path[128];
    cJSON *document = NULL;
    const cJSON *row = NULL;
    double newest = -1;
    if (wanted && strcmp(wanted, "latest") != 0) {
        if (!wanted[0] || strspn(wanted, "0123456789") != strlen(wanted))
            return ctl_usage(ctl, "--checkpoint must be a sequence number or latest; got %.40s", wanted);
        snprintf(seq, bytes, "%s", wanted);
        return CTL_SUCCESS;
    }
    snprintf(path, sizeof(path), "/v1/jobs/%s/checkpoints", id);
    int code = ctl_get(ctl, path, &document);
    cJSON_ArrayForEach (row, json_member(document, "checkpoints"))
        newest = fmax(newest, json_number(row, "seq"));
    cJSON_Delete(document);
    if (code == CTL_SUCCESS && newest < 0)
        return ctl_usage(ctl, "the job has no checkpoint yet");
    snprintf(seq, bytes, "%.0f", newest);
    return code;
}

enum form { WEIGHTS, ONNX, BUNDLE, FORMS };
static const char *const endings[FORMS] = {"safetensors", "onnx", "bundle"};

/* Chooses the form of the exported file: the option that the user states, or else the one that the ending of the file's
 * name says; weights if the name has no ending. */
static int export_form(struct ctl *ctl, const struct options *args, const char *file, enum form *form)
{
    const char *slash = file ? strrchr(file, '/') : NULL, *dot = file ? strrchr(slash ? slash : file, '.') : NULL;
    enum form named = WEIGHTS;
    bool stated = options_has(args, "onnx") || options_has(args, "bundle");
    *form = options_has(args, "bundle") ? BUNDLE : options_has(args, "onnx") ? ONNX : WEIGHTS;
    if (options_has(args, "onnx") && options_has(args, "bundle"))
        return ctl_usage(ctl, "--onnx and --bundle both state the form of the file; leave one out");
    if (!dot)
        return CTL_SUCCESS;
    while (named < FORMS && strcasecmp(dot + 1, endings[named]) != 0)
        named++;
    if (stated && (named == FORMS || named == *form))
        return CTL_SUCCESS;
    if (stated)
        return ctl_usage(ctl, "--%s does not fit the ending of %.200s; change the ending, or leave out --%s",
                         endings[*form], file, endings[*form]);
    *form = named;
    return named < FORMS ? CTL_SUCCESS
                         : ctl_usage(ctl,
                                     "the ending of %.200s names no form of a model; use .safetensors (weights), .onnx "
                                     "or .bundle (the whole job)",
                                     file);
}

/* Sets `seq` to the sequence number of the checkpoint ("all": all checkpoints), `path` to the path of the request, and
 * `name` to the default name of the exported file. */
static int export_choose(struct ctl *ctl, const struct options *args, enum form form, const char *id, char seq[32],
                         char path[160], char name[128])
{
    const char *wanted = options_value(args, "checkpoint");
    bool all = form == BUNDLE && wanted && strcmp(wanted, "all") == 0;
    int code = CTL_SUCCESS;
    if (all)
        snprintf(seq, 32, "all");
    else
        code = export_resolve(ctl, id, wanted, seq, 32);
    if (form == BUNDLE) {
        snprintf(path, 160, "/v1/jobs/%s/bundle?checkpoints=%s", id, seq);
        snprintf(name, 128, "%s.bundle", id);
    } else if (form == ONNX) {
        snprintf(path, 160, "/v1/jobs/%s/onnx?checkpoint=%s", id, seq);
        snprintf(name, 128, "%s-%s.onnx", id, seq);
    } else {
        snprintf(path, 160, "/v1/jobs/%s/checkpoints/%s", id, seq);
        snprintf(name, 128, "%s-%s.safetensors", id, seq);
    }
    return code;
}

static int export_run(struct ctl *ctl, const struct options *args)
{
    struct export export = {.ctl = ctl};
    char id[CTL_ID], seq[32], name[128];
    struct stat info;
    const char *file = args->positional_count > 1 ? args->positional[1] : NULL;
    enum form form;
    int code = file ? ctl_output_good(ctl, file) : CTL_SUCCESS;
    if (code == CTL_SUCCESS)
        code = export_form(ctl, args, file, &form);
    if (code == CTL_SUCCESS)
        code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code == CTL_SUCCESS)
        code = export_choose(ctl, args, form, id, seq, export.path, name);
    if (code != CTL_SUCCESS)
        return code;
    file = file ? file : name;
    snprintf(export.part, sizeof(export.part), "%s.part", file);
    if (snprintf(export.part_etag, sizeof(export.part_etag), "%s.part.etag", file) >= (int)sizeof(export.part_etag))
        return ctl_usage(ctl, "the name %.80s... is too long", file);
    code = ctl_may_replace(ctl, file);
    if (code == CTL_SUCCESS)
        code = fetch_all(&export);
    if (code == CTL_SUCCESS) {
        unlink(export.part_etag);
        if (rename(export.part, file) != 0 || stat(file, &info) != 0) {
            struct error err = {0};
            error_set(&err, STATUS_IO, NULL, "%.200s: cannot be written", file);
            code = ctl_fault(ctl, CTL_FAILED, &err);
        } else if (ctl->json) {
            cJSON *document = cJSON_CreateObject();
            cJSON_AddStringToObject(document, "file", file);
            cJSON_AddStringToObject(document, "job", id);
            if (strcmp(seq, "all") == 0)
                cJSON_AddStringToObject(document, "checkpoint", seq);
            else
                cJSON_AddNumberToObject(document, "checkpoint", strtod(seq, NULL));
            cJSON_AddNumberToObject(document, "bytes", (double)info.st_size);
            ctl_print_json(ctl, document);
            cJSON_Delete(document);
        } else {
            char size[32];
            term_bytes(size, sizeof(size), (double)info.st_size);
            fprintf(ctl->out.stream, "%s: checkpoint %s, %s\n", file, seq, size);
        }
    }
    return code;
}

const struct command command_export = {
    .name = "export",
    .arguments = "JOB [FILE]",
    .summary = "save the weights as .safetensors or .onnx, or the job as a bundle",
    .text = "Use it to take a model to another program or another daemon. Repeat the command with the same FILE to "
            "resume an interrupted\ndownload.",
    .example =
        "  motifctl export latest weights.safetensors\n"
        "  motifctl export latest model.onnx\n"
        "  motifctl export latest job.bundle --checkpoint all\n"
        "  python3 -c 'from safetensors import safe_open; print(safe_open(\"weights.safetensors\", \"np\").keys())'",
    .options = options,
    .least = 1,
    .most = 2,
    .run = export_run,
};
