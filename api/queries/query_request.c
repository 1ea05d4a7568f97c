/* Reads a request for a query: finds the query in the table of the job's method, chooses the representation of the
 * answer, reads parameters and inputs, and finds the checkpoints of the models. */
#include "api/queries/query_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/checkpoint_pick.h"
#include "api/jobs/job_document.h"
#include "protocol/config_json.h"
#include "api/datasets/dataset_names.h"
#include "api/queries/query_routes.h"
#include "api/rights/caller.h"
#include "core/data/dataset.h"
#include "storage/files/dataset.h"

static bool takes_files(const struct method_query *query)
{
    return query->takes == METHOD_TAKES_INPUTS || query->takes == METHOD_TAKES_EDITS;
}

const char *query_request_type(const struct exchange *x)
{
    const char *format = exchange_query(x, "format");
    for (const char *const *type = x->match.route->media_types; format != NULL && type != NULL && *type != NULL; type++)
        if (strcmp(media_short(*type), format) == 0)
            return *type;
    return exchange_header(x, "Content-Type");
}

bool query_request_is_json(const struct exchange *x)
{
    const char *type = query_request_type(x);
    return type == NULL || media_is(type, "application/json");
}

/* Each of the following functions returns false after it has sent an error. */

static bool no_memory(struct exchange *x)
{
    respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    return false;
}

/* Finds the query in the table of the job's own method. The route may come from another method that has the same query.
 */
static bool find_query(struct exchange *x, struct query_request *a)
{
    const struct query_origin *origin = query_routes_origin(x->api->query_routes, x->match.route);
    a->method = api_method(x->api, a->job.kind);
    const struct method_query *wanted = origin->query, *other = NULL;
    for (size_t i = 0; a->method != NULL && i < a->method->query_count; i++) {
        const struct method_query *query = &a->method->queries[i];
        if (query_same_route(query, wanted))
            a->query = query;
        else if (strcmp(query->name, wanted->name) == 0 && (query->item != NULL) == (wanted->item != NULL))
            other = query;
    }
    if (a->query != NULL && a->method->open != NULL)
        return true;
    if (a->query == NULL && other != NULL && a->method->open != NULL) {
        const char *allow = other->verb == METHOD_GET ? "GET, HEAD" : "POST";
        respond_problem(x, PROBLEM_METHOD, "Jobs of kind %s answer '%s', but not to this method. Allowed: %s.",
                        a->job.kind, wanted->name, allow);
        response_header(x->response, "Allow", "%s", allow);
        return false;
    }
    respond_problem(x, PROBLEM_NOT_FOUND, "Jobs of kind %s do not answer '%s'.", a->job.kind, wanted->name);
    return false;
}

/* Chooses the representation of the answer from the Accept header and the representations that the query supports. */
static bool choose_form(struct exchange *x, struct query_request *a)
{
    const char *offers[3 + METHOD_TEXTS];
    enum query_form forms[3 + METHOD_TEXTS];
    int count = 0;
    char offered[256] = "";
    if (a->query->answer != NULL) {
        forms[count] = FORM_DOCUMENT;
        offers[count++] = "application/json";
    }
    if (a->query->draw != NULL) {
        forms[count] = FORM_PICTURE;
        offers[count++] = "image/png";
    }
    if (a->query->array != NULL) {
        forms[count] = FORM_ARRAY;
        offers[count++] = "application/x-npy";
    }
    int texts = count;
    for (size_t i = 0; i < a->query->text_count; i++) {
        forms[count] = FORM_TEXT;
        offers[count++] = a->query->texts[i].type;
    }
    int pick = media_pick(exchange_header(x, "Accept"), offers, count);
    if (pick < 0) {
        for (int i = 0; i < count; i++) {
            size_t used = strlen(offered);
            (void)snprintf(offered + used, sizeof offered - used, "%s%s", used > 0 ? ", " : "", offers[i]);
        }
        respond_problem(x, PROBLEM_NOT_ACCEPTABLE, "This query answers with %s.", offered);
        return false;
    }
    a->form = forms[pick];
    a->text = a->form == FORM_TEXT ? &a->query->texts[pick - texts] : NULL;
    if (count > 1)
        response_header(x->response, "Vary", "Accept");
    return true;
}

