/* Numbers as targets: how readers add them to a collection, sample by sample, and the checks at the end.
 *
 * Every sample must have as many numbers as the first one. Numbers are stored as floats, exactly as they were uploaded.
 * Methods standardise them by the mean and the standard deviation of the training samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/data/uploads/collection_build.h"
#include "core/formats/csv.h"

enum { NUMBER_TEXT = 64 };
static const double LARGEST = 3.4e38; /* a little less than the largest float */

/* Reports that a sample has too few numbers. */
static enum status too_few(const struct builder *b, struct error *err)
{
    int64_t sample = b->width > 0 ? b->numbers / b->width : 0;
    const struct collection_names *records = &b->c->records;
    const char *name = sample < records->count ? records->name[sample] : "";
    return error_set(err, STATUS_INVALID, NULL,
                     "target=number: sample %lld%s%.80s%s has %lld of %d numbers; every sample needs all of them",
                     (long long)sample, name[0] ? " (" : "", name, name[0] ? ")" : "",
                     (long long)(b->width > 0 ? b->numbers % b->width : 0), b->width > 0 ? b->width : 1);
}

enum status builder_value(struct builder *b, double value, struct error *err)
{
    int64_t sample = b->at - 1;
    if (!(fabs(value) <= LARGEST))
        return error_set(err, STATUS_INVALID, NULL,
                         "target=number: a number of sample %lld is %g; it must be from %g to %g", (long long)sample,
                         value, -LARGEST, LARGEST);
    if (sample == 0 && b->width < NUMBERS_MOST)
        b->width++;
    if (b->numbers < sample * b->width)
        return too_few(b, err);
    if (b->numbers >= b->at * b->width)
        return error_set(err, STATUS_INVALID, NULL, "target=number: sample %lld has more than %d numbers, %s",
                         (long long)sample, b->width,
                         sample == 0 ? "the most that is allowed" : "which is how many the first sample has");
    float *more = grown(b->c->number, (size_t)b->numbers, sizeof *more);
    if (!more)
        return error_memory(err, "numbers");
    b->c->number = more;
    more[b->numbers++] = (float)value;
    return STATUS_OK;
}

enum status builder_values(struct builder *b, const char *text, size_t bytes, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t at = 0; !status && at < bytes;) {
        char word[NUMBER_TEXT];
        float value;
        size_t length = 0;
        while (at + length < bytes && !strchr(" \t,", text[at + length]))
            length++;
        snprintf(word, sizeof word, "%.*s", (int)(length < NUMBER_TEXT ? length : NUMBER_TEXT), text + at);
        if (length > 0 && (length >= NUMBER_TEXT || !csv_number(word, &value)))
            return error_set(err, STATUS_INVALID, NULL,
                             "target=number: '%.40s' of sample %lld is not a number from %g to %g", word,
                             (long long)(b->at - 1), -LARGEST, LARGEST);
        if (length > 0)
            status = builder_value(b, (double)value, err);
        at += length + 1;
    }
    return status;
}

enum status builder_value_name(struct builder *b, const char *name, struct error *err)
{
    struct collection_names *names = &b->c->vocabulary;
    char **more = realloc(names->name, (size_t)(names->count + 1) * sizeof *more);
    if (more)
        names->name = more;
    char *copy = more ? strdup(name) : NULL;
    if (!copy)
        return error_memory(err, "names");
    names->name[names->count++] = copy;
    return STATUS_OK;
}

enum status builder_numbers_finish(struct builder *b, struct error *err)
{
    struct collection *c = b->c;
    enum status status = STATUS_OK;
    if (c->kind == COLLECTION_TABLE)
        return error_set(err, STATUS_INVALID, NULL,
                         "target=number is not for tables; if the columns are the points of a signal, upload them "
                         "with layout=signals, otherwise leave target out");
    if (c->target != TARGET_NONE || b->numbers < c->count * (b->width > 0 ? b->width : 1))
        return c->target != TARGET_NONE
                   ? error_set(err, STATUS_INVALID, NULL, "target=number: the file has a class at every position")
                   : too_few(b, err);
    bool named = c->vocabulary.count > 0;
    for (int k = 0; !status && !named && k < b->width; k++) {
        char name[16];
        snprintf(name, sizeof name, "%d", k);
        status = builder_value_name(b, b->width == 1 ? "value" : name, err);
    }
    if (!status && c->vocabulary.count != b->width)
        return error_set(err, STATUS_INVALID, NULL, "target=number: there are %d names for %d numbers",
                         c->vocabulary.count, b->width);
    c->target = TARGET_NUMBER;
    return status;
}
