/* Tests spectrograms, corpora and clips of spoken words: draws and shapes equal the published ones, and signal
 * processing equals a direct computation in double precision. The test makes every recording itself. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/data/audio/audio_sequence.h"
#include "core/data/audio/audio_spectrum.h"
#include "core/data/dataset.h"
#include "tests/support/paper_domains.h"
#include "tests/unit/core/audio_files.h"

/* ---- spectrogram ------------------------------------------------------------------------------ */

static struct audio_spectrum *paper_spectrum(void)
{
    struct audio_spectrum *spectrum = NULL;
    assert_int_equal(audio_spectrum_create(RATE, 64, 1.5, &spectrum, NULL), STATUS_OK);
    return spectrum;
}

static void spectrograms_have_the_published_shape(void **state)
{
    struct audio_spectrum *s = paper_spectrum();
    assert_int_equal(audio_spectrum_hop(s), 187);
    assert_int_equal(audio_spectrum_frames(s, 120000), 642);
    assert_int_equal(audio_spectrum_frames(s, 24000), 129);
    audio_spectrum_destroy(s);
}

/* Computes the decibels of one frame and band directly from the definition. */
static double direct(const float *audio, int count, int frame, int mel, double power[188])
{
    if (mel == 0)
        for (int k = 0; k < 188; k++) {
            double re = 0, im = 0;
            for (int i = 0; i < 375; i++) {
                int at = abs(frame * 187 - 187 + i);
                at = at < count ? at : 2 * (count - 1) - at;
                double value = (double)audio[at] * (0.5 - 0.5 * cos(2 * PI * i / 375));
                re += value * cos(2 * PI * ((k * i) % 375) / 375);
                im -= value * sin(2 * PI * ((k * i) % 375) / 375);
            }
            power[k] = re * re + im * im;
        }
    double edge[3], sum = 0, top = 2595 * log10(1 + 4000.0 / 700);
    assert_true(fabs(top - 2146.0645) < 1e-4);
    for (int i = 0; i < 3; i++)
        edge[i] = 700 * (pow(10, top * (mel + i) / 65 / 2595) - 1);
    for (int k = 0; k < 188; k++) {
        double f = 4000.0 * k / 187;
        sum += fmax(0, fmin((f - edge[0]) / (edge[1] - edge[0]), (edge[2] - f) / (edge[2] - edge[1]))) * power[k];
    }
    return 10 * log10(fmax(sum, 1e-10));
}

static void check_against_direct(const float *audio, int count)
{
    struct audio_spectrum *s = paper_spectrum();
    int frames = audio_spectrum_frames(s, count);
    float *out = malloc((size_t)frames * 64 * sizeof *out);
    double *want = malloc((size_t)frames * 64 * sizeof *want), power[188], top = -1e9, worst = 0;
    assert_int_equal(audio_spectrum_compute(s, audio, count, out, NULL), STATUS_OK);
    for (int t = 0; t < frames; t++)
        for (int m = 0; m < 64; m++)
            top = fmax(top, want[t * 64 + m] = direct(audio, count, t, m, power));
    for (int i = 0; i < frames * 64; i++)
        worst = fmax(worst, fabs(fmax(want[i], top - 80) - (double)out[i]));
    assert_true(worst < 2e-3);
    free(out);
    free(want);
    audio_spectrum_destroy(s);
}

static void spectrograms_equal_their_definition(void **state)
{
    enum { COUNT = 3000 };
    float audio[COUNT];
    uint32_t word = 7;
    for (int i = 0; i < COUNT; i++) { /* the recording is a loud chirp, then silence, then faint noise */
        word = word * 1664525U + 1013904223U;
        double noise = (word >> 8) / 16777216.0 - 0.5, chirp = sin(2 * PI * (200 + 0.5 * i) * i / RATE);
        audio[i] = (float)(i < 1200 ? 0.8 * chirp : i < 1800 ? 0 : noise / 500);
    }
    check_against_direct(audio, COUNT);
    check_against_direct(audio, 2991); /* an odd number of frames */
    check_against_direct(audio + 1200, 400);
    memset(audio, 0, sizeof audio);
    check_against_direct(audio, COUNT); /* silence has -100 dB */
}