/* Takes what the columns of a table mean from the description of a data set. */
static struct input_file_table *table_of(struct exchange *x, const cJSON *about, const char *const named[5])
{
    struct input_file_table *table = arena_zalloc(&x->arena, 1, sizeof *table);
    const cJSON *columns = cJSON_GetObjectItemCaseSensitive(about, "columns");
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(about, "shape"), "cols");
    int count = cJSON_GetArraySize(columns);
    const char **feature = arena_zalloc(&x->arena, (size_t)count + 1, sizeof *feature);
    if (table == NULL || feature == NULL)
        return NULL;
    table->wanted = (struct table_wanted){named[0], named[1], named[2], named[3], true};
    table->feature = feature;
    table->text = named[4];
    JSON_EACH (column, columns) {
        const cJSON *one = cJSON_GetObjectItemCaseSensitive(column, "name");
        feature[table->features] = cJSON_IsString(one) ? arena_strdup(&x->arena, one->valuestring) : NULL;
        table->features += feature[table->features] != NULL;
    }
    if (!cJSON_IsNumber(all) || (int)all->valuedouble != table->features) /* a long list is cut off */
        table->features = 0;
    return table;
}

/* Reads the description of the job's data set, if that is still there: the name that the empty label stands for and,
 * if `tables` is true, the columns. Without it, the usual rules for names of columns hold. */
static void read_about(struct exchange *x, struct query_request *a, bool tables)
{
    static const char *const names[] = {"label", "group", "id", "ignore", "text", "absent"};
    const char *text, *named[6] = {NULL};
    char name[80];
    size_t size;
    cJSON *about;
    if (x->api->options.data == NULL || !json_member_text(a->job.config, "dataset_name", name, sizeof name) ||
        !dataset_name_good(name) ||
        dataset_read(x->api->options.data, name, "about.json", &x->arena, &text, &size, NULL) ||
        json_parse(text, size, &about, NULL))
        return;
    for (int i = 0; i < 6; i++) {
        const cJSON *options = cJSON_GetObjectItemCaseSensitive(about, "options");
        const cJSON *stated = cJSON_GetObjectItemCaseSensitive(options, names[i]);
        named[i] = cJSON_IsString(stated) ? arena_strdup(&x->arena, stated->valuestring) : NULL;
    }
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(about, "kind");
    if (!cJSON_IsString(kind) || strcmp(kind->valuestring, "texts") != 0)
        named[4] = NULL;
    else if (named[4] == NULL || named[4][0] == '\0')
        named[4] = "text"; /* the usual name */
    a->absent = named[5];
    a->inputs->table = tables ? table_of(x, about, named) : NULL;
    cJSON_Delete(about);
}

/* Allocates memory for the request, with the parameters at their defaults. */
static bool query_request_prepare(struct exchange *x, struct query_request *a)
{
    struct error err;
    error_clear(&err);
    a->faults = arena_zalloc(&x->arena, 1, sizeof *a->faults);
    if (a->faults == NULL)
        return no_memory(x);
    if (a->query->takes == METHOD_TAKES_SAMPLE || takes_files(a->query)) {
        a->inputs = calloc(1, sizeof *a->inputs);
        if (a->inputs == NULL)
            return no_memory(x);
        a->inputs->edited = a->query->takes == METHOD_TAKES_EDITS;
        const char *type = query_request_type(x);
        bool table =
            x->request->body_bytes > 0 && memmem(x->request->body, x->request->body_bytes, "text/csv", 8) != NULL;
        read_about(x, a, table || (type != NULL && media_is(type, "text/csv")));
    }
    if (a->query->parameters != NULL) {
        a->parameters = arena_zalloc(&x->arena, 1, a->query->parameters->struct_bytes);
        if (a->parameters == NULL)
            return no_memory(x);
        if (config_defaults(a->query->parameters, a->parameters, &err)) {
            respond_error(x, &err);
            return false;
        }
    }
    return true;
}

/* Reads ?checkpoint= and the parameters of the query. If the body is JSON, a parameter in the query string is a fault,
 * because it must be a member of the body. The values are checked again here, because the route accepts the parameters
 * of all methods that share the route. */
static bool read_query_string(struct exchange *x, struct query_request *a)
{
    const char *checkpoint = exchange_query(x, "checkpoint");
    if (checkpoint != NULL && !checkpoint_pick_text(checkpoint, &a->pick)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "checkpoint: " CHECKPOINT_PICK_RULE ".");
        return false;
    }
    bool sample = a->query->takes == METHOD_TAKES_SAMPLE;
    bool strict = a->query->verb == METHOD_GET || a->query->takes == METHOD_TAKES_FILE;
    bool json = !strict && query_request_is_json(x);
    /* a body that is a file may be a batch of inputs; a JSON body lists its inputs */
    bool batch = takes_files(a->query) && !strict && !json;
    for (size_t i = 0; i < x->query.count; i++) {
        const struct query_pair *pair = &x->query.pairs[i];
        const struct config_field *field =
            a->query->parameters != NULL ? config_find(a->query->parameters, pair->name) : NULL;
        struct error err;
        error_clear(&err);
        if (field != NULL && json)
            api_faults_add(a->faults, pair->name, "must be a member of the JSON body");
        else if (field != NULL && config_parse(field, a->parameters, pair->value, &err))
            api_faults_add(a->faults, pair->name, "%s", err.message);
        else if (field == NULL && json && strcmp(pair->name, "batch") == 0)
            api_faults_add(a->faults, pair->name, "is for a body that is one array; a JSON body lists its inputs");
        else if (field == NULL && strcmp(pair->name, "checkpoint") != 0 && strcmp(pair->name, "format") != 0 &&
                 !(sample && strcmp(pair->name, "seed") == 0) && !(batch && strcmp(pair->name, "batch") == 0))
            api_faults_add(a->faults, pair->name, "is not a parameter of this query of a job of kind %s", a->job.kind);
    }
    if (a->faults->count > 0) {
        respond_faults(x, PROBLEM_BAD_QUERY, "parameter", a->faults);
        return false;
    }
    if (sample) {
        a->inputs->items[0] =
            (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = exchange_query_integer(x, "seed", 0)};
        a->inputs->count = 1;
    }
    return true;
}

