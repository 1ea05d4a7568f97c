/* Tests that every failed allocation of a method is reported. Each allocation fails once, first alone, and then
 * together with all allocations after it. The calls under test are:
 *
 * - create, step, save, load, evaluation and result of a run
 * - opening, querying, drawing, comparing and exporting a model
 *
 * Each call either gives its usual result or reports STATUS_NO_MEMORY. A run without a failed call saves the usual
 * bytes. The sanitizer build finds leaks.
 *
 * The test skips some allocations, with a stride that grows, unless MOTIF_FAULT_STRIDE=1. An argument names a single
 * method. */
#include <math.h>

#include "tests/support/unit.h"
#include "protocol/json_sink.h"
#include "core/draw/picture.h"
#include "tests/support/fault.h"
#include "tests/support/run_test.h"
#include "tests/support/sanitized.h"
#include "tests/support/short_runs.h"

enum { CALLS = 200, STEPS = 8 };

struct subject {
    const char *kind;
    const struct config_setting *settings;
};

static const struct subject subjects[] = {{"dictionary", tiny_dictionary}, {"superposition", tiny_superposition},
                                          {"superposition", tiny_rug},     {"pathways", tiny_pathways},
                                          {"factors", tiny_factors},       {"environments", tiny_environments},
                                          {"sparling", tiny_sparling}};

/* The results of a sequence of calls, in the order of the calls. */
struct trace {
    int count;
    const char *call[CALLS];
    enum status status[CALLS];
    struct error error[CALLS];
    struct buf answers;   /* the answers of all successful calls, one after another */
    size_t answer[CALLS]; /* where each answer begins in `answers` */
    struct run_env_bytes saved;
    /* the run failed to make an artifact, so the checkpoint contains a finding about it */
    bool without_artifact;
};

static enum status note(struct trace *t, const char *call, enum status status, const struct error *err)
{
    assert_true(t->count < CALLS);
    t->call[t->count] = call;
    t->status[t->count] = status;
    t->answer[t->count] = t->answers.size;
    t->error[t->count++] = *err;
    return status;
}

static void trace_close(struct trace *t)
{
    buf_close(&t->answers);
    run_env_bytes_close(&t->saved);
}

