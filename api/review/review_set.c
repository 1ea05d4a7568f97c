/* Lists the marks of a review and finds the answers about them (review_set.h). */
#include "api/review/review_set.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/job_document.h"
#include "api/models/model_cache.h"
#include "api/queries/queries.h"
#include "api/review/mark_cache.h"
#include "core/methods/method.h"

/* ---- the list of marks --------------------------------------------------------------------------------- */

static const struct method_query *marks_query(const struct method *method)
{
    for (size_t i = 0; method != NULL && method->open != NULL && i < method->query_count; i++) {
        const struct method_query *query = &method->queries[i];
        if (query->item == NULL && query->answer != NULL && strcmp(query->name, METHOD_MARKS_QUERY) == 0)
            return query;
    }
    return NULL;
}

/* Makes the parameters of the query: the usual ones, and the requested number of samples. */
static enum status make_parameters(struct exchange *x, const struct method_query *query, void **out, struct error *err)
{
    const struct config_table *table = query->parameters;
    const char *samples = exchange_query(x, "samples");
    *out = arena_zalloc(&x->arena, 1, table->struct_bytes);
    enum status status = *out != NULL ? config_defaults(table, *out, err) : error_memory(err, "a review");
    if (status || samples == NULL)
        return status;
    return config_parse(config_find(table, "samples"), *out, samples, err);
}

/* Asks the model for its marks, and appends the answer. */
static enum status ask_model(struct exchange *x, const struct review_set *set, const struct method *method,
                             const struct method_query *query, const void *parameters, struct buf *text,
                             struct error *err)
{
    struct model_lease lease;
    struct json_sink json;
    enum status status = model_cache_get(x->api->models, method, &set->job, set->checkpoint.seq, &lease, err);
    if (status)
        return status;
    const struct method_question question = {
        .query = query, .model = lease.model, .parameters = parameters, .item = -1, .work = &x->work};
    json_sink_init(&json, text);
    sink_begin_object(&json.sink, NULL);
    status = query->answer(&question, &json.sink, err);
    sink_end_object(&json.sink);
    model_cache_release(x->api->models, &lease);
    if (status || json_sink_done(&json))
        return status;
    return error_memory(err, "the marks of a review");
}

/* Appends the list of marks, from the cache or from the model. Returns false after it has responded. */
static bool list_marks(struct exchange *x, const struct review_set *set, struct buf *text)
{
    const struct method *method = api_method(x->api, set->job.kind);
    const struct method_query *query = marks_query(method);
    struct mark_key key = {.samples = 0};
    struct query_run run;
    struct error err;
    void *parameters;
    error_clear(&err);
    if (query == NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Models of kind %s have no marks that could be reviewed.", set->job.kind);
        return false;
    }
    enum status status = make_parameters(x, query, &parameters, &err);
    if (status) {
        respond_error(x, &err);
        return false;
    }
    memcpy(key.sha256, set->checkpoint.sha256, sizeof key.sha256);
    (void)snprintf(key.job, sizeof key.job, "%s", set->job.id);
    key.samples = (int64_t)config_number(config_find(query->parameters, "samples"), parameters);
    if (mark_cache_get(x->api->marks, &key, text))
        return true;
    if (!queries_enter(x, true, &run))
        return false;
    run.parameters = query->parameters;
    status = ask_model(x, set, method, query, parameters, text, &err);
    queries_leave(&run);
    if (!status) {
        mark_cache_put(x->api->marks, &key, text);
        return true;
    }
    if (status == STATUS_CANCELLED)
        queries_respond_stopped(&run);
    else
        respond_error(x, &err);
    return false;
}

/* ---- strata -------------------------------------------------------------------------------------------- */

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

