/* Tests both ends of the console, in the daemon and in the command: requests and answers, users that are refused, slow
 * clients, other files in the place of the socket, and missing descriptors, memory and threads. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/commands/console.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"

/* How many of the next calls of poll(), recv() and accept4() fail with the code `failure`. */
static atomic_int polls, receives, accepts;
static atomic_int failure = EINTR;
static bool fails(atomic_int *count)
{
    if (atomic_load(count) == 0)
        return false;
    atomic_fetch_sub(count, 1);
    errno = atomic_load(&failure);
    return true;
}

int __real_poll(struct pollfd *set, nfds_t count, int ms);
int __wrap_poll(struct pollfd *set, nfds_t count, int ms);
int __wrap_poll(struct pollfd *set, nfds_t count, int ms)
{
    return count == 2 && fails(&polls) ? -1 : __real_poll(set, count, count == 1 ? 1 : ms);
}

ssize_t __real_recv(int fd, void *bytes, size_t count, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t count, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t count, int flags)
{
    return fails(&receives) ? -1 : __real_recv(fd, bytes, count, flags);
}

int __real_accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags)
{
    return fails(&accepts) ? -1 : __real_accept4(fd, from, bytes, flags);
}

static char folder[] = "/tmp/motifd-console-XXXXXX", db[64], at[80];

static int setup(void **state)
{
    if (mkdtemp(folder) == NULL || chmod(folder, 0755) != 0)
        return -1;
    snprintf(db, sizeof db, "%s/a.db", folder);
    snprintf(at, sizeof at, "%s/a.db-console", folder);
    return 0;
}

static int teardown(void **state)
{
    return rmdir(folder); /* fails if the test left a file in the folder */
}

/* Answers a request with its words, each followed by a space. The request "large" gets an answer beyond the limit,
 * and "refuse N TEXT" fails with status N and that text. */
static enum status answer(void *context, const char *const *words, size_t count, struct buf *out, struct error *err)
{
    ++*(int *)context;
    if (strcmp(words[0], "refuse") == 0 && count == 3)
        return error_set(err, (enum status)atoi(words[1]), NULL, "%s", words[2]);
    for (size_t i = 0; i < CONSOLE_ANSWER && strcmp(words[0], "large") == 0; i += 16)
        buf_text(out, "0123456789abcdef ");
    for (size_t i = 0; i < count; i++)
        buf_format(out, "%s ", words[i]);
    return STATUS_OK;
}

static int asked;

static struct console *start(void)
{
    const struct console_options options = {.db = db, .context = &asked, .answer = answer};
    struct console *console;
    struct error err = {0};
    asked = 0;
    if (console_start(&options, &console, &err))
        fail_msg("%s", err.message);
    return console;
}

static void asks(const char *const *words, size_t count, enum status wanted, const char *text)
{
    struct buf out;
    struct error err = {0};
    bool open = false;
    buf_init(&out, CONSOLE_ANSWER);
    enum status status = console_ask(db, words, count, &open, &out, &err);
    if (status != wanted || !open || strcmp(status ? err.message : out.data, text) != 0)
        fail_msg("%s: %s '%s', not %s '%s'", words[0], status_name(status), status ? err.message : out.data,
                 status_name(wanted), text);
    buf_close(&out);
}

