/* `motifctl import`: makes a job of this server from a model in a file, with an idempotency key (creation.c). */
#include <string.h>
#include <sys/stat.h>

#include "api/client/ctl.h"

static const struct config_field options[] = {
    OPTION_TEXT("name", "NAME", "name of the new job"),
    OPTION_TEXT("key", "KEY",
                "Idempotency-Key; repeated imports of the file with the same key return the same job (random)"),
    OPTIONS_END,
};

static void commands_import_view(struct ctl *ctl, const cJSON *job)
{
    fprintf(ctl->out.stream, "%s %s\n", json_shown(job, "id"), job_title(job));
}

static int send_file(struct ctl *ctl, const struct options *args, FILE *file)
{
    const char *title = args->positional[0], *name = options_value(args, "name");
    cJSON *job = NULL;
    struct stat what;
    struct error err = {0};
    struct buf path;
    if (!file || fstat(fileno(file), &what) != 0 || !S_ISREG(what.st_mode) || what.st_size == 0) {
        error_set(&err, STATUS_IO, NULL, "%.200s: cannot be read, or is empty", title);
        return ctl_fault(ctl, CTL_USAGE, &err);
    }
    buf_init(&path, 4096);
    buf_text(&path, "/v1/imports");
    if (name) {
        buf_text(&path, "?name=");
        http_escape(&path, name);
    }
    struct http_request request = {.method = "POST",
                                   .path = path.data,
                                   .from = file,
                                   .from_bytes = (int64_t)what.st_size,
                                   .type = "application/octet-stream"};
    int code = path.failed ? ctl_usage(ctl, "the name is too long") : ctl_create(ctl, &request, args, &job);
    if (code == CTL_SUCCESS && ctl->json)
        ctl_print_json(ctl, job);
    else if (code == CTL_SUCCESS)
        commands_import_view(ctl, job);
    cJSON_Delete(job);
    buf_close(&path);
    return code;
}

static int commands_import_run(struct ctl *ctl, const struct options *args)
{
    FILE *file = fopen(args->positional[0], "rb");
    int code = send_file(ctl, args, file);
    if (file)
        fclose(file);
    return code;
}

const struct command command_import = {
    .name = "import",
    .arguments = "FILE",
    .summary = "make a job from an exported model",
    .text =
        "The new job is in the state succeeded and answers motifs, predict, evaluate and export like the original. "
        "The server refuses a\nfile that is damaged, whose model does not fit its configuration, or that is larger "
        "than its limit (--import-bytes).\nIf the connection breaks, the command sends the file again with the same "
        "Idempotency-Key, so that the server makes\none job.",
    .example = "  motifctl import weights.safetensors --name borrowed",
    .options = options,
    .least = 1,
    .most = 1,
    .run = commands_import_run,
};
