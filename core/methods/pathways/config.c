/* The field table: the one place that knows names, ranges, defaults and meanings. */
#include "core/methods/pathways/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const dictionary_names[] = {"gauss", "signs", "sparse", "dirac-hadamard", NULL};
static const char *const signs_names[] = {"random", "plus", "adversarial", NULL};
static const char *const support_names[] = {"any", "spikes", "worst", NULL};
static const char *const decoder_names[] = {"top-k", "hard", "soft", "relu", "pursuit", NULL};
static const char *const sweep_names[] = {"none",     "sizes",       "signs",     "noise", "magnitudes",
                                          "decoders", "deep-length", "reference", NULL};

#define AT(member) offsetof(struct pathways_config, member)
#define INTEGER(name, preset, low, high, unit, meaning)                                                                \
    {                                                                                                                  \
#name, FIELD_INT, AT(name), preset, low, high, false, false, NULL, unit, meaning, GROUP_DATA, LEVEL_ADVANCED,  \
            NULL                                                                                                       \
    }
#define REAL_IN(name, preset, low, high, low_open, high_open, unit, meaning)                                           \
    {                                                                                                                  \
#name, FIELD_REAL, AT(name), preset, low, high, low_open, high_open, NULL, unit, meaning, GROUP_DATA,          \
            LEVEL_ADVANCED, NULL                                                                                       \
    }
#define CHOICE(name, member, preset, meaning)                                                                          \
    {                                                                                                                  \
#name, FIELD_CHOICE, AT(member), preset, 0, 0, false, false, name##_names, "", meaning, GROUP_DATA,            \
            LEVEL_ADVANCED, NULL                                                                                       \
    }

const struct config_field pathways_fields[PATHWAYS_FIELDS] = {
    INTEGER(seed, "1", 0, CONFIG_INT_MAX, "", "seed of filters, supports, magnitudes, signs and noise"),
    INTEGER(threads, "0", 0, 256, "threads",
            "threads of this job; 0 leaves it to the daemon. Results do not depend on it"),

    CHOICE(dictionary, family, "signs",
           "local filters of the first layer: Gaussian, +-1, a few +-1 each, or all of [I, H/sqrt m] at one position"),
    INTEGER(filters, "2", 1, 4096, "filters", "n_1, filters of the first layer"),
    INTEGER(filter_length, "1024", 1, 65536, "entries", "m_1, length of a filter; dirac-hadamard: m, the side of H"),
    INTEGER(length, "8192", 1, 1048576, "positions",
            "M, length of the signal, a circle; dirac-hadamard has one position"),
    INTEGER(filter_nonzeros, "8", 1, 65536, "entries", "non-zeros of a sparse filter of the first layer"),

    INTEGER(depth, "1", 1, PATHWAYS_DEPTH, "layers", "L, layers of dictionaries"),
    INTEGER(deep_filters, "4", 1, 4096, "filters", "n_l of the layers above the first"),
    INTEGER(deep_length, "64", 1, 65536, "positions", "spatial extent k_l of their filters; m_l = n_{l-1} k_l"),
    INTEGER(deep_nonzeros, "8", 0, 65536, "entries", "non-zeros (+-1) of each of their filters; 0: Gaussian filters"),

    CHOICE(signs, signs, "random",
           "the diagonal D: random, all +1 (the original deep coding model), or the worst found for each code"),
    CHOICE(support, support, "any",
           "where non-zeros stand: anywhere, on the spikes of dirac-hadamard alone, or where they meet some one column "
           "most"),
    REAL_IN(noise, "0", 0, 100, false, false, "x_min", "patch norm zeta_0 of Gaussian noise on the signal"),
    REAL_IN(magnitude_ratio, "1", 1, 1000, false, false, "x_min", "magnitudes are uniform between 1 and this"),
    CHOICE(decoder, decoder, "top-k",
           "of each layer: keep as many as there are (the paper), hard, soft or ReLU threshold, or basis pursuit"),
    REAL_IN(threshold, "0.5", 0, 100, false, false, "x_min", "threshold, or the weight of basis pursuit's l1 norm"),
    INTEGER(iterations, "100", 1, 10000, "iterations", "of basis pursuit"),
    REAL_IN(delta, "0.01", 0, 1, true, true, "", "probability of failure that bound (5) is asked for"),

    CHOICE(sweep, sweep, "none",
           "what differs between curves: nothing, sizes, sizes and signs, noise, magnitudes, decoders, deep_length, or "
           "the five dictionaries of the reference table"),
    INTEGER(sizes, "1", 1, 12, "sizes",
            "sweeps over sizes: how many, each half the one before (dirac-hadamard: a quarter)"),
    INTEGER(dictionaries, "1", 1, 16, "dictionaries", "sweeps over sizes: random dictionaries of each size"),
    {"nonzeros", FIELD_TEXT, AT(nonzeros), "", 0, 0, false, false, NULL, "non-zeros",
     "numbers of non-zeros to try, as \"16,32,64\"; empty: the run looks for where recovery falls", GROUP_DATA,
     LEVEL_ADVANCED, NULL},
    INTEGER(points, "10", 2, PATHWAYS_POINTS, "points", "of a curve, when the run looks for itself"),
    INTEGER(trials, "1000", 1, 10000000, "trials", "a point; a trial is one draw of signs for one code"),
    INTEGER(draws, "8", 1, 4096, "draws", "of signs for the same code x"),
    INTEGER(bound_codes, "4", 0, 1000, "codes", "a point, for which the instance bound is worked out"),
    INTEGER(checkpoint_every, "20000", 1, CONFIG_INT_MAX, "trials", "trials between checkpoints"),
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

/* Sizes and tables must fit memory, and every case must have room for its non-zeros. */
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
                method_fault(faults, filters, "its Gram table would have %.3g numbers; at most %.3g",
                             dictionary_gram_size(s), table);
            if (atoms > map)
                method_fault(faults, filters, "a code would have %.3g entries; at most %.3g", atoms, map);
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
        method_fault(faults, "support", "must be any or spikes: all columns of dirac-hadamard meet alike");
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
        method_fault(faults, "depth", "must be 1 for the reference table; got %.0f", (double)c->depth);
    if (c->sweep == SWEEP_REFERENCE && hadamard)
        method_fault(faults, "dictionary", "must be convolutional for the reference table");
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
