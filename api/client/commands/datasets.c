/* `motifctl datasets`: uploads, lists, shows, previews and deletes data sets. The command announces the
 * SHA-256 of a file before it uploads the file. If the upload is interrupted, the same command can therefore resume
 * it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/client/ctl.h"
#include "api/client/draw.h"
#include "api/client/folder_tar.h"
#include "core/base/descriptor.h"
#include "core/base/hash.h"
#include "core/draw/png.h"

/* The options of uploads, whose table is in the core. The layout is stated by three flags. */
#define UPLOAD_TEXT(BIT, member, most, what, some, some_meaning, other, flag, placeholder, help)                       \
    OPTION_TEXT(flag, placeholder, help),
#define UPLOAD_INTEGER(BIT, member, low, high, none, what, some, some_meaning, other, flag, placeholder, help)         \
    OPTION_TEXT(flag, placeholder, help),
#define UPLOAD_CHOICE(BIT, member, all, stated, none, what, some, some_meaning, other, flag, name, help)               \
    OPTION_TEXT(flag, name, help),
#define UPLOAD_FLAG(BIT, member, what, some, some_meaning, other, flag, help) OPTION_FLAG(flag, help),
#define UPLOAD_LAYOUT(...)                                                                                             \
    OPTION_FLAG("channels-first", "put, npz, npy and safetensors: [n][channels][rows][cols]"),                         \
        OPTION_FLAG("channels-last", "put, npz, npy and safetensors: [n][rows][cols][channels]"),                      \
        OPTION_FLAG("signals",                                                                                         \
                    "put: [n][cols] or [n][channels][cols], or the columns of a .csv, are points of a signal"),
static const struct config_field options[] = {
    OPTION_TEXT("format", "NAME", "put: format of the file; default: from the ending of its name"),
#include "core/data/uploads/options.inc"
    OPTION_FLAG("dry-run", "put: only say how the server reads the file; nothing is stored"),
    OPTION_TEXT("output", "FILE", "preview: file for the picture (NAME.png)"),
    OPTIONS_END,
};

/* Finds the upload format of a file from the ending of its name and the server's list of endings. Sets `format` to ""
 * if the list does not contain the ending. Returns an exit code. */
static int find_format(struct ctl *ctl, const char *file, char format[32])
{
    size_t length = strlen(file), packed = length > 3 && strcasecmp(file + length - 3, ".gz") == 0 ? 3 : 0, size;
    const char *dot = file + length - packed;
    const cJSON *row;
    cJSON *json = NULL;
    struct http_answer answer;
    format[0] = '\0';
    do
        dot -= dot > file;
    while (dot > file && *dot != '.');
    size = (size_t)(file + length - packed - dot);
    if (*dot != '.' || size < 2)
        return CTL_SUCCESS;
    int code = ctl_call(ctl, &(struct http_request){.method = "GET", .path = "/v1/datasets"}, &answer, &json);
    cJSON_ArrayForEach (row, json_member(json, "endings")) {
        const char *ending = json_string(row, "ending"), *name = json_string(row, "format");
        if (ending && name && strlen(ending) == size - 1 && strncasecmp(dot + 1, ending, size - 1) == 0)
            snprintf(format, 32, "%s", name);
    }
    cJSON_Delete(json);
    http_answer_close(&answer);
    return code;
}

static int hash_file(struct ctl *ctl, FILE *file, const char *name, char text[HASH_TEXT], int64_t *bytes)
{
    unsigned char block[1 << 15], digest[HASH_BYTES];
    struct hash hash;
    size_t got;
    *bytes = 0;
    hash_init(&hash);
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        hash_add(&hash, block, got);
        *bytes += (int64_t)got;
    }
    hash_finish(&hash, digest);
    hash_hex(digest, text);
    return ferror(file) ? ctl_usage(ctl, "%s cannot be read", name) : CTL_SUCCESS;
}

