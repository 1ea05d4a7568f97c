/* Shows a study as a table, and follows one to its end. */
#include "api/client/study_show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHOWN_RESULTS = 6 }; /* results in the table of a terminal; --csv writes all */

/* --- show --- */

/* Whether a result is in the list of --result; without the option, whether it is one of the first ones. */
static bool is_shown(const char *wanted, const char *name, int index)
{
    size_t length = strlen(name);
    if (!wanted)
        return index < SHOWN_RESULTS;
    for (const char *at = wanted; *at; at += *at == ',') {
        size_t bytes = strcspn(at, ",");
        if (bytes == length && memcmp(at, name, length) == 0)
            return true;
        at += bytes;
    }
    return false;
}

static int shown_columns(const cJSON *table, const char *wanted, const char *columns[TABLE_COLUMNS])
{
    const cJSON *name = NULL;
    int count = 0, index = 0, room = TABLE_COLUMNS - 1 - cJSON_GetArraySize(json_member(table, "fields"));
    cJSON_ArrayForEach (name, json_member(table, "results")) {
        if (count < room && cJSON_IsString(name) && is_shown(wanted, name->valuestring, index))
            columns[count++] = name->valuestring;
        index++;
    }
    return count;
}

/* folds: show means with their intervals instead of medians with the smallest and the largest value. */
static void show_row(struct table *table, const cJSON *row, const char *const *columns, int count, bool folds)
{
    const cJSON *field = NULL;
    char text[64], range[200];
    cJSON_ArrayForEach (field, json_member(row, "fields")) {
        view_scalar(field, text, sizeof(text));
        table_add(table, text);
    }
    snprintf(text, sizeof(text), "%.0f/%.0f", json_number(row, "done"), json_number(row, "jobs"));
    table_add(table, text);
    for (int i = 0; i < count; i++) {
        const cJSON *result = json_member(json_member(row, "results"), columns[i]);
        char low[48], high[48];
        term_number(text, sizeof(text), json_number(result, folds ? "mean" : "median"));
        term_number(low, sizeof(low), json_number(result, folds ? "low" : "min"));
        term_number(high, sizeof(high), json_number(result, folds ? "high" : "max"));
        snprintf(range, sizeof(range), json_number(result, "count") > 1 ? "%s (%s to %s)" : "%s", text, low, high);
        table_add(table, range);
    }
}

static void show_table(struct ctl *ctl, const cJSON *study, const char *wanted)
{
    const cJSON *document = json_member(study, "table"), *item = NULL;
    const char *columns[TABLE_COLUMNS];
    struct table table;
    struct buf head;
    int count = shown_columns(document, wanted, columns);
    /* The table has no column for the folds of the grid. */
    bool folds = cJSON_GetArraySize(json_member(document, "fields")) < cJSON_GetArraySize(json_member(study, "grid"));
    buf_init(&head, 1 << 16);
    cJSON_ArrayForEach (item, json_member(document, "fields"))
        if (cJSON_IsString(item))
            buf_format(&head, "%s|", item->valuestring);
    buf_text(&head, ">DONE");
    for (int i = 0; i < count; i++)
        buf_format(&head, "|>%s", columns[i]);
    table_init(&table, head.failed ? "" : head.data);
    cJSON_ArrayForEach (item, json_member(document, "rows"))
        show_row(&table, item, columns, count, folds);
    term_table(&ctl->out, &table);
    buf_close(&head);
    if (folds)
        fprintf(ctl->out.stream, "means over the folds, with 95 %% intervals\n");
    int all = cJSON_GetArraySize(json_member(document, "results"));
    if (!wanted && all > count)
        fprintf(ctl->out.stream, "%d more results; --result NAME,NAME selects, --csv prints all\n", all - count);
}

static void show_head(struct ctl *ctl, const cJSON *study)
{
    const cJSON *state = NULL;
    struct buf out;
    buf_init(&out, 1 << 16);
    buf_format(&out, "%s %s: %.0f jobs", job_title(study), json_shown(study, "id"), json_number(study, "count"));
    cJSON_ArrayForEach (state, json_member(study, "states"))
        if (state->valuedouble > 0)
            buf_format(&out, ", %.0f %s", state->valuedouble, state->string);
    buf_text(&out, "\n\n");
    term_flush(&ctl->out, &out);
    buf_close(&out);
}

