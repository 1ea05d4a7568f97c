/* The query "signal": the activation of a channel, or the largest of all channels, along sequences as bedGraph and
 * bigWig. Positions without a motif are left out. Both formats require sorted intervals without overlaps, and records
 * may come in any order and overlap. So the active positions, which are few, are collected and sorted; where records
 * overlap, the larger value stays.
 *
 * A bigWig file contains the length of each chromosome. The lengths are those of the genome that the question names.
 * Without a genome, a chromosome ends where the last of its records ends. */
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/genomics/uploads/genome.h"
#include "core/genomics/files/bigwig.h"
#include "core/methods/sparling/genomics/sites.h"

struct chromosome {
    char name[REGION_NAME];
    int64_t length;
};

/* The largest number of active positions. They need 128 MiB, and a bedGraph of them as much as an answer may have. */
enum { POSITIONS = 1 << 23, PIECE = 1 << 12 };

struct collecting {
    struct work *work;
    int channels, channel; /* channel: index of the channel to write; -1: the largest activation of all channels */
    enum coordinates coordinates;
    struct region region;
    int current; /* chromosome of the current record */
    struct chromosome *chromosome;
    size_t chromosomes;
    struct bigwig_interval *interval;
    size_t count;
};

static enum status no_memory_for_signal(struct error *err)
{
    return error_memory(err, "a signal");
}

/* Finds the chromosome of a record or adds it. Records of one chromosome usually follow each other. */
static enum status turn_to(struct collecting *c, const char *record, struct error *err)
{
    region_parse(record, c->coordinates, &c->region);
    for (size_t i = c->chromosomes; i-- > 0 && c->coordinates != COORDINATES_RECORD;)
        if (strcmp(c->chromosome[i].name, c->region.name) == 0) {
            c->current = (int)i;
            return STATUS_OK;
        }
    if (c->chromosomes == FASTA_RECORDS)
        return error_set(err, STATUS_LIMIT, NULL, "a signal may have at most %d sequences; send fewer", FASTA_RECORDS);
    enum status status = work_take_growth(c->work, c->chromosomes, sizeof *c->chromosome, err);
    if (status)
        return status;
    struct chromosome *more = grown(c->chromosome, c->chromosomes, sizeof *more);
    if (!more)
        return no_memory_for_signal(err);
    c->chromosome = more;
    c->current = (int)c->chromosomes;
    c->chromosome[c->chromosomes] = (struct chromosome){.length = 0};
    memcpy(c->chromosome[c->chromosomes++].name, c->region.name, sizeof c->region.name);
    return STATUS_OK;
}

static float value_at(const struct collecting *c, const struct scan_window *w, int col)
{
    float most = 0;
    for (int k = c->channel < 0 ? 0 : c->channel; k < (c->channel < 0 ? c->channels : c->channel + 1); k++) {
        float value = w->map[(size_t)k * (size_t)w->width + (size_t)col];
        most = value > most ? value : most;
    }
    return most;
}

/* Makes room for one more interval. The memory is taken before the array grows. */
static enum status room_for_interval(struct collecting *c, struct error *err)
{
    if (c->count == POSITIONS)
        return error_set(err, STATUS_LIMIT, NULL,
                         "a signal may have at most %d active positions; send fewer sequences, or name a channel",
                         POSITIONS);
    enum status status = work_take_growth(c->work, c->count, sizeof *c->interval, err);
    if (status)
        return status;
    struct bigwig_interval *more = grown(c->interval, c->count, sizeof *more);
    if (!more)
        return no_memory_for_signal(err);
    c->interval = more;
    return STATUS_OK;
}

static enum status take_window(void *context, const struct scan_window *w, struct error *err)
{
    struct collecting *c = context;
    enum status status = w->first ? turn_to(c, w->record, err) : STATUS_OK;
    for (int64_t i = w->from; !status && i < w->to; i++) {
        float value = value_at(c, w, (int)(i - w->origin));
        if (!(value > 0))
            continue;
        int64_t start = region_start(&c->region, i, i + 1);
        if (start < 0 || start >= UINT32_MAX)
            return error_set(err, STATUS_LIMIT, NULL, "a chromosome may have at most 4294967295 positions");
        status = room_for_interval(c, err);
        if (status)
            return status;
        c->interval[c->count++] = (struct bigwig_interval){c->current, (uint32_t)start, (uint32_t)start + 1, value};
    }
    if (!status && w->last) {
        int64_t end = c->region.end != INT64_MAX ? c->region.end : c->region.start + w->length;
        int64_t *length = &c->chromosome[c->current].length;
        *length = end > *length ? end : *length;
    }
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct bigwig_interval *x = a, *y = b;
    if (x->chromosome != y->chromosome)
        return x->chromosome - y->chromosome;
    return (x->start > y->start) - (x->start < y->start);
}

