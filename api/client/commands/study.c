/* `motifctl study`: submits a study, lists and shows studies, and changes all jobs of one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/study_show.h"
#include "api/client/commands/submit.h"
#include "api/client/ctl.h"

static const struct config_field options[] = {
    OPTION_TEXT("grid", "FIELD=V1,V2", "with submit: train with each of these values; may be repeated"),
    OPTION_INTEGER("seeds", "N", NULL, -1000000, 1000000, "with submit: train each combination with N seeds"),
    SUBMIT_OPTIONS,
    OPTION_FLAG("csv", "with show: print the table with all results as CSV"),
    OPTION_TEXT("result", "NAME,NAME", "with show: results in the table, separated by commas"),
    OPTION_TEXT("x", "FIELD", "with plot: field of the grid on the horizontal axis (its first field)"),
    OPTION_TEXT("y", "NAME", "with plot: result on the vertical axis (the first one)"),
    OPTION_TEXT("log", "AXES", "with plot: logarithmic axes: x, y or xy"),
    OPTION_TEXT("output", "FILE", "with plot: file of the picture; .svg or .png (study.png)"),
    OPTION_INTEGER("limit", "N", "20", 1, 1000, "with list: at most N studies (20)"),
    OPTIONS_END,
};

/* --- list --- */

static void list_row(struct table *table, const cJSON *study)
{
    const cJSON *axis = NULL;
    const char *state = json_string(study, "state");
    char text[128] = "";
    table_add(table, json_string(study, "id"));
    table_add(table, job_title(study));
    table_add_styled(table, state, term_state_style(state));
    snprintf(text, sizeof(text), "%.0f %%", floor(json_number(study, "fraction") * 100));
    table_add(table, text);
    snprintf(text, sizeof(text), "%.0f", json_number(study, "count"));
    table_add(table, text);
    text[0] = 0;
    cJSON_ArrayForEach (axis, json_member(study, "grid")) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? ", " : "", axis->string);
    }
    table_add(table, text[0] ? text : "-");
    view_age(json_string(study, "created_at"), text, sizeof(text));
    table_add(table, text);
}

static void view_list(struct ctl *ctl, const cJSON *page)
{
    struct table table;
    const cJSON *study = NULL;
    if (cJSON_GetArraySize(json_member(page, "studies")) == 0) {
        fprintf(ctl->out.stream, "no studies\n");
        return;
    }
    table_init(&table, "ID|NAME|STATE|>DONE|>JOBS|GRID|CREATED");
    cJSON_ArrayForEach (study, json_member(page, "studies"))
        list_row(&table, study);
    term_table(&ctl->out, &table);
}

/* --- the command --- */

static int plot(struct ctl *ctl, const struct options *args, const char *path)
{
    static const char *const names[] = {"x", "y", "log", NULL};
    const char *file = options_has(args, "output") ? options_value(args, "output") : "study.png";
    size_t length = strlen(file);
    bool svg = length > 4 && strcmp(file + length - 4, ".svg") == 0;
    struct buf target;
    buf_init(&target, 4096);
    buf_format(&target, "%s/chart", path);
    ctl_add_query(&target, args, names);
    struct http_request request = {.method = "GET", .path = target.data, .accept = svg ? "image/svg+xml" : "image/png"};
    int code = target.failed ? ctl_usage(ctl, "the options are too long") : ctl_save(ctl, &request, file);
    buf_close(&target);
    return code;
}

