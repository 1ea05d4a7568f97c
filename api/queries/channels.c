/* GET /v1/jobs/{id}/channels and /v1/jobs/{id}/channels/{channel}: what the motifs of a trained model stand for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/models/model_cache.h"
#include "api/queries/queries.h"
#include "core/base/hash.h"
#include "core/draw/picture.h"
#include "core/draw/png.h"
#include "storage/storage.h"

#define SAMPLES_DEFAULT 100
#define TOP_DEFAULT 16
#define TOP_ALL_DEFAULT 8

struct surveying {
    struct storage_job job;
    struct storage_checkpoint checkpoint;
    const struct method *method;
    struct method_channel_query asked;
    bool picture;
};

static const char *const survey_sets[] = {"examples", "test", "validation", "training", NULL};

static enum method_set set_of(const char *name)
{
    size_t i = 0;
    while (name != NULL && survey_sets[i] != NULL && strcmp(survey_sets[i], name) != 0) {
        i++;
    }
    return name != NULL && survey_sets[i] != NULL ? (enum method_set)i : METHOD_SET_EXAMPLES;
}

/* The same weights, asked the same, answer with the same bytes: known before anything is computed. */
static void tag_of(const struct exchange *x, const struct surveying *s, char etag[40])
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    struct hash hash;
    const int64_t numbers[] = {s->asked.feature, (int64_t)s->asked.set, s->asked.first,
                               s->asked.samples, s->asked.top,          s->picture};
    hash_init(&hash);
    hash_add(&hash, s->checkpoint.sha256, sizeof s->checkpoint.sha256);
    hash_add(&hash, s->job.id, strlen(s->job.id));
    hash_add(&hash, numbers, sizeof numbers);
    hash_add(&hash, x->match.route->pattern, strlen(x->match.route->pattern));
    hash_finish(&hash, digest);
    hash_hex(digest, hex);
    (void)snprintf(etag, 40, "\"%.32s\"", hex);
}

static void answer_document(struct exchange *x, const struct surveying *s, const struct method_model *model)
{
    struct error err;
    error_clear(&err);
    const struct sink *out = x->out;
    sink_begin_object(out, NULL);
    sink_text(out, "job", s->job.id);
    checkpoint_brief(out, &s->checkpoint);
    sink_text(out, "set", survey_sets[s->asked.set]);
    sink_integer(out, "first", s->asked.first);
    sink_integer(out, "samples", s->asked.samples);
    if (s->method->channels(model, &s->asked, out, &err) != STATUS_OK) {
        respond_error(x, &err);
        return;
    }
    sink_end_object(out);
    respond_json(x, 200);
}

static void answer_picture(struct exchange *x, const struct surveying *s, const struct method_model *model)
{
    struct error err;
    error_clear(&err);
    struct picture *picture = NULL;
    if (s->method->draw_channels(model, &s->asked, &picture, &err) != STATUS_OK) {
        respond_error(x, &err);
    } else {
        respond_picture(x, picture, &s->checkpoint);
    }
    picture_destroy(picture);
}

static void compute(struct exchange *x, const struct surveying *s)
{
    struct error err;
    struct model_lease lease;
    char etag[40];
    error_clear(&err);
    tag_of(x, s, etag);
    if (respond_not_modified(x, etag) || !queries_enter(x)) {
        return;
    }
    if (model_cache_get(x->api->models, s->method, &s->job, s->checkpoint.seq, &lease, &err) != STATUS_OK) {
        respond_error(x, &err);
    } else {
        if (s->picture) {
            answer_picture(x, s, lease.model);
        } else {
            answer_document(x, s, lease.model);
        }
        model_cache_release(x->api->models, &lease);
    }
    queries_leave(x);
}

static void survey(struct exchange *x, int64_t feature)
{
    static const char *const offers[] = {"application/json", "image/png"};
    struct surveying s = {.method = NULL};
    if (!exchange_job(x, &s.job)) {
        return;
    }
    s.method = api_method(x->api, s.job.kind);
    if (s.method == NULL || s.method->channels == NULL || s.method->draw_channels == NULL || s.method->open == NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Jobs of kind %s have no channels to show.", s.job.kind);
        return;
    }
    int form = media_pick(exchange_header(x, "Accept"), offers, 2);
    if (form < 0) {
        respond_problem(x, PROBLEM_NOT_ACCEPTABLE, "Given are: application/json, image/png.");
        return;
    }
    s.picture = form == 1;
    s.asked = (struct method_channel_query){
        .feature = feature,
        .set = set_of(exchange_query(x, "set")),
        .first = exchange_query_integer(x, "first", 0),
        .samples = exchange_query_integer(x, "samples", SAMPLES_DEFAULT),
        .top = (int)exchange_query_integer(x, "top", feature < 0 ? TOP_ALL_DEFAULT : TOP_DEFAULT)};
    response_header(x->response, "Vary", "Accept");
    if (exchange_checkpoint(x, &s.job, &s.checkpoint)) {
        compute(x, &s);
    }
}

void query_channels(struct exchange *x)
{
    survey(x, -1);
}

void query_channel(struct exchange *x)
{
    survey(x, strtoll(exchange_param(x, "channel"), NULL, 10));
}
