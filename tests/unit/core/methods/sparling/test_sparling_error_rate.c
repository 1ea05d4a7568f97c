/* Tests the error rates of motifs: which negatives a channel gets, whether labels tell a name from its companion, and
 * what the query "motifs" answers. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/methods/sparling/error_rate/measure.h"
#include "core/methods/sparling/error_rate/separate.h"
#include "core/methods/findings.h"
#include "core/methods/sparling/queries/query.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/assert_ok.h"
#include "tests/support/method_ask.h"
#include "tests/support/run_env.h"
#include "tests/support/text_sink.h"
#include "tests/support/tiny_sparling.h"

static const struct method *const method = &sparling_method;

/* ---- companions ----------------------------------------------------------------------------------------- */

enum { INPUTS = 1000, WORDS = (INPUTS + 63) / 64 };

struct world {
    uint64_t named[WORDS], other[WORDS], active[WORDS];
    unsigned char marks[INPUTS];
};

/* Draws inputs: the name is in 30 % of the labels; the other name is in `with` of the labels with the name and in
 * `without` of the others. The channel marks the name with the probability `on_name`, the other with `on_other`. */
static enum separation separate(double with, double without, double on_name, double on_other, uint64_t seed,
                                double *share)
{
    struct world w = {.marks = {0}};
    for (int64_t i = 0; i < INPUTS; i++) {
        struct philox from = philox_stream(seed, 0, (uint64_t)i);
        double u[4];
        for (uint64_t k = 0; k < 4; k++)
            u[k] = (double)philox_uniform(&from, k);
        bool named = u[0] < 0.3, other = u[1] < (named ? with : without);
        w.marks[i] = (unsigned char)((named && u[2] < on_name) + (other && u[3] < on_other));
        w.named[i / 64] |= (uint64_t)named << (i % 64);
        w.other[i / 64] |= (uint64_t)other << (i % 64);
        w.active[i / 64] |= (uint64_t)(w.marks[i] > 0) << (i % 64);
    }
    const struct separation_inputs inputs = {INPUTS, w.named, w.active, w.marks};
    *share = 0;
    return separation_of(&inputs, w.other, 20, share);
}

static void channels_that_answer_to_the_companion_are_not_separable(void **state)
{
    double share;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        assert_int_equal(separate(0.8, 0.1, 0, 0.9, seed, &share), SEPARATION_TOGETHER);
        assert_int_equal(separate(0.8, 0.0, 0, 0.9, seed, &share), SEPARATION_TOGETHER);
        assert_int_equal(separate(1, 0, 0.9, 0, seed, &share), SEPARATION_TOGETHER); /* never apart: nobody can tell */
    }
}

static void channels_that_answer_to_the_name_are_separable(void **state)
{
    double share;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        assert_int_not_equal(separate(0.8, 0.1, 0.9, 0, seed, &share), SEPARATION_TOGETHER);
        assert_int_equal(separate(0.8, 0, 0.9, 0, seed, &share), SEPARATION_FREE);
        assert_int_equal(separate(0.3, 0.3, 0.9, 0.9, seed, &share), SEPARATION_FREE); /* no companion */
        assert_int_equal(separate(0, 0.3, 0.9, 0.5, seed, &share), SEPARATION_FREE);   /* another class */
    }
}

static void negatives_have_the_companion_if_the_channel_marks_it_sometimes(void **state)
{
    double share, sum = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        assert_int_equal(separate(0.8, 0.2, 0.9, 0.2, seed, &share), SEPARATION_STRATUM);
        sum += share / 20;
    }
    assert_true(fabs(sum - 0.2) < 0.03);
}

/* ---- the part of the evaluation ------------------------------------------------------------------------- */

struct setup {
    struct run_env environment;
    struct sparling_config config;
    struct method_run *run;
};

/* Trains a tiny model to its end, then gives the channels the names of the four digits and measures again. With
 * `every`, the run is saved and loaded after every `every` pieces of the part. */
