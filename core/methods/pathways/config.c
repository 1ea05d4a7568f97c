/* The configuration of the pathways method: the table of its fields (names, ranges, defaults, meanings), the numbers of
 * non-zeros that it lists, and the checks that concern several fields. */
#include "core/methods/pathways/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/shared/fields.h"

static const char *const dictionary_names[] = {"gauss", "signs", "sparse", "dirac-hadamard", NULL};
static const char *const signs_names[] = {"random", "plus", "adversarial", NULL};
static const char *const support_names[] = {"any", "spikes", "worst", NULL};
static const char *const decoder_names[] = {"top-k", "hard", "soft", "relu", "pursuit", NULL};
static const char *const sweep_names[] = {"none",     "sizes",       "signs",     "noise", "magnitudes",
                                          "decoders", "deep-length", "reference", NULL};

#define FIELD_STRUCT struct pathways_config

const struct config_field pathways_fields[] = {
#define FIELDS_FILE "core/methods/pathways/fields.inc"
#include "core/methods/shared/field_rows.inc"
};

const struct config_table pathways_config_table = CONFIG_TABLE(pathways_fields, struct pathways_config);

int pathways_nonzeros(const struct pathways_config *c, int64_t out[PATHWAYS_POINTS])
{
    int count = 0;
    const char *text = c->nonzeros;
    if (text[0] == '\0')
        return 0;
    for (;;) {
        char *end;
        if (*text < '0' || *text > '9' || count == PATHWAYS_POINTS)
            return -1;
        long long value = strtoll(text, &end, 10);
        if (value < 1 || value > 1000000 || (count > 0 && value <= out[count - 1]))
            return -1;
        out[count++] = value;
        if (*end == '\0')
            return count;
        if (*end != ',')
            return -1;
        text = end + 1;
    }
}

/* ---- checks -------------------------------------------------------------------------------------- */

/* Checks that sizes and tables fit into memory, and that every case has room for its non-zeros. */
static void check_sizes(const struct pathways_config *c, const struct method_faults *faults)
{
    const double table = 64e6, map = 16e6;
    struct pathways_case *cases = calloc(PATHWAYS_CASES, sizeof *cases);
    int count = cases ? pathways_cases(c, cases) : 0;
    for (int i = 0; i < count; i++) {
        const struct pathways_case *p = &cases[i];
        for (int l = 0; l < p->layers; l++) {
            const struct dictionary_shape *s = &p->shape[l];
            if (p->family == PATHWAYS_HADAMARD)
                continue;
            const char *filters = l == 0 ? "filters" : "deep_filters";
            double atoms = (double)s->filters * s->width * s->height;
            if (dictionary_gram_size(s) > table)
                method_fault(faults, filters, "its Gram table would have %.3g numbers; at most %.3g are allowed",
                             dictionary_gram_size(s), table);
            if (atoms > map)
                method_fault(faults, filters, "a code would have %.3g entries; at most %.3g are allowed", atoms, map);
        }
    }
    int64_t list[PATHWAYS_POINTS];
    int points = pathways_nonzeros(c, list);
    if (points < 0)
        method_fault(faults, "nonzeros",
                     "must be an ascending list of at most %.0f numbers from 1 to 1e6, such as \"16,32,64\"",
                     (double)PATHWAYS_POINTS);
    for (int i = 0; i < count && points > 0; i++)
        if (list[points - 1] >= pathways_columns(&cases[i])) {
            method_fault(faults, "nonzeros", "must stay below the %.0f columns of a code; got %.0f",
                         (double)pathways_columns(&cases[i]), (double)list[points - 1]);
            break;
        }
    free(cases);
}

static void check_model(const struct pathways_config *c, const struct method_faults *faults)
{
    bool hadamard = c->family == PATHWAYS_HADAMARD;
    if (hadamard && (c->filter_length & (c->filter_length - 1)) != 0)
        method_fault(faults, "filter_length", "must be a power of two for dirac-hadamard; got %.0f",
                     (double)c->filter_length);
    if (hadamard && c->depth > 1)
        method_fault(faults, "depth", "must be 1 for dirac-hadamard; got %.0f", (double)c->depth);
    if (!hadamard && c->support == SUPPORT_SPIKES)
        method_fault(faults, "support", "must be any or worst: only dirac-hadamard has spikes");
    if (hadamard && c->support == SUPPORT_WORST)
        method_fault(faults, "support", "must be any or spikes: all columns of dirac-hadamard correlate equally");
    if (!hadamard && c->filter_length > c->length)
        method_fault(faults, "filter_length", "must not exceed length (%.0f); got %.0f", (double)c->length,
                     (double)c->filter_length);
    if (c->depth > 1 && c->deep_length > c->length)
        method_fault(faults, "deep_length", "must not exceed length (%.0f); got %.0f", (double)c->length,
                     (double)c->deep_length);
    bool adversarial = c->signs == SIGNS_ADVERSARIAL || c->sweep == SWEEP_SIGNS;
    if (adversarial && c->depth > 1)
        method_fault(faults, "depth", "must be 1 with adversarial signs; got %.0f", (double)c->depth);
    if (adversarial && c->decoder != DECODER_TOP_K)
        method_fault(faults, "decoder", "must be top-k with adversarial signs");
    if (c->sweep == SWEEP_DEEP && c->depth < 2)
        method_fault(faults, "depth", "must be at least 2 to sweep deep_length; got %.0f", (double)c->depth);
    if (c->sweep == SWEEP_REFERENCE && c->depth > 1)
        method_fault(faults, "depth", "must be 1 with sweep reference; got %.0f", (double)c->depth);
    if (c->sweep == SWEEP_REFERENCE && hadamard)
        method_fault(faults, "dictionary", "must be gauss, signs or sparse with sweep reference");
    bool sized = c->sweep == SWEEP_SIZES || c->sweep == SWEEP_SIGNS;
    if (sized && c->sizes * c->dictionaries * pathways_ways(c) > PATHWAYS_CASES)
        method_fault(faults, "sizes", "sizes x dictionaries must be at most %d; got %.0f",
                     PATHWAYS_CASES / pathways_ways(c), (double)(c->sizes * c->dictionaries));
    int shift = (int)(c->sizes - 1) * (hadamard ? 2 : 1);
    if (sized && (c->filter_length >> shift) < 2)
        method_fault(faults, "sizes", "the smallest filter would have less than 2 entries with %.0f sizes",
                     (double)c->sizes);
}

void pathways_check(const void *config, const struct method_faults *faults)
{
    const struct pathways_config *c = config;
    check_model(c, faults);
    check_sizes(c, faults);
    if (c->draws > c->trials)
        method_fault(faults, "draws", "must not exceed trials (%.0f); got %.0f", (double)c->trials, (double)c->draws);
}
