/* Tests the verdict of a SPARLING run. Each finding is tested with a case in which it occurs and with a similar case in
 * which it does not. A run that was loaded after its end must give the same verdict.
 *
 * Most tests start with an untrained run and fill in the figures of a good training. Each test then changes the figures
 * that its finding depends on. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"
#include "tests/support/tiny_network.h"

static const struct method *const method = &sparling_method;
enum { NAMES = 4 };

static const struct config_setting tiny[] = {TINY_NETWORK,
                                             {"image_size", "48"},
                                             {"max_symbols", "2"},
                                             {"min_radius", "6"},
                                             {"motifs", "4"},
                                             {"batch", "4"},
                                             {"validation_every", "16"},
                                             {"validation_samples", "500"},
                                             {"test_samples", "2000"},
                                             {"motif_samples", "2000"},
                                             {"stage_samples", "500"},
                                             {"checkpoint_every", "40"},
                                             {"total_samples", "160"},
                                             {"density_start", "0.01"},
                                             {"density_final", "0.004"},
                                             {"curriculum", "0"},
                                             {NULL, NULL}};

struct fixture {
    struct run_env environment;
    struct sparling_config config;
    struct method_run *run;
    struct findings findings;
};

/* Fills in the evidence of a good training: every name is in half of the labels, the answers contain it for 98 % of
 * these, and it has a channel. */
static void be_good(struct method_run *run)
{
    struct evaluation *e = &run->evaluation;
    struct evidence_sums *s = &e->evidence.sums;
    run->activity = ACTIVITY_DONE;
    run->samples = run->config.total_samples;
    run->accuracy = 0.97;
    run->annealer.target = 0.96;
    run->annealer.density = sparling_last_density(&run->config);
    e->rows = 1;
    e->row[0] = (struct evaluation_row){
        .density = run->annealer.density, .e2ee = 0.02, .exact = 0.96, .checkpoint = 9, .test_samples = 2000};
    *s = (struct evidence_sums){.read = 2000,
                                .exact = 1920,
                                .unordered = 1940,
                                .low = 0,
                                .high = 1,
                                .trained = 2000,
                                .trained_exact = 1940,
                                .trained_low = 0,
                                .trained_high = 1,
                                .constant_exact = 0.1,
                                .constant_edit = 0.8,
                                .chance_exact = 0.08,
                                .chance_edit = 0.85,
                                .longest = 2,
                                .shortest = 1};
    for (int t = 0; t < NAMES; t++)
        e->evidence.tokens[t] = (struct evidence_token){.present = 1000,
                                                        .read = 1000,
                                                        .both = 980,
                                                        .trained = 1000,
                                                        .channel = t,
                                                        .strength = 0.96,
                                                        .explained = 0.97};
    for (int c = 0; c < NAMES; c++)
        e->evidence.channels[c] = (struct channel_name){
            .active = 1000, .whole = 0.96, .names = 1, .token = {c}, .strength = {0.96}, .same = -1};
    e->motif_counts = (struct motif_counts){.samples = 2000, .motifs = 3000, .tokens = 3000};
}

static int setup(void **state)
{
    struct fixture *f = test_calloc(1, sizeof *f);
    assert_ok(config_defaults(&sparling_config_table, &f->config, err));
    assert_ok(config_apply(&sparling_config_table, &f->config, tiny, err));
    assert_ok(run_env_open(&f->environment, 1, NULL, err));
    assert_ok(method->create(&f->config, &f->environment.env, &f->run, err));
    be_good(f->run);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    method->destroy(f->run);
    run_env_close(&f->environment);
    test_free(f);
    return 0;
}

static const struct finding *found(struct fixture *f, const char *code)
{
    f->findings.count = 0;
    assert_ok(method->judge(f->run, &f->findings, err));
    for (int i = 0; i < f->findings.count; i++)
        if (strcmp(f->findings.list[i].code->code, code) == 0)
            return &f->findings.list[i];
    return NULL;
}

/* Asserts that `code` is the only finding, and returns the verdict. */
static enum verdict verdict_by(struct fixture *f, const char *code)
{
    assert_non_null(found(f, code));
    assert_int_equal(f->findings.count, 1);
    return findings_verdict(&f->findings);
}

