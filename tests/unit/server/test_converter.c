/* Tests how the daemon runs the program that converts uploads, and what it reports when this program crashes, fails
 * with or without a reason, writes too much, or never ends. Shell scripts stand in for motif-convert. */
#include "server/process/converter.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"

static char folder[] = "/tmp/motif-converter-XXXXXX", program[64];
static struct error err;

/* interruptions: so many of the next calls of waitpid() fail with EINTR. lost: the program ends, but waitpid() does not
 * return its wait status. */
static int interruptions;
static bool lost;
pid_t __real_waitpid(pid_t pid, int *how, int options);
pid_t __wrap_waitpid(pid_t pid, int *how, int options);
pid_t __wrap_waitpid(pid_t pid, int *how, int options)
{
    if (interruptions == 0) {
        pid_t ended = __real_waitpid(pid, how, options);
        if (!lost)
            return ended;
        *how = 0;
        errno = ECHILD;
        return -1;
    }
    interruptions--;
    errno = EINTR;
    return -1;
}

struct taken {
    size_t bytes;
    size_t most; /* take() fails after this number of bytes */
    char text[4096];
    int looks, stop_after; /* looks: number of calls of stopped(); stop_after: number of calls after which the upload is
                              abandoned */
    struct work work;
};

static enum status take(void *context, const struct byte_source *table, struct error *fault)
{
    struct taken *t = context;
    for (size_t got = 1; got > 0;) {
        char bytes[1000];
        enum status status = table->read(table->context, bytes, sizeof bytes, &got, fault);
        if (status)
            return status;
        if (t->bytes + got < sizeof t->text)
            memcpy(t->text + t->bytes, bytes, got);
        t->bytes += got;
        if (t->bytes > t->most)
            return error_set(fault, STATUS_INVALID, NULL, "the table is bad");
    }
    return t->bytes == 0 ? error_set(fault, STATUS_CORRUPT, NULL, "the table ends early") : STATUS_OK;
}

static bool stopped(void *context)
{
    struct taken *t = context;
    return ++t->looks > t->stop_after;
}

static void write_program(const char *script)
{
    FILE *file = fopen(program, "we");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\n%s\n", script) > 0 && fclose(file) == 0);
    assert_int_equal(chmod(program, 0700), 0);
}

static int open_upload(void)
{
    int upload = memfd_create("upload", MFD_CLOEXEC);
    assert_true(upload >= 0 && write(upload, "uploaded", 8) == 8);
    return upload;
}

static enum status convert(int upload, struct taken *t)
{
    err = (struct error){0};
    t->most = t->most > 0 ? t->most : SIZE_MAX;
    t->stop_after = t->stop_after > 0 ? t->stop_after : 1000000;
    t->work = (struct work){.stop = stopped, .context = t};
    const struct api_conversion conversion = {.file = upload,
                                              .format = "h5ad",
                                              .layer = "a layer",
                                              .label = "$(reboot)",
                                              .group = "",
                                              .context = t,
                                              .take = take,
                                              .work = &t->work};
    return converter_run(program, &conversion, &err);
}

/* Runs a script in place of the program, on the upload "uploaded". */
static enum status run(const char *script, struct taken *t)
{
    write_program(script);
    int upload = open_upload();
    enum status status = convert(upload, t);
    assert_int_equal(close(upload), 0);
    return status;
}

static void the_table_is_what_the_program_writes(void **state)
{
    struct taken t = {0};
    (void)state;
    assert_int_equal(run("printf '%s|' \"$@\"; cat", &t), STATUS_OK);
    assert_string_equal(t.text, "h5ad|a layer|$(reboot)||uploaded");
}

