/* Collects the parts of the progress line and fits them into the width of the terminal. */
#include "api/client/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/client/ctl.h"
#include "api/client/term.h"

#define PARTS 6
#define BAR_CELLS 24

struct parts {
    char text[PARTS][96];
    size_t count;
};

static double last_value(const cJSON *errors, const char *name)
{
    const cJSON *series = json_member(json_member(errors, "series"), name);
    const cJSON *point = cJSON_GetArrayItem(series, cJSON_GetArraySize(series) - 1);
    const cJSON *value = cJSON_GetArrayItem(point, 1);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

static char *next(struct parts *parts)
{
    return parts->text[parts->count++];
}

/* Writes a fraction as percent with one decimal. Values below 0.05 % have one significant digit, such as "0.03". */
static void short_percent(char out[16], double fraction)
{
    double percent = fraction * 100;
    snprintf(out, 16, percent == 0 || fabs(percent) >= 0.05 ? "%.1f" : "%.1g", percent);
}

static void motif_errors(char *out, size_t bytes, const cJSON *errors)
{
    static const char *const names[] = {"fpe", "fne", "ce"};
    char text[3][16];
    for (int i = 0; i < 3; i++) {
        double value = last_value(errors, names[i]);
        if (!isfinite(value)) {
            out[0] = 0;
            return;
        }
        short_percent(text[i], value);
    }
    snprintf(out, bytes, "FPE %s FNE %s CE %s %%", text[0], text[1], text[2]);
}

/* Collects the parts in order of importance. If the terminal is narrow, parts at the end are left out. */
static void progress_collect(struct parts *parts, const cJSON *progress, const cJSON *errors)
{
    const size_t bytes = sizeof(parts->text[0]);
    double density = json_number(progress, "density"), accuracy = json_number(progress, "accuracy");
    double target = json_number(progress, "target_accuracy"), speed = json_number(progress, "samples_per_second");
    double eta = json_number(progress, "eta_seconds");
    char text[64];
    parts->count = 0;
    if (isfinite(density)) {
        term_number(text, sizeof(text), density);
        snprintf(next(parts), bytes, "density %s", text);
    }
    if (isfinite(accuracy) && isfinite(target))
        snprintf(next(parts), bytes, "accuracy %.1f of %.1f %%", accuracy * 100, target * 100);
    else if (isfinite(accuracy))
        snprintf(next(parts), bytes, "accuracy %.1f %%", accuracy * 100);
    if (isfinite(eta) && eta >= 0) {
        term_duration(text, sizeof(text), eta);
        snprintf(next(parts), bytes, "%s left", text);
    }
    if (isfinite(speed) && speed > 0) {
        term_count(text, sizeof(text), speed);
        snprintf(next(parts), bytes, "%s samples/s", text);
    }
    motif_errors(text, sizeof(text), errors);
    if (text[0])
        snprintf(next(parts), bytes, "%s", text);
}

void progress_line(struct buf *out, const cJSON *job, const cJSON *errors, int columns, bool colour)
{
    const cJSON *progress = json_member(job, "progress");
    const char *state = json_string(job, "state"), *stage = json_string(progress, "stage");
    double fraction = json_number(progress, "fraction");
    struct parts parts;
    char head[48], percent[16];
    bool running = state && strcmp(state, "running") == 0;
    progress_collect(&parts, progress, errors);
    snprintf(head, sizeof(head), "%s", running && stage && stage[0] ? stage : state ? state : "unknown");
    snprintf(percent, sizeof(percent), "%3.0f %%", isfinite(fraction) ? floor(fraction * 100) : 0);

    int used = term_width(head) + 2 + (int)strlen(percent);
    bool bar = columns > used + BAR_CELLS + 2;
    term_style(out, colour, running ? STYLE_BOLD : term_state_style(state));
    buf_text(out, head);
    term_style(out, colour, STYLE_PLAIN);
    buf_text(out, "  ");
    if (bar) {
        term_style(out, colour, STYLE_CYAN);
        buf_text(out, "▕");
        term_bar(out, fraction, BAR_CELLS);
        buf_text(out, "▏");
        term_style(out, colour, STYLE_PLAIN);
        used += BAR_CELLS + 2;
    }
    buf_text(out, percent);
    for (size_t i = 0; i < parts.count; i++) {
        int width = 2 + term_width(parts.text[i]);
        if (columns > 0 && used + width > columns)
            break;
        used += width;
        buf_format(out, "  %s", parts.text[i]);
    }
}

void progress_figures(struct buf *out, const cJSON *progress)
{
    const char *stage = json_string(progress, "stage");
    double fraction = json_number(progress, "fraction");
    struct parts parts;
    progress_collect(&parts, progress, NULL);
    buf_format(out, "%s %.0f %%", stage ? stage : "-", isfinite(fraction) ? floor(fraction * 100) : 0);
    for (size_t i = 0; i < parts.count; i++)
        buf_format(out, "  %s", parts.text[i]);
}