/* A sink that appends its text to the answers. If the sink has no memory, the owner of the sink reports the failure. */
struct written {
    struct json_sink json;
    struct buf text;
};
static const struct sink *written_open(struct written *w)
{
    buf_init(&w->text, 1u << 28);
    json_sink_init(&w->json, &w->text);
    sink_begin_object(&w->json.sink, NULL);
    return &w->json.sink;
}
static enum status written_close(struct written *w, struct trace *t, enum status status, struct error *err)
{
    sink_end_object(&w->json.sink);
    if (status == STATUS_OK && w->text.failed)
        status = buf_status(&w->text, "an answer", err);
    if (status == STATUS_OK)
        buf_append(&t->answers, w->text.data, w->text.size);
    buf_close(&w->text);
    return status;
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

static enum status steps(const struct method *m, struct run_env *environment, struct method_run *run, struct trace *t,
                         int most, struct error *err)
{
    enum method_request request = METHOD_CONTINUE;
    enum status status = STATUS_OK;
    for (int i = 0; i < most && status == STATUS_OK && request != METHOD_DONE; i++)
        status = note(t, "step", run_env_step(environment, m, run, &request, err), err);
    return status;
}

static enum status conclude(const struct method *m, struct method_run *run, struct trace *t, struct error *err)
{
    struct written w;
    const struct sink *out = written_open(&w);
    enum status status = method_result(m, run, out, err);
    return note(t, "result", written_close(&w, t, status, err), err);
}

/* Runs and saves the first half of a run, loads it into a second run for the second half, and then evaluates. */
static void plan(const struct method *m, const void *config, struct run_env *environment, struct trace *t)
{
    struct method_run *run = NULL;
    struct error err;
    error_clear(&err);
    enum status status = note(t, "create", m->create(config, &environment->env, &run, &err), &err);
    if (status == STATUS_OK)
        status = steps(m, environment, run, t, STEPS, &err);
    if (status == STATUS_OK)
        status = note(t, "save", run_env_save(m, run, &t->saved, &err), &err);
    if (status == STATUS_OK) {
        m->destroy(run);
        run = NULL;
        status = note(t, "create again", m->create(config, &environment->env, &run, &err), &err);
    }
    if (status == STATUS_OK) {
        struct snapshot_reader from = run_env_reader(&t->saved);
        status = note(t, "load", m->load(run, &from, &err), &err);
    }
    if (status == STATUS_OK)
        status = steps(m, environment, run, t, 40, &err);
    if (status == STATUS_OK)
        status = conclude(m, run, t, &err);
    if (status == STATUS_OK)
        status = note(t, "save at the end", run_env_save(m, run, &t->saved, &err), &err);
    m->destroy(run);
    run = NULL;
    if (status == STATUS_OK && m->begin_evaluation != NULL) {
        struct method_evaluation what = {.samples = 4, .seed = -2};
        status = note(t, "create to evaluate", m->create(config, &environment->env, &run, &err), &err);
        if (status == STATUS_OK) {
            struct snapshot_reader from = run_env_reader(&t->saved);
            status = note(t, "load to evaluate", m->load(run, &from, &err), &err);
        }
        if (status == STATUS_OK)
            status = note(t, "begin evaluation", m->begin_evaluation(run, &what, &err), &err);
        if (status == STATUS_OK)
            status = steps(m, environment, run, t, 40, &err);
        if (status == STATUS_OK)
            (void)conclude(m, run, t, &err);
        m->destroy(run);
    }
}

/* ---- a model ---------------------------------------------------------------------------------------------------- */

static void no_tensor(void *context, const char *name, int rank, const int64_t *dim) {}
static void no_constant(void *context, const char *name, int rank, const int64_t *dim, const float *values) {}
static void no_node(void *context, const char *op, const char *const *inputs, size_t input_count, const char *output,
                    const struct graph_attribute *attributes, size_t attribute_count)
{
}

static void draw_noted(struct trace *t, const char *call, enum status status, struct picture *picture,
                       struct error *err)
{
    if (status == STATUS_OK && picture->incomplete) { /* png_encode() then fails */
        picture_destroy(picture);
        status = error_memory(err, "a picture");
    }
    (void)note(t, call, status, err);
    if (status == STATUS_OK) {
        buf_append(&t->answers, picture->pixels,
                   (size_t)picture->rows * (size_t)picture->cols * sizeof *picture->pixels);
        picture_destroy(picture);
    }
}

/* Asks one query for every kind of result that it has: an answer, a picture, an array. */
static void ask_query(const struct method_question *question, struct trace *t)
{
    const struct method_query *query = question->query;
    struct error err;
    struct written w;
    struct picture *picture = NULL;
    if (query->answer != NULL) {
        error_clear(&err);
        const struct sink *out = written_open(&w);
        enum status status = query->answer(question, out, &err);
        (void)note(t, query->name, written_close(&w, t, status, &err), &err);
    }
    if (query->draw != NULL) {
        error_clear(&err);
        enum status status = query->draw(question, &picture, &err);
        draw_noted(t, "draw", status, picture, &err);
    }
    if (query->array != NULL) {
        struct buf values;
        int rank;
        int64_t dim[4];
        error_clear(&err);
        buf_init(&values, 1u << 28);
        enum status status = query->array(question, &values, &rank, dim, &err);
        if (status == STATUS_OK)
            status = buf_status(&values, "an array", &err);
        (void)note(t, "array", status, &err);
        buf_close(&values);
    }
}

/* Computes all outputs of the Open Inference Protocol. */
static void infer_all(const struct method *m, const struct method_model *model, struct trace *t)
{
    const struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = 1};
    const struct method_question question = {.model = model, .input = &input, .item = -1};
    struct buf values[METHOD_OUTPUTS], *outputs[METHOD_OUTPUTS];
    struct error err;
    error_clear(&err);
    for (int i = 0; i < METHOD_OUTPUTS; i++) {
        buf_init(&values[i], 1u << 28);
        outputs[i] = &values[i];
    }
    enum status status = m->infer(&question, outputs, &err);
    for (size_t i = 0; i < m->output_count; i++) {
        if (status == STATUS_OK)
            status = buf_status(&values[i], "an output", &err);
        buf_close(&values[i]);
    }
    (void)note(t, "infer", status, &err);
}