/* Returns the number of bytes that the server already has from an interrupted upload; 0: none. */
static int64_t already_there(struct ctl *ctl, const char *hash)
{
    char path[128];
    struct http_answer answer;
    struct error err = {0};
    cJSON *json = NULL;
    snprintf(path, sizeof path, "/v1/uploads/%s", hash);
    struct http_request request = {.method = "GET", .path = path};
    double bytes = 0;
    if (!http_call(ctl->http, &request, &answer, &err) && answer.status == 200 &&
        (json = ctl_parse(ctl, answer.body.data, answer.body.size)) != NULL)
        bytes = json_number(json, "received");
    cJSON_Delete(json);
    http_answer_close(&answer);
    return bytes >= 0 && bytes < 1e15 ? (int64_t)bytes : 0;
}

/* Writes the shape of a sample: "at most 80 letters" or "words", "12 columns", "at most 4410 values at 44100 Hz", or "1
 * x 24 x 24" (channels, rows, columns). */
static void write_shape(const cJSON *set, char *out, size_t bytes)
{
    const cJSON *shape = json_member(set, "shape"), *first = cJSON_GetArrayItem(json_member(set, "first"), 0);
    const struct json_text cols = json_fixed(shape, "cols", 0);
    if (json_member(first, "text") || json_member(first, "values"))
        snprintf(out, bytes,
                 strcmp(json_shown(set, "kind"), "texts") == 0 ? "at most %s words"
                 : json_member(first, "text")                  ? "at most %s letters"
                                                               : "%s columns",
                 cols.text);
    else if (json_member(set, "rate"))
        snprintf(out, bytes, "at most %s values at %s Hz", cols.text, json_fixed(set, "rate", 0).text);
    else
        snprintf(out, bytes, "%s x %s x %s", json_fixed(shape, "channels", 0).text, json_fixed(shape, "rows", 0).text,
                 cols.text);
}

/* Prints how the server understood a table and its labels: "columns: label 'Class', id 'ID'". */
static void print_recognised(struct ctl *ctl, const cJSON *recognised)
{
    const cJSON *role = NULL, *name = NULL;
    const char *read = json_string(json_member(recognised, "labels"), "read_as"), *title = "columns: ";
    cJSON_ArrayForEach (role, json_member(recognised, "columns"))
        cJSON_ArrayForEach (name, role) { /* the number of features has no elements */
            fprintf(ctl->out.stream, "%s%s '%s'", title, role->string, cJSON_IsString(name) ? name->valuestring : "");
            title = ", ";
        }
    fputs(title[0] == ',' ? "\n" : "", ctl->out.stream);
    if (read)
        fprintf(ctl->out.stream, "labels: %s\n", read);
    if (json_string(recognised, "words"))
        fprintf(ctl->out.stream, "texts: %s\n", json_shown(recognised, "words"));
}

static void print_dataset(struct ctl *ctl, const cJSON *set)
{
    char shape[112];
    const cJSON *numbers = json_member(set, "numbers");
    write_shape(set, shape, sizeof(shape));
    fprintf(ctl->out.stream, "%s  %s, %s samples of %s, target %s, %d %s\n", json_shown(set, "name"),
            json_shown(set, "kind"), json_fixed(set, "samples", 0).text, shape, json_shown(set, "target"),
            cJSON_GetArraySize(numbers ? numbers : json_member(set, "vocabulary")),
            numbers                                          ? "numbers"
            : strcmp(json_shown(set, "kind"), "motifs") == 0 ? "motifs"
                                                             : "names");
    fprintf(ctl->out.stream, "sha256 %s\n", json_shown(set, "sha256"));
    print_recognised(ctl, json_member(set, "recognised"));
    const cJSON *division = json_member(set, "division");
    if (json_string(division, "text"))
        fprintf(ctl->out.stream, "divided %s\n", json_shown(division, "text"));
    else if (json_string(division, "refused"))
        fprintf(ctl->out.stream, "not divided: %s\n", json_shown(division, "refused"));
    const cJSON *warning;
    cJSON_ArrayForEach (warning, json_member(set, "warnings"))
        fprintf(ctl->out.stream, "warning: %s\n", json_shown(warning, "text"));
}

