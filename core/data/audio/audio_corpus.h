/* A corpus of spoken words: short recordings of some words (the classes) by some speakers, split by speaker into
 * training and test.
 *
 * Three layouts are recognised by their file names, in the folder or up to two levels below it:
 *   AudioMNIST                 NN/{digit}_{NN}_{take}.wav
 *   Free Spoken Digit Dataset  {digit}_{speaker}_{take}.wav
 *   Speech Commands            {word}/{speaker}_nohash_{take}.wav
 * Other files are skipped. Classes are sorted by name, takes by file name (as text: 0, 1, 10, 11, 2). Speakers are
 * sorted by name and then shuffled with numpy's legacy generator at seed 0: the last 15 % (at least one) are the new
 * speakers of the test set, and training uses the others. For AudioMNIST's 60 speakers this is the split of SPARLING's
 * authors, 51 and 9.
 *
 * Recordings are resampled to the corpus's rate when they are added. A sealed corpus is read-only: any number of
 * threads may draw from it. */
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
    int length;     /* number of samples */
    float *samples; /* [length] */
};

struct audio_corpus;

/* Creates an empty corpus of recordings at `rate` samples a second; the caller destroys it. */
enum status audio_corpus_create(int rate, struct audio_corpus **corpus, struct error *err);
void audio_corpus_destroy(struct audio_corpus *corpus); /* NULL is allowed */

/* Adds one recording. The corpus takes over the samples of `wave`; after an error it has freed them. */
enum status audio_corpus_add(struct audio_corpus *corpus, const char *class, const char *speaker, const char *file,
                             struct audio_wave *wave, struct error *err);
/* Sorts and splits the recordings; none can be added afterwards. STATUS_INVALID: fewer than two classes or two
 * speakers, or a class without a recording by a training speaker or by a test speaker. */
enum status audio_corpus_seal(struct audio_corpus *corpus, struct error *err);
/* Creates, fills and seals a corpus from the files of a folder. */
enum status audio_corpus_load(const char *folder, int rate, struct audio_corpus **corpus, struct error *err);

/* Splits the name of a recording's file into class, speaker and file by the first layout that fits; false: no layout
 * fits. `class` becomes "" if the folder's name is the class. */
bool audio_corpus_parse(const char *name, char class[AUDIO_NAME], char speaker[AUDIO_NAME], char file[AUDIO_NAME]);

/* The following functions return the contents of a sealed corpus. Speakers are numbered in shuffled order. */
int audio_corpus_rate(const struct audio_corpus *corpus);
int audio_corpus_classes(const struct audio_corpus *corpus);
const char *audio_corpus_class(const struct audio_corpus *corpus, int class);
int audio_corpus_speakers(const struct audio_corpus *corpus);
/* training uses the speakers 0 to this number - 1 */
int audio_corpus_training_speakers(const struct audio_corpus *corpus);
const char *audio_corpus_speaker(const struct audio_corpus *corpus, int speaker);
int audio_corpus_clips(const struct audio_corpus *corpus);
int audio_corpus_longest(const struct audio_corpus *corpus); /* number of samples of the longest recording */
double audio_corpus_mean(const struct audio_corpus *corpus); /* mean number of samples of a recording */
/* The recordings of one class by one speaker. Returns their number; *clips receives the first of them. */
int audio_corpus_takes(const struct audio_corpus *corpus, int speaker, int class, const struct audio_clip **clips);
/* SHA-256 of all names and samples, which identifies the data. */
void audio_corpus_hash(const struct audio_corpus *corpus, unsigned char digest[HASH_BYTES]);

#endif
