/* The routes with which `motifd token` changes the tokens of a running daemon. They need the scope OPERATOR. */
#ifndef MOTIF_API_TOKENS_H
#define MOTIF_API_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"

struct exchange;

enum api_token_action { API_TOKEN_LIST, API_TOKEN_CREATE, API_TOKEN_ROTATE, API_TOKEN_REVOKE };

struct api_token_request {
    enum api_token_action action;
    const char *name;  /* name of the token; not NULL; LIST ignores it */
    const char *team;  /* CREATE: team of the token; "": the team without a name; not NULL */
    const char *scope; /* CREATE: "read", "submit", "manage" or "admin", or the name of a role */
    int64_t expires;   /* CREATE, ROTATE: seconds until the new token expires; 0: CREATE: it never expires; ROTATE: it
                          is valid for as long as the earlier token was */
    int64_t overlap;   /* ROTATE: seconds for which the earlier secret still works */
};

/* Parameters of the routes that create, rotate and revoke a token. */
extern const struct config_field token_create_query[], token_rotate_query[], token_revoke_query[];

#define API_TOKEN_DAYS_MAX 36500
#define API_TOKEN_OVERLAP_DAYS_MAX 30

/* Reads a duration of 1 second to `days` days: a number with the unit s, m (minutes), h or d ("30d", "12h"). False: the
 * text has another form or the duration another size. */
bool token_duration(const char *text, int days, int64_t *seconds);

/* GET, POST and DELETE /v1/tokens, and POST /v1/tokens/rotation. */
void tokens_handle(struct exchange *x);

#endif
