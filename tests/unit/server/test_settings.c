/* Tests settings: their sources and which source wins, the reports of all faults, and addresses. Also tests how the log
 * escapes characters. */
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/process/journal.h"
#include "server/settings/settings.h"

struct seen {
    int count;
    char text[1024];
};

static void note(void *context, const char *setting, const char *source, const char *detail)
{
    struct seen *seen = context;
    size_t used = strlen(seen->text);
    seen->count++;
    (void)snprintf(seen->text + used, sizeof seen->text - used, "%s|%s|%s\n", setting, source, detail);
}

static void write_file(char path[32], const char *text)
{
    memcpy(path, "/tmp/motifd_settings_XXXXXX", 28);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static enum status read_with(struct settings *settings, struct seen *seen, int argc, char **argv)
{
    bool help = false;
    memset(seen, 0, sizeof *seen);
    struct settings_faults faults = {.context = seen, .add = note};
    return settings_read(settings, argc, argv, &faults, &help);
}

static void flags_override_environment_file_and_defaults(void **state)
{
    struct settings settings;
    struct seen seen;
    char path[32];
    write_file(path, "{\"workers\": 5, \"queue_limit\": 7, \"db\": \"file.db\", \"log_level\": \"debug\"}");
    char *argv[] = {"serve", "--workers", "3", "--config", path, NULL};
    assert_int_equal(setenv("MOTIFD_QUEUE_LIMIT", "8", 1), 0);
    assert_int_equal(setenv("MOTIFD_WORKERS", "4", 1), 0);
    assert_int_equal(read_with(&settings, &seen, 5, argv), STATUS_OK);
    assert_int_equal(settings.workers, 3);     /* from the command line */
    assert_int_equal(settings.queue_limit, 8); /* from the environment */
    assert_string_equal(settings.db, "file.db");
    assert_string_equal(settings.log_level, "debug");
    assert_string_equal(settings.listen, "127.0.0.1:8080"); /* the default */
    assert_int_equal(settings.job_nice, 10);                /* the default: requests run before jobs */
    (void)unsetenv("MOTIFD_QUEUE_LIMIT");
    (void)unsetenv("MOTIFD_WORKERS");
    (void)unlink(path);
}

static void every_fault_is_reported(void **state)
{
    struct settings settings;
    struct seen seen;
    char path[32];
    write_file(path,
               "{\"workers\": 1.5, \"nonsense\": 1, \"db\": 3, \"header_timeout_ms\": 1, \"listen\": \"nowhere\"}");
    char *argv[] = {"serve", "--connections", "many", "--what", "--config", path, "extra", NULL};
    assert_int_equal(setenv("MOTIFD_LOG_LEVEL", "loud", 1), 0);
    assert_int_equal(read_with(&settings, &seen, 7, argv), STATUS_INVALID);
    (void)unsetenv("MOTIFD_LOG_LEVEL");
    (void)unlink(path);
    assert_non_null(strstr(seen.text, "connections|flag|must be an integer in [4, 65536]; got \"many\""));
    assert_non_null(strstr(seen.text, "--what|flag|is not known"));
    assert_non_null(strstr(seen.text, "extra|flag|is not expected here"));
    assert_non_null(strstr(seen.text, "MOTIFD_LOG_LEVEL|environment|must be one of debug"));
    assert_non_null(strstr(seen.text, "workers|file|must be an integer"));
    assert_non_null(strstr(seen.text, "nonsense|file|is not a setting"));
    assert_non_null(strstr(seen.text, "db|file|must be text"));
    assert_non_null(strstr(seen.text, "header_timeout_ms|file|must be an integer in [50, 3600000]"));
    assert_non_null(strstr(seen.text, "listen|file|must end in a port"));
    assert_int_equal(seen.count, 9);
}

/* The report of an unknown setting contains the known name that is closest to it. */
static void an_unknown_setting_is_reported_with_the_closest_name(void **state)
{
    static const struct {
        char *word;
        const char *message;
    } cases[] = {
        {"--database", "--database|flag|is not known; did you mean --db?\n"},
        {"--database=x", "--database=x|flag|is not known; did you mean --db?\n"},
        {"--port", "--port|flag|is not known; did you mean --listen?\n"},
        {"--wokers", "--wokers|flag|is not known; did you mean --workers?\n"},
        {"--queue_limit=3", "--queue_limit=3|flag|is not known; did you mean --queue-limit?\n"},
        {"--zzzzzz", "--zzzzzz|flag|is not known\n"},
    };
    struct settings settings;
    struct seen seen;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *argv[] = {"serve", cases[i].word, NULL};
        assert_int_equal(read_with(&settings, &seen, 2, argv), STATUS_INVALID);
        assert_string_equal(seen.text, cases[i].message);
    }
}

