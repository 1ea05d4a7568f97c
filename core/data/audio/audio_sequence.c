/* Draws clips of spoken words. The order of draws defines the data set. First come the number of words and the words,
 * then the speaker and the take (recording) of each word. Then the starts of all words are drawn, again and again until
 * no two words overlap. Last comes one uniform number for the noise of each sample of the clip. */
#include "core/data/audio/audio_sequence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The smallest share of random starts that must give a clip without overlap; a domain with a smaller share is refused.
 * The share is estimated for the largest number of words, all of mean length. */
#define FIT_LEAST 1e-6

/* ---- check ----------------------------------------------------------------------------------- */

int audio_sequence_check(const struct audio_sequence *d, void *context,
                         void (*fault)(void *context, const char *field, const char *detail))
{
    char detail[160] = "";
    const char *field = NULL;
    double longest = audio_corpus_longest(d->corpus), words = d->max_symbols, samples = d->samples > 0 ? d->samples : 1;
    double room = 1.0 - words * audio_corpus_mean(d->corpus) / samples;
    if (d->max_symbols < 1 || d->max_symbols > AUDIO_SYMBOLS_MAX) {
        field = "max_symbols";
        (void)snprintf(detail, sizeof detail, "must be in [1, %d]; got %d", AUDIO_SYMBOLS_MAX, d->max_symbols);
    } else if (d->min_symbols < 0 || d->min_symbols > d->max_symbols) {
        field = "min_symbols";
        (void)snprintf(detail, sizeof detail, "must be in [0, %d]; got %d", d->max_symbols, d->min_symbols);
    } else if (!(d->noise >= 0.0 && d->noise <= 1.0)) {
        field = "noise";
        (void)snprintf(detail, sizeof detail, "must be in [0, 1]; got %g", d->noise);
    } else if (words * longest >= samples || pow(room, words) < FIT_LEAST) {
        field = "samples";
        (void)snprintf(detail, sizeof detail,
                       "%d words of up to %.2f s almost never fit a clip of %.2f s without overlap", d->max_symbols,
                       longest / audio_corpus_rate(d->corpus), (double)d->samples / audio_corpus_rate(d->corpus));
    }
    if (field != NULL && fault != NULL)
        fault(context, field, detail);
    return field != NULL;
}

/* ---- noise ----------------------------------------------------------------------------------- */

/* The quantile of the standard normal distribution for |p - 1/2| <= 0.425: Wichura's algorithm AS 241, accurate to
 * 1e-16. */
static double quantile(double p)
{
    double q = p - 0.5, r = 0.180625 - q * q;
    double above = r * 2.5090809287301226727e+3 + 3.3430575583588128105e+4;
    above = above * r + 6.7265770927008700853e+4;
    above = above * r + 4.5921953931549871457e+4;
    above = above * r + 1.3731693765509461125e+4;
    above = above * r + 1.9715909503065514427e+3;
    above = above * r + 1.3314166789178437745e+2;
    above = above * r + 3.3871328727963666080e+0;
    double below = r * 5.2264952788528545610e+3 + 2.8729085735721942674e+4;
    below = below * r + 3.9307895800092710610e+4;
    below = below * r + 2.1213794301586595867e+4;
    below = below * r + 5.3941960214247511077e+3;
    below = below * r + 6.8718700749205790830e+2;
    below = below * r + 4.2313330701600911252e+1;
    below = below * r + 1.0;
    return q * above / below;
}

