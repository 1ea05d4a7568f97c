/* `motifctl compare`: finds the motifs that two jobs have in common. */
#include <string.h>

#include "api/client/ctl.h"

static const struct config_field options[] = {
    OPTION_INTEGER("samples", "N", "100", 1, 1000,
                   "number of inputs of the first job's domain that both models process (100)"),
    OPTIONS_END,
};

static void commands_compare_view(struct ctl *ctl, const cJSON *document)
{
    static const char *const columns[] = {"channel", "other", "motifs", "other_motifs", "together"};
    const cJSON *row = NULL;
    struct table table;
    char text[64];
    table_init(&table, ">CHANNEL|>OTHER|>MOTIFS|>OTHER'S|>TOGETHER|>AGREEMENT");
    cJSON_ArrayForEach (row, json_member(document, "channels")) {
        for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
            view_scalar(json_member(row, columns[i]), text, sizeof(text));
            table_add(&table, text);
        }
        table_add(&table, json_percent(row, "agreement", 1).text);
    }
    term_table(&ctl->out, &table);
    fprintf(ctl->out.stream, "\nagreement %s, at least %s, on %s inputs\n", json_percent(document, "agreement", 1).text,
            json_percent(document, "least_agreement", 1).text, json_fixed(document, "samples", 0).text);
}

static int commands_compare_run(struct ctl *ctl, const struct options *args)
{
    struct error err = {0};
    char id[CTL_ID], with[CTL_ID], path[128], body[160];
    long long samples = 0;
    if (options_integer(args, "samples", &samples, &err))
        return ctl_usage(ctl, "%s", err.message);
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code == CTL_SUCCESS)
        code = ctl_job_id(ctl, args->positional[1], true, with);
    if (code != CTL_SUCCESS)
        return code;
    snprintf(path, sizeof(path), "/v1/jobs/%s/compare", id);
    snprintf(body, sizeof(body), "{\"with\":\"%s\",\"samples\":%lld}", with, samples);
    return ctl_show(ctl, &(struct http_request){.method = "POST", .path = path, .body = body}, commands_compare_view);
}

const struct command command_compare = {
    .name = "compare",
    .arguments = "JOB JOB",
    .summary = "show which motifs two jobs have in common",
    .text = "Use it to see whether two trainings found the same motifs. Both models process the same inputs. Each "
            "channel of the first is\npaired with the channel of the second whose motifs are nearest to its own. The "
            "agreement is twice the number of motifs that\nboth found, divided by the number that either found.",
    .example = "  motifctl compare 01JD8 01JD9",
    .options = options,
    .least = 2,
    .most = 2,
    .run = commands_compare_run,
};