static struct evidence *evidence_of(struct fixture *f)
{
    return &f->run->evaluation.evidence;
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static void good_run_gives_learned_without_findings(void **state)
{
    struct fixture *f = *state;
    assert_null(found(f, "none"));
    assert_int_equal(f->findings.count, 0);
    assert_int_equal(findings_verdict(&f->findings), VERDICT_LEARNED);
}

static void run_in_progress_has_no_verdict(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    f->run->activity = ACTIVITY_TRAIN;
    assert_int_equal(method->judge(f->run, &f->findings, &err), STATUS_CONFLICT);
}

static void error_of_a_constant_answer_gives_not_learned(void **state)
{
    struct fixture *f = *state;
    struct evaluation_row *row = &f->run->evaluation.row[0];
    row->e2ee = 0.7; /* a constant answer has the error .8; .7 is less than a fifth lower */
    assert_int_equal(verdict_by(f, "no-better-than-constant"), VERDICT_NOT_LEARNED);
    row->e2ee = 0.6;
    assert_int_equal(verdict_by(f, "low-accuracy"), VERDICT_PARTLY);
    row->e2ee = 0.39;
    assert_null(found(f, "low-accuracy"));
    /* now a label drawn at random has the error .5 and is a better answer than the constant */
    evidence_of(f)->sums.chance_edit = 0.5;
    assert_int_equal(verdict_by(f, "low-accuracy"), VERDICT_PARTLY);
}

static void one_unread_name_gives_partly_and_half_of_the_names_give_not_learned(void **state)
{
    struct fixture *f = *state;
    struct evidence_token *tokens = evidence_of(f)->tokens;
    tokens[2].read = tokens[2].both = 0;
    assert_int_equal(verdict_by(f, "symbol-not-read"), VERDICT_PARTLY);
    assert_non_null(strstr(found(f, "symbol-not-read")->text, "1 of 4 names"));
    /* the answers contain this name nearly independently of the label */
    tokens[0] = (struct evidence_token){.present = 1000, .read = 1100, .both = 560, .trained = 1000, .explained = 0.9};
    assert_int_equal(verdict_by(f, "most-symbols-not-read"), VERDICT_NOT_LEARNED);
    tokens[0].both = 900; /* now answers and labels have a correlation of about .7, far from 0 */
    assert_int_equal(verdict_by(f, "symbol-not-read"), VERDICT_PARTLY);
}

static void poorly_read_name_without_a_channel_of_its_own_gives_partly(void **state)
{
    struct fixture *f = *state;
    struct evidence *e = evidence_of(f);
    struct evidence_token *token = &e->tokens[1];
    token->both = 760; /* correlation .52 over 2,000 samples: surely below .6 */
    token->strength = token->explained = 0.48;
    token->channel = 2; /* the best channel for the name stands for another name */
    assert_int_equal(verdict_by(f, "symbol-read-poorly"), VERDICT_PARTLY);
    assert_non_null(strstr(found(f, "symbol-read-poorly")->text, "(0.52)"));
    token->both = 795; /* correlation .59: the true correlation may be .6 */
    assert_null(found(f, "symbol-read-poorly"));
    token->both = 760;
    token->channel = 1;
    e->channels[1].names = 0; /* the best channel for the name predicts no name well enough */
    assert_non_null(found(f, "symbol-read-poorly"));
    *token = (struct evidence_token){.present = 8, .read = 8, .both = 4, .trained = 8, .explained = 0.9};
    assert_null(found(f, "symbol-read-poorly")); /* too few samples have the name */
}

static void poorly_read_name_with_a_channel_that_is_no_better_on_training_samples_is_a_note(void **state)
{
    struct fixture *f = *state;
    struct evidence *e = evidence_of(f);
    struct evidence_token *token = &e->tokens[1];
    token->both = 760;
    token->strength = token->explained = e->channels[1].strength[0] = 0.6;
    assert_int_equal(verdict_by(f, "symbol-often-misread"), VERDICT_LEARNED);
    assert_non_null(strstr(found(f, "symbol-often-misread")->text, "(0.52)"));
    assert_null(found(f, "symbol-read-poorly"));
    token->strength = 0.9; /* the channel has learned training samples by heart */
    assert_int_equal(verdict_by(f, "symbol-read-poorly"), VERDICT_PARTLY);
    token->strength = 0.4; /* the model's answers predict the name better than its channel does, so they also depend on
                              other channels */
    assert_int_equal(verdict_by(f, "symbol-read-poorly"), VERDICT_PARTLY);
    token->strength = 0.6;
    token->both = 660; /* correlation .32 over 2,000 samples: the true correlation may be below .3 */
    assert_int_equal(verdict_by(f, "symbol-read-poorly"), VERDICT_PARTLY);
    token->both = 760;
    e->sums.longest = 1; /* classes may share channels */
    assert_int_equal(verdict_by(f, "symbol-read-poorly"), VERDICT_PARTLY);
}

/* A class that the model reads badly, and whose channel reads most of the input, says that the others are absent. */
static void class_without_a_place_says_that_the_others_are_absent(void **state)
{
    struct fixture *f = *state;
    struct evidence *e = evidence_of(f);
    struct channel_extent *extent = f->run->evaluation.extents.channel;
    e->sums.longest = 1;
    for (int t = 0; t < NAMES; t++)
        extent[t] = (struct channel_extent){100, -4, 5, -4, 5, 0, 0};
    e->tokens[1].both = 800;
    assert_null(found(f, "absence-as-label")); /* the class is hard, but it has a place */
    extent[1] = (struct channel_extent){100, -12, 12, -12, 12, 0, 0};
    assert_int_equal(verdict_by(f, "absence-as-label"), VERDICT_PARTLY);
    assert_non_null(strstr(found(f, "absence-as-label")->next, "motifctl datasets put NEW-NAME FILE --absent '"));
    e->tokens[1].both = 950;
    assert_null(found(f, "absence-as-label"));
    e->tokens[1].both = 800;
    extent[1].motifs = 0;
    e->tokens[1].explained = 0.1;
    assert_int_equal(verdict_by(f, "absence-as-label"), VERDICT_PARTLY);
    e->sums.longest = 2; /* no classes */
    assert_null(found(f, "absence-as-label"));
}

static void rare_name_is_not_read_only_when_that_is_certain(void **state)
{
    struct fixture *f = *state;
    struct evidence_token *rare = &evidence_of(f)->tokens[1];
    /* The model read the name in none of 3 samples. Three samples are too few to conclude that it reads the name in
     * less than half of all samples that have the name. */
    *rare = (struct evidence_token){.present = 3, .explained = 0.9, .trained = 3};
    assert_null(found(f, "symbol-not-read"));
    rare->present = rare->trained = 8;
    assert_int_equal(verdict_by(f, "symbol-not-read"), VERDICT_PARTLY);
    rare->both = rare->read = 5;
    assert_null(found(f, "symbol-not-read"));
}

static void right_names_in_the_wrong_order_give_partly(void **state)
{
    struct fixture *f = *state;
    evidence_of(f)->sums.exact = 700;
    f->run->evaluation.row[0].exact = 0.35;
    evidence_of(f)->sums.trained_exact = 720;
    f->run->accuracy = 0.97;
    assert_int_equal(verdict_by(f, "order-not-read"), VERDICT_PARTLY);
    evidence_of(f)->sums.exact = evidence_of(f)->sums.trained_exact = 1100;
    assert_null(found(f, "order-not-read"));
}

static void name_that_no_channel_predicts_gives_partly(void **state)
{
    struct fixture *f = *state;
    evidence_of(f)->tokens[3].explained = 0.1;
    assert_int_equal(verdict_by(f, "symbol-without-channel"), VERDICT_PARTLY);
    evidence_of(f)->tokens[3].explained = NAN; /* no channel varies: each is always or never active */
    assert_int_equal(verdict_by(f, "symbol-without-channel"), VERDICT_PARTLY);
    evidence_of(f)->tokens[3].explained = 0.4;
    assert_null(found(f, "symbol-without-channel"));
    evidence_of(f)->tokens[3].explained = 0.1;
    /* if labels have one symbol, the absence of all motifs may stand for it */
    evidence_of(f)->sums.longest = 1;
    assert_null(found(f, "symbol-without-channel"));
}

static void merged_channel_gives_partly_unless_its_names_have_channels(void **state)
{
    struct fixture *f = *state;
    struct channel_name *c = evidence_of(f)->channels;
    c[0] = (struct channel_name){
        .active = 1500, .whole = 0.97, .names = 2, .token = {0, 1}, .strength = {0.57, 0.55}, .same = -1};
    c[1] = (struct channel_name){.active = 10, .whole = NAN, .same = -1};
    assert_int_equal(verdict_by(f, "merged-channel"), VERDICT_PARTLY);
    assert_non_null(strstr(found(f, "merged-channel")->text, " or "));
    char seed[40];
    snprintf(seed, sizeof seed, "--set seed=%lld", (long long)f->run->config.seed + 1);
    assert_non_null(strstr(found(f, "merged-channel")->next, seed));
    c[1] = (struct channel_name){.active = 990, .whole = 0.9, .names = 1, .token = {1}, .strength = {0.9}, .same = -1};
    assert_null(found(f, "merged-channel"));
}

static void more_than_two_motifs_for_each_token_give_partly(void **state)
{
    struct fixture *f = *state;
    f->run->evaluation.motif_counts.motifs = 6100;
    assert_int_equal(verdict_by(f, "too-many-motifs"), VERDICT_PARTLY);
    f->run->evaluation.motif_counts.motifs = 5900;
    assert_null(found(f, "too-many-motifs"));
    f->run->evaluation.motif_counts.dense = 1500;
    assert_int_equal(verdict_by(f, "too-many-motifs"), VERDICT_PARTLY);
}

static void much_better_earlier_stage_gives_partly_and_names_its_checkpoint(void **state)
{
    struct fixture *f = *state;
    struct evaluation *e = &f->run->evaluation;
    e->rows = 2;
    e->row[1] = e->row[0];
    e->row[0] =
        (struct evaluation_row){.density = 0.02, .e2ee = 0.05, .exact = 0.95, .checkpoint = 4, .test_samples = 500};
    e->row[1].e2ee = 0.3;
    e->row[1].exact = 0.6;
    assert_int_equal(verdict_by(f, "better-earlier-stage"), VERDICT_PARTLY);
    assert_string_equal(found(f, "better-earlier-stage")->next, "motifctl export JOB --checkpoint 4");
    e->row[1].e2ee = 0.1;
    assert_null(found(f, "better-earlier-stage"));
}

static void channels_at_the_same_positions_are_reported_once(void **state)
{
    struct fixture *f = *state;
    evidence_of(f)->channels[1].same = 3;
    evidence_of(f)->channels[3].same = 1;
    assert_int_equal(verdict_by(f, "duplicate-channel"), VERDICT_LEARNED);
    assert_non_null(strstr(found(f, "duplicate-channel")->text, "Two channels mark the same positions: 1 and 3."));
}

static void unused_channel_is_a_note(void **state)
{
    struct fixture *f = *state;
    evidence_of(f)->channels[2].active = 0;
    assert_int_equal(verdict_by(f, "unused-channel"), VERDICT_LEARNED);
    evidence_of(f)->channels[2].active = 1;
    assert_null(found(f, "unused-channel"));
}

static void better_answers_on_training_samples_ask_for_more_samples(void **state)
{
    struct fixture *f = *state;
    evidence_of(f)->sums.exact = 1600;
    assert_int_equal(verdict_by(f, "more-samples"), VERDICT_LEARNED);
    evidence_of(f)->sums.exact = 1400;
    assert_int_equal(verdict_by(f, "learned-by-heart"), VERDICT_PARTLY);
    assert_null(found(f, "more-samples"));
    evidence_of(f)->sums.exact = 1600;
    evidence_of(f)->sums.trained_exact = 1700;
    assert_null(found(f, "more-samples"));
    struct evidence_sums *few = &evidence_of(f)->sums;
    few->trained = few->trained_exact = 290;
    few->read = 145;
    few->exact = few->unordered = 105; /* 72.4 % of the test samples and all training samples are exact: at a
                                        * confidence of 95 %, the difference is at least 20.8 points */
    assert_non_null(found(f, "learned-by-heart"));
    few->exact = few->unordered = 107; /* 73.8 %: the bound on the difference is below 20 points */
    assert_null(found(f, "learned-by-heart"));
}

/* McNemar's test: of the samples that only one of the models has right, the reference has certainly more. */
static void a_better_reference_is_reported(void **state)
{
    struct fixture *f = *state;
    struct reference_figures *r = &f->run->evaluation.reference;
    r->label = (struct reference_pair){60, 10, 1e-9};
    assert_null(found(f, "worse-than-reference")); /* no reference was trained */
    r->samples = 500;
    assert_int_equal(verdict_by(f, "worse-than-reference"), VERDICT_PARTLY);
    r->label = (struct reference_pair){30, 20, 0.08}; /* 10 of 50: 1.4 standard deviations */
    assert_null(found(f, "worse-than-reference"));
    r->label = (struct reference_pair){10, 60, 1};
    assert_null(found(f, "worse-than-reference"));
}

static void values_outside_the_trained_range_are_reported(void **state)
{
    struct fixture *f = *state;
    evidence_of(f)->sums.high = 255;
    assert_int_equal(verdict_by(f, "values-outside-range"), VERDICT_LEARNED);
    evidence_of(f)->sums.high = 1.2;
    assert_null(found(f, "values-outside-range"));
    evidence_of(f)->sums.low = -0.6;
    assert_int_equal(verdict_by(f, "values-outside-range"), VERDICT_LEARNED);
}

static void accuracy_below_its_target_is_a_note(void **state)
{
    struct fixture *f = *state;
    f->run->accuracy = 0.9;
    assert_int_equal(verdict_by(f, "below-target"), VERDICT_LEARNED);
    /* 475 of 500 answers are correct, and the confidence interval of this share contains the target .96 */
    f->run->accuracy = 0.95;
    assert_null(found(f, "below-target"));
}

static void an_accuracy_above_the_configured_target_is_no_finding(void **state)
{
    struct fixture *f = *state;
    f->run->accuracy = f->run->annealer.target = 1;
    f->run->config.target_max = 0.98;
    assert_null(found(f, "below-target"));
    /* an earlier validation was perfect, so the annealer's target is 1 */
    f->run->accuracy = 0.979;
    assert_null(found(f, "below-target"));
}

static void end_shortly_before_the_last_density_is_a_note_with_more_samples_to_try(void **state)
{
    struct fixture *f = *state;
    f->run->annealer.density = 1.9 * sparling_last_density(&f->run->config);
    const struct finding *finding = found(f, "stopped-early");
    assert_non_null(finding);
    assert_non_null(strstr(finding->next, "--set total_samples=320"));
    assert_int_equal(findings_verdict(&f->findings), VERDICT_LEARNED);
    assert_null(found(f, "still-dense"));
    f->run->samples = 100;
    assert_null(found(f, "stopped-early"));
}

/* The model reads the labels, but at this density its motifs cannot be those of the data. */
static void a_run_that_ends_at_twice_the_last_density_has_learned_only_partly(void **state)
{
    struct fixture *f = *state;
    f->run->annealer.density = 2.1 * sparling_last_density(&f->run->config);
    const struct finding *finding = found(f, "still-dense");
    assert_non_null(finding);
    assert_non_null(strstr(finding->next, "--set total_samples=320"));
    assert_int_equal(verdict_by(f, "still-dense"), VERDICT_PARTLY);
    assert_null(found(f, "stopped-early"));
    f->run->samples = 100;
    assert_null(found(f, "still-dense"));
}

static void rising_accuracy_at_the_last_density_is_a_note(void **state)
{
    struct fixture *f = *state;
    f->run->evaluation.evidence.sums.validations = 0;
    /* more validations than the curve keeps; the first twelve have a higher density */
    for (int i = 0; i < 20; i++) {
        f->run->annealer.density = i < 12 ? 0.5 : 0.004;
        f->run->accuracy = i < 12 ? 0.1 : 0.6 + 0.02 * i;
        evidence_validated(f->run, 1);
    }
    f->run->annealer.density = sparling_last_density(&f->config);
    f->run->annealer.target = 0.9;
    assert_int_equal(verdict_by(f, "still-improving"), VERDICT_LEARNED);
    for (int i = 0; i < 8; i++) {
        f->run->annealer.density = 0.004;
        evidence_validated(f->run, 1);
    }
    f->run->annealer.density = sparling_last_density(&f->config);
    for (int i = 0; i < EVIDENCE_CURVE; i++)
        f->run->evaluation.evidence.curve[i].accuracy = 0.98;
    assert_null(found(f, "still-improving"));
}

/* Sets a run that ends by itself, whose learning rate fell from 48 to 112 samples after a better validation. */
static void end_by_itself(struct fixture *f)
{
    f->run->config.patience = 3;
    f->run->config.target_max = 0.98;
    f->run->annealer.target = 0.98;
    f->run->accuracy = 0.97;
    f->run->samples = 112;
    f->run->ending = (struct ending){.loss = 0.1, .accuracy = 0.98, .flat = 1, .from = 48, .to = 112};
}

static void an_end_at_the_target_is_not_called_the_limit_of_samples(void **state)
{
    struct fixture *f = *state;
    end_by_itself(f);
    const struct finding *finding = found(f, "still-improving");
    assert_non_null(finding);
    assert_non_null(strstr(finding->text, "after 112 of 160 samples, because the accuracy reached its target"));
    assert_non_null(strstr(finding->next, "--set target_start=0.99 --set target_max=0.99"));
    assert_null(strstr(finding->next, "total_samples"));
    f->run->config.target_max = 1; /* cannot rise */
    finding = found(f, "still-improving");
    assert_null(strstr(finding->next, "target_max"));
    assert_non_null(strstr(finding->next, "--set target_decay=0"));
    f->run->config.target_decay = 0;
    finding = found(f, "still-improving");
    assert_non_null(strstr(finding->next, "total_samples"));
    f->run->config.target_max = 0.98;
    f->run->config.plateau_validations = 2;
    f->run->config.plateau_density = 0.001;
    finding = found(f, "still-improving");
    assert_non_null(strstr(finding->text, "because the loss did not fall in 2 validations or the accuracy reached"));
    assert_non_null(strstr(finding->next, "--set plateau_validations=0"));
    f->run->ending.flat = 3;
    assert_null(found(f, "still-improving"));
}

static void an_end_at_the_limit_recommends_more_samples(void **state)
{
    struct fixture *f = *state;
    end_by_itself(f);
    f->run->samples = f->run->ending.to = 160;
    const struct finding *finding = found(f, "still-improving");
    assert_non_null(finding);
    assert_non_null(strstr(finding->text, "after 160 of 160 samples, because of the limit total_samples"));
    assert_non_null(strstr(finding->next, "--set total_samples=320 --set patience=6"));
}

/* Trains for the 160 samples of `tiny`, far too few to learn anything. */
static void train(struct fixture *f, const char *motif_samples, struct run_env_bytes *bytes)
{
    struct config_setting few[] = {{"test_samples", "60"}, {"motif_samples", motif_samples}, {NULL, NULL}};
    enum method_request request = METHOD_CONTINUE;
    method->destroy(f->run);
    assert_ok(config_apply(&sparling_config_table, &f->config, few, err));
    assert_ok(method->create(&f->config, &f->environment.env, &f->run, err));
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&f->environment, method, f->run, &request, err));
    assert_ok(run_env_save(method, f->run, bytes, err));
}

