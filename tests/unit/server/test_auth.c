/* Tests bearer tokens: which ones give which scope, what a damaged database or a failing library changes, and which
 * names a token may have. */
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "server/http/auth.h"
#include "server/tokens.h"
#include "storage/storage.h"
#include "tests/support/fault_sqlite.h"

static char path[] = "/tmp/motifd-auth-XXXXXX";
static struct storage *storage;

static bool sodium_fails;
int __real_sodium_init(void);
int __wrap_sodium_init(void);
int __wrap_sodium_init(void)
{
    return sodium_fails ? -1 : __real_sodium_init();
}

static int setup(void **state)
{
    int fd = mkstemp(path);
    struct storage_options options = {.path = path, .durability = STORAGE_DURABLE_NOT};
    return fd < 0 || close(fd) != 0 || unlink(path) != 0 || storage_open(&options, &storage, NULL) != STATUS_OK;
}

static int teardown(void **state)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    char name[100];
    storage_close(storage);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, ends[i]);
        (void)unlink(name);
    }
    return 0;
}

static const char *fault; /* of the last request */

static enum api_scope scope_of_header(struct auth *auth, const char *header, char name[AUTH_NAME])
{
    struct auth_caller caller;
    auth_identify(auth, header, &caller);
    memcpy(name, caller.name, sizeof caller.name);
    fault = caller.fault != NULL ? caller.fault : "";
    return caller.scope;
}

static enum api_scope scope_of(struct auth *auth, const char *secret, char name[AUTH_NAME])
{
    char header[700];
    (void)snprintf(header, sizeof header, "bearer   %s", secret);
    return scope_of_header(auth, header, name);
}

static int64_t now_ms(void)
{
    return (int64_t)time(NULL) * 1000;
}

/* Reads the newest token of a name. */
static struct storage_token stored(const char *name)
{
    struct storage_token *tokens, found = {.scope = -1};
    struct arena arena;
    size_t count;
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_flush(storage, NULL), STATUS_OK);
    assert_int_equal(storage_token_list(storage, &arena, &tokens, &count, NULL), STATUS_OK);
    for (size_t i = 0; i < count; i++)
        if (strcmp(tokens[i].name, name) == 0)
            found = tokens[i];
    arena_close(&arena);
    return found;
}

static void a_daemon_beyond_loopback_needs_a_token(void **state)
{
    struct auth auth;
    struct error err = {0};
    char name[AUTH_NAME];
    assert_int_equal(auth_init(&auth, storage, true, "", &err), STATUS_OK);
    assert_int_equal(scope_of_header(&auth, NULL, name), API_SCOPE_ADMIN); /* loopback without tokens is open */
    auth_demand(&auth);
    assert_int_equal(scope_of_header(&auth, NULL, name), API_SCOPE_NONE);
    assert_int_equal(auth_init(&auth, storage, false, "", &err), STATUS_INVALID);
    assert_int_equal(auth_init(&auth, storage, false, "of the environment", &err), STATUS_OK);
    fault_sqlite_after(0, 10 /* SQLITE_IOERR */, true);
    assert_int_not_equal(auth_init(&auth, storage, true, "", &err), STATUS_OK);
    assert_true(fault_sqlite_happened());
    sodium_fails = true;
    assert_int_equal(auth_init(&auth, storage, true, "", &err), STATUS_INTERNAL);
    char secret[AUTH_SECRET];
    assert_int_equal(auth_create(storage, "a", "", API_SCOPE_READ, 0, secret, &err), STATUS_INTERNAL);
    sodium_fails = false;
}

