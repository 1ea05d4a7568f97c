/* Two batches take turns: the caller reads one, the worker fills the other. Under the mutex, `asked`
 * says that the spare one belongs to the worker; it is given back by clearing `asked`. */
#include "core/methods/sparling/batch.h"

#include <pthread.h>
#include <stdlib.h>

struct batch_source {
    struct digitcircle domain;
    int64_t curriculum;
    int max_count, max_length;
    struct batch pair[2];
    int spare;                 /* index of the one the caller does not hold */
    pthread_t worker;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool started, asked, stopping;
};

struct digitcircle sparling_domain(const struct sparling_config *c)
{
    return (struct digitcircle){
        .image_size = (int)c->image_size,
        .classes = (int)c->classes,
        .min_symbols = (int)c->min_symbols,
        .max_symbols = (int)c->max_symbols,
        .shift = (int)c->shift,
        .margin = (int)c->margin,
        .min_radius = (int)c->min_radius,
        .max_radius = (int)c->max_radius,
        .pre_noise = c->pre_noise,
        .post_noise = c->post_noise,
    };
}

static void write_tokens(struct batch *batch)
{
    int count = batch->request.count, longest = 0;
    for (int i = 0; i < count; i++)
        if (batch->truths[i].count > longest)
            longest = batch->truths[i].count;
    batch->length = longest + 1;
    batch->counted = 0;
    for (int i = 0; i < count; i++) {
        const struct digitcircle_truth *truth = &batch->truths[i];
        int32_t *in = batch->inputs + (size_t)i * (size_t)batch->length;
        int32_t *out = batch->targets + (size_t)i * (size_t)batch->length;
        for (int j = 0; j < batch->length; j++) {
            in[j] = j == 0 ? TOKEN_START : j <= truth->count ? TOKEN_FIRST + truth->label[j - 1] : TOKEN_END;
            out[j] = j < truth->count ? TOKEN_FIRST + truth->label[j] : j == truth->count ? TOKEN_END : -1;
        }
        batch->counted += truth->count + 1;
    }
}

/* Few digits first: with 0 or 1 in a picture, whether a digit is there is all there is to tell, and pictures without
 * any keep one digit from being known by the absence of all others. */
static struct digitcircle domain_of(const struct batch_source *source, const struct batch_request *r)
{
    struct digitcircle domain = source->domain;
    if (r->training && r->first < source->curriculum) {
        domain.min_symbols = 0;
        domain.max_symbols = 1 + (int)(r->first * domain.max_symbols / source->curriculum);
    }
    return domain;
}

static void fill(const struct batch_source *source, struct batch *batch)
{
    const struct batch_request *r = &batch->request;
    size_t pixels = (size_t)source->domain.image_size * (size_t)source->domain.image_size;
    if (!r->raw) {
        struct digitcircle domain = domain_of(source, r);
        digitcircle_batch(&domain, r->seed, r->first, r->count, batch->images, batch->truths);
    } else {
        for (int i = 0; i < r->count; i++)
            digitcircle_draw(&source->domain, (uint32_t)(r->first + i), batch->images + (size_t)i * pixels,
                             &batch->truths[i]);
    }
    write_tokens(batch);
}

static void *work(void *context)
{
    struct batch_source *source = context;
    pthread_mutex_lock(&source->mutex);
    for (;;) {
        while (!source->asked && !source->stopping)
            pthread_cond_wait(&source->changed, &source->mutex);
        if (source->stopping)
            break;
        struct batch *batch = &source->pair[source->spare];
        pthread_mutex_unlock(&source->mutex);
        fill(source, batch);
        pthread_mutex_lock(&source->mutex);
        source->asked = false;
        pthread_cond_broadcast(&source->changed);
    }
    pthread_mutex_unlock(&source->mutex);
    return NULL;
}

static enum status allocate(struct batch_source *source, struct error *err)
{
    size_t side = (size_t)source->domain.image_size, count = (size_t)source->max_count;
    for (int i = 0; i < 2; i++) {
        struct batch *batch = &source->pair[i];
        batch->images = malloc(count * side * side * sizeof *batch->images);
        batch->truths = malloc(count * sizeof *batch->truths);
        batch->inputs = malloc(count * (size_t)source->max_length * sizeof *batch->inputs);
        batch->targets = malloc(count * (size_t)source->max_length * sizeof *batch->targets);
        if (!batch->images || !batch->truths || !batch->inputs || !batch->targets)
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for batches of %d samples", source->max_count);
    }
    return STATUS_OK;
}

enum status batch_source_create(const struct sparling_config *config, int max_count, struct batch_source **source,
                                struct error *err)
{
    struct batch_source *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a batch source");
    s->domain = sparling_domain(config);
    s->curriculum = config->curriculum;
    s->max_count = max_count;
    s->max_length = (int)config->max_symbols + 1;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    enum status status = allocate(s, err);
    if (!status && pthread_create(&s->worker, NULL, work, s) != 0)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "the thread that draws samples did not start");
    else
        s->started = !status;
    if (status) {
        batch_source_destroy(s);
        return status;
    }
    *source = s;
    return STATUS_OK;
}

void batch_source_destroy(struct batch_source *source)
{
    if (!source)
        return;
    if (source->started) {
        pthread_mutex_lock(&source->mutex);
        source->stopping = true;
        pthread_cond_broadcast(&source->changed);
        pthread_mutex_unlock(&source->mutex);
        pthread_join(source->worker, NULL);
    }
    pthread_cond_destroy(&source->changed);
    pthread_mutex_destroy(&source->mutex);
    for (int i = 0; i < 2; i++) {
        free(source->pair[i].images);
        free(source->pair[i].truths);
        free(source->pair[i].inputs);
        free(source->pair[i].targets);
    }
    free(source);
}

static bool same(const struct batch_request *a, const struct batch_request *b)
{
    return a->seed == b->seed && a->first == b->first && a->count == b->count && a->raw == b->raw &&
           a->training == b->training;
}

const struct batch *batch_source_take(struct batch_source *source, const struct batch_request *now,
                                      const struct batch_request *next)
{
    pthread_mutex_lock(&source->mutex);
    while (source->asked)
        pthread_cond_wait(&source->changed, &source->mutex);
    struct batch *batch = &source->pair[source->spare];
    if (!same(&batch->request, now)) {
        batch->request = *now;
        fill(source, batch);
    }
    source->spare ^= 1;
    if (next) {
        source->pair[source->spare].request = *next;
        source->asked = true;
        pthread_cond_broadcast(&source->changed);
    }
    pthread_mutex_unlock(&source->mutex);
    return batch;
}
