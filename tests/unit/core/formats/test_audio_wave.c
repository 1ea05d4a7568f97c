/* Tests which recordings are read and which are refused, and compares resampling with double precision. The test makes
 * every recording itself. */
#include <math.h>
#include <sndfile.h>
#include <time.h>

#include "tests/support/unit.h"
#include "tests/unit/core/audio_files.h"

/* ---- files ------------------------------------------------------------------------------------ */

/* Writes a RIFF file of 16-bit samples byte by byte. */
static size_t riff(unsigned char *out, int rate, int channels, const int16_t *samples, int values)
{
    const uint32_t data = (uint32_t)values * 2, bytes = 36 + data, per_second = (uint32_t)(rate * channels * 2);
    const uint32_t rate32 = (uint32_t)rate, sixteen = 16;
    const uint16_t pcm = 1, count = (uint16_t)channels, frame = (uint16_t)(channels * 2), bits = 16;
    memcpy(out, "RIFF", 4);
    memcpy(out + 4, &bytes, 4);
    memcpy(out + 8, "WAVEfmt ", 8);
    memcpy(out + 16, &sixteen, 4);
    memcpy(out + 20, &pcm, 2);
    memcpy(out + 22, &count, 2);
    memcpy(out + 24, &rate32, 4);
    memcpy(out + 28, &per_second, 4);
    memcpy(out + 32, &frame, 2);
    memcpy(out + 34, &bits, 2);
    memcpy(out + 36, "data", 4);
    memcpy(out + 40, &data, 4);
    memcpy(out + 44, samples, data);
    return 44 + data;
}

static void recordings_are_read(void **state)
{
    const int16_t mono[4] = {0, 16384, -32768, 32767}, stereo[4] = {8192, 24576, -16384, 16384};
    unsigned char bytes[64];
    struct audio_wave wave;
    put_bytes("mono.wav", bytes, riff(bytes, 48000, 1, mono, 4));
    assert_int_equal(audio_wave_read(in_folder("mono.wav"), &wave, NULL), STATUS_OK);
    assert_int_equal(wave.rate, 48000);
    assert_int_equal(wave.count, 4);
    for (int i = 0; i < 4; i++)
        assert_true(wave.samples[i] == (float)mono[i] / 32768.0F);
    audio_wave_close(&wave);

    assert_int_equal(audio_wave_decode(bytes, riff(bytes, 8000, 2, stereo, 4), &wave, NULL), STATUS_OK);
    assert_int_equal(wave.count, 2);
    assert_true(wave.samples[0] == 0.5F && wave.samples[1] == 0.0F);
    audio_wave_close(&wave);
}

/* Decodes a recording and compares its samples with 1000, 1001, ... */
static void decodes(const void *bytes, size_t size, int count, bool cut)
{
    struct audio_wave wave;
    struct error err = {0};
    if (audio_wave_decode(bytes, size, &wave, &err))
        fail_msg("%s", err.message);
    assert_int_equal(wave.count, count);
    assert_int_equal(wave.cut, cut);
    for (int i = 0; i < count; i++)
        assert_true(wave.samples[i] == (float)(1000 + i) / 32768.0F);
    audio_wave_close(&wave);
}

