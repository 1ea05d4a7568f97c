/* A signal along the genome as the target of regions (regions.h): a folder of the operator with the file signal.bw.
 * Each region gets the mean of the signal in its window, or a profile of the means of equal parts of the window. */
#include <stdio.h>
#include <stdlib.h>

#include "core/data/operator_folder.h"
#include "core/genomics/uploads/regions_int.h"

/* Reports a fault of the signal that the client has selected. */
static enum status of_signal(const struct regions *s, enum status status, const struct error *cause, struct error *err)
{
    bool faulty = status == STATUS_NOT_FOUND || status == STATUS_CORRUPT || status == STATUS_CONFLICT;
    return error_set(err, faulty ? STATUS_INVALID : status, NULL, "signal=%s: %s", s->options->signal, cause->message);
}

enum status regions_open_signal(struct regions *s, struct error *err)
{
    const struct collection_options *o = s->options;
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    struct error cause = {0};
    bool named = o->signal && o->signal[0] != '\0';
    if (!named)
        return o->bins > 0 ? error_set(err, STATUS_INVALID, NULL, "bins needs signal=NAME") : STATUS_OK;
    if (o->target != TARGET_NUMBER)
        return error_set(err, STATUS_INVALID, NULL, "signal=%s needs target=number", o->signal);
    enum status status = operator_folder(o->data, o->signal, "signal", collection_signal_files, folder, &cause);
    if (!status) {
        snprintf(path, sizeof path, "%s/signal.bw", folder);
        status = bigwig_open(path, "signal.bw", &s->signal, &cause);
    }
    if (status)
        return of_signal(s, status, &cause, err);
    s->bins = o->bins > 0 ? o->bins : 1;
    if (o->bins == 1)
        s->b->c->implied |= OPTION_BINS;
    s->mean = calloc((size_t)s->bins, sizeof *s->mean);
    s->b->c->profile = s->bins > 1;
    if (!s->mean)
        return error_memory(err, "a signal");
    return s->bins == 1 ? builder_value_name(s->b, o->signal, err) : STATUS_OK;
}

enum status regions_add_signal(struct regions *s, const struct region *r, struct error *err)
{
    const char *chromosome = r->chromosome->name;
    int64_t length = bigwig_length(s->signal, chromosome);
    struct error cause = {0};
    if (length != r->chromosome->length)
        return length < 0
                   ? error_set(err, STATUS_INVALID, NULL, "signal=%s: it has no sequence %s", s->options->signal,
                               chromosome)
                   : error_set(err, STATUS_INVALID, NULL,
                               "signal=%s: its %s has %lld bases, but that of the genome has %lld; they are of "
                               "different assemblies",
                               s->options->signal, chromosome, (long long)length, (long long)r->chromosome->length);
    if (s->bins > r->end - r->start)
        return error_set(err, STATUS_INVALID, NULL,
                         "bins must be at most the %lld bases of the window %s:%lld-%lld; got %d",
                         (long long)(r->end - r->start), chromosome, (long long)r->start, (long long)r->end, s->bins);
    enum status status = bigwig_means(s->signal, chromosome, r->start, r->end, s->bins, s->mean, &cause);
    if (status)
        return of_signal(s, status, &cause, err);
    for (int k = 0; !status && k < s->bins; k++) /* a region on the strand '-' runs backwards */
        status = builder_value(s->b, s->mean[r->reverse ? s->bins - 1 - k : k], err);
    return status;
}