/* Appends a list of names (the vocabulary, or the columns of a table) in lines of at most `columns` characters. Each
 * name is followed by its alternative or its count, if it has one. */
static void write_names(struct buf *out, const char *title, const cJSON *names, int columns)
{
    enum { SHOWN = 60 };
    const cJSON *item = NULL;
    int used = 0, count = 0;
    if (cJSON_GetArraySize(names) == 0)
        return;
    buf_format(out, "\n%d %s:\n", cJSON_GetArraySize(names), title);
    cJSON_ArrayForEach (item, names) {
        char text[160];
        const char *name = json_shown(item, "name"), *other = json_string(item, "alternative");
        double times = json_number(item, "count");
        int length = other        ? snprintf(text, sizeof text, "%.70s (%.70s)", name, other)
                     : times >= 0 ? snprintf(text, sizeof text, "%.100s %.0f", name, times)
                                  : snprintf(text, sizeof text, "%.100s", name);
        if (count++ == SHOWN)
            break;
        if (used > 0 && used + length + 2 > columns) {
            buf_text(out, ",\n");
            used = 0;
        }
        buf_format(out, "%s%s", used > 0 ? ", " : "  ", text);
        used += length + 2;
    }
    buf_format(out, count > SHOWN ? ",\n  and %d more; --json lists them\n" : "\n", cJSON_GetArraySize(names) - SHOWN);
}

/* Appends a command for each kind of jobs that accepts the data set. For each other kind, appends the reason why
 * not. */
static void write_kinds(struct buf *out, const char *dataset, const cJSON *kinds)
{
    const cJSON *row = NULL;
    const char *title = "\nto train on it:\n";
    cJSON_ArrayForEach (row, kinds) {
        if (!cJSON_IsTrue(json_member(row, "accepts")))
            continue;
        buf_format(out, "%s  motifctl submit --kind %s --preset %s --set dataset_name=%s\n", title,
                   json_shown(row, "kind"), json_shown(row, "preset"), dataset);
        if (json_string(row, "reason"))
            buf_format(out, "    with a further --set: %s\n", json_shown(row, "reason"));
        title = "";
    }
    title = "\nkinds that do not accept it:\n";
    cJSON_ArrayForEach (row, kinds) {
        if (cJSON_IsTrue(json_member(row, "accepts")))
            continue;
        buf_format(out, "%s  %s: %s\n", title, json_shown(row, "kind"), json_shown(row, "reason"));
        title = "";
    }
}

/* Draws a signal in one line: a bar of eight heights for each of its points. */
static void write_curve(const cJSON *curve, char *out, size_t bytes)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const cJSON *point;
    double low = INFINITY, high = -INFINITY;
    size_t used = 0;
    cJSON_ArrayForEach (point, curve) {
        low = fmin(low, point->valuedouble);
        high = fmax(high, point->valuedouble);
    }
    out[0] = '\0';
    cJSON_ArrayForEach (point, curve) {
        double share = high > low ? (point->valuedouble - low) / (high - low) : 0;
        if (used + 4 <= bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s", bars[(int)fmin(7, floor(share * 8))]);
    }
}

/* Appends the first samples: sequences as text, signals as curves, rows of a table as a table. Returns false if the
 * server sent none. */