static void add_noise(struct mt19937 *rng, double scale, float *audio, int count)
{
    /* for a variable z with the standard normal distribution: low = P(z < -1), inside = P(|z| < 1) */
    static const double low = 0.15865525393145707, inside = 0.6826894921370859;
    double drawn[512];
    for (int done = 0; done < count;) {
        int part = count - done < 512 ? count - done : 512;
        mt19937_uniforms(rng, drawn, part);
        for (int i = 0; i < part; i++)
            audio[done + i] += (float)(scale * quantile(low + drawn[i] * inside));
        done += part;
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

static const struct audio_clip *draw_clip(const struct audio_sequence *d, struct mt19937 *rng, int class)
{
    int training = audio_corpus_training_speakers(d->corpus), speakers = audio_corpus_speakers(d->corpus);
    int first = d->part == AUDIO_TRAINING_SPEAKERS ? 0 : training;
    int count = d->part == AUDIO_TRAINING_SPEAKERS ? training : speakers - training;
    const struct audio_clip *takes;
    int available;
    do { /* If the speaker has no recording of the word, draws another one. This never happens with AudioMNIST. */
        available = audio_corpus_takes(d->corpus, first + mt19937_choice(rng, count), class, &takes);
    } while (available == 0);
    return &takes[mt19937_choice(rng, available)];
}

/* Draws the starts of all words and sorts them. Repeats this until each word ends before the next begins and the last
 * ends within the clip. */
static void draw_starts(const struct audio_sequence *d, struct mt19937 *rng, struct audio_truth *truth)
{
    bool apart;
    do {
        for (int i = 0; i < truth->count; i++) {
            int start = (int)mt19937_integer(rng, 0, d->samples), at = i;
            for (; at > 0 && truth->start[at - 1] > start; at--)
                truth->start[at] = truth->start[at - 1];
            truth->start[at] = start;
        }
        apart = true;
        for (int i = 0; i < truth->count; i++) {
            int next = i + 1 < truth->count ? truth->start[i + 1] : d->samples;
            apart = apart && next - truth->start[i] >= truth->length[i];
        }
    } while (!apart);
}

void audio_sequence_draw(const struct audio_sequence *d, struct mt19937 *rng, float *audio, struct audio_truth *truth)
{
    struct audio_truth drawn = {.count = (int)mt19937_integer(rng, d->min_symbols, d->max_symbols + 1)};
    for (int i = 0; i < drawn.count; i++)
        drawn.label[i] = (int)mt19937_integer(rng, 0, audio_corpus_classes(d->corpus));
    for (int i = 0; i < drawn.count; i++) {
        drawn.clip[i] = draw_clip(d, rng, drawn.label[i]);
        drawn.length[i] = drawn.clip[i]->length;
    }
    draw_starts(d, rng, &drawn);
    memset(audio, 0, (size_t)d->samples * sizeof *audio);
    for (int i = 0; i < drawn.count; i++)
        memcpy(audio + drawn.start[i], drawn.clip[i]->samples, (size_t)drawn.length[i] * sizeof *audio);
    add_noise(rng, d->noise, audio, d->samples);
    if (truth != NULL)
        *truth = drawn;
}

void audio_sequence_sample(const struct audio_sequence *d, int64_t seed, int64_t index, float *audio,
                           struct audio_truth *truth)
{
    struct mt19937 rng;
    mt19937_init(&rng, mt19937_sample_seed(seed, index));
    audio_sequence_draw(d, &rng, audio, truth);
}

int audio_sequence_single(const struct audio_sequence *d, int64_t seed, int64_t index, float *audio)
{
    struct mt19937 rng;
    mt19937_init(&rng, mt19937_sample_seed(seed, index));
    int class = (int)mt19937_integer(&rng, 0, audio_corpus_classes(d->corpus));
    const struct audio_clip *clip = draw_clip(d, &rng, class);
    int length = clip->length < d->samples ? clip->length : d->samples;
    memset(audio, 0, (size_t)d->samples * sizeof *audio);
    memcpy(audio + (d->samples - length) / 2, clip->samples, (size_t)length * sizeof *audio);
    add_noise(&rng, d->noise, audio, d->samples);
    return class;
}

void audio_sequence_boxes(const struct audio_sequence *d, const struct audio_truth *truth, int frames,
                          struct box *boxes)
{
    for (int i = 0; i < truth->count; i++) {
        int first = (int)((int64_t)truth->start[i] * frames / d->samples);
        int length = (int)((int64_t)truth->length[i] * frames / d->samples);
        boxes[i] = (struct box){
            .symbol = truth->label[i], .row1 = 1, .col0 = first, .col1 = first + length, .col = first + length / 2};
    }
}
