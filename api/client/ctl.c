/* Functions that several commands use: requests and their errors, ids of jobs, files. */
#include "api/client/ctl.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <strings.h>

/* --- reading documents --- */

const cJSON *json_member(const cJSON *object, const char *name)
{
    return object ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

const char *json_string(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(json_member(object, name));
}

const char *json_shown(const cJSON *object, const char *name)
{
    const char *text = json_string(object, name);
    return text ? text : "-";
}

double json_number(const cJSON *object, const char *name)
{
    const cJSON *value = json_member(object, name);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

static struct json_text fixed(double value, int digits, const char *unit)
{
    struct json_text made = {"-"};
    if (isfinite(value))
        snprintf(made.text, sizeof made.text, fabs(value) < 1e15 ? "%.*f%s" : "%.*g%s", digits, value, unit);
    return made;
}

struct json_text json_fixed(const cJSON *object, const char *name, int digits)
{
    return fixed(json_number(object, name), digits, "");
}

struct json_text json_percent(const cJSON *object, const char *name, int digits)
{
    return fixed(100 * json_number(object, name), digits, " %");
}

/* Replaces a string of a JSON tree by its escaped form for the terminal. A printable string stays as it is. */
static void escape_string(char **text)
{
    struct buf shown;
    size_t bytes = *text ? strlen(*text) : 0;
    if (utf8_printable(*text, bytes))
        return;
    buf_init(&shown, 12 * bytes + 1);
    utf8_escape(&shown, *text, bytes, UTF8_FOR_TERMINAL);
    char *made = buf_take(&shown, NULL); /* without memory, the text is left out */
    cJSON_free(*text);
    *text = made;
}

/* The recursion is bounded: cJSON limits the depth of a tree to 1000. */
static void escape_strings(cJSON *item) /* NOLINT(misc-no-recursion) */
{
    for (; item; item = item->next) {
        escape_string(&item->string);
        escape_string(&item->valuestring);
        escape_strings(item->child);
    }
}

cJSON *ctl_parse(const struct ctl *ctl, const char *text, size_t bytes)
{
    cJSON *json = text ? cJSON_ParseWithLength(text, bytes) : NULL;
    if (json && !ctl->json)
        escape_strings(json);
    return json;
}

/* --- saying what is wrong --- */

/* Appends a message and escapes its control characters. Two kinds of messages arrive here unescaped: those of libraries
 * and, with --json, the server's problem documents. */
static void escape_lines(struct buf *out, const char *text)
{
    for (size_t line; *text; text += line) {
        line = strcspn(text, "\n");
        utf8_escape(out, text, line, UTF8_FOR_TERMINAL);
        if (text[line] == '\n') {
            buf_text(out, "\n");
            line++;
        }
    }
}

static void complain(struct ctl *ctl, const char *text)
{
    struct buf out;
    buf_init(&out, 4u << 20);
    term_style(&out, ctl->err.colour, STYLE_RED);
    buf_text(&out, "error:");
    term_style(&out, ctl->err.colour, STYLE_PLAIN);
    buf_text(&out, " ");
    escape_lines(&out, text);
    buf_text(&out, "\n");
    if (out.failed)
        fputs("error: not enough memory for the message\n", ctl->err.stream);
    term_flush(&ctl->err, &out);
    buf_close(&out);
}

int ctl_fault(struct ctl *ctl, int code, const struct error *err)
{
    /* if libcurl's message contains the first text, the second text says what the user can do */
    static const char *const hints[][2] = {
        {"connect", "is the daemon running? `motifd serve` starts one; --server or MOTIFD_SERVER selects another"},
        {"certificate",
         "if your own authority has signed the certificate, give its PEM file with --cacert or MOTIFD_CACERT"},
        {"Empty reply", "the server may expect https:// instead of http://"},
        {"wrong version number", "the server may expect http:// instead of https://"},
    };
    complain(ctl, err->message);
    for (size_t i = 0; code == CTL_UNREACHABLE && i < sizeof(hints) / sizeof(hints[0]); i++) {
        if (strstr(err->message, hints[i][0])) {
            fprintf(ctl->err.stream, "%s\n", hints[i][1]);
            break;
        }
    }
    return code;
}

int ctl_temporary(char path[CTL_TEMPORARY])
{
    const char *folder = getenv("TMPDIR");
    int wrote = snprintf(path, CTL_TEMPORARY, "%s/motifctl-XXXXXX", folder && folder[0] ? folder : "/tmp");
    return wrote < CTL_TEMPORARY ? mkostemp(path, O_CLOEXEC) : -1;
}

int ctl_usage(struct ctl *ctl, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    complain(ctl, text);
    fprintf(ctl->err.stream, "motifctl %s --help explains the command\n", ctl->command->name);
    return CTL_USAGE;
}

/* The exit code of an error: 2 when the request is wrong, 3 when the server is not ready, 1 otherwise. */
static int exit_of(long status)
{
    if (status == 503)
        return CTL_UNREACHABLE;
    if (status == 409 || status == 412 || status == 429 || status >= 500)
        return CTL_FAILED;
    return CTL_USAGE;
}

/* Whether a part of a message says what one can do: it begins with a verb or a condition, or names an option. */
static bool is_cure(const char *part, size_t bytes)
{
    static const char *const begins[] = {"if",      "use",      "leave", "write",  "save",   "state", "upload",
                                         "remove",  "name",     "send",  "divide", "choose", "cut",   "fill",
                                         "convert", "resample", "add",   "give",   "pad",    "with",  "shorten"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (bytes > strlen(begins[i]) && strncmp(part, begins[i], strlen(begins[i])) == 0 &&
            part[strlen(begins[i])] == ' ')
            return true;
    const char *option = strstr(part, "(motifctl: ");
    return option && option < part + bytes;
}

/* Appends a fault. What one can do about a long one comes first: people read the first line. */
static void add_fault(struct buf *text, const char *place, const char *what)
{
    enum { LONG = 100 };
    size_t bytes = strlen(what), end = bytes;
    for (size_t at = 1; bytes > LONG && at + 2 < bytes && end == bytes; at++)
        if (strchr(";:.", what[at]) && what[at + 1] == ' ' && is_cure(what + at + 2, strcspn(what + at + 2, ";")))
            end = at;
    if (end < bytes)
        buf_format(text, "\n  what to do: %s", what + end + 2);
    buf_format(text, "\n  %s%s%.*s", place, place[0] ? "  " : "", (int)end, what);
}

int ctl_refused(struct ctl *ctl, const struct http_answer *answer)
{
    cJSON *problem = ctl_parse(ctl, answer->body.data, answer->body.size);
    const char *title = json_string(problem, "title"), *detail = json_string(problem, "detail");
    const cJSON *fault = NULL;
    struct buf text;
    buf_init(&text, 1 << 20);
    if (ctl->json && problem)
        ctl_print_json(ctl, problem);
    if (json_member(problem, "errors"))
        detail = NULL; /* the detail repeats the first of the errors, which are printed below */
    if (!title && !detail)
        buf_format(&text, "%s answered %ld; is it motifd?", http_server(ctl->http), answer->status);
    else
        buf_format(&text, "%s%s%s", title ? title : "", title && detail ? ": " : "", detail ? detail : "");
    cJSON_ArrayForEach (fault, json_member(problem, "errors")) {
        const char *pointer = json_string(fault, "pointer"), *parameter = json_string(fault, "parameter");
        const char *what = json_string(fault, "detail");
        const char *place = pointer ? pointer : parameter ? parameter : "";
        add_fault(&text, place, what ? what : "");
    }
    if (answer->status == 401)
        buf_text(&text, "\n  give a token with --token or in MOTIFD_TOKEN");
    complain(ctl, text.data ? text.data : "the server refused the request");
    buf_close(&text);
    cJSON_Delete(problem);
    return exit_of(answer->status);
}

/* --- calls --- */

int ctl_call(struct ctl *ctl, const struct http_request *request, struct http_answer *answer, cJSON **json)
{
    struct error err = {0};
    if (json)
        *json = NULL;
    enum status status = http_call(ctl->http, request, answer, &err);
    if (status)
        return ctl_fault(ctl, status == STATUS_UNAVAILABLE ? CTL_UNREACHABLE : CTL_FAILED, &err);
    if (answer->status == 304)
        return CTL_SUCCESS;
    if (!http_succeeded(answer->status))
        return ctl_refused(ctl, answer);
    if (json && answer->body.size > 0) {
        *json = ctl_parse(ctl, answer->body.data, answer->body.size);
        if (!*json) {
            complain(ctl, "the server's answer is not JSON; is it motifd?");
            return CTL_FAILED;
        }
    }
    return CTL_SUCCESS;
}

static int document_of(struct ctl *ctl, const struct http_request *request, cJSON **json)
{
    struct http_answer answer;
    int code = ctl_call(ctl, request, &answer, json);
    http_answer_close(&answer);
    if (code == CTL_SUCCESS && !*json) {
        complain(ctl, "the server's answer is empty");
        return CTL_FAILED;
    }
    return code;
}

int ctl_get(struct ctl *ctl, const char *path, cJSON **json)
{
    return document_of(ctl, &(struct http_request){.method = "GET", .path = path}, json);
}

int ctl_show(struct ctl *ctl, const struct http_request *request, void (*view)(struct ctl *ctl, const cJSON *document))
{
    cJSON *document = NULL;
    int code = document_of(ctl, request, &document);
    if (code == CTL_SUCCESS && ctl->json)
        ctl_print_json(ctl, document);
    else if (code == CTL_SUCCESS)
        view(ctl, document);
    cJSON_Delete(document);
    return code;
}

int ctl_save(struct ctl *ctl, const struct http_request *request, const char *file)
{
    struct http_answer answer;
    int code = ctl_call(ctl, request, &answer, NULL);
    if (code == CTL_SUCCESS)
        code = ctl_write_file(ctl, file, &answer.body);
    http_answer_close(&answer);
    return code;
}

int ctl_output_good(struct ctl *ctl, const char *file)
{
    static const char packed[] = ".gz";
    size_t length = strlen(file), ending = sizeof packed - 1;
    if (length < ending || strcmp(file + length - ending, packed) != 0)
        return CTL_SUCCESS;
    return ctl_usage(ctl, "%.200s: motifctl does not compress; leave out .gz, then compress the file with gzip", file);
}

int ctl_may_replace(struct ctl *ctl, const char *file)
{
    struct stat info;
    if (stat(file, &info) != 0 || S_ISREG(info.st_mode))
        return CTL_SUCCESS;
    return ctl_usage(ctl, "%.200s exists and is not a regular file", file);
}

void ctl_print_json(struct ctl *ctl, const cJSON *json)
{
    char *text = ctl->yaml ? NULL : cJSON_PrintUnformatted(json);
    struct buf out, yaml;
    buf_init(&out, SIZE_MAX / 2);
    buf_init(&yaml, SIZE_MAX / 2);
    if (ctl->yaml) {
        buf_text(&yaml, ctl->documents++ > 0 ? "---\n" : "");
        yaml_write(&yaml, json);
    }
    const char *made = text ? text : yaml.data ? yaml.data : "";
    out.failed = ctl->yaml ? yaml.failed : text == NULL;
    utf8_escape(&out, made, strlen(made), UTF8_FOR_JSON);
    buf_text(&out, text ? "\n" : "");
    buf_close(&yaml);
    term_flush(&ctl->out, &out);
    ctl->out.failed |= fflush(ctl->out.stream) != 0;
    buf_close(&out);
    cJSON_free(text);
}

void ctl_add_query(struct buf *path, const struct options *args, const char *const *names)
{
    char mark = path->size > 0 && strchr(path->data, '?') ? '&' : '?';
    for (; *names; names++) {
        const char *value = options_value(args, *names);
        if (!value)
            continue;
        buf_format(path, "%c", mark);
        for (const char *c = *names; *c != '\0'; c++)
            buf_append(path, *c == '-' ? "_" : c, 1);
        buf_text(path, "=");
        http_escape(path, value);
        mark = '&';
    }
}

void ctl_add_flag(struct buf *path, const struct options *args, const char *name)
{
    if (options_has(args, name))
        buf_format(path, "%c%s=true", path->size > 0 && strchr(path->data, '?') ? '&' : '?', name);
}

int ctl_show_query(struct ctl *ctl, const struct options *args, const char *query, const char *const *names,
                   void (*view)(struct ctl *ctl, const cJSON *document))
{
    char id[CTL_ID];
    struct buf path;
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    buf_init(&path, 4096);
    buf_format(&path, "/v1/jobs/%s/%s", id, query);
    ctl_add_query(&path, args, names);
    code = path.failed ? ctl_usage(ctl, "the options are too long")
                       : ctl_show(ctl, &(struct http_request){.method = "GET", .path = path.data}, view);
    buf_close(&path);
    return code;
}

int ctl_read_file(struct ctl *ctl, const char *file, size_t most, struct buf *out)
{
    static char piece[1 << 16];
    struct error err = {0};
    FILE *in = fopen(file, "rb");
    bool good = in != NULL;
    buf_init(out, most);
    for (size_t got = 1; good && got > 0;) {
        got = fread(piece, 1, sizeof(piece), in);
        buf_append(out, piece, got);
        good = !ferror(in) && !out->failed;
    }
    if (in)
        fclose(in);
    if (good && out->size > 0)
        return CTL_SUCCESS;
    error_set(&err, STATUS_IO, NULL, "%.200s: %s", file,
              out->failed ? "is too large"
              : good      ? "is empty"
                          : "cannot be read");
    return ctl_fault(ctl, CTL_USAGE, &err);
}

int ctl_fetch_file(struct ctl *ctl, const char *path, const char *file)
{
    struct error err = {0};
    struct http_answer answer;
    struct http_request request = {.method = "GET", .path = path, .accept = "*/*", .file = fopen(file, "wb")};
    if (!request.file) {
        error_set(&err, STATUS_IO, NULL, "%.200s: cannot be written", file);
        return ctl_fault(ctl, CTL_FAILED, &err);
    }
    enum status status = http_call(ctl->http, &request, &answer, &err);
    if (fclose(request.file) != 0 && !status)
        status = error_set(&err, STATUS_IO, NULL, "the disk is full?");
    int code = CTL_SUCCESS;
    if (status)
        code = ctl_fault(ctl, status == STATUS_UNAVAILABLE ? CTL_UNREACHABLE : CTL_FAILED, &err);
    else if (answer.status != 200)
        code = ctl_refused(ctl, &answer);
    http_answer_close(&answer);
    return code;
}

int ctl_write_file(struct ctl *ctl, const char *file, const struct buf *bytes)
{
    FILE *out = fopen(file, "wb");
    bool good = out && fwrite(bytes->data ? bytes->data : "", 1, bytes->size, out) == bytes->size;
    if (out && fclose(out) != 0)
        good = false;
    if (!good) {
        struct error err = {0};
        error_set(&err, STATUS_IO, NULL, "%.200s: cannot be written", file);
        return ctl_fault(ctl, CTL_FAILED, &err);
    }
    if (!ctl->json && !ctl->quiet)
        fprintf(ctl->out.stream, "%s: %zu bytes\n", file, bytes->size);
    return CTL_SUCCESS;
}

/* --- which job --- */

/* Reads the job list page by page until `seen` returns false. */
static int each_job(struct ctl *ctl, bool (*seen)(void *context, const cJSON *job), void *context)
{
    int code = CTL_SUCCESS;
    struct buf path;
    buf_init(&path, 4096);
    buf_text(&path, "/v1/jobs?fields=id&limit=1000");
    for (bool more = true; more && code == CTL_SUCCESS;) {
        cJSON *page = NULL;
        const cJSON *job = NULL;
        code = path.failed ? ctl_usage(ctl, "not enough memory to list the jobs") : ctl_get(ctl, path.data, &page);
        cJSON_ArrayForEach (job, json_member(page, "jobs"))
            more = more && seen(context, job);
        const char *cursor = json_string(page, "next_cursor");
        more = more && cursor && cursor[0];
        if (more) {
            buf_clear(&path);
            buf_text(&path, "/v1/jobs?fields=id&limit=1000&cursor=");
            http_escape(&path, cursor);
        }
        cJSON_Delete(page);
    }
    buf_close(&path);
    return code;
}

struct search {
    const char *prefix; /* beginning of the wanted id */
    char id[CTL_ID];
    int found;
};

static bool match(void *context, const cJSON *job)
{
    struct search *search = context;
    const char *id = json_string(job, "id");
    if (!id || strlen(id) >= CTL_ID || strncasecmp(id, search->prefix, strlen(search->prefix)) != 0)
        return true;
    snprintf(search->id, sizeof(search->id), "%s", id);
    search->found++;
    return search->found < 2;
}

/* Copies the id of a job from the document that the server sent. Returns an exit code. */
static int take_id(struct ctl *ctl, const cJSON *job, char *id)
{
    const char *found = json_string(job, "id");
    if (!found || !found[0] || strlen(found) >= CTL_ID) {
        complain(ctl, "the server's answer is not a job; is it motifd?");
        return CTL_FAILED;
    }
    snprintf(id, CTL_ID, "%s", found);
    return CTL_SUCCESS;
}

/* Looks for jobs with exactly this name. Returns how many there are (2: two or more) and the id of the newest. After
 * an error, returns a negative number and sets *code to the exit code. */
static int named(struct ctl *ctl, const char *name, char *id, int *code)
{
    struct buf path;
    cJSON *page = NULL;
    buf_init(&path, 4096);
    buf_text(&path, "/v1/jobs?fields=id&limit=2&name=");
    http_escape(&path, name);
    *code = path.failed ? ctl_usage(ctl, "the name of the job is too long") : ctl_get(ctl, path.data, &page);
    buf_close(&path);
    const cJSON *jobs = json_member(page, "jobs");
    int count = cJSON_GetArraySize(jobs);
    if (count > 0)
        *code = take_id(ctl, cJSON_GetArrayItem(jobs, 0), id);
    cJSON_Delete(page);
    return *code == CTL_SUCCESS ? count : -1;
}

static int latest(struct ctl *ctl, bool model, char *id)
{
    cJSON *job = NULL;
    int code = ctl_get(ctl, model ? "/v1/jobs/latest?checkpoint=1" : "/v1/jobs/latest", &job);
    if (code == CTL_SUCCESS)
        code = take_id(ctl, job, id);
    cJSON_Delete(job);
    return code;
}

#define NAME_MAX_BYTES 127 /* bytes of the longest name of a job */

int ctl_job_id(struct ctl *ctl, const char *wanted, bool model, char *id)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct search search = {.prefix = wanted};
    bool plain = wanted[0] && strspn(wanted, letters) == strlen(wanted);
    int code;
    if (strlen(wanted) == 26 && plain) { /* a complete id needs no search: the server says whether the job exists */
        snprintf(id, CTL_ID, "%s", wanted);
        return CTL_SUCCESS;
    }
    if (!wanted[0] || strlen(wanted) > NAME_MAX_BYTES)
        return ctl_usage(ctl, "a job is an id, a name, the beginning of an id, or latest; got %.80s", wanted);
    if (strcmp(wanted, "latest") == 0)
        return latest(ctl, model, id);
    int count = named(ctl, wanted, id, &code);
    if (count > 1)
        return ctl_usage(ctl, "several jobs have the name %.80s; use an id", wanted);
    if (count != 0)
        return code;
    if (plain && strlen(wanted) < 26)
        code = each_job(ctl, match, &search);
    if (code != CTL_SUCCESS)
        return code;
    if (search.found == 0)
        return ctl_usage(ctl, "no job has the name %.80s, or an id that begins with it", wanted);
    if (search.found > 1)
        return ctl_usage(ctl, "several jobs have ids that begin with %s; add letters", wanted);
    snprintf(id, CTL_ID, "%s", search.id);
    return CTL_SUCCESS;
}
