/* `motifctl intervene`: shows what a model predicts after motifs were removed, moved or changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/ctl.h"
#include "api/client/submission.h"

static const struct config_field options[] = {
    OPTION_INTEGER("seed", "N", "0", -CONFIG_INT_MAX, CONFIG_INT_MAX,
                   "the input: sample N of the job's own domain (0)"),
    OPTION_FLAG("maximal", "first drop motifs that have a stronger one nearby"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTIONS_END,
};

/* Reads a number at *at and moves *at behind it. */
static bool intervene_number(const char **at, double *out)
{
    char *end;
    *out = strtod(*at, &end);
    bool found = end != *at && isfinite(*out);
    *at = end;
    return found;
}

/* Reads "@ROW,COL" into `object`. */
static bool intervene_place(const char **at, cJSON *object)
{
    double row, col;
    if (**at != '@')
        return true;
    ++*at;
    if (!intervene_number(at, &row) || **at != ',')
        return false;
    ++*at;
    if (!intervene_number(at, &col))
        return false;
    const double both[2] = {row, col};
    return cJSON_AddItemToObject(object, "position", cJSON_CreateDoubleArray(both, 2));
}

/* Reads "[CHANNEL][@ROW,COL][*VALUE]" into `to`. */
static bool target(const char **at, cJSON *to)
{
    double channel, value;
    if (**at != '@' && **at != '*') {
        if (!intervene_number(at, &channel))
            return false;
        cJSON_AddNumberToObject(to, "channel", channel);
    }
    if (!intervene_place(at, to))
        return false;
    if (**at != '*')
        return true;
    ++*at;
    if (!intervene_number(at, &value))
        return false;
    cJSON_AddNumberToObject(to, "value", value);
    return true;
}

/* Reads an edit: "CHANNEL[@ROW,COL]=delete" or "CHANNEL[@ROW,COL]=TARGET". The function target() reads TARGET. */
static bool read_edit(const char *text, cJSON *edit)
{
    double channel;
    const char *at = text;
    if (!intervene_number(&at, &channel))
        return false;
    cJSON_AddNumberToObject(edit, "channel", channel);
    if (!intervene_place(&at, edit) || *at != '=')
        return false;
    if (strcmp(++at, "delete") == 0) {
        cJSON_AddTrueToObject(edit, "delete");
        return true;
    }
    return *at && target(&at, cJSON_AddObjectToObject(edit, "to")) && *at == '\0';
}

/* Returns the body of the request, or NULL and an exit code in *code. */
static char *intervene_question(struct ctl *ctl, const struct options *args, int *code)
{
    struct error err = {0};
    long long seed = 0;
    if (options_integer(args, "seed", &seed, &err)) {
        *code = ctl_usage(ctl, "%s", err.message);
        return NULL;
    }
    cJSON *body = cJSON_CreateObject(), *input = cJSON_CreateObject();
    cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "inputs"), input);
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(input, "sample"), "seed", (double)seed);
    cJSON_AddStringToObject(input, "keep", options_has(args, "maximal") ? "maximal" : "all");
    cJSON *edits = cJSON_AddArrayToObject(input, "edits");
    for (size_t i = 1; i < args->positional_count && *code == CTL_SUCCESS; i++) {
        cJSON *edit = cJSON_CreateObject();
        cJSON_AddItemToArray(edits, edit);
        if (!read_edit(args->positional[i], edit))
            *code =
                ctl_usage(ctl, "%.80s is not a change: use CHANNEL[@ROW,COL]=delete, or =[CHANNEL][@ROW,COL][*VALUE]",
                          args->positional[i]);
    }
    submission_checkpoint(body, options_value(args, "checkpoint"));
    char *text = *code == CTL_SUCCESS ? cJSON_PrintUnformatted(body) : NULL;
    cJSON_Delete(body);
    return text;
}

/* Prints a predicted or a true label: symbols separated by spaces, or positions with their class. */
static void view_words(struct ctl *ctl, const cJSON *list)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach (item, list) {
        const char *class_name = cJSON_IsObject(item) ? json_string(item, "class") : NULL;
        if (cJSON_IsString(item))
            fprintf(ctl->out.stream, " %s", item->valuestring);
        else if (class_name)
            fprintf(ctl->out.stream, " %s@%s", class_name, json_fixed(item, "position", 0).text);
    }
}

static void intervene_view(struct ctl *ctl, const cJSON *document, const char *seed)
{
    static const char *const sides[] = {"before", "after"};
    const cJSON *answer = cJSON_GetArrayItem(json_member(document, "answers"), 0),
                *label = json_member(answer, "label");
    fprintf(ctl->out.stream, "sample %s\n", seed ? seed : "0");
    for (size_t i = 0; i < 2; i++) {
        const cJSON *side = json_member(answer, sides[i]);
        fprintf(ctl->out.stream, "  %-6s  %3s motifs, read as", sides[i], json_fixed(side, "motif_count", 0).text);
        view_words(ctl, json_member(side, "prediction"));
        if (!isnan(json_number(side, "probability")))
            fprintf(ctl->out.stream, "  (probability %.3g)", json_number(side, "probability"));
        fprintf(ctl->out.stream, "\n");
    }
    if (!label)
        return;
    fprintf(ctl->out.stream, "  truth  ");
    view_words(ctl, label);
    fprintf(ctl->out.stream, "\n");
}

static int intervene_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID], path[128];
    struct http_answer answer;
    cJSON *document = NULL;
    int code = CTL_SUCCESS;
    char *body = intervene_question(ctl, args, &code);
    if (code == CTL_SUCCESS)
        code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code == CTL_SUCCESS) {
        snprintf(path, sizeof(path), "/v1/jobs/%s/interventions", id);
        code = ctl_call(ctl, &(struct http_request){.method = "POST", .path = path, .body = body}, &answer, &document);
        http_answer_close(&answer);
    }
    if (code == CTL_SUCCESS && ctl->json)
        ctl_print_json(ctl, document);
    else if (code == CTL_SUCCESS)
        intervene_view(ctl, document, options_value(args, "seed"));
    cJSON_Delete(document);
    cJSON_free(body);
    return code;
}

const struct command command_intervene = {
    .name = "intervene",
    .arguments = "JOB CHANGE...",
    .summary = "change motifs of an input and show how the model's reading changes",
    .text = "Use it to test whether a motif causes the answer. A change is FROM=TO. FROM is a channel, or one motif as "
            "CHANNEL@ROW,COL.\nTO is delete, or one or more of: a channel, a position @ROW,COL, a value *VALUE, in "
            "this order. All changes apply at once.",
    .example = "  motifctl intervene latest 3=delete                   without the motifs of channel 3\n"
               "  motifctl intervene latest --seed 7 3=5 5=3           two channels trade places\n"
               "  motifctl intervene latest 3@40,12=@10,60 '5=*2.5'    one moves, others get a value",
    .options = options,
    .least = 2,
    .most = OPTIONS_MAX - 1,
    .run = intervene_run,
};