static void impossible_spectrograms_are_refused(void **state)
{
    struct audio_spectrum *s = NULL;
    assert_int_equal(audio_spectrum_create(RATE, 0, 1.5, &s, NULL), STATUS_INVALID);
    assert_int_equal(audio_spectrum_create(RATE, 64, 1000, &s, NULL), STATUS_INVALID);
    assert_int_equal(audio_spectrum_create(RATE, 5000, 1.5, &s, NULL), STATUS_INVALID);
}

/* ---- corpora ---------------------------------------------------------------------------------- */

/* Writes and loads a corpus with AudioMNIST's file names. A recording has `length` samples, all with a value
 * that identifies the speaker. */
static struct audio_corpus *audio_mnist(int takes, int length)
{
    struct audio_corpus *corpus = NULL;
    assert_int_equal(audio_corpus_create(RATE, &corpus, NULL), STATUS_OK);
    for (int speaker = 1; speaker <= 60; speaker++)
        for (int digit = 0; digit < 10; digit++)
            for (int take = 0; take < takes; take++) {
                char class[2] = {(char)('0' + digit), '\0'}, who[8], file[AUDIO_NAME];
                struct audio_wave wave = {
                    .rate = RATE, .count = length, .samples = malloc((size_t)length * sizeof(float))};
                for (int i = 0; i < length; i++)
                    wave.samples[i] = (float)speaker / 100.0F;
                snprintf(who, sizeof who, "%02d", speaker);
                snprintf(file, sizeof file, "%d_%02d_%d", digit, speaker, take);
                assert_int_equal(audio_corpus_add(corpus, class, who, file, &wave, NULL), STATUS_OK);
            }
    assert_int_equal(audio_corpus_seal(corpus, NULL), STATUS_OK);
    return corpus;
}

static void speakers_are_split_as_published(void **state)
{
    static const int order[60] = {27, 36, 60, 29, 12, 3,  35, 59, 41, 23, 5,  11, 31, 42, 34, 44, 50, 8,  15, 33,
                                  51, 30, 43, 55, 19, 57, 28, 16, 6,  32, 17, 52, 21, 53, 9,  14, 26, 38, 18, 46,
                                  49, 58, 39, 2,  13, 47, 25, 7,  24, 37, 22, 20, 10, 40, 56, 4,  1,  54, 48, 45};
    struct audio_corpus *corpus = audio_mnist(11, 1);
    assert_int_equal(audio_corpus_speakers(corpus), 60);
    assert_int_equal(audio_corpus_training_speakers(corpus), 51);
    assert_int_equal(audio_corpus_classes(corpus), 10);
    for (int i = 0; i < 60; i++)
        assert_int_equal(atoi(audio_corpus_speaker(corpus, i)), order[i]);
    const struct audio_clip *takes;
    assert_int_equal(audio_corpus_takes(corpus, 0, 3, &takes), 11);
    assert_string_equal(takes[0].file, "3_27_0");
    assert_string_equal(takes[2].file, "3_27_10"); /* takes are sorted as text */
    assert_string_equal(takes[3].file, "3_27_2");
    audio_corpus_destroy(corpus);
}