static void each_token_gives_its_scope(void **state)
{
    struct auth auth;
    char read[AUTH_SECRET], admin[AUTH_SECRET], name[AUTH_NAME], most[600];
    assert_int_equal(auth_create(storage, "reader", "", API_SCOPE_READ, 0, read, NULL), STATUS_OK);
    assert_int_equal(auth_create(storage, "boss", "", API_SCOPE_ADMIN, 0, admin, NULL), STATUS_OK);
    assert_int_equal(auth_init(&auth, storage, false, "", NULL), STATUS_OK); /* the stored tokens suffice */
    assert_int_equal(auth_init(&auth, storage, true, "of the environment", NULL), STATUS_OK);
    assert_int_equal(scope_of(&auth, read, name), API_SCOPE_READ);
    assert_string_equal(name, "reader");
    assert_int_equal(scope_of(&auth, admin, name), API_SCOPE_ADMIN);
    assert_string_equal(name, "boss");
    assert_int_equal(scope_of(&auth, "of the environment", name), API_SCOPE_ADMIN);
    assert_string_equal(name, "MOTIFD_TOKEN");
    assert_int_equal(scope_of(&auth, "of the environmenu", name), API_SCOPE_NONE);
    assert_int_equal(scope_of(&auth, "", name), API_SCOPE_NONE);
    assert_int_equal(scope_of_header(&auth, "Basic dXNlcjpwYXNz", name), API_SCOPE_NONE);
    memset(most, 'x', sizeof most);
    most[513] = '\0';
    assert_int_equal(scope_of(&auth, most, name), API_SCOPE_NONE);
    assert_string_equal(name, "");
    fault_sqlite_after(0, 10, true); /* a token that cannot be looked up gives no scope */
    assert_int_equal(scope_of(&auth, admin, name), API_SCOPE_NONE);
    assert_true(fault_sqlite_happened());
    assert_int_equal(storage_token_revoke(storage, "boss", NULL), STATUS_OK);
    assert_int_equal(scope_of(&auth, admin, name), API_SCOPE_NONE);
    assert_int_equal(storage_token_revoke(storage, "reader", NULL), STATUS_OK);
    assert_int_equal(auth_init(&auth, storage, false, "", NULL), STATUS_INVALID); /* revoked tokens do not count */
}

/* Another program can write any scope into the database. A token with a scope that is none of the three may do nothing,
 * and the list calls the scope "none". */
static void unknown_scopes_give_nothing(void **state)
{
    struct auth auth;
    char secret[AUTH_SECRET], name[AUTH_NAME];
    static const int scopes[] = {API_SCOPE_NONE, API_SCOPE_ADMIN + 1};
    for (int i = 0; i < 2; i++) {
        char called[8];
        (void)snprintf(called, sizeof called, "odd%d", i);
        assert_int_equal(auth_create(storage, called, "", (enum api_scope)scopes[i], 0, secret, NULL), STATUS_OK);
        assert_int_equal(auth_init(&auth, storage, true, "", NULL), STATUS_OK);
        assert_int_equal(scope_of(&auth, secret, name), API_SCOPE_NONE);
        assert_int_equal(storage_token_revoke(storage, called, NULL), STATUS_OK);
    }
}

static void names_of_tokens_are_checked(void **state)
{
    char longest[AUTH_NAME + 1];
    memset(longest, 'n', sizeof longest);
    longest[AUTH_NAME] = '\0';
    assert_int_equal(auth_check_name(longest, NULL), STATUS_INVALID);
    longest[AUTH_NAME - 1] = '\0';
    assert_int_equal(auth_check_name(longest, NULL), STATUS_OK);
    assert_int_equal(auth_check_name("", NULL), STATUS_INVALID);
    assert_int_equal(auth_check_name("a\nb", NULL), STATUS_INVALID);
    assert_int_equal(auth_check_name("console", NULL), STATUS_INVALID); /* names of other owners */
    assert_int_equal(auth_check_name("MOTIFD_TOKEN", NULL), STATUS_INVALID);
    assert_int_equal(auth_check_name("Console", NULL), STATUS_OK);
}

/* The operator's key opens the routes of tokens, also when tokens are not required; nothing else does. */
static void the_key_gives_the_operators_scope(void **state)
{
    struct auth auth, next;
    char key[AUTH_SECRET], name[AUTH_NAME];
    assert_int_equal(auth_init(&auth, storage, true, "", NULL), STATUS_OK);
    assert_int_equal(scope_of(&auth, auth.key, name), API_SCOPE_OPERATOR);
    assert_string_equal(name, "console");
    memcpy(key, auth.key, sizeof key);
    key[strlen(key) - 2] ^= 1;
    assert_true(scope_of(&auth, key, name) < API_SCOPE_OPERATOR);
    assert_true(scope_of_header(&auth, NULL, name) < API_SCOPE_OPERATOR);
    assert_int_equal(auth_init(&next, storage, true, "", NULL), STATUS_OK);
    assert_true(scope_of(&next, auth.key, name) < API_SCOPE_OPERATOR); /* each start makes a new key */
}

