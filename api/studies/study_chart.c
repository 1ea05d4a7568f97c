/* GET /v1/studies/{id}/chart: a result of a study against a field of its grid, as PNG or SVG. Each combination of the
 * other fields is a line; with several seeds, the line is the median and the bars reach from the smallest to the
 * largest value. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/studies/studies.h"
#include "api/studies/study_document.h"
#include "core/draw/chart.h"

enum { LINES_MAX = 24, LINE_NAME = 96 };

struct point {
    double x, y, low, high;
};
struct line {
    char name[LINE_NAME]; /* the values of the other fields; "": there are none */
    struct point *points; /* [row_count] */
    size_t count;
};
struct drawing {
    struct exchange *x;
    struct study_table table;
    int field, result;  /* the horizontal and the vertical axis, as indices of the table */
    const char **names; /* names of the positions 1, 2, ... if the field is no number; ends with NULL */
    size_t name_count;
    struct line *lines;
    size_t line_count, left_out;
    bool bars;
};

static void *study_chart_take(struct drawing *d, size_t count, size_t size)
{
    return arena_zalloc(&d->x->arena, count, size);
}

/* Writes the names of a list for a message: "p, n_d". */
static void write_names(const char *const *names, size_t count, char out[256])
{
    out[0] = '\0';
    for (size_t i = 0; i < count && strlen(out) < 200; i++) {
        size_t used = strlen(out);
        (void)snprintf(out + used, 256 - used, "%s%.40s", i > 0 ? ", " : "", names[i]);
    }
}

/* Reads which field and which result are drawn. False: the function has responded. */
static bool read_axes(struct drawing *d)
{
    const struct study_table *t = &d->table;
    const char *field = exchange_query(d->x, "x"), *result = exchange_query(d->x, "y");
    char names[256];
    if (t->field_count == 0 || t->result_count == 0) {
        respond_problem(d->x, PROBLEM_CONFLICT, "%s",
                        t->field_count == 0 ? "The study has no grid, so there is no field for the horizontal axis."
                                            : "No job of the study has a result yet.");
        return false;
    }
    d->field = field != NULL ? study_table_field(t, field) : 0;
    d->result = result != NULL ? study_table_result(t, result) : 0;
    if (d->field < 0) {
        write_names(t->fields, t->field_count, names);
        respond_problem(d->x, PROBLEM_BAD_QUERY, "x: must be a field of the grid (%s); got '%.40s'.", names, field);
    } else if (d->result < 0) {
        write_names(t->results, t->result_count, names);
        respond_problem(d->x, PROBLEM_BAD_QUERY, "y: must be a result of the study (%s); got '%.40s'.", names, result);
    }
    return d->field >= 0 && d->result >= 0;
}

/* Gives the values of a field that is no number the positions 1, 2, ... in the order of the table. */
static bool name_positions(struct drawing *d)
{
    const struct study_table *t = &d->table;
    bool numbers = true;
    for (size_t r = 0; r < t->row_count; r++)
        numbers = numbers && isfinite(t->rows[r].cells[d->field].number);
    if (numbers)
        return true;
    d->names = study_chart_take(d, t->row_count + 1, sizeof *d->names);
    for (size_t r = 0; d->names != NULL && r < t->row_count; r++) {
        const char *text = t->rows[r].cells[d->field].text;
        size_t n = 0;
        while (n < d->name_count && strcmp(d->names[n], text) != 0)
            n++;
        if (n == d->name_count)
            d->names[d->name_count++] = text;
    }
    return d->names != NULL;
}

static double position(const struct drawing *d, const struct study_cell *cell)
{
    for (size_t n = 0; n < d->name_count; n++)
        if (strcmp(d->names[n], cell->text) == 0)
            return (double)n + 1;
    return cell->number;
}

static void name_line(const struct drawing *d, const struct study_row *row, char out[LINE_NAME])
{
    out[0] = '\0';
    for (int i = 0; i < (int)d->table.field_count; i++) {
        size_t used = strlen(out);
        if (i != d->field)
            (void)snprintf(out + used, LINE_NAME - used, "%s%s=%s", used > 0 ? ", " : "", d->table.fields[i],
                           row->cells[i].text);
    }
}

/* Returns the line of a row, or NULL without memory or if there are too many lines. */
static struct line *line_of(struct drawing *d, const struct study_row *row)
{
    char name[LINE_NAME];
    name_line(d, row, name);
    for (size_t i = 0; i < d->line_count; i++)
        if (strcmp(d->lines[i].name, name) == 0)
            return &d->lines[i];
    if (d->line_count == LINES_MAX)
        return NULL;
    struct line *line = &d->lines[d->line_count];
    line->points = study_chart_take(d, d->table.row_count, sizeof *line->points);
    if (line->points == NULL)
        return NULL;
    memcpy(line->name, name, sizeof name);
    d->line_count++;
    return line;
}

