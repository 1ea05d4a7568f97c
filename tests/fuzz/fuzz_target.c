/* Fuzz target of request targets and of header values that are lists. It tests routing, percent-decoding, queries,
 * ranges, entity tags and Accept. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/api.h"
#include "api/http/cursor.h"
#include "protocol/json.h"
#include "api/http/route.h"
#include "api/http/uri.h"
#include "api/routes.h"
#include "core/base/utf8.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("/v1/jobs?state=queued&kind=sparling&limit=10&cursor=AAAA"),
    FUZZ_SEED("/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV/checkpoints/latest?dry_run=1"),
    FUZZ_SEED("/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV/artifacts/motifs.png"),
    FUZZ_SEED("/v1/jobs/%41%20%c3%a4/metrics?name=a%2Cb&since=0&max_points=+10"),
    FUZZ_SEED("bytes=0-99"),
    FUZZ_SEED("W/\"1.2\", \"3.4\", *"),
    FUZZ_SEED("image/png;q=0.5, application/json; charset=\"utf-8\", */*;q=0.1"),
    FUZZ_SEED("/v1/kinds/%2e%2e%2f%00%ff"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

/* Checks the table of one route. Each parameter of its path must have a pattern and a description. `text` is tried as a
 * Content-Type: a route that takes a body of this type must have a list of media types. */
static void check_rules(const struct api_route *route, const char *text)
{
    const char *name, *meaning;
    size_t at = 0, parameters = 0;
    for (size_t bytes; (bytes = route_pattern_param(route->pattern, &at, &name)) > 0; parameters++)
        FUZZ_CHECK(route_param_pattern(name, bytes, &meaning)[0] == '^' && meaning[0] != '\0');
    FUZZ_CHECK(parameters <= ROUTE_PARAMS);
    FUZZ_CHECK(!route_takes(route, NULL) && !(route_streams(route) && route->body_limit == 0));
    FUZZ_CHECK(!route_takes(route, text) || route->media_types != NULL);
}

static void check_route(const char *text)
{
    const struct route_table table = {api_routes, api_route_count};
    static const char *const methods[] = {"GET", "POST", "HEAD", "DELETE", "PATCH", "BREW"};
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
        struct route_match match;
        route_match(&table, methods[m], text, &match);
        FUZZ_CHECK((match.route != NULL) == (match.status == 200));
        FUZZ_CHECK(match.status == 200 || match.status == 400 || match.status == 404 || match.status == 405 ||
                   match.status == 414);
        FUZZ_CHECK((match.status == 405) == (match.allow[0] != '\0') || match.status == 200);
        for (size_t i = 0; match.route != NULL && i < match.count; i++) {
            /* No parameter may begin with a dot, so none is "..". An id may be the name of a job, which may be any
             * printable text. Other parameters must not contain separators or quotation marks. */
            const char *value = match.values[i];
            FUZZ_CHECK(value[0] != '\0' && value[0] != '.' && utf8_printable(value, strlen(value)));
            FUZZ_CHECK(strcmp(match.names[i], "id") == 0 || strpbrk(value, "/\\%'\" ") == NULL);
        }
        FUZZ_CHECK(route_find(&table, methods[m], text) == match.route);
        if (match.route != NULL)
            check_rules(match.route, text);
    }
}

/* A cursor is valid for the filter that it was written for, and for no other. */
static void check_cursor(const char *text)
{
    char id[STORAGE_ID], read[STORAGE_ID], cursor[CURSOR_TEXT];
    (void)snprintf(id, sizeof id, "%-*.*s", (int)sizeof id - 1, (int)sizeof id - 1, text);
    cursor_write(id, text, cursor);
    FUZZ_CHECK(cursor_read(cursor, text, read) && strcmp(read, id) == 0);
    FUZZ_CHECK(!cursor_read(cursor, "another", read) || strcmp(text, "another") == 0);
    cursor[strlen(text) % 44] ^= 1;
    FUZZ_CHECK(!cursor_read(cursor, text, read));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    static char decoded[5000];
    struct query query;
    uint64_t first = 0, last = 0;
    FUZZ_CHECK(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    check_route(text);
    for (int plus = 0; plus < 2; plus++)
        if (uri_decode(text, strlen(text), plus == 1, decoded, sizeof decoded, NULL) == STATUS_OK)
            FUZZ_CHECK(utf8_valid(decoded, strlen(decoded)) && strlen(decoded) <= strlen(text));
    if (query_parse(text, &query, NULL) == STATUS_OK)
        for (size_t i = 0; i < query.count; i++)
            FUZZ_CHECK(query_get(&query, query.pairs[i].name) == query.pairs[i].value);
    for (uint64_t total = 0; total < 200; total += 99)
        if (range_parse(text, total, &first, &last) == RANGE_PART)
            FUZZ_CHECK(first <= last && last < total);
    static const char *const offers[] = {"application/json", "image/png"};
    int pick = media_pick(text, offers, 2);
    FUZZ_CHECK(pick >= -1 && pick < 2);
    (void)media_is(text, "application/json");
    (void)etag_listed(text, "\"3.4\"", true);
    char id[STORAGE_ID];
    FUZZ_CHECK(!cursor_read(text, "filter", id));
    check_cursor(text);
    free(text);
    return 0;
}
