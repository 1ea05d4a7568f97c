/* The presets of the pathways method, and the cases of each sweep. */
#include <stdio.h>
#include <string.h>

#include "core/methods/pathways/config.h"

enum { SPARSE_NONZEROS = 8 }; /* non-zeros of a filter of the first layer with dictionary=sparse */

/* A single convolutional layer with filter lengths from 64 to 4096 and random signs. */
static const struct config_setting single_layer[] = {
    {"dictionary", "signs"}, {"filters", "2"},   {"filter_length", "4096"},
    {"length", "32768"},     {"sweep", "sizes"}, {"sizes", "7"},
    {"dictionaries", "8"},   {"points", "10"},   {"trials", "1000"},
    {"bound_codes", "2"},    {NULL, NULL}};

static const struct config_setting two_layer[] = {{"dictionary", "signs"},
                                                  {"filters", "2"},
                                                  {"filter_length", "1024"},
                                                  {"length", "4096"},
                                                  {"depth", "2"},
                                                  {"deep_filters", "4"},
                                                  {"deep_length", "256"},
                                                  {"deep_nonzeros", "8"},
                                                  {"sweep", "deep-length"},
                                                  {"sizes", "2"},
                                                  {"nonzeros", "1,2,4,6,8,12,16"},
                                                  {"trials", "2000"},
                                                  {NULL, NULL}};

static const struct config_setting dirac_hadamard[] = {{"dictionary", "dirac-hadamard"},
                                                       {"filter_length", "4096"},
                                                       {"length", "1"},
                                                       {"sweep", "signs"},
                                                       {"sizes", "2"},
                                                       {"nonzeros", "16,32,34,48,64,96,128,160,192,256,320,384"},
                                                       {"trials", "2000"},
                                                       {NULL, NULL}};

/* Compares random, all-plus and adversarial signs, and worst supports, for several sizes. */
static const struct config_setting signs[] = {{"dictionary", "signs"}, {"filters", "2"},   {"filter_length", "4096"},
                                              {"length", "32768"},     {"sweep", "signs"}, {"sizes", "7"},
                                              {"dictionaries", "3"},   {"points", "10"},   {"trials", "1000"},
                                              {"bound_codes", "2"},    {NULL, NULL}};

/* Five filter lengths m, from 16384 down to 64, each a quarter of the one before. `nonzeros` is not set, so at each
 * length the run itself searches for the numbers of non-zeros at which recovery falls. */
static const struct config_setting hadamard_scaling[] = {{"dictionary", "dirac-hadamard"},
                                                         {"filter_length", "16384"},
                                                         {"length", "1"},
                                                         {"sweep", "signs"},
                                                         {"sizes", "5"},
                                                         {"points", "10"},
                                                         {"trials", "1000"},
                                                         {NULL, NULL}};

/* docs/lab/pathways.md has reference values for those numbers of non-zeros that are powers of two. The other numbers
 * locate more precisely the sparsity S50 at which half of the codes are recovered. */
static const struct config_setting reference[] = {{"sweep", "reference"},
                                                  {"dictionaries", "8"},
                                                  {"nonzeros", "2,4,6,8,12,16,24,32,48,64,96,128,192,256,384,512,768"},
                                                  {"trials", "800"},
                                                  {NULL, NULL}};

static const struct config_setting noise[] = {{"dictionary", "signs"}, {"filters", "4"},   {"filter_length", "256"},
                                              {"length", "2048"},      {"sweep", "noise"}, {"points", "12"},
                                              {"trials", "4000"},      {NULL, NULL}};
static const struct config_setting magnitudes[] = {
    {"dictionary", "signs"}, {"filters", "4"}, {"filter_length", "256"}, {"length", "2048"},
    {"sweep", "magnitudes"}, {"points", "12"}, {"trials", "4000"},       {NULL, NULL}};
static const struct config_setting decoders[] = {
    {"dictionary", "signs"}, {"filters", "4"},      {"filter_length", "128"},
    {"length", "1024"},      {"sweep", "decoders"}, {"nonzeros", "2,4,8,12,16,24,32,48,64,96,128"},
    {"trials", "400"},       {"threshold", "0.5"},  {NULL, NULL}};

