/* Chooses the fields of a configuration that follow from uploaded data (dataset_fit). */
#include "core/methods/sparling/domains/dataset_fit.h"

#include <math.h>

#include "core/autodiff/ops.h"

/* Number of motif channels if targets are numbers, because numbers do not say how many kinds of motifs there are. */
enum { NUMBER_CHANNELS = 8 };

static bool has(const struct method_given *given, const char *field)
{
    return given && given->has(given->context, field);
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void dataset_fit_mels(struct sparling_config *config, const struct method_given *given, int rate)
{
    struct dataset_config *d = &config->dataset;
    int bands = (int)(64 * sqrt(rate / 8000.0));
    if (d->fit && rate > 0 && rate < 8000 && !has(given, "dataset_mels"))
        d->mels = bands < 8 ? 8 : bands;
}

/* Returns the number of residual units of g for a signal, whose window doubles with each unit: as many as fit into
 * about half of the signal, at most 7 (512 positions). */
static int64_t signal_units(int64_t cols, int64_t first)
{
    const double share = 0.55;
    int64_t units = 1;
    while (units < 7 && (double)(4 * ((2 << units) - 1) + first - 1) <= share * (double)cols)
        units++;
    return units;
}

/* Returns the stride of a picture: the smallest power of two with which g has at most MOST_POSITIONS positions. The
 * time of a training grows with this number. Recordings and data of one row keep their positions. */
static int64_t stride_of(const struct sparling_config *config, const struct dataset_facts *facts)
{
    enum { MOST_POSITIONS = 4096, MOST_STRIDE = 16 };
    int rows = (int)config->dataset.rows, cols = (int)config->dataset.cols, stride = 1;
    bool picture = rows > 1 && !facts->sound && sparling_thresholds(config);
    while (picture && stride < MOST_STRIDE && blocks_of(rows, stride) * blocks_of(cols, stride) > MOST_POSITIONS)
        stride *= 2;
    return stride;
}

/* Makes the model blind to the order of items: g reads one item at a time, and the head gets no positions. */
static void fit_bag(struct sparling_config *config, const struct method_given *given)
{
    if (!has(given, "first_window"))
        config->first_window = 1;
    if (!has(given, "units"))
        config->units = 0;
    if (!has(given, "narrow_units"))
        config->narrow_units = 2;
    if (!has(given, "positions"))
        config->positions = POSITIONS_NONE;
}

/* Sets the window and the width of g. The first convolution is as wide as a whole motif, and only few residual units
 * follow. Such a g has few weights, so it generalises better than one of many small kernels, and it marks motifs in the
 * middle of their windows.
 * - Pictures: the window has 21 positions. If pictures are small and each has one class, such as a texture, the
 *   evidence may be anywhere, so the window contains the whole picture, up to 39 pixels. In large pictures g reads
 *   blocks of pixels (stride_of()), and the window has 13 blocks of 2 x 2 pixels, or 11 larger ones.
 * - Signals: a motif may have a few positions or half of the sample, so the first convolution has 5 positions and the
 *   window doubles with each residual unit. A unit adds to the features of the units before it, so g sees short motifs
 *   as well as long ones.
 * - Sequences of letters: the window has about a tenth of the sample's positions, from 29 to 61 (bases: 31 to 63).
 *   Letters other than bases need only one residual unit. Bases, which have four channels, may have motifs on either
 *   strand: g needs twice the features and more units to join the strands.
 * - Recordings: kernels have 3 positions and the window 21, the length of a word. In a longer window, g could mark a
 *   word at a position beside it.
 * - Bags: g reads each item by itself, so it has units with 1x1 kernels only. */
static void fit_window(struct sparling_config *config, const struct method_given *given,
                       const struct dataset_facts *facts)
{
    const int64_t small = 1600; /* pixels */
    const struct dataset_config *c = &config->dataset;
    bool sound = facts->sound, line = c->rows == 1, text = facts->letters, bases = text && c->channels == 4,
         whole = facts->classes && !line && c->rows * c->cols <= small;
    int cols = (int)c->cols, tenth = cols / 40 < 7 ? 7 : cols / 40 > 15 ? 15 : cols / 40;
    int side = (int)(c->rows > c->cols ? c->rows : c->cols), rest = (side - 12) / 4,
        all = rest < 3   ? 3
              : rest > 6 ? 6
                         : rest; /* number of units after a first convolution that is 15 pixels wide */
    if (c->unordered) {
        fit_bag(config, given);
        return;
    }
    if (line && !text && !sound && !has(given, "dilation"))
        config->dilation = 2;
    if (!has(given, "stride"))
        config->stride = stride_of(config, facts);
    bool doubles = line && config->dilation == 2;
    int units = sound                        ? 5
                : bases                      ? 4
                : text                       ? 1
                : line || config->stride > 1 ? 2
                : whole                      ? all
                                             : 3,
        picture = config->stride > 2   ? 3
                  : config->stride > 1 ? 5
                  : whole              ? 15
                                       : 9;
    if (!has(given, "width") && bases)
        config->width = 32;
    if (!has(given, "first_window"))
        config->first_window = sound ? 1 : doubles ? 5 : line ? 4 * (tenth - units) + (bases ? 3 : 1) : picture;
    if (!has(given, "units"))
        config->units = doubles ? signal_units(c->cols, config->first_window) : units;
}

/* Sets what keeps g from learning few samples by heart: an average of the weights for pictures and signals; for signals
 * also dropout, weight decay, and random changes of the samples. A number as target may be the size or the length of a
 * motif, so then sizes and lengths stay as they are. */
static void fit_regularisation(struct sparling_config *config, const struct method_given *given,
                               const struct dataset_facts *facts)
{
    enum { SIGNALS = 1, PICTURES = 2, BAGS = 4 };
    struct dataset_config *d = &config->dataset;
    int kind = facts->letters || facts->sound ? 0 : d->unordered ? BAGS : d->rows == 1 ? SIGNALS : PICTURES;
    const struct {
        const char *field;
        double *at, value;
        int kinds;
        bool with_numbers;
    } rows[] = {
        {"weight_average", &config->weight_average, 0.998, SIGNALS | PICTURES | BAGS, true},
        {"motif_dropout", &config->motif_dropout, 0.2, SIGNALS, true},
        {"weight_decay", &config->weight_decay, 0.1, SIGNALS | BAGS, true},
        {"augment_shift", &d->augment_shift, 0.1, SIGNALS, true},
        {"augment_noise", &d->augment_noise, 0.05, SIGNALS | BAGS, true},
        {"augment_gain", &d->augment_gain, 0.1, SIGNALS, false},
        {"augment_stretch", &d->augment_stretch, 0.1, SIGNALS, false},
        {"augment_silence", &d->augment_silence, 0.2, SIGNALS, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((rows[i].kinds & kind) && (rows[i].with_numbers || !d->numbers) && !has(given, rows[i].field))
            *rows[i].at = rows[i].value;
}

/* Sets the learning rate and the number of samples. In sequences of letters, many substrings look like a motif by
 * chance, so training is noisy. A lower learning rate and more samples therefore lower the error more than they do
 * in pictures. Bases have a small alphabet, so chance matches are most frequent there, and the presence objective
 * learns sooner from the few best positions (presence_sharpness). */
static void fit_rate(struct sparling_config *config, const struct method_given *given,
                     const struct dataset_facts *facts)
{
    if (!facts->letters)
        return;
    if (!has(given, "learning_rate"))
        config->learning_rate = 5e-4;
    if (!has(given, "total_samples"))
        config->total_samples = 280000;
    if (!has(given, "reading_samples"))
        config->reading_samples = 40000;
    if (!has(given, "presence_samples"))
        config->presence_samples = 100000;
    if (!has(given, "presence_sharpness") && config->dataset.channels == 4)
        config->presence_sharpness = 2;
}

/* Sets fields for labels that are counts, and for bases. The count objective (tally_weight) is used for counts, because
 * they state how often motifs occur, and for bases, because their short motifs become sharper with it. If labels are
 * counts, a tenth of the letters of each sample is replaced: a count says less about a sample than names do, so without
 * replaced letters g would learn the samples by heart. */
static void fit_counts(struct sparling_config *config, const struct method_given *given,
                       const struct dataset_facts *facts)
{
    bool bases = facts->letters && config->dataset.channels == 4 && !config->dataset.numbers;
    if ((facts->counts || bases) && !has(given, "tally_weight"))
        config->tally_weight = 1;
    if (facts->counts && facts->letters && !has(given, "replace_letters"))
        config->dataset.replace_letters = 0.1;
}

/* If every label has at least one name, an empty motif map is certainly wrong, so `never_empty` is set. This needs the
 * calibration, which makes the distances of channels from their thresholds comparable. */
static void fit_empty(struct sparling_config *config, const struct method_given *given,
                      const struct dataset_facts *facts)
{
    if (facts->named && config->calibrate && config->channels_per_name == 1 && !has(given, "never_empty"))
        config->never_empty = true;
}

/* For bases, limits what a motif map may contain, because chance copies of short motifs are frequent. If labels say how
 * often each name occurs, most_motifs limits the number of motifs to the largest number of names, or the largest count,
 * of a label. Other labels do not say it: a set contains each name once, and with a single name such as "bound" a
 * sequence may have several sites. For them, most_names limits the number of active channels. Like never_empty, both
 * limits need the calibration, which makes the distances of channels from their thresholds comparable. */
static void fit_most(struct sparling_config *config, const struct method_given *given,
                     const struct dataset_facts *facts)
{
    if (!facts->letters || config->dataset.channels != 4 || !config->calibrate || facts->most > SPARLING_MOST)
        return;
    bool lists_all = facts->counts || (facts->ordered && facts->most > 1);
    if (lists_all && !has(given, "most_motifs"))
        config->most_motifs = at_most(facts->most * config->channels_per_name, SPARLING_MOST);
    if (!lists_all && (facts->ordered || facts->set) && !has(given, "most_names"))
        config->most_names = at_most(facts->most * config->channels_per_name, SPARLING_MOST);
}

/* Sets how the head reads motifs of bases. Motifs of bases are often weak and lie close together. With motif_floor the
 * head sees the kind of a weak motif, and with rank_positions it need not compare distant positions to find the order
 * of motifs. */
static void fit_head(struct sparling_config *config, const struct method_given *given,
                     const struct dataset_facts *facts)
{
    if (!facts->letters || config->dataset.channels != 4 || config->dataset.numbers)
        return;
    if (!has(given, "motif_floor") && config->motif_scale == MOTIF_SCALE_RMS)
        config->motif_floor = 1;
    if (!has(given, "rank_positions") && config->attend == ATTEND_ACTIVE)
        config->rank_positions = true;
    if (!has(given, "matrix_scores") && config->calibrate && config->strands == STRANDS_ONE)
        config->matrix_scores = true;
}

/* Switches off the settings of the preset that only help after a first phase of the presence objective. Training then
 * follows the densities and the schedule of the learning rate alone. */
static void fit_without_phase(struct sparling_config *config, const struct method_given *given)
{
    if (!has(given, "patience"))
        config->patience = 0;
    if (!has(given, "calibrate"))
        config->calibrate = false;
    if (!has(given, "reading_samples"))
        config->reading_samples = 0;
    if (!has(given, "momentum"))
        config->momentum = 0.9;
}

/* Sets fields for numbers as targets. One number says less about a sample than a label, so a model learns samples by
 * heart sooner; replaced letters prevent this. Validation estimates a share of explained variance, which needs more
 * samples than a share of right answers. */
static void fit_numbers(struct sparling_config *config, const struct method_given *given,
                        const struct dataset_facts *facts)
{
    if (!config->dataset.numbers)
        return;
    if (!has(given, "replace_letters") && facts->letters)
        config->dataset.replace_letters = 0.1;
    if (!has(given, "validation_samples"))
        config->validation_samples = 1000;
}

/* Sets the number of samples and the other fields that follow from the field `effort`. If `effort` is normal, these
 * fields keep the values of the preset. */
static void fit_effort(struct sparling_config *config, const struct method_given *given)
{
    bool quick = config->dataset.effort == EFFORT_QUICK;
    if (config->dataset.effort == EFFORT_NORMAL)
        return;
    if (!has(given, "total_samples"))
        config->total_samples = quick ? 72000 : 2 * config->total_samples;
    if (!has(given, "reading_samples"))
        config->reading_samples = quick ? 12000 : 2 * config->reading_samples;
    if (!has(given, "presence_samples") && quick)
        config->presence_samples = 24000;
    if (!has(given, "presence_validations"))
        config->presence_validations = quick ? 3 : 8;
    if (!has(given, "patience"))
        config->patience = quick ? 3 : 12;
    if (!has(given, "starts"))
        config->starts = quick ? 1 : 3;
}

/* Pooling window between the motif map and the head. The head's memory and time grow with the square of the number of
 * pooled positions, so a larger map gets a larger window, up to the field's limit. `usual` is the preset's window. */
static int64_t pool_of_map(int64_t usual, int64_t rows, int64_t cols)
{
    const int64_t most_positions = 1024, most_pool = 64;
    int64_t pool = usual;
    while (pool < most_pool && (rows == 1 ? 1 : rows / pool) * (cols / pool) > most_positions)
        pool++;
    return pool;
}

/* Returns the number of channels for a number of names. */
static int64_t named_channels(int64_t names, int64_t each)
{
    const int64_t most = 1024;
    names = names < 1 ? 1 : names;
    return at_most(names * each, most);
}

/* Sets channels, pooling and schedule: the density falls to one motif for each token. Without a first phase of the
 * presence objective it falls from ten times that density, as in the preset digitcircle-quick. After such a first phase
 * the channels mark the right motifs already, so the density starts at three times the last one and a few stages are
 * enough. Fields that the client has given keep their values. */
void dataset_fit(struct sparling_config *config, const struct method_given *given, const struct dataset_facts *facts)
{
    /* the first density as a multiple of the last one: after a first phase of the presence objective (known), or
     * without one (unknown) */
    const double known = 3, unknown = 1 / pow(0.75, 8);
    const struct dataset_config *c = &config->dataset;
    int first = c->positions ? 1 : 0; /* class 0 is not a motif */
    if (!has(given, "motifs") && c->numbers)
        config->channels_motif = NUMBER_CHANNELS;
    else if (!has(given, "motifs"))
        config->channels_motif = named_channels(c->tokens - first, config->channels_per_name);
    if (!has(given, "pool"))
        config->pool = pool_of_map(c->unordered ? 1 : config->pool, c->rows, c->cols); /* items are no neighbours */
    bool presence = sparling_presence_alone(config);
    double motifs = c->numbers ? (double)config->channels_motif / 2 : facts->mean;
    double one = motifs / ((double)c->rows * (double)c->cols * (double)config->channels_motif);
    if (presence && !c->positions) {
        fit_window(config, given, facts);
        fit_regularisation(config, given, facts);
        fit_rate(config, given, facts);
        fit_head(config, given, facts);
        fit_counts(config, given, facts);
        fit_empty(config, given, facts);
        fit_most(config, given, facts);
        fit_numbers(config, given, facts);
        fit_effort(config, given);
    } else {
        fit_without_phase(config, given);
    }
    if (!has(given, "density_final"))
        config->density_final = fmin(one, 0.05);
    if (!has(given, "density_factor"))
        config->density_factor = presence ? 1 / sqrt(known) : 0.75;
    if (!has(given, "density_start"))
        config->density_start = fmin(1, config->density_final * 1.001 * (presence ? known : unknown));
    if (!has(given, "plateau_density"))
        config->plateau_density = fmin(1, sparling_last_density(config) * 1.03);
    if (!has(given, "reinitialise_below"))
        config->reinitialise_below = c->positions || presence ? 0 : config->density_final * 1.5;
}

void dataset_fit_samples(struct sparling_config *config, const int64_t count[COLLECTION_PARTS])
{
    config->validation_samples = at_most(config->validation_samples, count[PART_OF_VALIDATION]);
    config->test_samples = at_most(config->test_samples, count[PART_OF_TEST]);
    config->motif_samples = at_most(config->motif_samples, count[PART_OF_TEST]);
    config->stage_samples = at_most(config->stage_samples, count[PART_OF_TEST]);
}
