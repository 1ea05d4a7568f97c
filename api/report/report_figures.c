/* Verdict, findings, figures and tables of a result as HTML (report_parts.h). */
#include "api/report/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/report/html.h"
#include "core/metrics/interval.h"

enum { ROWS = 40, COLUMNS = 9 }; /* upper limits of a table */

const cJSON *report_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

const char *report_text(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(report_member(object, name));
    return text != NULL ? text : "";
}

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *value = report_member(object, name);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

/* Appends what a finding suggests, with the job's id in place of the word JOB. */
static void write_try(struct buf *out, const char *command, const char *id)
{
    const char *job = strstr(command, "JOB");
    buf_text(out, " <code>");
    for (; job != NULL; job = strstr(command, "JOB")) {
        char before[512];
        (void)snprintf(before, sizeof before, "%.*s", (int)(job - command), command);
        html_text(out, before);
        html_text(out, id);
        command = job + 3;
    }
    html_text(out, command);
    buf_text(out, "</code>");
}

void report_verdict(const struct report *r)
{
    const cJSON *result = report_member(r->job, "result"), *findings = report_member(result, "findings");
    const char *verdict = report_text(result, "verdict");
    buf_text(r->out, "<h2>Verdict</h2>\n");
    if (verdict[0] != '\0') {
        bool known = strspn(verdict, "abcdefghijklmnopqrstuvwxyz-") == strlen(verdict);
        buf_format(r->out, "<p class=\"verdict %s\">", known ? verdict : "");
        html_text(r->out, verdict);
        buf_text(r->out, "</p>\n");
    } else {
        buf_text(r->out, "<p>Jobs of this kind have no verdict.</p>\n");
    }
    if (cJSON_GetArraySize(findings) > 0) {
        buf_text(r->out, "<ul>\n");
        JSON_EACH (one, findings) {
            buf_text(r->out, "<li><b>");
            html_text(r->out, report_text(one, "severity"));
            buf_text(r->out, "</b>: ");
            html_text(r->out, report_text(one, "text"));
            if (report_text(one, "try")[0] != '\0')
                write_try(r->out, report_text(one, "try"), report_text(r->job, "id"));
            buf_text(r->out, "</li>\n");
        }
        buf_text(r->out, "</ul>\n");
    } else if (verdict[0] != '\0') {
        buf_text(r->out, "<p>There are no findings.</p>\n");
    }
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

/* The error rates and shares that many kinds have. `in`: the member of the result that contains the figure, or NULL. */
static const struct figure {
    const char *in, *name, *label;
} figures[] = {
    {"evidence", "exact", "whole answers exactly right"},
    {NULL, "exact", "whole answers exactly right"},
    {NULL, "e2ee", "end-to-end error (E2EE): edit distance of answer and label, a share of the label's length"},
    {NULL, "fpe", "false positive error (FPE): motifs outside every true box"},
    {NULL, "fne", "false negative error (FNE): true symbols without a motif"},
    {NULL, "ce", "confusion error (CE): motifs on a symbol for which their channel does not stand"},
    {"evidence", "trained_exact", "training samples exactly right"},
    {"evidence", "constant_exact", "exactly right with an answer that ignores the input"},
    {"reference", "exact", "reference model on the same test samples: exactly right"},
};

static void write_percent(struct buf *out, double share)
{
    buf_format(out, "%.1f %%", 100 * share);
}

/* Appends a row: label, value, and the interval NAME_low to NAME_high if there is one. */
static void write_figure(struct buf *out, const cJSON *object, const char *name, const char *label, bool share)
{
    char low[80], high[80];
    (void)snprintf(low, sizeof low, "%.70s_low", name);
    (void)snprintf(high, sizeof high, "%.70s_high", name);
    double value = number_of(object, name), from = number_of(object, low), to = number_of(object, high);
    buf_text(out, "<tr>");
    html_element(out, "td", label);
    buf_text(out, "<td class=\"number\">");
    if (share)
        write_percent(out, value);
    else
        html_value(out, report_member(object, name));
    buf_text(out, "</td><td class=\"number\">");
    if (isfinite(from) && isfinite(to) && share) {
        write_percent(out, from);
        buf_text(out, " to ");
        write_percent(out, to);
    } else if (isfinite(from) && isfinite(to)) {
        buf_format(out, "%.6g to %.6g", from, to);
    }
    buf_text(out, "</td></tr>\n");
}

/* Whether a member is the end of an interval of another member. */
static bool is_bound(const cJSON *object, const char *name)
{
    char other[80];
    size_t length = strlen(name), cut = length > 4 && strcmp(name + length - 4, "_low") == 0    ? 4
                                        : length > 5 && strcmp(name + length - 5, "_high") == 0 ? 5
                                                                                                : 0;
    (void)snprintf(other, sizeof other, "%.*s", (int)(length - cut), name);
    return cut > 0 && cJSON_IsNumber(report_member(object, other));
}

static bool is_share(const char *name)
{
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (figures[i].in == NULL && strcmp(figures[i].name, name) == 0)
            return true;
    return false;
}

static const char figures_head[] = "<table><tr><th>figure</th><th class=\"number\">value</th>"
                                   "<th class=\"number\">95 % interval</th></tr>\n";

/* Appends the figures that many kinds have. Returns their number. */
static int write_known(struct buf *out, const cJSON *result)
{
    int count = 0;
    bool evidence = cJSON_IsNumber(report_member(report_member(result, "evidence"), "exact"));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const cJSON *in = figures[i].in != NULL ? report_member(result, figures[i].in) : result;
        bool again = evidence && i == 1; /* the row with the interval is there */
        if (again || !cJSON_IsNumber(report_member(in, figures[i].name)))
            continue;
        buf_text(out, count++ == 0 ? figures_head : "");
        write_figure(out, in, figures[i].name, figures[i].label, true);
    }
    buf_text(out, count > 0 ? "</table>\n" : "");
    return count;
}