static void every_kind_of_wav_file_is_read(void **state)
{
    enum { COUNT = 8, HEAD = 44, LONG = 36 };
    static const char ds64[LONG] = "ds64\x1c\0\0\0\0\0\0\0\0\0\0\0\x10"; /* 28 bytes; 16 bytes of samples */
    unsigned char plain[HEAD + 2 * COUNT], other[HEAD + LONG + 2 * COUNT];
    int16_t samples[COUNT];
    for (int i = 0; i < COUNT; i++)
        samples[i] = (int16_t)(1000 + i);
    size_t size = riff(plain, 8000, 1, samples, COUNT);
    decodes(plain, size, COUNT, false);

    for (int kind = 0; kind < 2; kind++) { /* sizes of 64 bits */
        memcpy(other, plain, 12);
        memcpy(other, kind ? "BW64\xFF\xFF\xFF\xFF" : "RF64\xFF\xFF\xFF\xFF", 8);
        memcpy(other + 12, ds64, LONG);
        memcpy(other + 12 + LONG, plain + 12, size - 12);
        memset(other + HEAD + LONG - 4, 0xFF, 4);
        decodes(other, HEAD + LONG + 2 * COUNT, COUNT, false);
        decodes(other, HEAD + LONG + 2 * COUNT - 6, COUNT - 3, true);
    }

    memcpy(other, plain, size); /* big-endian */
    memcpy(other, "RIFX", 4);
    static const int sizes[][2] = {{4, 4}, {16, 4}, {20, 2}, {22, 2}, {24, 4}, {28, 4}, {32, 2}, {34, 2}, {40, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int k = 0; k < sizes[i][1]; k++)
            other[sizes[i][0] + k] = plain[sizes[i][0] + sizes[i][1] - 1 - k];
    for (int i = 0; i < 2 * COUNT; i++)
        other[HEAD + i] = plain[HEAD + (i ^ 1)];
    decodes(other, size, COUNT, false);

    decodes(plain, size - 2, COUNT - 1, true);      /* a copy that ends early */
    for (int unknown = 0; unknown < 2; unknown++) { /* an encoder that streams */
        memset(plain + 40, unknown ? 0xFF : 0, 4);
        decodes(plain, size, COUNT, false);
    }
}

/* GSM 6.10 has blocks of 320 samples; libsndfile counts one too many where the last one ends at an odd byte. */
static void gsm_has_the_blocks_of_its_file(void **state)
{
    enum { COUNT = 700, BLOCKS = 3 };
    SF_INFO info = {.samplerate = 8000, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_GSM610};
    SNDFILE *file = sf_open(in_folder("gsm.wav"), SFM_WRITE, &info);
    struct audio_wave wave = tone(8000, COUNT, 440, 0.5), read;
    char bytes[1024];
    assert_non_null(file);
    assert_int_equal(sf_writef_float(file, wave.samples, COUNT), COUNT);
    assert_int_equal(sf_close(file), 0);
    FILE *written = fopen(in_folder("gsm.wav"), "rb");
    assert_non_null(written);
    size_t size = fread(bytes, 1, sizeof bytes, written);
    assert_int_equal(fclose(written), 0);
    assert_int_equal(audio_wave_decode(bytes, size, &read, NULL), STATUS_OK);
    assert_int_equal(read.count, 320 * BLOCKS);
    for (int i = 200; i < COUNT; i++)
        assert_true(fabsf(read.samples[i] - wave.samples[i]) < 0.15F);
    audio_wave_close(&read);
    audio_wave_close(&wave);
}

static void a_written_recording_is_read_back(void **state)
{
    struct audio_wave wave = tone(RATE, 1000, 440, 1.5), back; /* a tone with an amplitude of 1.5 is clipped */
    assert_int_equal(audio_wave_write(in_folder("back.wav"), &wave, NULL), STATUS_OK);
    assert_int_equal(audio_wave_read(in_folder("back.wav"), &back, NULL), STATUS_OK);
    assert_int_equal(back.rate, RATE);
    assert_int_equal(back.count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_true(fabsf(back.samples[i] - fmaxf(-1, fminf(1, wave.samples[i]))) <= 1.01F / 32768);
    audio_wave_close(&wave);
    audio_wave_close(&back);
}

static void files_that_are_no_recordings_are_refused(void **state)
{
    struct error err = {0};
    struct audio_wave wave;
    assert_int_equal(audio_wave_read(in_folder("none.wav"), &wave, &err), STATUS_NOT_FOUND);
    assert_null(strstr(err.message, folder)); /* messages contain no path */
    assert_null(wave.samples);
    put_bytes("text.wav", "not a recording at all", 22);
    assert_int_equal(audio_wave_read(in_folder("text.wav"), &wave, NULL), STATUS_CORRUPT);
    assert_int_equal(audio_wave_decode("RIFF", 4, &wave, NULL), STATUS_CORRUPT);
    assert_int_equal(audio_wave_decode("", 0, &wave, NULL), STATUS_CORRUPT);
    /* a valid AU file, which audio_wave_read() accepts and audio_wave_decode() refuses */
    static const char other[] = ".snd\0\0\0\30\0\0\0\2\0\0\0\1\0\0\37\100\0\0\0\1ab";
    put_bytes("other.au", other, sizeof other - 1);
    assert_int_equal(audio_wave_read(in_folder("other.au"), &wave, NULL), STATUS_OK);
    audio_wave_close(&wave);
    assert_int_equal(audio_wave_decode(other, sizeof other - 1, &wave, NULL), STATUS_CORRUPT);
}

static void damaged_recordings_never_break_the_reader(void **state)
{
    int16_t samples[16];
    unsigned char whole[128], bytes[128];
    uint32_t word = 12345;
    for (int i = 0; i < 16; i++)
        samples[i] = (int16_t)(i * 1000);
    size_t count = riff(whole, RATE, 1, samples, 16);
    for (int round = 0; round < 4000; round++) {
        struct audio_wave wave;
        memcpy(bytes, whole, count);
        for (int i = 0; i < 3; i++) {
            word = word * 1664525U + 1013904223U;
            bytes[(word >> 8) % count] = (unsigned char)(word >> 24);
        }
        if (audio_wave_decode(bytes, round % 2 ? count : (word >> 10) % count, &wave, NULL) == STATUS_OK) {
            assert_true(wave.rate > 0 && wave.count >= 0);
            audio_wave_close(&wave);
        }
    }
}

static void silence_at_the_ends_is_removed(void **state)
{
    struct audio_wave wave = tone(RATE, 8000, 500, 0.5);
    memset(wave.samples, 0, 2000 * sizeof(float));
    memset(wave.samples + 6000, 0, 2000 * sizeof(float));
    audio_wave_trim(&wave, 1e-4, 0.02);
    assert_int_equal(wave.count, 4000 + 2 * 160);
    assert_true(wave.samples[0] == 0 && wave.samples[159] == 0 && fabsf(wave.samples[165]) > 0.01F);
    assert_int_equal(audio_wave_pad(&wave, 0.04, NULL), STATUS_OK);
    assert_int_equal(wave.count, 4000 + 2 * 160 + 2 * 320);
    assert_true(wave.samples[0] == 0 && wave.samples[wave.count - 1] == 0 && fabsf(wave.samples[320 + 165]) > 0.01F);
    audio_wave_close(&wave);

    struct audio_wave still = {.rate = RATE, .count = 400, .samples = calloc(400, sizeof(float))};
    audio_wave_trim(&still, 1e-4, 0);
    assert_int_equal(still.count, 400); /* a silent recording is not trimmed */
    audio_wave_close(&still);
}

/* ---- change of rate --------------------------------------------------------------------------- */

static const int rates[] = {48000, 44100, 22050, 16000, 11025, 8000, 4000};

/* Away from its ends, a tone below the cut-off keeps its frequency and amplitude. */
static void tones_keep_frequency_and_amplitude(void **state)
{
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        struct audio_resampler *resampler = NULL;
        struct audio_wave wave = tone(rates[r], rates[r], 1000, 0.5);
        assert_int_equal(audio_resampler_create(rates[r], RATE, &resampler, NULL), STATUS_OK);
        assert_int_equal(audio_wave_resample(resampler, &wave, AUDIO_WAVE_FRAMES, NULL), STATUS_OK);
        assert_int_equal(wave.rate, RATE);
        assert_int_equal(wave.count, RATE);
        double worst = 0;
        for (int i = 300; i < wave.count - 300; i++)
            worst = fmax(worst, fabs(wave.samples[i] - 0.5 * sin(2 * PI * 1000 * i / RATE)));
        assert_true(worst < 2e-6);
        audio_wave_close(&wave);
        audio_resampler_destroy(resampler);
    }
}

/* Frequencies that the lower rate cannot represent are removed instead of aliased. */
static void tones_above_the_cut_off_are_removed(void **state)
{
    struct audio_resampler *resampler = NULL;
    struct audio_wave wave = tone(48000, 48000, 4300, 0.5);
    assert_int_equal(audio_resampler_create(48000, RATE, &resampler, NULL), STATUS_OK);
    assert_int_equal(audio_wave_resample(resampler, &wave, AUDIO_WAVE_FRAMES, NULL), STATUS_OK);
    for (int i = 300; i < wave.count - 300; i++)
        assert_true(fabsf(wave.samples[i]) < 1e-5F);
    audio_wave_close(&wave);
    audio_resampler_destroy(resampler);
}

/* For a recording of a few samples at an unusual rate, the resampler must not compute a filter of millions of weights.
 * With such a filter, a hundred of these recordings would take a minute. */
static void short_recordings_are_resampled_quickly(void **state)
{
    double began = (double)clock() / CLOCKS_PER_SEC;
    for (int i = 0; i < 100; i++) {
        struct audio_resampler *resampler = NULL;
        struct audio_wave wave = tone(8 * 12007, 3, 1000, 0.5);
        assert_int_equal(audio_resampler_create(wave.rate, 8 * 4093, &resampler, NULL), STATUS_OK);
        assert_int_equal(audio_wave_resample(resampler, &wave, AUDIO_WAVE_FRAMES, NULL), STATUS_OK);
        assert_int_equal(wave.count, 2);
        audio_wave_close(&wave);
        audio_resampler_destroy(resampler);
    }
    assert_true((double)clock() / CLOCKS_PER_SEC - began < 5);
}

#define RIFF "RIFF\0\0\0\0WAVE"
#define FORMAT "fmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0"
#define FOUR "\0\x10\0\x20\0\x30\0\x40" /* four 16-bit samples: an eighth, a quarter, three eighths, a half */

/* The reader uses only the chunks "fmt " and "data". (libsndfile needed minutes for a file with a LIST chunk that
 * claims four gigabytes.) */
static void other_chunks_are_ignored(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        int samples; /* expected number of samples; -1: the file is refused */
    } files[] = {
        {RIFF FORMAT "data\x08\0\0\0" FOUR, 52, 4},
        {RIFF "LIST\3\0\0\0abc\0" FORMAT "fact\4\0\0\0\4\0\0\0data\x08\0\0\0" FOUR "LIST\xff\xff\xff\xff", 84, 4},
        {RIFF FORMAT "data\0\0\0\0" FOUR, 52, 4},
        {RIFF FORMAT "data\xff\xff\xff\xff" FOUR, 52, 4},
        {RIFF FORMAT "data\4\0\0\0" FOUR, 52, 2},
        {RIFF "LIST\x08\0\xff\xffINFOISFT" FORMAT "data\x08\0\0\0" FOUR, 68, -1},
        {RIFF FORMAT FORMAT "data\x08\0\0\0" FOUR, 76, -1},
        {RIFF "data\x08\0\0\0" FOUR FORMAT, 52, -1},
        {RIFF FORMAT, 36, -1},
        {RIFF "fmt \xa0\0\0\0", 20, -1},
    };
    double began = (double)clock() / CLOCKS_PER_SEC;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct audio_wave wave;
        struct error err = {0};
        enum status status = audio_wave_decode(files[i].bytes, files[i].count, &wave, &err);
        assert_int_equal(status, files[i].samples < 0 ? STATUS_CORRUPT : STATUS_OK);
        assert_int_equal(wave.count, files[i].samples < 0 ? 0 : files[i].samples);
        for (int k = 0; k < wave.count; k++)
            assert_true(wave.samples[k] == 0.125F * (float)(k + 1));
        audio_wave_close(&wave);
    }
    assert_true((double)clock() / CLOCKS_PER_SEC - began < 5);
}