/* Reads a body that is a file: one input or, with ?batch=1, one input for each position of the array's first axis. */
static bool read_file(struct exchange *x, struct query_request *a)
{
    struct error err;
    error_clear(&err);
    a->rows = a->query->rows != NULL && a->form == FORM_ARRAY && exchange_query_flag(x, "batch") &&
              media_is(query_request_type(x), "application/x-npy");
    if (a->rows)
        return true;
    enum status status =
        input_from_bytes(query_request_type(x), x->request->body, x->request->body_bytes, "", a->inputs, &err);
    if (!status && exchange_query_flag(x, "batch"))
        status = inputs_split(a->inputs, &err);
    if (status)
        respond_error(x, &err);
    return !status;
}

/* Removes the members that are parameters from `body`, and sets the parameters to their values. */
static enum status read_parameters(const struct query_request *a, cJSON *body, struct error *err)
{
    const struct config_table *table = a->query->parameters;
    const struct method reading = {.kind = a->query->name, .config = table != NULL ? *table : (struct config_table){0}};
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(body, table->fields[i].name);
        cJSON *one = item != NULL ? cJSON_CreateObject() : NULL;
        if (one != NULL && cJSON_AddItemToObject(one, table->fields[i].name, item)) {
            config_read_object(&reading, one, "", false, a->parameters, a->faults);
        } else if (item != NULL) {
            cJSON_Delete(item);
            cJSON_Delete(one);
            return error_memory(err, "parameters");
        }
        cJSON_Delete(one);
    }
    return STATUS_OK;
}

/* Reads what is left in `body` after the parameters of the query were removed. The query takes no inputs. If it
 * compares two models, the body has the member "with" (the id of another job), else it may have "checkpoint". */
static enum status read_members(struct exchange *x, struct query_request *a, const cJSON *body, struct error *err)
{
    bool model = a->query->takes == METHOD_TAKES_MODEL;
    const cJSON *with = NULL;
    JSON_EACH (item, body) {
        if (model && strcmp(item->string, "with") == 0) {
            with = item;
        } else if (!model && strcmp(item->string, "checkpoint") == 0) {
            if (!checkpoint_pick_json(item, &a->pick))
                api_faults_add(a->faults, "/checkpoint", CHECKPOINT_PICK_RULE);
        } else {
            char pointer[128];
            fault_pointer(pointer, "", item->string);
            api_faults_add(a->faults, pointer, "is not a member of the query %s", a->query->name);
        }
    }
    if (!model)
        return STATUS_OK;
    if (!cJSON_IsString(with)) {
        api_faults_add(a->faults, "/with", "must be the id of the other job");
        return STATUS_OK;
    }
    struct error why;
    error_clear(&why);
    enum status status = caller_job(x, with->valuestring, &a->with, &why);
    if (status == STATUS_NOT_FOUND)
        api_faults_add(a->faults, "/with", "no job has this id");
    else if (status)
        return error_set(err, status, NULL, "%s", why.message);
    else if (strcmp(a->with.kind, a->job.kind) != 0)
        api_faults_add(a->faults, "/with", "is of kind %s; must be %s", a->with.kind, a->job.kind);
    return STATUS_OK;
}

static bool read_document(struct exchange *x, struct query_request *a)
{
    /* a missing body is allowed if the route says that the body is optional */
    bool empty = x->request->body_bytes == 0;
    cJSON *body = empty ? cJSON_CreateObject() : exchange_object(x);
    if (body == NULL)
        return empty ? no_memory(x) : false;
    struct error err;
    error_clear(&err);
    if (exchange_query(x, "checkpoint") != NULL && cJSON_GetObjectItemCaseSensitive(body, "checkpoint") != NULL)
        api_faults_add(a->faults, "/checkpoint", "is also a query parameter; state it only once");
    enum status status = read_parameters(a, body, &err);
    if (!status) {
        status = takes_files(a->query) ? inputs_from_json(body, a->inputs, &a->pick, a->faults, &err)
                                       : read_members(x, a, body, &err);
    }
    cJSON_Delete(body);
    if (a->faults->count > 0 && (!status || status == STATUS_INVALID)) {
        respond_faults(x, PROBLEM_INVALID, "pointer", a->faults);
        return false;
    }
    if (status)
        respond_error(x, &err);
    return !status;
}