/* Sorts the intervals. Joins intervals at the same place, and neighbouring intervals with the same value. */
static void join_intervals(struct collecting *c)
{
    size_t kept = 0;
    qsort(c->interval, c->count, sizeof *c->interval, by_place);
    for (size_t i = 0; i < c->count; i++) {
        const struct bigwig_interval *now = &c->interval[i];
        struct bigwig_interval *last = kept > 0 ? &c->interval[kept - 1] : NULL;
        bool same = last && last->chromosome == now->chromosome;
        if (same && last->end > now->start)
            last->value = now->value > last->value ? now->value : last->value;
        else if (same && last->end == now->start && last->value == now->value)
            last->end = now->end;
        else
            c->interval[kept++] = *now;
    }
    c->count = kept;
}

static enum status collect_signal(const struct method_question *question, struct collecting *c, struct error *err)
{
    const struct sites_parameters *asked = question->parameters;
    const struct scan_target to = {c, take_window};
    *c = (struct collecting){.work = question->work,
                             .channels = (int)question->model->network->config.channels_motif,
                             .channel = (int)asked->channel,
                             .coordinates = sites_coordinates(question)};
    if (c->channel >= c->channels)
        return error_set(err, STATUS_INVALID, "/channel", "must be below %d, the number of channels", c->channels);
    enum status status = sites_scan(question, &to, err);
    if (!status)
        join_intervals(c);
    return status;
}

/* Sets the lengths of the chromosomes to those of the genome that the question names, if it names one. A record that
 * the genome does not have keeps its own length, and so does a record that is longer than in the genome. */
static enum status take_lengths(const struct method_question *question, struct collecting *c, struct error *err)
{
    const struct sites_parameters *asked = question->parameters;
    struct faidx genome;
    if (!question->text || asked->genome[0] == '\0') /* a question without a body has no genome */
        return STATUS_OK;
    enum status status = genome_open(question->model->data, asked->genome, &genome, err);
    if (status)
        return status;
    for (size_t i = 0; !status && i < c->chromosomes; i++) {
        const struct faidx_sequence *there = faidx_find(&genome, c->chromosome[i].name);
        if (there && there->length > c->chromosome[i].length)
            c->chromosome[i].length = there->length;
        status = work_check(question->work, err);
    }
    faidx_close(&genome);
    return status;
}

static void close_collecting(struct collecting *c)
{
    free(c->chromosome);
    free(c->interval);
}

enum status signal_bedgraph(const struct method_question *question, struct buf *out, struct error *err)
{
    struct collecting c = {.channel = -1};
    enum status status = collect_signal(question, &c, err);
    for (size_t i = 0; !status && i < c.count; i++) {
        buf_format(out, "%s\t%u\t%u\t%.6g\n", c.chromosome[c.interval[i].chromosome].name, c.interval[i].start,
                   c.interval[i].end, (double)c.interval[i].value);
        status = i % PIECE == 0 ? work_yield(c.work, err) : STATUS_OK;
    }
    close_collecting(&c);
    return status ? status : buf_status(out, "the signal", err);
}

enum status signal_bigwig(const struct method_question *question, struct buf *out, struct error *err)
{
    struct collecting c = {.channel = -1};
    enum status status = collect_signal(question, &c, err);
    if (!status)
        status = take_lengths(question, &c, err);
    const char **names = malloc((c.chromosomes + 1) * sizeof *names);
    uint32_t *lengths = malloc((c.chromosomes + 1) * sizeof *lengths);
    if (!status && (!names || !lengths))
        status = no_memory_for_signal(err);
    for (size_t i = 0; !status && i < c.chromosomes; i++) {
        names[i] = c.chromosome[i].name;
        lengths[i] = (uint32_t)(c.chromosome[i].length < UINT32_MAX ? c.chromosome[i].length : UINT32_MAX);
    }
    if (!status)
        status = bigwig_write(names, lengths, (int)c.chromosomes, c.interval, c.count, c.work, out, err);
    free(names);
    free(lengths);
    close_collecting(&c);
    return status;
}
