/* Sends a file of records or rows in several requests, with at most QUERY_PIECE inputs each, because the server
 * limits the inputs of a request. */
#ifndef MOTIF_API_CLIENT_QUERY_PIECES_H
#define MOTIF_API_CLIENT_QUERY_PIECES_H

#include "api/client/query_input.h"

enum { QUERY_PIECE = 256 }; /* upper limit of the inputs in one request */

struct query_pieces {
    const struct query_input *input; /* outlives this struct */
    struct buf body;                 /* the body of the current request */
    size_t at;                       /* first byte of the next piece */
    size_t header;                   /* bytes of a table's header, which every piece repeats; 0: there is none */
};

/* input->pieces must not be NULL; the same holds for the functions below. */
void query_pieces_init(struct query_pieces *pieces, const struct query_input *input);
void query_pieces_close(struct query_pieces *pieces);
/* Makes the next request. Returns false if there are no more records, or no memory (body.failed). */
bool query_pieces_next(struct query_pieces *pieces, struct http_request *request);

/* Sends all requests, and joins the answers in one document, which the caller frees. Returns an exit code. */
int query_pieces_ask(struct ctl *ctl, const struct query_input *input, cJSON **document);
/* Sends all requests, and writes the numbers of all answers to one .npy file. Returns an exit code. */
int query_pieces_save(struct ctl *ctl, const struct query_input *input, const char *file);

#endif
