/* A corpus of spoken words: recognises the published layouts by file names, resamples every recording when it is added,
 * then sorts the recordings and splits the speakers into training and test. */
#include "core/data/audio/audio_corpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/random/mt19937.h"

#define MAX_SAMPLES ((int64_t)1 << 29) /* maximum size of all recordings together: 2 GiB */
#define MAX_CLIPS (1 << 20)
#define MAX_DEPTH 2
#define RATES 8 /* maximum number of different rates in a folder */

struct names {
    char (*name)[AUDIO_NAME];
    int count, room;
};

struct audio_corpus {
    int rate;
    struct names classes, speakers;
    struct audio_clip *clips; /* once sealed: sorted by speaker, class and file */
    int count, room, longest, training;
    int64_t samples;
    int *first; /* once sealed: [speakers * classes + 1] index into clips */
    struct audio_resampler *resampler[RATES];
    int rates[RATES];
};

enum status audio_corpus_create(int rate, struct audio_corpus **corpus, struct error *err)
{
    struct audio_corpus *c = calloc(1, sizeof *c);
    if (c == NULL)
        return error_memory(err, "a corpus");
    c->rate = rate;
    *corpus = c;
    return STATUS_OK;
}

void audio_corpus_destroy(struct audio_corpus *c)
{
    if (c == NULL)
        return;
    for (int i = 0; i < c->count; i++)
        free(c->clips[i].samples);
    for (int i = 0; i < RATES; i++)
        audio_resampler_destroy(c->resampler[i]);
    free(c->clips);
    free(c->classes.name);
    free(c->speakers.name);
    free(c->first);
    free(c);
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Returns the index of a name; adds the name if it is new. Returns -1 without memory, or if there would be more than
 * `most` names. */
static int intern(struct names *names, const char *name, int most)
{
    /* consecutive files often share a name, so the search begins with the last one */
    for (int i = names->count - 1; i >= 0; i--)
        if (strcmp(names->name[i], name) == 0)
            return i;
    if (names->count == most)
        return -1;
    if (names->count == names->room) {
        int room = names->room > 0 ? 2 * names->room : 16;
        void *grown = realloc(names->name, (size_t)room * sizeof *names->name);
        if (grown == NULL)
            return -1;
        names->name = grown;
        names->room = room;
    }
    (void)snprintf(names->name[names->count], AUDIO_NAME, "%s", name);
    return names->count++;
}

static enum status to_rate(struct audio_corpus *c, struct audio_wave *wave, struct error *err)
{
    for (int i = 0; wave->rate != c->rate && i < RATES; i++) {
        if (c->resampler[i] == NULL) {
            enum status status = audio_resampler_create(wave->rate, c->rate, &c->resampler[i], err);
            if (status)
                return status;
            c->rates[i] = wave->rate;
        }
        if (c->rates[i] == wave->rate)
            return audio_wave_resample(c->resampler[i], wave, AUDIO_WAVE_FRAMES, err);
    }
    return wave->rate == c->rate
               ? STATUS_OK
               : error_set(err, STATUS_LIMIT, NULL,
                           "the recordings have more than %d different sample rates; resample them to one rate", RATES);
}

static enum status make_room(struct audio_corpus *c, int length, struct error *err)
{
    if (c->count == MAX_CLIPS || c->samples + length > MAX_SAMPLES) {
        return error_set(err, STATUS_LIMIT, NULL,
                         "the recordings have more than %lld samples in all; use fewer or shorter ones",
                         (long long)MAX_SAMPLES);
    }
    if (c->count == c->room) {
        int room = c->room > 0 ? 2 * c->room : 256;
        void *grown = realloc(c->clips, (size_t)room * sizeof *c->clips);
        if (grown == NULL)
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d recordings", room);
        c->clips = grown;
        c->room = room;
    }
    return STATUS_OK;
}

enum status audio_corpus_add(struct audio_corpus *c, const char *class, const char *speaker, const char *file,
                             struct audio_wave *wave, struct error *err)
{
    enum status status = to_rate(c, wave, err);
    if (!status)
        status = make_room(c, wave->count, err);
    if (!status && wave->count == 0)
        status = error_set(err, STATUS_INVALID, NULL, "%.40s is empty", file);
    int class_index = 0, speaker_index = 0;
    if (!status) {
        class_index = intern(&c->classes, class, AUDIO_CLASSES_MAX);
        speaker_index = intern(&c->speakers, speaker, AUDIO_SPEAKERS_MAX);
        if (class_index < 0 || speaker_index < 0) {
            status = error_set(err, STATUS_LIMIT, NULL, "more than %d classes or %d speakers", AUDIO_CLASSES_MAX,
                               AUDIO_SPEAKERS_MAX);
        }
    }
    if (status) {
        audio_wave_close(wave);
        return status;
    }
    struct audio_clip *clip = &c->clips[c->count++];
    *clip = (struct audio_clip){
        .class = class_index, .speaker = speaker_index, .length = wave->count, .samples = wave->samples};
    (void)snprintf(clip->file, sizeof clip->file, "%s", file);
    c->samples += wave->count;
    c->longest = wave->count > c->longest ? wave->count : c->longest;
    *wave = (struct audio_wave){0};
    return STATUS_OK;
}

/* ---- sealing --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int by_place(const void *a, const void *b)
{
    const struct audio_clip *x = a, *y = b;
    if (x->speaker != y->speaker)
        return x->speaker - y->speaker;
    return x->class != y->class ? x->class - y->class : strcmp(x->file, y->file);
}

/* Sorts the names, and then moves the name at sorted index i to index to[i]; if `to` is NULL, it stays at i. Writes the
 * new index of each name to place[old index]. */
static enum status audio_corpus_settle(struct names *names, const int *to, int *place, struct error *err)
{
    struct names old = *names;
    char(*sorted)[AUDIO_NAME] = malloc((size_t)old.count * sizeof *sorted);
    char(*moved)[AUDIO_NAME] = malloc((size_t)old.count * sizeof *moved);
    if (sorted == NULL || moved == NULL) {
        free(sorted);
        free(moved);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d names", old.count);
    }
    memcpy(sorted, old.name, (size_t)old.count * sizeof *sorted);
    qsort(sorted, (size_t)old.count, sizeof *sorted, by_name);
    for (int i = 0; i < old.count; i++)
        memcpy(moved[to != NULL ? to[i] : i], sorted[i], AUDIO_NAME);
    for (int i = 0; i < old.count; i++) {
        for (int j = 0; j < old.count; j++)
            if (strcmp(old.name[i], moved[j]) == 0)
                place[i] = j;
    }
    free(sorted);
    free(old.name);
    names->name = moved;
    names->room = old.count;
    return STATUS_OK;
}

/* to[i]: the place to which the shuffle with seed 0 moves item i of `count`. */
static void shuffled_places(int *to, int *order, int count)
{
    struct mt19937 rng;
    mt19937_init(&rng, 0);
    mt19937_permutation(&rng, order, count);
    for (int i = 0; i < count; i++)
        to[order[i]] = i;
}

static enum status place_names(struct audio_corpus *c, struct error *err)
{
    int speakers = c->speakers.count, classes = c->classes.count;
    int *work = malloc((size_t)(3 * speakers + classes) * sizeof *work);
    if (work == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d speakers", speakers);
    int *to = work, *speaker_place = work + 2 * speakers, *class_place = work + 3 * speakers;
    shuffled_places(to, work + speakers, speakers);
    enum status status = audio_corpus_settle(&c->speakers, to, speaker_place, err);
    if (!status)
        status = audio_corpus_settle(&c->classes, NULL, class_place, err);
    for (int i = 0; !status && i < c->count; i++) {
        c->clips[i].speaker = speaker_place[c->clips[i].speaker];
        c->clips[i].class = class_place[c->clips[i].class];
    }
    free(work);
    return status;
}

static enum status index_clips(struct audio_corpus *c, struct error *err)
{
    int cells = c->speakers.count * c->classes.count;
    c->first = calloc((size_t)cells + 1, sizeof *c->first);
    if (c->first == NULL)
        return error_memory(err, "the index of a corpus");
    qsort(c->clips, (size_t)c->count, sizeof *c->clips, by_place);
    for (int i = 0; i < c->count; i++)
        c->first[c->clips[i].speaker * c->classes.count + c->clips[i].class + 1]++;
    for (int i = 0; i < cells; i++)
        c->first[i + 1] += c->first[i];
    return STATUS_OK;
}

/* Refuses a corpus with a class that no training speaker says, or that no test speaker says. */
static enum status check_parts(const struct audio_corpus *c, struct error *err)
{
    for (int class = 0; class < c->classes.count; class ++) {
        int parts[2] = {0, 0};
        for (int speaker = 0; speaker < c->speakers.count; speaker++)
            parts[speaker >= c->training] += audio_corpus_takes(c, speaker, class, NULL);
        if (parts[0] == 0 || parts[1] == 0) {
            return error_set(
                err, STATUS_INVALID, NULL,
                "no %s speaker says \"%.40s\"; every class needs recordings of training and of test speakers",
                parts[0] == 0 ? "training" : "test", c->classes.name[class]);
        }
    }
    return STATUS_OK;
}

enum status audio_corpus_seal(struct audio_corpus *c, struct error *err)
{
    int speakers = c->speakers.count, test = (15 * speakers + 50) / 100;
    if (c->classes.count < 2 || speakers < 2) {
        return error_set(err, STATUS_INVALID, NULL,
                         "a corpus needs at least two classes and two speakers; it has %d and %d", c->classes.count,
                         speakers);
    }
    c->training = speakers - (test > 0 ? test : 1);
    enum status status = place_names(c, err);
    if (!status)
        status = index_clips(c, err);
    return status ? status : check_parts(c, err);
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool take_part(const char *from, size_t length, char out[AUDIO_NAME])
{
    if (length == 0 || length >= AUDIO_NAME)
        return false;
    memcpy(out, from, length);
    out[length] = '\0';
    return true;
}

bool audio_corpus_parse(const char *name, char class[AUDIO_NAME], char speaker[AUDIO_NAME], char file[AUDIO_NAME])
{
    static const char suffix[] = ".wav", mark[] = "_nohash_";
    size_t length = strlen(name), stem = length - (sizeof suffix - 1);
    if (length < sizeof suffix || strcmp(name + stem, suffix) != 0 || !take_part(name, stem, file))
        return false;
    const char *found = strstr(file, mark), *last = strrchr(file, '_');
    class[0] = '\0';
    if (found != NULL)
        return found[sizeof mark - 1] != '\0' && take_part(file, (size_t)(found - file), speaker);
    bool digit = file[0] >= '0' && file[0] <= '9' && file[1] == '_';
    return digit && last != NULL && last > file + 1 && last[1] != '\0' && take_part(file, 1, class) &&
           take_part(file + 2, (size_t)(last - file - 2), speaker);
}

/* Reads the files of one folder and of its subfolders, `depth` levels deep. */
static enum status scan(struct audio_corpus *c, const char *folder, const char *folder_name, int depth,
                        struct error *err)
{
    char path[4096], class[AUDIO_NAME], speaker[AUDIO_NAME], file[AUDIO_NAME];
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return error_set(err, STATUS_NOT_FOUND, NULL, "the folder %.60s cannot be read", folder_name);
    enum status status = STATUS_OK;
    for (struct dirent *entry; !status && (entry = readdir(dir)) != NULL;) {
        struct stat what;
        int written = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || written < 0 || (size_t)written >= sizeof path || stat(path, &what) != 0)
            continue;
        if (S_ISDIR(what.st_mode) && depth > 0) {
            status = scan(c, path, entry->d_name, depth - 1, err);
        } else if (S_ISREG(what.st_mode) && audio_corpus_parse(entry->d_name, class, speaker, file) &&
                   strlen(folder_name) < AUDIO_NAME) {
            struct audio_wave wave;
            status = audio_wave_read(path, &wave, err);
            if (!status)
                status = audio_corpus_add(c, class[0] != '\0' ? class : folder_name, speaker, file, &wave, err);
        }
    }
    (void)closedir(dir);
    return status;
}

enum status audio_corpus_load(const char *folder, int rate, struct audio_corpus **corpus, struct error *err)
{
    struct audio_corpus *c = NULL;
    const char *slash = strrchr(folder, '/');
    enum status status = audio_corpus_create(rate, &c, err);
    if (!status)
        status = scan(c, folder, slash != NULL ? slash + 1 : folder, MAX_DEPTH, err);
    if (!status)
        status = audio_corpus_seal(c, err);
    if (status) {
        audio_corpus_destroy(c);
        return status;
    }
    *corpus = c;
    return STATUS_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

int audio_corpus_rate(const struct audio_corpus *c)
{
    return c->rate;
}

int audio_corpus_classes(const struct audio_corpus *c)
{
    return c->classes.count;
}

const char *audio_corpus_class(const struct audio_corpus *c, int class)
{
    return c->classes.name[class];
}

int audio_corpus_speakers(const struct audio_corpus *c)
{
    return c->speakers.count;
}

int audio_corpus_training_speakers(const struct audio_corpus *c)
{
    return c->training;
}

const char *audio_corpus_speaker(const struct audio_corpus *c, int speaker)
{
    return c->speakers.name[speaker];
}

int audio_corpus_clips(const struct audio_corpus *c)
{
    return c->count;
}

int audio_corpus_longest(const struct audio_corpus *c)
{
    return c->longest;
}

double audio_corpus_mean(const struct audio_corpus *c)
{
    return (double)c->samples / c->count;
}

int audio_corpus_takes(const struct audio_corpus *c, int speaker, int class, const struct audio_clip **clips)
{
    const int *first = &c->first[speaker * c->classes.count + class];
    if (clips != NULL)
        *clips = c->clips + first[0];
    return first[1] - first[0];
}

void audio_corpus_hash(const struct audio_corpus *c, unsigned char digest[HASH_BYTES])
{
    struct hash hash;
    hash_init(&hash);
    for (int i = 0; i < c->count; i++) {
        const struct audio_clip *clip = &c->clips[i];
        const char *class = c->classes.name[clip->class], *speaker = c->speakers.name[clip->speaker];
        hash_add(&hash, class, strlen(class) + 1);
        hash_add(&hash, speaker, strlen(speaker) + 1);
        hash_add(&hash, clip->file, strlen(clip->file) + 1);
        hash_add(&hash, clip->samples, (size_t)clip->length * sizeof *clip->samples);
    }
    hash_finish(&hash, digest);
}
