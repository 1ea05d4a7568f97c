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

const struct config_field pathways_fields[PATHWAYS_FIELDS] = {
    SEED_AND_THREADS_FIELDS("the filters, supports, magnitudes, signs and noise"),

    CHOICE_FIELD_OF(
        dictionary, family, "signs", MODEL, BASIC, NULL,
        "Filters of the first layer: Gaussian, +-1, a few entries of +-1, or the columns of [I, H/sqrt m] at one "
        "position."),
    INTEGER_FIELD(filters, "2", 1, 4096, "filters", MODEL, BASIC, "dictionary=gauss|signs|sparse",
                  "Filters n_1 of the first layer; more filters raise the coherence."),
    INTEGER_FIELD(filter_length, "1024", 1, 65536, "entries", MODEL, BASIC, NULL,
                  "Length m_1 of a filter, or the side m of H; a longer one lowers the coherence."),
    INTEGER_FIELD(length, "8192", 1, 1048576, "positions", DATA, BASIC, "dictionary=gauss|signs|sparse",
                  "Length M of the circular signal; a longer signal has room for more non-zeros and takes more time."),
    INTEGER_FIELD(
        filter_nonzeros, "8", 1, 65536, "entries", MODEL, ADVANCED, "dictionary=sparse",
        "Non-zeros of a sparse filter of the first layer; more non-zeros make the filter more like a dense one."),

    INTEGER_FIELD(
        depth, "1", 1, PATHWAYS_DEPTH, "layers", MODEL, BASIC, NULL,
        "Layers L of dictionaries; more layers take more time, and an error of one layer reaches the next ones."),
    INTEGER_FIELD(deep_filters, "4", 1, 4096, "filters", MODEL, ADVANCED, NULL,
                  "Filters n_l of each layer above the first; more filters raise the coherence of these layers."),
    INTEGER_FIELD(deep_length, "64", 1, 65536, "positions", MODEL, ADVANCED, NULL,
                  "Extent k_l of the filters above the first layer, whose length is m_l = n_{l-1} k_l; a larger extent "
                  "lowers the coherence of these layers."),
    INTEGER_FIELD(deep_nonzeros, "8", 0, 65536, "entries", MODEL, ADVANCED, NULL,
                  "Non-zeros (+-1) of each filter above the first layer; more of them spread each entry over more "
                  "positions, and 0 draws Gaussian filters."),

    CHOICE_FIELD(signs, "random", DATA, ADVANCED, NULL,
                 "Signs on the diagonal of D: random, plus (all +1, the original deep coding model), or adversarial "
                 "(the worst that a search finds for each code)."),
    CHOICE_FIELD(support, "any", DATA, ADVANCED, NULL,
                 "Positions of the non-zeros: any (anywhere), spikes (only on the spikes of dirac-hadamard), or worst "
                 "(where they correlate most with a single column)."),
    REAL_FIELD(noise, "0", 0, 100, "x_min", DATA, ADVANCED, NULL,
               "Norm zeta_0 of the Gaussian noise on a patch of the signal; more noise makes recovery fail at fewer "
               "non-zeros."),
    REAL_FIELD(magnitude_ratio, "1", 1, 1000, "x_min", DATA, ADVANCED, NULL,
               "Largest magnitude of a non-zero relative to the smallest, with uniform magnitudes between the two; a "
               "larger ratio makes recovery fail at fewer non-zeros."),
    CHOICE_FIELD(decoder, "top-k", MODEL, BASIC, NULL,
                 "Decoder of each layer: top-k (keeps the true number of entries, as in the paper), a hard, soft or "
                 "ReLU threshold, or basis pursuit."),
    REAL_FIELD(threshold, "0.5", 0, 100, "x_min", MODEL, ADVANCED, "decoder=hard|soft|relu|pursuit",
               "Threshold, or the weight of basis pursuit's l1 norm; a larger one leaves fewer non-zeros."),
    INTEGER_FIELD(iterations, "100", 1, 10000, "iterations", OPTIMIZER, ADVANCED, "decoder=pursuit",
                  "Iterations of basis pursuit; more iterations give more exact codes and take more time."),
    BETWEEN_FIELD(
        delta, "0.01", 0, 1, "", EVALUATION, ADVANCED, NULL,
        "Probability of failure that the probabilistic bound (5) allows; a larger one allows more non-zeros."),

    CHOICE_FIELD(
        sweep, "none", EVALUATION, RESEARCH, NULL,
        "What differs between the curves: nothing, sizes, sizes and signs, noise, magnitudes, decoders, deep_length, "
        "or the dictionary (reference: the five of the table in docs/lab/pathways.md)."),
    INTEGER_FIELD(sizes, "1", 1, 12, "sizes", EVALUATION, RESEARCH, NULL,
                  "Number of sizes of a sweep, each half (dirac-hadamard: a quarter) of the previous one; more sizes "
                  "take more time."),
    INTEGER_FIELD(
        dictionaries, "1", 1, 16, "dictionaries", EVALUATION, RESEARCH, NULL,
        "Random dictionaries of each size of a sweep; more dictionaries make the figures depend less on chance."),
    TEXT_FIELD(
        nonzeros, "non-zeros", EVALUATION, ADVANCED, NULL,
        "Numbers of non-zeros to try, separated by commas (\"16,32,64\"); empty searches for the range where recovery "
        "falls."),
    INTEGER_FIELD(points, "10", 2, PATHWAYS_POINTS, "points", EVALUATION, ADVANCED, NULL,
                  "Points of a curve for which the run chooses the numbers of non-zeros itself; more points show the "
                  "curve in more detail."),
    INTEGER_FIELD(trials, "1000", 1, 10000000, "trials", EVALUATION, BASIC, NULL,
                  "Trials of each point, each with one draw of signs for one code; more trials make the confidence "
                  "intervals narrower."),
    INTEGER_FIELD(
        draws, "8", 1, 4096, "draws", EVALUATION, ADVANCED, NULL,
        "Draws of signs for the same code; with more draws, the same number of trials contains fewer different codes."),
    INTEGER_FIELD(bound_codes, "4", 0, 1000, "codes", EVALUATION, ADVANCED, NULL,
                  "Codes of each point for which the run computes the instance bound; more codes make the bound more "
                  "precise and take more time."),
    INTEGER_FIELD(
        checkpoint_every, "20000", 1, CONFIG_INT_MAX, "trials", OPTIMIZER, ADVANCED, NULL,
        "Trials between two checkpoints; a larger number stores fewer checkpoints, and a crash loses more work."),
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