/* Texts and numbers that a setting refuses, and the nearest ones that it accepts. */
static void every_setting_has_a_range(void **state)
{
    static const struct {
        char *flag, *value;
        const char *message; /* NULL: the value is accepted */
    } cases[] = {
        {"--executors", "thread", NULL},
        {"--executors", "slurm,process,mpirun,thread", NULL},
        {"--executors", "thread,thread", "each once"},
        {"--executors", "thread,", "each once"},
        {"--executors", "", "each once"},
        {"--executors", "threads", "each once"},
        {"--token", "", NULL},
        {"--token", "0123456789abcdef", NULL},
        {"--token", "0123456789abcde", "at least 16 characters"},
        {"--notify-url", "", NULL},
        {"--notify-url", "http://a", NULL},
        {"--notify-url", "https://a", NULL},
        {"--notify-url", "ftp://a", "must begin with http:// or https://"},
        {"--notify-secret", "", NULL},
        {"--notify-secret", "0123456789abcdef", NULL},
        {"--notify-secret", "0123456789abcde", "at least 16 characters"},
        {"--db", "", "must be the name of a file"},
        {"--workers", "1", NULL},
        {"--workers", "0", "must be an integer in [1, "},
        {"--workers", "", "must be an integer in [1, "},
        {"--workers", "1x", "must be an integer in [1, "},
        {"--job-memory", "99999999999999999999", "must be an integer in [0, "},
        {"--query-seconds", "86400", NULL},
        {"--query-seconds", "86401", "must be an integer in [0, 86400]"},
        {"--query-seconds", "-1", "must be an integer in [0, 86400]"},
    };
    struct settings settings;
    struct seen seen;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *argv[] = {"serve", cases[i].flag, cases[i].value, NULL};
        enum status status = read_with(&settings, &seen, 3, argv);
        if ((status == STATUS_OK) != (cases[i].message == NULL) ||
            (cases[i].message != NULL && strstr(seen.text, cases[i].message) == NULL))
            fail_msg("%s '%s': %s", cases[i].flag, cases[i].value, seen.text);
    }
    char text[SETTINGS_TEXT + 1];
    memset(text, 'x', sizeof text);
    text[SETTINGS_TEXT] = '\0';
    char *argv[] = {"serve", "--data", text, NULL};
    assert_int_equal(read_with(&settings, &seen, 3, argv), STATUS_INVALID);
    assert_non_null(strstr(seen.text, "must be shorter than 1024 bytes"));
    text[SETTINGS_TEXT - 1] = '\0';
    assert_int_equal(read_with(&settings, &seen, 3, argv), STATUS_OK);
    assert_string_equal(settings.data, text);
    assert_int_equal(settings_read(&settings, 3, argv, NULL, &(bool){false}), STATUS_OK);
    argv[1] = "--what"; /* without a list of faults, an unknown flag is refused too */
    assert_int_equal(settings_read(&settings, 2, argv, NULL, &(bool){false}), STATUS_INVALID);
}

static void a_broken_file_is_reported(void **state)
{
    struct settings settings;
    struct seen seen = {0};
    struct settings_faults faults = {.context = &seen, .add = note};
    settings_defaults(&settings);
    assert_int_equal(settings_read_json(&settings, "{\"db\":", 6, NULL, &faults), STATUS_INVALID);
    assert_int_equal(settings_read_json(&settings, "[1]", 3, NULL, &faults), STATUS_INVALID);
    assert_int_equal(settings_read_json(&settings, "{\"db\":\"a\",\"db\":\"b\"}", 19, NULL, &faults), STATUS_INVALID);
    assert_int_equal(seen.count, 3);
}

