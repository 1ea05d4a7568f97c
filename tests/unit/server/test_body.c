/* Tests the storage of request bodies: the server keeps small bodies in memory and large ones in unnamed files. Memory
 * and files have limits. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/http/body.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"

enum { PIECE = 100000 };

static char folder[] = "/tmp/motifd-body-XXXXXX", beside[64];
static unsigned char bytes[PIECE];

static struct ledger *ledger;

static struct body_store make_store(const char *path, int64_t most)
{
    const int64_t limit[LEDGER_RESOURCES] = {[LEDGER_FILES] = most};
    struct error err = {0};
    ledger_destroy(ledger);
    assert_int_equal(ledger_create(limit, &ledger, &err), STATUS_OK);
    return (struct body_store){.beside = path, .ledger = ledger};
}

static int64_t held(void)
{
    struct ledger_state state;
    ledger_read(ledger, &state);
    return state.held[LEDGER_BODIES];
}

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < PIECE; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(beside, sizeof beside, "%s/x.db", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ledger_destroy(ledger);
    return rmdir(folder); /* fails when a file is left */
}

static void append_pieces(struct body *body, int count)
{
    for (int i = 0; i < count; i++)
        body_append(body, bytes, PIECE);
}

static void check(struct body *body, int count)
{
    const unsigned char *at = body_complete(body);
    assert_non_null(at);
    assert_int_equal(body->size, (size_t)count * PIECE);
    for (int i = 0; i < count; i++)
        assert_memory_equal(at + (size_t)i * PIECE, bytes, PIECE);
    assert_ptr_equal(body_complete(body), at);
}

static void a_body_comes_back_whole_from_memory_or_a_file(void **state)
{
    const struct body_store store = make_store(beside, (int64_t)1 << 30);
    (void)state;
    for (int count = 1; count <= 40; count += 13) {
        struct body body;
        body_init(&body, &store, "", 40 * PIECE);
        append_pieces(&body, count);
        bool large = (size_t)count * PIECE > BODY_MEMORY;
        assert_int_equal(body.file >= 0, large);
        assert_int_equal(held(), large ? count * PIECE : 0);
        check(&body, count);
        body_close(&body);
        assert_int_equal(held(), 0);
    }
}

static void an_empty_body_is_none(void **state)
{
    const struct body_store store = make_store(beside, (int64_t)1 << 30);
    struct body body, never = {0};
    (void)state;
    body_init(&body, &store, "", 10);
    body_append(&body, bytes, 0);
    assert_null(body_complete(&body));
    assert_int_equal(body.fault, BODY_SOUND);
    body_close(&body);
    body_close(&never);
}

static void a_body_beyond_its_limit_is_dropped(void **state)
{
    const struct body_store store = make_store(beside, (int64_t)1 << 30);
    (void)state;
    for (int limit = 3; limit <= 30; limit += 27) {
        struct body body;
        body_init(&body, &store, "", (size_t)limit * PIECE);
        append_pieces(&body, limit);
        assert_int_equal(body.fault, BODY_SOUND);
        append_pieces(&body, 1);
        assert_int_equal(body.fault, BODY_TOO_LARGE);
        assert_null(body_complete(&body));
        assert_int_equal(held(), 0);
        body_close(&body);
    }
}

/* The files of all bodies share one limit. */
static void bodies_together_stay_within_the_limit_of_the_store(void **state)
{
    const struct body_store store = make_store(beside, 40 * PIECE);
    struct body first, second;
    (void)state;
    body_init(&first, &store, "", 100 * PIECE);
    body_init(&second, &store, "", 100 * PIECE);
    append_pieces(&first, 25);
    append_pieces(&second, 25);
    assert_int_equal(first.fault, BODY_SOUND);
    assert_int_equal(second.fault, BODY_NO_ROOM);
    assert_int_equal(held(), 25 * PIECE);
    append_pieces(&first, 15);
    check(&first, 40);
    body_close(&second);
    body_close(&first);
    assert_int_equal(held(), 0);
}