static void the_program_gets_no_environment_and_no_other_descriptor(void **state)
{
    struct taken t = {0};
    (void)state;
    assert_int_equal(setenv("MOTIFD_TOKEN", "secret", 1), 0);
    int open_file = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    assert_true(open_file >= 0);
    assert_int_equal(run("/usr/bin/env; ls /proc/$$/fd | tr '\\n' ' '", &t), STATUS_OK);
    assert_int_equal(close(open_file), 0);
    assert_null(strstr(t.text, "secret"));
    assert_null(strstr(t.text, "HOME"));
    assert_non_null(strstr(t.text, "0 1 10 2 ")); /* 10 is the descriptor from which dash reads its script */
}

static void the_upload_cannot_be_changed(void **state)
{
    struct taken t = {0};
    (void)state;
    assert_int_equal(run("echo changed >&0 2>/dev/null && echo 'it was'; cat", &t), STATUS_OK);
    assert_string_equal(t.text, "uploaded");
}

static void failures_say_the_reason_and_the_format(void **state)
{
    static const struct {
        const char *script;
        enum status code;
        const char *message;
    } cases[] = {
        {"echo 'there is no X' >&2; exit 3", STATUS_INVALID, "h5ad: there is no X"},
        {"echo begun; echo 'too large' >&2; exit 4", STATUS_LIMIT, "h5ad: too large"},
        {"echo 'no seccomp' >&2; exit 5", STATUS_UNAVAILABLE, "h5ad: no seccomp"},
        {"exit 3", STATUS_INVALID, "h5ad: motif-convert ended with exit code 3"},
        {"exit 1", STATUS_CORRUPT, "h5ad: motif-convert ended with exit code 1"},
        {"printf 'two\\nlines' >&2; exit 3", STATUS_INVALID, "h5ad: two"},
        {"printf 'a \\033[2J \\377' >&2; exit 3", STATUS_INVALID, "h5ad: a \\x1b[2J \\xff"},
        {"kill -SEGV $$", STATUS_CORRUPT, "h5ad: the file made its reader crash (SIGSEGV), so it is probably damaged"},
        {"echo begun; kill -ABRT $$", STATUS_CORRUPT,
         "h5ad: the file made its reader crash (SIGABRT), so it is probably damaged"},
        {"kill -XCPU $$", STATUS_LIMIT,
         "h5ad: reading the file takes more processor time or memory than an upload may use"},
        {"kill -KILL $$", STATUS_LIMIT,
         "h5ad: reading the file takes more processor time or memory than an upload may use"},
        {"exit 0", STATUS_CORRUPT, "the table ends early"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken t = {0};
        assert_int_equal(run(cases[i].script, &t), cases[i].code);
        assert_string_equal(err.message, cases[i].message);
    }
}

static void a_long_reason_is_cut(void **state)
{
    struct taken t = {0};
    (void)state;
    assert_int_equal(run("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 3", &t), STATUS_INVALID);
    assert_int_equal(strlen(err.message), 6 + 200);
}

static void a_table_that_is_refused_ends_the_program(void **state)
{
    struct taken t = {.most = 5000};
    (void)state;
    assert_int_equal(run("while :; do echo more; done", &t), STATUS_INVALID);
    assert_string_equal(err.message, "the table is bad");
}

static void an_abandoned_upload_ends_the_program(void **state)
{
    struct taken t = {.stop_after = 3};
    (void)state;
    assert_int_equal(run("exec sleep 1000", &t), STATUS_CANCELLED);
    t = (struct taken){.stop_after = 3};
    /* the program closes its output, which carries the table, but does not end */
    assert_int_equal(run("exec sleep 1000 >&-", &t), STATUS_LIMIT);
}

static void a_missing_program_is_reported(void **state)
{
    char none[] = "/nonexistent/motif-convert";
    struct taken t = {0};
    int upload = memfd_create("upload", MFD_CLOEXEC);
    const struct api_conversion conversion = {
        .file = upload, .format = "h5ad", .layer = "", .label = "", .group = "", .context = &t, .take = take};
    (void)state;
    err = (struct error){0};
    assert_int_equal(converter_run(none, &conversion, &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "cannot be started"));
    assert_int_equal(close(upload), 0);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(program, sizeof program, "%s/program", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return remove(program) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* Calls fail while the program starts, and while its output is read. Each failure must be reported, no process and no
 * descriptor may be left, and a table that was accepted must be complete. A call that a signal interrupts is repeated,
 * except for opening the upload and making the pipes. */
static void a_failing_call_is_reported_and_leaves_nothing_behind(void **state)
{
    (void)state;
    for (int interrupted = 0; interrupted < 2; interrupted++) {
        int failed = 0, repeated = 0;
        const char *call = "";
        for (int n = 0; call != NULL; n++) {
            int descriptors = open_descriptors();
            struct taken t = {0};
            write_program("printf 'the table is long'; echo 'a reason' >&2");
            int upload = open_upload();
            fault_call_after(n, interrupted ? EINTR : EIO, false);
            enum status status = convert(upload, &t);
            call = fault_call_happened();
            assert_int_equal(close(upload), 0);
            assert_int_equal(open_descriptors(), descriptors);
            assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
            assert_true(status != STATUS_OK || strcmp(t.text, "the table is long") == 0);
            assert_true(status == STATUS_OK || strncmp(err.message, "h5ad: ", 6) == 0 || err.code == STATUS_IO);
            failed += status != STATUS_OK;
            repeated += call != NULL && status == STATUS_OK;
        }
        assert_true(failed >= 3 && repeated > 0);
    }
}

static void a_program_whose_wait_status_is_lost_does_not_count_as_successful(void **state)
{
    struct taken t = {0};
    (void)state;
    write_program("printf table; exit 3");
    int upload = open_upload();
    lost = true;
    assert_int_equal(convert(upload, &t), STATUS_UNAVAILABLE);
    lost = false;
    assert_string_equal(err.message, "h5ad: the process of motif-convert was lost");
    assert_int_equal(close(upload), 0);
}

static void missing_memory_for_the_reason_leaves_the_exit_code(void **state)
{
    struct taken t = {0};
    (void)state;
    write_program("echo 'there is no X' >&2; exit 3");
    int upload = open_upload();
    fault_after(0);
    assert_int_equal(convert(upload, &t), STATUS_INVALID);
    assert_true(fault_happened());
    assert_int_equal(close(upload), 0);
    assert_string_equal(err.message, "h5ad: motif-convert ended with exit code 3");
}

/* A signal that ends the wait for the program does not lose its exit code. */
static void a_wait_that_a_signal_ends_is_repeated(void **state)
{
    struct taken t = {0};
    (void)state;
    interruptions = 2;
    assert_int_equal(run("echo the file is no table >&2; exit 7", &t), STATUS_CORRUPT);
    assert_int_equal(interruptions, 0);
    assert_non_null(strstr(err.message, "h5ad: the file is no table"));
    interruptions = 1;
    assert_int_equal(run("kill -XCPU $$", &t), STATUS_LIMIT);
    assert_non_null(strstr(err.message, "more processor time or memory than an upload may use"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_what_the_program_writes),
        cmocka_unit_test(the_program_gets_no_environment_and_no_other_descriptor),
        cmocka_unit_test(the_upload_cannot_be_changed),
        cmocka_unit_test(failures_say_the_reason_and_the_format),
        cmocka_unit_test(a_long_reason_is_cut),
        cmocka_unit_test(a_table_that_is_refused_ends_the_program),
        cmocka_unit_test(an_abandoned_upload_ends_the_program),
        cmocka_unit_test(a_missing_program_is_reported),
        cmocka_unit_test(a_failing_call_is_reported_and_leaves_nothing_behind),
        cmocka_unit_test(a_program_whose_wait_status_is_lost_does_not_count_as_successful),
        cmocka_unit_test(missing_memory_for_the_reason_leaves_the_exit_code),
        cmocka_unit_test(a_wait_that_a_signal_ends_is_repeated),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
