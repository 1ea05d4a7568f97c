/* A file as the input of a query: the options that name it, its bytes, and the request with them. */
#ifndef MOTIF_API_CLIENT_QUERY_INPUT_H
#define MOTIF_API_CLIENT_QUERY_INPUT_H

#include "api/client/ctl.h"
#include "api/client/query_formats.h"

/* The options --input, --batch and --output, as rows of a command's table of options. */
#define QUERY_INPUT_OPTIONS                                                                                            \
    OPTION_TEXT("input", "FILE",                                                                                       \
                "the input: a picture, recording, array or sequence; its ending names the format (.png, .wav, .npy, "  \
                "...)"),                                                                                               \
        OPTION_FLAG("batch", "--input is an array with one input at each position of its first axis"),                 \
        OPTION_TEXT("output", "FILE", "with --input: write the answer's numbers to FILE.npy, one row for each input")

struct query_input {
    struct buf body, path;
    struct query_formats formats; /* these lists own `type` */
    const char *type;             /* media type */
    const char *pieces;           /* the pieces in which the file can be sent: "records", "rows", or NULL */
};

/* Reads the file of --input and makes the path of a query, "/v1/jobs/ID/QUERY?checkpoint=WHICH&batch=1". Returns an
 * exit code. The caller closes `input` in any case. */
int query_input_read(struct ctl *ctl, const struct options *args, const char *id, const char *query,
                     struct query_input *input);
void query_input_close(struct query_input *input);
struct http_request query_input_request(const struct query_input *input);
/* Sends the query and writes the numbers of its answer to a file. Returns an exit code. */
int query_input_save(struct ctl *ctl, const struct query_input *input, const char *file);

#endif
