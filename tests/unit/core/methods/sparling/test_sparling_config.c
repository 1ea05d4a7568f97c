/* Tests the configuration table of SPARLING: presets, faults, costs, and the description of each field. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/training/plan.h"

/* cmocka has no comparison for doubles. */
#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

struct seen {
    int count;
    char field[64], detail[256];
};

static void see(void *context, const char *field, const char *detail)
{
    struct seen *seen = context;
    if (seen->count++ == 0) {
        strncpy(seen->field, field, sizeof seen->field - 1);
        strncpy(seen->detail, detail, sizeof seen->detail - 1);
    }
}

static void make(struct sparling_config *config, const struct config_setting *settings)
{
    struct error err = {0};
    memset(config, 0, sizeof *config);
    assert_int_equal(config_defaults(&sparling_config_table, config, &err), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, config, settings, &err), STATUS_OK);
}

static struct seen faults_of(const struct sparling_config *config)
{
    struct seen seen = {0};
    struct method_faults faults = {&seen, see};
    sparling_check(config, &faults);
    return seen;
}

static const struct config_setting *preset(const char *name)
{
    size_t i = 0;
    while (i < SPARLING_PRESETS && strcmp(sparling_presets[i].name, name) != 0)
        i++;
    assert_true(i < SPARLING_PRESETS);
    return sparling_presets[i].settings;
}

static void presets_have_no_faults(void **state)
{
    static const char *const names[] = {"digitcircle-quick",
                                        "digitcircle",
                                        "digitcircle-paper",
                                        "latex-ocr",
                                        "latex-ocr-paper",
                                        "audio-sequence",
                                        "audio-sequence-paper",
                                        "splicing",
                                        "splicing-paper",
                                        "digitcircle-presence",
                                        "digitcircle-quick-presence",
                                        "latex-ocr-presence",
                                        "audio-sequence-presence",
                                        "dataset"};
    assert_int_equal(SPARLING_PRESETS, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < SPARLING_PRESETS; i++) {
        struct sparling_config config;
        assert_string_equal(sparling_presets[i].name, names[i]);
        make(&config, sparling_presets[i].settings);
        struct seen seen = faults_of(&config);
        if (seen.count)
            fail_msg("%s: %s %s", names[i], seen.field, seen.detail);
    }
}

static void paper_network_has_the_published_size(void **state)
{
    struct sparling_config config;
    struct method_estimate estimate;
    struct error err = {0};
    make(&config, sparling_presets[2].settings);
    assert_int_equal(sparling_parameters_g(&config), 297226);
    assert_int_equal(sparling_parameters_sparse(&config), 20);
    assert_int_equal(sparling_parameters_h(&config), 45733388);
    assert_int_equal(sparling_estimate(&config, NULL, &estimate, &err), STATUS_OK);
    assert_int_equal(estimate.parameters, 46030634);
    assert_int_equal(estimate.samples, 2 * 660000);
    assert_near(sparling_last_density(&config), 5.022621286031664e-05, 1e-18);
}

static void paper_audio_network_has_the_published_size(void **state)
{
    struct sparling_config config;
    make(&config, preset("audio-sequence-paper"));
    assert_int_equal(sparling_parameters_g(&config), 204490);
    assert_int_equal(sparling_parameters_sparse(&config), 0);
    assert_int_equal(sparling_parameters_h(&config), 44172828);
    struct sparling_geometry map = sparling_geometry(&config);
    assert_true(map.rows == 1 && map.cols == 642 && map.grid_rows == 1 && map.grid_cols == 80);
    assert_near(sparling_last_density(&config), 1.189204e-3, 1e-9);
}

static void paper_costs_match_the_table(void **state)
{
    struct sparling_config config;
    make(&config, sparling_presets[2].settings);
    assert_near(sparling_macs(&config, 8) / 1e9, 6.716, 0.0005);
    /* Of 6.716 G multiply-adds, 3.760 G are in the head h and the rest in the motif model g. With POOL_THEN_EMBED,
     * the embedding costs less. */
    config.embed_order = POOL_THEN_EMBED;
    assert_near(sparling_macs(&config, 8) / 1e9, 6.716 - 0.0512 + 0.00074, 0.0005);
}

