/* Reads a file from the command line as the input of a query (query_input.h). The ending of the file's name selects the
 * media type from the server's list of formats for the query; the server checks the bytes. */
#include "api/client/query_input.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool query_formats_find(struct query_formats *formats, const char *query, const char *verb)
{
    const cJSON *row;
    formats->formats = formats->files = NULL;
    cJSON_ArrayForEach (row, json_member(formats->kind, "queries")) {
        const char *name = json_string(row, "name"), *method = json_string(row, "method");
        if (name != NULL && method != NULL && strcmp(name, query) == 0 && strcmp(method, verb) == 0) {
            formats->formats = json_member(row, "formats");
            formats->files = json_member(row, "files");
        }
    }
    return formats->formats != NULL;
}

int query_kind_read(struct ctl *ctl, const char *id, struct query_formats *out)
{
    char path[160];
    cJSON *job = NULL;
    *out = (struct query_formats){.kind = NULL};
    snprintf(path, sizeof path, "/v1/jobs/%s", id);
    int code = ctl_get(ctl, path, &job);
    const char *kind = json_string(job, "kind");
    if (code == CTL_SUCCESS && kind != NULL) {
        snprintf(path, sizeof path, "/v1/kinds/%.100s", kind);
        code = ctl_get(ctl, path, &out->kind);
    }
    cJSON_Delete(job);
    return code;
}

int query_formats_read(struct ctl *ctl, const char *id, const char *query, const char *verb, struct query_formats *out)
{
    int code = query_kind_read(ctl, id, out);
    if (code == CTL_SUCCESS && !query_formats_find(out, query, verb))
        code = ctl_usage(ctl, "jobs of the kind %s do not answer the query %s", json_shown(out->kind, "kind"), query);
    return code;
}

void query_formats_close(struct query_formats *formats)
{
    cJSON_Delete(formats->kind);
    *formats = (struct query_formats){.kind = NULL};
}

/* Returns whether the first `length` bytes of a file's name end with a dot and the ending. */
static bool ends_with(const char *file, size_t length, const char *ending)
{
    size_t size = strlen(ending);
    return length > size && file[length - size - 1] == '.' && strncasecmp(file + length - size, ending, size) == 0;
}

const char *query_format_of_file(const cJSON *list, const char *file)
{
    size_t length = strlen(file);
    const cJSON *row, *ending;
    if (ends_with(file, length, "gz"))
        length -= 3;
    cJSON_ArrayForEach (row, list)
        cJSON_ArrayForEach (ending, json_member(row, "endings"))
            if (cJSON_IsString(ending) && ends_with(file, length, ending->valuestring))
                return json_string(row, "media_type");
    return NULL;
}

/* Finds in a list the format whose member `key` has this value; NULL: there is none. */
static const cJSON *format_with(const cJSON *list, const char *key, const char *value)
{
    const cJSON *row;
    cJSON_ArrayForEach (row, list) {
        const char *own = json_string(row, key);
        if (own != NULL && value != NULL && strcmp(own, value) == 0)
            return row;
    }
    return NULL;
}

const char *query_format_named(const cJSON *list, const char *name)
{
    return json_string(format_with(list, "name", name), "media_type");
}

/* Returns in what pieces a file of a media type can be sent: "records" or "rows"; NULL: only as a whole, or type is
 * NULL. The list owns the text. */
static const char *query_format_pieces(const cJSON *list, const char *type)
{
    return json_string(format_with(list, "media_type", type), "pieces");
}

int query_formats_usage(struct ctl *ctl, const cJSON *list, bool endings, const char *fault)
{
    char allowed[256] = "";
    const cJSON *row;
    cJSON_ArrayForEach (row, list) {
        const char *name = json_string(row, "name");
        const cJSON *ending = cJSON_GetArrayItem(json_member(row, "endings"), 0);
        size_t used = strlen(allowed);
        if (endings && cJSON_IsString(ending))
            snprintf(allowed + used, sizeof allowed - used, "%s.%s", used > 0 ? ", " : "", ending->valuestring);
        else if (!endings && name != NULL)
            snprintf(allowed + used, sizeof allowed - used, "%s%s", used > 0 ? ", " : "", name);
    }
    if (allowed[0] == '\0')
        return ctl_usage(ctl, "%s, and the query has no formats of files", fault);
    return ctl_usage(ctl, "%s; allowed are %s", fault, allowed);
}

enum { INPUT_BYTES = 64 << 20 };

int query_input_open(struct ctl *ctl, const struct query_question *question, const char *id, const char *query,
                     struct query_input *input)
{
    const char *file = question->file, *text = question->text;
    char fault[300];
    input->type =
        text ? query_format_named(input->formats.files, "text") : query_format_of_file(input->formats.files, file);
    input->pieces = query_format_pieces(input->formats.files, input->type);
    input->array = input->pieces && strcmp(input->pieces, "axis") == 0;
    input->pieces = input->array ? NULL : input->pieces;
    if (text && !input->type)
        return ctl_usage(ctl, "the query takes no texts");
    if (!input->type) {
        snprintf(fault, sizeof fault, "the ending of %.200s is not that of an input format", file);
        return query_formats_usage(ctl, input->formats.files, true, fault);
    }
    query_input_ask(input, question, id, query);
    if (input->path.failed)
        return ctl_usage(ctl, "--checkpoint is too long, or there is not enough memory for it");
    if (!text)
        return ctl_read_file(ctl, file, INPUT_BYTES, &input->body);
    input->body.limit = strlen(text) + 1;
    for (size_t i = 0; text[i]; i++) /* the server takes each line as a text of its own */
        buf_append(&input->body, text[i] == '\n' || text[i] == '\r' ? " " : text + i, 1);
    return CTL_SUCCESS;
}

void query_input_ask(struct query_input *input, const struct query_question *question, const char *id,
                     const char *query)
{
    buf_clear(&input->path);
    buf_format(&input->path, "/v1/jobs/%s/%s?%s", id, query, question->batch ? "batch=1&" : "");
    buf_text(&input->path, "checkpoint=");
    http_escape(&input->path, question->checkpoint ? question->checkpoint : "latest");
}

void query_input_init(struct query_input *input)
{
    *input = (struct query_input){.type = NULL};
    buf_init(&input->body, 1);
    buf_init(&input->path, 4096);
}

int query_input_read(struct ctl *ctl, const struct options *args, const char *id, const char *query,
                     struct query_input *input)
{
    const struct query_question question = {.file = options_value(args, "input"),
                                            .text = options_value(args, "text"),
                                            .checkpoint = options_value(args, "checkpoint"),
                                            .batch = options_has(args, "batch")};
    query_input_init(input);
    if (question.text && (question.file || question.batch))
        return ctl_usage(ctl, "--text is the whole input; leave out --input and --batch");
    int code = query_formats_read(ctl, id, query, "POST", &input->formats);
    return code == CTL_SUCCESS ? query_input_open(ctl, &question, id, query, input) : code;
}

void query_input_close(struct query_input *input)
{
    buf_close(&input->body);
    buf_close(&input->path);
    query_formats_close(&input->formats);
}

struct http_request query_input_request(const struct query_input *input)
{
    return (struct http_request){.method = "POST",
                                 .path = input->path.data,
                                 .body = input->body.data,
                                 .body_bytes = input->body.size,
                                 .type = input->type};
}

int query_input_save(struct ctl *ctl, const struct query_input *input, const char *file)
{
    struct http_request request = query_input_request(input);
    request.accept = "application/x-npy";
    return ctl_save(ctl, &request, file);
}