int study_show(struct ctl *ctl, const struct options *args, const char *path)
{
    cJSON *study = NULL;
    if (options_has(args, "csv")) {
        struct http_answer answer;
        struct http_request request = {.method = "GET", .path = path, .accept = "text/csv"};
        struct error err = {0};
        int code = CTL_SUCCESS;
        if (http_call(ctl->http, &request, &answer, &err))
            code = ctl_fault(ctl, CTL_UNREACHABLE, &err);
        else if (answer.status != 200)
            code = ctl_refused(ctl, &answer);
        else
            term_flush(&ctl->out, &answer.body);
        http_answer_close(&answer);
        return code;
    }
    int code = ctl_get(ctl, path, &study);
    if (code == CTL_SUCCESS && ctl->json) {
        ctl_print_json(ctl, study);
    } else if (code == CTL_SUCCESS && ctl->quiet) {
        fprintf(ctl->out.stream, "%s\n", json_shown(study, "id"));
    } else if (code == CTL_SUCCESS) {
        show_head(ctl, study);
        show_table(ctl, study, options_value(args, "result"));
    }
    cJSON_Delete(study);
    return code;
}

/* --- watch --- */

/* Writes how many jobs are in which state. */
static void progress_line(const cJSON *study, struct buf *out)
{
    const cJSON *state = NULL;
    buf_format(out, " %3.0f %%", floor(json_number(study, "fraction") * 100));
    cJSON_ArrayForEach (state, json_member(study, "states"))
        if (state->valuedouble > 0)
            buf_format(out, "  %.0f %s", state->valuedouble, state->string);
}

/* Draws the progress: on a terminal one line that changes, elsewhere a line for each change. */
static void study_show_draw(struct ctl *ctl, const cJSON *study, char last[256])
{
    struct buf line, out;
    buf_init(&line, 4096);
    buf_init(&out, 4096);
    progress_line(study, &line);
    if (!line.failed && strncmp(line.data, last, 255) != 0) {
        snprintf(last, 256, "%s", line.data);
        if (ctl->err.live) {
            buf_text(&out, "\r\033[2K");
            term_bar(&out, json_number(study, "fraction"), 24);
        }
        buf_format(&out, ctl->err.live ? "%s" : "%s\n", line.data);
        term_flush(&ctl->err, &out);
    }
    buf_close(&line);
    buf_close(&out);
}

static void wait_second(void)
{
    const struct timespec time = {1, 0};
    nanosleep(&time, NULL);
}

int watch_study(struct ctl *ctl, const char *id, double patience)
{
    char path[128], brief[160], last[256] = "";
    double lost = 0;
    cJSON *study = NULL;
    snprintf(path, sizeof(path), "/v1/studies/%s", id);
    snprintf(brief, sizeof(brief), "%s?brief=1", path);
    for (;;) {
        struct http_request request = {.method = "GET", .path = brief};
        struct http_answer answer;
        struct error err = {0};
        bool reached = !http_call(ctl->http, &request, &answer, &err) && answer.status != 503;
        int code = reached && answer.status != 200 ? ctl_refused(ctl, &answer) : CTL_SUCCESS;
        if (reached && code == CTL_SUCCESS)
            study = ctl_parse(ctl, answer.body.data, answer.body.size);
        http_answer_close(&answer);
        if (code != CTL_SUCCESS)
            return code;
        lost = reached ? 0 : lost + 1;
        if (lost > patience)
            return ctl_fault(ctl, CTL_UNREACHABLE, &err);
        if (study && !ctl->json && !ctl->quiet)
            study_show_draw(ctl, study, last);
        if (study && job_ended(json_string(study, "state")))
            break;
        cJSON_Delete(study);
        study = NULL;
        wait_second();
    }
    int code = strcmp(json_string(study, "state"), "succeeded") == 0 ? CTL_SUCCESS : CTL_FAILED;
    if (ctl->err.live && !ctl->json && !ctl->quiet)
        fprintf(stderr, "\n");
    cJSON_Delete(study);
    struct options none = {0};
    int shown = study_show(ctl, &none, path);
    return shown != CTL_SUCCESS ? shown : code;
}