static int by_x(const void *a, const void *b)
{
    double x = ((const struct point *)a)->x, y = ((const struct point *)b)->x;
    return (x > y) - (x < y);
}

static bool make_lines(struct drawing *d)
{
    d->lines = study_chart_take(d, LINES_MAX, sizeof *d->lines);
    for (size_t r = 0; d->lines != NULL && r < d->table.row_count; r++) {
        const struct study_row *row = &d->table.rows[r];
        struct study_summary s = study_table_summary(&d->table, r, (size_t)d->result);
        struct line *line = s.count > 0 ? line_of(d, row) : NULL;
        if (line != NULL)
            line->points[line->count++] = (struct point){position(d, &row->cells[d->field]), s.median, s.min, s.max};
        d->left_out += s.count > 0 && line == NULL;
        d->bars = d->bars || s.count > 1;
    }
    for (size_t i = 0; d->lines != NULL && i < d->line_count; i++)
        qsort(d->lines[i].points, d->lines[i].count, sizeof *d->lines[i].points, by_x);
    return d->lines != NULL;
}

static bool fill_series(struct drawing *d, const struct line *line, struct chart_series *series)
{
    double *numbers = study_chart_take(d, 4 * line->count, sizeof *numbers);
    if (numbers == NULL)
        return false;
    for (size_t i = 0; i < line->count; i++) {
        numbers[i] = line->points[i].x;
        numbers[line->count + i] = line->points[i].y;
        numbers[2 * line->count + i] = line->points[i].low;
        numbers[3 * line->count + i] = line->points[i].high;
    }
    *series = (struct chart_series){.name = line->name[0] != '\0' ? line->name : NULL,
                                    .mark = d->names != NULL ? CHART_POINTS : CHART_LINE_POINTS,
                                    .colour = -1,
                                    .x = numbers,
                                    .y = numbers + line->count,
                                    .low = d->bars ? numbers + 2 * line->count : NULL,
                                    .high = d->bars ? numbers + 3 * line->count : NULL,
                                    .count = line->count};
    return true;
}

static bool make_series(struct drawing *d, struct chart_series **series)
{
    *series = study_chart_take(d, LINES_MAX, sizeof **series);
    for (size_t i = 0; *series != NULL && i < d->line_count; i++)
        if (!fill_series(d, &d->lines[i], &(*series)[i]))
            return false;
    return *series != NULL;
}

static void study_chart_draw(struct drawing *d, const struct storage_study *study, const struct chart_series *series,
                             bool svg)
{
    const char *log = exchange_query(d->x, "log");
    char note[128] = "";
    struct error err;
    error_clear(&err);
    if (d->left_out > 0)
        (void)snprintf(note, sizeof note, "%zu rows of further lines are left out", d->left_out);
    struct chart_panel panel = {.x = CHART_AXIS(d->table.fields[d->field]),
                                .y = CHART_AXIS(d->table.results[d->result]),
                                .series = series,
                                .series_count = d->line_count};
    panel.x.names = d->names;
    panel.x.log = log != NULL && strchr(log, 'x') != NULL && d->names == NULL;
    panel.y.log = log != NULL && strchr(log, 'y') != NULL;
    if (d->names != NULL) {
        panel.x.min = 0.5;
        panel.x.max = (double)d->name_count + 0.5;
    }
    const struct chart chart = {.title = study->name[0] != '\0' ? study->name : study->kind,
                                .note = note[0] != '\0' ? note : NULL,
                                .panels = &panel,
                                .panel_count = 1,
                                .columns = 1,
                                .width = 640,
                                .height = 400};
    struct buf *out = &d->x->response->body;
    enum status status = svg ? chart_svg(&chart, out, &err) : chart_png(&chart, out, &err);
    if (status)
        respond_error(d->x, &err);
    else
        respond_body(d->x, 200, svg ? "image/svg+xml" : "image/png");
}

void studies_chart(struct exchange *x)
{
    static const char *const offers[] = {"image/png", "image/svg+xml"};
    struct storage_study study;
    struct chart_series *series;
    struct drawing *d = arena_zalloc(&x->arena, 1, sizeof *d);
    if (d == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return;
    }
    d->x = x;
    if (!exchange_study(x, &study) || !study_table_read(x, &study, &d->table, NULL) || !read_axes(d))
        return;
    response_header(x->response, "Vary", "Accept");
    if (!name_positions(d) || !make_lines(d) || !make_series(d, &series))
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    else
        study_chart_draw(d, &study, series, media_pick(exchange_header(x, "Accept"), offers, 2) == 1);
}
