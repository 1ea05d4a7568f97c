/* Implements api_sweep.h: sends requests while an allocation, a system call or a call of SQLite fails. */
#include "tests/unit/api/api_sweep.h"

#include <sqlite3.h>
#include <strings.h>

#include "tests/support/fault.h"
#include "tests/support/fault_sqlite.h"

#define TRACE 400

int complaints;

static void arm_allocation(int place, bool forever)
{
    fault_spare_sqlite(false);
    (forever ? fault_from : fault_after)(place);
}

static void arm_own(int place, bool forever)
{
    fault_spare_sqlite(true);
    (forever ? fault_from : fault_after)(place);
}

static void arm_answer(int place, bool forever)
{
    fault_sqlite_after(place, SQLITE_NOMEM, forever);
}

const struct sweep_fault sweep_faults[SWEEP_FAULTS] = {
    {"allocation", arm_allocation, fault_happened, 7},
    {"allocation of the program", arm_own, fault_happened, 1},
    {"answer of SQLite", arm_answer, fault_sqlite_happened, 2},
};

struct asked {
    const struct request_case *c;
    const char *id;
    char values[2][64];
};

static const char *header_of(void *context, const char *name)
{
    const struct asked *a = context;
    for (int i = 0; i < 2; i++)
        if (a->c->header[i] != NULL && strcasecmp(a->c->header[i], name) == 0)
            return a->values[i];
    return strcasecmp(name, "Content-Type") == 0 && a->c->body != NULL ? "application/json" : NULL;
}

void sweep_fill(char *out, size_t room, const char *pattern, const char *id)
{
    const char *place = strchr(pattern, '@');
    if (place == NULL)
        (void)snprintf(out, room, "%s", pattern);
    else
        (void)snprintf(out, room, "%.*s%s%s", (int)(place - pattern), pattern, id, place + 1);
}

/* Reads the body of the response while allocations still fail, as the daemon's connection does. */
static void take_body(struct api_response *r, struct answer *out, char *room)
{
    if (r->read == NULL) {
        out->count = r->body.size;
        memcpy(room, r->body.data != NULL ? r->body.data : "", out->count);
        return;
    }
    while (out->count < r->read_bytes) {
        size_t got = r->read(r->read_context, out->count, room + out->count, (size_t)r->read_bytes - out->count);
        if (got == 0) { /* the daemon would close the connection here */
            out->status = 599;
            return;
        }
        out->count += got;
    }
}

struct answer sweep_ask(const struct sweep *s, const struct request_case *c, const char *id, int place, bool forever)
{
    static char room[4 << 20]; /* static, because a sanitizer needs long to allocate a large block */
    struct asked asked = {.c = c, .id = id};
    char target[200];
    struct answer out = {0};
    const char *body = c->body;
    size_t bytes = body != NULL ? strlen(body) : 0;
    for (size_t i = 0; body != NULL && i < sizeof s->bodies / sizeof s->bodies[0]; i++) {
        if (s->bodies[i].name != NULL && strcmp(body, s->bodies[i].name) == 0) {
            body = s->bodies[i].data;
            bytes = s->bodies[i].bytes;
        }
    }
    sweep_fill(target, sizeof target, c->target, id);
    for (int i = 0; i < 2; i++)
        sweep_fill(asked.values[i], sizeof asked.values[i], c->header_value[i] != NULL ? c->header_value[i] : "", id);
    struct api_request request = {.method = c->method,
                                  .target = target,
                                  .header = header_of,
                                  .header_context = &asked,
                                  .body = body,
                                  .body_bytes = bytes,
                                  .scope = API_SCOPE_ADMIN};
    struct api_response response;
    if (place >= 0)
        s->fault->arm(place, forever);
    api_handle(s->f->api, &request, &response);
    out.status = response.status;
    take_body(&response, &out, room);
    out.failed = place >= 0 && s->fault->disarm();
    out.bytes = malloc(out.count + 1);
    assert_non_null(out.bytes);
    memcpy(out.bytes, room, out.count);
    if (api_response_header(&response, "X-Request-Id") == NULL && !out.failed)
        complain("%s %s: no id", c->method, target);
    const char *type = api_response_header(&response, "Content-Type");
    if (type != NULL && strstr(type, "json") != NULL && out.count > 0) {
        cJSON *json;
        struct error err = {0};
        if (json_parse(out.bytes, out.count, &json, &err) != STATUS_OK) {
            complain("%s %s, %s %d: %d, not JSON: %.*s", c->method, target, s->fault->name, place, out.status,
                     (int)out.count, out.bytes);
        }
        const cJSON *status = cJSON_GetObjectItem(json, "status");
        if (strstr(type, "problem") != NULL && (!cJSON_IsNumber(status) || status->valueint != out.status)) {
            complain("%s %s, %s %d: a problem that is none: %.*s", c->method, target, s->fault->name, place,
                     (int)out.count, out.bytes);
        }
        cJSON_Delete(json);
    }
    api_response_close(&response);
    return out;
}

const char *sweep_mode(bool forever)
{
    return forever ? "from" : "at";
}

int sweep_read(const struct sweep *s, const struct request_case *c, const char *id, bool forever, int stride)
{
    struct answer right = sweep_ask(s, c, id, -1, false);
    int place = 0, walked = 0;
    if (right.status != c->status)
        complain("%s %s: %d %.*s", c->method, c->target, right.status, (int)right.count, right.bytes);
    for (bool failed = true; failed; place += stride) {
        struct answer a = sweep_ask(s, c, id, place, forever);
        failed = a.failed;
        walked += failed;
        if (a.status != c->status && (!failed || a.status < 500)) {
            complain("%s %s, %s %s %d: %d %.*s", c->method, c->target, s->fault->name, sweep_mode(forever), place,
                     a.status, (int)(a.count < TRACE ? a.count : TRACE), a.bytes);
        }
        if (c->same && a.status == c->status &&
            (a.count != right.count || memcmp(a.bytes, right.bytes, a.count) != 0)) {
            complain("%s %s, %s %s %d: another answer\n%.*s\n%.*s", c->method, c->target, s->fault->name,
                     sweep_mode(forever), place, (int)(a.count < TRACE ? a.count : TRACE), a.bytes,
                     (int)(right.count < TRACE ? right.count : TRACE), right.bytes);
        }
        free(a.bytes);
        assert_true(place < 200000);
    }
    free(right.bytes);
    return walked;
}
