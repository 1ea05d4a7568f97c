/* Checks the query string of a request against the parameters of its route, and finds the path that a client probably
 * meant if the path of its request is unknown. */
#ifndef MOTIF_API_HTTP_QUERY_CHECK_H
#define MOTIF_API_HTTP_QUERY_CHECK_H

#include <stdbool.h>

#include "api/http/exchange.h"

/* A bound on a member of the result, such as "result.fpe<=0.1" in a query string. The parser of query strings splits at
 * "=", so the name of this pair is "result.fpe<" and its value is "0.1". */
struct result_bound {
    char path[80];     /* JSON path of the member, such as "$.fpe" */
    const char *op;    /* "<=", ">=" or "="; static text */
    const char *value; /* the text after "="; borrowed */
    double number;     /* the value as a number; undefined unless is_number */
    bool is_number;
};
/* Reads a bound. False: the name is not "result." with a member's name, or a bound with <= or >= has a value that is
 * not a number. */
bool result_bound_read(const char *name, const char *value, struct result_bound *out);

/* Parses the query string into x->query and checks it. False: the function has responded.
 */
bool query_check(struct exchange *x);

/* For a request with an unknown path, writes the path that the client probably meant: the same path without the slash
 * at its end, with "/v1" before it, or with both changes. False: no such path exists. */
bool path_guess(const struct exchange *x, char out[API_TARGET_MAX + 8]);

#endif
