/* Reads a file from the command line as the input of a query (query_input.h). The ending of its name gives the media
 * type; the server checks the bytes. */
#include "api/client/query_input.h"

#include <string.h>
#include <strings.h>

enum { INPUT_BYTES = 64 << 20 };

static const char *type_of(const char *file)
{
    static const char *const types[][2] = {
        {".png", "image/png"},         {".jpg", "image/jpeg"},  {".jpeg", "image/jpeg"},
        {".tif", "image/tiff"},        {".tiff", "image/tiff"}, {".wav", "audio/wav"},
        {".npy", "application/x-npy"}, {".fa", "text/x-fasta"}, {".fasta", "text/x-fasta"}};
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; i++)
        if (strcasecmp(dot, types[i][0]) == 0)
            return types[i][1];
    return NULL;
}

int query_input_read(struct ctl *ctl, const struct options *args, const char *id, const char *query,
                     struct query_input *input)
{
    const char *file = options_value(args, "input"), *checkpoint = options_value(args, "checkpoint");
    *input = (struct query_input){.type = type_of(file)};
    buf_init(&input->body, 1);
    buf_init(&input->path, 4096);
    if (!input->type)
        return ctl_usage(
            ctl, "the ending of %s names no kind of input; allowed are .png, .jpg, .tif, .wav, .npy and .fa", file);
    buf_format(&input->path, "/v1/jobs/%s/%s?%s", id, query, options_has(args, "batch") ? "batch=1&" : "");
    buf_text(&input->path, "checkpoint=");
    http_escape(&input->path, checkpoint ? checkpoint : "latest");
    if (input->path.failed)
        return ctl_usage(ctl, "--checkpoint is too long, or there is no memory for it");
    int code = ctl_read_file(ctl, file, INPUT_BYTES, &input->body);
    if (code == CTL_SUCCESS && input->body.size == 0)
        code = ctl_usage(ctl, "%s is empty", file);
    return code;
}

void query_input_close(struct query_input *input)
{
    buf_close(&input->body);
    buf_close(&input->path);
}

struct http_request query_input_request(const struct query_input *input)
{
    return (struct http_request){.method = "POST",
                                 .path = input->path.data,
                                 .body = input->body.data,
                                 .body_bytes = input->body.size,
                                 .type = input->type};
}

int query_input_save(struct ctl *ctl, const struct query_input *input, const char *file)
{
    struct http_request request = query_input_request(input);
    request.accept = "application/x-npy";
    return ctl_save(ctl, &request, file);
}
