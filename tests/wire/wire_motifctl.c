/* Runs motifctl as a person does, against a real daemon: every command, the exit codes, and a restart of the
 * daemon during `watch`. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/wire/wire.h"

#define TEXT (256 * 1024)
#define LONG_RUN 4000000L
#define WORDS 96

static struct daemon_process served;
static char done[JOB_ID]; /* id of a job that has succeeded */

struct outcome {
    int code;
    char out[TEXT], err[TEXT];
};
static struct outcome got;

static void slurp(const char *path, char *out, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    size_t count = file != NULL ? fread(out, 1, bytes - 1, file) : 0;
    out[count] = '\0';
    if (file != NULL)
        (void)fclose(file);
}

static void in_folder(const char *name, char out[128])
{
    (void)snprintf(out, 128, "%s/%s", served.folder, name);
}

/* Starts motifctl in the daemon's folder. Spaces in `line` separate the arguments. */
static pid_t start(const char *line)
{
    char words_text[2048], out[128], err[128], *words[WORDS] = {0};
    size_t count = 0;
    const char *program = getenv("MOTIFCTL");
    assert_non_null(program);
    (void)snprintf(words_text, sizeof words_text, "motifctl %s", line);
    for (char *word = strtok(words_text, " "); word != NULL && count < WORDS - 1; word = strtok(NULL, " "))
        words[count++] = word;
    in_folder("ctl.out", out);
    in_folder("ctl.err", err);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setenv("MOTIFD_SERVER", served.url, 1);
        if (freopen(out, "wb", stdout) == NULL || freopen(err, "wb", stderr) == NULL || chdir(served.folder) != 0)
            _exit(126);
        (void)execv(program, words);
        _exit(127);
    }
    return child;
}

static void finish(pid_t child)
{
    char path[128];
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    got.code = WEXITSTATUS(status);
    in_folder("ctl.out", path);
    slurp(path, got.out, sizeof got.out);
    in_folder("ctl.err", path);
    slurp(path, got.err, sizeof got.err);
}

/* Waits until the running motifctl has printed the text. */
static void await_words(const char *text)
{
    char path[128];
    for (double until = now_seconds() + PATIENCE; now_seconds() < until; sleep_ms(20)) {
        in_folder("ctl.out", path);
        slurp(path, got.out, sizeof got.out);
        in_folder("ctl.err", path);
        slurp(path, got.err, sizeof got.err);
        if (strstr(got.out, text) != NULL || strstr(got.err, text) != NULL)
            return;
    }
    fail_msg("motifctl did not print \"%s\"", text);
}

static void ctl(const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    finish(start(line));
}

static void expect(int code)
{
    if (got.code != code)
        print_error("exit code %d, wanted %d\nout: %s\nerr: %s\n", got.code, code, got.out, got.err);
    assert_int_equal(got.code, code);
}

static void shows(const char *text)
{
    if (strstr(got.out, text) == NULL) {
        print_error("no \"%s\" in: %s\n", text, got.out);
        fail();
    }
}

static cJSON *document(void)
{
    cJSON *json = cJSON_Parse(got.out);
    assert_non_null(json);
    return json;
}

#define TINY_FLAGS                                                                                                     \
    "--preset digitcircle-quick --set image_size=32 --set classes=3 --set min_symbols=1 --set max_symbols=2 "          \
    "--set shift=1 --set margin=8 --set min_radius=5 --set width=16 --set motifs=3 --set units=1 --set channels=16 "   \
    "--set layers=1 --set heads=2 --set feed_forward=32 --set batch=4 --set validation_every=40 "                      \
    "--set validation_samples=8 --set checkpoint_every=20"

static int setup(void **state)
{
    daemon_init(&served);
    if (!daemon_start(&served, NULL, NULL))
        return -1;
    submit_tiny(served.url, 120, ",\"name\":\"first\"", done);
    await_state(served.url, done, "succeeded");
    return 0;
}

static int teardown(void **state)
{
    /* SIGTERM instead of SIGKILL, because a sanitizer reports leaks only at a normal end */
    int code = daemon_stop(&served);
    daemon_close(&served, code != 0);
    return code;
}

static void submit_and_watch_follow_a_job(void **state)
{
    ctl("submit " TINY_FLAGS
        " --set test_samples=8 --set motif_samples=8 --set total_samples=40 --name second --watch");
    expect(0);
    shows("submitted second as ");
    shows("second ");
    shows("succeeded\n");
    shows("false positive error (FPE)");
    shows("DENSITY");
}

