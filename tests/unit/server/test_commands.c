/* Runs the commands of motifd in this process, while one allocation or one system call fails. A command must do its
 * work, or print an error and return 1 or 2; either way the database stays sound and no descriptor stays open. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/commands/commands.h"
#include "server/commands/data_copy.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"
#include "tests/support/printed.h"

enum { WORDS = 10 };

static char folder[] = "/tmp/motifd-commands-XXXXXX", base[80], db[80], copy[80], text_file[80], data[80];
static char out[20000], err[20000];

/* The fault of the next command: kind 0: allocation `n` fails; 1: system call `n` fails. */
static struct {
    bool armed, happened;
    int kind, n;
    const char *call; /* name of the call that failed */
} fault;

static void arm(void)
{
    if (fault.armed && fault.kind == 0)
        fault_after(fault.n);
    else if (fault.armed)
        fault_call_after(fault.n, EIO, false);
}

static void disarm(void)
{
    fault.call = fault.armed && fault.kind > 0 ? fault_call_happened() : NULL;
    fault.happened = fault.armed && (fault.kind == 0 ? fault_happened() : fault.call != NULL);
    fault.armed = false;
}

/* Runs a command with words that end with NULL. Returns its exit code. */
static int run(int (*command)(int, char **), const char *const *words)
{
    char *argv[WORDS + 1] = {NULL};
    int argc = 0;
    for (; words[argc] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    struct printed first = printed_begin(STDOUT_FILENO), second = printed_begin(STDERR_FILENO);
    arm();
    int code = command(argc, argv);
    disarm();
    printed_end(&first, out, sizeof out);
    printed_end(&second, err, sizeof err);
    return code;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void copy_base(void)
{
    char block[65536];
    FILE *from = fopen(base, "rb"), *to = fopen(db, "wb");
    assert_true(from != NULL && to != NULL);
    for (size_t got; (got = fread(block, 1, sizeof block, from)) > 0;)
        assert_int_equal(fwrite(block, 1, got, to), got);
    assert_int_equal(fclose(from) + fclose(to), 0);
}

static void forget(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-lock", "-journal"};
    char path[200];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", db, ends[i]);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s%s", copy, ends[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s.data", copy);
    data_remove(path);
}

static int setup(void **state)
{
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(base, sizeof base, "%s/base.db", folder);
    (void)snprintf(db, sizeof db, "%s/d.db", folder);
    (void)snprintf(copy, sizeof copy, "%s/copy.db", folder);
    (void)snprintf(text_file, sizeof text_file, "%s/text", folder);
    (void)snprintf(data, sizeof data, "%s/data", folder);
    char set[100];
    (void)snprintf(set, sizeof set, "%s/digits", data);
    if (mkdir(data, 0700) != 0 || mkdir(set, 0700) != 0)
        return -1;
    (void)snprintf(set, sizeof set, "%s/digits/file", data);
    write_text(set, "0123456789");
    (void)snprintf(set, sizeof set, "%s/digits/about.json", data);
    write_text(set, "{}");
    (void)snprintf(set, sizeof set, "%s/digits/digests", data);
    write_text(set, "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882  file\n"
                    "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a  about.json\n");
    return run(command_token, (const char *const[]){"token", "create", "--name", "old", "--db", base, NULL});
}

static int teardown(void **state)
{
    data_remove(folder);
    return access(folder, F_OK) == 0;
}

static bool is_sound(const char *path)
{
    sqlite3 *connection = NULL;
    sqlite3_stmt *statement = NULL;
    bool sound = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                 sqlite3_prepare_v2(connection, "PRAGMA integrity_check", -1, &statement, NULL) == SQLITE_OK &&
                 sqlite3_step(statement) == SQLITE_ROW &&
                 strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(connection);
    return sound;
}

struct operation {
    int (*command)(int, char **);
    const char *words[WORDS];
    void (*check)(int code); /* asserts what must hold afterwards; may be NULL */
    bool has_copy;           /* before the command, the copy exists and the database does not */
};

static void token_is_there(int code)
{
    char printed[200];
    (void)snprintf(printed, sizeof printed, "%.190s", out);
    assert_int_equal(run(command_token, (const char *const[]){"token", "list", "--db", db, NULL}), 0);
    if (code == 0 && (strncmp(printed, "motif_", 6) != 0 || strstr(out, "new") == NULL))
        fail_msg("printed '%s', stored '%s'", printed, out);
    assert_non_null(strstr(out, "old"));
}

static void token_is_revoked(int code)
{
    assert_int_equal(run(command_token, (const char *const[]){"token", "list", "--db", db, NULL}), 0);
    assert_true(code != 0 || strstr(out, "revoked") != NULL);
}

static void list_names_the_token(int code)
{
    assert_true(code != 0 || strstr(out, "old") != NULL);
}

static void copy_is_whole(int code)
{
    char path[200];
    bool there = access(copy, F_OK) == 0;
    (void)snprintf(path, sizeof path, "%s.data/digits/file", copy);
    assert_true(code != 0 || (there && access(path, F_OK) == 0));
    assert_true(!there || is_sound(copy));
}

static void config_is_good(int code)
{
    assert_true(code != 0 || err[0] == '\0');
}

static const struct operation operations[] = {
    {command_token, {"token", "create", "--name", "new", "--days", "3", "--db", db}, token_is_there, false},
    {command_token, {"token", "revoke", "--name", "old", "--db", db}, token_is_revoked, false},
    {command_token, {"token", "rotate", "old", "--overlap", "1h", "--db", db}, NULL, false},
    {command_token, {"token", "list", "--db", db}, list_names_the_token, false},
    {command_backup, {"backup", "--db", db, "--with-data", "--data", data, copy}, copy_is_whole, false},
    {command_restore, {"restore", "--db", db, copy}, NULL, true},
    {command_check_database, {"check", "--db", db, "--with-data", "--data", data}, NULL, false},
    {command_check_config, {"check-config", text_file}, config_is_good, false},
    {command_token, {"token", "--help"}, NULL, false},
};

static void prepare(const struct operation *operation)
{
    forget();
    copy_base();
    if (operation->has_copy) {
        assert_int_equal(run(command_backup, (const char *const[]){"backup", "--db", base, copy, NULL}), 0);
        assert_int_equal(unlink(db), 0);
    }
}

/* Runs the operation with a fault of each kind at each place. */
static void sweep(const struct operation *operation)
{
    for (int kind = 0; kind < 2; kind++) {
        int failed = 0;
        for (int n = 0;; n++) {
            prepare(operation);
            int descriptors = open_descriptors();
            fault.armed = true;
            fault.kind = kind;
            fault.n = n;
            int code = run(operation->command, operation->words);
            const char *call = fault.call != NULL ? fault.call : "memory";
            bool happened = fault.happened;
            if (code < 0 || code > 2 || (code != 0 && err[0] == '\0' && out[0] == '\0'))
                fail_msg("%s %s, %s %d: code %d, '%s'", operation->words[0], operation->words[1], call, n, code, err);
            if (open_descriptors() != descriptors)
                fail_msg("%s %s, %s %d: %d descriptors and not %d", operation->words[0], operation->words[1], call, n,
                         open_descriptors(), descriptors);
            if (access(db, F_OK) == 0)
                assert_true(is_sound(db));
            if (operation->check != NULL)
                operation->check(code);
            failed += code != 0;
            if (!happened) {
                assert_int_equal(code, 0);
                break;
            }
        }
        assert_true(failed > 0 || kind > 0);
    }
}

static void a_fault_in_any_command_is_reported_and_damages_nothing(void **state)
{
    write_text(text_file, "{\"workers\":3}");
    fault_spare_others(true);
    fault_spare_sqlite(true);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        sweep(&operations[i]);
    fault_spare_others(false);
    fault_spare_sqlite(false);
    forget();
}

/* On a terminal, the command shows how far it is. */
static void a_terminal_sees_the_progress_of_a_backup(void **state)
{
    char shown[4000] = "";
    prepare(&operations[3]);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int other = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC), before = dup(STDERR_FILENO);
    struct printed first = printed_begin(STDOUT_FILENO);
    assert_int_equal(dup2(other, STDERR_FILENO), STDERR_FILENO);
    char *argv[] = {"backup", "--db", db, copy, NULL};
    int code = command_backup(4, argv);
    (void)dup2(before, STDERR_FILENO);
    printed_end(&first, out, sizeof out);
    ssize_t got = read(terminal, shown, sizeof shown - 1);
    (void)close(before);
    (void)close(other);
    (void)close(terminal);
    assert_int_equal(code, 0);
    assert_true(got > 0);
    assert_non_null(strstr(shown, "100 %, 0 s left"));
    forget();
}

/* Names and numbers that the commands refuse before they do anything. */
static void wrong_words_are_usage_faults(void **state)
{
    char long_name[1200], longest[5000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const struct {
        int (*command)(int, char **);
        const char *words[WORDS];
        const char *says;
    } cases[] = {
        {command_backup, {"backup", "--into", folder, "--keep", "0"}, "--keep"},
        {command_backup, {"backup", "--into", folder, copy}, "give COPY or --into, not both"},
        {command_backup, {"backup", "--into", longest}, "the name of a file is too long"},
        {command_backup, {"backup", "--into", ""}, "the name of the copy is missing"},
        {command_backup, {"backup", "--db", "", copy}, "the name of a file is empty"},
        {command_backup, {"backup", ""}, "the name of a file is empty"},
        {command_backup, {"backup", "--keep", "3", copy}, "--keep needs --into"},
        {command_backup, {"backup", "--data", data, copy}, "--data needs --with-data"},
        {command_check_database, {"check", "--db", ""}, "the name of a file is empty"},
        {command_check_database, {"check", "--data", data}, "--data needs --with-data"},
        {command_check_database, {"check", copy}, "is not expected here"},
        {command_token, {"token", "list", "--db", long_name}, "--db must be shorter"},
        {command_token, {"token", "create", "--name", ""}, "--name is needed"},
        {command_token, {"token", "create", "--name", "a", "--days", "36501"}, "--days"},
        {command_token, {"token", "create", "a", "--expires", "30"}, "--expires must be a duration"},
        {command_token, {"token", "create", "a", "--expires", "1d", "--days", "1"}, "not both"},
        {command_token, {"token", "rotate", "a", "--overlap", "31d"}, "--overlap must be a duration of 1s to 30d"},
        {command_token, {"token", "create", "a", "--overlap", "1d"}, "--overlap needs rotate"},
        {command_token, {"token", "revoke", "a", "--name", "a"}, "a is not expected here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = run(cases[i].command, cases[i].words);
        if (code != 2 || strstr(err, cases[i].says) == NULL)
            fail_msg("case %zu: code %d, '%s'", i, code, err);
    }
    /* --keep removes the oldest copies, but no file with a similar name */
    static const char *const names[] = {"motifd-20200101-000000.db", "motifd-20200102-000000.db",
                                        "motifd-2020010x-000000.db", "motifd-20200101-00000x.db",
                                        "motifd-20200101-000000.dx", "motifd-20200101x000000.db",
                                        "motifx-20200101-000000.db"};
    char into[100], path[200];
    (void)snprintf(into, sizeof into, "%s/into", folder);
    assert_int_equal(mkdir(into, 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", into, names[i]);
        write_text(path, "x");
    }
    copy_base();
    assert_int_equal(run(command_backup, (const char *const[]){"backup", "--db", db, "--with-data", "--data", data,
                                                               "--into", into, "--keep", "2", NULL}),
                     0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", into, names[i]);
        assert_int_equal(access(path, F_OK) == 0, i > 0);
    }
    /* the command has added a copy and its data sets, and removed one copy */
    assert_int_equal(folder_entries(into, ""), 8);
    data_remove(into);
    forget();
}

/* Without --db and --data, the environment names the files, and an empty variable counts as none. */
static void the_environment_names_the_database_and_the_data(void **state)
{
    char path[200];
    copy_base();
    assert_int_equal(setenv("MOTIFD_DB", db, 1), 0);
    assert_int_equal(setenv("MOTIFD_DATA", data, 1), 0);
    assert_int_equal(run(command_token, (const char *const[]){"token", "list", NULL}), 0);
    assert_non_null(strstr(out, "old"));
    assert_int_equal(run(command_backup, (const char *const[]){"backup", "--with-data", copy, NULL}), 0);
    (void)snprintf(path, sizeof path, "%s.data/digits/file", copy);
    assert_int_equal(access(path, F_OK), 0);
    forget();
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(setenv("MOTIFD_DB", "", 1), 0);
    assert_int_equal(setenv("MOTIFD_DATA", "", 1), 0);
    assert_int_equal(run(command_backup, (const char *const[]){"backup", "--with-data", copy, NULL}), 1);
    assert_non_null(strstr(err, "motifd-data does not exist")); /* the default files do not exist in this folder */
    assert_int_equal(run(command_backup, (const char *const[]){"backup", copy, NULL}), 1);
    assert_non_null(strstr(err, "from motifd.db to"));
    copy_base();
    assert_int_equal(rename(db, "motifd.db"), 0);
    assert_int_equal(rename("data", "motifd-data"), 0);
    assert_int_equal(run(command_token, (const char *const[]){"token", "list", NULL}), 0);
    assert_int_equal(run(command_backup, (const char *const[]){"backup", "--with-data", copy, NULL}), 0);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(rename("motifd-data", "data"), 0);
    assert_int_equal(unsetenv("MOTIFD_DB"), 0);
    assert_int_equal(unsetenv("MOTIFD_DATA"), 0);
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_in_any_command_is_reported_and_damages_nothing),
        cmocka_unit_test(a_terminal_sees_the_progress_of_a_backup),
        cmocka_unit_test(wrong_words_are_usage_faults),
        cmocka_unit_test(the_environment_names_the_database_and_the_data),
    };
    fault_libraries();
    return cmocka_run_group_tests(tests, setup, teardown);
}