/* Trainings of the preset `dataset` take 108,000 to 170,000 samples, those on letters 118,000 to 264,000 with a median
 * of 182,000 (docs/lab/zoo.md). The settings are those that dataset_fit() makes for pictures, for letters, and for
 * the other efforts. */
static void estimate_of_own_data_is_near_the_samples_of_its_trainings(void **state)
{
    static const struct {
        const char *total, *reading, *presence, *patience, *starts;
        int64_t least, most;
    } cases[] = {{"170000", "30000", "60000", "8", "1", 125000, 160000},
                 {"280000", "40000", "100000", "8", "1", 165000, 200000},
                 {"72000", "12000", "24000", "3", "1", 55000, 72000},
                 {"560000", "80000", "100000", "12", "3", 250000, 400000},
                 {"100000", "30000", "60000", "8", "1", 100000, 100000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct config_setting settings[] = {{"total_samples", cases[i].total},
                                                  {"reading_samples", cases[i].reading},
                                                  {"presence_samples", cases[i].presence},
                                                  {"patience", cases[i].patience},
                                                  {"starts", cases[i].starts},
                                                  {"density_start", "3.003e-3"},
                                                  {"density_final", "1e-3"},
                                                  {"density_factor", "0.57735"},
                                                  {NULL, NULL}};
        struct sparling_config config;
        struct method_estimate estimate;
        struct error err = {0};
        make(&config, preset("dataset"));
        assert_int_equal(config_apply(&sparling_config_table, &config, settings, &err), STATUS_OK);
        assert_int_equal(sparling_stages(&config), 3);
        assert_int_equal(sparling_estimate(&config, NULL, &estimate, &err), STATUS_OK);
        if (estimate.samples < cases[i].least || estimate.samples > cases[i].most)
            fail_msg("case %zu: %lld samples", i, (long long)estimate.samples);
    }
}

/* Compares the sizes of the motif model g and the head h with Appendix L of the paper. The network has an affine
 * batch norm before the sparse layer. */
static void splicing_network_has_the_published_size(void **state)
{
    struct sparling_config config;
    struct method_estimate estimate;
    struct error err = {0};
    make(&config, preset("splicing-paper"));
    assert_int_equal(sparling_parameters_g(&config), 267680);
    assert_int_equal(sparling_parameters_sparse(&config), 160);
    assert_int_equal(sparling_parameters_h(&config), 699171);
    assert_int_equal(sparling_estimate(&config, NULL, &estimate, &err), STATUS_OK);
    assert_int_equal(estimate.samples, 2 * 20 * 20000);
    assert_near(sparling_last_density(&config), 2.114141e-3, 1e-9);
    assert_int_equal(domain_shape(&config).cols, 15000);
    /* The multiply-adds for a base, layer by layer: 4x80, then 10 convolutions of 3x80x80 and 10 of 80x80, then 80x80,
     * then the head. */
    double g = 4 * 80 + 10 * 3 * 6400 + 10 * 6400 + 6400;
    double h = 80 * 32 + 5 * 1024 + 2 * 1024 * (8 * 11 + 4 * 21 + 4 * 41) + 3 * 32;
    assert_near(sparling_dilated_macs(&config), h, 0.5);
    assert_near(sparling_macs(&config, 1), 15000 * (g + h), 1);
}

static void paper_schedule_matches_the_authors_code(void **state)
{
    struct sparling_config c;
    make(&c, sparling_presets[2].settings);
    assert_int_equal(c.batch, 10);
    assert_int_equal(c.validation_every, 20000);
    assert_int_equal(c.validation_samples, 10010);
    assert_int_equal(c.total_samples, 6000000);
    assert_int_equal(c.test_samples, 10000);
    assert_int_equal(c.motif_samples, 10000);
    assert_int_equal(c.decode_extra, 2);
    assert_near(c.learning_rate, 1e-5, 0);
    assert_near(c.target_decay, 1e-7, 0);
    assert_near(c.density_start, 0.5, 0);
    assert_near(c.density_final, 4.492e-5, 0);
    assert_near(c.density_factor, 0.75, 0);
    assert_near(c.momentum, 0.9, 0);
    assert_near(c.dropout, 0.1, 0);
    assert_int_equal(c.sparsity, SPARSITY_PER_CHANNEL);
    assert_int_equal(c.batch_norm, BATCH_NORM_AFFINE);
    assert_int_equal(c.quantile, QUANTILE_KTH);
    assert_int_equal(c.head_norm, HEAD_NORM_POST);
    assert_int_equal(c.positions, POSITIONS_ROW);
    assert_int_equal(c.embed_order, EMBED_THEN_POOL);
    assert_true(c.lstm && c.identical_layers);
    assert_int_equal(c.schedule, SCHEDULE_CONSTANT);
    assert_near(c.clip_norm, 0, 0);
}

static void expect_fault(const char *field, const char *value, const char *at)
{
    struct sparling_config config;
    const struct config_setting settings[] = {{field, value}, {NULL, NULL}};
    make(&config, settings);
    struct seen seen = faults_of(&config);
    if (seen.count < 1)
        fail_msg("%s = %s raised no fault", field, value);
    assert_string_equal(seen.field, at);
    assert_true(strlen(seen.detail) > 20);
}

/* A schedule of more than 10,000 stages would neither train nor end. */
static void schedule_has_at_most_10000_stages(void **state)
{
    struct sparling_config config;
    make(&config, preset("digitcircle-quick"));
    config.density_start = 1;
    config.density_final = 1e-12;
    config.density_factor = 0.997;
    assert_int_equal(sparling_stages(&config), 1 + (int)(log(1e-12) / log(0.997)));
    assert_int_equal(faults_of(&config).count, 0);
    config.density_factor = 0.999;
    struct seen seen = faults_of(&config);
    assert_string_equal(seen.field, "density_factor");
    assert_non_null(strstr(seen.detail, "makes about 27618 stages"));
    assert_non_null(strstr(seen.detail, "at most 10000"));
}

/* If check() has not limited the number of stages, as in a configuration that an earlier version stored, the function
 * that counts them must still end. */
static void unchecked_schedule_ends(void **state)
{
    struct sparling_config config;
    struct method_estimate estimate;
    struct error err = {0};
    make(&config, preset("digitcircle-quick"));
    config.density_factor = 0.999999999999;
    assert_int_equal(sparling_stages(&config), SPARLING_STAGES + 1);
    config.density_factor = 0.75;
    config.density_final = 5e-324;
    assert_int_equal(sparling_stages(&config), SPARLING_STAGES + 1);
    assert_int_equal(sparling_estimate(&config, NULL, &estimate, &err), STATUS_OK);
}

static void densities_that_no_schedule_reaches_are_refused(void **state)
{
    static const struct {
        const char *field;
        double value;
    } cases[] = {{"density_final", 5e-324},
                 {"density_start", 5e-324},
                 {"density_factor", 0.999999999999},
                 {"density_factor", 1e-300}};
    struct sparling_config config;
    make(&config, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {0};
        assert_int_equal(
            config_set_number(config_find(&sparling_config_table, cases[i].field), &config, cases[i].value, &err),
            STATUS_INVALID);
    }
}

static void cross_field_faults_name_their_field(void **state)
{
    struct sparling_config config;
    expect_fault("heads", "7", "heads");
    expect_fault("min_symbols", "9", "min_symbols");
    expect_fault("max_symbols", "2", "min_symbols");
    expect_fault("classes", "4", "max_symbols");
    expect_fault("min_radius", "35", "min_radius");
    expect_fault("shift", "20", "min_radius");
    expect_fault("density_final", "0.9", "density_final");
    expect_fault("backward", "sparse", "hold_below");
    expect_fault("motif_scale", "rms", "motif_scale");
    expect_fault("motif_floor", "1", "motif_floor");
    expect_fault("rank_positions", "true", "rank_positions");
    expect_fault("latex_rows", "64", "latex_rows"); /* latex_rows is a field of another domain */
    expect_fault("objective", "single-motifs", "sparsity");
    make(&config,
         (const struct config_setting[]){{"accumulate_motifs", "10"}, {"accumulate_elements", "100"}, {NULL, NULL}});
    assert_string_equal(faults_of(&config).field, "accumulate_elements");
    expect_fault("chance_shuffles", "10", "chance_shuffles");
    expect_fault("splicing_reach", "50", "splicing_reach");
    make(&config, (const struct config_setting[]){{"domain", "splicing"}, {"context", "500"}, {NULL, NULL}});
    assert_string_equal(faults_of(&config).field, "context");
    make(&config, (const struct config_setting[]){{"units", "40"}, {"narrow_units", "30"}, {NULL, NULL}});
    assert_string_equal(faults_of(&config).field, "narrow_units");
    make(&config,
         (const struct config_setting[]){{"domain", "splicing"}, {"dilation", "2"}, {"units", "20"}, {NULL, NULL}});
    assert_string_equal(faults_of(&config).field, "dilation");
    make(&config, (const struct config_setting[]){{"domain", "splicing"}, {"stride", "2"}, {NULL, NULL}});
    assert_string_equal(faults_of(&config).field, "stride");
    make(&config, (const struct config_setting[]){{"stride", "2"}, {"sparsity", "l1"}, {NULL, NULL}});
    assert_string_equal(faults_of(&config).field, "stride");
    make(&config, (const struct config_setting[]){{"hold_below", "0.4"}, {"backward", "sparse"}, {NULL, NULL}});
    assert_int_equal(faults_of(&config).count, 0);
}

/* Writes what the faults of a field say, one after another. */
struct details {
    const char *field;
    char text[1024];
};

static void add_detail(void *context, const char *field, const char *detail)
{
    struct details *details = context;
    if (strcmp(field, details->field) == 0)
        strncat(details->text, detail, sizeof details->text - strlen(details->text) - 1);
}

static void a_fault_of_matrix_scores_says_which_condition_is_not_met(void **state)
{
    static const char *const cause[] = {"got 4 channels", "strands=both", "calibrate=false"};
    for (int wrong = 0; wrong < 3; wrong++) {
        struct sparling_config config;
        struct details details = {.field = "matrix_scores"};
        make(&config, preset("dataset"));
        config.matrix_scores = config.calibrate = true;
        config.strands = wrong == 1 ? STRANDS_BOTH : STRANDS_ONE;
        config.calibrate = wrong != 2;
        config.dataset.channels = 4;
        config.dataset.cols = 100;
        config.dataset.tokens = config.dataset.longest = 2;
        config.dataset.rows = wrong == 0 ? 3 : 1;
        sparling_check(&config, &(struct method_faults){&details, add_detail});
        for (int i = 0; i < 3; i++)
            assert_true(!strstr(details.text, cause[i]) == (i != wrong));
    }
}

/* Fields about thresholds have no effect on bottlenecks that have no thresholds. */
static void presets_work_with_every_bottleneck(void **state)
{
    static const char *const bottlenecks[] = {"per-channel", "single", "l1",       "kl",
                                              "noise",       "none",   "identity", "scaled-l1"};
    int reinitialise = 0, collect = 0;
    for (size_t i = 0; i < SPARLING_PRESETS; i++)
        for (size_t j = 0; j < sizeof bottlenecks / sizeof bottlenecks[0]; j++) {
            struct sparling_config config;
            make(&config, sparling_presets[i].settings);
            int faults = faults_of(&config).count; /* the preset `dataset` has a fault, because it names no data set */
            assert_int_equal(
                config_parse(config_find(&sparling_config_table, "sparsity"), &config, bottlenecks[j], NULL),
                STATUS_OK);
            assert_int_equal(faults_of(&config).count, faults);
            assert_true(!sparling_reinitialises(&config) || config.sparsity == SPARSITY_PER_CHANNEL);
            assert_true(!sparling_collects(&config) || sparling_thresholds(&config));
            reinitialise += sparling_reinitialises(&config);
            collect += sparling_collects(&config);
        }
    assert_true(reinitialise >= 2 && collect >= 4);
}

static void reinitialisation_applies_only_with_thresholds_of_each_channel(void **state)
{
    static const struct config_setting cases[][4] = {
        {{"reinitialise_below", "0.1"}, {NULL, NULL}},
        {{"reinitialise_below", "0.1"}, {"domain", "splicing"}, {NULL, NULL}},
        {{"reinitialise_below", "0"}, {NULL, NULL}},
        {{"reinitialise_below", "0.1"}, {"freeze", "motifs"}, {NULL, NULL}},
        {{"reinitialise_below", "0.1"}, {"accumulate_motifs", "10"}, {NULL, NULL}},
        {{"reinitialise_below", "0.1"}, {"sparsity", "single"}, {NULL, NULL}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sparling_config config;
        make(&config, cases[i]);
        assert_int_equal(sparling_reinitialises(&config), i < 2);
    }
}

static void all_faults_are_reported(void **state)
{
    struct sparling_config config;
    const struct config_setting settings[] = {
        {"heads", "7"}, {"min_symbols", "8"}, {"min_radius", "90"}, {"total_samples", "3"}, {NULL, NULL}};
    make(&config, settings);
    assert_int_equal(faults_of(&config).count, 4);
}

static void field_names_are_unique(void **state)
{
    const struct config_table *table = &sparling_config_table;
    for (size_t i = 0; i < table->count; i++) {
        assert_true(strlen(table->fields[i].meaning) > 10);
        assert_ptr_equal(config_find(table, table->fields[i].name), &table->fields[i]);
    }
    static const char *const fixed[] = {
        "seed",     "threads",  "total_samples", "checkpoint_every", "density_start", "density_final", "density_factor",
        "sparsity", "backward", "width",         "channels",         "layers",        "batch",         "learning_rate"};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        assert_non_null(config_find(table, fixed[i]));
}

/* Returns whether the text between `from` and `to` is a choice of the field or, if the field is a flag, "true" or
 * "false". */
static bool has_value(const struct config_field *field, const char *from, const char *to)
{
    static const char *const flags[] = {"true", "false", NULL};
    const char *const *names = field->type == FIELD_BOOL ? flags : field->choices;
    for (; names && *names; names++)
        if (strlen(*names) == (size_t)(to - from) && memcmp(*names, from, (size_t)(to - from)) == 0)
            return true;
    return false;
}

/* Fails on a clause "FIELD=VALUE|VALUE" that names no field of the table, or no value of that field. */
static void check_applies(const struct config_field *field)
{
    const char *at = field->applies;
    while (at && *at) {
        const char *equals = strchr(at, '='), *end = at + strcspn(at, " ");
        char name[CONFIG_TEXT] = "";
        if (!equals || equals > end || (size_t)(equals - at) >= sizeof name)
            fail_msg("%s applies where \"%s\"", field->name, at);
        memcpy(name, at, (size_t)(equals - at));
        const struct config_field *other = config_find(&sparling_config_table, name);
        if (!other || (other->type != FIELD_CHOICE && other->type != FIELD_BOOL))
            fail_msg("%s applies where %s has a value, which is no choice or flag", field->name, name);
        for (const char *value = equals + 1; value < end; value += strcspn(value, "| ") + 1)
            if (!has_value(other, value, value + strcspn(value, "| ")))
                fail_msg("%s applies where %s is \"%s\", which it cannot be", field->name, name, value);
        at = *end ? end + 1 : end;
    }
}

static void every_field_has_a_sentence_and_a_place(void **state)
{
    enum { BASIC_MOST = 12 };
    int basic = 0;
    for (size_t i = 0; i < sparling_config_table.count; i++) {
        const struct config_field *field = &sparling_config_table.fields[i];
        size_t length = strlen(field->meaning);
        if (length < 2 || field->meaning[0] < 'A' || field->meaning[0] > 'Z' || field->meaning[length - 1] != '.')
            fail_msg("%s: \"%s\" is no sentence", field->name, field->meaning);
        assert_true(field->group < FIELD_GROUPS && field->level < FIELD_LEVELS);
        check_applies(field);
        basic += field->level == LEVEL_BASIC;
    }
    assert_in_range(basic, 1, BASIC_MOST);
}

static void fields_of_other_domains_do_not_apply(void **state)
{
    static const struct config_setting settings[] = {{"domain", "latex"}, {NULL, NULL}};
    struct sparling_config config;
    make(&config, settings);
    assert_true(config_applies(&sparling_config_table, config_find(&sparling_config_table, "latex_rows"), &config));
    assert_false(config_applies(&sparling_config_table, config_find(&sparling_config_table, "image_size"), &config));
    assert_true(config_applies(&sparling_config_table, config_find(&sparling_config_table, "heads"), &config));
    assert_false(config_applies(&sparling_config_table, config_find(&sparling_config_table, "kl_rate"), &config));
}

static void the_plan_lists_the_phases_that_a_configuration_has(void **state)
{
    const struct {
        const char *preset;
        const struct config_setting change[4];
        const char *phases; /* names and what trains: g (G), the head (H), both (B) or nothing (-) */
    } rows[] = {
        {"digitcircle-quick", {{NULL, NULL}}, "joint:B evaluation:- "},
        {"digitcircle-quick",
         {{"objective", "single-motifs"}, {"sparsity", "identity"}, {NULL, NULL}},
         "single-motifs:G evaluation:- "},
        {"digitcircle-presence", {{NULL, NULL}}, "motifs:G joint:B falling-rate:B calibration:- head:H evaluation:- "},
        {"digitcircle-presence",
         {{"patience", "0"}, {"calibrate", "false"}, {"reading_samples", "0"}, {NULL, NULL}},
         "motifs:G joint:B evaluation:- "},
        {"dataset",
         {{"starts", "3"}, {"reading_samples", "0"}, {NULL, NULL}},
         "compare-starts:G best-start:G motifs:G joint:B falling-rate:B calibration:- evaluation:- "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sparling_config config;
        struct error err = {0};
        struct plan plan;
        char seen[256] = "";
        make(&config, preset(rows[i].preset));
        assert_int_equal(config_apply(&sparling_config_table, &config, rows[i].change, &err), STATUS_OK);
        plan_build(&config, &plan);
        for (int j = 0; j < plan.count; j++) {
            char one[64];
            (void)snprintf(one, sizeof one, "%s:%c ", plan_phase_name(plan.row[j].name), "-GHB"[plan.row[j].trains]);
            strcat(seen, one);
            assert_int_equal(plan_find(&plan, plan.row[j].name), j);
        }
        assert_string_equal(seen, rows[i].phases);
    }
}

static void the_plan_is_described_with_its_learning_rates_and_ends(void **state)
{
    struct method_phase phase[METHOD_PHASES];
    struct sparling_config config;
    make(&config, preset("digitcircle-quick"));
    assert_int_equal(sparling_plan(&config, phase), 2);
    assert_string_equal(phase[0].until, "9 stages from density 0.00147 to 0.000147");
    assert_string_equal(phase[0].curve, "linear");
    assert_near(phase[0].rate_from, 1e-3, 1e-12);
    assert_near(phase[0].rate_to, 5e-5, 1e-12);
    assert_string_equal(phase[0].objectives[0], "labels");
    assert_null(phase[0].objectives[1]);
    assert_null(phase[1].trains);
    assert_null(phase[1].curve);
    make(&config, preset("digitcircle-presence"));
    assert_int_equal(sparling_plan(&config, phase), 6);
    assert_string_equal(phase[0].until, "2 validations without a lower loss");
    assert_string_equal(phase[0].objectives[0], "presence");
    assert_near(phase[4].samples, 100000, 0.5);
    config.freeze = FREEZE_MOTIFS;
    assert_int_equal(sparling_plan(&config, phase), 6);
    assert_string_equal(phase[1].trains, "head");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_a_sentence_and_a_place),
        cmocka_unit_test(fields_of_other_domains_do_not_apply),
        cmocka_unit_test(presets_have_no_faults),
        cmocka_unit_test(paper_network_has_the_published_size),
        cmocka_unit_test(paper_audio_network_has_the_published_size),
        cmocka_unit_test(paper_costs_match_the_table),
        cmocka_unit_test(estimate_of_own_data_is_near_the_samples_of_its_trainings),
        cmocka_unit_test(splicing_network_has_the_published_size),
        cmocka_unit_test(paper_schedule_matches_the_authors_code),
        cmocka_unit_test(schedule_has_at_most_10000_stages),
        cmocka_unit_test(unchecked_schedule_ends),
        cmocka_unit_test(densities_that_no_schedule_reaches_are_refused),
        cmocka_unit_test(cross_field_faults_name_their_field),
        cmocka_unit_test(a_fault_of_matrix_scores_says_which_condition_is_not_met),
        cmocka_unit_test(presets_work_with_every_bottleneck),
        cmocka_unit_test(reinitialisation_applies_only_with_thresholds_of_each_channel),
        cmocka_unit_test(all_faults_are_reported),
        cmocka_unit_test(field_names_are_unique),
        cmocka_unit_test(the_plan_lists_the_phases_that_a_configuration_has),
        cmocka_unit_test(the_plan_is_described_with_its_learning_rates_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
