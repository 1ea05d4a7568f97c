/* `motifctl submit`: builds the body of POST /v1/jobs from a preset, a file and single fields, and sends it with an
 * idempotency key (creation.c). */
#include "protocol/json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/study_show.h"
#include "api/client/commands/submit.h"
#include "api/client/ctl.h"
#include "api/client/submission.h"
#include "core/base/utf8.h"

static const struct config_field options[] = {
    SUBMIT_OPTIONS,
    OPTIONS_END,
};

/* Reads a whole file of at most 1 MiB. */
static char *read_file(const char *path, struct error *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    struct buf text;
    char block[4096];
    size_t count;
    if (!file) {
        error_set(err, STATUS_IO, NULL, "%.200s: cannot be read", path);
        return NULL;
    }
    buf_init(&text, 1 << 20);
    while ((count = fread(block, 1, sizeof(block), file)) > 0)
        buf_append(&text, block, count);
    bool bad = ferror(file) != 0;
    if (file != stdin)
        fclose(file);
    if (bad || text.failed || text.size == 0) {
        error_set(err, STATUS_IO, NULL, "%.200s: %s", path,
                  bad           ? "cannot be read"
                  : text.failed ? "is larger than 1 MiB"
                                : "is empty");
        buf_close(&text);
        return NULL;
    }
    return buf_take(&text, NULL);
}

/* Appends a name to a list of names. */
static void add_name(char *list, size_t bytes, const char *name)
{
    size_t used = strlen(list);
    snprintf(list + used, bytes - used, "%s%s", used > 0 ? ", " : "", name);
}

/* Selects the first kind in the server's list that accepts the data set, and prints the names of the other kinds that
 * accept it. If no kind accepts it, `kind` stays empty. */
static int kind_of_dataset(struct ctl *ctl, const char *dataset, const char *preset, char *kind, size_t bytes)
{
    cJSON *document = NULL;
    const cJSON *row = NULL;
    char others[256] = "";
    struct buf path;
    buf_init(&path, 4096);
    buf_text(&path, "/v1/datasets/");
    http_escape(&path, dataset);
    int code =
        path.failed ? ctl_usage(ctl, "the name of the data set is too long") : ctl_get(ctl, path.data, &document);
    buf_close(&path);
    cJSON_ArrayForEach (row, json_member(document, "kinds")) {
        const char *name = json_string(row, "kind"), *of = json_string(row, "preset");
        if (!name || !of || strcmp(of, preset) != 0 || !cJSON_IsTrue(json_member(row, "accepts")))
            continue;
        if (kind[0])
            add_name(others, sizeof(others), name);
        else
            snprintf(kind, bytes, "%s", name);
    }
    cJSON_Delete(document);
    if (kind[0])
        (void)fprintf(stderr, others[0] ? "motifctl: kind %s (also possible with --kind: %s)\n" : "motifctl: kind %s\n",
                      kind, others);
    return code;
}

/* Returns the entry of a kind in the server's list of kinds; NULL: there is none. */
static const cJSON *entry_of(const cJSON *kinds, const char *kind)
{
    const cJSON *entry = NULL;
    cJSON_ArrayForEach (entry, kinds)
        if (kind && json_string(entry, "kind") && strcmp(json_string(entry, "kind"), kind) == 0)
            return entry;
    return NULL;
}

/* Returns the entry of a preset in the server's list of kinds; NULL: there is none. */
static const cJSON *preset_of(const cJSON *kinds, const char *kind, const char *preset)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach (item, json_member(entry_of(kinds, kind), "presets"))
        if (json_string(item, "name") && strcmp(json_string(item, "name"), preset) == 0)
            return item;
    return NULL;
}

/* Finds in the server's list of kinds the one that has a preset of this name. If several have one, takes the first of
 * them that accepts the data set. */
static int kind_of_preset(struct ctl *ctl, const cJSON *kinds, const cJSON *body, const char *preset, char *kind,
                          size_t bytes)
{
    const cJSON *entry = NULL;
    const char *dataset = json_string(json_member(body, "config"), "dataset_name");
    char first[64] = "", all[256] = "";
    int count = 0, code = CTL_SUCCESS;
    kind[0] = 0;
    cJSON_ArrayForEach (entry, kinds) {
        const char *of = json_string(entry, "kind");
        if (!of || !preset_of(kinds, of, preset))
            continue;
        if (count++ == 0)
            snprintf(first, sizeof(first), "%s", of);
        add_name(all, sizeof(all), of);
    }
    if (count == 0)
        return ctl_usage(ctl, "there is no preset %.80s; `motifctl kinds` lists them", preset);
    if (count > 1 && !dataset)
        return ctl_usage(ctl,
                         "more than one kind has a preset %.80s: %s; choose a kind with --kind, or a data set with "
                         "--set dataset_name=NAME",
                         preset, all);
    if (count > 1)
        code = kind_of_dataset(ctl, dataset, preset, kind, bytes);
    if (!kind[0])
        snprintf(kind, bytes, "%s", first); /* if no kind accepts the data set, the server's answer says why */
    return code;
}

