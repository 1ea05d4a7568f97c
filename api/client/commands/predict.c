/* `motifctl predict`: asks a trained model of any kind about new data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/ctl.h"
#include "api/client/query_input.h"
#include "core/base/utf8.h"

/* Sends a file of records or rows in several requests, with at most QUERY_PIECE inputs each, because the server
 * limits the inputs of a request. */

enum { QUERY_PIECE = 256 }; /* upper limit of the inputs in one request */

#define RECORD "record" /* in this member, each answer has the name of its input */

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

struct pieces {
    const struct query_input *input; /* outlives this struct */
    struct buf body;                 /* the body of the current request */
    size_t at;                       /* first byte of the next piece */
    size_t header;                   /* bytes of a table's header, which every piece repeats; 0: there is none */
};

static bool has_records(const struct query_input *input)
{
    return strcmp(input->pieces, "records") == 0;
}

/* Returns the length in bytes of the first `most` records of a text. Each record begins with '>' at the start of a
 * line. */
static size_t records_of(const char *text, size_t bytes, int most)
{
    int count = 0;
    for (size_t at = 0; at < bytes; at++)
        if (text[at] == '>' && (at == 0 || text[at - 1] == '\n') && count++ == most)
            return at;
    return bytes;
}

/* Returns the length in bytes of the first `most` rows of a table, or lines of texts. A row may contain line ends
 * between double quotes. */
static size_t rows_of(const char *text, size_t bytes, int most, bool quotes)
{
    bool quoted = false;
    int count = 0;
    for (size_t at = 0; at < bytes; at++) {
        quoted ^= quotes && text[at] == '"';
        if (text[at] == '\n' && !quoted && ++count == most)
            return at + 1;
    }
    return bytes;
}

static void pieces_init(struct pieces *pieces, const struct query_input *input)
{
    *pieces = (struct pieces){.input = input};
    buf_init(&pieces->body, 2 * input->body.size + 1);
    if (strcmp(input->pieces, "rows") == 0)
        pieces->header = rows_of(input->body.data, input->body.size, 1, true);
    pieces->at = pieces->header;
}

static void pieces_close(struct pieces *pieces)
{
    buf_close(&pieces->body);
}

/* Makes the next request. Returns false if all records or rows have been sent, or if memory is short (body.failed is
 * true). */
static bool pieces_next(struct pieces *pieces, struct http_request *request)
{
    const struct buf *file = &pieces->input->body;
    size_t left = file->size - pieces->at;
    /* A table that has a header and no rows is sent as well, so that the server says what is wrong with it. */
    bool only_header = pieces->at == pieces->header && left == 0;
    if ((left == 0 && !only_header) || file->size == 0 || (only_header && pieces->body.size > 0))
        return false;
    size_t size = has_records(pieces->input) ? records_of(file->data + pieces->at, left, QUERY_PIECE)
                                             : rows_of(file->data + pieces->at, left, QUERY_PIECE, pieces->header > 0);
    buf_clear(&pieces->body);
    buf_append(&pieces->body, file->data, pieces->header);
    buf_append(&pieces->body, file->data + pieces->at, size);
    pieces->at += size;
    *request = query_input_request(pieces->input);
    request->body = pieces->body.data;
    request->body_bytes = pieces->body.size;
    return !pieces->body.failed;
}

/* ---- one document ------------------------------------------------------------------------------------------------ */

/* Adds to each answer the name of its record: the first word after '>'. */
static void add_names(const cJSON *answers, const char *text, size_t bytes)
{
    cJSON *answer = answers ? answers->child : NULL;
    for (size_t at = 0; answer && at < bytes; at++) {
        if (text[at] != '>' || (at > 0 && text[at - 1] != '\n'))
            continue;
        char name[80];
        size_t length = 0;
        while (at + 1 + length < bytes && length + 1 < sizeof name && !strchr(" \t\r\n", text[at + 1 + length]))
            length++;
        memcpy(name, text + at + 1, length);
        name[length] = '\0';
        if (length > 0 && utf8_printable(name, length))
            cJSON_AddStringToObject(answer, RECORD, name);
        answer = answer->next;
    }
}