static bool write_first(struct buf *out, const cJSON *set, const struct term *term)
{
    enum { SHOWN = 6, CELL = 400 }; /* columns of values; bytes of a cell */
    const cJSON *sample = NULL, *word = NULL, *columns = json_member(set, "columns");
    struct table table;
    char head[512] = "LABEL", text[CELL];
    int values = cJSON_GetArraySize(json_member(cJSON_GetArrayItem(json_member(set, "first"), 0), "values"));
    values = values < SHOWN ? values : SHOWN;
    if (cJSON_GetArraySize(json_member(set, "first")) == 0)
        return false;
    for (int j = 0; j < values; j++) {
        const char *name = json_string(cJSON_GetArrayItem(columns, j), "name");
        size_t used = strlen(head);
        snprintf(head + used, sizeof(head) - used, "|>%.40s", name && !strchr(name, '|') ? name : "?");
    }
    table_init(&table, values > 0 ? head : "LABEL|FIRST SAMPLES");
    cJSON_ArrayForEach (sample, json_member(set, "first")) {
        text[0] = '\0';
        cJSON_ArrayForEach (word, json_member(sample, "label")) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? " " : "",
                     cJSON_IsString(word) ? word->valuestring : "?");
        }
        table_add(&table, text[0] ? text : "-");
        if (json_member(sample, "curve")) {
            write_curve(json_member(sample, "curve"), text, sizeof text);
            table_add(&table, text);
        } else if (values == 0) {
            snprintf(text, sizeof(text), "%.*s", term->columns > 40 ? term->columns - 24 : 16,
                     json_shown(sample, "text"));
            table_add(&table, text);
        }
        for (int j = 0; j < values; j++) {
            view_scalar(cJSON_GetArrayItem(json_member(sample, "values"), j), text, sizeof(text));
            table_add(&table, text);
        }
    }
    buf_text(out, "\n");
    table_write(&table, term->colour, out);
    table_close(&table);
    return true;
}

enum { THUMBNAIL = 64 }; /* columns of the thumbnail */

/* Removes lines that contain only blanks, except for the first line, and blanks at the ends of lines. */
static void leave_out_blank_lines(struct buf *text)
{
    size_t kept = 0, at = 0;
    while (!text->failed && at < text->size) {
        char *end = memchr(text->data + at, '\n', text->size - at);
        size_t next = end ? (size_t)(end - text->data) + 1 : text->size, last = end ? next - 1 : next;
        while (last > at && text->data[last - 1] == ' ')
            last--;
        bool blank = last == at && at > 0;
        memmove(text->data + kept, text->data + at, last - at);
        kept += last - at;
        if (!blank)
            text->data[kept++] = '\n';
        at = next;
    }
    text->size = kept;
}

/* Draws the picture of the first samples. If the server sends no picture, draws nothing and reports no error, because
 * the document about the data set is already printed. */
static void draw_preview(struct ctl *ctl, const char *name)
{
    struct buf path, out;
    struct http_answer answer = {.status = 0};
    struct error err = {0};
    float *grey = NULL;
    int rows = 0, cols = 0;
    buf_init(&path, 4096);
    buf_init(&out, 16u << 20);
    buf_text(&path, "/v1/datasets/");
    http_escape(&path, name);
    buf_text(&path, "/preview");
    const struct http_request request = {.method = "GET", .path = path.data, .accept = "image/png"};
    if (!path.failed && !http_call(ctl->http, &request, &answer, &err)) {
        if (answer.status == 200 &&
            !png_decode_grey(answer.body.data, answer.body.size, PNG_MAX_SIDE, &grey, &rows, &cols, &err)) {
            buf_text(&out, "\n");
            draw_motif_map(&out, &(struct draw_image){rows, cols, grey}, NULL, 0,
                           ctl->out.columns < THUMBNAIL ? ctl->out.columns : THUMBNAIL, ctl->out.colour);
            leave_out_blank_lines(&out);
            term_flush(&ctl->out, &out);
        }
    }
    http_answer_close(&answer);
    free(grey);
    buf_close(&out);
    buf_close(&path);
}