/* Adds the kind of the preset if the body has none, and finds out whether the preset is a study. */
static int read_preset(struct ctl *ctl, cJSON *body, bool *study)
{
    const char *preset = json_string(body, "preset"), *given = json_string(body, "kind");
    char kind[64];
    cJSON *document = NULL;
    *study = json_member(body, "grid") || json_member(body, "seeds");
    if (!preset && !given)
        return ctl_usage(ctl, "nothing to train: give --preset NAME, or --kind KIND with --config or --set");
    if (given && (*study || (!preset && !submission_has_folds(body, NULL))))
        return CTL_SUCCESS;
    int code = ctl_get(ctl, "/v1/kinds", &document);
    const cJSON *kinds = json_member(document, "kinds");
    if (code == CTL_SUCCESS && !given) {
        code = kind_of_preset(ctl, kinds, body, preset, kind, sizeof(kind));
        if (code == CTL_SUCCESS)
            submission_text(body, "kind", kind);
    }
    const char *kind_now = json_string(body, "kind");
    if (code == CTL_SUCCESS)
        *study = *study || (preset && submission_is_study(body, preset_of(kinds, kind_now, preset))) ||
                 (entry_of(kinds, kind_now) && submission_has_folds(body, entry_of(kinds, kind_now)));
    cJSON_Delete(document);
    return code;
}

/* Copies kind, preset and configuration of a job into the body. */
static int copy_job(struct ctl *ctl, const char *which, cJSON *body)
{
    static const char *const members[] = {"kind", "preset", "config"};
    char id[CTL_ID], path[128];
    cJSON *job = NULL;
    int code = ctl_job_id(ctl, which, false, id);
    if (code != CTL_SUCCESS)
        return code;
    snprintf(path, sizeof(path), "/v1/jobs/%s", id);
    code = ctl_get(ctl, path, &job);
    for (size_t i = 0; code == CTL_SUCCESS && i < sizeof(members) / sizeof(members[0]); i++) {
        const cJSON *value = json_member(job, members[i]);
        if (value && !cJSON_IsNull(value))
            cJSON_AddItemToObject(body, members[i], cJSON_Duplicate(value, true));
    }
    cJSON_Delete(job);
    return code;
}

int submit_fill(struct ctl *ctl, const struct options *args, cJSON *body, bool *study)
{
    static const char *const texts[] = {"preset", "kind", "name", "executor"};
    static const char *const integers[] = {"priority", "threads", "ranks", "seeds"};
    struct error err = {0};
    long long number = 0;
    const char *path = options_value(args, "config"), *from = options_value(args, "from");
    if (options_has(args, "like")) {
        if (path || options_has(args, "preset") || options_has(args, "kind"))
            return ctl_usage(ctl,
                             "--like takes the kind, the preset and the configuration from the other job; leave out "
                             "--preset, --kind and --config");
        int code = copy_job(ctl, options_value(args, "like"), body);
        if (code != CTL_SUCCESS)
            return code;
    }
    if (path) {
        char *text = read_file(path, &err);
        enum status status = text ? submission_file(body, text, &err) : err.code;
        free(text);
        if (status)
            return ctl_usage(ctl, "%s", err.message);
    }
    for (size_t i = 0; i < args->option_count; i++)
        if (strcmp(args->options[i].name, "set") == 0 && submission_set(body, args->options[i].value, &err))
            return ctl_usage(ctl, "%s", err.message);
    for (size_t i = 0; i < args->option_count; i++)
        if (strcmp(args->options[i].name, "grid") == 0 && submission_grid(body, args->options[i].value, &err))
            return ctl_usage(ctl, "%s", err.message);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (options_value(args, texts[i]))
            submission_text(body, texts[i], options_value(args, texts[i]));
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        if (!options_has(args, integers[i]))
            continue;
        if (options_integer(args, integers[i], &number, &err))
            return ctl_usage(ctl, "%s", err.message);
        cJSON_DeleteItemFromObjectCaseSensitive(body, integers[i]);
        cJSON_AddNumberToObject(body, integers[i], (double)number);
    }
    if (from) {
        char id[CTL_ID], job[160]; /* job: the text of --from before the ':'; the name of a job has at most 127 bytes */
        snprintf(job, sizeof(job), "%.*s", (int)strcspn(from, ":"), from);
        int code = ctl_job_id(ctl, job, true, id);
        if (code != CTL_SUCCESS)
            return code;
        if (submission_from(body, id, strchr(from, ':'), &err))
            return ctl_usage(ctl, "%s", err.message);
    }
    for (size_t i = 0; i < args->option_count; i++)
        if (strcmp(args->options[i].name, "tag") == 0)
            submission_tag(body, args->options[i].value);
    return read_preset(ctl, body, study);
}

