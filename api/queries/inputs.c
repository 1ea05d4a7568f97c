/* Reads the inputs of a query: samples by their seed, arrays as nested JSON lists, and files as the body or as base64.
 *
 * All limits (number of inputs, values of one array, values of all arrays) are checked before memory is allocated. */
#include "api/queries/inputs.h"

#include <math.h>
#include <stdarg.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/message.h"
#include "api/http/uri.h"
#include "api/jobs/checkpoint_pick.h"
#include "core/data/files/input_file.h"
#include "protocol/faults.h"

/* Reads the changes of an intervention from JSON: {"channel", "position"?, "delete": true} or
 * {"channel", "position"?, "to": {"channel"?, "position"?, "value"?}}. The method checks them against the size of its
 * motif map. */

#define EDITS_MAX 4096

static enum status edits_fault(const char *pointer, const char *member, struct error *err, const char *detail)
{
    char at[192];
    (void)snprintf(at, sizeof at, "%s%s", pointer, member);
    return error_set(err, STATUS_INVALID, at, "%s", detail);
}

static bool edits_whole(const cJSON *value, int64_t *out)
{
    bool ok = cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble <= INT32_MAX &&
              value->valuedouble == floor(value->valuedouble);
    *out = ok ? (int64_t)value->valuedouble : -1;
    return ok;
}

static bool edits_place(const cJSON *value, int64_t *row, int64_t *col)
{
    return cJSON_IsArray(value) && cJSON_GetArraySize(value) == 2 && edits_whole(value->child, row) &&
           edits_whole(value->child->next, col);
}

/* Returns whether the object has no other members than those in `names`. */
static bool only(const cJSON *object, const char *const *names)
{
    JSON_EACH (item, object) {
        const char *const *name = names;
        while (*name != NULL && strcmp(*name, item->string) != 0)
            name++;
        if (*name == NULL)
            return false;
    }
    return true;
}

static enum status read_target(const cJSON *to, const char *pointer, struct method_edit *edit, struct error *err)
{
    static const char *const names[] = {"channel", "position", "value", NULL};
    const cJSON *channel = cJSON_GetObjectItemCaseSensitive(to, "channel");
    const cJSON *position = cJSON_GetObjectItemCaseSensitive(to, "position");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(to, "value");
    if (!cJSON_IsObject(to) || to->child == NULL || !only(to, names)) {
        return edits_fault(pointer, "/to", err,
                           "must be an object with at least one of channel, position and value, and no other member");
    }
    if (channel != NULL && !edits_whole(channel, &edit->to_channel))
        return edits_fault(pointer, "/to/channel", err, "must be an integer of at least 0");
    if (position != NULL && !edits_place(position, &edit->to_row, &edit->to_col))
        return edits_fault(pointer, "/to/position", err, "must be [row, column], both integers of at least 0");
    if (value != NULL && !cJSON_IsNumber(value))
        return edits_fault(pointer, "/to/value", err, "must be a number");
    edit->to_value = value != NULL ? value->valuedouble : NAN;
    return STATUS_OK;
}

static enum status read_edit(const cJSON *item, const char *pointer, struct method_edit *edit, struct error *err)
{
    static const char *const names[] = {"channel", "position", "delete", "to", NULL};
    const cJSON *position = cJSON_GetObjectItemCaseSensitive(item, "position");
    const cJSON *remove = cJSON_GetObjectItemCaseSensitive(item, "delete"),
                *to = cJSON_GetObjectItemCaseSensitive(item, "to");
    *edit = (struct method_edit){.everywhere = position == NULL,
                                 .remove = cJSON_IsTrue(remove),
                                 .to_row = -1,
                                 .to_col = -1,
                                 .to_channel = -1,
                                 .to_value = NAN};
    if (!cJSON_IsObject(item) || !only(item, names) || (remove != NULL) == (to != NULL) ||
        (remove != NULL && !edit->remove))
        return edits_fault(pointer, "", err, "must have channel, optionally position, and either delete (true) or to");
    if (!edits_whole(cJSON_GetObjectItemCaseSensitive(item, "channel"), &edit->channel))
        return edits_fault(pointer, "/channel", err, "must be an integer of at least 0");
    if (position != NULL && !edits_place(position, &edit->row, &edit->col))
        return edits_fault(pointer, "/position", err, "must be [row, column], both integers of at least 0");
    return to != NULL ? read_target(to, pointer, edit, err) : STATUS_OK;
}