static void a_request_is_answered(void **state)
{
    struct console *console = start();
    struct stat info;
    assert_int_equal(stat(at, &info), 0);
    assert_true(S_ISSOCK(info.st_mode) && (info.st_mode & 0777) == 0600);
    asks((const char *const[]){"token", "", "list"}, 3, STATUS_OK, "token  list ");
    asks((const char *const[]){"1", "2", "3", "4", "5", "6", "7", "8"}, 8, STATUS_OK, "1 2 3 4 5 6 7 8 ");
    assert_int_equal(asked, 2);
    asks((const char *const[]){"1", "2", "3", "4", "5", "6", "7", "8", "9"}, 9, STATUS_INVALID, "not a request");
    assert_int_equal(asked, 2);
    for (int status = STATUS_OK + 1; status <= STATUS_INTERNAL; status++) {
        char number[8];
        snprintf(number, sizeof number, "%d", status);
        asks((const char *const[]){"refuse", number, "since it is so"}, 3, (enum status)status, "since it is so");
    }
    struct error err = {0};
    struct buf out;
    bool open;
    buf_init(&out, 64);
    /* the answer is longer than the daemon may send */
    assert_int_equal(console_ask(db, (const char *const[]){"large"}, 1, &open, &out, &err), STATUS_LIMIT);
    assert_non_null(strstr(err.message, "the answer"));
    char long_word[60];
    memset(long_word, 'x', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    /* the answer is longer than the client accepts */
    assert_int_equal(console_ask(db, (const char *const[]){long_word, long_word}, 2, &open, &out, &err), STATUS_LIMIT);
    buf_close(&out);
    console_stop(console);
    assert_int_equal(access(at, F_OK), -1);
    console_stop(NULL);
}

static int knock(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", at);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A client that sends nothing and one that sends too much get no answer. The daemon then serves the next client. */
static void slow_and_oversized_requests_are_dropped_and_the_next_is_served(void **state)
{
    struct console *console = start();
    char byte;
    int loud = knock();
    ssize_t sent = 0;
    for (int i = 0; i < 4096 && sent >= 0; i++)
        sent = send(loud, "0123456789abcdef", 16, MSG_NOSIGNAL);
    assert_true(recv(loud, &byte, 1, 0) <= 0);
    close(loud);
    int slow = knock();
    double begun = now();
    enum status status = STATUS_UNAVAILABLE;
    /* The daemon serves one client after another. While it waits for the slow client, another client may give up. */
    while (status != STATUS_OK && now() - begun < 60) {
        struct error err = {0};
        struct buf out;
        bool open;
        buf_init(&out, 64);
        status = console_ask(db, (const char *const[]){"next"}, 1, &open, &out, &err);
        assert_true(open && (status == STATUS_OK || strstr(err.message, "did not answer") != NULL));
        buf_close(&out);
    }
    assert_true(status == STATUS_OK && now() - begun > 1);
    assert_int_equal(recv(slow, &byte, 1, 0), 0);
    close(slow);
    assert_true(asked >= 1 && asked <= 3); /* a request counts as handled even when its client has stopped waiting */
    console_stop(console);
}

static void without_a_daemon_the_client_reports_closed(void **state)
{
    struct error err = {0};
    struct buf out;
    bool open = true;
    char name[160];
    buf_init(&out, 64);
    assert_int_equal(console_ask(db, (const char *const[]){"x"}, 1, &open, &out, &err), STATUS_NOT_FOUND);
    assert_false(open);
    assert_string_equal(err.message, "no daemon has the database open");
    snprintf(name, sizeof name, "%s/none/a.db", folder);
    error_clear(&err);
    assert_int_equal(console_ask(name, (const char *const[]){"x"}, 1, &open, &out, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "folder"));
    snprintf(name, sizeof name, "%s/%0100d", folder, 7);
    error_clear(&err);
    assert_int_equal(console_ask(name, (const char *const[]){"x"}, 1, &open, &out, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "too long"));
    assert_true(!open && out.size == 0);
    error_clear(&err);
    /* no daemon has this database open, although a socket of another database exists */
    assert_int_equal(console_ask("no-such.db", (const char *const[]){"x"}, 1, &open, &out, &err), STATUS_NOT_FOUND);
    assert_int_equal(console_ask("/no-such.db", (const char *const[]){"x"}, 1, &open, &out, NULL), STATUS_NOT_FOUND);
    buf_close(&out);
}

/* The console replaces a socket that a killed daemon left. When another file is in the place of the socket, the console
 * reports an error. */
static void a_stale_socket_is_replaced_and_other_files_are_reported(void **state)
{
    struct sockaddr_un old = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(old.sun_path, sizeof old.sun_path, "%s", at);
    assert_int_equal(bind(fd, (const struct sockaddr *)&old, sizeof old), 0);
    close(fd);
    struct console *console = start();
    asks((const char *const[]){"new"}, 1, STATUS_OK, "new ");
    console_stop(console);
    assert_int_equal(mkdir(at, 0700), 0);
    const struct console_options options = {.db = db, .context = &asked, .answer = answer};
    struct error err = {0};
    assert_int_equal(console_start(&options, &console, &err), STATUS_IO);
    assert_null(console);
    assert_non_null(strstr(err.message, "cannot open a socket beside the database"));
    assert_int_equal(rmdir(at), 0);
}

/* A client of another user gets the error that the daemon belongs to another user. If the socket's permissions
 * admit every user, the daemon gives such a client no answer. */
static void other_users_are_refused(void **state)
{
    static const mode_t modes[] = {0600, 0666};
    if (geteuid() != 0) {
        print_message("skipped: only root can be somebody else\n");
        return;
    }
    struct console *console = start();
    for (int i = 0; i < 2; i++) {
        int reply[2], status;
        char text[200] = "";
        assert_int_equal(chmod(at, modes[i]), 0);
        assert_int_equal(pipe(reply), 0);
        pid_t child = fork();
        if (child == 0) {
            struct error err = {0};
            struct buf out;
            bool open = false;
            buf_init(&out, 256);
            bool other = setgid(65534) == 0 && setuid(65534) == 0;
            enum status code = console_ask(db, (const char *const[]){"mine"}, 1, &open, &out, &err);
            (void)!write(reply[1], err.message, strlen(err.message));
            _exit(other && open && code == STATUS_UNAVAILABLE ? 0 : 1);
        }
        close(reply[1]);
        assert_int_equal(waitpid(child, &status, 0), child);
        (void)!read(reply[0], text, sizeof text - 1);
        close(reply[0]);
        if (status != 0 || !strstr(text, i == 0 ? "belongs to another user" : "only its own user"))
            fail_msg("%d: %s", status, text);
    }
    assert_int_equal(asked, 0);
    asks((const char *const[]){"mine"}, 1, STATUS_OK, "mine ");
    console_stop(console);
}

/* Each round allows one more descriptor. The console must start, or report why it cannot start and leak nothing. */
static void missing_descriptors_are_reported_and_nothing_leaks(void **state)
{
    const struct console_options options = {.db = db, .context = &asked, .answer = answer};
    struct rlimit usual, few;
    int before = open_descriptors(), refusals = 0, lowest = dup(0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    for (int more = 0; more < 8; more++) {
        struct console *console = NULL;
        struct error err = {0};
        few = (struct rlimit){(rlim_t)(lowest + more), usual.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        enum status status = console_start(&options, &console, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        if (status == STATUS_OK) {
            asks((const char *const[]){"served"}, 1, STATUS_OK, "served ");
            console_stop(console);
        } else {
            refusals++;
            assert_true(console == NULL && err.message[0] != '\0');
        }
        assert_int_equal(open_descriptors(), before);
    }
    assert_int_equal(refusals, 3);
    struct console *console = start();
    before = open_descriptors();
    lowest = dup(0);
    close(lowest);
    /* no descriptor is free: the client must say so, and must not say that no daemon has the database open */
    for (int more = 0; more < 2; more++) {
        struct error err = {0};
        struct buf out;
        bool open;
        buf_init(&out, 64);
        few = (struct rlimit){(rlim_t)(lowest + more), usual.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        enum status status = console_ask(db, (const char *const[]){"x"}, 1, &open, &out, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        assert_true(!open && status == (more == 0 ? STATUS_NOT_FOUND : STATUS_IO));
        buf_close(&out);
        assert_int_equal(open_descriptors(), before);
    }
    console_stop(console);
}

/* Fails each allocation of the console in the daemon, and each other call that can fail. */
static void failed_allocations_and_threads_are_reported(void **state)
{
    const struct console_options options = {.db = db, .context = &asked, .answer = answer};
    for (int kind = 0; kind < 2; kind++)
        for (int n = 0;; n++) {
            struct console *console;
            struct error err = {0};
            if (kind == 0)
                fault_after(n);
            else
                fault_call_after(n, EAGAIN, false);
            enum status status = console_start(&options, &console, &err);
            bool happened = kind == 0 ? fault_happened() : fault_call_happened() != NULL;
            assert_true((status == STATUS_OK) == !happened && (console != NULL) == !happened &&
                        (err.message[0] != '\0') == happened);
            console_stop(console);
            if (!happened)
                break;
        }
}

/* One call of the command or of the daemon fails during a request. The failure is reported to the user, or has no
 * effect. A call that a signal interrupts is repeated. The next request is answered in any case. */
static void a_failing_call_within_a_request_is_reported(void **state)
{
    struct console *console = start();
    static const int codes[] = {EIO, EINTR};
    for (int i = 0; i < 2; i++) {
        int failed = 0;
        const char *call = "";
        for (int n = 0; call != NULL; n++) {
            struct buf out;
            struct error err = {0};
            bool open = false;
            buf_init(&out, CONSOLE_ANSWER);
            fault_call_after(n, codes[i], false);
            enum status status = console_ask(db, (const char *const[]){"one", "two"}, 2, &open, &out, &err);
            call = fault_call_happened();
            if (status == STATUS_OK)
                assert_string_equal(out.data, "one two ");
            else
                assert_true(err.message[0] != '\0');
            failed += status != STATUS_OK;
            buf_close(&out);
            asks((const char *const[]){"next"}, 1, STATUS_OK, "next ");
        }
        assert_true(failed >= 2);
    }
    console_stop(console);
}

/* A signal that ends a call, and a connection that cannot be accepted, do not lose a request. */
static void calls_that_a_signal_ends_are_repeated(void **state)
{
    atomic_int *const counts[] = {&polls, &receives, &accepts};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        atomic_store(&failure, counts[i] == &accepts ? EMFILE : EINTR);
        atomic_store(counts[i], 2);
        struct console *console = start();
        asks((const char *const[]){"token", "", "list"}, 3, STATUS_OK, "token  list ");
        assert_int_equal(atomic_load(counts[i]), 0);
        console_stop(console);
    }
    /* a broken connection (ECONNRESET) is an error for the client */
    struct console *console = start();
    struct buf out;
    struct error err = {0};
    bool open = false;
    atomic_store(&failure, ECONNRESET);
    atomic_store(&receives, 1);
    buf_init(&out, CONSOLE_ANSWER);
    assert_int_not_equal(console_ask(db, (const char *const[]){"token"}, 1, &open, &out, &err), STATUS_OK);
    assert_true(open);
    buf_close(&out);
    atomic_store(&failure, EINTR);
    console_stop(console);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_request_is_answered),
                                       cmocka_unit_test(slow_and_oversized_requests_are_dropped_and_the_next_is_served),
                                       cmocka_unit_test(without_a_daemon_the_client_reports_closed),
                                       cmocka_unit_test(a_stale_socket_is_replaced_and_other_files_are_reported),
                                       cmocka_unit_test(other_users_are_refused),
                                       cmocka_unit_test(missing_descriptors_are_reported_and_nothing_leaks),
                                       cmocka_unit_test(a_failing_call_within_a_request_is_reported),
                                       cmocka_unit_test(calls_that_a_signal_ends_are_repeated),
                                       cmocka_unit_test(failed_allocations_and_threads_are_reported)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