static void file_names_of_three_layouts_are_parsed(void **state)
{
    static const struct {
        const char *name, *class, *speaker, *file;
    } known[] = {{"6_12_27.wav", "6", "12", "6_12_27"},
                 {"7_nicolas_0.wav", "7", "nicolas", "7_nicolas_0"},
                 {"3_en-us+f1_2.wav", "3", "en-us+f1", "3_en-us+f1_2"},
                 {"4_a_b_3.wav", "4", "a_b", "4_a_b_3"},
                 {"0ab12cde_nohash_1.wav", "", "0ab12cde", "0ab12cde_nohash_1"}};
    static const char *const unknown[] = {"",
                                          ".wav",
                                          "README.md",
                                          "6_12.wav",
                                          "12_6_3.wav",
                                          "6__3.wav",
                                          "6_12_.wav",
                                          "x_12_3.wav",
                                          "_nohash_1.wav",
                                          "ab_nohash_.wav",
                                          "6_12_27.WAV",
                                          "6_12_27.wav.txt",
                                          "6_a-name-that-is-longer-than-any-name-of-a-speaker-may-be_1.wav"};
    char class[AUDIO_NAME], speaker[AUDIO_NAME], file[AUDIO_NAME];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_true(audio_corpus_parse(known[i].name, class, speaker, file));
        assert_string_equal(class, known[i].class);
        assert_string_equal(speaker, known[i].speaker);
        assert_string_equal(file, known[i].file);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_false(audio_corpus_parse(unknown[i], class, speaker, file));
}

static void make_folders(const char *a, const char *b)
{
    assert_int_equal(mkdir(in_folder(a), 0700), 0);
    if (b)
        assert_int_equal(mkdir(in_folder(b), 0700), 0);
}

static struct audio_corpus *loaded(const char *name)
{
    struct audio_corpus *corpus = NULL;
    struct error err = {0};
    if (audio_corpus_load(in_folder(name), RATE, &corpus, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return corpus;
}

static void folders_of_three_layouts_are_loaded(void **state)
{
    char name[96];
    make_folders("mnist", "mnist/data");
    for (int speaker = 1; speaker <= 4; speaker++) {
        snprintf(name, sizeof name, "mnist/data/%02d", speaker);
        make_folders(name, NULL);
        for (int digit = 0; digit < 2; digit++) {
            snprintf(name, sizeof name, "mnist/data/%02d/%d_%02d_0.wav", speaker, digit, speaker);
            put_tone(name, 48000, 6001, 300 + 10 * speaker);
        }
    }
    put_bytes("mnist/data/audioMNIST_meta.txt", "{}", 2);
    struct audio_corpus *corpus = loaded("mnist");
    assert_int_equal(audio_corpus_clips(corpus), 8);
    /* ceil(6001 / 6): the longest recording has 6001 samples, and the corpus resamples it to a sixth of the rate */
    assert_int_equal(audio_corpus_longest(corpus), 1001);
    assert_int_equal(audio_corpus_training_speakers(corpus), 3);
    unsigned char digest[2][HASH_BYTES];
    audio_corpus_hash(corpus, digest[0]);
    audio_corpus_destroy(corpus);
    corpus = loaded("mnist");
    audio_corpus_hash(corpus, digest[1]);
    assert_memory_equal(digest[0], digest[1], HASH_BYTES);
    audio_corpus_destroy(corpus);

    make_folders("free", "free/recordings");
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "free/recordings/%d_%s_%d.wav", i % 2, i / 2 % 2 ? "anna" : "bert", i / 4);
        put_tone(name, i < 4 ? 8000 : 22050, 800 + i, 500);
    }
    corpus = loaded("free");
    const struct audio_clip *takes;
    assert_int_equal(audio_corpus_takes(corpus, 0, 1, &takes), 2);
    assert_string_equal(audio_corpus_class(corpus, 1), "1");
    audio_corpus_destroy(corpus);

    make_folders("words", NULL);
    make_folders("words/yes", "words/no");
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "words/%s/00%d_nohash_0.wav", i % 2 ? "yes" : "no", i / 2);
        put_tone(name, 16000, 1600, 400);
    }
    corpus = loaded("words");
    assert_int_equal(audio_corpus_speakers(corpus), 3);
    assert_int_equal(audio_corpus_classes(corpus), 2);
    assert_string_equal(audio_corpus_class(corpus, 0), "no");
    audio_corpus_destroy(corpus);
}

