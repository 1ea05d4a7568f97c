/* Formats documents of the server for people: results, errors, confusion matrices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/client/ctl.h"

const char *job_title(const cJSON *job)
{
    static const char *const names[] = {"name", "preset", "kind"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = json_string(job, names[i]);
        if (text && text[0])
            return text;
    }
    return "job";
}

bool job_ended(const char *state)
{
    return state &&
           (strcmp(state, "succeeded") == 0 || strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0);
}

void view_age(const char *time_text, char *out, size_t bytes)
{
    struct tm parts = {0};
    char duration[48];
    const char *end = time_text ? strptime(time_text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    out[0] = 0;
    if (!end)
        return;
    double seconds = difftime(time(NULL), timegm(&parts));
    term_duration(duration, sizeof(duration), seconds < 0 ? 0 : seconds);
    snprintf(out, bytes, "%s ago", duration);
}

void view_scalar(const cJSON *value, char *out, size_t bytes)
{
    if (cJSON_IsString(value))
        snprintf(out, bytes, "%s", value->valuestring);
    else if (cJSON_IsBool(value))
        snprintf(out, bytes, "%s", cJSON_IsTrue(value) ? "yes" : "no");
    else if (cJSON_IsNumber(value) && fabs(value->valuedouble) < 9e15 &&
             value->valuedouble == (double)(long long)value->valuedouble)
        snprintf(out, bytes, "%lld", (long long)value->valuedouble);
    else if (cJSON_IsNumber(value))
        snprintf(out, bytes, "%.6g", value->valuedouble);
    else
        snprintf(out, bytes, "-");
}

void view_division(struct buf *out, const cJSON *division, bool colour)
{
    const cJSON *part = NULL, *name = NULL, *warning = NULL, *parts = json_member(division, "parts");
    bool groups = json_member(cJSON_GetArrayItem(parts, 0), "groups") != NULL;
    struct table table;
    char text[64];
    if (json_string(division, "refused"))
        buf_format(out, "\nnot divided: %s\n", json_shown(division, "refused"));
    if (parts == NULL)
        return;
    buf_format(out, "\ndivided %s\n", json_shown(division, "text"));
    table_init(&table, groups ? "PART|>SAMPLES|>SHARE|>REQUESTED|>NAMES|>GROUPS|NAMES OF GROUPS"
                              : "PART|>SAMPLES|>SHARE|>REQUESTED|>NAMES");
    cJSON_ArrayForEach (part, parts) {
        double requested = json_number(part, "requested");
        int names = 0;
        cJSON_ArrayForEach (name, json_member(part, "names"))
            names += json_number(name, "samples") > 0;
        table_add(&table, part->string);
        table_add(&table, json_fixed(part, "samples", 0).text);
        snprintf(text, sizeof(text), "%.1f %%", 100 * json_number(part, "share"));
        table_add(&table, text);
        snprintf(text, sizeof(text), requested >= 0 ? "%.1f %%" : "stated", 100 * requested);
        table_add(&table, text);
        snprintf(text, sizeof(text), "%d of %d", names, cJSON_GetArraySize(json_member(part, "names")));
        table_add(&table, text);
        if (!groups)
            continue;
        table_add(&table, json_fixed(part, "group_count", 0).text);
        text[0] = '\0';
        cJSON_ArrayForEach (name, json_member(part, "groups")) {
            size_t used = strlen(text);
            if (used > 36) {
                snprintf(text + used, sizeof(text) - used, ", ...");
                break;
            }
            const char *shown = json_shown(name, "name");
            int bytes = (int)strnlen(shown, 20);
            while (bytes > 0 && ((unsigned char)shown[bytes] & 0xC0) == 0x80) /* within a character */
                bytes--;
            snprintf(text + used, sizeof(text) - used, "%s%.*s", used > 0 ? ", " : "", bytes, shown);
        }
        table_add(&table, text);
    }
    table_write(&table, colour, out);
    table_close(&table);
    cJSON_ArrayForEach (warning, json_member(division, "warnings"))
        buf_format(out, "warning: %s\n", json_shown(warning, "text"));
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Formats a member: a size if its name ends with "bytes", a duration if its name ends with "seconds". */
static void view_named(const cJSON *member, char *out, size_t bytes)
{
    if (cJSON_IsNumber(member) && ends_with(member->string, "bytes"))
        term_bytes(out, bytes, member->valuedouble);
    else if (cJSON_IsNumber(member) &&
             (ends_with(member->string, "_seconds") || strcmp(member->string, "seconds") == 0))
        term_duration(out, bytes, member->valuedouble);
    else
        view_scalar(member, out, bytes);
}

void view_object(struct buf *out, const cJSON *object, bool colour)
{
    struct table table;
    const cJSON *member = NULL;
    table_init(&table, "NAME|VALUE");
    cJSON_ArrayForEach (member, object) {
        char text[256];
        if (cJSON_IsObject(member) || cJSON_IsArray(member))
            continue;
        view_named(member, text, sizeof(text));
        table_add_styled(&table, member->string, STYLE_DIM);
        table_add(&table, text);
    }
    table_write(&table, colour, out);
    table_close(&table);
}