/* A model that has seen 40 samples has learned nothing, but the job succeeds. With --require, the exit code of `watch`
 * tells the verdict. */
static void watch_with_require_exits_with_the_verdict(void **state)
{
    ctl("watch latest");
    expect(0);
    ctl("watch latest --require");
    expect(5);
    shows("not-learned");
}

static void the_same_key_returns_the_same_job(void **state)
{
    char first[64];
    for (int i = 0; i < 2; i++) {
        ctl("submit " TINY_FLAGS " --set total_samples=4 --key twice --json");
        expect(0);
        cJSON *job = document();
        if (i == 0)
            (void)snprintf(first, sizeof first, "%s", json_text(job, "id"));
        else
            assert_string_equal(json_text(job, "id"), first);
        cJSON_Delete(job);
    }
    await_state(served.url, first, "succeeded");
}

static void faults_of_a_submission_are_usage_errors(void **state)
{
    ctl("submit --preset digitcircle-quick --set width=0 --set wdth=3 --set sparsity=some --dry-run");
    expect(2);
    assert_non_null(strstr(got.err, "/config/width"));
    assert_non_null(strstr(got.err, "/config/wdth"));
    assert_non_null(strstr(got.err, "/config/sparsity"));
    ctl("submit --preset no-such");
    expect(2);
    ctl("show 01AAAAAAAAAAAAAAAAAAAAAAAA");
    expect(2);
    ctl("submit --preset digitcircle-quick --dry-run");
    expect(0);
    shows("predicted time");
    shows("nothing was stored");
}

static void submit_selects_the_executor(void **state)
{
    ctl("submit " TINY_FLAGS " --set total_samples=4 --executor process --ranks 1 --json");
    expect(0);
    cJSON *job = document();
    char id[64];
    (void)snprintf(id, sizeof id, "%s", json_text(job, "id"));
    assert_string_equal(json_text(job, "executor"), "process");
    assert_true(json_number(job, "ranks") == 1);
    cJSON_Delete(job);
    ctl("show %s", id);
    expect(0);
    shows("process");
    await_state(served.url, id, "succeeded");
    /* motifctl sends any name of an executor to the daemon, which refuses an unknown one and lists the known ones.
     * motifctl itself refuses a malformed number. */
    ctl("submit --preset digitcircle-quick --executor cloud --dry-run");
    expect(2);
    assert_non_null(strstr(got.err, "/executor"));
    assert_non_null(strstr(got.err, "thread, process"));
    ctl("submit --preset digitcircle-quick --executor process --ranks 4 --dry-run");
    expect(2);
    assert_non_null(strstr(got.err, "/ranks"));
    ctl("submit --preset digitcircle-quick --ranks many --dry-run");
    expect(2);
    assert_non_null(strstr(got.err, "--ranks"));
}

static void submit_reads_a_configuration_file(void **state)
{
    char path[128];
    in_folder("job.json", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("{\"preset\":\"digitcircle-quick\",\"name\":\"filed\",\"config\":{\"seed\":5}}", file) >= 0);
    assert_int_equal(fclose(file), 0);
    ctl("submit --config job.json --set batch=2 --dry-run --json");
    expect(0);
    cJSON *answer = document();
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(answer, "config");
    assert_true(json_number(config, "seed") == 5 && json_number(config, "batch") == 2);
    assert_string_equal(json_text(answer, "name"), "filed");
    cJSON_Delete(answer);
}

