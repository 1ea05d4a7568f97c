/* The audit log. api.c records a request before its handler runs and completes the entry afterwards; GET /v1/audit
 * lists the entries. Complete entries also go to the process, which may pass them on to a file or to syslog. */
#include "api/audit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/cursor.h"
#include "api/http/exchange.h"
#include "api/http/route.h"
#include "api/http/service.h"
#include "core/base/hash.h"
#include "core/base/work.h"
#include "storage/storage.h"

#define FILTER "audit"
#define STUDIES "/v1/studies/"
#define ENTRY_MAX 4096
#define REFUSAL_MS 600000
#define SIGNED_MS 3600000

const struct config_field audit_query[] = {
    PARAMETER_INTEGER("limit", 1, 1000, "entries on a page (100)"),
    PARAMETER_TEXT("cursor", 64, "next_cursor of the previous page"),
    PARAMETERS_END,
};

static void copy_text(char *to, size_t room, const char *text)
{
    (void)snprintf(to, room, "%s", text != NULL ? text : "");
}

static void entry_document(const struct sink *out, const struct storage_audit *entry)
{
    sink_begin_object(out, NULL);
    sink_time(out, "time", entry->time);
    sink_text(out, "who", entry->who);
    sink_text(out, "peer", entry->peer);
    sink_text(out, "request", entry->request);
    sink_text(out, "method", entry->method);
    sink_text(out, "target", entry->target);
    if (entry->status != 0)
        sink_integer(out, "status", entry->status);
    else
        sink_null(out, "status");
    bool of_study = strncmp(entry->target, "/v1/studies", 11) == 0;
    sink_text(out, "job", entry->made[0] != '\0' && !of_study ? entry->made : NULL);
    sink_text(out, "study", entry->made[0] != '\0' && of_study ? entry->made : NULL);
    sink_end_object(out);
}

/* Passes a complete entry to the process. */
static void export_entry(const struct api *api, const struct storage_audit *entry)
{
    const struct api_daemon *daemon = &api->options.daemon;
    struct json_sink json;
    struct buf line;
    if (daemon->audited == NULL)
        return;
    buf_init(&line, ENTRY_MAX);
    json_sink_init(&json, &line);
    entry_document(&json.sink, entry);
    buf_text(&line, "\n");
    if (!line.failed)
        daemon->audited(daemon->context, line.data, line.size);
    buf_close(&line);
}

static void describe(const struct exchange *x, struct storage_audit *entry)
{
    *entry = (struct storage_audit){.time = now_ms()};
    copy_text(entry->who, sizeof entry->who, x->request->who);
    copy_text(entry->peer, sizeof entry->peer, x->request->peer);
    copy_text(entry->request, sizeof entry->request, x->response->id);
    copy_text(entry->method, sizeof entry->method, x->request->method);
    copy_text(entry->target, sizeof entry->target, x->request->target);
}

/* A request that cannot be recorded is refused, so that no change is missing from the log. */
bool audit_begin(struct exchange *x)
{
    struct storage_audit entry;
    struct error err;
    if (x->match.route->scope <= API_SCOPE_READ || x->match.route->scope == API_SCOPE_TRAINER ||
        strcmp(x->match.route->method, "GET") == 0) /* not recorded: reading requests, and requests of trainers */
        return true;
    error_clear(&err);
    describe(x, &entry);
    if (storage_audit_begin(x->api->options.storage, &entry, &err)) {
        respond_error(x, &err);
        return false;
    }
    x->noted = true;
    return true;
}

/* Adds the status of the response to the entry. If the request has created a job or a study, also adds its id, which is
 * the end of the Location header. */
void audit_end(struct exchange *x)
{
    const char *location = api_response_header(x->response, "Location"), *made = "";
    struct storage_audit entry;
    if (location != NULL && strncmp(location, "/v1/jobs/", 9) == 0 && strlen(location + 9) == STORAGE_ID - 1)
        made = location + 9;
    else if (location != NULL && strncmp(location, STUDIES, 12) == 0 && strlen(location + 12) == STORAGE_ID - 1)
        made = location + 12;
    (void)storage_audit_end(x->api->options.storage, x->response->id, x->response->status, made, NULL);
    describe(x, &entry);
    entry.status = x->response->status;
    copy_text(entry.made, sizeof entry.made, made);
    export_entry(x->api, &entry);
}

