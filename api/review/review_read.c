/* Reads answers: those of this API, as it writes them too, and annotations that Label Studio exports as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/review/review_set.h"
#include "protocol/faults.h"

enum { MOST = 1000 }; /* answers of a body */

struct reading {
    struct exchange *x;
    const struct review_set *set;
    struct api_faults *faults;
    struct storage_answer *out;
    size_t count;
    bool no_memory;
};

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(member(object, name));
}

/* Where the mark is, as JSON. */
static const char *place_of(const struct reading *r, const struct review_mark *mark)
{
    static const char *const copied[] = {"sample", "number", "extent"};
    cJSON *place = cJSON_CreateObject();
    bool whole = place != NULL && cJSON_AddStringToObject(place, "name", mark->name) != NULL;
    for (size_t i = 0; i < sizeof copied / sizeof copied[0] && whole; i++) {
        const cJSON *value = member(mark->row, copied[i]);
        if (value != NULL)
            whole = json_attach(place, copied[i], cJSON_Duplicate(value, true));
    }
    const char *text = whole ? review_json(r->x, place) : NULL;
    cJSON_Delete(place);
    return text;
}

/* Adds an answer about a mark. box: NULL or four integers. */
static void add(struct reading *r, int64_t mark, const char *answer, const int64_t *box)
{
    char text[100];
    const struct review_mark *m = &r->set->mark[mark];
    struct storage_answer *to = &r->out[r->count++];
    *to =
        (struct storage_answer){.mark = m->id, .answer = answer, .place = place_of(r, m), .owner = r->x->request->who};
    if (box != NULL) {
        (void)snprintf(text, sizeof text, "[%lld,%lld,%lld,%lld]", (long long)box[0], (long long)box[1],
                       (long long)box[2], (long long)box[3]);
        to->box = arena_strdup(&r->x->arena, text);
    }
    r->no_memory = r->no_memory || to->place == NULL || (box != NULL && to->box == NULL);
}

/* ---- answers of this API ------------------------------------------------------------------------------- */

static const char *known_answer(const char *text)
{
    static const char *const known[] = {"yes", "no", "unsure"};
    for (size_t i = 0; text != NULL && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(text, known[i]) == 0)
            return known[i];
    return NULL;
}

static void check_members(struct reading *r, const cJSON *item, const char *prefix)
{
    static const char *const known[] = {"id", "answer", "box", "place", "version", "by", "created_at"};
    JSON_EACH (value, item) {
        struct name_guess guess = {.given = value->string};
        char pointer[128];
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            found = found || strcmp(value->string, known[i]) == 0;
            name_guess_offer(&guess, known[i]);
        }
        fault_pointer(pointer, prefix, value->string);
        if (!found)
            name_guess_fault(&guess, "a member of an answer", pointer, r->faults);
    }
}

static void read_own(struct reading *r, const cJSON *item, int index)
{
    char prefix[64], pointer[128];
    int64_t box[4];
    (void)snprintf(prefix, sizeof prefix, "/answers/%d", index);
    if (!cJSON_IsObject(item)) {
        api_faults_add(r->faults, prefix, "must be an object; got %s", json_type_name(item));
        return;
    }
    check_members(r, item, prefix);
    const char *id = text_of(item, "id"), *answer = known_answer(text_of(item, "answer"));
    int64_t mark = id != NULL ? review_set_find(r->set, id) : -1;
    if (mark < 0)
        mark = review_set_match(r->set, member(item, "place"));
    (void)snprintf(pointer, sizeof pointer, "%s/id", prefix);
    if (mark < 0)
        api_faults_add(r->faults, pointer, "must be the id of a mark of checkpoint %lld; GET this path lists some",
                       (long long)r->set->checkpoint.seq);
    (void)snprintf(pointer, sizeof pointer, "%s/answer", prefix);
    if (answer == NULL)
        api_faults_add(r->faults, pointer, "must be yes, no or unsure");
    const cJSON *value = member(item, "box");
    bool boxed = value != NULL && !cJSON_IsNull(value);
    (void)snprintf(pointer, sizeof pointer, "%s/box", prefix);
    if (boxed && !review_box_read(r->set, value, box)) {
        api_faults_add(r->faults, pointer,
                       "must be [row0, row1, col0, col1], integers with row0 < row1 <= %lld and col0 < col1 <= %lld",
                       (long long)r->set->rows, (long long)r->set->cols);
        boxed = false;
    }
    if (mark >= 0 && answer != NULL)
        add(r, mark, answer, boxed ? box : NULL);
}

/* ---- Label Studio -------------------------------------------------------------------------------------- */

/* Reads the part of a region along one axis, in percent of the whole. */
static bool read_side(const cJSON *value, const char *from, const char *size, int64_t whole, int64_t out[2])
{
    const cJSON *first = member(value, from), *length = member(value, size);
    if (!cJSON_IsNumber(first) || !cJSON_IsNumber(length))
        return false;
    double low = first->valuedouble * (double)whole / 100, high = low + length->valuedouble * (double)whole / 100;
    out[0] = (int64_t)fmax(0, fmin((double)whole - 1, floor(low + 0.5)));
    out[1] = (int64_t)fmax((double)out[0] + 1, fmin((double)whole, floor(high + 0.5)));
    return true;
}

