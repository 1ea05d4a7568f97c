/* The table of problems, and the document that a client receives for a problem. */
#include "api/http/problem.h"

#include <stdio.h>

#include "protocol/config_json.h"
#include "protocol/json_sink.h"

static const struct problem_kind kinds[PROBLEM_COUNT] = {
    [PROBLEM_BAD_REQUEST] = {400, "bad-request", "The request is malformed"},
    [PROBLEM_BAD_JSON] = {400, "bad-json", "The body is not JSON"},
    [PROBLEM_BAD_QUERY] = {400, "bad-query", "A query parameter is wrong"},
    [PROBLEM_UNAUTHORISED] = {401, "unauthorised", "A valid token is needed"},
    [PROBLEM_FORBIDDEN] = {403, "forbidden", "The token does not allow this"},
    [PROBLEM_NOT_FOUND] = {404, "not-found", "There is no such resource"},
    [PROBLEM_METHOD] = {405, "method-not-allowed", "The resource does not support this method"},
    [PROBLEM_NOT_ACCEPTABLE] = {406, "not-acceptable", "None of the accepted media types is available"},
    [PROBLEM_TIMEOUT] = {408, "timeout", "The request took too long to arrive"},
    [PROBLEM_CONFLICT] = {409, "conflict", "The current state does not allow this"},
    [PROBLEM_PRECONDITION] = {412, "precondition-failed", "The resource has changed"},
    [PROBLEM_TOO_LARGE] = {413, "too-large", "The body is too large"},
    [PROBLEM_TARGET_TOO_LONG] = {414, "target-too-long", "The request target is too long"},
    [PROBLEM_MEDIA_TYPE] = {415, "media-type", "The media type of the body is not supported here"},
    [PROBLEM_RANGE] = {416, "range", "The range is outside of the resource"},
    [PROBLEM_EXPECTATION] = {417, "expectation-failed", "The expectation cannot be met"},
    [PROBLEM_MISDIRECTED] = {421, "misdirected", "The request is for another host"},
    [PROBLEM_INVALID] = {422, "invalid", "Some fields are invalid"},
    [PROBLEM_KEY_REUSED] = {422, "idempotency-key-reused", "The idempotency key was used for another request"},
    [PROBLEM_TOO_MANY] = {429, "too-many-requests", "Too many requests"},
    [PROBLEM_HEADERS] = {431, "headers-too-large", "The request headers are too large"},
    [PROBLEM_INTERNAL] = {500, "internal", "An internal error occurred"},
    [PROBLEM_NOT_IMPLEMENTED] = {501, "not-implemented", "The request needs a feature that is not implemented"},
    [PROBLEM_UNAVAILABLE] = {503, "unavailable", "The service is not available at the moment"},
    [PROBLEM_DEADLINE] = {504, "deadline", "The computation took too long"},
};

const struct problem_kind *problem_kind(enum problem problem)
{
    return &kinds[(unsigned)problem < PROBLEM_COUNT ? problem : PROBLEM_INTERNAL];
}

enum problem problem_of_status(int status)
{
    for (int i = 0; i < PROBLEM_COUNT; i++)
        if (kinds[i].status == status)
            return (enum problem)i;
    return PROBLEM_INTERNAL;
}

enum problem problem_of_error(enum status code)
{
    switch (code) {
    case STATUS_INVALID:
    case STATUS_LIMIT:
        return PROBLEM_INVALID;
    case STATUS_NOT_FOUND:
        return PROBLEM_NOT_FOUND;
    case STATUS_CONFLICT:
        return PROBLEM_CONFLICT;
    case STATUS_UNAVAILABLE:
    case STATUS_CANCELLED:
    case STATUS_NO_MEMORY:
    case STATUS_IO:
    case STATUS_FULL:
        return PROBLEM_UNAVAILABLE;
    default:
        return PROBLEM_INTERNAL;
    }
}

bool problem_is_public(enum status code)
{
    return code == STATUS_INVALID || code == STATUS_LIMIT || code == STATUS_NOT_FOUND || code == STATUS_CONFLICT ||
           code == STATUS_UNAVAILABLE || code == STATUS_CANCELLED || code == STATUS_FULL;
}

void problem_write(struct buf *out, enum problem problem, int status, const char *title, const char *detail,
                   const char *instance, const char *member, const struct api_faults *faults, const char *error)
{
    const struct problem_kind *kind = problem_kind(problem);
    char type[96];
    (void)snprintf(type, sizeof type, "urn:motifd:problem:%s", kind->name);
    struct json_sink json;
    json_sink_init(&json, out);
    const struct sink *s = &json.sink;
    sink_begin_object(s, NULL);
    sink_text(s, "type", type);
    sink_text(s, "title", title != NULL ? title : kind->title);
    sink_integer(s, "status", status);
    sink_text(s, "detail", detail);
    sink_text(s, "instance", instance);
    if (error != NULL)
        sink_text(s, error, detail);
    if (faults != NULL && faults->count > 0) {
        sink_begin_list(s, "errors");
        for (size_t i = 0; i < faults->count; i++) {
            sink_begin_object(s, NULL);
            sink_text(s, member, faults->items[i].pointer);
            sink_text(s, "detail", faults->items[i].detail);
            sink_end_object(s);
        }
        sink_end_list(s);
        if (faults->more > 0)
            sink_integer(s, "errors_left_out", (int64_t)faults->more);
    }
    sink_end_object(s);
}