enum status edits_from_json(const cJSON *list, const char *pointer, struct method_edit **edits, size_t *count,
                            struct error *err)
{
    enum status status = STATUS_OK;
    *count = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > EDITS_MAX)
        return edits_fault(pointer, "", err, "must be a list of at most 4096 edits");
    *edits = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof **edits);
    if (*edits == NULL)
        return error_memory(err, "changes");
    JSON_EACH (item, list) {
        char at[160];
        (void)snprintf(at, sizeof at, "%s/%zu", pointer, *count);
        if (!status)
            status = read_edit(item, at, &(*edits)[(*count)++], err);
    }
    return status;
}

void inputs_close(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        free(inputs->owned[i]);
        free(inputs->edits[i]);
    }
    inputs->count = 0;
}

enum status inputs_add(struct inputs *inputs, int rank, const int64_t *dim, float *values, struct error *err)
{
    size_t numbers = 1;
    for (int d = 0; d < rank; d++)
        numbers *= (size_t)dim[d];
    bool many = inputs->count == INPUTS_MAX;
    if (many || numbers > INPUTS_NUMBERS_MAX - inputs->numbers) {
        free(values);
        return many ? error_set(err, STATUS_INVALID, NULL, "contains more than %d inputs", INPUTS_MAX)
                    : error_set(err, STATUS_INVALID, NULL,
                                "is too large: all inputs together may contain at most %u numbers", INPUTS_NUMBERS_MAX);
    }
    inputs->numbers += numbers;
    struct method_input *input = &inputs->items[inputs->count];
    *input = (struct method_input){.kind = METHOD_INPUT_ARRAY, .rank = rank, .values = values};
    for (int d = 0; d < rank; d++)
        input->dim[d] = dim[d];
    inputs->owned[inputs->count++] = values;
    return STATUS_OK;
}

static enum status add_from_file(void *context, int rank, const int64_t *dim, float *values, int rate,
                                 struct error *err)
{
    struct inputs *inputs = context;
    enum status status = inputs_add(inputs, rank, dim, values, err);
    if (!status && rank == 0)
        inputs->items[inputs->count - 1].text = (const char *)(values + 1);
    if (!status)
        inputs->items[inputs->count - 1].rate = rate;
    return status;
}

enum status input_from_bytes(const char *media_type, const void *bytes, size_t count, const char *pointer,
                             struct inputs *inputs, struct error *err)
{
    size_t left = INPUT_FILE_UNPACKED - inputs->unpacked;
    const struct input_file_sink to = {inputs, &left, add_from_file, inputs->table, &inputs->notes};
    struct error inner;
    error_clear(&inner);
    size_t i = 0;
    while (input_file_types[i] != NULL && !media_is(media_type, input_file_types[i]))
        i++;
    if (input_file_types[i] == NULL) {
        char allowed[200] = "";
        for (i = 0; input_file_types[i] != NULL; i++) {
            size_t used = strlen(allowed);
            (void)snprintf(allowed + used, sizeof allowed - used, "%s%s", used > 0 ? ", " : "", input_file_types[i]);
        }
        return error_set(err, STATUS_INVALID, pointer, "must be one of %s; got '%.60s'", allowed, media_type);
    }
    enum status status = input_file_read(input_file_types[i], bytes, count, &to, &inner);
    inputs->unpacked = INPUT_FILE_UNPACKED - left;
    if (status == STATUS_CORRUPT || status == STATUS_LIMIT)
        status = STATUS_INVALID; /* the wrong bytes came from the client */
    return !status ? STATUS_OK : error_set(err, status, pointer, "%s", inner.message);
}