static void submit_selects_the_first_kind_that_accepts_the_data_set(void **state)
{
    static const struct {
        const char *file, *kind, *accepts, *refuses;
    } sets[] = {
        {"table.csv", "kind factors (also possible with --kind: dictionary)", "--kind factors --preset dataset",
         "environments: the table needs a group column"},
        {"bases.fa", "kind sparling\n", "--kind sparling --preset dataset", "factors: is a data set of sequences"},
    };
    char path[128];
    for (int i = 0; i < 2; i++) {
        in_folder(sets[i].file, path);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        (void)fputs(i == 0 ? "a,b,c,label\n" : "", file);
        for (int row = 0; row < 60; row++) {
            if (i == 0)
                (void)fprintf(file, "%d,%d,%d,x%d\n", row, row * 5 % 11, row * 7 % 13, row % 2);
            else
                (void)fprintf(file, ">r%d %s\nACGTACGTACGT%sACGTACGTACGT\n", row, row % 2 ? "left" : "right",
                              row % 2 ? "GGGCC" : "TTTAA");
        }
        assert_int_equal(fclose(file), 0);
        ctl("datasets put choice%d %s", i, sets[i].file);
        expect(0);
        ctl("submit --preset dataset --set dataset_name=choice%d --dry-run", i);
        expect(0);
        assert_non_null(strstr(got.err, sets[i].kind));
        ctl("datasets show choice%d", i);
        expect(0);
        assert_non_null(strstr(got.out, sets[i].accepts));
        assert_non_null(strstr(strstr(got.out, "do not accept it"), sets[i].refuses));
        ctl("datasets delete choice%d", i);
        expect(0);
    }
    ctl("submit --preset dataset --dry-run");
    expect(2);
    assert_non_null(strstr(got.err, "sparling, factors, environments, dictionary"));
}

static void submit_copies_another_job_except_for_what_is_set(void **state)
{
    ctl("submit --like %s --set seed=77 --dry-run --json", done);
    expect(0);
    cJSON *copy = document();
    ctl("get %s config --json", done);
    expect(0);
    cJSON *config = document(), *copied = cJSON_GetObjectItemCaseSensitive(copy, "config");
    const cJSON *field = NULL;
    assert_true(json_number(copied, "seed") == 77);
    cJSON_ArrayForEach (field, config)
        if (strcmp(field->string, "seed") != 0)
            assert_true(cJSON_Compare(field, cJSON_GetObjectItemCaseSensitive(copied, field->string), true));
    cJSON_Delete(copy);
    cJSON_Delete(config);
    ctl("submit --like %s --preset digitcircle --dry-run", done);
    expect(2);
    ctl("submit --like nobody --dry-run");
    expect(2);
}

static void jobs_are_listed_and_shown(void **state)
{
    ctl("list --state succeeded");
    expect(0);
    shows("ID ");
    shows(done);
    shows("first");
    ctl("list --json --limit 1");
    expect(0);
    cJSON *page = document();
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(page, "jobs")), 1);
    cJSON_Delete(page);
    ctl("list --state sleeping");
    expect(2);
    ctl("show %s --config --confusion", done);
    expect(0);
    shows("image_size");
    shows("confusion matrix");
    shows("weights_sha256");
    ctl("show %.25s --json", done);
    expect(0);
    /* the id is ambiguous: its first letters come from the clock, so all jobs share them */
    ctl("show %.2s --json", done);
    expect(2);
}

/* A name, a tag or a bound on the result selects a job in commands that accept an id. */
static void jobs_are_found_by_name_tag_and_result(void **state)
{
    char id[JOB_ID], line[JOB_ID + 1];
    (void)state;
    ctl("submit " TINY_FLAGS " --set total_samples=4 --name night-1 --tag trial --tag night -q");
    expect(0);
    assert_int_equal(strlen(got.out), 27);
    (void)snprintf(line, sizeof line, "%.27s", got.out);
    (void)snprintf(id, sizeof id, "%.26s", got.out);
    ctl("watch night-1");
    expect(0);
    ctl("get night-1 state tags id");
    expect(0);
    shows("succeeded\n[\"night\",\"trial\"]\n");
    shows(id);
    ctl("get night-1 config.total_samples result.no-such");
    expect(2);
    shows("4\n");
    ctl("list --tag night -q");
    expect(0);
    assert_string_equal(got.out, line);
    ctl("list --where seed>=0 --sort -created_at --name night-1 -q");
    expect(0);
    assert_string_equal(got.out, line);
    ctl("show night-1 -q");
    expect(0);
    assert_string_equal(got.out, line);
    ctl("checkpoints night-1 -q"); /* prints only sequence numbers, without a heading line */
    expect(0);
    assert_int_equal(strspn(got.out, "0123456789\n"), strlen(got.out));
    assert_true(strlen(got.out) >= 2);
    ctl("list --cacert /no/such.pem");
    expect(2);
    ctl("list --where seed<=-1 --name night-1");
    expect(0);
    shows("no jobs");
    ctl("list --sort sise");
    expect(2);
    ctl("motifs night-1 --seed 3");
    expect(0);
    ctl("submit " TINY_FLAGS " --set total_samples=4 --from night-1 --name night-2 --watch");
    expect(0);
    ctl("submit " TINY_FLAGS " --set total_samples=4000000 --name night-3");
    expect(0);
    ctl("motifs latest --seed 3 --json"); /* night-3 has no checkpoint, so this asks the model of night-2 */
    expect(0);
    ctl("cancel night-3 -q");
    expect(0);
    ctl("watch night-3");
    ctl("rm night-3 night-2 night-1");
    expect(0);
    ctl("show night-1");
    expect(2);
}