/* Sends cancel, pause, resume or delete. */
static int commands_study_act(struct ctl *ctl, const char *path, const char *verb)
{
    char target[512];
    bool removes = strcmp(verb, "delete") == 0;
    cJSON *study = NULL;
    struct http_answer answer = {0};
    snprintf(target, sizeof(target), "%s%s%s", path, removes ? "" : "/", removes ? "" : verb);
    struct http_request request = {.method = removes ? "DELETE" : "POST", .path = target};
    int code = ctl_call(ctl, &request, &answer, &study);
    http_answer_close(&answer);
    if (code == CTL_SUCCESS && ctl->json && study)
        ctl_print_json(ctl, study);
    else if (code == CTL_SUCCESS && ctl->quiet && study)
        fprintf(ctl->out.stream, "%s\n", json_shown(study, "id"));
    else if (code == CTL_SUCCESS && !ctl->json && removes)
        fprintf(ctl->out.stream, "deleted\n");
    else if (code == CTL_SUCCESS && !ctl->json)
        fprintf(ctl->out.stream, "%s: %s requested; the study is %s\n", json_shown(study, "id"), verb,
                json_shown(study, "state"));
    cJSON_Delete(study);
    return code;
}

static int commands_study_submit(struct ctl *ctl, const struct options *args)
{
    bool study;
    cJSON *body = cJSON_CreateObject();
    int code = submit_fill(ctl, args, body, &study);
    if (code == CTL_SUCCESS)
        code = submit_send(ctl, args, body, true);
    cJSON_Delete(body);
    return code;
}

static int commands_study_list(struct ctl *ctl, const struct options *args)
{
    struct error err = {0};
    long long limit = 0;
    char path[64];
    if (options_integer(args, "limit", &limit, &err))
        return ctl_usage(ctl, "%s", err.message);
    snprintf(path, sizeof(path), "/v1/studies?limit=%lld", limit);
    return ctl_show(ctl, &(struct http_request){.method = "GET", .path = path}, view_list);
}

static int with_study(struct ctl *ctl, const struct options *args, const char *verb)
{
    struct buf path;
    int code;
    buf_init(&path, 400);
    buf_text(&path, "/v1/studies/");
    http_escape(&path, args->positional[1]);
    if (path.failed)
        code = ctl_usage(ctl, "the name of the study is too long");
    else if (strcmp(verb, "show") == 0)
        code = study_show(ctl, args, path.data);
    else if (strcmp(verb, "watch") == 0)
        code = watch_study(ctl, path.data + strlen("/v1/studies/"), 600);
    else if (strcmp(verb, "plot") == 0)
        code = plot(ctl, args, path.data);
    else
        code = commands_study_act(ctl, path.data, verb);
    buf_close(&path);
    return code;
}

static int commands_study_run(struct ctl *ctl, const struct options *args)
{
    static const char *const verbs[] = {"show", "watch", "plot", "cancel", "pause", "resume", "delete"};
    const char *verb = args->positional_count > 0 ? args->positional[0] : "list";
    if (strcmp(verb, "list") == 0 && args->positional_count <= 1)
        return commands_study_list(ctl, args);
    if (strcmp(verb, "submit") == 0 && args->positional_count == 1)
        return commands_study_submit(ctl, args);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verb, verbs[i]) == 0 && args->positional_count == 2)
            return with_study(ctl, args, verb);
    return ctl_usage(ctl,
                     "study [list] | submit | show STUDY | watch STUDY | plot STUDY | cancel STUDY | pause STUDY | "
                     "resume STUDY | delete STUDY");
}

const struct command command_study = {
    .name = "study",
    .arguments = "[list | submit | show|watch|plot|cancel|pause|resume|delete STUDY]",
    .summary = "train many settings as one group of jobs, and compare their results",
    .text = "`submit` trains one job for each combination of the values of --grid, and with --seeds each combination "
            "several times. A preset can be a study too. STUDY is an id, a name, or `latest`.\n`show` prints a row for "
            "each combination: the median over the seeds, and the range. `plot` draws a result against a field. "
            "cancel, pause, resume and delete act on all jobs.",
    .example = "  motifctl study submit --preset digitcircle-quick --grid width=16,32 --seeds 3 --watch\n"
               "  motifctl study show latest --csv > table.csv\n"
               "  motifctl study plot latest --x width --y e2ee --log x --output e2ee.svg\n"
               "  motifctl study cancel latest && motifctl study delete latest",
    .options = options,
    .least = 0,
    .most = 2,
    .run = commands_study_run,
};