/* In this file of 219 bytes, the samples are an odd number of bytes, no padding byte follows them, and they contain
 * bytes that look like chunks. libsndfile took them for chunks and needed hours. */
static void samples_of_odd_length_end_the_file(void **state)
{
    enum { HEAD = 44, SAMPLES = 175 };
    static const char head[] =
        RIFF "fmt \x10\0\0\0\7\0\1\0\x41\x1f\0\0\x80\x3e\x01\x1d\1\0\x08\0data\x32\x41\x16\x45LIST\0\1";
    static const char tail[] = "\x29\x08\0datA\x16\x1d\1R";
    char file[HEAD + SAMPLES];
    struct audio_wave wave;
    double began = (double)clock() / CLOCKS_PER_SEC;
    memset(file, 0xff, sizeof file);
    memcpy(file, head, sizeof head - 1);
    file[HEAD + 36] = '\xf8';
    memset(file + HEAD + 40, 0, 87);
    file[HEAD + 149] = '\x3a';
    memcpy(file + sizeof file - (sizeof tail - 1), tail, sizeof tail - 1);
    assert_int_equal(audio_wave_decode(file, sizeof file, &wave, NULL), STATUS_OK);
    assert_int_equal(wave.count, SAMPLES);
    audio_wave_close(&wave);
    assert_true((double)clock() / CLOCKS_PER_SEC - began < 5);
}