static void view_dry_run(struct ctl *ctl, const cJSON *answer)
{
    static const struct {
        const char *name, *title;
        void (*write)(char *out, size_t bytes, double value);
    } lines[] = {
        {"count", "jobs", term_count},
        {"parameters", "parameters", term_count},
        {"flops_per_sample", "floating-point operations per sample", term_count},
        {"flops", "floating-point operations", term_count},
        {"samples", "samples", term_count},
        {"memory_bytes", "memory", term_bytes},
        {"checkpoint_bytes", "a checkpoint", term_bytes},
        {"bytes", "memory", term_bytes},
        {"seconds", "predicted time", term_duration},
        {"predicted_seconds", "predicted time", term_duration},
    };
    const cJSON *estimate = json_member(answer, "estimate");
    struct table table;
    struct buf out;
    buf_init(&out, 1 << 20);
    view_object(&out, json_member(answer, "config"), ctl->out.colour);
    view_object(&out, json_member(answer, "facts"), ctl->out.colour);
    view_division(&out, json_member(answer, "division"), ctl->out.colour);
    table_init(&table, "ESTIMATE|>VALUE");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[64];
        double value = json_number(estimate ? estimate : answer, lines[i].name);
        if (!isfinite(value))
            continue;
        lines[i].write(text, sizeof(text), value);
        table_add(&table, lines[i].title);
        table_add(&table, text);
    }
    buf_text(&out, "\n");
    table_write(&table, ctl->out.colour, &out);
    table_close(&table);
    buf_text(&out, "nothing was stored\n");
    term_flush(&ctl->out, &out);
    buf_close(&out);
}

/* Prints the settings that have no effect, on standard error. */
static void view_warnings(const cJSON *answer)
{
    const cJSON *warning = NULL;
    cJSON_ArrayForEach (warning, json_member(answer, "warnings")) {
        const char *pointer = json_string(warning, "pointer"), *detail = json_string(warning, "detail");
        struct buf text;
        buf_init(&text, 1 << 16);
        if (pointer)
            utf8_escape(&text, pointer, strlen(pointer), UTF8_FOR_TERMINAL);
        buf_text(&text, " ");
        if (detail)
            utf8_escape(&text, detail, strlen(detail), UTF8_FOR_TERMINAL);
        if (text.data)
            (void)fprintf(stderr, "motifctl: warning: %s\n", text.data);
        buf_close(&text);
    }
}

int submit_send(struct ctl *ctl, const struct options *args, const cJSON *body, bool study)
{
    cJSON *made = NULL;
    bool dry_run = options_has(args, "dry-run"), watch = options_has(args, "watch") && !dry_run;
    char path[64], *text = cJSON_PrintUnformatted(body);
    snprintf(path, sizeof(path), "/v1/%s%s", study ? "studies" : "jobs", dry_run ? "?dry_run=1" : "");
    struct http_request request = {.method = "POST", .path = path, .body = text};
    int code = dry_run ? ctl_repeat(ctl, &request, &made) : ctl_create(ctl, &request, args, &made);
    cJSON_free(text);
    if (code != CTL_SUCCESS)
        return code;
    const char *id = json_string(made, "id");
    if (!ctl->json)
        view_warnings(made);
    if (ctl->quiet && id)
        fprintf(ctl->out.stream, "%s\n", id);
    else if (dry_run && !ctl->json)
        view_dry_run(ctl, made);
    else if (ctl->json && !watch)
        ctl_print_json(ctl, made);
    else if (!ctl->json && id && study)
        fprintf(ctl->out.stream, "submitted %s as study %s with %.0f jobs\n", job_title(made), id,
                json_number(made, "count"));
    else if (!ctl->json && id)
        fprintf(ctl->out.stream, "submitted %s as %s\n", job_title(made), id);
    fflush(ctl->out.stream);
    if (watch && id && study)
        code = watch_study(ctl, id, 600);
    else if (watch && id)
        code = watch_job(ctl, id, options_has(args, "require") ? WATCH_LEARNED : WATCH_SUCCESS, 0.5, 600);
    cJSON_Delete(made);
    return code;
}

static int commands_submit_run(struct ctl *ctl, const struct options *args)
{
    bool study;
    cJSON *body = cJSON_CreateObject();
    int code = submit_fill(ctl, args, body, &study);
    if (code == CTL_SUCCESS)
        code = submit_send(ctl, args, body, study);
    cJSON_Delete(body);
    return code;
}

const struct command command_submit = {
    .name = "submit",
    .arguments = "",
    .summary = "submit a job",
    .text = "Combines a preset, a JSON file and single fields. --set overrides the file, and the file overrides the "
            "preset. With --like, all fields that --set does not change have the values of another job.\nPrints the id "
            "of the "
            "job. If a value of --set is valid JSON, it is read as JSON, else as text.\nIf the preset is a study, "
            "submits all its jobs; --watch then follows the whole study (motifctl study).",
    .example = "  motifctl submit --preset dataset --set dataset_name=NAME --watch\n"
               "  motifctl submit --preset digitcircle-quick --watch\n"
               "  motifctl submit --preset digitcircle --set seed=7 --set learning_rate=5e-4 --name seven\n"
               "  motifctl submit --like latest --set seed=2 --watch\n"
               "  motifctl submit --preset digitcircle-paper --dry-run     what it would cost\n"
               "  motifctl submit --preset digitcircle --executor mpirun --ranks 4\n"
               "  echo '{\"seed\": 3}' | motifctl submit --preset digitcircle --config -",
    .options = options,
    .least = 0,
    .most = 0,
    .run = commands_submit_run,
};