static void read_mark(const struct review_set *set, const cJSON *row, struct review_mark *out)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "name"));
    const cJSON *position = cJSON_GetObjectItemCaseSensitive(row, "position");
    *out = (struct review_mark){.row = row,
                                .q = number_of(row, "q"),
                                .value = number_of(row, "value"),
                                .sample = (int64_t)number_of(row, "sample"),
                                .channel = (int64_t)number_of(row, "channel")};
    for (int i = 0; i < 2; i++)
        out->place[i] = (int64_t)cJSON_GetNumberValue(cJSON_GetArrayItem(position, i));
    (void)snprintf(out->id, sizeof out->id, "%lld.%lld.%lld.%lld.%lld", (long long)set->checkpoint.seq,
                   (long long)out->sample, (long long)out->channel, (long long)out->place[0], (long long)out->place[1]);
    if (name != NULL)
        (void)snprintf(out->name, sizeof out->name, "%s", name);
    else
        (void)snprintf(out->name, sizeof out->name, "channel %lld", (long long)out->channel);
}

static int by_stratum(const void *a, const void *b)
{
    const struct review_mark *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    if (names != 0)
        return names;
    if (isnan(x->q) != isnan(y->q))
        return isnan(x->q) ? 1 : -1;
    if (x->q != y->q && !isnan(x->q))
        return x->q < y->q ? -1 : 1;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return strcmp(x->id, y->id); /* no two marks have the same id */
}

static int by_id(const void *a, const void *b, void *context)
{
    const struct review_set *set = context;
    return strcmp(set->mark[*(const int32_t *)a].id, set->mark[*(const int32_t *)b].id);
}

static enum status make_strata(struct exchange *x, struct review_set *set, struct error *err)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(set->document, "marks"),
                *shape = cJSON_GetObjectItemCaseSensitive(set->document, "shape");
    size_t count = (size_t)cJSON_GetArraySize(rows);
    set->samples = (int64_t)number_of(set->document, "samples");
    set->rows = (int64_t)cJSON_GetNumberValue(cJSON_GetArrayItem(shape, 0));
    set->cols = (int64_t)cJSON_GetNumberValue(cJSON_GetArrayItem(shape, 1));
    set->unit = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(set->document, "unit"));
    set->mark = arena_zalloc(&x->arena, count + 1, sizeof *set->mark);
    set->by_id = arena_zalloc(&x->arena, count + 1, sizeof *set->by_id);
    set->answer = arena_zalloc(&x->arena, count + 1, 1);
    if (set->mark == NULL || set->by_id == NULL || set->answer == NULL)
        return error_memory(err, "a review");
    JSON_EACH (row, rows)
        read_mark(set, row, &set->mark[set->count++]);
    qsort(set->mark, count, sizeof *set->mark, by_stratum);
    for (size_t i = 0; i < count; i++)
        set->by_id[i] = (int32_t)i;
    qsort_r(set->by_id, count, sizeof *set->by_id, by_id, set);
    return STATUS_OK;
}

static bool read_parameters(struct exchange *x, struct review_set *set)
{
    const char *wanted = exchange_query(x, "false_marks");
    set->draws = exchange_query_integer(x, "count", REVIEW_BLOCK);
    set->seed = (uint64_t)exchange_query_integer(x, "seed", 0);
    set->wanted = 0.1;
    if (wanted != NULL) {
        char *end;
        set->wanted = strtod(wanted, &end);
        if (*end != '\0' || end == wanted || !(set->wanted > 0) || !(set->wanted < 1)) {
            respond_problem(x, PROBLEM_BAD_QUERY, "false_marks must be in (0, 1); got %.40s.", wanted);
            return false;
        }
    }
    return true;
}

bool review_set_open(struct exchange *x, struct review_set *set)
{
    struct error err;
    struct buf text;
    error_clear(&err);
    *set = (struct review_set){.document = NULL};
    if (!read_parameters(x, set) || !exchange_job(x, &set->job) || !exchange_checkpoint(x, &set->job, &set->checkpoint))
        return false;
    buf_init(&text, 64u << 20);
    bool listed = list_marks(x, set, &text);
    enum status status = listed ? json_parse(text.data, text.size, &set->document, &err) : STATUS_OK;
    buf_close(&text);
    if (listed && !status)
        status = make_strata(x, set, &err);
    if (status)
        respond_error(x, &err);
    return listed && !status;
}