const struct method_preset pathways_presets[PATHWAYS_PRESETS] = {
    {"single-layer", "Design A: random filters of seven sizes with random signs; recovery scales with mu^-2.",
     .settings = single_layer},
    {"two-layer", "Design C: sparse filters above dense ones; the first layer limits recovery.", .settings = two_layer},
    {"dirac-hadamard", "Design B: spikes and Hadamard rows, m = 4096 and 1024; bound (5) exceeds bound (3).",
     .settings = dirac_hadamard},
    {"hadamard-scaling",
     "Design B over sizes: the slopes for random and for equal signs, without the chance of random filters.",
     .settings = hadamard_scaling},
    {"signs",
     "Random, all-plus and adversarial signs of the same codes, and worst supports: S50 grows with mu^-2 or mu^-1.",
     .settings = signs},
    {"reference", "Design A with the five dictionaries of the table in docs/lab/pathways.md.", .settings = reference},
    {"noise", "Design D: noise of patch norm 0, 0.1, 0.3 and 0.5 x_min.", .settings = noise},
    {"magnitudes", "Design D: magnitudes within a factor of 1, 2 and 5.", .settings = magnitudes},
    {"decoders", "Design D: top-k against hard, soft and ReLU thresholds and basis pursuit.", .settings = decoders},
};

/* ---- cases --------------------------------------------------------------------------------------- */

static struct pathways_case configured(const struct pathways_config *c)
{
    struct pathways_case p = {
        .family = c->family,
        .layers = (int)c->depth,
        .stream = 0,
        .signs = c->signs,
        .support = c->support,
        .noise = c->noise,
        .ratio = c->magnitude_ratio,
        .rule = {(enum decoder)c->decoder, c->threshold, c->iterations},
    };
    int width = (int)c->length, inputs = 1;
    for (int l = 0; l < p.layers; l++) {
        int filters = (int)(l == 0 ? c->filters : c->deep_filters);
        int extent = (int)(l == 0 ? c->filter_length : c->deep_length);
        p.shape[l] = (struct dictionary_shape){1, width, inputs, filters, 1, extent};
        p.nonzeros[l] = l > 0 ? (int)c->deep_nonzeros : c->family == PATHWAYS_SPARSE ? SPARSE_NONZEROS : 0;
        inputs = filters;
    }
    if (p.family == PATHWAYS_HADAMARD) {
        int m = (int)c->filter_length;
        p.shape[0] = (struct dictionary_shape){1, 1, m, 2 * m, 1, 1};
    }
    return p;
}

static void resize(struct pathways_case *p, int step)
{
    if (p->family == PATHWAYS_HADAMARD) {
        int m = p->shape[0].inputs >> (2 * step);
        p->shape[0] = (struct dictionary_shape){1, 1, m, 2 * m, 1, 1};
        return;
    }
    for (int l = 0; l < p->layers; l++)
        p->shape[l].width = p->shape[l].width >> step > 0 ? p->shape[l].width >> step : 1;
    p->shape[0].extent_w >>= step;
}

static int length_of(const struct pathways_case *p)
{
    return p->family == PATHWAYS_HADAMARD ? p->shape[0].inputs : p->shape[0].extent_w;
}

/* The ways to draw signs and supports for one dictionary: ways[0] for all dictionaries except Walsh-Hadamard, ways[1]
 * for Walsh-Hadamard. The second index is the number of a group of cases: the cases of a group draw in the same way. */
enum { WAYS = 4 };
static const struct {
    int signs, support;
    const char *name;
} ways[2][WAYS] = {
    {{SIGNS_RANDOM, SUPPORT_ANY, "random signs"},
     {SIGNS_PLUS, SUPPORT_ANY, "all plus"},
     {SIGNS_ADVERSARIAL, SUPPORT_ANY, "adversarial signs"},
     {SIGNS_ADVERSARIAL, SUPPORT_WORST, "worst support"}},
    {{SIGNS_RANDOM, SUPPORT_SPIKES, "random signs, spikes"},
     {SIGNS_RANDOM, SUPPORT_ANY, "random signs, mixed"},
     {SIGNS_PLUS, SUPPORT_SPIKES, "all plus, spikes"}},
};

int pathways_ways(const struct pathways_config *c)
{
    return c->sweep != SWEEP_SIGNS ? 1 : c->family == PATHWAYS_HADAMARD ? WAYS - 1 : WAYS;
}

static int size_cases(const struct pathways_config *c, const struct pathways_case *base, struct pathways_case *out)
{
    const int hadamard = base->family == PATHWAYS_HADAMARD, own = pathways_ways(c);
    int count = 0;
    for (int step = 0; step < (int)c->sizes; step++)
        for (int copy = 0; copy < (int)c->dictionaries; copy++)
            for (int way = 0; way < own && count < PATHWAYS_CASES; way++) {
                struct pathways_case *p = &out[count++];
                *p = *base;
                resize(p, step);
                p->stream = (uint32_t)(copy + 16 * step);
                p->group = way;
                if (own > 1) {
                    p->signs = ways[hadamard][way].signs;
                    p->support = ways[hadamard][way].support;
                }
                snprintf(p->label, sizeof p->label, "m=%d %.24s", length_of(p),
                         own > 1 ? ways[hadamard][way].name : "");
            }
    return count;
}