static void answers_come_as_yaml_or_json(void **state)
{
    (void)state;
    ctl("show %s -o yaml", done);
    expect(0);
    shows("state: \"succeeded\"\n");
    shows("progress:\n  step: ");
    ctl("list -o yaml --limit 1");
    expect(0);
    shows("jobs:\n  -\n    id: \"");
    ctl("show %s -o json", done);
    expect(0);
    assert_int_equal(got.out[0], '{');
    ctl("show %s -o table", done);
    expect(0);
    shows("succeeded");
    ctl("show %s -o xml", done);
    expect(2);
    ctl("version");
    expect(0);
    shows("motifd 0.");
    ctl("--server %s -h", served.url);
    expect(0);
    shows("usage: motifctl COMMAND");
}

static void logs_list_the_events_of_a_job(void **state)
{
    (void)state;
    ctl("logs %s", done);
    expect(0);
    shows("  state queued\n");
    shows("  state succeeded");
    ctl("logs %s -f", done); /* the job has ended, so the command does, too */
    expect(0);
    shows("checkpoint ");
    ctl("submit " TINY_FLAGS " --set total_samples=4 --name logged");
    expect(0);
    ctl("logs logged --follow --json");
    expect(0);
    shows("\"state\":\"succeeded\"");
    ctl("rm logged");
    expect(0);
}

static void series_are_listed_and_drawn(void **state)
{
    ctl("metrics %s", done);
    expect(0);
    shows("validation_loss");
    ctl("metrics %s --name accuracy --csv", done);
    expect(0);
    shows("name,step,value\naccuracy,");
    ctl("plot %s validation_loss,density --height 8", done);
    expect(0);
    shows("validation_loss\n");
    shows("┤");
}

