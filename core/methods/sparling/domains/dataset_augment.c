/* Changes training samples at random. First a sample is moved, stretched and turned, all in one pass that interpolates
 * between its values; outside it, the values of its edge go on. Then its values change. */
#include "core/methods/sparling/domains/dataset_augment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/data/box.h"
#include "core/methods/sparling/domains/dataset_letters.h"

enum { STREAM_AUGMENT = 0x6175676D, STREAM_NOISE = 0x61756E6F };
/* Words of the stream STREAM_AUGMENT. */
enum {
    SHIFT_X,
    SHIFT_Y,
    STRETCH_X,
    STRETCH_Y,
    TURN,
    GAIN,
    OFFSET,
    ERASE_X,
    ERASE_Y,
    MIRROR_X,
    MIRROR_Y,
    DRIFT_SIZE,
    DRIFT_PERIOD,
    DRIFT_PHASE,
    MASK_LONG,
    MASK_X,
    MASK_HIGH,
    MASK_Y,
    KEPT_CHANNEL,
    SILENCE /* one word for each channel, so this is the last one */
};

struct augmentation dataset_changes(const struct dataset_config *config)
{
    return (struct augmentation){.shift = config->augment_shift,
                                 .stretch = config->augment_stretch,
                                 .turn = config->augment_turn,
                                 .gain = config->augment_gain,
                                 .offset = config->augment_offset,
                                 .drift = config->augment_drift,
                                 .noise = config->augment_noise,
                                 .erase = config->augment_erase,
                                 .mask = config->augment_mask,
                                 .silence = config->augment_silence,
                                 .mirror = config->augment_mirror};
}

/* Returns whether any of these changes moves values to other positions. */
static bool augments_places(const struct augmentation *a)
{
    return a->shift > 0 || a->stretch > 0 || a->turn > 0 || a->mirror;
}

enum status dataset_changes_check(const struct dataset_config *config, const struct collection *c,
                                  const struct collection_moments *moments, struct error *err)
{
    const struct augmentation changes = dataset_changes(config);
    if (augments(&changes) && dataset_in_letters(c, moments))
        return error_set(err, STATUS_INVALID, "/config/dataset_name",
                         "has sequences of letters or words, which the fields augment_* cannot change; use "
                         "replace_letters");
    if (config->unordered && (augments_places(&changes) || changes.drift > 0))
        return error_set(err, STATUS_INVALID, "/config/dataset_name",
                         "has bags of items without order, so augment_shift, augment_stretch, augment_turn, "
                         "augment_mirror and augment_drift must be 0");
    if (config->positions && augments_places(&changes))
        return error_set(err, STATUS_INVALID, "/config/dataset_name",
                         "has a label at every position, so augment_shift, augment_stretch, augment_turn and "
                         "augment_mirror must be 0");
    return STATUS_OK;
}

bool augments(const struct augmentation *a)
{
    return augments_places(a) || a->gain > 0 || a->offset > 0 || a->drift > 0 || a->noise > 0 || a->erase > 0 ||
           a->mask > 0 || a->silence > 0;
}

/* A uniform number in [-strength, strength). */
static double drawn(const struct philox *from, int word, double strength)
{
    return strength * (2 * (double)philox_uniform(from, (uint64_t)word) - 1);
}

#define PI 3.14159265358979323846

/* An interpolation uses TAPS values. The fraction of a position is rounded to 1/PHASES. */
enum { TAPS = 6, BEFORE = 2, PHASES = 64 };

/* The map from a position of the changed sample to a position of the sample, and the kernel of the interpolation. */
struct placement {
    double xx, xy, yx, yy, x, y;
    float kernel[PHASES][TAPS];
};

/* Lanczos' kernel with three lobes. A shorter one would average neighbours: a changed sample would have less noise than
 * the samples that the model must read later, and patterns of noise would not be learned. */
static void fill_kernel(float kernel[PHASES][TAPS])
{
    memset(kernel, 0, sizeof *kernel);
    kernel[0][BEFORE] = 1;
    for (int phase = 1; phase < PHASES; phase++) {
        double weight[TAPS], sum = 0;
        for (int tap = 0; tap < TAPS; tap++) {
            double t = PI * ((double)phase / PHASES - (tap - BEFORE));
            weight[tap] = sin(t) * sin(t / 3) / (t * t);
            sum += weight[tap];
        }
        for (int tap = 0; tap < TAPS; tap++)
            kernel[phase][tap] = (float)(weight[tap] / sum);
    }
}