void review_set_close(struct review_set *set)
{
    cJSON_Delete(set->document);
    set->document = NULL;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

int64_t review_set_find(const struct review_set *set, const char *id)
{
    int64_t low = 0, high = set->count - 1;
    while (low <= high) {
        int64_t middle = (low + high) / 2;
        int order = strcmp(set->mark[set->by_id[middle]].id, id);
        if (order == 0)
            return set->by_id[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

static enum review_answer answer_of(const char *text)
{
    return strcmp(text, "yes") == 0 ? REVIEW_YES : strcmp(text, "no") == 0 ? REVIEW_NO : REVIEW_UNSURE;
}

bool review_set_answers(struct exchange *x, struct review_set *set)
{
    struct error err;
    error_clear(&err);
    enum status status =
        storage_answers_list(x->api->options.storage, set->job.id, &x->arena, &set->answers, &set->answer_count, &err);
    if (status) {
        respond_error(x, &err);
        return false;
    }
    for (size_t i = 0; i < set->answer_count; i++) { /* a later version replaces an earlier one */
        int64_t at = review_set_find(set, set->answers[i].mark);
        if (at < 0)
            continue;
        set->mark[at].answer = &set->answers[i];
        set->answer[at] = (unsigned char)answer_of(set->answers[i].answer);
    }
    return true;
}

struct review review_set_review(const struct review_set *set)
{
    return (struct review){.marks = set->count, .answer = set->answer, .seed = set->seed, .most = set->draws};
}

int review_set_draw(const struct review_set *set, int64_t out[REVIEW_DRAWS])
{
    int count = 0;
    for (int64_t k = 0; k < set->draws && set->count > 0; k++) {
        int64_t mark = review_draw(set->count, set->seed, k);
        int i = 0;
        while (i < count && out[i] != mark)
            i++;
        if (i == count)
            out[count++] = mark;
    }
    return count;
}

/* ---- places -------------------------------------------------------------------------------------------- */

bool review_box_read(const struct review_set *set, const cJSON *value, int64_t box[4])
{
    const int64_t most[4] = {set->rows, set->rows, set->cols, set->cols};
    if (!cJSON_IsArray(value) || cJSON_GetArraySize(value) != 4)
        return false;
    for (int i = 0; i < 4; i++) {
        const cJSON *item = cJSON_GetArrayItem(value, i);
        if (!cJSON_IsNumber(item) || item->valuedouble != floor(item->valuedouble) || item->valuedouble < 0 ||
            item->valuedouble > (double)most[i])
            return false;
        box[i] = (int64_t)item->valuedouble;
    }
    return box[0] < box[1] && box[2] < box[3];
}

/* Area that two boxes share, as a share of their union. */
static double overlap(const int64_t a[4], const int64_t b[4])
{
    double both = 1, first = 1, second = 1;
    for (int i = 0; i < 4; i += 2) {
        double low = (double)(a[i] > b[i] ? a[i] : b[i]), high = (double)(a[i + 1] < b[i + 1] ? a[i + 1] : b[i + 1]);
        both *= fmax(0, high - low);
        first *= (double)(a[i + 1] - a[i]);
        second *= (double)(b[i + 1] - b[i]);
    }
    return both / (first + second - both);
}

int64_t review_set_match(const struct review_set *set, const cJSON *place)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(place, "name"));
    double number = number_of(place, "number"), best = 0.5;
    int64_t wanted[4], box[4], found = -1;
    if (name == NULL || isnan(number) ||
        !review_box_read(set, cJSON_GetObjectItemCaseSensitive(place, "extent"), wanted))
        return -1;
    for (int64_t i = 0; i < set->count; i++) {
        const struct review_mark *mark = &set->mark[i];
        if (strcmp(mark->name, name) != 0 || number_of(mark->row, "number") != number ||
            !review_box_read(set, cJSON_GetObjectItemCaseSensitive(mark->row, "extent"), box))
            continue;
        double shared = overlap(wanted, box);
        if (shared >= best) {
            best = shared;
            found = i;
        }
    }
    return found;
}