static void a_body_without_space_on_the_disk_is_dropped(void **state)
{
    const struct body_store store = make_store(beside, (int64_t)1 << 30);
    struct body_store nowhere = {.beside = "/nowhere/at/all", .ledger = ledger};
    struct rlimit before, small = {.rlim_cur = 20 * PIECE};
    struct body body;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    body_init(&body, &store, "", 100 * PIECE);
    append_pieces(&body, 25);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(body.fault, BODY_NO_ROOM);
    assert_null(body_complete(&body));
    assert_int_equal(held(), 0);
    body_close(&body);
    body_init(&body, &nowhere, "", 100 * PIECE);
    append_pieces(&body, 25);
    assert_int_equal(body.fault, BODY_NO_ROOM);
    body_close(&body);
}

void *__real_mmap64(void *at, size_t count, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t count, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t count, int protection, int flags, int fd, off_t offset)
{
    return fd >= 0 && fault_call_now("mmap64") ? MAP_FAILED : __real_mmap64(at, count, protection, flags, fd, offset);
}

ssize_t __real_write(int fd, const void *from, size_t count);
ssize_t __wrap_write(int fd, const void *from, size_t count);
ssize_t __wrap_write(int fd, const void *from, size_t count)
{
    return fault_call_now("write") ? -1 : __real_write(fd, from, count);
}

/* Appends pieces to a body until it is too large for memory, while one call fails. With kind 0, allocation `n` fails;
 * otherwise system call `n` fails with errno `kind`. Returns the name of the failed call, or NULL if none failed. */
static const char *faulty_body(int kind, int n, const struct body_store *store, struct body *body)
{
    if (kind == 0)
        fault_after(n);
    else
        fault_call_after(n, kind, false);
    body_init(body, store, "", 40 * PIECE);
    append_pieces(body, 12);
    (void)body_complete(body);
    const char *call = fault_call_happened();
    return kind == 0 ? fault_happened() ? "memory" : NULL : call;
}

/* A body is complete, or it is refused and takes no space. */
static void a_fault_drops_the_body_or_changes_nothing(void **state)
{
    static const int kinds[] = {0, EIO, EINTR, EOPNOTSUPP};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int dropped = 0, whole = 0;
        const char *call = "";
        for (int n = 0; call != NULL; n++) {
            const struct body_store store = make_store(beside, (int64_t)1 << 30);
            struct body body;
            int descriptors = open_descriptors();
            call = faulty_body(kinds[i], n, &store, &body);
            if (body.fault == BODY_SOUND) {
                check(&body, 12);
                whole++;
            } else {
                assert_int_equal(body.fault, BODY_NO_ROOM);
                assert_null(body_complete(&body));
                assert_int_equal(held(), 0);
                dropped++;
            }
            body_close(&body);
            assert_int_equal(open_descriptors(), descriptors);
            assert_int_equal(folder_entries(folder, ""), 0);
        }
        /* The body recovers from two codes: after EINTR it writes again, and after EOPNOTSUPP (the file system has no
         * unnamed files) it uses a file with a name. So with these codes, more bodies are complete. */
        assert_true(dropped >= 2 && whole >= (kinds[i] == 0 || kinds[i] == EIO ? 1 : 2));
    }
}

static void a_body_beside_a_name_that_is_too_long_is_dropped(void **state)
{
    static char long_name[5000];
    struct body body;
    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[4500] = '/';
    for (int i = 0; i < 2; i++) {
        const struct body_store store = make_store(long_name, (int64_t)1 << 30);
        body_init(&body, &store, "", 40 * PIECE);
        append_pieces(&body, 12);
        assert_int_equal(body.fault, BODY_NO_ROOM);
        body_close(&body);
        /* In the second round the folder exists, but its file system has no unnamed files, and the path of a file with
         * a name would be too long. */
        (void)snprintf(long_name, sizeof long_name, "%s/", folder);
        memset(long_name + strlen(long_name), 'x', 4090 - strlen(long_name));
        fault_call_after(0, EOPNOTSUPP, false);
    }
    (void)fault_call_happened();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_comes_back_whole_from_memory_or_a_file),
        cmocka_unit_test(an_empty_body_is_none),
        cmocka_unit_test(a_body_beyond_its_limit_is_dropped),
        cmocka_unit_test(bodies_together_stay_within_the_limit_of_the_store),
        cmocka_unit_test(a_body_without_space_on_the_disk_is_dropped),
        cmocka_unit_test(a_fault_drops_the_body_or_changes_nothing),
        cmocka_unit_test(a_body_beside_a_name_that_is_too_long_is_dropped),
    };
    return cmocka_run_group_tests_name("body", tests, setup, teardown);
}