/* Shifts are whole positions, so that a sample which is only shifted keeps its values. */
static struct placement place(const struct augment_sample *s, const struct augmentation *a, const struct philox *from)
{
    bool flat = s->rows == 1, flips = a->mirror && !flat;
    double width = (double)s->length, angle = flat ? 0 : drawn(from, TURN, a->turn) * (PI / 180);
    double zoom = exp(drawn(from, STRETCH_X, a->stretch)), high = exp(drawn(from, STRETCH_Y, a->stretch));
    double left = flips && philox_uniform(from, MIRROR_X) < 0.5F ? -1 : 1;
    double up = flips && philox_uniform(from, MIRROR_Y) < 0.5F ? -1 : 1;
    struct placement p = {.xx = left * zoom * cos(angle),
                          .xy = -left * high * sin(angle),
                          .yx = flat ? 0 : up * zoom * sin(angle),
                          .yy = flat ? 1 : up * high * cos(angle),
                          .x = (width - 1) / 2 + round(drawn(from, SHIFT_X, a->shift) * width),
                          .y = (s->rows - 1) / 2.0 + (flat ? 0 : round(drawn(from, SHIFT_Y, a->shift) * s->rows))};
    fill_kernel(p.kernel);
    return p;
}

/* Beyond its ends, a line keeps its last value. If it went on in reverse, g would also learn patterns in reverse. */
static int64_t within(int64_t at, int64_t length)
{
    return at < 0 ? 0 : at < length ? at : length - 1;
}

/* The values that an interpolation along one axis uses, and their weights. */
struct taps {
    int64_t at[TAPS];
    const float *weight;
    int count;
};

static struct taps taps_at(const struct placement *p, double x, int64_t length)
{
    int64_t fine = llround(x * PHASES), whole = fine / PHASES - (fine % PHASES < 0), phase = fine - whole * PHASES;
    struct taps taps = {.weight = p->kernel[phase] + (phase ? 0 : BEFORE), .count = phase ? TAPS : 1};
    for (int tap = 0; tap < taps.count; tap++)
        taps.at[tap] = within(whole + tap - (phase ? BEFORE : 0), length);
    return taps;
}

static void move_plane(const struct augment_sample *s, const struct placement *p, const float *from, float *to)
{
    double middle_x = (double)(s->length - 1) / 2, middle_y = (s->rows - 1) / 2.0;
    for (int row = 0; row < s->rows; row++)
        for (int64_t col = 0; col < s->length; col++) {
            double dx = (double)col - middle_x, dy = row - middle_y;
            struct taps x = taps_at(p, p->x + p->xx * dx + p->xy * dy, s->length),
                        y = taps_at(p, p->y + p->yx * dx + p->yy * dy, s->rows);
            float value = 0;
            for (int i = 0; i < y.count; i++)
                for (int j = 0; j < x.count; j++)
                    value += y.weight[i] * x.weight[j] * from[y.at[i] * s->cols + x.at[j]];
            to[(ptrdiff_t)row * s->cols + col] = value;
        }
}

static void move(const struct augment_sample *s, const struct augmentation *a, const struct philox *from,
                 float *scratch)
{
    size_t size = (size_t)s->rows * (size_t)s->cols;
    if (!augments_places(a))
        return;
    struct placement p = place(s, a, from);
    memcpy(scratch, s->planes, (size_t)s->channels * size * sizeof *scratch);
    for (int c = 0; c < s->channels; c++)
        move_plane(s, &p, scratch + (size_t)c * size, s->planes + (size_t)c * size);
}

static double mean_of(const struct augment_sample *s, const float *plane)
{
    double sum = 0;
    for (int row = 0; row < s->rows; row++)
        for (int64_t col = 0; col < s->length; col++)
            sum += (double)plane[(ptrdiff_t)row * s->cols + col];
    return sum / ((double)s->rows * (double)s->length);
}

/* Standard deviation of the values of a plane. */
static double spread_of(const struct augment_sample *s, const float *plane)
{
    double sum = 0, squares = 0, count = (double)s->rows * (double)s->length;
    for (int row = 0; row < s->rows; row++)
        for (int64_t col = 0; col < s->length; col++) {
            double value = (double)plane[(ptrdiff_t)row * s->cols + col];
            sum += value;
            squares += value * value;
        }
    return sqrt(fmax(0, squares / count - sum / count * (sum / count)));
}

/* Changes gain and offset, and adds noise. The offset and the noise are shares of the sample's standard deviation. */
static void change_values(const struct augment_sample *s, const struct augmentation *a, const struct philox *from)
{
    struct philox noise = philox_stream((uint64_t)s->seed, STREAM_NOISE, (uint64_t)s->index);
    double gain = exp(drawn(from, GAIN, a->gain)), offset = drawn(from, OFFSET, a->offset);
    size_t size = (size_t)s->rows * (size_t)s->cols;
    if (a->gain <= 0 && a->offset <= 0 && a->noise <= 0)
        return;
    for (int c = 0; c < s->channels; c++) {
        float *plane = s->planes + (size_t)c * size;
        double spread = a->offset > 0 || a->noise > 0 ? spread_of(s, plane) : 0;
        for (int row = 0; row < s->rows; row++)
            for (int64_t col = 0; col < s->length; col++) {
                ptrdiff_t at = (ptrdiff_t)row * s->cols + col;
                double value = gain * (double)plane[at] + offset * spread;
                if (a->noise > 0)
                    value += a->noise * spread * philox_normal(&noise, (uint64_t)c * size + (uint64_t)at);
                plane[at] = (float)value;
            }
    }
}

