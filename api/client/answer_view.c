/* Prints the answers of a query as text (answer_view.h). */
#include "api/client/answer_view.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/client/query_pieces.h"

enum { SHOWN = 12 }; /* at most this many items of a list are printed */

/* Writes a value, or the values of a list with blanks between them. */
static void write_cell(const cJSON *member, char *out, size_t bytes)
{
    const cJSON *value;
    out[0] = '\0';
    if (!cJSON_IsArray(member)) {
        view_scalar(member, out, bytes);
        return;
    }
    cJSON_ArrayForEach (value, member) {
        char text[64];
        size_t used = strlen(out);
        view_scalar(value, text, sizeof text);
        snprintf(out + used, bytes - used, "%s%s", used > 0 ? " " : "", text);
    }
    if (!out[0])
        snprintf(out, bytes, "-");
}

/* Appends a list of objects as a table. Its columns are those members of the first object that are no objects. */
static void write_objects(struct buf *out, const cJSON *list)
{
    const cJSON *item, *member;
    char head[512] = "", cell[200];
    struct table table;
    int count = 0;
    cJSON_ArrayForEach (member, list->child) {
        size_t used = strlen(head);
        if (!cJSON_IsObject(member) && used < sizeof head - 64)
            snprintf(head + used, sizeof head - used, "%s%s%.48s", used > 0 ? "|" : "",
                     cJSON_IsNumber(member) ? ">" : "", member->string);
    }
    if (!head[0]) {
        buf_text(out, "nothing\n");
        return;
    }
    for (char *c = head; *c; c++)
        *c = *c == '_' ? ' ' : (char)toupper((unsigned char)*c);
    table_init(&table, head);
    cJSON_ArrayForEach (item, list) {
        int column = 0;
        if (count++ >= SHOWN)
            continue;
        cJSON_ArrayForEach (member, list->child) {
            if (cJSON_IsObject(member) || column++ >= table.columns)
                continue;
            write_cell(json_member(item, member->string), cell, sizeof cell);
            table_add(&table, cell);
        }
    }
    buf_text(out, "\n");
    table_write(&table, false, out);
    table_close(&table);
    if (count > SHOWN)
        buf_format(out, "and %d more; --json shows them\n", count - SHOWN);
}

/* Appends a list of values, of tokens with their probabilities, of names with their scores, or of objects. Shortens a
 * long list. */
static void write_list(struct buf *out, const cJSON *list)
{
    const cJSON *item, *first = list->child;
    int count = 0;
    if (cJSON_IsObject(first) && !json_string(first, "token") &&
        !(json_string(first, "name") && json_member(first, "score"))) {
        write_objects(out, list);
        return;
    }
    cJSON_ArrayForEach (item, list) {
        char text[96] = "...", share[32];
        const char *token = json_string(item, "token"), *name = json_string(item, "name");
        if (count <= SHOWN) {
            term_percent(share, sizeof share, json_number(item, "probability"));
            if (count < SHOWN && token)
                snprintf(text, sizeof text, "%.48s (%s)", token, share);
            else if (count < SHOWN && name)
                snprintf(text, sizeof text, "%.48s %.2f", name, json_number(item, "score"));
            else if (count < SHOWN && !cJSON_IsArray(item))
                view_scalar(item, text, sizeof text);
            buf_format(out, "%s%s", count > 0 ? " " : "", text);
        }
        count++;
    }
    buf_text(out, count > 0 ? "\n" : "nothing\n");
}

void answers_view(struct ctl *ctl, const cJSON *document)
{
    const cJSON *answer, *member, *warning;
    const char *absent = json_string(document, "absent"); /* the name that the empty label stands for */
    struct buf out;
    int index = 0;
    buf_init(&out, 64u << 20);
    cJSON_ArrayForEach (answer, json_member(document, "answers")) {
        const char *name = json_string(answer, QUERY_RECORD);
        buf_format(&out, "input %d%s%s\n", index++, name ? "  " : "", name ? name : "");
        cJSON_ArrayForEach (member, answer) {
            char text[256];
            if (cJSON_IsObject(member) || cJSON_IsNull(member) || strcmp(member->string, "warnings") == 0 ||
                strcmp(member->string, QUERY_RECORD) == 0)
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