/* Appends the answers of `part` to those of the document. Takes ownership of `part`. Returns false if `part` has no
 * list of answers. */
static bool join_answers(cJSON **document, cJSON *part)
{
    cJSON *more = cJSON_GetObjectItemCaseSensitive(part, "answers");
    bool good = cJSON_IsArray(more);
    if (good && !*document) {
        *document = part;
        return true;
    }
    while (good && more->child)
        cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(*document, "answers"),
                             cJSON_DetachItemViaPointer(more, more->child));
    cJSON_Delete(part);
    return good;
}

static int no_memory(struct ctl *ctl)
{
    return ctl_usage(ctl, "there is not enough memory for the file");
}

/* Sends all requests, and joins the answers in one document, which the caller frees. input->pieces must not be NULL.
 * Returns an exit code. */
static int query_pieces_ask(struct ctl *ctl, const struct query_input *input, cJSON **document)
{
    struct pieces pieces;
    struct http_request request;
    int code = CTL_SUCCESS;
    *document = NULL;
    pieces_init(&pieces, input);
    while (code == CTL_SUCCESS && pieces_next(&pieces, &request)) {
        struct http_answer answer;
        struct error err = {0};
        cJSON *part = NULL;
        code = ctl_call(ctl, &request, &answer, &part);
        http_answer_close(&answer);
        if (has_records(input))
            add_names(json_member(part, "answers"), request.body, request.body_bytes);
        if (!join_answers(document, part) && code == CTL_SUCCESS) {
            error_set(&err, STATUS_CORRUPT, NULL, "the server's answer contains no answers; is it motifd?");
            code = ctl_fault(ctl, CTL_FAILED, &err);
        }
    }
    if (code == CTL_SUCCESS && pieces.body.failed)
        code = no_memory(ctl);
    pieces_close(&pieces);
    return code;
}

/* ---- one array --------------------------------------------------------------------------------------------------- */

#define SHAPE "'shape': ("

/* NPY_HEAD: bytes of a .npy file before its header; NPY_LINE: upper limit of the bytes of the header */
enum { NPY_HEAD = 10, NPY_LINE = 256 };

struct joined {
    /* parts of the first answer's header; before: the text before the first dimension; after: the text behind that
     * dimension */
    char before[NPY_LINE], after[NPY_LINE];
    long long rows;
    struct buf values;
};

/* Splits an answer, a .npy file of version 1, into the parts of its header and its values. */
static bool split_array(const struct buf *body, char before[NPY_LINE], char after[NPY_LINE], long long *rows,
                        size_t *values)
{
    char header[NPY_LINE], *shape, *rest;
    const unsigned char *bytes = (const unsigned char *)body->data;
    if (body->size < NPY_HEAD || memcmp(bytes, "\x93NUMPY\x01", 7) != 0)
        return false;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    *values = NPY_HEAD + length;
    if (length >= sizeof header || *values > body->size)
        return false;
    memcpy(header, body->data + NPY_HEAD, length);
    for (; length > 0 && (header[length - 1] == ' ' || header[length - 1] == '\n'); length--)
        continue;
    header[length] = '\0';
    shape = strstr(header, SHAPE);
    if (!shape)
        return false;
    shape += strlen(SHAPE);
    *rows = strtoll(shape, &rest, 10);
    snprintf(after, NPY_LINE, "%s", rest);
    *shape = '\0';
    snprintf(before, NPY_LINE, "%s", header);
    return *rows > 0;
}

/* Appends the values of an answer. */
static enum status join_array(struct joined *joined, const struct buf *body, struct error *err)
{
    char before[NPY_LINE], after[NPY_LINE];
    long long rows;
    size_t values;
    if (!split_array(body, before, after, &rows, &values))
        return error_set(err, STATUS_INVALID, NULL, "the server's answer is not a .npy file");
    if (joined->rows == 0) {
        memcpy(joined->before, before, sizeof before);
        memcpy(joined->after, after, sizeof after);
    } else if (strcmp(joined->before, before) != 0 || strcmp(joined->after, after) != 0) {
        return error_set(err, STATUS_INVALID, NULL,
                         "the answers have different shapes, so they do not fit into one array");
    }
    joined->rows += rows;
    buf_append(&joined->values, body->data + values, body->size - values);
    return joined->values.failed ? error_memory(err, "the answer") : STATUS_OK;
}

