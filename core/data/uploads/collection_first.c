/* Writes the first samples of a collection as text (collection_first.h). A user can thus check that motifd has read
 * the file as intended. */
#include "core/data/uploads/collection_first.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/genomics/genomics.h"

/* Upper limits of the samples in the list, of the letters of a sequence, and of the columns of a table. */
enum { SAMPLES = 8, LETTERS = 200, COLUMNS = 32 };

const struct alphabet *collection_alphabet(const struct collection *c)
{
    bool letters = genomics.dna && c->rows == 1 && c->channels == (int)strlen(genomics.dna->symbols) &&
                   (c->kind == COLLECTION_MOTIFS || (c->kind == COLLECTION_SEQUENCES && collection_one_hot(c)));
    return !letters ? NULL : c->rna ? genomics.rna : genomics.dna;
}

/* Writes the consensus of a motif: at each position the most frequent symbol, as a lower-case letter if it has at
 * most half of the counts. Returns the number of letters. */
static size_t consensus(const struct alphabet *alphabet, const float *planes, size_t length, char *text)
{
    size_t symbols = strlen(alphabet->symbols);
    for (size_t i = 0; i < length; i++) {
        size_t best = 0;
        float sum = 0;
        for (size_t k = 0; k < symbols; k++) {
            sum += planes[k * length + i];
            best = planes[k * length + i] > planes[best * length + i] ? k : best;
        }
        text[i] = alphabet->symbols[best];
        if (2 * planes[best * length + i] <= sum)
            text[i] = (char)tolower((unsigned char)text[i]);
    }
    text[length] = '\0';
    return length;
}

size_t collection_spell(const struct collection *c, const struct alphabet *alphabet, int64_t sample, size_t most,
                        char *text)
{
    size_t length = (size_t)collection_length(c, sample), shown = length < most ? length : most;
    float *planes = malloc((size_t)c->channels * shown * sizeof *planes + 1);
    text[0] = '\0';
    if (planes == NULL)
        return 0;
    for (size_t k = 0; k < (size_t)c->channels; k++)
        collection_copy(c, collection_begin(c, sample) + (int64_t)(k * length), (int64_t)shown, planes + k * shown);
    size_t count = c->kind == COLLECTION_MOTIFS ? consensus(alphabet, planes, shown, text)
                                                : alphabet_spell(alphabet, planes, shown, text);
    free(planes);
    return count;
}

static void write_label(const struct collection *c, int64_t sample, const struct sink *out)
{
    const int32_t *label;
    int count = collection_labels(c, sample, &label);
    sink_begin_list(out, "label");
    for (int k = 0; c->target == TARGET_NUMBER && k < c->vocabulary.count && k < COLUMNS; k++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%.9g", (double)c->number[sample * c->vocabulary.count + k]);
        sink_text(out, NULL, text);
    }
    for (int i = 0; i < count && i < COLUMNS && c->target != TARGET_POSITIONS; i++)
        sink_text(out, NULL, label[i] < 0 ? "?" : c->vocabulary.name[label[i]]);
    sink_end_list(out);
}

static void write_values(const struct collection *c, int64_t sample, const struct sink *out)
{
    sink_begin_list(out, "values");
    for (int j = 0; j < c->cols && j < COLUMNS; j++)
        sink_number(out, NULL, (double)collection_value(c, collection_begin(c, sample) + j));
    sink_end_list(out);
}

void collection_write_first(const struct collection *c, const struct sink *out)
{
    const struct alphabet *alphabet = collection_alphabet(c);
    char text[LETTERS + 1];
    if (alphabet == NULL && c->kind != COLLECTION_TABLE)
        return;
    sink_begin_list(out, "first");
    for (int64_t i = 0; i < c->count && i < SAMPLES; i++) {
        sink_begin_object(out, NULL);
        if (alphabet != NULL) {
            (void)collection_spell(c, alphabet, i, LETTERS, text);
            sink_text(out, "text", text);
        } else {
            write_values(c, i, out);
        }
        if (c->target != TARGET_NONE)
            write_label(c, i, out);
        if (c->group != NULL)
            sink_text(out, "group", c->groups.name[c->group[i]]);
        sink_end_object(out);
    }
    sink_end_list(out);
}
