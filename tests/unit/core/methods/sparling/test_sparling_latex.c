/* Tests LaTeX-OCR as a domain of SPARLING: the size of the published network, samples, curriculum, and a small run. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static const struct config_setting *preset(const char *name)
{
    for (size_t i = 0; i < SPARLING_PRESETS; i++)
        if (strcmp(sparling_presets[i].name, name) == 0)
            return sparling_presets[i].settings;
    fail_msg("no preset %s", name);
    return NULL;
}

static void configure(struct sparling_config *config, const struct config_setting *settings)
{
    memset(config, 0, sizeof *config);
    assert_ok(config_defaults(&sparling_config_table, config, err));
    assert_ok(config_apply(&sparling_config_table, config, settings, err));
}

static void paper_network_has_the_published_size(void **state)
{
    struct sparling_config config;
    struct method_estimate estimate;
    configure(&config, preset("latex-ocr-paper"));
    assert_int_equal(sparling_parameters_g(&config), 1188000);
    assert_int_equal(sparling_parameters_sparse(&config), 0);
    assert_int_equal(sparling_parameters_h(&config), 45761052);
    assert_int_equal(sparling_vocabulary(&config), 28);
    assert_near(sparling_last_density(&config), 8.939187e-6, 1e-12);
    assert_near(sparling_macs(&config, 18) / 1e9, 70.96, 0.01);
    assert_near(sparling_macs(&config, 32) / 1e9, 71.33, 0.01);
    assert_int_equal(sparling_geometry(&config).reach, 64);
    assert_int_equal(sparling_geometry(&config).grid_rows, 15);
    assert_int_equal(sparling_geometry(&config).grid_cols, 45);
    assert_ok(sparling_estimate(&config, NULL, &estimate, err));
    assert_int_equal(estimate.parameters, 46949052);
    assert_int_equal(estimate.samples, 2 * 39 * 20000);
}

/* Labels are without START and END. The names of a label's tokens, joined, are the LaTeX source of the formula. */
static void samples_have_labels_boxes_and_names_of_the_generator(void **state)
{
    struct sparling_config config;
    struct open_domain domain;
    struct domain_truth *truth;
    configure(&config, preset("latex-ocr-paper"));
    assert_ok(domain_open(&config, NULL, &domain, err));
    assert_ok(domain_truths_create(&domain.shape, 1, &truth, err));
    size_t pixels = domain_inputs(&domain.shape);
    assert_int_equal(pixels, 120 * 360);
    float *image = malloc(2 * pixels * sizeof *image), *direct = image + pixels;
    char text[256];

    struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = 1, .index = 3};
    assert_ok(domain.domain->sample(domain.state, &request, image, truth, err));
    domain_label(&domain, truth->label, truth->length, text, sizeof text);
    assert_string_equal(text, "\\frac{9_{b}}{c_{z}5^{0}}");
    assert_int_equal(truth->length, 15);

    struct latex latex = latex_of(&config.latex);
    struct latex_font *font;
    struct latex_truth drawn;
    assert_ok(latex_font_create(latex.dpi, NULL, &font, err));
    latex_sample(&latex, font, 1, 3, direct, &drawn);
    assert_memory_equal(image, direct, pixels * sizeof *image);
    assert_int_equal(truth->boxes, drawn.count);
    assert_memory_equal(truth->box, drawn.boxes, (size_t)drawn.count * sizeof *truth->box);
    assert_string_equal(domain.domain->symbol(domain.state, truth->box[0].symbol), "FRACBAR");
    assert_null(domain.domain->symbol(domain.state, LATEX_CLASSES));
    assert_null(domain.domain->token(domain.state, -1));

    struct domain_request example = {.set = DOMAIN_EXAMPLE, .seed = 9, .index = 2};
    assert_ok(domain.domain->sample(domain.state, &example, image, truth, err));
    domain_label(&domain, truth->label, truth->length, text, sizeof text);
    assert_string_equal(text, "\\frac{b}{a_{0}}"); /* this formula is in the published test set */
    assert_near(domain.domain->mean_symbols(domain.state), 9.64, 1e-9);
    assert_ok(domain.domain->sample(domain.state, &example, image, NULL, err));
    domain.domain->grey(domain.state, image, direct);
    for (size_t i = 0; i < pixels; i++)
        assert_true(direct[i] == 1 - image[i]);

    latex_font_destroy(font);
    free(image);
    domain_truths_destroy(truth);
    domain_close(&domain);
}

/* The label of a single character is its symbol. The domain prepares single characters only if the configuration uses
 * them. */