/* Resamples noise for several pairs of rates. Compares output samples with the definition: the sum of all input
 * samples, each multiplied by the windowed sinc. */
static void resampling_is_the_windowed_sinc(void **state)
{
    static const int pairs[][2] = {{48000, 8000}, {22050, 8000}, {8000, 11025}, {7, 5}, {5, 7}, {8000, 8000}};
    struct audio_wave noise = {.rate = 1, .count = 700, .samples = malloc(700 * sizeof(float))};
    uint32_t word = 1;
    for (int i = 0; i < noise.count; i++) {
        word = word * 1664525U + 1013904223U;
        noise.samples[i] = (float)(word >> 8) / 8388608.0F - 1.0F;
    }
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        struct audio_resampler *resampler = NULL;
        float out[2000];
        assert_int_equal(audio_resampler_create(pairs[p][0], pairs[p][1], &resampler, NULL), STATUS_OK);
        int length = (int)audio_resampler_length(resampler, noise.count);
        assert_int_equal(length, (int)ceil(700.0 * pairs[p][1] / pairs[p][0]));
        audio_resample(resampler, noise.samples, noise.count, out);
        double scale = fmin(1, (double)pairs[p][1] / pairs[p][0]);
        for (int j = 0; j < length; j += 7) {
            double sum = 0;
            for (int i = 0; i < noise.count; i++) {
                double t = scale * ((double)j * pairs[p][0] / pairs[p][1] - i), u = t / 64, w = 0, top = 0, term = 1;
                if (fabs(u) >= 1)
                    continue;
                /* computes the Bessel functions I0(beta sqrt(1 - u^2)) and I0(beta) by their series */
                for (int k = 0; k < 60; k++) {
                    w += term * pow(1 - u * u, k);
                    top += term;
                    term *= pow(14.769656459379492 / 2 / (k + 1), 2);
                }
                double x = PI * 0.9475937167399596 * t;
                sum += scale * 0.9475937167399596 * (t == 0 ? 1 : sin(x) / x) * w / top * (double)noise.samples[i];
            }
            assert_true(fabs(sum - out[j]) < 2e-6);
        }
        audio_resampler_destroy(resampler);
    }
    audio_wave_close(&noise);
}