static bool is_png(const char *name)
{
    char path[128];
    unsigned char head[8] = {0};
    in_folder(name, path);
    FILE *file = fopen(path, "rb");
    size_t count = file != NULL ? fread(head, 1, sizeof head, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    return count == 8 && memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static void motifs_are_drawn(void **state)
{
    ctl("motifs %s --seed 3 --png three.png", done);
    expect(0);
    shows("sample 3\n");
    shows("prediction");
    shows("truth");
    assert_true(is_png("three.png"));
    int ink = 0;
    for (const char *at = got.out; *at != '\0'; at++)
        ink += *at == '@' || *at == '+';
    assert_true(ink > 10); /* motifctl printed the picture as characters */
    ctl("motifs %s --count 2 --seed 7 --png some.png --json", done);
    expect(0);
    assert_true(is_png("some-7.png") && is_png("some-8.png"));
    ctl("motifs %s --checkpoint 99", done);
    expect(2);
}

static void models_are_evaluated(void **state)
{
    ctl("evaluate %s --samples 16", done);
    expect(0);
    shows("false negative error (FNE)");
    shows("confusion matrix");
    ctl("evaluate %s --last --json", done);
    expect(0);
    cJSON *evaluation = document();
    assert_true(json_number(evaluation, "samples") == 16);
    cJSON_Delete(evaluation);
    ctl("evaluate %s --samples 0", done);
    expect(2);
}

static void checkpoints_are_exported(void **state)
{
    char path[128];
    struct stat whole, part;
    ctl("checkpoints %s", done);
    expect(0);
    shows("SEQ");
    ctl("export %s w.safetensors", done);
    expect(0);
    in_folder("w.safetensors", path);
    assert_int_equal(stat(path, &whole), 0);
    unsigned char head[9] = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, 9, file), 9);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(head[8], '{'); /* the file begins with eight bytes of length, then JSON */
    ctl("export %s other.safetensors --json", done);
    expect(0);
    in_folder("other.safetensors", path);
    assert_int_equal(stat(path, &part), 0);
    assert_int_equal(whole.st_size, part.st_size);
    ctl("export %s x.safetensors --checkpoint 99", done);
    expect(2);
    in_folder("x.safetensors", path);
    assert_int_not_equal(access(path, F_OK), 0);
    in_folder("pipe", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    ctl("export %s pipe", done);
    expect(2);
    assert_non_null(strstr(got.err, "pipe exists and is not a regular file"));
    assert_int_equal(stat(path, &whole), 0);
    assert_true(S_ISFIFO(whole.st_mode));
    ctl("artifacts %s motifs.png --output four.png", done);
    expect(0);
    assert_true(is_png("four.png"));
}

static void jobs_are_paused_resumed_cancelled_and_deleted(void **state)
{
    char id[JOB_ID];
    submit_tiny(served.url, LONG_RUN, "", id);
    await_state(served.url, id, "running");
    ctl("pause %s", id);
    expect(0);
    await_state(served.url, id, "paused");
    ctl("resume %s", id);
    expect(0);
    await_state(served.url, id, "running");
    ctl("delete %s", id);
    expect(1);
    pid_t watcher = start("watch latest --interval 20");
    await_words("%  density");
    char path[256];
    struct reply reply;
    job_path(path, id, "/cancel");
    call_server(served.url, &(struct call){.method = "POST", .path = path}, &reply);
    assert_int_equal(reply.status, 202);
    reply_close(&reply);
    finish(watcher);
    expect(1);
    shows("cancelled\n");
    ctl("cancel %s", id);
    expect(1); /* fails, because the job has already ended */
    ctl("delete %s", id);
    expect(0);
    ctl("show %s", id);
    expect(2);
}

static void watch_survives_a_restart_of_the_daemon(void **state)
{
    char id[JOB_ID], listen[32];
    submit_tiny(served.url, 4000, "", id);
    await_state(served.url, id, "running");
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", served.port);
    char line[128];
    (void)snprintf(line, sizeof line, "watch %s --interval 20", id);
    pid_t watcher = start(line);
    await_words("%  density");
    daemon_kill(&served);
    await_words("server cannot be reached");
    assert_true(daemon_start(&served, (const char *const[]){"--listen", listen, NULL}, NULL));
    finish(watcher);
    expect(0);
    assert_non_null(strstr(got.err, "server cannot be reached"));
    assert_non_null(strstr(got.err, "server is back"));
    shows("succeeded\n");
}

static void kinds_system_and_health_describe_the_server(void **state)
{
    ctl("kinds");
    expect(0);
    shows("digitcircle-quick");
    ctl("kinds sparling"); /* lists only the basic fields of the kind */
    expect(0);
    shows("density_final");
    assert_null(strstr(got.out, "density_start"));
    shows("--all");
    shows("PRESET");
    ctl("kinds sparling --all --markdown");
    expect(0);
    shows("| density_start | ");
    ctl("submit --preset cells"); /* ambiguous, because two kinds have a preset of that name */
    expect(2);
    assert_non_null(strstr(got.err, "--kind"));
    ctl("kinds nonsense");
    expect(2);
    ctl("system");
    expect(0);
    shows("blas_core");
    ctl("health");
    expect(0);
    ctl("--server http://127.0.0.1:1 health");
    expect(3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submit_and_watch_follow_a_job),
        cmocka_unit_test(watch_with_require_exits_with_the_verdict),
        cmocka_unit_test(the_same_key_returns_the_same_job),
        cmocka_unit_test(faults_of_a_submission_are_usage_errors),
        cmocka_unit_test(submit_selects_the_executor),
        cmocka_unit_test(submit_reads_a_configuration_file),
        cmocka_unit_test(submit_selects_the_first_kind_that_accepts_the_data_set),
        cmocka_unit_test(submit_copies_another_job_except_for_what_is_set),
        cmocka_unit_test(jobs_are_listed_and_shown),
        cmocka_unit_test(jobs_are_found_by_name_tag_and_result),
        cmocka_unit_test(answers_come_as_yaml_or_json),
        cmocka_unit_test(logs_list_the_events_of_a_job),
        cmocka_unit_test(series_are_listed_and_drawn),
        cmocka_unit_test(motifs_are_drawn),
        cmocka_unit_test(models_are_evaluated),
        cmocka_unit_test(checkpoints_are_exported),
        cmocka_unit_test(jobs_are_paused_resumed_cancelled_and_deleted),
        cmocka_unit_test(watch_survives_a_restart_of_the_daemon),
        cmocka_unit_test(kinds_system_and_health_describe_the_server),
    };
    return cmocka_run_group_tests_name("wire_motifctl", tests, setup, teardown);
}
