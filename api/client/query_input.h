/* A file as the input of a query: the options that name it, its bytes, and the request with them. */
#ifndef MOTIF_API_CLIENT_QUERY_INPUT_H
#define MOTIF_API_CLIENT_QUERY_INPUT_H

#include "api/client/ctl.h"

/* The file formats of a query, as the server describes them (GET /v1/kinds/{kind}). motifctl has no list of formats
 * of its own. It looks up names and endings in the server's lists, and sends the media types that it finds there. */

struct query_formats {
    cJSON *kind;          /* the document of the job's kind */
    const cJSON *formats; /* the formats of answers besides JSON */
    const cJSON *files;   /* the formats of files that can be the body of the query's request */
};

/* Reads the document of the kind of a job. query_formats_find() then finds the formats of one of its queries; false:
 * the kind has no such query. The caller closes `out` in any case. Returns an exit code. */
int query_kind_read(struct ctl *ctl, const char *id, struct query_formats *out);
bool query_formats_find(struct query_formats *formats, const char *query, const char *verb);
/* Reads the formats of a query of a job. verb: "GET" or "POST". Returns an exit code; CTL_USAGE if the job's kind has
 * no such query. The caller closes `out` in any case. */
int query_formats_read(struct ctl *ctl, const char *id, const char *query, const char *verb, struct query_formats *out);
void query_formats_close(struct query_formats *formats);

/* Return the media type of a format in a list; NULL: the list has no such format. query_format_of_file() compares
 * the ending of a file's name, without .gz and without regard to case. query_format_named() compares the name of the
 * format. The list owns the text. */
const char *query_format_of_file(const cJSON *list, const char *file);
const char *query_format_named(const cJSON *list, const char *name);

/* Prints `fault`, such as "the ending of x.doc is unknown", and the formats that are possible: their file endings if
 * `endings`, else their names. Returns CTL_USAGE. */
int query_formats_usage(struct ctl *ctl, const cJSON *list, bool endings, const char *fault);

/* The options --input, --text, --batch and --output, as rows of a command's table of options. */
#define QUERY_INPUT_OPTIONS                                                                                            \
    OPTION_TEXT("input", "FILE",                                                                                       \
                "the input: a picture, recording, array or sequence; its ending names the format (.png, .wav, .npy, "  \
                "...)"),                                                                                               \
        OPTION_TEXT("text", "TEXT", "the input: a text, for a model of texts"),                                        \
        OPTION_FLAG("batch", "--input is an array with one input at each position of its first axis"),                 \
        OPTION_TEXT("output", "FILE", "with --input: write the answer's numbers to FILE.npy, one row for each input")

struct query_input {
    struct buf body, path;
    struct query_formats formats; /* these lists own `type` */
    const char *type;             /* media type */
    const char *pieces;           /* the pieces in which the file can be sent: "records", "rows", "lines", or NULL */
    bool array;                   /* the file is an array, whose first axis may count inputs */
};

/* What is asked: a file or a text. */
struct query_question {
    const char *file, *text;
    const char *checkpoint; /* NULL: the latest */
    bool batch;             /* the file is an array with one input at each position of its first axis */
    bool decided;           /* `batch` is stated, and not to be found out */
};
void query_input_init(struct query_input *input);
/* Reads the file, or takes the text, and makes the path of a query. The caller has called query_input_init(), and
 * input->formats contains the formats of the query. Returns an exit code; CTL_USAGE if the ending of the file is none
 * of them. */
int query_input_open(struct ctl *ctl, const struct query_question *question, const char *id, const char *query,
                     struct query_input *input);
/* Makes the path of a query for the same body. */
void query_input_ask(struct query_input *input, const struct query_question *question, const char *id,
                     const char *query);
/* Reads the file of --input, or takes the text of --text, and makes the path of a query,
 * "/v1/jobs/ID/QUERY?checkpoint=WHICH&batch=1". Returns an exit code. The caller closes `input` in any case. */
int query_input_read(struct ctl *ctl, const struct options *args, const char *id, const char *query,
                     struct query_input *input);
void query_input_close(struct query_input *input);
struct http_request query_input_request(const struct query_input *input);
/* Sends the query and writes the numbers of its answer to a file. Returns an exit code. */
int query_input_save(struct ctl *ctl, const struct query_input *input, const char *file);

#endif
