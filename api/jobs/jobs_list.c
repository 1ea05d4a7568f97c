/* GET /v1/jobs: filters, order, and the choice of members. */
#include "api/jobs/jobs.h"

#include <stdio.h>
#include <string.h>

#include "api/http/cursor.h"
#include "api/http/query_check.h"
#include "api/jobs/job_document.h"
#include "api/rights/caller.h"
#include "protocol/faults.h"

/* The names of the columns by which a list can be sorted, besides members of the result. */
static const char *const orders[] = {"created_at", "started_at", "finished_at", "name",    "kind",
                                     "preset",     "owner",      "state",       "priority"};

struct listing {
    struct exchange *x;
    struct viewer viewer;
    struct storage_job_filter filter;
    char before[STORAGE_ID];
    char sort[80];
    const char *fields; /* names of the wanted members with commas at both ends; NULL: the members that job_list_item()
                           writes by default */
    bool config;
};

/* Reads "sort": a column or "result.NAME", with "-" in front for the largest or newest first. */
static bool read_sort(struct listing *l)
{
    struct exchange *x = l->x;
    const char *given = exchange_query(x, "sort");
    struct result_bound member;
    if (given == NULL)
        return true;
    const char *name = given + (given[0] == '-');
    l->filter.ascending = name == given;
    if (strcmp(name, "created_at") == 0)
        return true;
    if (strncmp(name, "result.", 7) == 0 && result_bound_read(name, "", &member) && member.op[0] == '=') {
        (void)snprintf(l->sort, sizeof l->sort, "%s", member.path);
    } else {
        struct name_guess guess = {.given = name};
        for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
            if (strcmp(orders[i], name) == 0)
                (void)snprintf(l->sort, sizeof l->sort, "%s", name);
            name_guess_offer(&guess, orders[i]);
        }
        if (l->sort[0] == '\0') {
            respond_problem(x, PROBLEM_BAD_QUERY,
                            "sort: must be created_at, started_at, finished_at, name, kind, preset, owner, state, "
                            "priority or result.NAME, with - in front for the largest first; got '%.40s'%s%s%s",
                            given, guess.best != NULL ? "; did you mean '" : "", guess.best != NULL ? guess.best : "",
                            guess.best != NULL ? "'?" : ".");
            return false;
        }
    }
    l->filter.sort = l->sort;
    return true;
}

static bool read_fields(struct listing *l)
{
    struct exchange *x = l->x;
    const char *given = exchange_query(x, "fields");
    if (given == NULL)
        return true;
    if (strcmp(given, "config") == 0) { /* the default members and the configuration */
        l->config = true;
        return true;
    }
    size_t bytes = strlen(given) + 8;
    char *fields = arena_alloc(&x->arena, bytes);
    char *names = arena_strdup(&x->arena, given);
    if (fields == NULL || names == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return false;
    }
    (void)snprintf(fields, bytes, ",id,%s,", given);
    l->fields = fields;
    for (char *rest = NULL, *name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        struct name_guess guess = {.given = name};
        if (job_member_known(name, &guess))
            continue;
        respond_problem(x, PROBLEM_BAD_QUERY, "fields: '%.40s' is not a member of a job%s%s%s", name,
                        guess.best != NULL ? "; did you mean '" : "", guess.best != NULL ? guess.best : "",
                        guess.best != NULL ? "'?" : ".");
        return false;
    }
    return true;
}

/* Collects the bounds on the result as the JSON list that storage reads. */
static bool read_bounds(struct listing *l)
{
    struct exchange *x = l->x;
    struct buf text;
    struct json_sink json;
    buf_init(&text, 1u << 16);
    json_sink_init(&json, &text);
    size_t count = 0;
    sink_begin_list(&json.sink, NULL);
    for (size_t i = 0; i < x->query.count; i++) {
        struct result_bound bound;
        if (!result_bound_read(x->query.pairs[i].name, x->query.pairs[i].value, &bound))
            continue;
        sink_begin_object(&json.sink, NULL);
        sink_text(&json.sink, "path", bound.path);
        sink_text(&json.sink, "op", bound.op);
        if (bound.is_number)
            sink_number(&json.sink, "value", bound.number);
        else if (strcmp(bound.value, "true") == 0 || strcmp(bound.value, "false") == 0)
            sink_boolean(&json.sink, "value", bound.value[0] == 't');
        else
            sink_text(&json.sink, "value", bound.value);
        sink_end_object(&json.sink);
        count++;
    }
    sink_end_list(&json.sink);
    bool good = json_sink_done(&json);
    if (good && count > 0) {
        buf_append(&text, "", 1);
        l->filter.result = text.failed ? NULL : arena_strdup(&x->arena, text.data);
        good = l->filter.result != NULL;
    }
    buf_close(&text);
    if (!good)
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    return good;
}

static void write_pair(struct buf *out, const char *name, const char *value)
{
    uri_encode(out, name);
    buf_text(out, "=");
    uri_encode(out, value);
    buf_text(out, "&");
}

/* Writes the text that identifies the list for its cursors: the filters and the sort order. It does not depend on the
 * order in which the client sent them, except for bounds on the result. */