static void view_dataset(struct ctl *ctl, const cJSON *set)
{
    struct buf out;
    if (ctl->quiet) {
        fprintf(ctl->out.stream, "%s\n", json_shown(set, "name"));
        return;
    }
    print_dataset(ctl, set);
    buf_init(&out, 4u << 20);
    view_object(&out, json_member(set, "values"), ctl->out.colour);
    write_names(&out, "names in the labels, with their counts", json_member(set, "vocabulary"), ctl->out.columns);
    write_names(&out, "numbers that are targets", json_member(set, "numbers"), ctl->out.columns);
    write_names(&out, "columns", json_member(set, "columns"), ctl->out.columns);
    write_names(&out, "groups, with their counts", json_member(set, "groups"), ctl->out.columns);
    view_division(&out, json_member(set, "division"), ctl->out.colour);
    bool listed = write_first(&out, set, &ctl->out);
    write_kinds(&out, json_shown(set, "name"), json_member(set, "kinds"));
    term_flush(&ctl->out, &out);
    buf_close(&out);
    fflush(ctl->out.stream);
    if (json_string(set, "name") && !listed)
        draw_preview(ctl, json_string(set, "name"));
}

/* The options that motifctl sends as parameters of the upload. A parameter has the name of its member: --label-column
 * becomes label_column. */
