/* Draws AudioMNISTSequence clips from a folder of recordings: the spectrogram that the network sees (low tones at the
 * bottom), the true boxes, and above each box its word and speaker.
 *
 *      audio_sheet FOLDER FILE.png [--seed -2] [--first 0] [--count 4] [--seconds 15] [--min 5] [--max 10] [--mels 64]
 *                  [--scale 2] [--training]
 *
 * Clips use the test speakers, with --training the training speakers. --bench instead creates 300 clips and prints the
 * time of one clip on one thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/data/audio/audio_sequence.h"
#include "core/data/audio/audio_spectrum.h"
#include "core/draw/png.h"
#include "tests/support/paper_domains.h"

enum { RATE = 8000, MARGIN = 8, CAPTION = 12 };

struct sheet {
    struct audio_corpus *corpus;
    struct audio_sequence domain;
    struct audio_spectrum *spectrum;
    float *audio, *rows, *grey; /* shapes: audio [samples], rows [frames][mels], grey [mels][frames] */
    int frames, mels, scale;
};

static double option(int argc, char **argv, const char *name, double preset)
{
    for (int i = 3; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return atof(argv[i + 1]);
    return preset;
}

static bool flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static int bench(const struct sheet *s)
{
    enum { CLIPS = 300 };
    double drawn = 0, transformed = 0;
    for (int i = 0; i < CLIPS; i++) {
        double began = now();
        audio_sequence_sample(&s->domain, 1, i, s->audio, NULL);
        double between = now();
        (void)audio_spectrum_compute(s->spectrum, s->audio, s->domain.samples, s->rows, NULL);
        drawn += between - began;
        transformed += now() - between;
    }
    printf("%d samples, %d frames: a clip %.2f ms, its spectrogram %.2f ms, %.0f clips/s\n", s->domain.samples,
           s->frames, 1e3 * drawn / CLIPS, 1e3 * transformed / CLIPS, CLIPS / (drawn + transformed));
    return 0;
}

static void draw_clip(const struct sheet *s, struct picture *picture, int row, int64_t seed, int64_t index)
{
    const struct colour black = {0, 0, 0}, white = {255, 255, 255};
    struct audio_truth truth;
    struct box boxes[AUDIO_SYMBOLS_MAX];
    audio_sequence_sample(&s->domain, seed, index, s->audio, &truth);
    audio_sequence_boxes(&s->domain, &truth, s->frames, boxes);
    (void)audio_spectrum_compute(s->spectrum, s->audio, s->domain.samples, s->rows, NULL);
    for (int t = 0; t < s->frames; t++)
        for (int m = 0; m < s->mels; m++) {
            float level = (s->rows[t * s->mels + m] + 45) / 75;
            s->grey[(s->mels - 1 - m) * s->frames + t] = fminf(1, fmaxf(0, level));
        }
    picture_grey(picture, row + CAPTION, MARGIN, s->grey, s->mels, s->frames, s->scale, white, black);
    int height = s->mels * s->scale;
    for (int i = 0; i < truth.count; i++) {
        const struct box *b = &boxes[i];
        const struct colour colour = picture_palette(b->symbol);
        char text[2 * AUDIO_NAME];
        int left = MARGIN + b->col0 * s->scale, width = (b->col1 - b->col0) * s->scale;
        picture_outline(picture, row + CAPTION, left, height, width, 2, colour);
        snprintf(text, sizeof text, "%s", audio_corpus_class(s->corpus, truth.label[i]));
        picture_text(picture, row, left, text, 1, black);
        snprintf(text, sizeof text, "%s", audio_corpus_speaker(s->corpus, truth.clip[i]->speaker));
        picture_text(picture, row + CAPTION + height + 3 + (i % 2) * 10, left, text, 1, colour);
    }
}

static enum status draw_sheet(const struct sheet *s, int64_t seed, int64_t first, int count, const char *path,
                              struct error *err)
{
    struct picture *picture = NULL;
    struct buf png;
    int tile = CAPTION + s->mels * s->scale + 26;
    enum status status = picture_create(count * tile + MARGIN, s->frames * s->scale + 2 * MARGIN,
                                        (struct colour){255, 255, 255}, &picture, err);
    if (status)
        return status;
    for (int i = 0; i < count; i++)
        draw_clip(s, picture, MARGIN + i * tile, seed, first + i);
    buf_init(&png, 64u << 20);
    status = png_encode(picture, &png, err);
    FILE *file = status ? NULL : fopen(path, "wb");
    if (!status && (!file || fwrite(png.data, 1, png.size, file) != png.size || fclose(file) != 0))
        status = error_set(err, STATUS_IO, NULL, "%s cannot be written", path);
    buf_close(&png);
    picture_destroy(picture);
    return status;
}

int main(int argc, char **argv)
{
    struct sheet s = {.scale = 2};
    struct error err = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: audio_sheet FOLDER FILE.png [options]; see its first lines\n");
        return 2;
    }
    s.mels = (int)option(argc, argv, "--mels", 64);
    s.scale = (int)option(argc, argv, "--scale", 2);
    enum status status = audio_corpus_load(argv[1], RATE, &s.corpus, &err);
    if (!status)
        status = audio_spectrum_create(RATE, s.mels, 1.5, &s.spectrum, &err);
    if (!status) {
        s.domain = audio_sequence_paper(s.corpus,
                                        flag(argc, argv, "--training") ? AUDIO_TRAINING_SPEAKERS : AUDIO_NEW_SPEAKERS);
        s.domain.samples = (int)(option(argc, argv, "--seconds", 15) * RATE);
        s.domain.min_symbols = (int)option(argc, argv, "--min", 5);
        s.domain.max_symbols = (int)option(argc, argv, "--max", 10);
        s.frames = audio_spectrum_frames(s.spectrum, s.domain.samples);
        size_t values = (size_t)s.frames * (size_t)s.mels;
        s.audio = malloc((size_t)s.domain.samples * sizeof *s.audio);
        s.rows = malloc(values * sizeof *s.rows);
        s.grey = malloc(values * sizeof *s.grey);
        if (!s.audio || !s.rows || !s.grey || audio_sequence_check(&s.domain, NULL, NULL) != 0)
            status = error_set(&err, STATUS_INVALID, NULL, "such clips cannot be drawn");
    }
    if (!status && flag(argc, argv, "--bench"))
        bench(&s);
    else if (!status)
        status = draw_sheet(&s, (int64_t)option(argc, argv, "--seed", -2), (int64_t)option(argc, argv, "--first", 0),
                            (int)option(argc, argv, "--count", 4), argv[2], &err);
    if (status)
        fprintf(stderr, "audio_sheet: %s\n", err.message);
    free(s.audio);
    free(s.rows);
    free(s.grey);
    audio_spectrum_destroy(s.spectrum);
    audio_corpus_destroy(s.corpus);
    return status ? 1 : 0;
}