/* ---- refusals and sign-ins -------------------------------------------------------------------------------- */

static void record(const struct exchange *x, const struct storage_audit *entry)
{
    if (storage_audit_begin(x->api->options.storage, entry, NULL) == STATUS_OK)
        (void)storage_audit_end(x->api->options.storage, entry->request, entry->status, "", NULL);
    export_entry(x->api, entry);
}

static uint64_t hash_caller(const struct storage_audit *entry)
{
    unsigned char digest[HASH_BYTES];
    char text[sizeof entry->who + sizeof entry->peer + 8];
    uint64_t hash;
    (void)snprintf(text, sizeof text, "%d %s %s", entry->status, entry->peer, entry->who);
    hash_bytes(text, strlen(text), digest);
    memcpy(&hash, digest, sizeof hash);
    return hash;
}

void audit_refusal(struct exchange *x)
{
    struct storage_audit entry;
    const int64_t now = work_now_ms();
    if ((x->response->status != 401 && x->response->status != 403) || x->noted)
        return;
    describe(x, &entry);
    entry.status = x->response->status;
    _Atomic int64_t *until = &x->api->audited.refused_until[hash_caller(&entry) % AUDIT_SLOTS];
    int64_t seen = atomic_load(until);
    if (now < seen || !atomic_compare_exchange_strong(until, &seen, now + REFUSAL_MS))
        return;
    record(x, &entry);
}

void audit_signed_token(struct exchange *x)
{
    struct audit_recent *recent = &x->api->audited;
    struct storage_audit entry;
    const int64_t now = work_now_ms();
    describe(x, &entry);
    entry.status = 200;
    const uint64_t hash = hash_caller(&entry);
    const size_t slot = hash % AUDIT_SLOTS;
    if (atomic_load(&recent->signed_in[slot]) == hash && now < atomic_load(&recent->signed_until[slot]))
        return;
    atomic_store(&recent->signed_in[slot], hash);
    atomic_store(&recent->signed_until[slot], now + SIGNED_MS);
    copy_text(entry.method, sizeof entry.method, "sign-in");
    copy_text(entry.target, sizeof entry.target, "token");
    (void)snprintf(entry.request, sizeof entry.request, "%.32s-signin", x->response->id);
    record(x, &entry);
}

void audit_event(struct exchange *x, const char *who, const char *event, const char *where)
{
    struct storage_audit entry;
    describe(x, &entry);
    entry.status = x->response->status;
    copy_text(entry.who, sizeof entry.who, who);
    copy_text(entry.method, sizeof entry.method, event);
    copy_text(entry.target, sizeof entry.target, where);
    record(x, &entry);
}

/* ---- the list --------------------------------------------------------------------------------------------- */

void audit_list(struct exchange *x)
{
    const char *cursor = exchange_query(x, "cursor");
    char text[STORAGE_ID], next[CURSOR_TEXT];
    struct storage_audit *entries;
    struct error err;
    size_t count;
    int limit = (int)exchange_query_integer(x, "limit", 100);
    if (cursor != NULL && !cursor_read(cursor, FILTER, text)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "cursor: is not from this list.");
        return;
    }
    int64_t before = cursor != NULL ? strtoll(text, NULL, 10) : INT64_MAX;
    error_clear(&err);
    if (storage_audit_list(x->api->options.storage, before, limit, &x->arena, &entries, &count, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    sink_begin_list(x->out, "changes");
    for (size_t i = 0; i < count; i++)
        entry_document(x->out, &entries[i]);
    sink_end_list(x->out);
    if (count == (size_t)limit && entries[count - 1].id > 1) {
        (void)snprintf(text, sizeof text, "%026lld", (long long)entries[count - 1].id);
        cursor_write(text, FILTER, next);
        sink_text(x->out, "next_cursor", next);
    } else {
        sink_null(x->out, "next_cursor");
    }
    sink_end_object(x->out);
    respond_json(x, 200);
}