/* The errors of a result, which are fractions, and the titles under which they are printed as percent. */
static const struct {
    const char *name, *title;
} errors[] = {
    {"fpe", "false positive error (FPE)"}, {"fne", "false negative error (FNE)"}, {"ce", "confusion error (CE)"},
    {"e2ee", "end-to-end error (E2EE)"},   {"exact", "answers exactly right"},
};
#define ERRORS (sizeof(errors) / sizeof(errors[0]))

static bool is_error_name(const char *name)
{
    for (size_t i = 0; i < ERRORS; i++)
        if (strcmp(errors[i].name, name) == 0)
            return true;
    return false;
}

/* Appends a table of the errors with one row for each density. If targets are numbers, the column of the end-to-end
 * error contains R squared instead. */
static void view_by_density(struct buf *out, const cJSON *list, bool colour)
{
    struct table table;
    const cJSON *row = NULL;
    if (cJSON_GetArraySize(list) == 0)
        return;
    bool numbers = json_member(cJSON_GetArrayItem(list, 0), "r2") != NULL;
    table_init(&table, numbers ? ">DENSITY|>FPE|>FNE|>CE|>R2|>CHECKPOINT" : ">DENSITY|>FPE|>FNE|>CE|>E2EE|>CHECKPOINT");
    cJSON_ArrayForEach (row, list) {
        char text[64];
        term_number(text, sizeof(text), json_number(row, "density"));
        table_add(&table, text);
        for (size_t i = 0; i < 4; i++) {
            term_percent(text, sizeof(text), json_number(row, i == 3 && numbers ? "r2" : errors[i].name));
            table_add(&table, text);
        }
        view_scalar(json_member(row, "checkpoint"), text, sizeof(text));
        table_add(&table, text);
    }
    buf_text(out, "\n");
    table_write(&table, colour, out);
    table_close(&table);
}

/* Adds the figures about motifs that can be computed without true boxes. They are left out if the result contains motif
 * errors, which need boxes. */
static void view_motif_counts(struct table *table, const cJSON *result)
{
    const cJSON *counts = json_member(result, "motif_counts");
    char text[96];
    if (!cJSON_IsNull(json_member(result, "fpe")) || !(json_number(counts, "samples") > 0))
        return;
    snprintf(text, sizeof(text), "%.3g; tokens %.3g; as many in %.1f %%", json_number(counts, "motifs"),
             json_number(counts, "tokens"), 100 * json_number(counts, "as_many"));
    table_add(table, "motifs a sample");
    table_add(table, text);
    snprintf(text, sizeof(text), "%.1f %% of motifs, by %.1f %%; in %.1f %% of samples",
             100 * json_number(counts, "motifs_overlapping"), 100 * json_number(counts, "overlap"),
             100 * json_number(counts, "samples_overlapping"));
    table_add(table, "footprints overlap");
    table_add(table, text);
    int channels = cJSON_GetArraySize(json_member(counts, "channels"));
    snprintf(text, sizeof(text), "%.0f of %d; the least at %.2g of an even share",
             channels - json_number(counts, "unused"), channels, json_number(counts, "least_use"));
    table_add(table, "channels used");
    table_add(table, text);
}

int verdict_code(const cJSON *result)
{
    const char *verdict = json_string(result, "verdict");
    if (verdict && strcmp(verdict, "partly") == 0)
        return CTL_PARTLY;
    return verdict && strcmp(verdict, "not-learned") == 0 ? CTL_NOT_LEARNED : CTL_SUCCESS;
}

/* Appends the command or sentence of a finding, with the job's id in place of the word JOB. */
static void next_step(struct buf *out, const char *text, const char *id)
{
    for (const char *at = strstr(text, "JOB"); id && at; at = strstr(text, "JOB")) {
        buf_append(out, text, (size_t)(at - text));
        buf_text(out, id);
        text = at + 3;
    }
    buf_text(out, text);
}

void view_verdict(struct buf *out, const cJSON *result, const char *id, bool colour)
{
    static const enum term_style styles[] = {STYLE_GREEN, STYLE_YELLOW, STYLE_RED};
    const char *verdict = json_string(result, "verdict");
    const cJSON *finding = NULL;
    int code = verdict_code(result);
    if (!verdict)
        return;
    term_style(out, colour, styles[code == CTL_SUCCESS ? 0 : code == CTL_PARTLY ? 1 : 2]);
    buf_text(out, verdict);
    term_style(out, colour, STYLE_PLAIN);
    buf_text(out, "\n");
    cJSON_ArrayForEach (finding, json_member(result, "findings")) {
        const char *next = json_string(finding, "try");
        buf_format(out, "  %s (%s): %s\n", json_shown(finding, "code"), json_shown(finding, "severity"),
                   json_shown(finding, "text"));
        if (!next)
            continue;
        term_style(out, colour, STYLE_DIM);
        buf_text(out, "    try: ");
        next_step(out, next, id);
        term_style(out, colour, STYLE_PLAIN);
        buf_text(out, "\n");
    }
}