static void open_named(struct setup *s, int every)
{
    static const struct config_setting more[] = {
        {"motif_samples", "70"}, {"test_samples", "70"}, {"total_samples", "60"}, {NULL, NULL}};
    enum method_request request = METHOD_CONTINUE;
    s->run = tiny_open(&s->environment, 1, &s->config, more);
    for (int i = 0; request != METHOD_DONE; i++) {
        assert_true(i < 2000);
        assert_ok(run_env_step(&s->environment, method, s->run, &request, err));
    }
    struct evaluation *e = &s->run->evaluation;
    for (int c = 0; c < 4; c++)
        e->evidence.channels[c] = (struct channel_name){.whole = 1, .names = 1, .token = {c}, .same = -1};
    negatives_begin(s->run);
    s->run->activity = ACTIVITY_EVALUATE;
    e->part = PART_NEGATIVES;
    e->position = 0;
    for (int i = 1; s->run->activity == ACTIVITY_EVALUATE; i++) {
        assert_ok(run_env_step(&s->environment, method, s->run, &request, err));
        if (every == 0 || i % every || request == METHOD_DONE)
            continue;
        struct run_env_bytes bytes = {0};
        assert_ok(run_env_save(method, s->run, &bytes, err));
        method->destroy(s->run);
        s->run = tiny_start(&s->environment, &s->config);
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_ok(method->load(s->run, &reader, err));
        run_env_bytes_close(&bytes);
    }
}

static void close_named(struct setup *s)
{
    method->destroy(s->run);
    run_env_close(&s->environment);
}

