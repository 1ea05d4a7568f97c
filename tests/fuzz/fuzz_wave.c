/* Fuzz target of recordings from clients. The samples of an accepted recording must be finite. Resampling must fail
 * with an error, or give as many samples as the resampler announced. Trimming must not make the recording longer. If
 * the size of the input is a multiple of eight, the target also writes the recording to a file and reads it again.
 * The samples must then be the same, limited to [-1, 1] and rounded to 16 bits. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/formats/audio_wave.h"

#define FORMAT(kind, channels, bytes_a_frame, bits)                                                                    \
    "fmt \x10\0\0\0" kind "\0" channels "\0\x40\x1f\0\0\x80\x3e\0\0" bytes_a_frame "\0" bits "\0"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("RIFF\x2c\0\0\0WAVE" FORMAT("\1", "\1", "\2", "\x10") "data\x08\0\0\0\0\0\0\x10\0\x20\0\xf0"),
    FUZZ_SEED("RIFF\x28\0\0\0WAVE" FORMAT("\1", "\2", "\2", "\x08") "data\x04\0\0\0\x80\x90\x70\x80"),
    FUZZ_SEED("RIFF\x2c\0\0\0WAVE" FORMAT("\3", "\1", "\4", "\x20") "data\x08\0\0\0\0\0\0\x3f\0\0\0\xbf"),
    FUZZ_SEED("RIFF\x28\0\0\0WAVE" FORMAT("\7", "\1", "\1", "\x08") "data\x04\0\0\0\x01\x7f\x80\xff"),
    FUZZ_SEED("RF64\xff\xff\xff\xffWAVE"
              "ds64\x1c\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" FORMAT(
                  "\1", "\1", "\2", "\x10") "data\xff\xff\xff\xff\0\0\0\x10"),
    FUZZ_SEED("RIFX\0\0\0\x28WAVEfmt \0\0\0\x10\0\1\0\1\0\0\x1f\x40\0\0\x3e\x80\0\2\0\x10"
              "data\0\0\0\4\x12\x34\x56\x78"),
    FUZZ_SEED("RIFF\x3c\0\0\0WAVELIST\x08\0\0\0INFOISFT" FORMAT("\1", "\1", "\3", "\x18") "data\x06\0\0\0\1\2\3\4\5\6"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static void check_again(const struct audio_wave *wave)
{
    char path[32];
    struct audio_wave again;
    int file = memfd_create("wave", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    FUZZ_CHECK(audio_wave_write(path, wave, NULL) == STATUS_OK && audio_wave_read(path, &again, NULL) == STATUS_OK);
    FUZZ_CHECK(again.rate == wave->rate && again.count == wave->count);
    for (int i = 0; i < wave->count; i++)
        FUZZ_CHECK(fabsf(again.samples[i] - fmaxf(-1, fminf(1, wave->samples[i]))) < 1.0F / 16384);
    audio_wave_close(&again);
    (void)close(file);
    FUZZ_CHECK(audio_wave_read(path, &again, NULL) == STATUS_NOT_FOUND && again.samples == NULL);
    FUZZ_CHECK(audio_wave_write("/proc/self/none", wave, NULL) == STATUS_IO);
}

static void check_ends(struct audio_wave *wave)
{
    int count = wave->count;
    audio_wave_trim(wave, 1e-3, 0.01);
    FUZZ_CHECK(wave->count >= 0 && wave->count <= count);
    count = wave->count;
    if (audio_wave_pad(wave, 0.001, NULL) == STATUS_OK) {
        int each = (wave->count - count) / 2;
        FUZZ_CHECK(wave->count == count + 2 * each &&
                   (each == 0 || (wave->samples[0] == 0 && wave->samples[wave->count - 1] == 0)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct audio_wave wave;
    struct audio_resampler *resampler = NULL;
    struct error err = {0};
    enum status status = audio_wave_decode(data, size, &wave, &err);
    FUZZ_CHECK(status == err.code);
    FUZZ_CHECK((status == STATUS_OK) == (wave.samples != NULL));
    if (status != STATUS_OK)
        return 0;
    FUZZ_CHECK(wave.rate > 0 && wave.rate <= AUDIO_WAVE_RATES && wave.count >= 0 && wave.count <= AUDIO_WAVE_DECODED);
    for (int i = 0; i < wave.count; i++)
        FUZZ_CHECK(isfinite(wave.samples[i]));
    if (size % 8 == 0)
        check_again(&wave);
    if (wave.rate % 1000 == 0 && audio_resampler_create(wave.rate, AUDIO_RATE, &resampler, NULL) == STATUS_OK) {
        int64_t length = audio_resampler_length(resampler, wave.count);
        if (audio_wave_resample(resampler, &wave, AUDIO_WAVE_FRAMES, NULL) == STATUS_OK)
            FUZZ_CHECK(wave.rate == AUDIO_RATE && wave.count == length);
        audio_resampler_destroy(resampler);
    }
    check_ends(&wave);
    audio_wave_close(&wave);
    return 0;
}
