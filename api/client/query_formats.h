/* The file formats of a query, as the server describes them (GET /v1/kinds/{kind}). motifctl has no list of formats
 * of its own. It looks up names and endings in the server's lists, and sends the media types that it finds there. */
#ifndef MOTIF_API_CLIENT_QUERY_FORMATS_H
#define MOTIF_API_CLIENT_QUERY_FORMATS_H

#include "api/client/ctl.h"

struct query_formats {
    cJSON *kind;          /* the document of the job's kind */
    const cJSON *formats; /* the formats of answers besides JSON */
    const cJSON *files;   /* the formats of files that can be the body of the query's request */
};

/* Reads the formats of a query of a job. verb: "GET" or "POST". Returns an exit code; CTL_USAGE if the job's kind has
 * no such query. The caller closes `out` in any case. */
int query_formats_read(struct ctl *ctl, const char *id, const char *query, const char *verb, struct query_formats *out);
void query_formats_close(struct query_formats *formats);

/* Return the media type of a format in a list; NULL: the list has no such format. query_format_of_file() compares
 * the ending of a file's name, without .gz and without regard to case. query_format_named() compares the name of the
 * format. The list owns the text. */
const char *query_format_of_file(const cJSON *list, const char *file);
const char *query_format_named(const cJSON *list, const char *name);
/* Returns in what pieces a file of a media type can be sent: "records" or "rows"; NULL: only as a whole, or type is
 * NULL. The list owns the text. */
const char *query_format_pieces(const cJSON *list, const char *type);

/* Prints `fault`, such as "the ending of x.doc is unknown", and the formats that are possible: their file endings if
 * `endings`, else their names. Returns CTL_USAGE. */
int query_formats_usage(struct ctl *ctl, const cJSON *list, bool endings, const char *fault);

#endif