static void single_characters_need_to_be_requested(void **state)
{
    struct sparling_config config;
    struct open_domain domain, single;
    struct domain_truth *truth;
    struct error none = {0};
    float image[40 * 40];
    bool seen[LATEX_CLASSES] = {false};
    configure(&config, preset("latex-ocr-paper"));
    for (int asked = 0; asked < 2; asked++) {
        config.single_samples = asked;
        assert_ok(domain_open(&config, NULL, &domain, err));
        single = domain_single(&config, &domain);
        assert_int_equal(domain_inputs(&single.shape), sizeof image / sizeof *image);
        assert_ok(domain_truths_create(&single.shape, 1, &truth, err));
        for (int64_t i = 0; asked && i < 300; i++) {
            struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = -2, .index = i};
            assert_ok(domain_sample(&single, &request, image, truth, err));
            assert_int_equal(truth->length, 1);
            assert_in_range(truth->label[0], 0, LATEX_CLASSES - 1);
            seen[truth->label[0]] = true;
        }
        struct domain_request request = {.set = DOMAIN_SAMPLE};
        if (!asked)
            assert_int_equal(domain_sample(&single, &request, image, truth, &none), STATUS_INTERNAL);
        domain_truths_destroy(truth);
        domain_close(&domain);
    }
    for (int i = 0; i < LATEX_CLASSES; i++)
        assert_int_equal(seen[i], i != LATEX_CLASS_BAR);
}

static const struct config_setting tiny[] = {{"domain", "latex"},
                                             {"latex_rows", "32"},
                                             {"latex_cols", "64"},
                                             {"latex_dpi", "90"},
                                             {"latex_max_tokens", "6"},
                                             {"latex_symbols", "4"},
                                             {"latex_noise", "0.1"},
                                             {"latex_margin", "1"},
                                             {"width", "8"},
                                             {"units", "2"},
                                             {"motifs", "8"},
                                             {"channels", "16"},
                                             {"layers", "1"},
                                             {"heads", "2"},
                                             {"feed_forward", "32"},
                                             {"pool", "4"},
                                             {"batch_norm", "plain"},
                                             {"accumulate_motifs", "10"},
                                             {"batch", "4"},
                                             {"learning_rate", "1e-2"},
                                             {"validation_every", "20"},
                                             {"validation_samples", "9"},
                                             {"checkpoint_every", "1000"},
                                             {"total_samples", "60"},
                                             {"density_start", "0.01"},
                                             {"density_factor", "0.5"},
                                             {"density_final", "0.002"},
                                             {"plateau_validations", "1"},
                                             {"plateau_gain", "0.99"},
                                             {"plateau_density", "1e-9"},
                                             {"motif_samples", "6"},
                                             {"test_samples", "5"},
                                             {"stage_samples", "0"},
                                             {"curriculum", "48"},
                                             {NULL, NULL}};

/* During the curriculum some formulas are empty, and the largest number of tokens grows from 1 to 6. After it, formulas
 * have 1 to 6 tokens. */
static void curriculum_begins_with_short_formulas(void **state)
{
    struct sparling_config config;
    struct open_domain domain;
    struct domain_truth *truth;
    configure(&config, tiny);
    assert_ok(domain_open(&config, NULL, &domain, err));
    assert_ok(domain_truths_create(&domain.shape, 1, &truth, err));
    float *image = malloc(domain_inputs(&domain.shape) * sizeof *image);
    for (int64_t seen = 0; seen <= 48; seen += 8) {
        int shortest = 99, longest = 0;
        for (int64_t i = 0; i < 100; i++) {
            struct domain_request request = {.set = DOMAIN_LESSON, .seed = 1, .index = i, .seen = seen};
            assert_ok(domain.domain->sample(domain.state, &request, image, truth, err));
            shortest = truth->length < shortest ? truth->length : shortest;
            longest = truth->length > longest ? truth->length : longest;
        }
        assert_int_equal(shortest, seen < 48 ? 0 : 1);
        assert_int_equal(longest, seen < 48 ? 1 + seen / 8 : 6);
    }
    free(image);
    domain_truths_destroy(truth);
    domain_close(&domain);
}

static void keep_field(void *context, const char *field, const char *detail)
{
    strcat(context, field);
    strcat(context, " ");
}

static void check_names_faulty_fields(void **state)
{
    struct sparling_config config;
    char fields[128] = "";
    struct method_faults found = {fields, keep_field};
    configure(&config, tiny);
    sparling_check(&config, &found);
    assert_string_equal(fields, "");
    config.latex.min_tokens = 7;
    config.digitcircle.classes = 4; /* the fault of a field of another domain is reported too */
    sparling_check(&config, &found);
    assert_string_equal(fields, "latex_min_tokens classes ");
}

struct outcome {
    char hash[65];
    struct evaluation_row row;
};

