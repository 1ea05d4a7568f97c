/* Tests spoken words as a domain of SPARLING, on a data set of tones: speakers, shapes, scales, inputs of clients,
 * refusals, and a run that resumes with the same bits. */
#include <math.h>
#include <sys/stat.h>

#include "tests/support/unit.h"
#include "core/data/audio/audio_corpus.h"
#include "core/data/audio/audio_spectrum.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "core/methods/sparling/training/batch.h"
#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"

enum { WORDS = 3, SPEAKERS = 4, FRAMES = 129, MELS = 64 };

static const struct config_setting tiny[] = {{"domain", "audio"},
                                             {"audio_dataset", "tones"},
                                             {"audio_classes", "3"},
                                             {"audio_seconds", "3"},
                                             {"audio_min_symbols", "1"},
                                             {"audio_max_symbols", "3"},
                                             {"audio_scale", "units"},
                                             {"width", "8"},
                                             {"units", "1"},
                                             {"motifs", "3"},
                                             {"channels", "16"},
                                             {"layers", "1"},
                                             {"heads", "2"},
                                             {"feed_forward", "32"},
                                             {"lstm", "false"},
                                             {"batch", "4"},
                                             {"dropout", "0.1"},
                                             {"batch_norm", "plain"},
                                             {"accumulate_motifs", "10"},
                                             {"density_start", "0.2"},
                                             {"density_factor", "0.5"},
                                             {"density_final", "0.09"},
                                             {"validation_every", "20"},
                                             {"validation_samples", "8"},
                                             {"checkpoint_every", "12"},
                                             {"total_samples", "60"},
                                             {"motif_samples", "6"},
                                             {"test_samples", "6"},
                                             {"stage_samples", "0"},
                                             {NULL, NULL}};

/* ---- a data set of tones; the new speaker is an octave higher ----------------------------------------------- */

static char folder[] = "/tmp/motifd-tones-XXXXXX";
static char new_voice[AUDIO_NAME];

static void say(const char *speaker, int word, double octave)
{
    char path[128];
    float samples[1600];
    struct audio_wave wave = {.rate = 8000, .count = 1600, .samples = samples};
    for (int i = 0; i < wave.count; i++)
        samples[i] = (float)(0.4 * sin(2 * 3.14159265358979323846 * 300 * (word + 2) * octave * i / 8000));
    snprintf(path, sizeof path, "%s/tones/%d_%s_0.wav", folder, word, speaker);
    assert_int_equal(audio_wave_write(path, &wave, NULL), STATUS_OK);
}

static int make_tones(void **state)
{
    static const char *const names[SPEAKERS] = {"ann", "bob", "cid", "dan"};
    struct audio_corpus *corpus = NULL;
    char path[64];
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/tones", folder);
    if (mkdir(path, 0700) != 0)
        return -1;
    for (int round = 0; round < 2; round++) {
        if (round)
            snprintf(new_voice, sizeof new_voice, "%s", audio_corpus_speaker(corpus, SPEAKERS - 1));
        for (int i = 0; i < SPEAKERS * WORDS; i++)
            say(names[i % SPEAKERS], i / SPEAKERS, strcmp(names[i % SPEAKERS], new_voice) == 0 ? 2 : 1);
        audio_corpus_destroy(corpus);
        corpus = NULL;
        if (audio_corpus_load(path, 8000, &corpus, NULL) != STATUS_OK ||
            audio_corpus_training_speakers(corpus) != SPEAKERS - 1)
            return -1;
    }
    audio_corpus_destroy(corpus);
    return 0;
}

