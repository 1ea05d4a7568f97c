/* Tests that an artifact that cannot be made becomes a finding of the result, and that the run still succeeds. */
#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/methods/method.h"
#include "core/methods/shared/publish.h"
#include "tests/support/run_env.h"

/* ---- a sink that keeps texts only ------------------------------------------------------------------------ */

static void open_named(void *c, const char *key)
{
    if (key)
        buf_format(c, "%s:", key);
}
static void close_any(void *c)
{
    (void)c;
}
static void number(void *c, const char *key, double v)
{
    (void)c, (void)key, (void)v;
}
static void integer(void *c, const char *key, int64_t v)
{
    (void)c, (void)key, (void)v;
}
static void boolean(void *c, const char *key, bool v)
{
    (void)c, (void)key, (void)v;
}
static void text(void *c, const char *key, const char *v)
{
    buf_format(c, " %s='%s'", key ? key : "", v);
}
static void null(void *c, const char *key)
{
    (void)c, (void)key;
}

static struct sink sink_to(struct buf *out)
{
    buf_init(out, 1 << 24);
    return (struct sink){out, open_named, close_any, open_named, close_any, number, integer, boolean, text, null};
}

static void count_warning(void *context, enum log_level level, const char *line)
{
    *(int *)context += level == LOG_LEVEL_WARN && strstr(line, "was not made");
}

/* ---- tests ----------------------------------------------------------------------------------------------- */

/* The confusion matrix of 480 channels is wider than a PNG may be. */
static void training_of_480_channels_succeeds_without_its_picture(void **state)
{
    static const struct config_setting settings[] = {{"image_size", "32"},
                                                     {"classes", "3"},
                                                     {"min_symbols", "1"},
                                                     {"max_symbols", "2"},
                                                     {"shift", "1"},
                                                     {"margin", "8"},
                                                     {"min_radius", "5"},
                                                     {"width", "8"},
                                                     {"units", "1"},
                                                     {"motifs", "480"},
                                                     {"channels", "16"},
                                                     {"layers", "1"},
                                                     {"heads", "2"},
                                                     {"feed_forward", "16"},
                                                     {"batch", "4"},
                                                     {"validation_every", "20"},
                                                     {"test_samples", "4"},
                                                     {"motif_samples", "4"},
                                                     {"stage_samples", "2"},
                                                     {"checkpoint_every", "20"},
                                                     {"curriculum", "0"},
                                                     {"validation_samples", "4"},
                                                     {"total_samples", "20"},
                                                     {"density_start", "0.01"},
                                                     {NULL, NULL}};
    const struct method *method = method_find("sparling");
    struct run_env environment;
    struct method_run *run;
    struct error err = {0};
    enum method_request request = METHOD_CONTINUE;
    int warnings = 0;
    void *config = test_calloc(1, method->config.struct_bytes);
    assert_int_equal(config_defaults(&method->config, config, &err), STATUS_OK);
    assert_int_equal(config_apply(&method->config, config, settings, &err), STATUS_OK);
    assert_int_equal(run_env_open(&environment, 1, NULL, &err), STATUS_OK);
    environment.env.log = (struct log_hook){&warnings, count_warning};
    assert_int_equal(method->create(config, &environment.env, &run, &err), STATUS_OK);
    while (request != METHOD_DONE) {
        enum status status = run_env_step(&environment, method, run, &request, &err);
        if (status)
            fail_msg("%s", err.message);
    }
    struct buf result;
    struct sink sink = sink_to(&result);
    assert_int_equal(method_result(method, run, &sink, &err), STATUS_OK);
    assert_non_null(strstr(result.data, "findings:"));
    assert_non_null(strstr(result.data, "code='artifact-failed' severity='warning' text='The artifact confusion"));
    assert_true(warnings > 0);
    /* A run that loads a checkpoint saved at the end has the same findings. */
    struct run_env_bytes bytes = {0};
    struct buf again;
    struct sink second = sink_to(&again);
    assert_int_equal(run_env_save(method, run, &bytes, &err), STATUS_OK);
    method->destroy(run);
    assert_int_equal(method->create(config, &environment.env, &run, &err), STATUS_OK);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_int_equal(method->load(run, &reader, &err), STATUS_OK);
    assert_int_equal(method_result(method, run, &second, &err), STATUS_OK);
    assert_string_equal(again.data, result.data);
    run_env_bytes_close(&bytes);
    buf_close(&again);
    buf_close(&result);
    method->destroy(run);
    run_env_close(&environment);
    test_free(config);
}

static void complete_results_have_no_findings(void **state)
{
    static const struct finding_code code = FINDING_ARTIFACT_FAILED;
    struct artifact_findings failed = {0};
    struct method_env env = {0};
    struct findings *findings = test_calloc(1, sizeof *findings);
    publish_attempted(&failed, &env, "motifs", STATUS_OK, NULL);
    publish_findings(&failed, &code, findings);
    assert_int_equal(findings->count, 0);
    test_free(findings);
}

static void damaged_findings_of_a_checkpoint_do_no_harm(void **state)
{
    static const struct finding_code code = FINDING_ARTIFACT_FAILED;
    struct artifact_findings failed = {.count = -1};
    struct method_env env = {0};
    struct error err = {0};
    struct findings *findings = test_calloc(1, sizeof *findings);
    error_set(&err, STATUS_LIMIT, NULL, "too large");
    publish_attempted(&failed, &env, "motifs", STATUS_LIMIT, &err);
    publish_findings(&failed, &code, findings);
    assert_int_equal(findings->count, 0);
    failed.count = 1000;
    memset(failed.list, 'x', sizeof failed.list); /* texts without a terminating NUL */
    publish_findings(&failed, &code, findings);
    assert_int_equal(findings->count, ARTIFACT_FINDINGS);
    test_free(findings);
}

static void many_failures_are_a_bounded_list(void **state)
{
    struct artifact_findings findings = {0};
    struct method_env env = {0};
    struct error err = {0};
    error_set(&err, STATUS_LIMIT, NULL, "too large");
    for (int i = 0; i < 100; i++)
        publish_attempted(&findings, &env, "motifs", STATUS_LIMIT, &err);
    assert_int_equal(findings.count, ARTIFACT_FINDINGS);
    assert_string_equal(findings.list[0].reason, "too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_of_480_channels_succeeds_without_its_picture),
        cmocka_unit_test(complete_results_have_no_findings),
        cmocka_unit_test(damaged_findings_of_a_checkpoint_do_no_harm),
        cmocka_unit_test(many_failures_are_a_bounded_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