static int save_joined(struct ctl *ctl, const struct joined *joined, const char *file)
{
    char header[2 * NPY_LINE + 32];
    struct buf out;
    int length = snprintf(header, sizeof header, "%s%lld%s", joined->before, joined->rows, joined->after);
    size_t padded =
        ((size_t)length + 1 + NPY_HEAD + 63) / 64 * 64 - NPY_HEAD; /* the values must begin at a multiple of 64 bytes */
    const unsigned char head[NPY_HEAD] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8)};
    buf_init(&out, joined->values.size + NPY_HEAD + padded);
    buf_append(&out, head, sizeof head);
    buf_format(&out, "%-*s\n", (int)padded - 1, header);
    buf_append(&out, joined->values.data, joined->values.size);
    int code = out.failed ? no_memory(ctl) : ctl_write_file(ctl, file, &out);
    buf_close(&out);
    return code;
}

/* Sends all requests, and writes the numbers of all answers to one .npy file. input->pieces must not be NULL. Returns
 * an exit code. */
static int query_pieces_save(struct ctl *ctl, const struct query_input *input, const char *file)
{
    struct pieces pieces;
    struct joined joined = {.rows = 0};
    struct http_request request;
    int code = CTL_SUCCESS;
    pieces_init(&pieces, input);
    buf_init(&joined.values, SIZE_MAX / 2);
    while (code == CTL_SUCCESS && pieces_next(&pieces, &request)) {
        struct http_answer answer;
        struct error err = {0};
        request.accept = "application/x-npy";
        code = ctl_call(ctl, &request, &answer, NULL);
        if (code == CTL_SUCCESS && join_array(&joined, &answer.body, &err))
            code = ctl_fault(ctl, CTL_FAILED, &err);
        http_answer_close(&answer);
    }
    if (code == CTL_SUCCESS)
        code = pieces.body.failed ? no_memory(ctl) : save_joined(ctl, &joined, file);
    buf_close(&joined.values);
    pieces_close(&pieces);
    return code;
}

#define RECORD "record" /* in this member, each answer has the name of its input */