static void corpora_with_too_few_speakers_or_classes_are_refused(void **state)
{
    struct audio_corpus *corpus = NULL;
    struct error err = {0};
    assert_int_equal(audio_corpus_load(in_folder("nowhere"), RATE, &corpus, &err), STATUS_NOT_FOUND);
    assert_null(strstr(err.message, folder));
    make_folders("empty", "one");
    assert_int_equal(audio_corpus_load(in_folder("empty"), RATE, &corpus, NULL), STATUS_INVALID);
    put_tone("one/0_a_0.wav", RATE, 100, 200);
    put_tone("one/1_a_0.wav", RATE, 100, 200);
    /* a corpus of one speaker */
    assert_int_equal(audio_corpus_load(in_folder("one"), RATE, &corpus, NULL), STATUS_INVALID);
    put_tone("one/0_b_0.wav", RATE, 100, 200);
    error_clear(&err);
    /* speaker b never says 1 */
    assert_int_equal(audio_corpus_load(in_folder("one"), RATE, &corpus, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "\"1\""));
    put_bytes("one/1_b_0.wav", "damaged", 7);
    assert_int_equal(audio_corpus_load(in_folder("one"), RATE, &corpus, NULL), STATUS_CORRUPT);
    put_tone("one/1_b_0.wav", RATE, 0, 200);
    assert_int_equal(audio_corpus_load(in_folder("one"), RATE, &corpus, NULL), STATUS_INVALID); /* an empty recording */
    assert_null(corpus);
}

