/* A corpus of spoken words: short recordings of some classes (the words) by some speakers, split by speaker into
 * training and test.
 *
 * Three layouts are known by their file names, in the folder or up to two below it:
 *   AudioMNIST                 NN/{digit}_{NN}_{take}.wav
 *   Free Spoken Digit Dataset  {digit}_{speaker}_{take}.wav
 *   Speech Commands            {word}/{speaker}_nohash_{take}.wav
 * Other files are passed over. Classes are in the order of their names, takes in the order of their files' names (as
 * text: 0, 1, 10, 11, 2), speakers as numpy's legacy shuffle with seed 0 leaves their sorted names: the first ones
 * train, the last 15 % (at least one) are the new speakers of the test. For AudioMNIST's 60 that is the split of
 * SPARLING's authors, 51 and 9.
 *
 * Recordings are brought to one rate when they are added. A sealed corpus is read-only: any number of threads may draw
 * from it. */
#ifndef MOTIF_CORE_DATA_AUDIO_AUDIO_CORPUS_H
#define MOTIF_CORE_DATA_AUDIO_AUDIO_CORPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/audio_wave.h"

#define AUDIO_CLASSES_MAX 32
#define AUDIO_SPEAKERS_MAX 4096
#define AUDIO_NAME 48 /* bytes of the name of a class, speaker or file, with its NUL */

struct audio_clip {
    char file[AUDIO_NAME]; /* without folder and suffix: "6_12_27" */
    int class, speaker;
    int length;     /* samples */
    float *samples; /* [length] */
};

struct audio_corpus;

enum status audio_corpus_create(int rate, struct audio_corpus **corpus, struct error *err);
void audio_corpus_destroy(struct audio_corpus *corpus); /* NULL is fine */

/* Adds one recording; its samples go to the corpus (or are freed), whatever is returned. */
enum status audio_corpus_add(struct audio_corpus *corpus, const char *class, const char *speaker, const char *file,
                             struct audio_wave *wave, struct error *err);
/* Sorts and splits; nothing can be added afterwards. STATUS_INVALID with fewer than two classes or speakers, or when a
 * class is not spoken by both parts. */
enum status audio_corpus_seal(struct audio_corpus *corpus, struct error *err);
/* Makes, fills and seals one from the files of a folder. */
enum status audio_corpus_load(const char *folder, int rate, struct audio_corpus **corpus, struct error *err);

/* What a file's name says. False: of no layout. `class` stays empty where the folder is the class. */
bool audio_corpus_parse(const char *name, char class[AUDIO_NAME], char speaker[AUDIO_NAME], char file[AUDIO_NAME]);

/* Of a sealed corpus. Speakers are counted in the shuffled order. */
int audio_corpus_rate(const struct audio_corpus *corpus);
int audio_corpus_classes(const struct audio_corpus *corpus);
const char *audio_corpus_class(const struct audio_corpus *corpus, int class);
int audio_corpus_speakers(const struct audio_corpus *corpus);
int audio_corpus_training_speakers(const struct audio_corpus *corpus); /* the first so many */
const char *audio_corpus_speaker(const struct audio_corpus *corpus, int speaker);
int audio_corpus_clips(const struct audio_corpus *corpus);
int audio_corpus_longest(const struct audio_corpus *corpus); /* samples of the longest clip */
double audio_corpus_mean(const struct audio_corpus *corpus); /* of a clip */
/* The recordings of a class by a speaker: how many, *clips the first of them. */
int audio_corpus_takes(const struct audio_corpus *corpus, int speaker, int class, const struct audio_clip **clips);
/* SHA-256 of names and samples: equal corpora are equal data. */
void audio_corpus_hash(const struct audio_corpus *corpus, unsigned char digest[HASH_BYTES]);

#endif