void view_result(struct buf *out, const cJSON *result, bool colour)
{
    struct table table;
    const cJSON *member = NULL;
    if (!cJSON_IsObject(result))
        return;
    table_init(&table, "RESULT|");
    for (size_t i = 0; i < ERRORS; i++) {
        char text[64];
        if (i >= 3 && json_member(result, "r2")) /* if targets are numbers, R squared replaces the last two errors */
            continue;
        if (!json_member(result, errors[i].name)) /* only a missing error is left out; null is printed and means that
                                                     nothing was counted */
            continue;
        term_percent(text, sizeof(text), json_number(result, errors[i].name));
        table_add(&table, errors[i].title);
        table_add_styled(&table, text, STYLE_BOLD);
    }
    const cJSON *reference = json_member(result, "reference");
    if (cJSON_IsObject(reference)) {
        const char *kind = json_string(reference, "kind");
        char text[64], title[96];
        bool numbers = json_member(reference, "r2") != NULL;
        snprintf(title, sizeof(title), "reference (%s): %s", kind ? kind : "?", numbers ? "r2" : "exactly right");
        term_percent(text, sizeof(text), json_number(reference, numbers ? "r2" : "exact"));
        table_add(&table, title);
        table_add_styled(&table, text, STYLE_BOLD);
    }
    view_motif_counts(&table, result);
    const char *divided = json_string(json_member(result, "division"), "text"),
               *by = json_string(json_member(result, "evidence"), "by");
    if (divided) {
        table_add(&table, "divided");
        table_add(&table, divided);
    }
    if (by && strcmp(by, "groups") == 0) {
        char text[64];
        (void)snprintf(text, sizeof(text), "of %.0f groups", json_number(json_member(result, "evidence"), "groups"));
        table_add(&table, "intervals");
        table_add(&table, text);
    }
    cJSON_ArrayForEach (member, result) {
        char text[128];
        if (cJSON_IsObject(member) || cJSON_IsArray(member) || cJSON_IsNull(member) || is_error_name(member->string) ||
            strcmp(member->string, "verdict") == 0)
            continue;
        view_named(member, text, sizeof(text));
        table_add_styled(&table, member->string, STYLE_DIM);
        table_add(&table, text);
    }
    table_write(&table, colour, out);
    table_close(&table);
    view_by_density(out, json_member(result, "by_density"), colour);
}

/* Appends a confusion matrix, {"symbols": [...], "channels": [...], "counts": [[...], ...]}: one row for each true
 * symbol, one column for each channel, headed by its name in the list "names", or else by its index. */
void view_confusion(struct buf *out, const cJSON *confusion, bool colour)
{
    const cJSON *symbols = json_member(confusion, "symbols"), *channels = json_member(confusion, "channels");
    const cJSON *names = json_member(confusion, "names");
    const cJSON *row = NULL, *item = NULL;
    char text[64];
    struct buf head;
    struct table table;
    int index = 0, width = cJSON_GetArraySize(channels), at = 0;
    if (width + 1 > TABLE_COLUMNS)
        buf_format(out, "\nthe confusion matrix has %d channels, too many for a table; --json prints it\n", width);
    if (width < 1 || width + 1 > TABLE_COLUMNS)
        return;
    buf_init(&head, 4096);
    buf_text(&head, "TRUE");
    cJSON_ArrayForEach (item, channels) {
        const cJSON *name = cJSON_GetArrayItem(names, at++);
        view_scalar(cJSON_IsString(name) ? name : item, text, sizeof(text));
        for (char *bar = strchr(text, '|'); bar; bar = strchr(bar, '|')) /* separates columns */
            *bar = '/';
        buf_format(&head, "|>%s", text);
    }
    out->failed |= head.failed;
    table_init(&table, head.data ? head.data : "TRUE");
    buf_close(&head);
    cJSON_ArrayForEach (row, json_member(confusion, "counts")) {
        if (cJSON_GetArraySize(row) != width)
            continue;
        view_scalar(cJSON_GetArrayItem(symbols, index++), text, sizeof(text));
        table_add_styled(&table, text, STYLE_DIM);
        cJSON_ArrayForEach (item, row) {
            view_scalar(item, text, sizeof(text));
            table_add(&table, strcmp(text, "0") == 0 ? "." : text);
        }
    }
    buf_text(out, "\nconfusion matrix: rows are true symbols, columns the channels that marked them, by name\n");
    table_write(&table, colour, out);
    table_close(&table);
}

void view_job_error(struct buf *out, const cJSON *job, bool colour)
{
    const cJSON *error = json_member(job, "error"), *member = NULL;
    const char *message = json_string(error, "message");
    if (!cJSON_IsObject(error))
        return;
    if (!message)
        message = json_string(error, "detail");
    term_style(out, colour, STYLE_RED);
    buf_text(out, "failed");
    term_style(out, colour, STYLE_PLAIN);
    buf_format(out, ": %s\n", message ? message : "no reason given");
    cJSON_ArrayForEach (member, error) {
        char text[256];
        if (cJSON_GetStringValue(member) == message || cJSON_IsNull(member) || cJSON_IsObject(member))
            continue;
        view_scalar(member, text, sizeof(text));
        buf_format(out, "  %s: %s\n", member->string, text);
    }
}
