/* Tests the sampling rates of uploaded recordings: which rate an archive gets, what is warned about, and the stored
 * form. */
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/collection.h"
#include "core/data/files/input_file.h"
#include "core/formats/audio_wave.h"
#include "tests/support/archive_add.h"
#include "tests/support/fault.h"

enum { COUNT = 4410 };
static const double TURN = 6.283185307179586;
static char packed[1 << 18];
static size_t packed_size;
static struct error err;

static double tone(double hertz, int rate, int i)
{
    return 0.5 * sin(TURN * hertz * i / rate);
}

/* Writes a WAV file of a tone with 16 bits, and returns its size. The second channel is silent. */
static size_t wav(char *to, int rate, int count, double hertz, int channels)
{
    const int32_t bytes = count * 2 * channels;
    const struct {
        char riff[4];
        int32_t size;
        char wave[8];
        int32_t format_bytes;
        int16_t format, channels;
        int32_t rate, rate_bytes;
        int16_t frame, bits;
        char data[4];
        int32_t data_bytes;
    } head = {
        "RIFF", 36 + bytes, "WAVEfmt ", 16, 1, (int16_t)channels, rate, rate * 2 * channels, (int16_t)(2 * channels),
        16,     "data",     bytes};
    memcpy(to, &head, sizeof head);
    for (int i = 0; i < count; i++) {
        int16_t value[2] = {(int16_t)lrint(32768 * tone(hertz, rate, i)), 0};
        memcpy(to + sizeof head + (size_t)(i * channels) * 2, value, (size_t)channels * 2);
    }
    return sizeof head + (size_t)bytes;
}

struct recording {
    int rate, channels;
    double hertz;
};

/* Reads an archive of recordings of a tenth of a second, whose boxes are their second quarters. */
static enum status read_recordings(const struct recording *of, int count, struct collection_options options,
                                   int64_t bytes, struct collection *c)
{
    static char file[1 << 16];
    char name[16], labels[256] = "file,label\n", boxes[256] = "file,begin,end,symbol\n";
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &packed_size), ARCHIVE_OK);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%d.wav", i);
        archive_add(a, name, file, wav(file, of[i].rate, of[i].rate / 10, of[i].hertz, of[i].channels));
        snprintf(labels + strlen(labels), 32, "%d.wav,a\n", i);
        snprintf(boxes + strlen(boxes), 32, "%d.wav,0.025,0.05,a\n", i);
    }
    archive_add(a, "labels.csv", labels, strlen(labels));
    archive_add(a, "boxes.csv", boxes, strlen(boxes));
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    struct byte_source_memory memory = {(unsigned char *)packed, packed_size, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection_limits limits = COLLECTION_LIMITS;
    limits.bytes = bytes;
    err = (struct error){0};
    return collection_read(collection_format_named("tar"), &from, &options, &limits, c, &err);
}

static struct collection_options with_rate(int rate)
{
    struct collection_options options = {.store = NULL};
    collection_options_clear(&options);
    options.rate = rate;
    options.stated = rate > 0 ? OPTION_RATE : 0;
    return options;
}

static const char *warning(const struct collection *c, const char *code)
{
    for (int i = 0; i < c->warnings; i++)
        if (strcmp(c->warning[i].code, code) == 0)
            return c->warning[i].text;
    return NULL;
}

static float loudest(const struct collection *c, int64_t sample)
{
    float most = 0;
    for (int64_t i = collection_begin(c, sample) + 200; i < collection_begin(c, sample + 1) - 200; i++)
        most = fmaxf(most, fabsf(collection_value(c, i)));
    return most;
}

static void recordings_keep_the_rate_of_their_files(void **state)
{
    static const struct recording calls[] = {{44100, 1, 6500}, {44100, 1, 9500}};
    struct collection c;
    assert_int_equal(read_recordings(calls, 2, with_rate(0), 1 << 20, &c), STATUS_OK);
    assert_true(c.rate == 44100 && c.cols == COUNT && !warning(&c, "resampled") && !warning(&c, "mixed-channels"));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < COUNT; i++)
            assert_true(collection_value(&c, k * COUNT + i) ==
                        (float)lrint(32768 * tone(calls[k].hertz, 44100, i)) / 32768.0F);
    assert_true(c.box[1][3] == 1102 && c.box[1][4] == 2205); /* 0.025 s and 0.05 s */
    collection_close(&c);
}