static struct method_model *model_of(struct setup *s)
{
    struct run_env_bytes bytes = {0};
    struct method_model *model = NULL;
    assert_ok(run_env_save(method, s->run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->open(&s->config, s->environment.env.kernels, NULL, &reader, &model, err));
    run_env_bytes_close(&bytes);
    return model;
}

/* The negatives of a channel are the validation samples without its digit, and their largest marks are those of their
 * maps. */
static void negatives_are_the_inputs_without_the_name(void **state)
{
    struct setup s;
    (void)state;
    open_named(&s, 0);
    const struct negatives *n = &s.run->evaluation.negatives;
    const struct open_domain *domain = &s.run->domain;
    int64_t lacking[4] = {0}, all = negatives_samples(s.run);
    struct domain_truth *truth;
    float *planes = calloc(domain_inputs(&domain->shape), sizeof *planes);
    assert_non_null(planes);
    assert_ok(domain_truths_create(&domain->shape, 1, &truth, err));
    for (int64_t i = 0; i < all; i++) {
        const struct domain_request request = {
            .set = DOMAIN_SAMPLE, .seed = VALIDATION_SEED, .index = (1 << 24) + i, .seen = (1 << 24) + i};
        assert_ok(domain_sample(domain, &request, planes, truth, err));
        for (int c = 0; c < 4; c++)
            lacking[c] += truth->label[0] != c;
    }
    assert_int_equal(all, 140);
    for (int c = 0; c < 4; c++) {
        const struct channel_negatives *own = &n->channel[c];
        assert_int_equal(own->why, NEGATIVES_KNOWN);
        assert_int_equal(own->inputs, lacking[c]);
        assert_float_equal(own->effective, (double)lacking[c], 0);
        assert_int_equal(own->scores, lacking[c]);
        int64_t first = 0;
        for (int64_t i = 0; i < own->marks; i++)
            first += n->rank[c * NEGATIVES_MARKS + i] == 1;
        assert_true(first <= own->inputs);
        /* a mark is a score above the threshold, but another channel's mark may hide it */
        assert_true(own->marks > 0 && n->mark[c * NEGATIVES_MARKS] > 0);
        assert_true(n->mark[c * NEGATIVES_MARKS] <= n->score[c * NEGATIVES_MARKS] + 1e-5F);
    }
    domain_truths_destroy(truth);
    free(planes);
    close_named(&s);
}

static void resuming_does_not_change_the_negatives(void **state)
{
    struct setup one, other;
    (void)state;
    open_named(&one, 0);
    open_named(&other, 1);
    const struct negatives *a = &one.run->evaluation.negatives, *b = &other.run->evaluation.negatives;
    const size_t marks = 4 * (size_t)NEGATIVES_MARKS;
    assert_memory_equal(a->channel, b->channel, 4 * sizeof *a->channel);
    assert_memory_equal(a->mark, b->mark, marks * sizeof *a->mark);
    assert_memory_equal(a->rank, b->rank, marks);
    assert_memory_equal(a->score, b->score, marks * sizeof *a->score);
    close_named(&one);
    close_named(&other);
}

static void damaged_negatives_are_refused(void **state)
{
    struct setup s;
    struct run_env_bytes bytes = {0};
    struct error err = {0};
    (void)state;
    open_named(&s, 0);
    s.run->evaluation.negatives.channel[1].marks = NEGATIVES_MARKS + 1;
    assert_int_equal(run_env_save(method, s.run, &bytes, &err), STATUS_OK);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_int_equal(method->load(s.run, &reader, &err), STATUS_CORRUPT);
    run_env_bytes_close(&bytes);
    close_named(&s);
}

/* ---- the query ------------------------------------------------------------------------------------------- */

/* Asks "motifs" for some samples together, as the api does, and returns the whole text. */
static char *ask_together(const struct method_model *model, int count, double false_marks)
{
    const struct method_query *query = method_query_find(method, "motifs", false);
    struct method_input inputs[8];
    struct motifs_parameters parameters = {false_marks};
    struct buf out;
    void *together;
    size_t at;
    buf_init(&out, 1 << 24);
    const struct sink sink = text_sink(&out);
    for (int i = 0; i < count; i++)
        inputs[i] = (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = i};
    struct method_question question = {
        .query = query, .model = model, .input = inputs, .parameters = &parameters, .item = -1};
    assert_ok(query->together->begin(&question, inputs, (size_t)count, &together, &at, err));
    question.together = together;
    for (int i = 0; i < count; i++) {
        question.input = &inputs[i];
        question.index = (size_t)i;
        assert_ok(query->answer(&question, &sink, err));
    }
    query->together->write(&question, together, &sink);
    query->together->close(together);
    buf_append(&out, "", 1);
    return (char *)out.data;
}

/* Number of times that a text occurs. */
static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

static void motifs_have_p_and_q_and_a_share_keeps_some(void **state)
{
    struct setup s;
    (void)state;
    open_named(&s, 0);
    struct method_model *model = model_of(&s);
    char *all = ask_together(model, 8, 0), *none = ask_together(model, 8, 1e-6), *most = ask_together(model, 8, 0.999);
    int motifs = count_of(all, "channel=");
    assert_true(motifs > 0);
    assert_int_equal(count_of(all, " p="), motifs);
    assert_int_equal(count_of(all, " q="), motifs);
    assert_int_equal(count_of(all, "bound="), 0);
    assert_int_equal(count_of(none, "channel="), 0);
    assert_non_null(strstr(none, "bound={ marks=0 false_at_most=0 confidence=0.95"));
    int marks = -1, wrong = -1;
    const char *bound = strstr(most, "bound={");
    assert_non_null(bound);
    assert_int_equal(sscanf(bound, "bound={ marks=%d false_at_most=%d", &marks, &wrong), 2);
    assert_true(marks <= motifs && wrong <= marks && wrong >= 0);
    free(all);
    free(none);
    free(most);
    method->close(model);
    close_named(&s);
}

static void an_answer_without_a_bound_says_why(void **state)
{
    struct setup s;
    (void)state;
    open_named(&s, 0);
    struct negatives *n = &s.run->evaluation.negatives;
    for (int c = 0; c < 4; c++)
        n->channel[c] = (struct channel_negatives){.why = NEGATIVES_TOGETHER, .companion = (c + 1) % 4};
    struct method_model *model = model_of(&s);
    char *text = ask_together(model, 2, 0.1);
    assert_int_equal(count_of(text, "channel="), 0);
    assert_non_null(strstr(text, "bound=null"));
    assert_non_null(strstr(text, "the labels do not tell 0 from 1, which accompanies it (channel 0)"));
    free(text);
    method->close(model);
    negatives_clear(n);
    model = model_of(&s);
    text = ask_together(model, 1, 0.1);
    assert_non_null(strstr(text, "this checkpoint has no error rate"));
    free(text);
    method->close(model);
    close_named(&s);
}

static void names_that_labels_do_not_tell_apart_are_a_finding(void **state)
{
    struct setup s;
    struct findings findings = {.count = 0};
    bool found = false;
    (void)state;
    open_named(&s, 0);
    for (int round = 0; round < 2; round++) {
        memset(&findings, 0, sizeof findings);
        assert_ok(method->judge(s.run, &findings, err));
        found = false;
        for (int i = 0; i < findings.count; i++)
            if (strcmp(findings.list[i].code->code, "cannot-separate") == 0) {
                found = true;
                assert_non_null(strstr(findings.list[i].text, "do not tell 2 from 3."));
            }
        assert_int_equal(found, round == 1);
        s.run->evaluation.negatives.channel[2].why = NEGATIVES_TOGETHER;
        s.run->evaluation.negatives.channel[2].companion = 3;
    }
    close_named(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_that_answer_to_the_companion_are_not_separable),
        cmocka_unit_test(channels_that_answer_to_the_name_are_separable),
        cmocka_unit_test(negatives_have_the_companion_if_the_channel_marks_it_sometimes),
        cmocka_unit_test(negatives_are_the_inputs_without_the_name),
        cmocka_unit_test(resuming_does_not_change_the_negatives),
        cmocka_unit_test(damaged_negatives_are_refused),
        cmocka_unit_test(motifs_have_p_and_q_and_a_share_keeps_some),
        cmocka_unit_test(names_that_labels_do_not_tell_apart_are_a_finding),
        cmocka_unit_test(an_answer_without_a_bound_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
