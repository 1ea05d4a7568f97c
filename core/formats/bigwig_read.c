/* Reads bigWig files (bigwig_read.h). The means are exact: zoom levels of the file, which round, are not used. */
#include "core/formats/bigwig_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef MOTIF_BIGWIG

#include <bigWig.h>

#include "core/formats/bigwig.h"

struct bigwig {
    bigWigFile_t *file;
    const char *shown;
};

enum status bigwig_open(const char *path, const char *shown, struct bigwig **out, struct error *err)
{
    if (access(path, R_OK) != 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "%s does not exist", shown);
    struct bigwig *b = calloc(1, sizeof *b);
    if (!b)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %s", shown);
    bigwig_ready();
    b->shown = shown;
    b->file = bwIsBigWig(path, NULL) ? bwOpen(path, NULL, "r") : NULL;
    if (!b->file || !b->file->cl) {
        bigwig_close(b);
        return error_set(err, STATUS_CORRUPT, NULL, "%s is no bigWig file", shown);
    }
    *out = b;
    return STATUS_OK;
}

void bigwig_close(struct bigwig *b)
{
    if (b && b->file)
        bwClose(b->file);
    free(b);
}

int64_t bigwig_length(const struct bigwig *b, const char *chromosome)
{
    uint32_t number = bwGetTid(b->file, chromosome);
    return number == (uint32_t)-1 ? -1 : (int64_t)b->file->cl->len[number];
}

/* First position of a part. */
static int64_t edge(int64_t start, int64_t end, int bins, int bin)
{
    return start + (end - start) * bin / bins;
}

enum status bigwig_means(struct bigwig *b, const char *chromosome, int64_t start, int64_t end, int bins, double *mean,
                         struct error *err)
{
    bwOverlappingIntervals_t *found = bwGetOverlappingIntervals(b->file, chromosome, (uint32_t)start, (uint32_t)end);
    enum status status = STATUS_OK;
    memset(mean, 0, (size_t)bins * sizeof *mean);
    if (!found)
        return error_set(err, STATUS_CORRUPT, NULL, "%s cannot be read at %s:%lld-%lld", b->shown, chromosome,
                         (long long)start, (long long)end);
    for (uint32_t i = 0; !status && i < found->l; i++) {
        int64_t from = found->start[i] > start ? found->start[i] : start,
                to = found->end[i] < end ? found->end[i] : end;
        if (!isfinite(found->value[i]))
            status = error_set(err, STATUS_CORRUPT, NULL, "%s has a value that is not finite at %s:%lld-%lld", b->shown,
                               chromosome, (long long)from, (long long)to);
        int bin = (int)((from - start) * bins / (end - start));
        while (bin > 0 && edge(start, end, bins, bin) > from)
            bin--;
        for (; !status && bin < bins && edge(start, end, bins, bin) < to; bin++) {
            int64_t first = edge(start, end, bins, bin), last = edge(start, end, bins, bin + 1);
            int64_t overlap = (to < last ? to : last) - (from > first ? from : first);
            if (overlap > 0)
                mean[bin] += (double)found->value[i] * (double)overlap / (double)(last - first);
        }
    }
    bwDestroyOverlappingIntervals(found);
    return status;
}

#else

static enum status missing(struct error *err)
{
    return error_set(err, STATUS_CONFLICT, NULL, "this build reads no bigWig files");
}

enum status bigwig_open(const char *path, const char *shown, struct bigwig **out, struct error *err)
{
    (void)path, (void)shown, (void)out;
    return missing(err);
}

void bigwig_close(struct bigwig *b)
{
    (void)b;
}

int64_t bigwig_length(const struct bigwig *b, const char *chromosome)
{
    (void)b, (void)chromosome;
    return -1;
}

enum status bigwig_means(struct bigwig *b, const char *chromosome, int64_t start, int64_t end, int bins, double *mean,
                         struct error *err)
{
    (void)b, (void)chromosome, (void)start, (void)end, (void)bins, (void)mean;
    return missing(err);
}

#endif
