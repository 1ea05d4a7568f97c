/* Reads the windows of regions from the genome, and adds them as samples (regions.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/data/splicing/splicing.h"
#include "core/genomics/uploads/genome.h"
#include "core/genomics/uploads/regions_int.h"

enum status regions_bases(struct regions *s, const struct region *r, uint8_t *bases, struct error *err)
{
    int64_t length = r->end - r->start;
    struct error cause = {0};
    enum status status = faidx_read(&s->genome, r->chromosome, r->start, r->end, s->letters, &cause);
    if (status)
        return genome_fault(s->options->genome, status, &cause, err);
    for (int64_t i = 0; i < length; i++) {
        uint8_t base = splicing_base(s->letters[i]);
        bases[r->reverse ? length - 1 - i : i] =
            r->reverse && base < SPLICING_BASES ? (uint8_t)(SPLICING_BASES - 1 - base) : base;
    }
    return STATUS_OK;
}

enum status regions_sample(struct regions *s, const uint8_t *bases, const struct region *r, const char *ending,
                           struct error *err)
{
    struct collection_names *names = &s->b->c->records;
    char name[FASTA_NAME + 48];
    float *planes;
    enum status status = builder_sample(s->b, r->end - r->start, &planes, err);
    if (status)
        return status;
    splicing_planes(bases, (int)(r->end - r->start), planes);
    snprintf(name, sizeof name, "%s:%lld-%lld%s%s", r->chromosome->name, (long long)r->start, (long long)r->end,
             r->reverse ? "(-)" : "", ending);
    char **more = grown(names->name, (size_t)names->count, sizeof *more);
    names->name = more ? more : names->name;
    if (!more || !(more[names->count] = strdup(name)))
        return error_memory(err, "names");
    names->count++;
    return STATUS_OK;
}

enum status regions_full(const struct regions *s, struct error *err)
{
    return error_set(err, STATUS_LIMIT, NULL, "there are more than %lld regions, the most that is allowed",
                     (long long)s->b->limits.samples);
}

int regions_by_place(const void *a, const void *b)
{
    const struct region *x = a, *y = b;
    if (x->chromosome != y->chromosome)
        return (x->chromosome > y->chromosome) - (x->chromosome < y->chromosome);
    return (x->start > y->start) - (x->start < y->start);
}
