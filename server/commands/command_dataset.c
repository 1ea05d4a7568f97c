/* motifd dataset audio: makes a data set of spoken digits without a download, by the program espeak-ng in many voices.
 *
 * Every recording is one run of espeak-ng (a GPL program: it is started, never linked). The recording is converted to
 * 8 kHz, leading and trailing silence is cut, and the file gets the name that the loader reads
 * (core/data/audio/audio_corpus.h). The folder is filled under another name and then renamed, so that a failure leaves
 * no incomplete data set. */
#include "server/commands/commands.h"
#include "server/commands/usage.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/data/audio/audio_corpus.h"
#include "core/data/dataset.h"
#include "server/daemon.h"
#include "server/settings/settings.h"

#define NAME "spoken-digits"

static const struct config_field option_table[] = {
    OPTION_TEXT("out", "DIR", "folder to make (" NAME " in the folder of --data)"),
    OPTION_TEXT("data", "DIR", "folder of data sets (MOTIFD_DATA, or " SETTINGS_DATA ")"),
    OPTION_INTEGER("voices", "N", "30", 2, 30, "voices, 2 to 30 (30)"),
    OPTION_INTEGER("takes", "N", "8", 1, 8,
                   "recordings of each digit by each voice, 1 to 8 (8); they differ in pitch and speed"),
    OPTIONS_END,
};
static const char *const lines[] = {"dataset audio [--out DIR] [--data DIR] [--voices 2..30] [--takes 1..8]", NULL};
static const struct command_usage usage = {
    .name = "dataset",
    .lines = lines,
    .text =
        "Makes the data set \"" NAME
        "\" for the domain audio: the digits zero to nine, spoken by the program espeak-ng.\n"
        "The full set has 2,400 recordings at 8 kHz. Use it when no recordings of people are at hand. A folder that\n"
        "exists is left as it is.\n"
        "\n"
        "Real recordings need no conversion. Put a folder under --data and name it in the job: AudioMNIST\n"
        "(NN/{digit}_{NN}_{take}.wav), the Free Spoken Digit Dataset ({digit}_{speaker}_{take}.wav) and Speech "
        "Commands\n"
        "({word}/{speaker}_nohash_{take}.wav) are read as they are.\n",
    .options = option_table,
    .example = "  motifd dataset audio --voices 10 --takes 2\n",
    .least = 1,
    .most = 1,
};