/* Writes the cases of the sweep `reference`: the five dictionaries of the table in docs/lab/pathways.md. */
static int reference_cases(const struct pathways_case *base, int dictionaries, struct pathways_case *out)
{
    static const struct {
        int length, filters, positions, family;
    } rows[] = {{49, 98, 256, PATHWAYS_GAUSS},
                {49, 4, 512, PATHWAYS_GAUSS},
                {256, 4, 2048, PATHWAYS_SIGNS},
                {1024, 4, 8192, PATHWAYS_SIGNS},
                {4096, 2, 32768, PATHWAYS_SIGNS}};
    int count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int copy = 0; copy < dictionaries; copy++) {
            struct pathways_case *p = &out[count++];
            *p = *base;
            p->layers = 1;
            p->family = rows[i].family;
            p->nonzeros[0] = 0;
            p->stream = (uint32_t)copy + 16 * (uint32_t)i;
            p->shape[0] = (struct dictionary_shape){1, rows[i].positions, 1, rows[i].filters, 1, rows[i].length};
            snprintf(p->label, sizeof p->label, "m=%d n=%d M=%d", rows[i].length, rows[i].filters, rows[i].positions);
        }
    return count;
}

static int deep_cases(const struct pathways_config *c, const struct pathways_case *base, struct pathways_case *out)
{
    int count = 0;
    for (int step = 0; step < (int)c->sizes; step++) {
        int extent = (int)c->deep_length >> (2 * step);
        if (extent < 1)
            break;
        struct pathways_case *p = &out[count++];
        *p = *base;
        p->group = step;
        for (int l = 1; l < p->layers; l++)
            p->shape[l].extent_w = extent;
        snprintf(p->label, sizeof p->label, "k=%d above", extent);
    }
    return count;
}

static int variants(const struct pathways_config *c, const struct pathways_case *base, struct pathways_case *out)
{
    static const double levels[] = {0, 0.1, 0.3, 0.5}, ratios[] = {1, 2, 5};
    static const char *const names[] = {"top-k", "hard", "soft", "ReLU", "pursuit"};
    int count = c->sweep == SWEEP_NOISE ? 4 : c->sweep == SWEEP_MAGNITUDES ? 3 : 5;
    for (int i = 0; i < count; i++) {
        out[i] = *base;
        out[i].group = i;
        if (c->sweep == SWEEP_NOISE) {
            out[i].noise = levels[i];
            snprintf(out[i].label, sizeof out[i].label, "noise %g x_min", levels[i]);
        } else if (c->sweep == SWEEP_MAGNITUDES) {
            out[i].ratio = ratios[i];
            snprintf(out[i].label, sizeof out[i].label, "x_max / x_min = %g", ratios[i]);
        } else {
            out[i].rule.decoder = (enum decoder)i;
            snprintf(out[i].label, sizeof out[i].label, "%s", names[i]);
        }
    }
    return count;
}

int pathways_cases(const struct pathways_config *c, struct pathways_case *out)
{
    struct pathways_case base = configured(c);
    switch ((enum pathways_sweep)c->sweep) {
    case SWEEP_SIZES:
    case SWEEP_SIGNS:
        return size_cases(c, &base, out);
    case SWEEP_REFERENCE:
        return reference_cases(
            &base, (int)c->dictionaries < PATHWAYS_CASES / 5 ? (int)c->dictionaries : PATHWAYS_CASES / 5, out);
    case SWEEP_DEEP:
        return deep_cases(c, &base, out);
    case SWEEP_NOISE:
    case SWEEP_MAGNITUDES:
    case SWEEP_DECODERS:
        return variants(c, &base, out);
    case SWEEP_NONE:
        break;
    }
    out[0] = base;
    snprintf(out[0].label, sizeof out[0].label, "m=%d", length_of(&base));
    return 1;
}

const char *pathways_group_name(const struct pathways_config *c, int group)
{
    if (c->sweep == SWEEP_SIGNS && group >= 0 && group < pathways_ways(c))
        return ways[c->family == PATHWAYS_HADAMARD][group].name;
    return c->signs == SIGNS_RANDOM ? "random signs" : c->signs == SIGNS_PLUS ? "all plus" : "adversarial signs";
}

int64_t pathways_columns(const struct pathways_case *c)
{
    const struct dictionary_shape *s = &c->shape[c->layers - 1];
    int64_t all = (int64_t)s->filters * s->height * s->width;
    int64_t met = (2 * (int64_t)s->extent_w - 1) * s->filters - 1;
    return c->support == SUPPORT_SPIKES ? all / 2 : c->support == SUPPORT_WORST && met < all ? met : all;
}
