/* Each system call fails, first once and then permanently from that call on. This happens while data sets are
 * stored as files, while a store opens, and while a store is copied. The failure must be reported, no partial
 * files and no open descriptors may remain, and the same operation must succeed without the fault. */
#include "tests/unit/storage/storage_fixture.h"

#include <errno.h>

#include "core/data/uploads/collection.h"
#include "core/methods/shared/table_source.h"
#include "storage/database/copy.h"
#include "storage/files/dataset.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"

static int complaints; /* number of wrong outcomes in this test */
#define complain(...) (complaints++ < 40 ? print_error(__VA_ARGS__) : (void)0)

/* ---- data sets ------------------------------------------------------------------------------------------------- */

struct sets {
    char root[64];
    struct arena arena;
    struct error err;
};

static int setup(void **state)
{
    static struct sets s;
    (void)snprintf(s.root, sizeof s.root, "/tmp/motifd-sets-XXXXXX");
    assert_non_null(mkdtemp(s.root));
    arena_init(&s.arena, 65536, 0);
    *state = &s;
    return 0;
}

static int teardown_sets(void **state)
{
    struct sets *s = *state;
    char command[100];
    arena_close(&s->arena);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", s->root);
    return system(command);
}

static enum status put(struct sets *s, const char *name)
{
    char folder[DATASET_FILES];
    enum status status = dataset_stage(s->root, folder, &s->err);
    if (status != STATUS_OK)
        return status;
    status = dataset_write(folder, "about.json", "{}", 2, &s->err);
    if (status == STATUS_OK)
        status = dataset_write(folder, DATASET_OWNER, "anna", 4, &s->err);
    if (status == STATUS_OK)
        return dataset_commit(s->root, folder, name, &s->err);
    dataset_abandon(folder);
    return status;
}

static enum status read_back(struct sets *s, const char *name)
{
    const char *bytes;
    size_t size;
    enum status status = dataset_read(s->root, name, "about.json", &s->arena, &bytes, &size, &s->err);
    if (status == STATUS_OK && (size != 2 || strcmp(bytes, "{}") != 0))
        complain("%s reads as %.*s\n", name, (int)size, bytes);
    return status;
}

static bool is_there(struct sets *s, const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s/about.json", s->root, name);
    return access(path, F_OK) == 0; /* the faults do not affect access() */
}

static enum status put_one(struct sets *s)
{
    bool before = is_there(s, "one");
    enum status status = put(s, "one");
    if (!before && is_there(s, "one") != (status == STATUS_OK))
        complain("putting says %s, and the set is %s\n", status_name(status),
                 status == STATUS_OK ? "not there" : "there");
    return status;
}
static enum status read_kept(struct sets *s)
{
    return read_back(s, "kept");
}
static enum status remove_kept(struct sets *s)
{
    enum status status = dataset_remove(s->root, "kept", &s->err);
    if (status == STATUS_OK && is_there(s, "kept"))
        complain("removed, and still there\n");
    return status;
}

static enum status open_part(struct sets *s)
{
    int file = 0, unnamed = 0;
    int64_t bytes;
    static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    enum status status = dataset_part_open(s->root, NULL, hash, &file, &bytes, &s->err);
    if (status != STATUS_OK) {
        if (file != -1)
            complain("the caller would close %d a second time\n", file);
        return status;
    }
    status = dataset_part_open(s->root, NULL, NULL, &unnamed, &bytes, &s->err);
    if (status != STATUS_OK && unnamed != -1)
        complain("the caller would close %d a second time\n", unnamed);
    dataset_part_close(&unnamed);
    dataset_part_close(&file);
    dataset_part_remove(s->root, NULL, hash);
    return status;
}

static enum status list_all(struct sets *s)
{
    const char **names;
    size_t count;
    enum status status = dataset_list(s->root, &s->arena, &names, &count, &s->err);
    if (status == STATUS_OK && count != 1)
        complain("%zu sets are listed\n", count);
    return status;
}

static enum status list_holding(struct sets *s)
{
    static const char *const wanted[] = {"none", "data", NULL};
    const char **names;
    size_t count;
    enum status status = dataset_list_holding(s->root, wanted, &s->arena, &names, &count, &s->err);
    /* the list must be empty: the folder with the file "data" was made by an upload, not by the operator */
    if (status == STATUS_OK && count != 0)
        complain("%zu folders are listed\n", count);
    return status;
}