static void warn(const struct sink *out, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void warn(const struct sink *out, const char *code, const char *format, ...)
{
    char text[480];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    sink_begin_object(out, NULL);
    sink_text(out, "code", code);
    sink_text(out, "text", text);
    sink_end_object(out);
}

void inputs_warn(const struct inputs *inputs, const struct sink *out)
{
    const struct input_file_notes *notes = &inputs->notes;
    if (notes->left_out[0] != '\0')
        warn(out, "columns-left-out", "columns that are no features of the model were left out: %s", notes->left_out);
    if (notes->rounded.count > 0)
        warn(out, "rounded", "%lld whole numbers beyond %d lost digits in single precision; the first: %s",
             (long long)notes->rounded.count, ROUNDED_FROM, notes->rounded.first);
}

enum status inputs_split(struct inputs *inputs, struct error *err)
{
    const struct method_input whole = inputs->items[0];
    if (inputs->count != 1 || whole.kind != METHOD_INPUT_ARRAY || whole.rank < 2 || whole.dim[0] > BATCH_MAX) {
        return error_set(err, STATUS_INVALID, NULL,
                         "a batch must be one array of two dimensions or more, of at most %d inputs", BATCH_MAX);
    }
    size_t size = 1;
    for (int d = 1; d < whole.rank; d++)
        size *= (size_t)whole.dim[d];
    for (; inputs->count < (size_t)whole.dim[0]; inputs->count++) {
        inputs->owned[inputs->count] = NULL;
        inputs->edits[inputs->count] = NULL;
    }
    for (size_t i = 0; i < inputs->count; i++) {
        struct method_input *item = &inputs->items[i];
        *item = whole;
        item->rank--;
        memmove(item->dim, whole.dim + 1, 3 * sizeof whole.dim[0]);
        item->values = whole.values + i * size;
    }
    return STATUS_OK;
}

/* The state of read_nested(), which reads lists of numbers that are nested in each other. */
struct nested {
    int64_t dim[4];
    int rank;
    float *values;
    size_t count, capacity;
    const char *pointer;
    struct rounded *rounded;
    struct error *err;
};

static enum status nested_fault(struct nested *n, const char *what)
{
    return error_set(n->err, STATUS_INVALID, n->pointer, "%s", what);
}

static enum status read_nested(struct nested *n, const cJSON *list, int depth)
{
    if (depth == 4)
        return nested_fault(n, "must have at most four dimensions");
    int64_t size = 0;
    JSON_EACH (item, list) {
        size++;
        if (cJSON_IsArray(item)) {
            enum status status = read_nested(n, item, depth + 1);
            if (status)
                return status;
        } else if (!cJSON_IsNumber(item)) {
            return nested_fault(n, "must contain numbers only");
        } else if (n->rank != depth + 1) {
            return nested_fault(n, "must be rectangular: a list mixes numbers and lists");
        } else if (n->count == n->capacity || !(fabs(item->valuedouble) <= 3.4028234e38)) {
            return nested_fault(n, n->count == n->capacity ? "must be rectangular"
                                                           : "contains a number that does not fit a 32-bit float");
        } else {
            if (rounded_double(item->valuedouble))
                rounded_add(n->rounded, "%.120s, number %zu: %.17g became %.0f", n->pointer, n->count,
                            item->valuedouble, (double)(float)item->valuedouble);
            n->values[n->count++] = (float)item->valuedouble;
        }
    }
    return size == n->dim[depth] ? STATUS_OK : nested_fault(n, "must be rectangular: lists differ in length");
}

/* The first element of each level determines the shape; read_nested() then compares all elements with it. */
enum status input_array_from_json(const cJSON *list, const char *pointer, struct inputs *inputs, struct error *err)
{
    struct nested n = {.pointer = pointer, .rounded = &inputs->notes.rounded, .err = err};
    size_t capacity = 1;
    const cJSON *level = list;
    for (; cJSON_IsArray(level) && n.rank < 4; level = level->child, n.rank++) {
        n.dim[n.rank] = cJSON_GetArraySize(level);
        capacity *= n.dim[n.rank] > 0 ? (size_t)n.dim[n.rank] : 1;
        if (n.dim[n.rank] == 0)
            return nested_fault(&n, "must not be empty");
        if (capacity > INPUT_NUMBERS_MAX)
            return nested_fault(&n, "contains too many numbers");
    }
    if (n.rank == 0)
        return nested_fault(&n, "must be a list of numbers or nested lists of numbers");
    n.capacity = capacity;
    n.values = malloc(capacity * sizeof *n.values);
    if (n.values == NULL)
        return error_set(err, STATUS_NO_MEMORY, pointer, "not enough memory for an input");
    enum status status = read_nested(&n, list, 0);
    if (status) {
        free(n.values);
        return status;
    }
    struct error inner;
    error_clear(&inner);
    status = inputs_add(inputs, n.rank, n.dim, n.values, &inner);
    return !status ? STATUS_OK : error_set(err, status, pointer, "%s", inner.message);
}

static enum status read_data(const cJSON *data, const cJSON *type, const char *pointer, struct inputs *inputs,
                             struct error *err)
{
    char at[160];
    if (!cJSON_IsString(data) || !cJSON_IsString(type)) {
        (void)snprintf(at, sizeof at, "%s/%s", pointer, cJSON_IsString(data) ? "type" : "data");
        return error_set(err, STATUS_INVALID, at, "%s",
                         cJSON_IsString(data) ? "must be the media type of data" : "must be base64 text");
    }
    size_t length = strlen(data->valuestring), size = length / 4 * 3 + 3, count;
    unsigned char *bytes = malloc(size);
    if (bytes == NULL)
        return error_set(err, STATUS_NO_MEMORY, pointer, "not enough memory for an input");
    (void)snprintf(at, sizeof at, "%s/data", pointer);
    enum status status;
    if (sodium_base642bin(bytes, size, data->valuestring, length, " \r\n", &count, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0) {
        status = error_set(err, STATUS_INVALID, at, "is not base64 (with padding)");
    } else {
        size_t before = inputs->count;
        status = input_from_bytes(type->valuestring, bytes, count, at, inputs, err);
        if (!status && inputs->count != before + 1)
            status = error_set(err, STATUS_INVALID, at, "must contain one input; got %zu", inputs->count - before);
    }
    free(bytes);
    return status;
}

static enum status read_sample(const cJSON *sample, const char *pointer, struct inputs *inputs, struct error *err)
{
    char at[160];
    const cJSON *seed = cJSON_GetObjectItemCaseSensitive(sample, "seed");
    (void)snprintf(at, sizeof at, "%s/sample", pointer);
    if (!cJSON_IsObject(sample) || cJSON_GetArraySize(sample) != 1 || seed == NULL)
        return error_set(err, STATUS_INVALID, at, "must be an object with the single member seed");
    (void)snprintf(at, sizeof at, "%s/sample/seed", pointer);
    if (!cJSON_IsNumber(seed) || seed->valuedouble != floor(seed->valuedouble) ||
        fabs(seed->valuedouble) > JSON_INTEGER)
        return error_set(err, STATUS_INVALID, at, "must be an integer");
    inputs->items[inputs->count] =
        (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = (int64_t)seed->valuedouble};
    inputs->owned[inputs->count++] = NULL;
    return STATUS_OK;
}

/* Reads the members "keep" and "edits" of an intervention and adds them to the last input. */
static enum status read_changes(const cJSON *item, const char *pointer, struct inputs *inputs, struct error *err)
{
    const cJSON *edits = cJSON_GetObjectItemCaseSensitive(item, "edits"),
                *keep = cJSON_GetObjectItemCaseSensitive(item, "keep");
    struct method_input *input = &inputs->items[inputs->count - 1];
    char at[160];
    if (keep != NULL && (!cJSON_IsString(keep) ||
                         (strcmp(keep->valuestring, "all") != 0 && strcmp(keep->valuestring, "maximal") != 0))) {
        (void)snprintf(at, sizeof at, "%s/keep", pointer);
        return error_set(err, STATUS_INVALID, at, "must be 'all' or 'maximal'");
    }
    input->keep_maximal = keep != NULL && strcmp(keep->valuestring, "maximal") == 0;
    if (edits == NULL)
        return STATUS_OK;
    (void)snprintf(at, sizeof at, "%s/edits", pointer);
    enum status status = edits_from_json(edits, at, &inputs->edits[inputs->count - 1], &input->edit_count, err);
    input->edits = inputs->edits[inputs->count - 1];
    return status;
}

/* Adds a text, or the tokens of a list with tabs between them. The text follows the single value, so that both are one
 * block. */
static enum status read_text(const cJSON *item, const char *pointer, struct inputs *inputs, struct error *err)
{
    const cJSON *tokens = cJSON_IsArray(item) ? item->child : NULL;
    size_t bytes = cJSON_IsArray(item) ? 1 : strlen(item->valuestring) + 1;
    for (const cJSON *token = tokens; token != NULL; token = token->next) {
        if (!cJSON_IsString(token) || token->valuestring[0] == '\0' || strpbrk(token->valuestring, "\t\r\n"))
            return error_set(err, STATUS_INVALID, pointer,
                             "must have only texts, which are not empty and contain no tab or line end");
        bytes += strlen(token->valuestring) + 1;
    }
    float *value = calloc(1, sizeof *value + bytes);
    if (value == NULL)
        return error_memory(err, "a text");
    char *end = (char *)(value + 1);
    if (!cJSON_IsArray(item))
        strcpy(end, item->valuestring);
    for (const cJSON *token = tokens; token != NULL; token = token->next)
        end = stpcpy(stpcpy(end, token == tokens ? "" : "\t"), token->valuestring);
    return add_from_file(inputs, 0, NULL, value, 0, err);
}

static enum status read_input(const cJSON *item, const char *pointer, struct inputs *inputs, struct error *err)
{
    const cJSON *sample = cJSON_GetObjectItemCaseSensitive(item, "sample");
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(item, "array");
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(item, "data");
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(item, "type");
    int forms = (sample != NULL) + (array != NULL) + (data != NULL || type != NULL);
    int members = (sample != NULL) + (array != NULL) + (data != NULL) + (type != NULL);
    if (inputs->edited)
        members += cJSON_HasObjectItem(item, "edits") + cJSON_HasObjectItem(item, "keep");
    if ((cJSON_IsString(item) || cJSON_IsArray(item)) && !inputs->edited)
        return read_text(item, pointer, inputs, err);
    if (!cJSON_IsObject(item) || forms != 1 || members != cJSON_GetArraySize(item)) {
        return error_set(
            err, STATUS_INVALID, pointer,
            "must be {\"sample\":{\"seed\":N}}, {\"array\":[...]} or {\"data\":base64,\"type\":media type}%s",
            inputs->edited ? ", with edits and keep" : ", a text or a list of tokens");
    }
    enum status status;
    if (sample != NULL) {
        status = read_sample(sample, pointer, inputs, err);
    } else if (array != NULL) {
        char at[160];
        (void)snprintf(at, sizeof at, "%s/array", pointer);
        status = input_array_from_json(array, at, inputs, err);
    } else {
        status = read_data(data, type, pointer, inputs, err);
    }
    return !status && inputs->edited ? read_changes(item, pointer, inputs, err) : status;
}

static enum status read_list(const cJSON *list, struct inputs *inputs, struct api_faults *faults, struct error *err)
{
    if (!cJSON_IsArray(list) || list->child == NULL) {
        api_faults_add(faults, "/inputs", "must be a list with 1 to %d inputs", INPUTS_MAX);
        return STATUS_OK;
    }
    if (cJSON_GetArraySize(list) > INPUTS_MAX) {
        api_faults_add(faults, "/inputs", "must have at most %d inputs; got %d", INPUTS_MAX, cJSON_GetArraySize(list));
        return STATUS_OK;
    }
    int index = 0;
    JSON_EACH (item, list) {
        char pointer[40];
        struct error fault;
        error_clear(&fault);
        (void)snprintf(pointer, sizeof pointer, "/inputs/%d", index++);
        enum status status = read_input(item, pointer, inputs, &fault);
        if (status == STATUS_INVALID)
            api_faults_add(faults, fault.pointer, "%s", fault.message);
        else if (status)
            return error_set(err, status, fault.pointer, "%s", fault.message);
    }
    return STATUS_OK;
}

enum status inputs_from_json(const cJSON *body, struct inputs *inputs, struct storage_checkpoint_pick *pick,
                             struct api_faults *faults, struct error *err)
{
    const cJSON *list = NULL;
    JSON_EACH (item, body) {
        if (strcmp(item->string, "inputs") == 0) {
            list = item;
        } else if (strcmp(item->string, "checkpoint") == 0) {
            if (!checkpoint_pick_json(item, pick))
                api_faults_add(faults, "/checkpoint", CHECKPOINT_PICK_RULE);
        } else {
            char pointer[128];
            fault_pointer(pointer, "", item->string);
            struct name_guess guess = {.given = item->string};
            name_guess_offer(&guess, "inputs");
            name_guess_offer(&guess, "checkpoint");
            name_guess_fault(&guess, "a member of a query", pointer, faults);
        }
    }
    enum status status = read_list(list, inputs, faults, err);
    if (status)
        return status;
    if (faults->count > 0)
        return error_set(err, STATUS_INVALID, "", "the query has %zu invalid members", faults->count);
    return STATUS_OK;
}
