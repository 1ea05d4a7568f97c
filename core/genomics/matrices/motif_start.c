/* Computes filters of the first convolution from the matrices of known motifs (motif_start.h). */
#include "core/genomics/matrices/motif_start.h"

#include <math.h>

#include "core/genomics/matrices/motif_match.h"

#define POINTER "/config/motif_start"
enum { LEAST_WINDOW = 5 };

/* Share of random bases that is mixed into each probability (as if 1 of 21 sites were random), so that log-odds stay
 * finite. */
static const double RANDOM = 1.0 / 21;

bool motif_start_twice(const struct motif_start *start, int strands)
{
    return strands == 2 && start->one_strand;
}

static int filters_for_each(const struct motif_start *start, int strands)
{
    return motif_start_twice(start, strands) ? 2 : 1;
}

static enum status window_fits(const struct motif_start *start, const char *field, struct error *err)
{
    return start->window >= LEAST_WINDOW
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "/config/first_window", "must be at least %d with %s; got %lld",
                           LEAST_WINDOW, field, (long long)start->window);
}

/* Checks whether motif_start_words can be set: motif_start must be empty, samples must be sequences of bases, labels
 * must not be at positions, and first_window must be large enough. */
static enum status words_fit(const struct motif_start *start, const struct collection *samples, struct error *err)
{
    if (start->motifs[0] != '\0')
        return error_set(err, STATUS_INVALID, "/config/motif_start_words", "must be false with motif_start");
    if (samples->kind != COLLECTION_SEQUENCES || samples->channels != BASES || samples->rows != 1)
        return error_set(err, STATUS_INVALID, "/config/motif_start_words",
                         "must be false, because the samples are not DNA or RNA");
    if (samples->target == TARGET_POSITIONS)
        return error_set(err, STATUS_INVALID, "/config/motif_start_words",
                         "must be false, because the data set has a class at every position");
    return window_fits(start, "motif_start_words", err);
}

static enum status motifs_fit(const struct motif_start *start, int strands, const struct motif_library *library,
                              struct error *err)
{
    int64_t filters = (int64_t)filters_for_each(start, strands) * library->database.count;
    enum status status = window_fits(start, "motif_start", err);
    if (status)
        return status;
    if (filters > start->width)
        return error_set(err, STATUS_INVALID, POINTER,
                         "has %d motifs, which need %lld filters, but the first convolution has width %lld; choose "
                         "fewer motifs or a larger width",
                         library->database.count, (long long)filters, (long long)start->width);
    return STATUS_OK;
}

enum status motif_start_check(const struct motif_start *start, const struct collection *samples, struct error *err)
{
    const char *name = start->motifs;
    struct motif_library library;
    if (name[0] == '\0' && start->frozen && !start->words)
        return error_set(err, STATUS_INVALID, "/config/motif_start_frozen", "needs motif_start or motif_start_words");
    if (start->words)
        return words_fit(start, samples, err);
    if (name[0] == '\0')
        return STATUS_OK;
    if (samples->kind != COLLECTION_SEQUENCES || samples->channels != BASES || samples->rows != 1)
        return error_set(err, STATUS_INVALID, POINTER, "must be empty, because the samples are not DNA or RNA");
    enum status status = motif_library_open(start->data, name, POINTER, false, &library, err);
    if (!status)
        status = motifs_fit(start, samples->rna ? 1 : 2, &library, err);
    motif_library_close(&library);
    return status;
}

static double log_odds(const double column[BASES], int base)
{
    return log(BASES * ((1 - RANDOM) * column[base] + RANDOM / BASES));
}

/* Returns the information of a column in nats: log 4 plus the sum of p log p over the bases. */
static double column_information(const double column[BASES])
{
    double sum = log(BASES);
    for (int b = 0; b < BASES; b++)
        sum += column[b] > 0 ? column[b] * log(column[b]) : 0;
    return sum;
}

/* Returns the index of the first of the `window` neighbouring columns with the most information. */
static int best_window(const double (*column)[BASES], int width, int window)
{
    int best = 0;
    double most = -1;
    for (int first = 0; first + window <= width; first++) {
        double sum = 0;
        for (int i = 0; i < window; i++)
            sum += column_information(column[first + i]);
        if (sum > most + 1e-12) {
            most = sum;
            best = first;
        }
    }
    return best;
}

void motif_start_filter(const struct motif_start *start, const double (*column)[BASES], int width, bool reverse,
                        float *filter)
{
    int window = (int)start->window;
    for (int i = 0; i < BASES * window; i++)
        filter[i] = 0;
    int used = width < window ? width : window, from = best_window(column, width, used), left = (window - used) / 2;
    for (int i = 0; i < used; i++)
        for (int b = 0; b < BASES; b++) {
            float value = (float)log_odds(column[from + i], b);
            if (reverse)
                filter[(BASES - 1 - b) * window + window - 1 - left - i] = value;
            else
                filter[b * window + left + i] = value;
        }
}

enum status motif_start_filters(const struct motif_start *start, int strands, float *filter, int *count,
                                struct error *err)
{
    struct motif_library library;
    int window = (int)start->window, each = filters_for_each(start, strands);
    enum status status = motif_library_open(start->data, start->motifs, POINTER, false, &library, err);
    if (!status)
        status = motifs_fit(start, strands, &library, err);
    *count = 0;
    for (int m = 0; !status && m < library.database.count; m++)
        for (int k = 0; k < each; k++) {
            motif_start_filter(start, library.database.column + library.first[m],
                               library.first[m + 1] - library.first[m], k == 1,
                               filter + (ptrdiff_t)*count * BASES * window);
            ++*count;
        }
    motif_library_close(&library);
    return status;
}