static enum status owner_bytes(struct sets *s)
{
    static const char *const owners[] = {NULL, "anna", "bert"};
    enum status status = STATUS_OK;
    for (int i = 0; i < 3 && status == STATUS_OK; i++) {
        int64_t bytes;
        status = dataset_bytes(s->root, owners[i], &bytes, &s->err);
        if (status == STATUS_OK && bytes != (i < 2 ? 6 : 0))
            complain("%lld bytes of %s\n", (long long)bytes, i > 0 ? owners[i] : "all");
    }
    return status;
}

static enum status find_kept(struct sets *s)
{
    enum dataset_kind kind;
    enum status status = dataset_find(s->root, "kept", &kind, &s->err);
    if (status == STATUS_OK && kind != DATASET_OURS)
        complain("kept is found to be %d\n", (int)kind);
    if (status != STATUS_OK)
        return status;
    status = dataset_find(s->root, ".uploads", &kind, &s->err);
    if (status == STATUS_OK && kind != DATASET_FOREIGN)
        complain("a folder is found to be %d\n", (int)kind);
    return status;
}

/* Makes the requests that the start of a job makes for its data set. */
static enum status bind_job(struct sets *s)
{
    char folder[DATASET_PATH], hash[CONFIG_TEXT] = "";
    struct collection none;
    enum status status = source_resolve("kept", s->root, hash, &s->err);
    if (status == STATUS_OK && strcmp(hash, "") != 0)
        complain("kept is bound to %s\n", hash);
    if (status == STATUS_OK)
        status = source_folder("kept", hash, s->root, folder, &s->err);
    if (status == STATUS_OK)
        status = source_folder("kept", "0123", s->root, folder, NULL) == STATUS_CONFLICT ? STATUS_OK : STATUS_IO;
    if (status != STATUS_OK) {
        (void)error_set(&s->err, status, NULL, "another data set");
        return status;
    }
    (void)snprintf(folder, sizeof folder, "%s/kept/" COLLECTION_FILE, s->root);
    status = collection_open(folder, &none, &s->err);
    if (status != STATUS_NOT_FOUND)
        return status;
    error_clear(&s->err);
    return STATUS_OK;
}

static enum status find_part(struct sets *s)
{
    static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    int64_t bytes;
    enum status status = dataset_part_bytes(s->root, NULL, hash, &bytes, &s->err);
    if (status == STATUS_OK && bytes != -1)
        complain("a part has %lld bytes\n", (long long)bytes);
    return status;
}

static const struct {
    const char *name;
    enum status (*call)(struct sets *s);
    int least; /* the test must have made at least this many system calls fail */
} cases[] = {{"put", put_one, 10},       {"read", read_kept, 2},
             {"remove", remove_kept, 5}, {"parts", open_part, 5},
             {"list", list_all, 4},      {"bytes", owner_bytes, 30},
             {"find", find_kept, 3},     {"find a part", find_part, 1},
             {"for a job", bind_job, 6}, {"list of genomes", list_holding, 4}};

static void failed_call_leaves_data_sets_whole(void **state)
{
    struct sets *s = *state;
    complaints = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int forever = 0; forever < 2; forever++) {
            const char *call = "first";
            int place = 0, before = open_descriptors();
            for (; call != NULL; place++) {
                (void)dataset_remove(s->root, "one", NULL);
                if (!is_there(s, "kept"))
                    assert_int_equal(put(s, "kept"), STATUS_OK);
                error_clear(&s->err);
                fault_call_after(place, place % 2 ? ENOSPC : EIO, forever);
                enum status status = cases[c].call(s);
                call = fault_call_happened();
                if (status != STATUS_OK && (call == NULL || status != STATUS_IO || s->err.message[0] == '\0' ||
                                            strstr(s->err.message, s->root) != NULL))
                    complain("%s, %s: %s: %s\n", cases[c].name, call, status_name(status), s->err.message);
                bool tidies = call != NULL && cases[c].call == remove_kept &&
                              (strcmp(call, "opendir") == 0 || strcmp(call, "readdir64") == 0);
                if (status == STATUS_OK && call != NULL && !tidies)
                    complain("%s: %s failed, but no error was reported\n", cases[c].name, call);
                dataset_sweep(s->root);
                if (folder_entries(s->root, "/.uploads") > (cases[c].call == open_part))
                    complain("%s, %s: something is left\n", cases[c].name, call);
                if (open_descriptors() != before)
                    complain("%s, %s: %d descriptors, and before %d\n", cases[c].name, call, open_descriptors(),
                             before);
                error_clear(&s->err);
                status = cases[c].call(s);
                if (status != STATUS_OK && cases[c].call != remove_kept && cases[c].call != put_one)
                    complain("%s again after %s: %s\n", cases[c].name, call, status_name(status));
                assert_true(place < 1000);
            }
            assert_true(place > cases[c].least);
        }
    assert_int_equal(complaints, 0);
}

