/* The routes with which the page signs people in and out; the process (server/signin/) does the work. */
#ifndef MOTIF_API_SIGN_IN_H
#define MOTIF_API_SIGN_IN_H

#include "api/http/route.h"

struct exchange;

#define API_COOKIE 512 /* bytes of the value of a Set-Cookie header, with its NUL */

enum api_sign_in_action { API_SIGN_IN_BEGIN, API_SIGN_IN_FINISH, API_SIGN_OUT };

struct api_sign_in {
    enum api_sign_in_action action;
    const char *code, *state;   /* FINISH: what the issuer passed on; not NULL */
    const char *cookies, *host; /* values of Cookie and Host; "": missing */
    /* The process fills these members: */
    char location[2048];     /* BEGIN, FINISH: where the browser goes next */
    char cookie[API_COOKIE]; /* value of Set-Cookie; "": none */
    char name[64];           /* FINISH: who signed in */
    const char *fault;       /* why not: a sentence */
};

extern const struct config_field callback_query[]; /* parameters and answers of the routes */
extern const struct api_answer session_answers[], sign_in_answers[], sign_out_answers[];
/* GET /v1/sign-in, GET /v1/sign-in/callback and POST /v1/sign-out. */
void sign_in_handle(struct exchange *x);
/* GET /v1/session: who the caller is, and whether the daemon offers a sign-in. */
void session_show(struct exchange *x);

#endif