/* Reads the corrected box of a rectangle; false: it is no rectangle, or the same as the mark's extent. */
static bool read_rectangle(const struct reading *r, const cJSON *region, const struct review_mark *mark, int64_t box[4])
{
    int64_t extent[4];
    const cJSON *value = member(region, "value");
    if (!read_side(value, "y", "height", r->set->rows, box) || !read_side(value, "x", "width", r->set->cols, box + 2))
        return false;
    return !review_box_read(r->set, member(mark->row, "extent"), extent) || memcmp(box, extent, sizeof extent) != 0;
}

/* The answer that a person chose in a field of choices; NULL: none. */
static const char *chosen(const cJSON *result)
{
    JSON_EACH (region, result) {
        const cJSON *choices = member(member(region, "value"), "choices");
        const char *answer = known_answer(cJSON_GetStringValue(json_first(choices)));
        if (answer != NULL)
            return answer;
    }
    return NULL;
}

/* Reads the newest annotation of a task. A choice decides; without one, the mark is right if its region is still
 * there, and false if the person has deleted it. */
static void read_task(struct reading *r, const cJSON *task, int index)
{
    char pointer[128];
    const cJSON *annotations = member(task, "annotations"), *newest = NULL, *kept = NULL;
    const char *id = text_of(member(task, "data"), "mark");
    int64_t mark = id != NULL ? review_set_find(r->set, id) : -1, box[4];
    (void)snprintf(pointer, sizeof pointer, "/%d/data/mark", index);
    JSON_EACH (annotation, annotations)
        newest = cJSON_IsTrue(member(annotation, "was_cancelled")) ? newest : annotation;
    if (newest == NULL) /* nobody has annotated the task */
        return;
    if (mark < 0) {
        api_faults_add(r->faults, pointer,
                       "must be the id of a mark of checkpoint %lld, as format=label-studio writes it",
                       (long long)r->set->checkpoint.seq);
        return;
    }
    const cJSON *result = member(newest, "result");
    JSON_EACH (region, result)
        if (member(member(region, "value"), "choices") == NULL)
            kept = region;
    const char *answer = chosen(result);
    bool corrected = kept != NULL && read_rectangle(r, kept, &r->set->mark[mark], box);
    add(r, mark, answer != NULL ? answer : kept != NULL ? "yes" : "no", corrected ? box : NULL);
}

/* ---- bodies -------------------------------------------------------------------------------------------- */

static void read_list(struct reading *r, const cJSON *list, void (*read)(struct reading *, const cJSON *, int),
                      const char *pointer)
{
    int index = 0, count = cJSON_GetArraySize(list);
    if (count > MOST) {
        api_faults_add(r->faults, pointer, "must have at most %d items; got %d", (int)MOST, count);
        return;
    }
    r->out = arena_zalloc(&r->x->arena, (size_t)count + 1, sizeof *r->out);
    r->no_memory = r->out == NULL;
    if (r->out == NULL)
        return;
    JSON_EACH (item, list)
        read(r, item, index++);
}

static void read_body(struct reading *r, const cJSON *body)
{
    const cJSON *answers = member(body, "answers");
    if (cJSON_IsArray(body)) {
        read_list(r, body, read_task, "");
        return;
    }
    JSON_EACH (value, body) {
        char pointer[128];
        fault_pointer(pointer, "", value->string);
        if (strcmp(value->string, "answers") != 0 && strcmp(value->string, "job") != 0)
            api_faults_add(r->faults, pointer, "is not a member; only answers is");
    }
    if (cJSON_IsArray(answers))
        read_list(r, answers, read_own, "/answers");
    else
        api_faults_add(r->faults, "/answers", "must be a list of answers {id, answer}");
}

bool review_read(struct exchange *x, const struct review_set *set, struct storage_answer **out, size_t *count)
{
    struct reading r = {.x = x, .set = set, .faults = arena_zalloc(&x->arena, 1, sizeof *r.faults)};
    struct error err;
    cJSON *body = NULL;
    error_clear(&err);
    enum status status = r.faults != NULL ? json_parse(x->request->body, x->request->body_bytes, &body, &err)
                                          : error_memory(&err, "answers");
    if (!status)
        read_body(&r, body);
    cJSON_Delete(body);
    if (!status && r.no_memory)
        status = error_memory(&err, "answers");
    if (status == STATUS_CORRUPT)
        respond_problem(x, PROBLEM_BAD_JSON, "%s", err.message);
    else if (status)
        respond_error(x, &err);
    else if (r.faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, "pointer", r.faults);
    *out = r.out;
    *count = r.count;
    return !status && r.faults->count == 0;
}
