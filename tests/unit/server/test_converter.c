/* Tests how the daemon runs the program that converts uploads, and what it reports when this program crashes, fails
 * with or without a reason, writes too much, or never ends. Shell scripts stand in for motif-convert. */
#include "server/process/converter.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/motif-converter-XXXXXX", program[64];
static struct error err;

struct taken {
    size_t bytes;
    size_t most; /* take() fails after this number of bytes */
    char text[4096];
    int looks, stop_after; /* stop_after: number of calls of stopped() after which the upload is abandoned */
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

/* Runs a script in place of the program, on the upload "uploaded". */
static enum status run(const char *script, struct taken *t)
{
    FILE *file = fopen(program, "we");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\n%s\n", script) > 0 && fclose(file) == 0);
    assert_int_equal(chmod(program, 0700), 0);
    int upload = memfd_create("upload", MFD_CLOEXEC);
    assert_true(upload >= 0 && write(upload, "uploaded", 8) == 8);
    err = (struct error){0};
    t->most = t->most > 0 ? t->most : SIZE_MAX;
    t->stop_after = t->stop_after > 0 ? t->stop_after : 1000000;
    const struct api_conversion conversion = {.file = upload,
                                              .format = "h5ad",
                                              .layer = "a layer",
                                              .label = "$(reboot)",
                                              .group = "",
                                              .context = t,
                                              .take = take,
                                              .stopped = stopped};
    enum status status = converter_run(program, &conversion, &err);
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
    const struct api_conversion conversion = {.file = upload,
                                              .format = "h5ad",
                                              .layer = "",
                                              .label = "",
                                              .group = "",
                                              .context = &t,
                                              .take = take,
                                              .stopped = stopped};
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
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
