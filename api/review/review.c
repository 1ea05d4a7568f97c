/* The routes of reviews: drawn marks as cards or files, and the answers about them. */
#include "api/review/review.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/jobs/job_document.h"
#include "api/review/review_set.h"

static const char *const review_formats[] = {"cards", "answers", "label-studio", "coco", "raven", NULL};
#define REVIEW_PARAMETERS                                                                                              \
    PARAMETER_INTEGER("count", 1, 500, "marks to draw (20); a larger number begins with the same marks"),              \
        PARAMETER_INTEGER("seed", 0, 9007199254740991, "seed of the draw (0)"),                                        \
        PARAMETER_INTEGER("samples", 1, 1000, "inputs of the test part whose marks are drawn from (200)"),             \
        PARAMETER_TEXT("false_marks", 20, "share of false marks that the offered threshold should have (0.1)"),        \
        PARAMETER_TEXT("checkpoint", 40, "latest, best, a sequence number or density:NUMBER (latest)")
const struct config_field review_show_query[] = {
    REVIEW_PARAMETERS,
    PARAMETER_CHOICE(PARAMETER_FORMAT, review_formats,
                     "form of the answer: cards (default), all answers with their history, tasks of Label Studio, "
                     "boxes of COCO, or a selection table of Raven"),
    PARAMETERS_END,
};
const struct config_field review_answer_query[] = {
    REVIEW_PARAMETERS,
    PARAMETERS_END,
};

#define PROBLEM(status, meaning)                                                                                       \
    {                                                                                                                  \
        status, "application/problem+json", "Problem", meaning                                                         \
    }
#define PROBLEMS                                                                                                       \
    PROBLEM(400, "A query parameter is wrong, or the body is not JSON."),                                              \
        PROBLEM(404, "There is no such job or checkpoint, or models of its kind have no marks."),                      \
        PROBLEM(409, "The job has no checkpoint yet, its marks cannot be listed, or they do not fit the format."),     \
        PROBLEM(429, "Too many queries are running; Retry-After gives the time to wait."),                             \
        PROBLEM(503, "There is not enough memory at the moment, or the daemon is shutting down."),                     \
        PROBLEM(504, "The model took longer than --query-seconds to list its marks.")
const struct api_answer review_show_answers[] = {
    {200, "application/json", "Review", "The drawn marks as cards, and what the answers about them say."},
    {200, "text/tab-separated-values", NULL, "With format=raven, a selection table."},
    PROBLEMS,
    {0, NULL, NULL, NULL}};
const struct api_answer review_answer_answers[] = {
    {200, "application/json", "ReviewState", "The answers are on disk. What all answers say now."},
    PROBLEM(403, "The token may not change this job."),
    PROBLEMS,
    PROBLEM(422, "Answers are invalid; none is stored."),
    {0, NULL, NULL, NULL}};

const char *review_json(struct exchange *x, const cJSON *value)
{
    struct buf text;
    buf_init(&text, 1u << 20);
    json_canonical(value, &text);
    buf_append(&text, "", 1);
    const char *copy = text.failed ? NULL : arena_strdup(&x->arena, text.data);
    buf_close(&text);
    return copy;
}

/* Copies a member of a mark under another name. A missing one is left out, or null if `always`. */
static void copy(struct exchange *x, const char *key, const struct review_mark *mark, const char *name, bool always)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(mark->row, name);
    const char *text = value != NULL ? review_json(x, value) : NULL;
    if (value != NULL && text == NULL)
        x->response->body.failed = true; /* no memory: the answer would lack the member */
    if (value != NULL)
        stored_json(&x->json, key, text);
    else if (always)
        sink_null(x->out, key);
}

static void write_version(struct exchange *x, const struct storage_answer *a)
{
    const struct sink *out = x->out;
    sink_text(out, "answer", a->answer);
    stored_json(&x->json, "box", a->box);
    sink_integer(out, "version", a->version);
    if (a->owner[0] != '\0')
        sink_text(out, "by", a->owner);
    else
        sink_null(out, "by");
    sink_time(out, "created_at", a->created_at);
}

