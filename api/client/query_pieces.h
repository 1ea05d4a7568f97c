/* Cuts a file of records or rows into requests of the size that the server takes: at most QUERY_PIECE inputs each. */
#ifndef MOTIF_API_CLIENT_QUERY_PIECES_H
#define MOTIF_API_CLIENT_QUERY_PIECES_H

#include "api/client/query_input.h"

enum { QUERY_PIECE = 256 }; /* inputs that the server takes in one request */

struct query_pieces {
    const struct query_input *input; /* outlives this struct */
    struct buf body;                 /* the body of the current request */
    size_t at;                       /* first byte of the next piece */
    size_t header;                   /* bytes of a table's header, which every piece repeats; 0: there is none */
};

/* The file of `input` must be one that can be cut: input->pieces is not NULL. The same holds for the functions below.
 */
void query_pieces_init(struct query_pieces *pieces, const struct query_input *input);
void query_pieces_close(struct query_pieces *pieces);
/* Makes the next request. false: there are no more records, or no memory (body.failed). */
bool query_pieces_next(struct query_pieces *pieces, struct http_request *request);

/* Asks about all pieces, and joins the answers in one document, which the caller frees. Returns an exit code. */
int query_pieces_ask(struct ctl *ctl, const struct query_input *input, cJSON **document);
/* Asks about all pieces, and writes the numbers of all answers to one .npy file. Returns an exit code. */
int query_pieces_save(struct ctl *ctl, const struct query_input *input, const char *file);

#endif
