/* `motifctl import`: makes a job of this server from a model in a file. */
#include <string.h>

#include "api/client/ctl.h"

#define FILE_MOST (128u << 20)

static const struct option_spec options[] = {
    {"name", "NAME", "name of the new job"},
    {NULL, NULL, NULL},
};

static void view(struct ctl *ctl, const cJSON *job)
{
    fprintf(ctl->out.stream, "%s %s\n", json_string(job, "id"), job_title(job));
}

static int run(struct ctl *ctl, const struct options *args)
{
    struct buf file, path;
    const char *name = options_value(args, "name");
    int code = ctl_read_file(ctl, args->positional[0], FILE_MOST, &file);
    buf_init(&path, 4096);
    buf_text(&path, "/v1/imports");
    if (name) {
        buf_text(&path, "?name=");
        http_escape(&path, name);
    }
    struct http_request request = {.method = "POST",
                                   .path = path.data,
                                   .body = file.data,
                                   .body_bytes = file.size,
                                   .type = "application/octet-stream"};
    if (code == CTL_SUCCESS)
        code = ctl_show(ctl, &request, view);
    buf_close(&file);
    buf_close(&path);
    return code;
}

const struct command command_import = {
    .name = "import",
    .arguments = "FILE",
    .summary = "make a job from an exported model",
    .text = "The new job is in the state succeeded and answers motifs, predict, evaluate and export like the original. "
            "The server refuses a\nfile that is damaged, or whose model does not fit its configuration.",
    .example = "  motifctl import weights.safetensors --name borrowed",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
