/* Sends a file of records or rows in several requests, with at most QUERY_PIECE inputs each, because the server
 * limits the inputs of a request (query_pieces.h). */
#include "api/client/query_pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

enum { QUERY_PIECE = 256 }; /* upper limit of the inputs in one request */

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
            cJSON_AddStringToObject(answer, QUERY_RECORD, name);
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

int query_pieces_ask(struct ctl *ctl, const struct query_input *input, cJSON **document)
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

int query_pieces_save(struct ctl *ctl, const struct query_input *input, const char *file)
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
