/* What the labels of uploaded data say about motifs (dataset_labels.h). */
#include "core/methods/sparling/domains/dataset_labels.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/sparling/domains/dataset_letters.h"

double dataset_mean_label(const struct collection *c, int64_t channels)
{
    if (c->target == TARGET_NUMBER)
        return 0.5 * (double)channels;
    double tokens = 0; /* number of tokens; with a class at every position, number of positions not in class 0 */
    for (int64_t i = 0; i < c->label_start[c->count]; i++)
        tokens += c->target != TARGET_POSITIONS || c->label[i] > 0;
    return fmax(tokens / (double)c->count, 0.1);
}

/* Whether labels list names and none of them is empty. */
static bool every_sample_is_named(const struct collection *c)
{
    bool named = c->target == TARGET_SEQUENCE || c->target == TARGET_LABELS;
    for (int64_t i = 0; i < c->count && named; i++)
        named = c->label_start[i + 1] > c->label_start[i];
    return named;
}

/* Returns the largest number of names of a label or, if labels are counts, the largest count. */
static int64_t most_names(const struct collection *c)
{
    int64_t most = 0;
    if (c->target != TARGET_COUNT)
        return c->longest;
    for (int k = 0; k < c->vocabulary.count; k++) {
        int64_t count = strtoll(c->vocabulary.name[k], NULL, 10);
        most = count > most ? count : most;
    }
    return most;
}

int64_t dataset_most_boxes(const struct collection *c)
{
    int64_t most = 0;
    for (int64_t i = 0; c->box_start && i < c->count; i++)
        most = c->box_start[i + 1] - c->box_start[i] > most ? c->box_start[i + 1] - c->box_start[i] : most;
    return most;
}

void dataset_frequencies(const struct collection *c, const int64_t *sample, int64_t samples, int tokens, double *count,
                         double *share)
{
    for (int k = 0; k < tokens; k++)
        count[k] = share[k] = 0;
    for (int64_t i = 0; i < samples; i++) {
        const int32_t *label;
        int length = collection_labels(c, sample[i], &label);
        for (int j = 0; j < length; j++) {
            bool first = true;
            for (int before = 0; before < j && first; before++)
                first = label[before] != label[j];
            if (label[j] < 0 || label[j] >= tokens)
                continue;
            count[label[j]] += 1 / (double)samples;
            share[label[j]] += first / (double)samples;
        }
    }
}

struct dataset_facts dataset_facts_of(const struct collection *c, const struct collection_moments *moments)
{
    bool sound = c->kind == COLLECTION_RECORDINGS, class = c->target == TARGET_CLASS;
    return (struct dataset_facts){.mean = c->target == TARGET_NUMBER ? (double)NAN : dataset_mean_label(c, 0),
                                  .sound = sound,
                                  .letters = !sound && dataset_in_letters(c, moments),
                                  .counts = c->target == TARGET_COUNT,
                                  .classes = class && c->label_start[c->count] == c->count,
                                  .named = every_sample_is_named(c),
                                  .ordered = c->target == TARGET_SEQUENCE,
                                  .set = c->target == TARGET_LABELS,
                                  .most = most_names(c)};
}