/* Asks every query with default parameters, but with few samples. Makes no allocation of its own that could fail. */
static void ask_all(const struct method *m, const struct method_model *model, struct trace *t)
{
    static int64_t parameters[32];
    struct method_edit edit = {.everywhere = true,
                               .channel = 0,
                               .remove = true,
                               .to_row = -1,
                               .to_col = -1,
                               .to_channel = -1,
                               .to_value = NAN};
    for (size_t q = 0; q < m->query_count; q++) {
        const struct method_query *query = &m->queries[q];
        bool edits = query->takes == METHOD_TAKES_EDITS;
        struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = 1, .edit_count = edits};
        input.edits = edits ? &edit : NULL;
        if (query->parameters != NULL) {
            const struct config_field *samples = config_find(query->parameters, "samples");
            assert_true(query->parameters->struct_bytes <= sizeof parameters);
            assert_int_equal(config_defaults(query->parameters, parameters, NULL), STATUS_OK);
            if (samples != NULL)
                assert_int_equal(config_set_number(samples, parameters, fmax(3, samples->min), NULL), STATUS_OK);
        }
        const struct method_question question = {.query = query,
                                                 .model = model,
                                                 .input = &input,
                                                 .with = model,
                                                 .parameters = parameters,
                                                 .item = query->item != NULL ? 0 : -1};
        ask_query(&question, t);
    }
    if (m->infer != NULL)
        infer_all(m, model, t);
}

static void look_at(const struct method *m, const struct method_model *model, struct trace *t)
{
    struct error err;
    if (m->graph != NULL) {
        const struct graph_writer out = {NULL, no_tensor, no_tensor, no_constant, no_node};
        error_clear(&err);
        (void)note(t, "graph", m->graph(model, &out, &err), &err);
    }
}

static void model_calls(const struct method *m, const void *config, struct run_env *environment,
                        struct run_env_bytes *saved, struct trace *t)
{
    struct method_model *model = NULL;
    struct snapshot_reader from = run_env_reader(saved);
    struct error err;
    error_clear(&err);
    if (m->open == NULL ||
        note(t, "open", m->open(config, environment->env.kernels, NULL, &from, &model, &err), &err) != STATUS_OK)
        return;
    ask_all(m, model, t);
    look_at(m, model, t);
    m->close(model);
}

/* ---- the sweep -------------------------------------------------------------------------------------------------- */

static const char *only; /* the only method to test; NULL: all */
static int complaints;

/* Removes the member "findings" from the answers, because failed allocations of artifacts add findings. */
static void drop_findings(struct buf *answers)
{
    static const char member[] = "\"findings\":[";
    char *at;
    while ((at = memmem(answers->data, answers->size, member, sizeof member - 1)) != NULL) {
        char *end = at + sizeof member - 1, *last = answers->data + answers->size;
        for (int depth = 1; depth > 0 && end < last; end++)
            depth += (*end == '[') - (*end == ']');
        if (at > answers->data && at[-1] == ',')
            at--;
        memmove(at, end, (size_t)(last - end));
        answers->size -= (size_t)(end - at);
    }
}

/* Compares two traces of the same calls: `t`, in which the allocation at `place` failed, and `right`, without a
 * failure. */
