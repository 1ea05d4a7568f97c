/* The file formats of a query, as the server describes them (GET /v1/kinds/{kind}). motifctl knows no format of its
 * own: it compares names and endings with these lists and sends the media types that they contain. */
#ifndef MOTIF_API_CLIENT_QUERY_FORMATS_H
#define MOTIF_API_CLIENT_QUERY_FORMATS_H

#include "api/client/ctl.h"

struct query_formats {
    cJSON *kind;          /* the document of the job's kind */
    const cJSON *formats; /* the formats of answers besides JSON */
    const cJSON *files;   /* the formats of files that the query takes as its body */
};

/* Reads the formats of a query of a job. verb: "GET" or "POST". Returns an exit code; CTL_USAGE if the job's kind has
 * no such query. The caller closes `out` in any case. */
int query_formats_read(struct ctl *ctl, const char *id, const char *query, const char *verb, struct query_formats *out);
void query_formats_close(struct query_formats *formats);

/* Return the media type of one of the formats in a list, which owns the text; NULL: the list has no such format.
 * query_format_of_file() goes by the ending of the file's name, without .gz and without regard to case,
 * query_format_named() by the name of the format. */
const char *query_format_of_file(const cJSON *list, const char *file);
const char *query_format_named(const cJSON *list, const char *name);
/* Returns how files of a media type can be cut into several: "records" or "rows"; NULL: they cannot, or type is NULL.
 * The list owns the text. */
const char *query_format_pieces(const cJSON *list, const char *type);

/* Prints which formats are possible after `fault`, such as "the ending of x.doc is unknown". `endings`: lists file
 * endings, else names. Returns CTL_USAGE. */
int query_formats_usage(struct ctl *ctl, const cJSON *list, bool endings, const char *fault);

#endif