/* Adds a slow oscillation to a signal, of which at most one period fits into it. */
static void drift(const struct augment_sample *s, const struct augmentation *a, const struct philox *from)
{
    double size = drawn(from, DRIFT_SIZE, a->drift), phase = drawn(from, DRIFT_PHASE, PI),
           turns = 0.25 + 0.75 * (double)philox_uniform(from, DRIFT_PERIOD);
    for (int c = 0; c < s->channels; c++) {
        float *plane = s->planes + (ptrdiff_t)c * s->cols;
        double most = size * spread_of(s, plane);
        for (int64_t col = 0; col < s->length; col++)
            plane[col] += (float)(most * sin(2 * PI * turns * (double)col / (double)s->length + phase));
    }
}

/* Replaces a part of all planes by the mean of each plane. */
static void hide(const struct augment_sample *s, const struct box *part)
{
    for (int c = 0; c < s->channels; c++) {
        float *plane = s->planes + (ptrdiff_t)c * s->rows * s->cols;
        float mean = (float)mean_of(s, plane);
        for (int64_t row = part->row0; row < part->row1; row++)
            for (int64_t col = part->col0; col < part->col1; col++)
                plane[row * s->cols + col] = mean;
    }
}

/* Returns where an interval of this length begins, which lies inside [0, all). */
static int begin_of(const struct philox *from, int word, int64_t length, int64_t all)
{
    return (int)((double)philox_uniform(from, (uint64_t)word) * (double)(all - length + 1));
}

/* Hides the channels [first, last) completely. */
static void hide_channels(const struct augment_sample *s, int first, int last)
{
    struct augment_sample some = *s;
    some.planes += (ptrdiff_t)first * s->rows * s->cols;
    some.channels = last - first;
    hide(&some, &(struct box){.row1 = s->rows, .col1 = (int)s->length});
}

/* Hides an interval of time, and an interval of the frequencies of a recording (SpecAugment, arXiv 1904.08779). Their
 * lengths are drawn up to the share `mask`. */
static void mask(const struct augment_sample *s, const struct augmentation *a, const struct philox *from)
{
    int width = (int)(a->mask * (double)philox_uniform(from, MASK_LONG) * (double)s->length),
        bands = (int)(a->mask * (double)philox_uniform(from, MASK_HIGH) * s->channels),
        left = begin_of(from, MASK_X, width, s->length), low = begin_of(from, MASK_Y, bands, s->channels);
    hide(s, &(struct box){.row1 = s->rows, .col0 = left, .col1 = left + width});
    if (s->sound)
        hide_channels(s, low, low + bands);
}

/* Replaces whole channels by their mean. One channel, drawn at random, always stays. */
static void silence(const struct augment_sample *s, const struct augmentation *a, const struct philox *from)
{
    int kept = begin_of(from, KEPT_CHANNEL, 1, s->channels);
    for (int c = 0; c < s->channels; c++)
        if (c != kept && (double)philox_uniform(from, (uint64_t)(SILENCE + c)) < a->silence)
            hide_channels(s, c, c + 1);
}

/* Replaces a part of the sample by its mean: a share `erase` of the length of each side. */
static void erase(const struct augment_sample *s, const struct augmentation *a, const struct philox *from)
{
    int width = (int)(a->erase * (double)s->length), height = s->rows > 1 ? (int)(a->erase * s->rows) : 1,
        left = begin_of(from, ERASE_X, width, s->length), top = begin_of(from, ERASE_Y, height, s->rows);
    hide(s, &(struct box){.row0 = top, .row1 = top + height, .col0 = left, .col1 = left + width});
}

void dataset_augment(const struct augment_sample *s, const struct augmentation *a, float *scratch)
{
    struct philox from = philox_stream((uint64_t)s->seed, STREAM_AUGMENT, (uint64_t)s->index);
    move(s, a, &from, scratch);
    change_values(s, a, &from);
    if (a->drift > 0 && s->rows == 1 && !s->sound)
        drift(s, a, &from);
    if (a->erase > 0)
        erase(s, a, &from);
    if (a->mask > 0)
        mask(s, a, &from);
    if (a->silence > 0)
        silence(s, a, &from);
}

enum status dataset_augment_planes(const struct domain_shape *shape, int64_t length, const struct augmentation *a,
                                   bool sound, const struct domain_request *request, float *planes, struct error *err)
{
    float *scratch = malloc(domain_inputs(shape) * sizeof *scratch);
    if (!scratch)
        return error_memory(err, "a changed sample");
    const struct augment_sample sample = {.planes = planes,
                                          .channels = shape->channels,
                                          .rows = shape->rows,
                                          .cols = shape->cols,
                                          .sound = sound,
                                          .length = length,
                                          .seed = request->seed,
                                          .index = request->index};
    dataset_augment(&sample, a, scratch);
    free(scratch);
    return STATUS_OK;
}