static void hold_against(const char *kind, int place, bool forever, const struct trace *right, const struct trace *t,
                         bool run)
{
    bool whole = !t->answers.failed;
    for (int i = 0; i < t->count; i++) {
        whole = whole && t->status[i] == right->status[i];
        if (t->status[i] != right->status[i] && t->status[i] != STATUS_NO_MEMORY && complaints++ < 40)
            print_error("%s, allocations %s %d: %s: %s: %s (not %s)\n", kind, forever ? "from" : "at", place,
                        t->call[i], status_name(t->status[i]), t->error[i].message, status_name(right->status[i]));
    }
    if (!whole || t->count < right->count)
        return;
    bool same =
        t->answers.size == right->answers.size && memcmp(t->answers.data, right->answers.data, t->answers.size) == 0;
    if (run)
        same = same && (t->without_artifact || (t->saved.count == right->saved.count &&
                                                memcmp(t->saved.data, right->saved.data, t->saved.count) == 0));
    if (!same && complaints++ < 40) {
        size_t at = 0;
        while (at < t->answers.size && at < right->answers.size && t->answers.data[at] == right->answers.data[at])
            at++;
        at = at < 40 ? 0 : at - 40;
        print_error("%s, allocations %s %d: all went well, and yet the %s differ, behind %.120s\n", kind,
                    forever ? "from" : "at", place, run ? "results" : "answers",
                    at < t->answers.size ? t->answers.data + at : "the end: what was saved");
    }
}

static int pass(const struct method *m, const void *config, struct run_env_bytes *saved, int place, bool forever,
                const struct trace *right, struct trace *t)
{
    struct run_env environment;
    *t = (struct trace){.count = 0};
    buf_init(&t->answers, 1u << 28);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    if (place >= 0)
        (forever ? fault_from : fault_after)(place);
    if (saved != NULL)
        model_calls(m, config, &environment, saved, t);
    else
        plan(m, config, &environment, t);
    bool failed = fault_happened();
    if (saved == NULL && t->answers.data != NULL) {
        static const char code[] = "artifact-failed";
        t->without_artifact = memmem(t->answers.data, t->answers.size, code, sizeof code - 1) != NULL;
        drop_findings(&t->answers);
    }
    if (right != NULL)
        hold_against(m->kind, place, forever, right, t, saved == NULL);
    run_env_close(&environment);
    return place >= 0 && failed;
}

static int sweep(const struct method *m, const void *config, struct run_env_bytes *saved, int stride,
                 struct trace *right)
{
    int walked = 0;
    struct trace t;
    (void)pass(m, config, saved, -1, false, NULL, right);
    for (int forever = 0; forever < 2; forever++) {
        /* The first allocations differ from each other, so each of the first 20 fails once. Later steps repeat the same
         * allocations, so only some of these fail. */
        for (int place = 0, failed = 1; failed; place += place < 20 ? 1 : stride + place / 40 * (stride > 1)) {
            failed = pass(m, config, saved, place, forever, right, &t);
            walked += failed;
            trace_close(&t);
        }
    }
    return walked;
}

static void each_call_survives_each_failed_allocation(void **state)
{
    int stride = fault_stride(SANITIZED ? 69 : 23);
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        if (only != NULL && strcmp(only, subjects[i].kind) != 0)
            continue;
        const struct method *m = method_find(subjects[i].kind);
        void *config = malloc(m->config.struct_bytes);
        struct trace right, asked;
        assert_non_null(config);
        run_test_configure(m, config, subjects[i].settings);
        int runs = sweep(m, config, NULL, stride, &right);
        for (int c = 0; c < right.count; c++)
            if (right.status[c] != STATUS_OK)
                fail_msg("%s: %s: %s", m->kind, right.call[c], right.error[c].message);
        int models = sweep(m, config, &right.saved, stride, &asked);
        for (int c = 0; c < asked.count; c++)
            /* Two failures are right. A query that needs DNA fails with STATUS_CONFLICT, because these data are no DNA.
             * The call "array" fails if the query returns no array. */
            if (asked.status[c] != STATUS_OK && asked.status[c] != STATUS_CONFLICT &&
                strcmp(asked.call[c], "array") != 0)
                fail_msg("%s: %s: %s", m->kind, asked.call[c], asked.error[c].message);
        print_message("%-14s %d calls, %d places of a run; %d calls, %d places of a model\n", m->kind, right.count,
                      runs, asked.count, models);
        assert_true(runs > 20 && (m->open == NULL || models > 5));
        trace_close(&right);
        trace_close(&asked);
        free(config);
    }
    assert_int_equal(complaints, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_call_survives_each_failed_allocation)};
    only = argc > 1 ? argv[1] : NULL;
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
