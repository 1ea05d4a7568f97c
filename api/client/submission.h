/* Builds the bodies of requests, mainly of POST /v1/jobs, from a command line. Pure functions on a cJSON object. */
#ifndef MOTIF_API_CLIENT_SUBMISSION_H
#define MOTIF_API_CLIENT_SUBMISSION_H

#include "protocol/json.h"

#include "core/base/error.h"

/* Adds the text of a file. A whole submission (with "kind", "preset" or "config") is copied member by member; any other
 * object becomes "config". Members are copied unchanged, duplicates too, because the server validates them. */
enum status submission_file(cJSON *body, const char *text, struct error *err);
/* Adds "field=value" to "config". A value that is valid JSON is copied letter by letter, so that the server receives
 * every digit of a number, even one that cJSON cannot represent. Any other value becomes a string. */
enum status submission_set(cJSON *body, const char *assignment, struct error *err);
/* Adds "field=v1,v2,..." to "grid": a list of values, each read as in submission_set(). */
enum status submission_grid(cJSON *body, const char *assignment, struct error *err);
/* Whether "config" has several folds and does not choose among them. kind: a member of the server's list of kinds;
 * NULL: whether it has several folds at all. */
bool submission_has_folds(const cJSON *body, const cJSON *kind);
/* Whether a preset, a member of "presets" in the server's list of kinds, is a study for this body: its grid has a
 * field, or it has several seeds, that "config" does not decide. */
bool submission_is_study(const cJSON *body, const cJSON *preset);
/* Adds "from": {"job": id, "checkpoint": seq}. colon: text ":SEQ", from which the function reads seq; NULL: the latest
 * checkpoint. */
enum status submission_from(cJSON *body, const char *id, const char *colon, struct error *err);
void submission_text(cJSON *body, const char *name, const char *value);
/* Adds "checkpoint" to a query or an evaluation: a number when `text` is one, otherwise text, which the server
 * validates. NULL adds nothing. */
void submission_checkpoint(cJSON *body, const char *text);

/* Adds a tag to the member "tags". */
void submission_tag(cJSON *body, const char *tag);

#endif
