/* `motifctl artifacts`: lists and saves the pictures and tables that a method has stored in addition to its result. */
#include <stdlib.h>
#include <string.h>

#include "api/client/ctl.h"

static const struct config_field options[] = {
    OPTION_TEXT("output", "FILE", "file to write (the artifact's own name)"),
    OPTIONS_END,
};

static int commands_artifacts_list(struct ctl *ctl, const char *id)
{
    char path[128], text[64];
    cJSON *document = NULL;
    const cJSON *row = NULL;
    struct table table;
    snprintf(path, sizeof(path), "/v1/jobs/%s/artifacts", id);
    int code = ctl_get(ctl, path, &document);
    if (code != CTL_SUCCESS)
        return code;
    if (ctl->json) {
        ctl_print_json(ctl, document);
        cJSON_Delete(document);
        return CTL_SUCCESS;
    }
    table_init(&table, "NAME|TYPE|>SIZE");
    cJSON_ArrayForEach (row, json_member(document, "artifacts")) {
        table_add(&table, json_string(row, "name"));
        table_add(&table, json_string(row, "media_type"));
        term_bytes(text, sizeof(text), json_number(row, "bytes"));
        table_add(&table, text);
    }
    term_table(&ctl->out, &table);
    cJSON_Delete(document);
    return CTL_SUCCESS;
}

static int save(struct ctl *ctl, const char *id, const char *name, const char *file)
{
    struct buf path;
    buf_init(&path, 4096);
    buf_format(&path, "/v1/jobs/%s/artifacts/", id);
    http_escape(&path, name);
    if (path.failed) {
        buf_close(&path);
        return ctl_usage(ctl, "the name is too long");
    }
    struct http_request request = {.method = "GET", .path = path.data, .accept = "*/*"};
    struct http_answer answer;
    int code = ctl_call(ctl, &request, &answer, NULL);
    if (code == CTL_SUCCESS)
        code = ctl_write_file(ctl, file, &answer.body);
    http_answer_close(&answer);
    buf_close(&path);
    return code;
}

static int commands_artifacts_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID];
    const char *file = options_value(args, "output"), *name = args->positional_count > 1 ? args->positional[1] : NULL;
    if (!name && file)
        return ctl_usage(ctl, "--output needs the NAME of an artifact");
    if (name && !file && strchr(name, '/'))
        return ctl_usage(ctl, "the name of an artifact contains no slash");
    int code = ctl_job_id(ctl, args->positional[0], false, id);
    if (code != CTL_SUCCESS)
        return code;
    return name ? save(ctl, id, name, file ? file : name) : commands_artifacts_list(ctl, id);
}

const struct command command_artifacts = {
    .name = "artifacts",
    .arguments = "JOB [NAME]",
    .summary = "list or save the pictures and tables that a job made",
    .text = "Without a NAME it lists the artifacts; with one it saves that artifact. Use it after a job has ended to "
            "get its figures.",
    .example = "  motifctl artifacts latest\n"
               "  motifctl artifacts latest motifs.png --output four.png",
    .options = options,
    .least = 1,
    .most = 2,
    .run = commands_artifacts_run,
};