static void names_of_data_sets_are_not_paths(void **state)
{
    static const char *const good[] = {"spoken-digits", "fsdd", "a", "0.v2_x", "team-1:fsdd", "a:0.v2_x"};
    static const char *const bad[] = {
        "",         ".",     "..",
        "../fsdd",  "a/b",   "/etc",
        ".hidden",  "-x",    "Fsdd",
        "a b",      "a\nb",  "a%2fb",
        ":fsdd",    "team:", "-team:fsdd",
        "a.b:fsdd", "a:b:c", "a-name-of-more-than-sixty-three-characters-is-too-long-for-a-data-set"};
    char path[DATASET_PATH];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(dataset_name_good(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(dataset_name_good(bad[i]));
        assert_int_equal(dataset_folder(folder, bad[i], path, NULL), STATUS_INVALID);
    }
    make_folders("set-1", NULL);
    put_bytes("file", "", 0);
    assert_int_equal(dataset_folder(folder, "set-1", path, NULL), STATUS_OK);
    assert_string_equal(path, in_folder("set-1"));
    assert_int_equal(dataset_folder(folder, "set-2", path, NULL), STATUS_NOT_FOUND);
    assert_int_equal(dataset_folder(folder, "file", path, NULL), STATUS_NOT_FOUND);
    assert_int_equal(dataset_folder(NULL, "set-1", path, NULL), STATUS_NOT_FOUND);
    /* suggestions stay within the team */
    struct error err = {0};
    make_folders("alpha:words", NULL);
    make_folders("beta:wordy", NULL);
    assert_int_equal(dataset_folder(folder, "alpha:words", path, NULL), STATUS_OK);
    assert_int_equal(dataset_folder(folder, "beta:words", path, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean 'beta:wordy'"));
    error_clear(&err);
    assert_int_equal(dataset_folder(folder, "wordy", path, &err), STATUS_NOT_FOUND);
    assert_null(strstr(err.message, ":word"));
}

/* ---- clips ------------------------------------------------------------------------------------ */

struct known_clip {
    int64_t seed, index;
    enum audio_part part;
    const char *label;
    const char *files[4];
};

static void check_clip(const struct known_clip *known, const struct audio_truth *truth)
{
    assert_int_equal(truth->count, strlen(known->label));
    for (int i = 0; i < truth->count; i++)
        assert_int_equal(truth->label[i], known->label[i] - '0');
    for (int i = 0; i < 4 && known->files[i]; i++)
        assert_string_equal(truth->clip[i]->file, known->files[i]);
}

static void clips_are_drawn_as_published(void **state)
{
    static const struct known_clip known[] = {
        {1, 0, AUDIO_TRAINING_SPEAKERS, "6565132819", {"6_12_27", "5_59_1", "6_15_24", "5_31_15"}},
        {1, 1, AUDIO_TRAINING_SPEAKERS, "7978213", {"7_25_34", "9_11_39"}},
        {-2, 0, AUDIO_NEW_SPEAKERS, "52461800", {"5_45_27", "2_20_9"}}};
    struct audio_corpus *corpus = audio_mnist(50, 40);
    float *audio = malloc(120000 * sizeof *audio);
    struct audio_truth truth;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct audio_sequence domain = audio_sequence_paper(corpus, known[i].part);
        assert_int_equal(audio_sequence_check(&domain, NULL, NULL), 0);
        audio_sequence_sample(&domain, known[i].seed, known[i].index, audio, &truth);
        check_clip(&known[i], &truth);
    }
    static const struct known_clip stream = {.label = "8107936"};
    struct audio_sequence domain = audio_sequence_paper(corpus, AUDIO_NEW_SPEAKERS);
    struct mt19937 rng;
    mt19937_init(&rng, 4294967294U);
    audio_sequence_draw(&domain, &rng, audio, &truth);
    check_clip(&stream, &truth);
    free(audio);
    audio_corpus_destroy(corpus);
}

static void noise_is_drawn_as_published(void **state)
{
    struct audio_corpus *corpus = audio_mnist(1, 1);
    struct audio_sequence domain = audio_sequence_paper(corpus, AUDIO_TRAINING_SPEAKERS);
    float *audio = malloc(120000 * sizeof *audio);
    struct mt19937 rng;
    struct audio_truth truth;
    domain.min_symbols = domain.max_symbols = 0; /* without words, the first draws are those of the noise */
    mt19937_init(&rng, 0);
    audio_sequence_draw(&domain, &rng, audio, &truth);
    assert_int_equal(truth.count, 0);
    assert_true(fabs(audio[0] - 8.1669e-5) < 5e-10);
    assert_true(fabs(audio[1] - 3.68149e-4) < 5e-10);
    assert_true(fabs(audio[2] - 1.72627e-4) < 5e-10);
    double sum = 0, square = 0, most = 0;
    for (int i = 0; i < 120000; i++) {
        double value = (double)audio[i] * 1024;
        sum += value;
        square += value * value;
        most = fmax(most, fabs(value));
    }
    assert_true(fabs(sum / 120000) < 0.006);
    assert_true(fabs(sqrt(square / 120000) - 0.53956) < 0.004);
    assert_true(most <= 1 && most > 0.999);
    free(audio);
    audio_corpus_destroy(corpus);
}

/* The words of a sample do not overlap and are in order. Their speakers belong to the requested part. The samples of
 * the recording are the sum of words and noise. Boxes follow their rule. */
static void words_are_at_the_places_of_the_truth(void **state)
{
    enum { SAMPLES = 30000, LENGTH = 4000, FRAMES = 161 };
    struct audio_corpus *corpus = audio_mnist(2, LENGTH);
    float *audio = malloc(SAMPLES * sizeof *audio);
    int counts[5] = {0};
    for (int part = 0; part < 2; part++)
        for (int index = 0; index < 60; index++) {
            struct audio_sequence domain = {corpus, part ? AUDIO_NEW_SPEAKERS : AUDIO_TRAINING_SPEAKERS, SAMPLES, 0, 4,
                                            1e-3};
            struct audio_truth truth, again;
            struct box boxes[AUDIO_SYMBOLS_MAX];
            assert_int_equal(audio_sequence_check(&domain, NULL, NULL), 0);
            audio_sequence_sample(&domain, 3, index, audio, &truth);
            counts[truth.count]++;
            audio_sequence_boxes(&domain, &truth, FRAMES, boxes);
            for (int i = 0, at = 0; i < SAMPLES; i++) {
                while (at < truth.count && i >= truth.start[at] + truth.length[at])
                    at++;
                bool inside = at < truth.count && i >= truth.start[at];
                float word = inside ? (float)atoi(audio_corpus_speaker(corpus, truth.clip[at]->speaker)) / 100.0F : 0;
                assert_true(fabsf(audio[i] - word) <= 1.01e-3F);
            }
            for (int i = 0; i < truth.count; i++) {
                assert_int_equal(truth.clip[i]->class, truth.label[i]);
                assert_int_equal(truth.clip[i]->speaker >= 51, part);
                assert_int_equal(boxes[i].symbol, truth.label[i]);
                assert_int_equal(boxes[i].col0, truth.start[i] * FRAMES / SAMPLES);
                assert_int_equal(boxes[i].col1 - boxes[i].col0, LENGTH * FRAMES / SAMPLES);
                assert_true(boxes[i].row0 == 0 && boxes[i].row1 == 1 && boxes[i].col1 <= FRAMES);
            }
            audio_sequence_sample(&domain, 3, index, audio, &again);
            assert_memory_equal(truth.start, again.start, (size_t)truth.count * sizeof(int));
        }
    for (int i = 0; i < 5; i++)
        assert_true(counts[i] > 5);
    free(audio);
    audio_corpus_destroy(corpus);
}

static void a_single_word_is_in_the_middle(void **state)
{
    struct audio_corpus *corpus = audio_mnist(2, 4000);
    struct audio_sequence domain = {corpus, AUDIO_TRAINING_SPEAKERS, 24000, 1, 1, 1e-3};
    float audio[24000];
    int seen = 0;
    for (int index = 0; index < 50; index++) {
        int class = audio_sequence_single(&domain, 1, index, audio);
        assert_in_range(class, 0, 9);
        seen |= 1 << class;
        assert_true(fabsf(audio[9999]) < 2e-3F && fabsf(audio[14000]) < 2e-3F);
        assert_true(audio[10000] > 8e-3F && audio[13999] > 8e-3F);
    }
    assert_int_equal(seen, 1023);
    audio_corpus_destroy(corpus);
}

static void count_fault(void *context, const char *field, const char *detail)
{
    assert_string_equal(field, *(const char **)context);
    assert_true(strlen(detail) > 10);
}

static void impossible_domains_are_reported(void **state)
{
    struct audio_corpus *corpus = audio_mnist(1, 4000);
    struct audio_sequence good = {corpus, AUDIO_TRAINING_SPEAKERS, 30000, 2, 4, 1e-3}, bad;
    const char *field;
    assert_int_equal(audio_sequence_check(&good, NULL, NULL), 0);
    bad = good, bad.max_symbols = 33, field = "max_symbols";
    assert_int_equal(audio_sequence_check(&bad, &field, count_fault), 1);
    bad = good, bad.min_symbols = 5, field = "min_symbols";
    assert_int_equal(audio_sequence_check(&bad, &field, count_fault), 1);
    bad = good, bad.noise = NAN, field = "noise";
    assert_int_equal(audio_sequence_check(&bad, &field, count_fault), 1);
    bad = good, bad.samples = 16000, field = "samples"; /* four words fill the whole clip */
    assert_int_equal(audio_sequence_check(&bad, &field, count_fault), 1);
    bad = good, bad.samples = 16400; /* fewer than one draw in 10^6 fits without overlap */
    assert_int_equal(audio_sequence_check(&bad, &field, count_fault), 1);
    audio_corpus_destroy(corpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spectrograms_have_the_published_shape),
        cmocka_unit_test(spectrograms_equal_their_definition),
        cmocka_unit_test(impossible_spectrograms_are_refused),
        cmocka_unit_test(speakers_are_split_as_published),
        cmocka_unit_test(file_names_of_three_layouts_are_parsed),
        cmocka_unit_test(folders_of_three_layouts_are_loaded),
        cmocka_unit_test(corpora_with_too_few_speakers_or_classes_are_refused),
        cmocka_unit_test(names_of_data_sets_are_not_paths),
        cmocka_unit_test(clips_are_drawn_as_published),
        cmocka_unit_test(noise_is_drawn_as_published),
        cmocka_unit_test(words_are_at_the_places_of_the_truth),
        cmocka_unit_test(a_single_word_is_in_the_middle),
        cmocka_unit_test(impossible_domains_are_reported),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