static const char *const words[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
enum { DIGITS = sizeof words / sizeof words[0] };

/* Names of voices of espeak-ng, ACCENT+VARIANT. In the names of files, '-' replaces '+'. */
static const char *const voices[] = {
    "en-us+m1",
    "en-us+m2",
    "en+m3",
    "en-us+m4",
    "en+m5",
    "en-us+m6",
    "en-gb-scotland+m7",
    "en-us+m8",
    "en-us+f1",
    "en+f2",
    "en-us+f3",
    "en-gb-x-rp+f4",
    "en-us+f5",
    "en+Andy",
    "en-us+Andrea",
    "en-us-nyc+Alex",
    "en+Annie",
    "en-us+Michael",
    "en-029+Gene",
    "en+Denis",
    "en-us+Hugo",
    "en+Lee",
    "en-us+klatt2",
    "en+klatt4",
    "en-us+linda",
    "en+steph",
    "en-gb-x-gbclan+rob",
    "en-us+travis",
    "en+grandpa",
    "en-us+belinda",
};
enum { VOICES = sizeof voices / sizeof voices[0] };

static const struct {
    const char *pitch, *speed; /* options of espeak-ng: pitch (0 to 99) and speed (words per minute) */
} takes[] = {{"50", "160"}, {"40", "140"}, {"60", "180"}, {"45", "170"},
             {"55", "150"}, {"35", "190"}, {"65", "130"}, {"52", "200"}};
enum { TAKES = sizeof takes / sizeof takes[0] };

_Static_assert(VOICES == 30 && TAKES == 8, "option_table states these numbers");

struct plan {
    const char *folder;
    size_t voices, takes;
};

/* ---- one recording ---------------------------------------------------------------------------- */

static enum status speak(const char *voice, size_t take, const char *word, const char *path, struct error *err)
{
    extern char **environ;
    const char *argv[] = {"espeak-ng",       "-z", "-v", voice, "-p", takes[take].pitch, "-s",
                          takes[take].speed, "-w", path, word,  NULL};
    pid_t child;
    int how = 0;
    if (posix_spawnp(&child, argv[0], NULL, NULL, (char *const *)(void *)argv, environ) != 0) {
        return error_set(err, STATUS_NOT_FOUND, NULL,
                         "espeak-ng cannot be started: install Debian's package espeak-ng");
    }
    while (waitpid(child, &how, 0) < 0)
        if (errno != EINTR)
            return error_set(err, STATUS_IO, NULL, "the process of espeak-ng was lost");
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
        return error_set(err, STATUS_IO, NULL, "espeak-ng failed on the voice %s", voice);
    return STATUS_OK;
}

/* Removes silence at both ends of a recording and writes it at 8 kHz. Sound more than 45 dB below the loudest 10 ms
 * counts as silence; even the softest consonants are louder. 40 ms of silence stay at each end, a little less than a
 * window of a spectrogram (47 ms). */
static enum status polish(struct audio_resampler *resampler, const char *from, const char *to, struct error *err)
{
    struct audio_wave wave;
    enum status status = audio_wave_read(from, &wave, err);
    if (!status)
        status = audio_wave_resample(resampler, &wave, AUDIO_WAVE_FRAMES, err);
    if (!status) {
        audio_wave_trim(&wave, 3e-5, 0);
        status = audio_wave_pad(&wave, 0.04, err);
    }
    if (!status)
        status = audio_wave_write(to, &wave, err);
    audio_wave_close(&wave);
    return status;
}

static void file_voice(const char *voice, char *out, size_t room)
{
    (void)snprintf(out, room, "%s", voice);
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '+' ? '-' : *c;
}

/* ---- the set ---------------------------------------------------------------------------------- */

/* Creates the resampler from the sampling rate of espeak-ng to AUDIO_RATE. The rate of espeak-ng is read from a
 * recording, because espeak-ng reports it nowhere else. */
static enum status make_resampler(const char *path, struct audio_resampler **resampler, struct error *err)
{
    struct audio_wave wave;
    enum status status = audio_wave_read(path, &wave, err);
    if (!status)
        status = audio_resampler_create(wave.rate, AUDIO_RATE, resampler, err);
    audio_wave_close(&wave);
    return status;
}

static enum status command_dataset_fill(const struct plan *plan, const char *folder, struct error *err)
{
    char raw[SETTINGS_TEXT + 64], path[2 * SETTINGS_TEXT], name[AUDIO_NAME];
    struct audio_resampler *resampler = NULL;
    enum status status = STATUS_OK;
    (void)snprintf(raw, sizeof raw, "%s/spoken.tmp", folder);
    for (size_t v = 0; !status && v < plan->voices; v++) {
        file_voice(voices[v], name, sizeof name);
        for (size_t i = 0; !status && i < plan->takes * DIGITS; i++) {
            size_t take = i / DIGITS, digit = i % DIGITS;
            (void)snprintf(path, sizeof path, "%s/%zu_%s_%zu.wav", folder, digit, name, take);
            status = speak(voices[v], take, words[digit], raw, err);
            if (!status && resampler == NULL)
                status = make_resampler(raw, &resampler, err);
            if (!status)
                status = polish(resampler, raw, path, err);
        }
        if (isatty(STDERR_FILENO))
            (void)fprintf(stderr, "\r%zu of %zu voices", v + 1, plan->voices);
    }
    if (isatty(STDERR_FILENO))
        (void)fputc('\n', stderr);
    (void)unlink(raw);
    audio_resampler_destroy(resampler);
    return status;
}

/* Checks that all voices are installed. If espeak-ng does not have a voice, it uses another one without an error, so
 * two equal recordings mean that a voice is missing. */
static enum status command_dataset_check(const char *folder, struct error *err)
{
    struct audio_corpus *corpus = NULL;
    enum status status = audio_corpus_load(folder, AUDIO_RATE, &corpus, err);
    if (status)
        return status;
    int speakers = audio_corpus_speakers(corpus);
    for (int a = 0; !status && a < speakers; a++) {
        for (int b = 0; !status && b < a; b++) {
            const struct audio_clip *x, *y;
            (void)audio_corpus_takes(corpus, a, 0, &x);
            (void)audio_corpus_takes(corpus, b, 0, &y);
            if (x->length == y->length && memcmp(x->samples, y->samples, (size_t)x->length * sizeof(float)) == 0) {
                status = error_set(err, STATUS_INVALID, NULL,
                                   "the voices %s and %s are the same: this espeak-ng lacks one of them",
                                   audio_corpus_speaker(corpus, a), audio_corpus_speaker(corpus, b));
            }
        }
    }
    if (!status) {
        (void)printf("%d recordings of %d voices, %d to train and %d to test\n", audio_corpus_clips(corpus), speakers,
                     audio_corpus_training_speakers(corpus), speakers - audio_corpus_training_speakers(corpus));
    }
    audio_corpus_destroy(corpus);
    return status;
}

static void command_dataset_empty(const char *folder)
{
    char path[2 * SETTINGS_TEXT], name[AUDIO_NAME];
    for (size_t i = 0; i < (size_t)VOICES * TAKES * DIGITS; i++) {
        file_voice(voices[i / (TAKES * DIGITS)], name, sizeof name);
        (void)snprintf(path, sizeof path, "%s/%zu_%s_%zu.wav", folder, i % DIGITS, name, i / DIGITS % TAKES);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static enum status make_set(const struct plan *plan, struct error *err)
{
    char partial[SETTINGS_TEXT + 48];
    (void)snprintf(partial, sizeof partial, "%s.partial", plan->folder);
    if (mkdir(partial, 0777) != 0 && errno != EEXIST)
        return error_set(err, STATUS_IO, NULL, "cannot make the folder %.80s: %s", partial, strerror(errno));
    enum status status = command_dataset_fill(plan, partial, err);
    if (!status)
        status = command_dataset_check(partial, err);
    if (!status && rename(partial, plan->folder) != 0)
        status = error_set(err, STATUS_IO, NULL, "cannot rename %.80s: %s", partial, strerror(errno));
    if (status)
        command_dataset_empty(partial);
    return status;
}

/* Fills the plan from the options, and writes the path of the folder to `folder`. */
static enum status read_plan(const struct options *given, struct plan *plan, char *folder, size_t folder_bytes,
                             struct error *err)
{
    const char *named = getenv("MOTIFD_DATA"), *out = options_value(given, "out"), *data = options_value(given, "data");
    long long voice_count = 0, take_count = 0;
    if (data == NULL)
        data = named != NULL && named[0] != '\0' ? named : SETTINGS_DATA;
    if (strcmp(given->positional[0], "audio") != 0)
        return error_set(err, STATUS_INVALID, NULL, "%.40s is not a data set: use audio", given->positional[0]);
    if (options_integer(given, "voices", &voice_count, err) || options_integer(given, "takes", &take_count, err))
        return STATUS_INVALID;
    if (strlen(out != NULL ? out : data) >= SETTINGS_TEXT)
        return error_set(err, STATUS_INVALID, NULL, "the folder's name must be shorter than %d bytes", SETTINGS_TEXT);
    plan->voices = (size_t)voice_count;
    plan->takes = (size_t)take_count;
    if (out == NULL)
        (void)mkdir(data, 0777); /* if this fails, the next mkdir() fails too, and its error is reported */
    (void)snprintf(folder, folder_bytes, "%s%s", out != NULL ? out : data, out != NULL ? "" : "/" NAME);
    plan->folder = folder;
    return STATUS_OK;
}

int command_dataset(int argc, char **argv)
{
    char folder[SETTINGS_TEXT + 32];
    struct plan plan = {0};
    struct options given;
    struct error err = {0};
    struct stat there;
    int code;
    if (!command_read(&usage, argc, argv, &given, &code))
        return code;
    if (read_plan(&given, &plan, folder, sizeof folder, &err))
        return command_misused(&usage, err.message);
    if (stat(folder, &there) == 0) {
        (void)printf("%s exists already\n", folder);
        return EXIT_OK;
    }
    if (make_set(&plan, &err)) {
        (void)fprintf(stderr, "motifd dataset: %s\n", err.message);
        return EXIT_FAULT;
    }
    (void)printf("%s\n", folder);
    return EXIT_OK;
}
