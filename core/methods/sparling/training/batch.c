/* Draws batches ahead of training (batch.h).
 *
 * There are two batches: the caller reads one while the worker fills the other, the spare one. `asked` (under the
 * mutex) says that the worker owns the spare batch. The worker clears `asked` when it has filled the spare batch. */
#include "core/methods/sparling/training/batch.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/random/philox.h"

struct batch_source {
    const struct open_domain *domain;
    int max_count, max_length;
    struct batch pair[2];
    int spare; /* index of the batch that the worker fills next */
    pthread_t worker;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool started, asked, stopping;
};

static void write_tokens(struct batch *batch, int least)
{
    int count = batch->request.count, longest = least - 1;
    for (int i = 0; i < count; i++)
        if (batch->truths[i].length > longest)
            longest = batch->truths[i].length;
    batch->length = longest + 1;
    batch->counted = 0;
    for (int i = 0; i < count; i++) {
        const struct domain_truth *truth = &batch->truths[i];
        int32_t *in = batch->inputs + (size_t)i * (size_t)batch->length;
        int32_t *out = batch->targets + (size_t)i * (size_t)batch->length;
        for (int j = 0; j < batch->length; j++) {
            in[j] = j == 0 ? TOKEN_START : j <= truth->length ? TOKEN_FIRST + truth->label[j - 1] : TOKEN_END;
            out[j] = j < truth->length ? TOKEN_FIRST + truth->label[j] : j == truth->length ? TOKEN_END : -1;
        }
        batch->counted += truth->length + 1;
        batch->symbols[i] = truth->length > 0 ? truth->label[0] : -1;
    }
}

static void write_positions(struct batch *batch, int cols)
{
    batch->length = cols;
    batch->counted = 0;
    for (int i = 0; i < batch->request.count; i++)
        for (int j = 0; j < cols; j++) {
            int32_t label = batch->truths[i].label[j];
            batch->targets[(size_t)i * (size_t)cols + (size_t)j] = label;
            batch->counted += label >= 0;
        }
}

/* Whether a sample is read from the other strand. With TURN_HALF, a random bit decides, which depends on the seed and
 * the index of the sample. */
static bool is_turned(const struct batch_request *r, int64_t index)
{
    enum { STREAM_TURN = 0x7475726E };
    if (r->turns != TURN_HALF)
        return r->turns == TURN_ALL;
    struct philox from = philox_stream((uint64_t)r->seed, STREAM_TURN, (uint64_t)index);
    return philox_u32(&from, 0) & 1;
}

static struct domain_request request_of(const struct batch_request *r, int i)
{
    return (struct domain_request){.set = r->set, .seed = r->seed, .index = r->first + i, .seen = r->seen};
}

int batch_cluster(const struct open_domain *domain, const struct batch *batch, int i)
{
    const struct domain_request one = request_of(&batch->request, i);
    return domain_cluster(domain, &one);
}

static void fill_batch(const struct batch_source *source, struct batch *batch)
{
    const struct batch_request *r = &batch->request;
    const struct open_domain *domain = source->domain;
    size_t inputs = domain_inputs(&domain->shape);
    error_clear(&batch->error);
    for (int i = 0; i < r->count; i++) {
        struct domain_request one = request_of(r, i);
        one.turned = is_turned(r, one.index);
        if (domain_sample(domain, &one, batch->images + (size_t)i * inputs, &batch->truths[i], &batch->error))
            return;
    }
    if (domain->shape.positions)
        write_positions(batch, domain->shape.cols);
    else
        write_tokens(batch, 1);
}

static void *draw_ahead(void *context)
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
        fill_batch(source, batch);
        pthread_mutex_lock(&source->mutex);
        source->asked = false;
        pthread_cond_broadcast(&source->changed);
    }
    pthread_mutex_unlock(&source->mutex);
    return NULL;
}

static enum status allocate_batch(struct batch_source *source, struct error *err)
{
    const struct domain_shape *shape = &source->domain->shape;
    size_t count = (size_t)source->max_count;
    for (int i = 0; i < 2; i++) {
        struct batch *batch = &source->pair[i];
        batch->images = malloc(count * domain_inputs(shape) * sizeof *batch->images);
        batch->inputs = malloc(count * (size_t)source->max_length * sizeof *batch->inputs);
        batch->targets = malloc(count * (size_t)source->max_length * sizeof *batch->targets);
        batch->symbols = malloc(count * sizeof *batch->symbols);
        if (!batch->images || !batch->inputs || !batch->targets || !batch->symbols ||
            domain_truths_create(shape, source->max_count, &batch->truths, NULL))
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for batches of %d samples",
                             source->max_count);
    }
    return STATUS_OK;
}

enum status batch_source_create(const struct open_domain *domain, int max_count, struct batch_source **source,
                                struct error *err)
{
    struct batch_source *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, "batches");
    s->domain = domain;
    s->max_count = max_count;
    s->max_length = domain->shape.longest + 1;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    enum status status = allocate_batch(s, err);
    if (!status && pthread_create(&s->worker, NULL, draw_ahead, s) != 0)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "the system refused to start the thread that draws samples");
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
        domain_truths_destroy(source->pair[i].truths);
        free(source->pair[i].inputs);
        free(source->pair[i].targets);
        free(source->pair[i].symbols);
    }
    free(source);
}

static bool is_same_request(const struct batch_request *a, const struct batch_request *b)
{
    return a->seed == b->seed && a->first == b->first && a->count == b->count && a->set == b->set &&
           a->seen == b->seen && a->turns == b->turns;
}

void batch_source_widen(struct batch_source *source, int length)
{
    struct batch *batch = &source->pair[source->spare ^ 1];
    if (length > batch->length && length <= source->max_length)
        write_tokens(batch, length);
}

enum status batch_source_take(struct batch_source *source, const struct batch_request *now,
                              const struct batch_request *next, const struct batch **taken, struct error *err)
{
    pthread_mutex_lock(&source->mutex);
    while (source->asked)
        pthread_cond_wait(&source->changed, &source->mutex);
    struct batch *batch = &source->pair[source->spare];
    if (!is_same_request(&batch->request, now)) {
        batch->request = *now;
        fill_batch(source, batch);
    }
    source->spare ^= 1;
    if (next) {
        source->pair[source->spare].request = *next;
        source->asked = true;
        pthread_cond_broadcast(&source->changed);
    }
    pthread_mutex_unlock(&source->mutex);
    *taken = batch;
    if (batch->error.code)
        return error_set(err, batch->error.code, batch->error.pointer, "%s", batch->error.message);
    return STATUS_OK;
}