static int remove_tones(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void configure(struct sparling_config *config, const struct config_setting *more)
{
    memset(config, 0, sizeof *config);
    assert_ok(config_defaults(&sparling_config_table, config, err));
    assert_ok(config_apply(&sparling_config_table, config, tiny, err));
    if (more)
        assert_ok(config_apply(&sparling_config_table, config, more, err));
}

struct drawn {
    float planes[MELS * FRAMES];
    struct domain_truth *truth;
};

static void draw(const struct open_domain *domain, enum domain_set set, int64_t seed, int64_t index, int64_t seen,
                 struct drawn *out)
{
    struct domain_request request = {.set = set, .seed = seed, .index = index, .seen = seen};
    assert_ok(domain->domain->sample(domain->state, &request, out->planes, out->truth, err));
}

/* Returns the frequency in Hz of the loudest band in the middle of a box. */
static double pitch(const struct drawn *d, const struct box *box)
{
    int at = (box->col0 + box->col1) / 2, best = 0;
    for (int m = 1; m < MELS; m++)
        if (d->planes[m * FRAMES + at] > d->planes[best * FRAMES + at])
            best = m;
    return 700 * (pow(10, (best + 1) * 2146.0645 / 65 / 2595) - 1);
}

/* Recordings of the new speaker are an octave higher than those of the training speakers. Returns 1 if the sample has
 * only the lower ones, 2 if it has only the higher ones, and 0 if it has both. */
static int octave(const struct drawn *d)
{
    int seen = 0;
    for (int i = 0; i < d->truth->boxes; i++) {
        double ratio = pitch(d, &d->truth->box[i]) / (300 * (d->truth->box[i].symbol + 2));
        assert_true(fabs(ratio - 1) < 0.15 || fabs(ratio - 2) < 0.3);
        seen |= ratio < 1.5 ? 1 : 2;
    }
    return seen == 3 ? 0 : seen;
}

static void tests_use_new_speakers_and_training_does_not(void **state)
{
    struct sparling_config config;
    struct open_domain domain;
    struct drawn d;
    configure(&config, NULL);
    assert_ok(domain_open(&config, folder, &domain, err));
    assert_ok(domain_truths_create(&domain.shape, 1, &d.truth, err));
    for (int i = 0; i < 20; i++) {
        draw(&domain, DOMAIN_SAMPLE, 1, i, 0, &d);
        assert_int_equal(octave(&d), 1);
        draw(&domain, DOMAIN_LESSON, 1, i, 0, &d);
        assert_int_equal(octave(&d), 1);
        draw(&domain, DOMAIN_SAMPLE, -1, i, 0, &d);
        assert_int_equal(octave(&d), 1);
        draw(&domain, DOMAIN_SAMPLE, -2, i, 0, &d);
        assert_int_equal(octave(&d), 2);
        draw(&domain, DOMAIN_EXAMPLE, 0, i, 0, &d);
        assert_int_equal(octave(&d), 2);
        assert_int_equal(d.truth->length, d.truth->boxes);
        for (int w = 0; w < d.truth->length; w++)
            assert_int_equal(d.truth->label[w], d.truth->box[w].symbol);
    }
    domain_truths_destroy(d.truth);
    domain_close(&domain);
}

static void curriculum_begins_with_few_words(void **state)
{
    static const struct config_setting few[] = {{"curriculum", "300"}, {NULL, NULL}};
    struct sparling_config config;
    struct open_domain domain;
    struct drawn d;
    int counts[4] = {0};
    configure(&config, few);
    assert_ok(domain_open(&config, folder, &domain, err));
    assert_ok(domain_truths_create(&domain.shape, 1, &d.truth, err));
    for (int i = 0; i < 40; i++) {
        draw(&domain, DOMAIN_LESSON, 1, i, 0, &d);
        counts[d.truth->length]++;
        draw(&domain, DOMAIN_LESSON, 1, i, 299, &d);
        assert_in_range(d.truth->length, 0, 3);
        draw(&domain, DOMAIN_LESSON, 1, i, 300, &d);
        assert_in_range(d.truth->length, 1, 3);
    }
    assert_true(counts[0] > 5 && counts[1] > 5 && counts[2] == 0 && counts[3] == 0);
    domain_truths_destroy(d.truth);
    domain_close(&domain);
}

static void shape_and_word_names_follow_the_data_set(void **state)
{
    struct sparling_config config;
    struct open_domain domain;
    configure(&config, NULL);
    assert_ok(domain_open(&config, folder, &domain, err));
    const struct domain_shape *s = &domain.shape;
    assert_true(s->channels == MELS && s->rows == 1 && s->cols == FRAMES && s->picture_rows == MELS);
    assert_true(s->symbols == WORDS && s->tokens == WORDS && s->longest == 3 && s->boxes == 3);
    assert_string_equal(domain.domain->token(domain.state, 2), "2");
    assert_null(domain.domain->token(domain.state, 3));
    assert_true(domain.domain->mean_symbols(domain.state) == 2);
    domain_close(&domain);
}

static void single_word_is_in_the_middle_of_its_clip(void **state)
{
    struct sparling_config config;
    struct open_domain domain;
    struct drawn d;
    int seen[2] = {0};
    configure(&config, NULL);
    assert_ok(domain_open(&config, folder, &domain, err));
    struct open_domain single = domain_single(&config, &domain);
    assert_true(single.shape.cols == 129 && single.shape.channels == MELS && single.shape.longest == 1);
    assert_ok(domain_truths_create(&domain.shape, 1, &d.truth, err));
    for (int i = 0; i < 40; i++) {
        int fresh = i % 2;
        struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = fresh ? -2 : 1, .index = i};
        assert_ok(domain_sample(&single, &request, d.planes, d.truth, err));
        assert_int_equal(d.truth->length, 1);
        seen[fresh] |= 1 << d.truth->label[0];
        struct box middle = {.col0 = 60, .col1 = 68};
        double ratio = pitch(&d, &middle) / (300 * (d.truth->label[0] + 2));
        assert_true(fabs(ratio / (fresh ? 2 : 1) - 1) < 0.15);
    }
    assert_true(seen[0] == 7 && seen[1] == 7);
    domain_truths_destroy(d.truth);
    domain_close(&domain);
}