static void recordings_of_several_rates_get_the_lowest_one(void **state)
{
    static const struct recording calls[] = {{48000, 1, 3000}, {22050, 1, 3000}, {44100, 2, 3000}};
    struct collection c;
    assert_int_equal(read_recordings(calls, 3, with_rate(0), 1 << 20, &c), STATUS_OK);
    assert_int_equal(c.rate, 22050);
    const char *text = warning(&c, "resampled");
    assert_true(text && strstr(text, "22050 to 48000 Hz; 2 of 3 recordings were resampled to 22050 Hz"));
    assert_non_null(strstr(warning(&c, "mixed-channels"), "1 of 3 recordings (the first: 2.wav)"));
    for (int k = 0; k < 3; k++) { /* the mean of a tone and silence is half of the tone */
        assert_true(collection_length(&c, k) == 2205 && c.box[k][4] == 1102);
        assert_true(fabs((double)loudest(&c, k) - (k == 2 ? 0.25 : 0.5)) < 0.01);
    }
    collection_close(&c);
}

static void the_rate_of_the_upload_wins(void **state)
{
    static const struct recording calls[] = {{44100, 1, 9500}, {44100, 1, 1000}};
    struct collection c;
    assert_int_equal(read_recordings(calls, 2, with_rate(8000), 1 << 20, &c), STATUS_OK);
    assert_true(c.rate == 8000 && c.cols == 800 && loudest(&c, 0) < 1e-3F && loudest(&c, 1) > 0.49F);
    assert_non_null(strstr(warning(&c, "resampled"), "Sounds above half of this rate are gone"));
    assert_false(c.implied & OPTION_RATE);
    collection_close(&c);
    assert_int_equal(read_recordings(calls, 2, with_rate(44100), 1 << 20, &c), STATUS_OK);
    assert_true(c.cols == COUNT && c.implied & OPTION_RATE && !warning(&c, "resampled"));
    collection_close(&c);
    assert_int_equal(read_recordings(calls, 2, with_rate(44101), 1 << 20, &c), STATUS_LIMIT);
    assert_non_null(strstr(err.message, "choose another rate with the option rate"));
    assert_int_equal(read_recordings(calls, 2, with_rate(0), 20000, &c), STATUS_LIMIT);
    assert_non_null(strstr(err.message, "(0.1 s, 17640 bytes of samples), the samples at 44100 Hz take more than 20000 "
                                        "bytes, the most that is allowed; "
                                        "upload with rate=22050"));
    assert_int_equal(read_recordings(calls, 2, with_rate(22050), 20000, &c), STATUS_OK);
    collection_close(&c);
}

/* The header alone says that a recording is too long, so that it is refused before it is decoded. */
static void long_recordings_are_refused_before_they_are_decoded(void **state)
{
    enum { LONG = AUDIO_WAVE_FRAMES + 1, HEAD = 44 };
    static size_t archive_bytes;
    char *file = calloc(1, HEAD + LONG), *whole = malloc(LONG + (1 << 16));
    struct collection c;
    struct archive *a = archive_write_new();
    const int32_t sizes[] = {LONG, 44100};
    (void)wav(file, 44100, 0, 0, 1);
    memcpy(file + 28, &sizes[1], 4); /* 8 bits: one byte for a sample */
    file[32] = 1;
    file[34] = 8;
    memcpy(file + 40, &sizes[0], 4);
    assert_int_equal(archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, whole, LONG + (1 << 16), &archive_bytes), ARCHIVE_OK);
    archive_add(a, "0.wav", file, HEAD + LONG);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    struct byte_source_memory memory = {(const unsigned char *)whole, archive_bytes, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    const struct collection_options options = {.label = "", .group = ""};
    const struct collection_limits limits = COLLECTION_LIMITS;
    size_t before = fault_bytes();
    err = (struct error){0};
    assert_int_equal(collection_read(collection_format_named("tar"), &from, &options, &limits, &c, &err), STATUS_LIMIT);
    assert_non_null(strstr(err.message, "member '0.wav': the recording has 380.4 s and 16777217 samples at 44100 Hz"));
    assert_non_null(strstr(err.message, "upload with rate=22050"));
    assert_true(fault_bytes() - before <
                6 * (size_t)LONG); /* the file takes 4 bytes while it grows; samples would add 4 */
    free(file);
    free(whole);
}