static void write_card(struct exchange *x, const struct review_set *set, const struct review_mark *mark)
{
    const struct sink *out = x->out;
    char link[200];
    sink_begin_object(out, NULL);
    sink_text(out, "id", mark->id);
    sink_text(out, "name", mark->name);
    sink_integer(out, "channel", mark->channel);
    sink_begin_object(out, "input");
    sink_integer(out, "sample", mark->sample);
    copy(x, "index", mark, "number", true);
    copy(x, "file", mark, "record", true);
    sink_end_object(out);
    copy(x, "position", mark, "position", true);
    copy(x, "extent", mark, "extent", true);
    copy(x, "seconds", mark, "seconds", false);
    copy(x, "words", mark, "words", false);
    copy(x, "context", mark, "context", false);
    sink_number(out, "score", mark->value);
    copy(x, "p", mark, "p", true);
    copy(x, "q", mark, "q", true);
    (void)snprintf(link, sizeof link, "/v1/jobs/%s/marks/%lld?channel=%lld&row=%lld&col=%lld&checkpoint=%lld",
                   set->job.id, (long long)mark->sample, (long long)mark->channel, (long long)mark->place[0],
                   (long long)mark->place[1], (long long)set->checkpoint.seq);
    sink_text(out, "picture", link); /* PNG with Accept: image/png, a document otherwise */
    if (mark->answer != NULL) {
        sink_begin_object(out, "answer");
        write_version(x, mark->answer);
        sink_end_object(out);
    } else {
        sink_null(out, "answer");
    }
    sink_end_object(out);
}

/* Writes what both routes answer. */
static enum status write_state(struct exchange *x, const struct review_set *set, struct error *err)
{
    sink_text(x->out, "job", set->job.id);
    checkpoint_brief(x->out, &set->checkpoint);
    sink_integer(x->out, "count", set->draws);
    sink_integer(x->out, "seed", (int64_t)set->seed);
    sink_integer(x->out, "samples", set->samples);
    sink_integer(x->out, "marks", set->count);
    return review_write_estimate(x, set, err);
}

static void respond_cards(struct exchange *x, const struct review_set *set)
{
    int64_t drawn[REVIEW_DRAWS];
    int count = review_set_draw(set, drawn);
    struct error err;
    error_clear(&err);
    sink_begin_object(x->out, NULL);
    if (write_state(x, set, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_begin_list(x->out, "shape");
    sink_integer(x->out, NULL, set->rows);
    sink_integer(x->out, NULL, set->cols);
    sink_end_list(x->out);
    sink_text(x->out, "unit", set->unit != NULL ? set->unit : "");
    sink_begin_list(x->out, "cards");
    for (int i = 0; i < count; i++)
        write_card(x, set, &set->mark[drawn[i]]);
    sink_end_list(x->out);
    sink_end_object(x->out);
    respond_json(x, 200);
}

/* Responds with all versions of all answers of the job, also those about marks of other checkpoints. */
static void respond_answers(struct exchange *x, const struct review_set *set)
{
    sink_begin_object(x->out, NULL);
    sink_text(x->out, "job", set->job.id);
    sink_begin_list(x->out, "answers");
    for (size_t i = 0; i < set->answer_count; i++) {
        sink_begin_object(x->out, NULL);
        sink_text(x->out, "id", set->answers[i].mark);
        stored_json(&x->json, "place", set->answers[i].place);
        write_version(x, &set->answers[i]);
        sink_end_object(x->out);
    }
    sink_end_list(x->out);
    sink_end_object(x->out);
    respond_json(x, 200);
}

void review_show(struct exchange *x)
{
    static const struct {
        const char *name;
        void (*respond)(struct exchange *x, const struct review_set *set);
    } formats[] = {{"cards", respond_cards},
                   {"answers", respond_answers},
                   {"label-studio", review_label_studio},
                   {"coco", review_coco},
                   {"raven", review_raven}};
    const char *format = exchange_query(x, PARAMETER_FORMAT);
    struct review_set set;
    if (review_set_open(x, &set) && review_set_answers(x, &set)) {
        for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
            if (strcmp(format != NULL ? format : "cards", formats[i].name) == 0)
                formats[i].respond(x, &set);
    }
    review_set_close(&set);
}

/* Stores the answers and responds with the new estimate. */
static void store(struct exchange *x, struct review_set *set, const struct storage_answer *answers, size_t count)
{
    struct error err;
    error_clear(&err);
    if (count > 0 && storage_answers_put(x->api->options.storage, set->job.id, answers, count, &err)) {
        respond_error(x, &err);
        return;
    }
    if (!review_set_answers(x, set))
        return;
    sink_begin_object(x->out, NULL);
    if (write_state(x, set, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_integer(x->out, "received", (int64_t)count);
    sink_end_object(x->out);
    respond_json(x, 200);
}

void review_answer(struct exchange *x)
{
    struct review_set set;
    struct storage_answer *answers;
    size_t count;
    if (review_set_open(x, &set) && review_read(x, &set, &answers, &count))
        store(x, &set, answers, count);
    review_set_close(&set);
}