/* Two clients remove the same data set. The second client finds the set, but the first client moves the set away before
 * the second one can. */
static void a_set_that_another_client_removes_first_is_not_found(void **state)
{
    struct sets *s = *state;
    bool moved = false;
    for (int place = 0; !moved; place++) {
        assert_true(place < 100);
        if (!is_there(s, "kept"))
            assert_int_equal(put(s, "kept"), STATUS_OK);
        error_clear(&s->err);
        fault_call_after(place, ENOENT, false);
        enum status status = dataset_remove(s->root, "kept", &s->err);
        const char *call = fault_call_happened();
        moved = call != NULL && strcmp(call, "renameat2") == 0;
        if (moved)
            assert_int_equal(status, STATUS_NOT_FOUND);
    }
}

static int64_t part_bytes(struct sets *s, const char *hash)
{
    int64_t bytes;
    assert_int_equal(dataset_part_bytes(s->root, NULL, hash, &bytes, &s->err), STATUS_OK);
    return bytes;
}

static enum dataset_kind kind_of(struct sets *s, const char *name)
{
    enum dataset_kind kind;
    assert_int_equal(dataset_find(s->root, name, &kind, &s->err), STATUS_OK);
    return kind;
}

/* The sweep removes old parts. It ignores names that are not data sets. */
static void sweep_removes_only_old_parts(void **state)
{
    struct sets *s = *state;
    char path[200];
    const char **names;
    size_t count;
    int file;
    int64_t bytes;
    static const char hash[] = "00000000000000000000000000000000000000000000000000000000000000ff";
    (void)snprintf(path, sizeof path, "%s/none", s->root);
    dataset_sweep(path);
    assert_int_equal(dataset_list(path, &s->arena, &names, &count, &s->err), STATUS_OK);
    assert_int_equal(count, 0);
    assert_int_equal(part_bytes(s, hash), -1);
    assert_int_equal(dataset_part_open(s->root, NULL, hash, &file, &bytes, &s->err), STATUS_OK);
    assert_int_equal(write(file, "abc", 3), 3);
    int second;
    assert_int_equal(dataset_part_open(s->root, NULL, hash, &second, &bytes, &s->err), STATUS_CONFLICT);
    /* the failed call has set the descriptor to -1, so that the caller does not close another file by mistake */
    assert_int_equal(second, -1);
    dataset_part_close(&file);
    dataset_sweep(s->root);
    assert_int_equal(part_bytes(s, hash), 3); /* the sweep leaves the part, because it is less than a day old */
    char command[600];
    (void)snprintf(command, sizeof command,
                   "touch -d '2 days ago' '%s/.uploads/%s'; mkdir '%s/.uploads/stage-x' '%s/foreign'; touch "
                   "'%s/.uploads/stage-x/f' "
                   "'%s/.uploads/odd'",
                   s->root, hash, s->root, s->root, s->root, s->root);
    assert_int_equal(system(command), 0);
    dataset_sweep(s->root);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);
    assert_int_equal(kind_of(s, "foreign"), DATASET_FOREIGN);
    static const char *const wanted[] = {"index", "other", NULL};
    assert_int_equal(dataset_list_holding(s->root, wanted, &s->arena, &names, &count, &s->err), STATUS_OK);
    assert_int_equal(count, 0);
    (void)snprintf(command, sizeof command, "mkdir '%s/also' && touch '%s/also/index' '%s/foreign/other'", s->root,
                   s->root, s->root);
    assert_int_equal(system(command), 0);
    assert_int_equal(dataset_list_holding(s->root, wanted, &s->arena, &names, &count, &s->err), STATUS_OK);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "also");
    assert_string_equal(names[1], "foreign");
    assert_int_equal(kind_of(s, "none"), DATASET_NONE);
    fault_call_after(0, EACCES, false); /* a folder that motifd may not read must not hide the others */
    assert_int_equal(kind_of(s, "foreign"), DATASET_FOREIGN);
    assert_string_equal(fault_call_happened(), "stat64");
    assert_int_equal(kind_of(s, "a/b"), DATASET_NONE);
    error_clear(&s->err);
    assert_int_equal(dataset_remove(s->root, "foreign", &s->err), STATUS_NOT_FOUND);
    for (int i = 0; i < 70; i++) { /* more names than the first allocation of the list can hold */
        char name[16];
        (void)snprintf(name, sizeof name, "set-%02d", 69 - i);
        assert_int_equal(put(s, name), STATUS_OK);
    }
    assert_int_equal(put(s, "set-00"), STATUS_CONFLICT);
    assert_int_equal(dataset_list(s->root, &s->arena, &names, &count, &s->err), STATUS_OK);
    assert_int_equal(count, 70);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
    assert_int_equal(dataset_bytes(s->root, "anna", &bytes, &s->err), STATUS_OK);
    assert_int_equal(bytes, 70 * 6);
    assert_int_equal(dataset_bytes(s->root, "ann", &bytes, &s->err), STATUS_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(dataset_part_open(s->root, "ann", hash, &file, &bytes, &s->err), STATUS_OK);
    assert_int_equal(write(file, "abc", 3), 3);
    assert_int_equal(dataset_bytes(s->root, "ann", &bytes, &s->err), STATUS_OK);
    assert_int_equal(bytes, 3);
    assert_int_equal(dataset_bytes(s->root, "anna", &bytes, &s->err), STATUS_OK);
    assert_int_equal(bytes, 70 * 6);
    assert_int_equal(dataset_bytes(s->root, NULL, &bytes, &s->err), STATUS_OK);
    assert_int_equal(bytes, 70 * 6 + 3);
    /* the part belongs to "ann", so an upload without an owner must not find it */
    assert_int_equal(part_bytes(s, hash), -1);
    dataset_part_close(&file);
    dataset_part_remove(s->root, "ann", hash);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);
}