static void write_identity(const struct exchange *x, struct buf *out)
{
    static const char *const names[] = {"state", "kind", "name", "tag", "owner", "preset", "study", "sort"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (exchange_query(x, names[i]) != NULL)
            write_pair(out, names[i], exchange_query(x, names[i]));
    for (size_t i = 0; i < x->query.count; i++)
        if (strncmp(x->query.pairs[i].name, "result.", 7) == 0)
            write_pair(out, x->query.pairs[i].name, x->query.pairs[i].value);
}

/* Refuses a filter "kind" whose kind does not exist. Without this check the client would get an empty list, as if there
 * were no such jobs. */
static bool check_kind(struct exchange *x, const char *kind)
{
    struct name_guess guess = {.given = kind};
    if (kind == NULL || api_method(x->api, kind) != NULL)
        return true;
    for (size_t i = 0; i < x->api->options.method_count; i++)
        name_guess_offer(&guess, x->api->options.methods[i]->kind);
    respond_problem(x, PROBLEM_BAD_QUERY, "kind: '%.40s' is not a kind of this build%s%s%s", kind,
                    guess.best != NULL ? "; did you mean '" : "; GET /v1/kinds lists the kinds",
                    guess.best != NULL ? guess.best : "", guess.best != NULL ? "'?" : ".");
    return false;
}

static bool read_filter(struct listing *l)
{
    struct exchange *x = l->x;
    const char *state = exchange_query(x, "state"), *study = exchange_query(x, "study");
    l->viewer = caller_viewer(x);
    l->filter = (struct storage_job_filter){
        .viewer = &l->viewer,
        .by_state = state != NULL,
        .kind = exchange_query(x, "kind"),
        .name = exchange_query(x, "name"),
        .tag = exchange_query(x, "tag"),
        .owner = exchange_query(x, "owner"),
        .preset = exchange_query(x, "preset"),
        .study = study != NULL && strcmp(study, "none") == 0 ? "" : study,
        .limit = (int)exchange_query_integer(x, "limit", 50),
    };
    if (state != NULL)
        (void)job_state_parse(state, &l->filter.state); /* cannot fail: the route table allows only valid states */
    return check_kind(x, l->filter.kind) && read_sort(l) && read_fields(l) && read_bounds(l);
}

/* Reads the cursor, if there is one. `identity` identifies the list. */
static bool read_cursor(struct listing *l, const char *identity)
{
    struct exchange *x = l->x;
    struct error err;
    error_clear(&err);
    struct storage_job last;
    const char *cursor = exchange_query(x, "cursor");
    if (cursor == NULL)
        return true;
    if (!cursor_read(cursor, identity, l->before)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "cursor: is not from this list, or from the list with other filters.");
        return false;
    }
    l->filter.before = l->before;
    if (l->filter.sort == NULL && !l->filter.ascending)
        return true;
    /* The page of a sorted list begins after the last job of the previous page. Storage sorts by the values of this
     * job, so the job must still exist. */
    if (!caller_job(x, l->before, &last, &err))
        return true;
    respond_problem(x, PROBLEM_BAD_QUERY, "cursor: its job was deleted; read the list again from its beginning.");
    return false;
}

/* Writes the header Link, which repeats the query with the cursor of the next page. */
static void link_next(struct exchange *x, const char *next)
{
    struct buf query;
    buf_init(&query, 3 * API_TARGET_MAX);
    for (size_t i = 0; i < x->query.count; i++)
        if (strcmp(x->query.pairs[i].name, "cursor") != 0)
            write_pair(&query, x->query.pairs[i].name, x->query.pairs[i].value);
    if (!query.failed) /* if memory is short, Link is left out, and the client still has next_cursor */
        response_header(x->response, "Link", "</v1/jobs?%scursor=%s>; rel=\"next\"", query.size > 0 ? query.data : "",
                        next);
    buf_close(&query);
}

static void write_list(struct listing *l, const char *identity)
{
    struct exchange *x = l->x;
    struct error err;
    error_clear(&err);
    struct storage_job *jobs;
    size_t count;
    bool more;
    if (storage_job_list(x->api->options.storage, &l->filter, &x->arena, &jobs, &count, &more, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    sink_begin_list(x->out, "jobs");
    for (size_t i = 0; i < count; i++)
        job_list_item(x, &jobs[i], l->fields, l->config);
    sink_end_list(x->out);
    if (more && count > 0) {
        char next[CURSOR_TEXT];
        cursor_write(jobs[count - 1].id, identity, next);
        sink_text(x->out, "next_cursor", next);
        link_next(x, next);
    } else {
        sink_null(x->out, "next_cursor");
    }
    sink_end_object(x->out);
    respond_json(x, 200);
}

void jobs_list(struct exchange *x)
{
    struct listing l = {.x = x};
    struct buf identity;
    buf_init(&identity, 3 * API_TARGET_MAX);
    if (read_filter(&l)) {
        write_identity(x, &identity);
        if (identity.failed)
            respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        else if (read_cursor(&l, identity.size > 0 ? identity.data : ""))
            write_list(&l, identity.size > 0 ? identity.data : "");
    }
    buf_close(&identity);
}