/* Only the whole file is a key. The next daemon replaces what a killed one left. */
static void the_key_is_read_from_its_file(void **state)
{
    struct tokens_key key = {"http://127.0.0.1:8080", "motif_key"}, read;
    char file[100];
    struct stat facts;
    (void)snprintf(file, sizeof file, "%s-key", path);
    assert_int_equal(tokens_key_read(path, &read, NULL), STATUS_NOT_FOUND);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tokens_key_write(path, &key, NULL), STATUS_OK);
    assert_int_equal(stat(file, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(tokens_key_read(path, &read, NULL), STATUS_OK);
    assert_string_equal(read.url, key.url);
    assert_string_equal(read.key, key.key);
    assert_int_equal(truncate(file, facts.st_size - 1), 0);
    assert_int_equal(tokens_key_read(path, &read, NULL), STATUS_NOT_FOUND);
    tokens_key_remove(path);
    assert_int_equal(stat(file, &facts), -1);
    assert_int_equal(tokens_key_write("/no/such/folder/db", &key, NULL), STATUS_IO);
}

/* The list has columns, also beside a name that is wider than its column. */
static void the_list_has_columns(void **state)
{
    static const char wide[] = "a-name-that-is-wider-than-its-column";
    const struct api_token_request list = {.action = API_TOKEN_LIST};
    const struct api_token_request wrong = {.action = API_TOKEN_CREATE, .name = "a", .team = "", .scope = "god"};
    const struct api_token_request forever = {
        .action = API_TOKEN_CREATE, .name = "for ever", .team = "", .scope = "read"};
    char secret[AUTH_SECRET], line[200];
    struct buf out;
    assert_int_equal(auth_create(storage, wide, "", API_SCOPE_SUBMIT, 0, secret, NULL), STATUS_OK);
    buf_init(&out, 8192);
    assert_int_equal(tokens_do(storage, &wrong, &out, NULL), STATUS_INVALID);
    assert_int_equal(tokens_do(storage, &forever, &out, NULL), STATUS_OK);
    buf_clear(&out);
    assert_int_equal(tokens_do(storage, &list, &out, NULL), STATUS_OK);
    buf_append(&out, "", 1);
    (void)snprintf(line, sizeof line, "%s submit   ", wide);
    assert_non_null(strstr(out.data, line));
    assert_non_null(strstr(out.data, "for ever                 read     "));
    assert_non_null(strstr(out.data, "last use\n"));
    assert_non_null(strstr(out.data, "odd1                     none     ")); /* a scope beyond the last one */
    buf_close(&out);
}

/* An expired token grants nothing, and the refusal says that it expired; the list says so too. */
static void an_expired_token_says_so(void **state)
{
    struct auth auth;
    char secret[AUTH_SECRET], name[AUTH_NAME];
    assert_int_equal(auth_create(storage, "late", "", API_SCOPE_READ, now_ms() - 1000, secret, NULL), STATUS_OK);
    assert_int_equal(auth_init(&auth, storage, true, "", NULL), STATUS_OK);
    assert_int_equal(scope_of(&auth, secret, name), API_SCOPE_NONE);
    assert_non_null(strstr(fault, "expired"));
    assert_int_equal(scope_of(&auth, "motif_unknown", name), API_SCOPE_NONE);
    assert_non_null(strstr(fault, "unknown"));
    const struct api_token_request list = {.action = API_TOKEN_LIST};
    struct buf out;
    buf_init(&out, 8192);
    assert_int_equal(tokens_do(storage, &list, &out, NULL), STATUS_OK);
    buf_append(&out, "", 1);
    assert_non_null(strstr(out.data, "expired"));
    buf_close(&out);
}

/* The use of a token is recorded once, not at every request. */
static void the_last_use_is_recorded_coarsely(void **state)
{
    struct auth auth;
    char secret[AUTH_SECRET], name[AUTH_NAME];
    const int64_t before = now_ms();
    struct storage_stats first, last;
    assert_int_equal(auth_create(storage, "user", "", API_SCOPE_READ, 0, secret, NULL), STATUS_OK);
    assert_int_equal(auth_init(&auth, storage, true, "", NULL), STATUS_OK);
    assert_int_equal(stored("user").used_at, 0);
    assert_int_equal(scope_of(&auth, secret, name), API_SCOPE_READ);
    assert_true(stored("user").used_at >= before);
    assert_int_equal(storage_stats_read(storage, &first, NULL), STATUS_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(scope_of(&auth, secret, name), API_SCOPE_READ);
    assert_int_equal(storage_flush(storage, NULL), STATUS_OK);
    assert_int_equal(storage_stats_read(storage, &last, NULL), STATUS_OK);
    assert_true(last.commands - first.commands <= 2); /* the flushes */
}

/* Another secret for the same token: the earlier one works during the overlap only, and the new one is valid for as
 * long as the earlier one was. */
static void a_rotation_replaces_the_secret(void **state)
{
    const int64_t day = 86400000;
    struct auth auth;
    char first[AUTH_SECRET], second[AUTH_SECRET], third[AUTH_SECRET], name[AUTH_NAME];
    int64_t left;
    assert_int_equal(auth_create(storage, "ci", "lab", API_SCOPE_SUBMIT, now_ms() + 30 * day, first, NULL), STATUS_OK);
    assert_int_equal(auth_init(&auth, storage, true, "", NULL), STATUS_OK);
    assert_int_equal(storage_token_expiry(storage, &left, NULL), STATUS_OK);
    assert_true(left > 29 * day && left <= 30 * day);
    assert_int_equal(auth_rotate(storage, "ci", 0, 3600000, second, NULL), STATUS_OK);
    assert_int_equal(scope_of(&auth, first, name), API_SCOPE_SUBMIT);
    assert_int_equal(scope_of(&auth, second, name), API_SCOPE_SUBMIT);
    assert_string_equal(name, "ci");
    const struct storage_token now = stored("ci");
    assert_string_equal(now.team, "lab");
    assert_true(now.expires_at > now_ms() + 29 * day && now.expires_at <= now_ms() + 31 * day);
    assert_int_equal(storage_token_expiry(storage, &left, NULL), STATUS_OK);
    assert_true(left > 29 * day); /* the end of the overlap is no expiry */
    assert_int_equal(auth_rotate(storage, "ci", now_ms() + 2 * day, 0, third, NULL), STATUS_OK);
    assert_int_equal(scope_of(&auth, first, name), API_SCOPE_NONE);
    assert_int_equal(scope_of(&auth, second, name), API_SCOPE_NONE);
    assert_int_equal(scope_of(&auth, third, name), API_SCOPE_SUBMIT);
    assert_int_equal(storage_token_expiry(storage, &left, NULL), STATUS_OK);
    assert_true(left > day && left <= 2 * day);
    assert_int_equal(storage_token_revoke(storage, "ci", NULL), STATUS_OK);
    assert_int_equal(scope_of(&auth, third, name), API_SCOPE_NONE);
    assert_int_equal(auth_rotate(storage, "ci", 0, 0, third, NULL), STATUS_NOT_FOUND);
    assert_int_equal(storage_token_expiry(storage, &left, NULL), STATUS_OK);
    assert_true(left == INT64_MAX);
}

static void durations_have_a_unit(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds; /* 0: refused */
    } cases[] = {{"30d", 30 * 86400}, {"12h", 43200}, {"5m", 300}, {"7s", 7},   {"36500d", INT64_C(3153600000)},
                 {"36501d", 0},       {"0d", 0},      {"", 0},     {"d", 0},    {"30", 0},
                 {"30w", 0},          {"-1d", 0},     {"1dd", 0},  {"1.5d", 0}, {"99999999999s", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t seconds = 0;
        bool ok = token_duration(cases[i].text, API_TOKEN_DAYS_MAX, &seconds);
        assert_int_equal(ok, cases[i].seconds > 0);
        assert_true(!ok || seconds == cases[i].seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_daemon_beyond_loopback_needs_a_token),
        cmocka_unit_test(each_token_gives_its_scope),
        cmocka_unit_test(unknown_scopes_give_nothing),
        cmocka_unit_test(names_of_tokens_are_checked),
        cmocka_unit_test(the_key_gives_the_operators_scope),
        cmocka_unit_test(the_key_is_read_from_its_file),
        cmocka_unit_test(the_list_has_columns),
        cmocka_unit_test(an_expired_token_says_so),
        cmocka_unit_test(the_last_use_is_recorded_coarsely),
        cmocka_unit_test(a_rotation_replaces_the_secret),
        cmocka_unit_test(durations_have_a_unit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