/* Refuses a body above API_BODY_MAX, unless the query takes a file, or takes rows and the body is not JSON. The route
 * cannot do this, because its limit is the largest limit of all queries that share the route. */
static bool small_enough(struct exchange *x, const struct query_request *a)
{
    bool large = a->query->takes == METHOD_TAKES_FILE || (a->query->rows != NULL && !query_request_is_json(x));
    if (large || x->request->body_bytes <= API_BODY_MAX)
        return true;
    respond_problem(x, PROBLEM_TOO_LARGE, "The inputs of this query may have at most %u bytes.", API_BODY_MAX);
    return false;
}

static bool read_request(struct exchange *x, struct query_request *a)
{
    if (!read_query_string(x, a) || !small_enough(x, a))
        return false;
    if (a->query->takes == METHOD_TAKES_FILE)
        return true; /* the body is the text */
    if (a->query->verb == METHOD_POST && !(query_request_is_json(x) ? read_document(x, a) : read_file(x, a)))
        return false;
    if (a->form == FORM_PICTURE && takes_files(a->query) && a->inputs->count != 1) {
        struct error err;
        error_clear(&err);
        (void)error_set(&err, STATUS_INVALID, "/inputs",
                        "must contain exactly one input when Accept requests a picture; got %zu", a->inputs->count);
        respond_error(x, &err);
        return false;
    }
    return true;
}

static bool find_checkpoint(struct exchange *x, const struct query_request *a, const struct storage_job *job,
                            struct storage_checkpoint_pick pick, struct storage_checkpoint *out)
{
    struct error err;
    error_clear(&err);
    enum status status = storage_checkpoint_find(x->api->options.storage, job->id, pick, out, &err);
    if (status == STATUS_NOT_FOUND && (pick.by == STORAGE_LATEST || pick.by == STORAGE_BEST)) {
        respond_problem(x, PROBLEM_CONFLICT, "Job %s has no checkpoint yet.", job->id);
    } else if (status == STATUS_NOT_FOUND && (exchange_query(x, "checkpoint") != NULL || !takes_files(a->query))) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s has no such checkpoint; GET /v1/jobs/%s/checkpoints lists them.",
                        job->id, job->id);
    } else if (status == STATUS_NOT_FOUND) {
        struct error fault;
        error_clear(&fault);
        (void)error_set(&fault, STATUS_INVALID, "/checkpoint", "job %s has no such checkpoint", job->id);
        respond_error(x, &fault);
    } else if (status) {
        respond_error(x, &err);
    }
    return !status;
}

static bool find_checkpoints(struct exchange *x, struct query_request *a)
{
    const struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};
    return find_checkpoint(x, a, &a->job, a->pick, &a->checkpoint) &&
           (a->query->takes != METHOD_TAKES_MODEL || find_checkpoint(x, a, &a->with, latest, &a->with_checkpoint));
}

/* Replaces the names of data sets among the parameters by their folders. False: the function has responded. */
static bool find_datasets(struct exchange *x, struct query_request *a)
{
    struct error err;
    error_clear(&err);
    bool query = a->query->verb == METHOD_GET;
    if (a->query->dataset_parameters == NULL || a->parameters == NULL)
        return true;
    enum status status = dataset_names_resolve_fields(x, a->query->parameters, a->query->dataset_parameters,
                                                      a->parameters, query ? "" : "/", a->faults, &err);
    if (status)
        respond_error(x, &err);
    else if (a->faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, query ? "parameter" : "pointer", a->faults);
    return !status && a->faults->count == 0;
}

bool query_request_read(struct exchange *x, struct query_request *a)
{
    a->pick = (struct storage_checkpoint_pick){.by = STORAGE_LATEST};
    a->item = -1;
    if (!exchange_job(x, &a->job) || !find_query(x, a) || !choose_form(x, a))
        return false;
    if (a->query->item != NULL)
        a->item = strtoll(exchange_param(x, ROUTE_ITEM), NULL, 10);
    return query_request_prepare(x, a) && read_request(x, a) && find_datasets(x, a) && find_checkpoints(x, a);
}

void query_request_close(struct query_request *a)
{
    if (a->inputs != NULL) {
        inputs_close(a->inputs);
        free(a->inputs);
    }
}