/* Appends all other numbers of the result under their names. */
static void write_numbers(struct buf *out, const cJSON *result)
{
    buf_text(out, figures_head);
    JSON_EACH (member, result)
        if (cJSON_IsNumber(member) && !is_share(member->string) && !is_bound(result, member->string))
            write_figure(out, result, member->string, member->string, false);
    buf_text(out, "</table>\n");
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Appends a share of counts with its 95 % interval (Wilson's). */
static void write_rate(struct buf *out, double hits, double all)
{
    if (!(all > 0)) {
        buf_text(out, "<td class=\"number\">–</td>");
        return;
    }
    const struct interval range = interval_share(hits / all, all, 1.96);
    buf_text(out, "<td class=\"number\">");
    write_percent(out, hits / all);
    buf_text(out, " (");
    write_percent(out, range.low);
    buf_text(out, " to ");
    write_percent(out, range.high);
    buf_text(out, ")</td>");
}

/* Appends for each name how many labels and answers contain it, and the shares of those that are right. */
static void write_names(struct buf *out, const cJSON *names)
{
    int count = 0;
    if (cJSON_GetArraySize(names) == 0)
        return;
    buf_text(out, "<h2>Error rates by name</h2>\n<table><tr><th>name</th><th class=\"number\">in labels</th>"
                  "<th class=\"number\">in answers</th><th class=\"number\">found (95 % interval)</th>"
                  "<th class=\"number\">answers that are right (95 % interval)</th></tr>\n");
    JSON_EACH (name, names) {
        double present = number_of(name, "present"), read = number_of(name, "read"), both = number_of(name, "both");
        if (count++ >= ROWS)
            continue;
        buf_text(out, "<tr>");
        html_element(out, "td", report_text(name, "name"));
        buf_format(out, "<td class=\"number\">%.0f</td><td class=\"number\">%.0f</td>", present, read);
        write_rate(out, both, present);
        write_rate(out, both, read);
        buf_text(out, "</tr>\n");
    }
    buf_text(out, "</table>\n");
    if (count > ROWS)
        buf_format(out, "<p>… and %d more names.</p>\n", count - ROWS);
}

/* Appends a share that the daemon has computed. */
static void write_share(struct buf *out, const cJSON *share, bool interval)
{
    buf_text(out, "<td class=\"number\">");
    if (cJSON_IsObject(share))
        buf_format(out, "%.0f %%", 100 * number_of(share, "share"));
    if (cJSON_IsObject(share) && interval)
        buf_format(out, " (%.0f to %.0f %%)", 100 * number_of(share, "low"), 100 * number_of(share, "high"));
    buf_text(out, "</td>");
}

/* Appends whether the marks of each name are sufficient and necessary. */
static void write_evidence(struct buf *out, const cJSON *names)
{
    int count = 0;
    if (cJSON_GetArraySize(names) == 0)
        return;
    buf_text(out,
             "<h2>Are the marks the evidence?</h2>\n<p>Is a name still read if only its marked extents are kept, and "
             "no longer if they are removed? The rest, or the extents, are replaced by those of an input without "
             "the name. Random extents of the same size are the control; the reference is a plain model that marks "
             "nothing.</p>\n<table><tr><th>name</th><th class=\"number\">inputs</th>"
             "<th class=\"number\">marks kept: read</th><th class=\"number\">control</th>"
             "<th class=\"number\">marks removed: not read</th><th class=\"number\">control</th>"
             "<th class=\"number\">reference: kept</th>"
             "<th class=\"number\">removed</th></tr>\n");
    JSON_EACH (name, names) {
        const cJSON *control = report_member(name, "control"), *reference = report_member(name, "reference");
        if (count++ >= ROWS)
            continue;
        buf_text(out, "<tr>");
        html_element(out, "td", report_text(name, "name"));
        buf_format(out, "<td class=\"number\">%.0f</td>", number_of(name, "inputs"));
        write_share(out, report_member(name, "sufficient"), true);
        write_share(out, report_member(control, "sufficient"), false);
        write_share(out, report_member(name, "necessary"), true);
        write_share(out, report_member(control, "necessary"), false);
        write_share(out, report_member(reference, "sufficient"), false);
        write_share(out, report_member(reference, "necessary"), false);
        buf_text(out, "</tr>\n");
    }
    buf_text(out, "</table>\n");
    if (count > ROWS)
        buf_format(out, "<p>… and %d more names.</p>\n", count - ROWS);
}

/* Appends a list of objects as a table, whose columns are the members of the first object that are no objects. */
static void write_list(struct buf *out, const cJSON *list)
{
    int count = 0, columns = 0;
    buf_text(out, "<h3>");
    html_text(out, list->string);
    buf_text(out, "</h3>\n<table><tr>");
    JSON_EACH (member, list->child)
        if (!cJSON_IsObject(member) && columns++ < COLUMNS)
            html_element(out, "th", member->string);
    buf_text(out, "</tr>\n");
    JSON_EACH (item, list) {
        columns = 0;
        if (count++ >= ROWS)
            continue;
        buf_text(out, "<tr>");
        JSON_EACH (member, list->child) {
            if (cJSON_IsObject(member) || columns++ >= COLUMNS)
                continue;
            buf_text(out, cJSON_IsNumber(member) ? "<td class=\"number\">" : "<td>");
            html_value(out, report_member(item, member->string));
            buf_text(out, "</td>");
        }
        buf_text(out, "</tr>\n");
    }
    buf_text(out, "</table>\n");
    if (count > ROWS)
        buf_format(out, "<p>… and %d more rows.</p>\n", count - ROWS);
}

void report_figures(const struct report *r)
{
    const cJSON *result = report_member(r->job, "result");
    buf_text(r->out, "<h2>Figures</h2>\n");
    if (write_known(r->out, result) == 0)
        write_numbers(r->out, result);
    write_names(r->out, report_member(report_member(result, "evidence"), "symbols"));
    write_evidence(r->out, report_member(report_member(result, "evidence"), "names"));
}

void report_tables(const struct report *r)
{
    const cJSON *result = report_member(r->job, "result");
    bool begun = false, known = false;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        known |= cJSON_IsNumber(
            report_member(figures[i].in != NULL ? report_member(result, figures[i].in) : result, figures[i].name));
    if (known) {
        buf_text(r->out, "<h2>Further figures</h2>\n");
        write_numbers(r->out, result);
    }
    JSON_EACH (list, result) {
        if (!cJSON_IsArray(list) || !cJSON_IsObject(list->child) || strcmp(list->string, "findings") == 0)
            continue;
        buf_text(r->out, begun ? "" : "<h2>Tables</h2>\n");
        begun = true;
        write_list(r->out, list);
    }
}
