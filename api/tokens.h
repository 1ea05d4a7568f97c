/* The routes with which `motifd token` changes the tokens of a running daemon. They need the scope OPERATOR. */
#ifndef MOTIF_API_TOKENS_H
#define MOTIF_API_TOKENS_H

struct exchange;

enum api_token_action { API_TOKEN_LIST, API_TOKEN_CREATE, API_TOKEN_REVOKE };

struct api_token_request {
    enum api_token_action action;
    const char *name;  /* name of the token; not NULL; LIST ignores it */
    const char *team;  /* CREATE: team of the token; "": the team without a name; not NULL */
    const char *scope; /* CREATE: "read", "submit", "manage" or "admin", or the name of a role */
    int days;          /* CREATE: days until the token expires; 0: it never expires */
};

#define API_TOKEN_DAYS_MAX 36500

/* GET, POST and DELETE /v1/tokens. */
void tokens_handle(struct exchange *x);

#endif