static void very_short_training_gives_not_learned(void **state)
{
    struct fixture *f = *state;
    struct run_env_bytes bytes = {0};
    train(f, "60", &bytes);
    assert_ok(method->judge(f->run, &f->findings, err));
    assert_int_equal(findings_verdict(&f->findings), VERDICT_NOT_LEARNED);
    assert_true(evidence_of(f)->sums.trained == 120);
    run_env_bytes_close(&bytes);
}

static void run_that_is_loaded_after_its_end_has_the_same_findings_and_names(void **state)
{
    struct fixture *f = *state;
    struct run_env_bytes bytes = {0};
    struct findings *before = test_calloc(1, sizeof *before);
    struct channel_name *names = NULL;
    enum method_request request = METHOD_CONTINUE;
    train(f, "30", &bytes);
    assert_ok(method->judge(f->run, before, err));
    assert_true(before->count > 0);
    method->destroy(f->run);
    assert_ok(method->create(&f->config, &f->environment.env, &f->run, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->load(f->run, &reader, err));
    assert_ok(method->step(f->run, &request, err));
    assert_int_equal(request, METHOD_DONE);
    f->findings.count = 0;
    assert_ok(method->judge(f->run, &f->findings, err));
    assert_int_equal(f->findings.count, before->count);
    for (int i = 0; i < before->count; i++)
        assert_string_equal(f->findings.list[i].text, before->list[i].text);
    /* the checkpoint contains the table of channel names, although such a short training finds hardly any name */
    assert_ok(channel_names_read(&reader, NAMES, 4, &names, err));
    free(names);
    test_free(before);
    run_env_bytes_close(&bytes);
}

static void damaged_names_in_a_checkpoint_are_refused(void **state)
{
    struct fixture *f = *state;
    struct run_env_bytes bytes = {0};
    struct channel_name *names = NULL;
    struct error fault = {0};
    evidence_of(f)->channels[0].token[0] = NAMES; /* this token is beyond the vocabulary */
    assert_ok(run_env_save(method, f->run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_int_equal(channel_names_read(&reader, NAMES, 4, &names, &fault), STATUS_CORRUPT);
    assert_null(names);
    assert_int_equal(method->load(f->run, &reader, &fault), STATUS_CORRUPT);
    run_env_bytes_close(&bytes);
}

static void names_are_read_back_from_a_checkpoint(void **state)
{
    struct fixture *f = *state;
    struct run_env_bytes bytes = {0};
    struct channel_name *names = NULL;
    char text[CHANNEL_NAME_TEXT];
    evidence_of(f)->channels[2].names = 2;
    evidence_of(f)->channels[2].token[1] = 0;
    assert_ok(run_env_save(method, f->run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(channel_names_read(&reader, NAMES, 4, &names, err));
    channel_name_text(&names[2], &f->run->domain, text, sizeof text);
    assert_string_equal(text, "2 or 0");
    /* a text that is too long is cut */
    channel_name_text(&names[2], &f->run->domain, text, 4);
    assert_string_equal(text, "2 o");
    channel_name_text(NULL, &f->run->domain, text, sizeof text);
    assert_string_equal(text, "");
    free(names);
    /* the table has four channels, not five */
    struct error fault = {0};
    assert_int_equal(channel_names_read(&reader, NAMES, 5, &names, &fault), STATUS_CORRUPT);
    assert_null(names);
    run_env_bytes_close(&bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(class_without_a_place_says_that_the_others_are_absent),
        TEST(good_run_gives_learned_without_findings),
        TEST(run_in_progress_has_no_verdict),
        TEST(error_of_a_constant_answer_gives_not_learned),
        TEST(one_unread_name_gives_partly_and_half_of_the_names_give_not_learned),
        TEST(poorly_read_name_without_a_channel_of_its_own_gives_partly),
        TEST(poorly_read_name_with_a_channel_that_is_no_better_on_training_samples_is_a_note),
        TEST(rare_name_is_not_read_only_when_that_is_certain),
        TEST(right_names_in_the_wrong_order_give_partly),
        TEST(name_that_no_channel_predicts_gives_partly),
        TEST(merged_channel_gives_partly_unless_its_names_have_channels),
        TEST(more_than_two_motifs_for_each_token_give_partly),
        TEST(much_better_earlier_stage_gives_partly_and_names_its_checkpoint),
        TEST(channels_at_the_same_positions_are_reported_once),
        TEST(unused_channel_is_a_note),
        TEST(better_answers_on_training_samples_ask_for_more_samples),
        TEST(a_better_reference_is_reported),
        TEST(values_outside_the_trained_range_are_reported),
        TEST(accuracy_below_its_target_is_a_note),
        TEST(an_accuracy_above_the_configured_target_is_no_finding),
        TEST(end_shortly_before_the_last_density_is_a_note_with_more_samples_to_try),
        TEST(a_run_that_ends_at_twice_the_last_density_has_learned_only_partly),
        TEST(rising_accuracy_at_the_last_density_is_a_note),
        TEST(an_end_at_the_target_is_not_called_the_limit_of_samples),
        TEST(an_end_at_the_limit_recommends_more_samples),
        TEST(very_short_training_gives_not_learned),
        TEST(run_that_is_loaded_after_its_end_has_the_same_findings_and_names),
        TEST(damaged_names_in_a_checkpoint_are_refused),
        TEST(names_are_read_back_from_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
