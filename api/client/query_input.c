/* Reads a file from the command line as the input of a query (query_input.h). The ending of the file's name selects the
 * media type from the server's list of formats for the query; the server checks the bytes. */
#include "api/client/query_input.h"

#include <stdio.h>

enum { INPUT_BYTES = 64 << 20 };

int query_input_read(struct ctl *ctl, const struct options *args, const char *id, const char *query,
                     struct query_input *input)
{
    const char *file = options_value(args, "input"), *checkpoint = options_value(args, "checkpoint");
    char fault[300];
    *input = (struct query_input){.type = NULL};
    buf_init(&input->body, 1);
    buf_init(&input->path, 4096);
    int code = query_formats_read(ctl, id, query, "POST", &input->formats);
    if (code != CTL_SUCCESS)
        return code;
    input->type = query_format_of_file(input->formats.files, file);
    input->pieces = query_format_pieces(input->formats.files, input->type);
    snprintf(fault, sizeof fault, "the ending of %.200s is not that of an input format", file);
    if (!input->type)
        return query_formats_usage(ctl, input->formats.files, true, fault);
    buf_format(&input->path, "/v1/jobs/%s/%s?%s", id, query, options_has(args, "batch") ? "batch=1&" : "");
    buf_text(&input->path, "checkpoint=");
    http_escape(&input->path, checkpoint ? checkpoint : "latest");
    if (input->path.failed)
        return ctl_usage(ctl, "--checkpoint is too long, or there is not enough memory for it");
    return ctl_read_file(ctl, file, INPUT_BYTES, &input->body);
}

void query_input_close(struct query_input *input)
{
    buf_close(&input->body);
    buf_close(&input->path);
    query_formats_close(&input->formats);
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
