/* `motifctl metrics` and `motifctl plot`: the time series of a job as numbers and as pictures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/ctl.h"
#include "api/client/draw.h"
#include "core/draw/chart.h"

static int series_fetch(struct ctl *ctl, const char *wanted, const char *names, long long since, long long max_points,
                        cJSON **document)
{
    char id[CTL_ID];
    struct buf path;
    int code = ctl_job_id(ctl, wanted, true, id);
    if (code != CTL_SUCCESS)
        return code;
    buf_init(&path, 8192);
    buf_format(&path, "/v1/jobs/%s/metrics?max_points=%lld", id, max_points);
    if (since >= 0)
        buf_format(&path, "&since=%lld", since);
    if (names) {
        buf_text(&path, "&name=");
        http_escape(&path, names);
    }
    code = path.failed ? ctl_usage(ctl, "the names are too long") : ctl_get(ctl, path.data, document);
    buf_close(&path);
    return code;
}

static double series_part(const cJSON *point, int index)
{
    const cJSON *value = cJSON_GetArrayItem(point, index);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

static const char *series_name(const cJSON *one)
{
    return one->string ? one->string : "-";
}

/* --- metrics --- */

static const struct config_field metrics_options[] = {
    OPTION_TEXT("name", "A,B", "only these series, separated by commas"),
    OPTION_INTEGER("since", "STEP", NULL, 0, 1LL << 53, "only points after this step"),
    OPTION_INTEGER("max-points", "N", "500", 1, 100000, "most points per series (500)"),
    OPTION_FLAG("csv", "print every point: name,step,value"),
    OPTIONS_END,
};

static void metrics_table(struct ctl *ctl, const cJSON *series)
{
    struct table table;
    const cJSON *one = NULL, *point = NULL;
    table_init(&table, "SERIES|>POINTS|>LAST STEP|>LAST|>LEAST|>MOST");
    cJSON_ArrayForEach (one, series) {
        double low = NAN, high = NAN, step = NAN, last = NAN;
        char text[64];
        cJSON_ArrayForEach (point, one) {
            step = series_part(point, 0);
            last = series_part(point, 1);
            low = fmin(low, last);
            high = fmax(high, last);
        }
        table_add(&table, series_name(one));
        snprintf(text, sizeof(text), "%d", cJSON_GetArraySize(one));
        table_add(&table, text);
        snprintf(text, sizeof(text), "%.0f", step);
        table_add(&table, isfinite(step) ? text : "-");
        for (int i = 0; i < 3; i++) {
            term_number(text, sizeof(text), i == 0 ? last : i == 1 ? low : high);
            table_add(&table, text);
        }
    }
    term_table(&ctl->out, &table);
}

static int metrics_run(struct ctl *ctl, const struct options *args)
{
    struct error err = {0};
    long long since = -1, max_points = 0;
    cJSON *document = NULL;
    if (options_integer(args, "since", &since, &err) || options_integer(args, "max-points", &max_points, &err))
        return ctl_usage(ctl, "%s", err.message);
    int code = series_fetch(ctl, args->positional[0], options_value(args, "name"), since, max_points, &document);
    if (code != CTL_SUCCESS)
        return code;
    const cJSON *series = json_member(document, "series"), *one = NULL, *point = NULL;
    if (ctl->json) {
        ctl_print_json(ctl, document);
    } else if (options_has(args, "csv")) {
        fprintf(ctl->out.stream, "name,step,value\n");
        cJSON_ArrayForEach (one, series)
            cJSON_ArrayForEach (point, one)
                fprintf(ctl->out.stream, "%s,%.0f,%.9g\n", series_name(one), series_part(point, 0),
                        series_part(point, 1));
    } else {
        metrics_table(ctl, series);
    }
    cJSON_Delete(document);
    return CTL_SUCCESS;
}

const struct command command_metrics = {
    .name = "metrics",
    .arguments = "JOB",
    .summary = "print the time series of a job: last value, range, or every point",
    .text = "Steps count samples. When a series has more points than requested, each bucket has its smallest, its "
            "largest and its last\npoint, so that no peak is lost.",
    .example = "  motifctl metrics latest\n"
               "  motifctl metrics latest --name loss,accuracy --csv > run.csv",
    .options = metrics_options,
    .least = 1,
    .most = 1,
    .run = metrics_run,
};

/* --- plot --- */

static const struct config_field plot_options[] = {
    OPTION_FLAG("log", "logarithmic values"),
    OPTION_INTEGER("since", "STEP", NULL, 0, 1LL << 53, "only points after this step"),
    OPTION_INTEGER("height", "LINES", "16", 6, 200, "height of the picture in lines (16)"),
    OPTION_TEXT("png", "FILE", "write a PNG with one panel per series instead"),
    OPTIONS_END,
};

#define PNG_POINTS 1500 /* upper limit of the points of each series */

/* Returns the points of a series as one array: all x, then all y. The caller frees the array. NULL without memory. */
static double *columns_of(const cJSON *one, size_t *count)
{
    size_t size = (size_t)cJSON_GetArraySize(one);
    double *x = malloc((2 * size + 1) * sizeof(*x));
    const cJSON *point = NULL;
    *count = 0;
    if (!x)
        return NULL;
    cJSON_ArrayForEach (point, one) {
        x[*count] = series_part(point, 0);
        x[size + *count] = series_part(point, 1);
        ++*count;
    }
    return x;
}