#undef UPLOAD_TEXT
#undef UPLOAD_INTEGER
#undef UPLOAD_CHOICE
#undef UPLOAD_LAYOUT
#undef UPLOAD_FLAG
#define UPLOAD_TEXT(BIT, member, most, what, some, some_meaning, other, flag, ...) {#member, flag, false},
#define UPLOAD_INTEGER(BIT, member, low, high, none, what, some, some_meaning, other, flag, ...) {#member, flag, false},
#define UPLOAD_CHOICE(BIT, member, all, stated, none, what, some, some_meaning, other, flag, ...)                      \
    {#member, flag, false},
#define UPLOAD_FLAG(BIT, member, what, some, some_meaning, other, flag, ...) {#member, flag, true},
#define UPLOAD_LAYOUT(...)
static const struct {
    const char *name, *flag;
    bool bare; /* the option has no value */
} uploaded[] = {
#include "core/data/uploads/options.inc"
};

/* Appends the value of an option. Options that name columns may be repeated: their values become a list. */
static void add_value(struct buf *path, const struct options *args, const char *flag)
{
    bool list = strcmp(flag, "label") == 0 || strcmp(flag, "ignore") == 0, more = false;
    for (size_t i = 0; list && i < args->option_count; i++) {
        if (strcmp(args->options[i].name, flag) != 0)
            continue;
        buf_text(path, more ? "," : "");
        http_escape(path, args->options[i].value);
        more = true;
    }
    if (!list)
        http_escape(path, options_value(args, flag));
}

static int send(struct ctl *ctl, const struct options *args, const char *name, FILE *file, const char *format)
{
    char hash[HASH_TEXT];
    struct buf path;
    int64_t bytes, from;
    int code = hash_file(ctl, file, args->positional[2], hash, &bytes);
    if (code != CTL_SUCCESS)
        return code;
    from = already_there(ctl, hash);
    from = from > bytes ? 0 : from;
    if (from > 0 && !ctl->json)
        fprintf(ctl->err.stream, "%lld of %lld bytes were uploaded earlier\n", (long long)from, (long long)bytes);
    buf_init(&path, 4096);
    buf_text(&path, "/v1/datasets/");
    http_escape(&path, name);
    buf_format(&path, "?format=%s&sha256=%s&offset=%lld", format, hash, (long long)from);
    for (size_t i = 0; i < sizeof uploaded / sizeof uploaded[0]; i++) {
        if (!options_has(args, uploaded[i].flag))
            continue;
        buf_format(&path, "&%s=", uploaded[i].name);
        if (uploaded[i].bare)
            buf_text(&path, "1");
        else
            add_value(&path, args, uploaded[i].flag);
    }
    buf_text(&path, options_has(args, "dry-run") ? "&dry_run=1" : "");
    const char *layout = options_has(args, "channels-first")  ? "channels-first"
                         : options_has(args, "channels-last") ? "channels-last"
                         : options_has(args, "signals")       ? "signals"
                                                              : NULL;
    if (layout)
        buf_format(&path, "&layout=%s", layout);
    struct http_request request = {.method = "PUT",
                                   .path = path.data,
                                   .from = file,
                                   .from_bytes = bytes - from,
                                   .type = "application/octet-stream"};
    if (path.failed)
        code = ctl_usage(ctl, "the name is too long, or there is not enough memory for it");
    else if (fseeko(file, from, SEEK_SET) != 0)
        code = ctl_usage(ctl, "%s cannot be read", args->positional[2]);
    else
        code = ctl_show(ctl, &request, print_dataset);
    buf_close(&path);
    return code;
}

static int commands_datasets_put(struct ctl *ctl, const struct options *args)
{
    const char *name = args->positional[1], *path = args->positional[2], *format = options_value(args, "format");
    char found[32];
    int code = CTL_SUCCESS;
    char fault_at[1024];
    struct stat what;
    bool folder = stat(path, &what) == 0 && S_ISDIR(what.st_mode);
    if (folder && format && strcmp(format, "tar") != 0)
        return ctl_usage(ctl, "%s is a folder, which motifctl packs as a tar; leave out --format %s, or name a file",
                         path, format);
    if (folder && !ctl->json && !ctl->quiet)
        fprintf(ctl->err.stream, "packing %s ...\n", path);
    size_t left_out = 0;
    char temporary[CTL_TEMPORARY];
    int packed = folder ? ctl_temporary(temporary) : -1;
    if (packed >= 0)
        unlink(temporary);
    FILE *file = !folder ? fopen(path, "rb") : packed < 0 ? NULL : fdopen(packed, "w+b");
    if (!file) {
        descriptor_close(&packed);
        return ctl_usage(ctl, "%s cannot be %s", path,
                         folder ? "packed: no temporary file can be made; TMPDIR chooses its folder" : "read");
    }
    const char *fault = folder ? folder_tar_write(path, file, &left_out, fault_at, sizeof fault_at) : NULL;
    if (fault) {
        fclose(file);
        return ctl_usage(ctl, "%s %s", fault_at, fault);
    }
    if (left_out > 0)
        fprintf(ctl->err.stream, "%zu links and special files of %s were left out; copy them there as files\n",
                left_out, path);
    rewind(file);
    if (!format && folder) {
        format = "tar";
    } else if (!format) {
        code = find_format(ctl, path, found);
        format = found;
    }
    if (code == CTL_SUCCESS)
        code = format[0] ? send(ctl, args, name, file, format)
                         : ctl_usage(ctl, "the ending of %s names no upload format; name it with --format", path);
    fclose(file);
    return code;
}

static void view_list(struct ctl *ctl, const cJSON *document)
{
    const cJSON *set;
    struct table table;
    char text[112];
    cJSON_ArrayForEach (set, json_member(document, "datasets"))
        if (ctl->quiet)
            fprintf(ctl->out.stream, "%s\n", json_shown(set, "name"));
    if (ctl->quiet)
        return;
    table_init(&table, "NAME|KIND|TARGET|>SAMPLES|>SHAPE|>NAMES|>SIZE");
    cJSON_ArrayForEach (set, json_member(document, "datasets")) {
        const cJSON *shape = json_member(set, "shape");
        table_add(&table, json_string(set, "name"));
        table_add(&table, json_string(set, "kind"));
        table_add(&table, json_string(set, "target"));
        table_add(&table, json_fixed(set, "samples", 0).text);
        snprintf(text, sizeof text, "%sx%sx%s", json_fixed(shape, "channels", 0).text,
                 json_fixed(shape, "rows", 0).text, json_fixed(shape, "cols", 0).text);
        table_add(&table, text);
        snprintf(text, sizeof text, "%d", cJSON_GetArraySize(json_member(set, "vocabulary")));
        table_add(&table, text);
        term_bytes(text, sizeof text, json_number(set, "bytes"));
        table_add(&table, text);
    }
    term_table(&ctl->out, &table);
}

/* Shows or deletes a data set, or saves its picture. */
static int commands_datasets_act(struct ctl *ctl, const struct options *args, const char *verb)
{
    struct buf path, file;
    const char *name = args->positional[1], *output = options_value(args, "output");
    struct http_request request = {.method = "GET"};
    int code;
    buf_init(&path, 4096);
    buf_init(&file, 256);
    buf_text(&path, "/v1/datasets/");
    http_escape(&path, name);
    bool picture = strcmp(verb, "preview") == 0;
    buf_text(&path, picture ? "/preview" : "");
    buf_format(&file, "%s.png", name);
    request.path = path.data;
    if (path.failed || file.failed) {
        code = ctl_usage(ctl, "the name is too long, or there is not enough memory for it");
    } else if (strcmp(verb, "show") == 0) {
        code = ctl_show(ctl, &request, view_dataset);
    } else if (picture) {
        request.accept = "image/png";
        code = ctl_save(ctl, &request, output ? output : file.data);
    } else {
        struct http_answer answer;
        request.method = "DELETE";
        code = ctl_call(ctl, &request, &answer, NULL);
        http_answer_close(&answer);
    }
    buf_close(&path);
    buf_close(&file);
    return code;
}

/* Returns the first option that is stated and that the verb does not use; NULL: there is none. */
static const char *unused(const struct options *args, const char *verb)
{
    for (const struct config_field *o = options; o->name; o++) {
        bool output = strcmp(o->name, "output") == 0;
        bool used = strcmp(verb, output ? "preview" : "put") == 0;
        if (options_has(args, o->name) && !used)
            return o->name;
    }
    return NULL;
}

static int commands_datasets_run(struct ctl *ctl, const struct options *args)
{
    const char *verb = args->positional_count > 0 ? args->positional[0] : "list";
    bool one = strcmp(verb, "show") == 0 || strcmp(verb, "preview") == 0 || strcmp(verb, "delete") == 0;
    const char *odd = unused(args, verb);
    if (odd)
        return ctl_usage(ctl, "--%s is not an option of datasets %s", odd, verb);
    if (strcmp(verb, "list") == 0 && args->positional_count <= 1)
        return ctl_show(ctl, &(struct http_request){.method = "GET", .path = "/v1/datasets"}, view_list);
    if (strcmp(verb, "put") == 0 && args->positional_count == 3)
        return commands_datasets_put(ctl, args);
    if (one && args->positional_count == 2)
        return commands_datasets_act(ctl, args, verb);
    return ctl_usage(ctl, "datasets [list] | put NAME FILE|FOLDER | show NAME | preview NAME | delete NAME");
}

const struct command command_datasets = {
    .name = "datasets",
    .arguments = "[list | put NAME FILE|FOLDER | show NAME | preview NAME | delete NAME]",
    .summary = "upload, list, show and delete data sets of your own",
    .text =
        "Use `put` to train on your own data: a file, or a folder, which motifctl packs as a tar. The server checks "
        "the file while it arrives. `GET /v1/datasets` lists the formats that it reads. A data set never changes. "
        "Repeat the command to resume an interrupted "
        "upload. `show` prints the names with their counts, and draws the first samples.",
    .example = "  motifctl datasets put digits digits.npz\n"
               "  motifctl datasets show digits\n"
               "  motifctl datasets preview digits\n"
               "  motifctl submit --preset dataset --set dataset_name=digits",
    .options = options,
    .least = 0,
    .most = 3,
    .run = commands_datasets_run,
};