/* ---- opening a store --------------------------------------------------------------------------------- */

static void failed_call_while_opening_is_reported(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    complaints = 0;
    fixture_open(f);
    submit(f, "sparling", 0, id);
    fixture_close(f);
    int before = open_descriptors(), seen = 0;
    const char *call = "first";
    for (int place = 0; call != NULL; place++) {
        error_clear(&f->err);
        fault_call_after(place, EIO, place % 2);
        enum status status = storage_open(&f->options, &f->storage, &f->err);
        call = fault_call_happened();
        seen += call != NULL;
        /* The call that fails may be one that the writing thread makes after the store has opened. Then later writes
         * report the failure. */
        bool writers = status == STATUS_OK && call != NULL && strcmp(call, "stat64") == 0;
        if (call != NULL && !writers &&
            (status == STATUS_OK || f->err.message[0] == '\0' || strstr(f->err.message, f->folder) != NULL))
            complain("opening, %s: %s: %s\n", call, status_name(status), f->err.message);
        fixture_close(f);
        if (open_descriptors() != before)
            complain("opening, %s: %d descriptors, and before %d\n", call, open_descriptors(), before);
        fixture_open(f);
        assert_string_equal(job_of(f, id).id, id);
        fixture_close(f);
    }
    assert_true(seen >= 4); /* the calls of at least four steps: lock file, lock, file system, database file */
    assert_int_equal(complaints, 0);
}

static void remember(void *context, enum log_level level, const char *text)
{
    char *logged = context;
    if (level >= LOG_LEVEL_WARN)
        (void)snprintf(logged, 200, "%s", text);
}