#define PNG_ROWS 16 /* rows of panels of a picture; more would make it larger than CHART_SIDE_MAX */

/* Returns the number of columns of panels: one for a single panel, else two, or more if two columns would need more
 * than PNG_ROWS rows. */
static int panel_columns(int count)
{
    if (count <= 2 * PNG_ROWS)
        return count > 1 ? 2 : 1;
    return (count + PNG_ROWS - 1) / PNG_ROWS;
}

/* Draws one panel for each series. */
static int plot_png(struct ctl *ctl, const cJSON *series, const char *file, bool log_y)
{
    struct chart_panel panels[CHART_PANELS];
    struct chart_series lines[CHART_PANELS];
    double *numbers[CHART_PANELS];
    const cJSON *one = NULL;
    struct error err = {0};
    struct buf out;
    int count = 0, wanted = cJSON_GetArraySize(series), code = CTL_SUCCESS;
    if (wanted > CHART_PANELS)
        return ctl_usage(ctl, "a picture shows at most %d series; name the ones to draw", CHART_PANELS);
    cJSON_ArrayForEach (one, series) {
        if (!(numbers[count] = columns_of(one, &lines[count].count)))
            break;
        const double *x = numbers[count];
        lines[count] = (struct chart_series){.name = series_name(one),
                                             .mark = CHART_LINE,
                                             .colour = count,
                                             .x = x,
                                             .y = x + lines[count].count,
                                             .count = lines[count].count};
        panels[count] = (struct chart_panel){.title = series_name(one),
                                             .x = CHART_AXIS("samples"),
                                             .y = log_y ? CHART_LOG_AXIS(NULL) : CHART_AXIS(NULL),
                                             .series = &lines[count],
                                             .series_count = 1};
        count++;
    }
    struct chart chart = {.panels = panels, .panel_count = count, .columns = panel_columns(count)};
    buf_init(&out, CHART_BYTES);
    if (wanted == 0)
        code = ctl_usage(ctl, "the job has no such series; `motifctl metrics` lists them");
    else if (count < wanted)
        code = ctl_fault(ctl, CTL_FAILED, (error_set(&err, STATUS_NO_MEMORY, NULL, "not enough memory"), &err));
    else if (chart_png(&chart, &out, &err))
        code = ctl_fault(ctl, CTL_FAILED, &err);
    else
        code = ctl_write_file(ctl, file, &out);
    buf_close(&out);
    while (count > 0)
        free(numbers[--count]);
    return code;
}

static void plot_series(struct ctl *ctl, const cJSON *one, int height, bool log_y)
{
    struct buf out;
    size_t count = 0;
    const cJSON *point = NULL;
    struct draw_point *points = calloc((size_t)cJSON_GetArraySize(one) + 1, sizeof(*points));
    ctl->out.failed |= !points;
    if (!points)
        return;
    cJSON_ArrayForEach (point, one)
        points[count++] = (struct draw_point){series_part(point, 0), series_part(point, 1)};
    buf_init(&out, 4u << 20);
    term_style(&out, ctl->out.colour, STYLE_BOLD);
    buf_text(&out, series_name(one));
    term_style(&out, ctl->out.colour, STYLE_PLAIN);
    buf_text(&out, "\n");
    draw_plot(&out, points, count, ctl->out.columns, height, log_y);
    term_flush(&ctl->out, &out);
    buf_close(&out);
    free(points);
}

static int plot_run(struct ctl *ctl, const struct options *args)
{
    struct error err = {0};
    long long since = -1, height = 0;
    cJSON *document = NULL;
    const cJSON *one = NULL;
    if (options_integer(args, "since", &since, &err) || options_integer(args, "height", &height, &err))
        return ctl_usage(ctl, "%s", err.message);
    const char *names = args->positional_count > 1 ? args->positional[1] : "loss,accuracy";
    const char *file = options_value(args, "png");
    long long columns = ctl->out.columns > 20 ? ctl->out.columns : 20;
    int code = series_fetch(ctl, args->positional[0], names, since, file ? PNG_POINTS : 2 * columns, &document);
    if (code != CTL_SUCCESS)
        return code;
    if (file)
        code = plot_png(ctl, json_member(document, "series"), file, options_has(args, "log"));
    else if (ctl->json)
        ctl_print_json(ctl, document);
    else
        cJSON_ArrayForEach (one, json_member(document, "series"))
            plot_series(ctl, one, (int)height, options_has(args, "log"));
    cJSON_Delete(document);
    return code;
}

const struct command command_plot = {
    .name = "plot",
    .arguments = "JOB [SERIES,...]",
    .summary = "draw time series in the terminal or as PNG",
    .text = "Without names it draws loss and accuracy. `motifctl metrics JOB` lists the series of a job.",
    .example = "  motifctl plot latest\n"
               "  motifctl plot 01JD8 density,loss --log\n"
               "  motifctl plot latest fpe,fne,ce --png errors.png",
    .options = plot_options,
    .least = 1,
    .most = 2,
    .run = plot_run,
};