static void addresses_are_split_and_checked(void **state)
{
    const struct {
        const char *listen, *host;
        /* expected port, and whether the host is a loopback address; port -1: the address is refused */
        int port, loopback;
    } cases[] = {
        {"127.0.0.1:8080", "127.0.0.1", 8080, 1},
        {"127.5.5.5:0", "127.5.5.5", 0, 1},
        {"0.0.0.0:80", "0.0.0.0", 80, 0},
        {"[::1]:80", "::1", 80, 1},
        {"[::]:80", "::", 80, 0},
        {"localhost:1", "127.0.0.1", 1, 1},
        {"9000", "127.0.0.1", 9000, 1},
        {":9000", "127.0.0.1", 9000, 1},
        {"::1:80", "", 0, -1},
        {"127.0.0.1", "", 0, -1},
        {"127.0.0.1:", "", 0, -1},
        {"127.0.0.1:65536", "", 0, -1},
        {"127.0.0.1:-1", "", 0, -1},
        {"example.org:80", "", 0, -1},
        {"127.0.0.1:80x", "", 0, -1},
        {"", "", 0, -1},
        {"[::1:80", "", 0, -1},
        {"[]:80", "127.0.0.1", 80, 1},
        {"[:80", "", 0, -1},
        {"[fe80::1]:80", "fe80::1", 80, 0},
        {"[::2]:80", "::2", 80, 0},
        {"127.0.0.1:9223372036854775808", "", 0, -1},
        {"127.0.0.1:/1", "", 0, -1},
        {"1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
         "0123456"
         "78901234567890:80",
         "", 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char host[128];
        uint16_t port = 0;
        bool loopback = false;
        enum status status = settings_address(cases[i].listen, host, sizeof host, &port, &loopback, NULL);
        assert_int_equal(status, cases[i].loopback < 0 ? STATUS_INVALID : STATUS_OK);
        if (cases[i].loopback >= 0) {
            assert_string_equal(host, cases[i].host);
            assert_int_equal(port, cases[i].port);
            assert_int_equal(loopback, cases[i].loopback);
        }
    }
}

static void log_text_is_escaped(void **state)
{
    char out[64];
    (void)journal_escape(out, sizeof out, "a\"b\\c\nd\x01\x7f");
    assert_string_equal(out, "a\\\"b\\\\c\\nd\\u0001\\u007f");
    (void)journal_escape(out, sizeof out, "\xc3\xa9 \xff \xc0\xaf \xed\xa0\x80");
    assert_string_equal(out, "\xc3\xa9 \\u00ff \\u00c0\\u00af \\u00ed\\u00a0\\u0080");
    /* the escape of the line feed does not fit, so no part of it is written */
    assert_int_equal(journal_escape(out, 8, "abcdef\n"), 6);
    assert_string_equal(out, "abcdef");
}

/* A component writes a burst of lines and then a limited number per second. The log reports how many lines it
 * dropped. */
static void log_lines_are_limited_per_component(void **state)
{
    struct journal *journal = NULL;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(journal_open(&journal, ends[1], LOG_LEVEL_INFO, NULL), STATUS_OK);
    struct timespec begun, ended;
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int i = 0; i < 400; i++)
        journal_line(journal, LOG_LEVEL_INFO, JOURNAL_HTTP, "r1", NULL, "line %d", i);
    journal_line(journal, LOG_LEVEL_DEBUG, JOURNAL_SCHEDULER, NULL, NULL, "not at this level");
    journal_line(journal, LOG_LEVEL_ERROR, JOURNAL_HTTP, NULL, "J", "errors pass");
    journal_line(journal, LOG_LEVEL_INFO, JOURNAL_EXECUTOR, NULL, NULL, "others have buckets of their own");
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    double seconds = (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) * 1e-9;
    journal_close(journal);
    (void)close(ends[1]);
    static char text[65536];
    size_t size = 0;
    for (ssize_t got; (got = read(ends[0], text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)got;
    (void)close(ends[0]);
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    /* The log has at least 102 lines: the burst of 100, the error, and the line of another component. It may also
     * have the report of dropped lines, and the lines that the rate allowed while the test ran. */
    assert_in_range(lines, 102, 103 + (int)(50 * seconds) + 1);
    assert_non_null(strstr(text, "\"request\":\"r1\",\"message\":\"line 0\"}"));
    assert_non_null(strstr(text, "\"suppressed\":"));
    assert_non_null(strstr(text, "\"job\":\"J\",\"message\":\"errors pass\"}"));
    assert_non_null(strstr(text, "others have buckets"));
    assert_null(strstr(text, "not at this level"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_override_environment_file_and_defaults),
        cmocka_unit_test(every_fault_is_reported),
        cmocka_unit_test(an_unknown_setting_is_reported_with_the_closest_name),
        cmocka_unit_test(every_setting_has_a_range),
        cmocka_unit_test(a_broken_file_is_reported),
        cmocka_unit_test(addresses_are_split_and_checked),
        cmocka_unit_test(log_text_is_escaped),
        cmocka_unit_test(log_lines_are_limited_per_component),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
