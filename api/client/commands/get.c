/* `motifctl get`: the document of a job, or one member of it, for scripts. */
#include <stdlib.h>
#include <string.h>

#include "api/client/ctl.h"

static const struct config_field no_options[] = {OPTIONS_END};

/* Finds a value by its path, such as "result.by_density.0.fpe": names of members and indices of items, separated by
 * dots. NULL: there is none. */
static const cJSON *get_find(const cJSON *document, const char *path)
{
    char name[128];
    while (document && *path) {
        size_t length = strcspn(path, ".");
        char *end = NULL;
        if (length == 0 || length >= sizeof(name))
            return NULL;
        snprintf(name, sizeof(name), "%.*s", (int)length, path);
        long number = strtol(name, &end, 10);
        document =
            cJSON_IsArray(document) && !*end ? cJSON_GetArrayItem(document, (int)number) : json_member(document, name);
        path += length + (path[length] == '.');
    }
    return document;
}

static int get_print(struct ctl *ctl, const cJSON *value)
{
    char text[512];
    if (ctl->json || cJSON_IsObject(value) || cJSON_IsArray(value)) {
        ctl_print_json(ctl, value);
    } else if (cJSON_IsString(value)) {
        fprintf(ctl->out.stream, "%s\n", value->valuestring);
    } else {
        char *exact = cJSON_PrintUnformatted(value); /* all digits of a number */
        snprintf(text, sizeof(text), "%s", exact);
        cJSON_free(exact);
        fprintf(ctl->out.stream, "%s\n", text);
    }
    return CTL_SUCCESS;
}

static int get_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID], path[128];
    cJSON *job = NULL;
    int code = ctl_job_id(ctl, args->positional[0], false, id);
    if (code != CTL_SUCCESS)
        return code;
    snprintf(path, sizeof(path), "/v1/jobs/%s", id);
    code = ctl_get(ctl, path, &job);
    if (code != CTL_SUCCESS)
        return code;
    for (size_t i = 0; i < args->positional_count - 1 && code == CTL_SUCCESS; i++) {
        const cJSON *value = get_find(job, args->positional[i + 1]);
        code = value ? get_print(ctl, value) : ctl_usage(ctl, "the job has no member %.80s", args->positional[i + 1]);
    }
    if (args->positional_count == 1)
        ctl_print_json(ctl, job);
    cJSON_Delete(job);
    return code;
}

const struct command command_get = {
    .name = "get",
    .arguments = "JOB [MEMBER...]",
    .summary = "print a job's document or single members of it, for scripts",
    .text = "A member is a path with dots: result.fpe, config.seed, result.by_density.0.fpe. A text is printed without "
            "quotation marks,\na list or an object as JSON or, with -o yaml, as YAML.",
    .example = "  motifctl get latest result.verdict result.fpe\n"
               "  motifctl get night-1 -o yaml",
    .options = no_options,
    .least = 1,
    .most = OPTIONS_MAX,
    .run = get_run,
};
