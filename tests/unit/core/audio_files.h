/* Functions with which the tests of audio write recordings into a folder of their own. Include it after cmocka.h. */
#ifndef MOTIF_TESTS_UNIT_CORE_AUDIO_FILES_H
#define MOTIF_TESTS_UNIT_CORE_AUDIO_FILES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/formats/audio_wave.h"

#define PI 3.14159265358979323846
#define RATE 8000

static char folder[] = "/tmp/motifd-audio-XXXXXX";

static inline int make_folder(void **state)
{
    return mkdtemp(folder) == NULL;
}

static inline int remove_folder(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static inline const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline struct audio_wave tone(int rate, int count, double frequency, double height)
{
    struct audio_wave wave = {.rate = rate, .count = count, .samples = malloc((size_t)count * sizeof(float))};
    assert_non_null(wave.samples);
    for (int i = 0; i < count; i++)
        wave.samples[i] = (float)(height * sin(2 * PI * frequency * i / rate));
    return wave;
}

static inline void put_tone(const char *name, int rate, int count, double frequency)
{
    struct audio_wave wave = tone(rate, count, frequency, 0.5);
    assert_int_equal(audio_wave_write(in_folder(name), &wave, NULL), STATUS_OK);
    audio_wave_close(&wave);
}

static inline void put_bytes(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

#endif