/* Trains to the end. With `every`, saves the run and loads it into a new run after every `every` steps. */
static void run_through(int threads, int every, struct outcome *out)
{
    struct run_env environment;
    struct sparling_config config;
    enum method_request request = METHOD_CONTINUE;
    struct method_run *run = NULL;
    memset(out, 0, sizeof *out);
    configure(&config, tiny);
    assert_ok(run_env_open(&environment, threads, NULL, err));
    assert_ok(sparling_method.create(&config, &environment.env, &run, err));
    run->step_seconds = 0;
    for (int step = 1; request != METHOD_DONE; step++) {
        struct run_env_bytes bytes = {0};
        assert_ok(run_env_step(&environment, &sparling_method, run, &request, err));
        if (every == 0 || step % every != 0 || request == METHOD_DONE)
            continue;
        assert_ok(run_env_save(&sparling_method, run, &bytes, err));
        sparling_method.destroy(run);
        assert_ok(sparling_method.create(&config, &environment.env, &run, err));
        run->step_seconds = 0;
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_ok(sparling_method.load(run, &reader, err));
        run_env_bytes_close(&bytes);
    }
    struct run_env_bytes bytes = {0};
    assert_ok(run_env_save(&sparling_method, run, &bytes, err));
    assert_ok(run_env_weights_hash(&bytes, out->hash, err));
    run_env_bytes_close(&bytes);
    out->row = run->evaluation.row[run->evaluation.rows - 1];
    assert_true(run->evaluation.errors.symbols == LATEX_CLASSES);
    sparling_method.destroy(run);
    run_env_close(&environment);
}

/* Collects numbers of a result, from its top level and from its member "fne_by_symbol". */
struct numbers_expected {
    int depth, misses; /* depth: depth of nesting; misses: depth at which "fne_by_symbol" began, 0 outside of it */
    double ce, ce_assignment, ce_majority, of_zero, of_bar;
};

static void begin(void *context, const char *key)
{
    struct numbers_expected *n = context;
    n->depth++;
    if (key && strcmp(key, "fne_by_symbol") == 0)
        n->misses = n->depth;
}

static void end(void *context)
{
    struct numbers_expected *n = context;
    if (n->misses == n->depth--)
        n->misses = 0;
}

static void number(void *context, const char *key, double value)
{
    struct numbers_expected *n = context;
    const struct {
        const char *name;
        double *at;
        bool miss;
    } wanted[] = {{"ce", &n->ce, false},
                  {"ce_assignment", &n->ce_assignment, false},
                  {"ce_majority", &n->ce_majority, false},
                  {"0", &n->of_zero, true},
                  {"FRACBAR", &n->of_bar, true}};
    for (size_t i = 0; key && i < sizeof wanted / sizeof wanted[0]; i++)
        if (strcmp(key, wanted[i].name) == 0 && wanted[i].miss == (n->misses > 0) && (n->depth == 0 || n->misses > 0))
            *wanted[i].at = value;
}

static void integer(void *context, const char *key, int64_t value) {}
static void boolean(void *context, const char *key, bool value) {}
static void text(void *context, const char *key, const char *value) {}
static void nothing(void *context, const char *key) {}

/* Several channels may mark one character, so "ce" assigns each channel its most frequent symbol (majority). */
static void result_has_majority_errors_and_misses_by_symbol(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct method_run *run = NULL;
    struct numbers_expected found = {.of_bar = -1};
    const struct sink sink = {&found, begin, end, begin, end, number, integer, boolean, text, nothing};
    configure(&config, tiny);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    assert_ok(sparling_method.create(&config, &environment.env, &run, err));
    run->activity = ACTIVITY_DONE;
    run->evaluation.rows = 1;
    run->evaluation.row[0] = (struct evaluation_row){.ce = 0.5, .ce_majority = 0.25};
    int64_t *zero = run->evaluation.errors.boxes + LATEX_CLASS_DIGIT * (8 + 1);
    zero[1] = 2;
    zero[5] = 1;
    zero[8] = 1; /* one box has no motif */
    assert_ok(sparling_method.result(run, &sink, err));
    assert_near(found.ce, 0.25, 0);
    assert_near(found.ce_assignment, 0.5, 0);
    assert_near(found.ce_majority, 0.25, 0);
    assert_near(found.of_zero, 0.25, 0);
    assert_near(found.of_bar, -1, 0); /* the fraction bar did not occur, so the result has no number for it */
    sparling_method.destroy(run);
    run_env_close(&environment);
}

static void resumed_run_gives_same_bits(void **state)
{
    struct outcome whole, parts;
    run_through(1, 0, &whole);
    run_through(2, 3, &parts);
    assert_string_equal(whole.hash, parts.hash);
    assert_memory_equal(&whole.row, &parts.row, sizeof whole.row);
    assert_true(whole.row.e2ee >= 0 && whole.row.e2ee <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paper_network_has_the_published_size),
        cmocka_unit_test(samples_have_labels_boxes_and_names_of_the_generator),
        cmocka_unit_test(single_characters_need_to_be_requested),
        cmocka_unit_test(curriculum_begins_with_short_formulas),
        cmocka_unit_test(check_names_faulty_fields),
        cmocka_unit_test(resumed_run_gives_same_bits),
        cmocka_unit_test(result_has_majority_errors_and_misses_by_symbol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