static void a_clip_and_its_spectrogram_give_the_same_input(void **state)
{
    static const struct config_setting raw[] = {{"audio_scale", "decibels"}, {NULL, NULL}};
    static float audio[24000], rows[FRAMES * MELS], planes[2][MELS * FRAMES], grey[MELS * FRAMES];
    struct audio_spectrum *spectrum = NULL;
    for (int i = 0; i < 20000; i++)
        audio[i] = (float)(0.3 * sin(0.5 * i));
    assert_ok(audio_spectrum_create(8000, MELS, 1.5, &spectrum, err));
    assert_ok(audio_spectrum_compute(spectrum, audio, 24000, rows, err));
    audio_spectrum_destroy(spectrum);
    for (int scale = 0; scale < 2; scale++) {
        struct sparling_config config;
        struct open_domain domain;
        struct error fault = {0};
        configure(&config, scale ? raw : NULL);
        assert_ok(domain_open(&config, folder, &domain, err));
        struct method_input clip = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {20000}, .values = audio};
        struct method_input bands = {.kind = METHOD_INPUT_ARRAY, .rank = 2, .dim = {FRAMES, MELS}, .values = rows};
        assert_ok(domain.domain->prepare(domain.state, &clip, planes[0], err));
        assert_ok(domain.domain->prepare(domain.state, &bands, planes[1], err));
        for (int i = 0; i < MELS * FRAMES; i++) {
            float want = rows[i % FRAMES * MELS + i / FRAMES];
            assert_true(fabsf(planes[0][i] - (scale ? want : (want + 40) / 20)) < 1e-4F);
            assert_true(planes[0][i] == planes[1][i]);
        }
        domain.domain->grey(domain.state, planes[0], grey);
        float least = 2, most = -1;
        for (int i = 0; i < MELS * FRAMES; i++)
            least = fminf(least, grey[i]), most = fmaxf(most, grey[i]);
        assert_true(least >= 0 && least < 0.3F && most <= 1 && most > 0.8F);

        clip.dim[0] = 24001;
        assert_int_equal(domain.domain->prepare(domain.state, &clip, planes[0], &fault), STATUS_INVALID);
        assert_string_equal(fault.pointer, "/array");
        clip.dim[0] = 10;
        audio[3] = 1.5F;
        assert_int_equal(domain.domain->prepare(domain.state, &clip, planes[0], NULL), STATUS_INVALID);
        audio[3] = NAN;
        assert_int_equal(domain.domain->prepare(domain.state, &clip, planes[0], NULL), STATUS_INVALID);
        audio[3] = (float)(0.3 * sin(1.5));
        bands.dim[0] = FRAMES - 1;
        assert_int_equal(domain.domain->prepare(domain.state, &bands, planes[0], NULL), STATUS_INVALID);
        domain_close(&domain);
    }
}

static void faults_name_their_field(void **state)
{
    static const struct {
        struct config_setting setting[2];
        enum status status;
        const char *pointer, *message;
    } known[] = {
        {{{"audio_dataset", "nothing"}}, STATUS_NOT_FOUND, "/config/audio_dataset", "no data set nothing"},
        {{{"audio_dataset", "spoken-digits"}}, STATUS_NOT_FOUND, "/config/audio_dataset", "motifd dataset audio"},
        {{{"audio_classes", "10"}}, STATUS_INVALID, "/config/audio_classes", "must be 3"},
        {{{"audio_seconds", "0.6"}}, STATUS_INVALID, "/config/audio_seconds", "almost never fit"},
    };
    struct sparling_config config;
    struct open_domain domain;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct error err = {0};
        configure(&config, known[i].setting);
        assert_int_equal(domain_open(&config, folder, &domain, &err), known[i].status);
        assert_string_equal(err.pointer, known[i].pointer);
        assert_non_null(strstr(err.message, known[i].message));
        assert_null(strstr(err.message, folder));
    }
    configure(&config, NULL);
    assert_int_equal(domain_open(&config, NULL, &domain, NULL), STATUS_NOT_FOUND);
}