static const struct config_field options[] = {
    QUERY_INPUT_OPTIONS,
    OPTION_TEXT("query", "NAME", "predict, or another query of the kind, such as encode (predict)"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTIONS_END,
};

enum { SHOWN = 12 }; /* at most this many items of a list are printed */

/* Appends an object of a list on its own line, with those members that are values or lists of values. */
static void write_item(struct buf *out, const cJSON *item)
{
    const cJSON *member, *value;
    char text[96];
    buf_text(out, "\n   ");
    cJSON_ArrayForEach (member, item) {
        if (cJSON_IsObject(member))
            continue;
        buf_format(out, " %s", member->string);
        if (!cJSON_IsArray(member)) {
            view_scalar(member, text, sizeof text);
            buf_format(out, " %s", text);
        }
        cJSON_ArrayForEach (value, member) {
            view_scalar(value, text, sizeof text);
            buf_format(out, " %s", text);
        }
    }
}

/* Appends a list of values, of tokens with their probabilities, of names with their scores, or of objects. Shortens a
 * long list. */
static void write_list(struct buf *out, const cJSON *list)
{
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach (item, list) {
        char text[96] = "...", share[32];
        const char *token = json_string(item, "token"), *name = json_string(item, "name");
        bool scored = name && json_member(item, "score");
        if (count < SHOWN && cJSON_IsObject(item) && !token && !scored) {
            write_item(out, item);
        } else if (count <= SHOWN) {
            term_percent(share, sizeof share, json_number(item, "probability"));
            if (count < SHOWN && token)
                snprintf(text, sizeof text, "%.48s (%s)", token, share);
            else if (count < SHOWN && scored)
                snprintf(text, sizeof text, "%.48s %.2f", name, json_number(item, "score"));
            else if (count < SHOWN && !cJSON_IsArray(item))
                view_scalar(item, text, sizeof text);
            buf_format(out, "%s%s", count > 0 ? " " : "", text);
        }
        count++;
    }
    buf_text(out, count > 0 ? "\n" : "nothing\n");
}

/* Prints each member of each answer on its own line. Leaves out members without a value. */
static void view_answers(struct ctl *ctl, const cJSON *document)
{
    const cJSON *answer, *member, *warning;
    const char *absent = json_string(document, "absent"); /* the name that the empty label stands for */
    struct buf out;
    int index = 0;
    buf_init(&out, 64u << 20);
    cJSON_ArrayForEach (answer, json_member(document, "answers")) {
        const char *name = json_string(answer, RECORD);
        buf_format(&out, "input %d%s%s\n", index++, name ? "  " : "", name ? name : "");
        cJSON_ArrayForEach (member, answer) {
            char text[256];
            if (cJSON_IsObject(member) || cJSON_IsNull(member) || strcmp(member->string, "warnings") == 0 ||
                strcmp(member->string, RECORD) == 0)
                continue;
            buf_format(&out, "  %-14s ", member->string);
            if (absent && cJSON_IsArray(member) && !member->child && strcmp(member->string, "prediction") == 0) {
                buf_format(&out, "%s\n", absent);
                continue;
            }
            if (cJSON_IsArray(member)) {
                write_list(&out, member);
                continue;
            }
            view_scalar(member, text, sizeof text);
            buf_format(&out, "%s\n", text);
        }
        cJSON_ArrayForEach (warning, json_member(answer, "warnings"))
            buf_format(&out, "  warning: %s\n", json_shown(warning, "text"));
    }
    term_flush(&ctl->out, &out);
    buf_close(&out);
}

static int show_records(struct ctl *ctl, const struct query_input *input)
{
    cJSON *document = NULL;
    int code = query_pieces_ask(ctl, input, &document);
    if (code == CTL_SUCCESS && ctl->json)
        ctl_print_json(ctl, document);
    else if (code == CTL_SUCCESS)
        view_answers(ctl, document);
    cJSON_Delete(document);
    return code;
}

static int predict_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID];
    const char *query = options_value(args, "query"), *output = options_value(args, "output");
    struct query_input input;
    if (!options_has(args, "input") && !options_has(args, "text"))
        return ctl_usage(ctl, "--input FILE or --text TEXT is required");
    if (query && strspn(query, "abcdefghijklmnopqrstuvwxyz-") != strlen(query))
        return ctl_usage(ctl, "--query must be the name of a query, such as encode");
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    code = query_input_read(ctl, args, id, query ? query : "predict", &input);
    struct http_request request = query_input_request(&input);
    if (code == CTL_SUCCESS && input.pieces)
        code = output ? query_pieces_save(ctl, &input, output) : show_records(ctl, &input);
    else if (code == CTL_SUCCESS)
        code = output ? query_input_save(ctl, &input, output) : ctl_show(ctl, &request, view_answers);
    query_input_close(&input);
    return code;
}

const struct command command_predict = {
    .name = "predict",
    .arguments = "JOB --input FILE",
    .summary = "ask a trained model about new data",
    .text = "Sends a file to the model and prints the model's answer for each input, with a warning if the input "
            "differs much from the training\ndata. A file of sequences, a table (.csv) or a file of texts\n(.txt, "
            "a text on each line) may have any number of records, rows or lines. With --output, it writes the numbers "
            "of the answers to a .npy file,\nwhose first axis is "
            "the input. Not every kind has this query; `motifctl kinds KIND` lists the queries of a kind.",
    .example = "  motifctl predict latest --input new.png\n"
               "  motifctl predict 01JD8 --input many.npy --batch --output labels.npy\n"
               "  motifctl predict 01JD8 --text 'play some jazz'\n"
               "  motifctl predict 01JD8 --input rows.npy --batch --query encode --output codes.npy",
    .options = options,
    .least = 1,
    .most = 1,
    .run = predict_run,
};