static void impossible_rates_are_refused(void **state)
{
    struct audio_resampler *resampler = NULL;
    struct audio_wave wave = tone(RATE, 8, 100, 1);
    assert_int_equal(audio_resampler_create(0, 8000, &resampler, NULL), STATUS_INVALID);
    assert_int_equal(audio_resampler_create(8000, -1, &resampler, NULL), STATUS_INVALID);
    assert_int_equal(audio_resampler_create(44101, 8000, &resampler, NULL), STATUS_LIMIT);
    assert_int_equal(audio_resampler_create(16000, 8000, &resampler, NULL), STATUS_OK);
    assert_int_equal(audio_wave_resample(resampler, &wave, AUDIO_WAVE_FRAMES, NULL), STATUS_INVALID);
    audio_resampler_destroy(resampler);
    audio_wave_close(&wave);

    /* at the requested rate, the recording would become 20 million samples */
    wave = (struct audio_wave){.rate = 2, .count = 5000, .samples = calloc(5000, sizeof(float))};
    assert_int_equal(audio_resampler_create(2, 8000, &resampler, NULL), STATUS_OK);
    assert_int_equal(audio_wave_resample(resampler, &wave, 1LL << 40, NULL), STATUS_LIMIT);
    wave.count = 10;
    assert_int_equal(audio_wave_resample(resampler, &wave, 39999, NULL), STATUS_LIMIT);
    assert_true(wave.rate == 2 && wave.count == 10);
    assert_int_equal(audio_wave_resample(resampler, &wave, 40000, NULL), STATUS_OK);
    assert_int_equal(wave.count, 40000);
    audio_resampler_destroy(resampler);
    audio_wave_close(&wave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordings_are_read),
        cmocka_unit_test(every_kind_of_wav_file_is_read),
        cmocka_unit_test(gsm_has_the_blocks_of_its_file),
        cmocka_unit_test(a_written_recording_is_read_back),
        cmocka_unit_test(files_that_are_no_recordings_are_refused),
        cmocka_unit_test(damaged_recordings_never_break_the_reader),
        cmocka_unit_test(silence_at_the_ends_is_removed),
        cmocka_unit_test(tones_keep_frequency_and_amplitude),
        cmocka_unit_test(tones_above_the_cut_off_are_removed),
        cmocka_unit_test(short_recordings_are_resampled_quickly),
        cmocka_unit_test(other_chunks_are_ignored),
        cmocka_unit_test(samples_of_odd_length_end_the_file),
        cmocka_unit_test(resampling_is_the_windowed_sinc),
        cmocka_unit_test(impossible_rates_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
