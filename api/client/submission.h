/* The bodies of requests, that of POST /v1/jobs above all, put together from what a command line says. Pure functions
 * on a cJSON object. */
#ifndef MOTIF_API_CLIENT_SUBMISSION_H
#define MOTIF_API_CLIENT_SUBMISSION_H

#include "api/json/json.h"

#include "core/base/error.h"

/* Text of a file: a whole submission (it has "kind", "preset" or "config") is taken over member by member, any other
 * object becomes "config". Members are kept as they stand, duplicates too: judging them is the server's. */
enum status submission_file(cJSON *body, const char *text, struct error *err);
/* "field=value" into "config". The value is kept letter by letter when it is JSON, so that a number which JSON
 * cannot carry is seen by the server, and is a string otherwise. */
enum status submission_set(cJSON *body, const char *assignment, struct error *err);
/* "from": {"job": id, "checkpoint": seq}; `colon` points at ":SEQ", or is NULL for the latest. */
enum status submission_from(cJSON *body, const char *id, const char *colon, struct error *err);
void submission_text(cJSON *body, const char *name, const char *value);
/* "checkpoint" of a query or an evaluation: a number when `text` is one, else text for the server to judge; NULL: none.
 */
void submission_checkpoint(cJSON *body, const char *text);

#endif
