/* The answers to a file of many inputs, which motifctl sends in several requests. */
#ifndef MOTIF_API_CLIENT_QUERY_PIECES_H
#define MOTIF_API_CLIENT_QUERY_PIECES_H

#include "api/client/query_input.h"

#define QUERY_RECORD "record" /* in this member, each answer has the name of its input */

/* Sends all requests, and joins the answers in one document, which the caller frees. input->pieces must not be NULL.
 * Returns an exit code. */
int query_pieces_ask(struct ctl *ctl, const struct query_input *input, cJSON **document);
/* Sends all requests, and writes the numbers of all answers to one .npy file. input->pieces must not be NULL. Returns
 * an exit code. */
int query_pieces_save(struct ctl *ctl, const struct query_input *input, const char *file);

#endif