/* A remote file system is refused unless the operator allows it, because the write-ahead log needs shared memory. */
static void network_file_system_is_refused(void **state)
{
    enum { NFS = 0x6969, FUSE = 0x65735546 };
    struct fixture *f = *state;
    char logged[200] = "";
    f->options.log = (struct log_hook){logged, remember};
    fault_file_system(NFS, false);
    REFUSED(STATUS_INVALID, storage_open(&f->options, &f->storage, &f->err));
    assert_non_null(strstr(f->err.message, "network file system (NFS)"));
    assert_null(f->storage);
    assert_int_not_equal(access(f->path, F_OK), 0); /* storage has not created a file */
    f->options.allow_network_fs = true;
    fixture_open(f);
    assert_non_null(strstr(logged, "is on NFS"));
    fixture_close(f);
    f->options.allow_network_fs = false;
    fault_file_system(FUSE, false);
    fixture_open(f); /* opens, because storage only warns about FUSE */
    assert_non_null(strstr(logged, "is on FUSE"));
    OK(storage_writable(f->storage, &f->err));
    fault_file_system(0, true);
    REFUSED(STATUS_UNAVAILABLE, storage_writable(f->storage, &f->err));
    assert_non_null(strstr(f->err.message, "read-only"));
    fault_file_system(0, false);
    OK(storage_writable(f->storage, &f->err));
    fixture_close(f);
    f->options.log = (struct log_hook){NULL, NULL};
}

/* An open store reports when random numbers are missing, and when facts about the disk cannot be read. */
static void open_store_reports_failed_calls(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_submit in = {.kind = "sparling", .config = "{}"};
    enum storage_submit_outcome outcome;
    fixture_open(f);
    enum { TRIES = 100 }; /* another thread of the store may make the call that fails, so the test retries */
    enum status status = STATUS_OK;
    for (int i = 0; i < TRIES && status == STATUS_OK; i++) {
        fault_call_after(0, EIO, false);
        status = storage_job_submit(f->storage, &in, id, &outcome, &f->err);
    }
    assert_int_equal(status, STATUS_UNAVAILABLE);
    assert_string_equal(fault_call_happened(), "getrandom");
    assert_string_equal(id, "");
    status = STATUS_OK;
    for (int i = 0; i < TRIES && status == STATUS_OK; i++) {
        fault_call_after(0, EIO, false);
        status = storage_writable(f->storage, &f->err);
    }
    assert_int_equal(status, STATUS_UNAVAILABLE);
    assert_string_equal(fault_call_happened(), "fstatvfs64");
    OK(storage_writable(f->storage, &f->err));
    submit(f, "sparling", 0, id);
}

static void failed_call_while_copying_leaves_no_file(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], to[128], part[140];
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1};
    int64_t seq;
    complaints = 0;
    fixture_open(f);
    submit_running(f, id);
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, "bytes", 5, &f->err));
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
    (void)snprintf(to, sizeof to, "%s/copy.db", f->folder);
    (void)snprintf(part, sizeof part, "%s.part", to);
    struct storage_copy_options options = {.from = f->path, .to = to};
    struct storage_copy_report report;
    /* copy once before counting, because some descriptors stay open after the first copy */
    OK(storage_copy(&options, &report, &f->err));
    assert_int_equal(unlink(to), 0);
    int before = open_descriptors(), seen = 0;
    const char *call = "first";
    for (int place = 0; call != NULL; place++) {
        error_clear(&f->err);
        fault_call_after(place, EIO, place % 3 == 0);
        enum status status = storage_copy(&options, &report, &f->err);
        call = fault_call_happened();
        seen += call != NULL;
        if (call != NULL &&
            (status == STATUS_OK || f->err.message[0] == '\0' || strstr(f->err.message, f->folder) != NULL))
            complain("a copy, %s: %s: %s\n", call, status_name(status), f->err.message);
        if ((access(to, F_OK) == 0) != (status == STATUS_OK) || access(part, F_OK) == 0)
            complain("a copy, %s: %s, and the files are not so\n", call, status_name(status));
        if (open_descriptors() != before)
            complain("a copy, %s: %d descriptors, and before %d\n", call, open_descriptors(), before);
        (void)unlink(to);
    }
    assert_true(seen >= 7);
    assert_int_equal(complaints, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failed_call_leaves_data_sets_whole, setup, teardown_sets),
        cmocka_unit_test_setup_teardown(a_set_that_another_client_removes_first_is_not_found, setup, teardown_sets),
        cmocka_unit_test_setup_teardown(sweep_removes_only_old_parts, setup, teardown_sets),
        TEST_CLOSED(failed_call_while_opening_is_reported),
        TEST_CLOSED(network_file_system_is_refused),
        TEST_CLOSED(open_store_reports_failed_calls),
        TEST_CLOSED(failed_call_while_copying_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