static enum status put(void *context, const void *bytes, size_t count, struct error *e)
{
    return fwrite(bytes, 1, count, context) == count ? STATUS_OK : STATUS_IO;
}

static void the_stored_form_has_the_rate_and_without_one_it_is_8000(void **state)
{
    static const struct recording call = {44100, 1, 6500};
    struct collection c, again;
    assert_int_equal(read_recordings(&call, 1, with_rate(0), 1 << 20, &c), STATUS_OK);
    for (int stored = 0; stored < 2; stored++) {
        FILE *file = tmpfile();
        c.rate = stored ? 44100 : 0; /* earlier versions stored no rate */
        assert_int_equal(collection_write(&c, &(struct snapshot_writer){file, put}, NULL), STATUS_OK);
        assert_int_equal(fflush(file), 0);
        assert_int_equal(collection_map(fileno(file), &again, NULL), STATUS_OK);
        assert_int_equal(again.rate, stored ? 44100 : 8000);
        collection_close(&again);
        fclose(file);
    }
    collection_close(&c);
}

static enum status take(void *context, int rank, const int64_t *dim, float *values, int rate, struct error *e)
{
    int64_t *seen = context;
    seen[0] = rank;
    seen[1] = dim[0];
    seen[2] = rate;
    free(values);
    return STATUS_OK;
}

static void a_query_states_the_rate_of_its_recording(void **state)
{
    static char file[1 << 14];
    int64_t seen[3] = {0};
    size_t unpacked = INPUT_FILE_UNPACKED;
    const struct input_file_sink to = {.context = seen, .unpacked = &unpacked, .add = take};
    size_t size = wav(file, 44100, COUNT, 6500, 1);
    assert_int_equal(input_file_read("audio/wav", file, size, &to, NULL), STATUS_OK);
    assert_true(seen[0] == 1 && seen[1] == COUNT && seen[2] == 44100);
}

/* A zip with what a Mac and Windows add, a name of 206 bytes, and a name whose accents are characters of their own,
 * while labels.csv has the composed ones. */
static void archives_of_other_systems_are_read(void **state)
{
    static char file[1 << 12], name[224] = "x.wav";
    const size_t size = wav(file, 8000, 800, 400, 1);
    char labels[300];
    struct collection c;
    memset(name, 'd', 200);
    memcpy(name + 200, "/x.WAV", 7);
    name[100] = '/';
    snprintf(labels, sizeof labels, "file,label\n%s,a\n\xC3\xA9.wav,b\n", name);
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &packed_size), ARCHIVE_OK);
    archive_add(a, "._e.wav", "Mac", 3);
    archive_add(a, "__MACOSX/._e.wav", "Mac", 3);
    archive_add(a, "x/.DS_Store", "Mac", 3);
    archive_add(a, "thumbs.db", "Windows", 7);
    archive_add(a, name, file, size);
    archive_add(a, "e\xCC\x81.wav", file, size);
    archive_add(a, "labels.csv", labels, strlen(labels));
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    struct byte_source_memory memory = {(unsigned char *)packed, packed_size, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    const struct collection_limits limits = COLLECTION_LIMITS;
    const struct collection_options options = with_rate(0);
    err = (struct error){0};
    enum status status = collection_read(collection_format_named("tar"), &from, &options, &limits, &c, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, STATUS_OK);
    assert_true(c.count == 2 && c.vocabulary.count == 2 && c.label[0] == 0 && c.label[1] == 1);
    assert_non_null(strstr(warning(&c, "system-files"), "4 files"));
    collection_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recordings_keep_the_rate_of_their_files),
                                       cmocka_unit_test(recordings_of_several_rates_get_the_lowest_one),
                                       cmocka_unit_test(the_rate_of_the_upload_wins),
                                       cmocka_unit_test(long_recordings_are_refused_before_they_are_decoded),
                                       cmocka_unit_test(the_stored_form_has_the_rate_and_without_one_it_is_8000),
                                       cmocka_unit_test(a_query_states_the_rate_of_its_recording),
                                       cmocka_unit_test(archives_of_other_systems_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