struct seen {
    int count;
    char field[64];
};

static void see(void *context, const char *field, const char *detail)
{
    struct seen *seen = context;
    seen->count++;
    snprintf(seen->field, sizeof seen->field, "%s", field);
}

static void check_names_faulty_fields(void **state)
{
    static const struct config_setting bad[][2] = {{{"audio_dataset", "../tones"}},
                                                   {{"audio_dataset", "/etc"}},
                                                   {{"audio_min_symbols", "4"}},
                                                   {{"audio_tokens", "2"}}};
    struct sparling_config config;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct seen seen = {0};
        struct method_faults faults = {&seen, see};
        configure(&config, bad[i]);
        sparling_method.check(&config, &faults);
        assert_int_equal(seen.count, 1);
        assert_string_equal(seen.field, bad[i][0].field);
    }
}

/* ---- runs --------------------------------------------------------------------------------------- */

/* Trains to the end. After `break_at` steps, saves the run and loads it into a new run. */
static void finish(const struct sparling_config *config, int threads, int break_at, char hash[65])
{
    const struct method *method = &sparling_method;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_run *run = NULL;
    enum method_request request = METHOD_CONTINUE;
    assert_ok(run_env_open(&environment, threads, NULL, err));
    environment.env.data = folder;
    assert_ok(method->create(config, &environment.env, &run, err));
    run->step_seconds = 0;
    for (int step = 0; request != METHOD_DONE; step++) {
        if (step == break_at) {
            assert_ok(run_env_save(method, run, &bytes, err));
            method->destroy(run);
            struct snapshot_reader reader = run_env_reader(&bytes);
            assert_ok(method->create(config, &environment.env, &run, err));
            assert_ok(method->load(run, &reader, err));
            run->step_seconds = 0;
        }
        assert_ok(run_env_step(&environment, method, run, &request, err));
    }
    assert_ok(run_env_save(method, run, &bytes, err));
    assert_ok(run_env_weights_hash(&bytes, hash, err));
    method->destroy(run);
    run_env_bytes_close(&bytes);
    run_env_close(&environment);
}

static void resumed_run_gives_same_bits(void **state)
{
    struct sparling_config config;
    char whole[65], broken[65];
    configure(&config, NULL);
    finish(&config, 1, -1, whole);
    finish(&config, 2, 9, broken);
    assert_string_equal(whole, broken);
}

/* The checkpoint is refused with other recordings, and loads again once its own recordings are back. */
static void checkpoint_is_refused_with_other_recordings(void **state)
{
    const struct method *method = &sparling_method;
    struct sparling_config config;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_run *run = NULL;
    enum method_request request;
    configure(&config, NULL);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = folder;
    assert_ok(method->create(&config, &environment.env, &run, err));
    assert_ok(run_env_step(&environment, method, run, &request, err));
    assert_ok(run_env_save(method, run, &bytes, err));
    method->destroy(run);
    for (int changed = 1; changed >= 0; changed--) {
        struct snapshot_reader reader = run_env_reader(&bytes);
        struct error fault = {0};
        say("ann", 0, (changed ? 1.01 : 1) * (strcmp("ann", new_voice) == 0 ? 2 : 1));
        assert_ok(method->create(&config, &environment.env, &run, err));
        assert_int_equal(method->load(run, &reader, &fault), changed ? STATUS_CONFLICT : STATUS_OK);
        assert_true(!changed || strstr(fault.message, "audio data set has changed"));
        assert_ok(method->warm_start(run, &reader, err)); /* a warm start allows other data */
        method->destroy(run);
    }
    run_env_bytes_close(&bytes);
    run_env_close(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_and_word_names_follow_the_data_set),
        cmocka_unit_test(tests_use_new_speakers_and_training_does_not),
        cmocka_unit_test(curriculum_begins_with_few_words),
        cmocka_unit_test(a_clip_and_its_spectrogram_give_the_same_input),
        cmocka_unit_test(single_word_is_in_the_middle_of_its_clip),
        cmocka_unit_test(faults_name_their_field),
        cmocka_unit_test(check_names_faulty_fields),
        cmocka_unit_test(resumed_run_gives_same_bits),
        cmocka_unit_test(checkpoint_is_refused_with_other_recordings),
    };
    return cmocka_run_group_tests(tests, make_tones, remove_tones);
}
