/* Tests the copies of data sets that `motifd backup --with-data` makes: what is copied, and that a fault in any call is
 * reported and leaves no incomplete data set. A copy that reports success must have every file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/base/hash.h"
#include "server/commands/data_copy.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"

static char folder[] = "/tmp/motifd-data-copy-XXXXXX", from[64], to[64];

ssize_t __real_write(int fd, const void *bytes, size_t count);
ssize_t __wrap_write(int fd, const void *bytes, size_t count);
ssize_t __wrap_write(int fd, const void *bytes, size_t count)
{
    return fault_call_now("write") ? -1 : __real_write(fd, bytes, count);
}

static void put(const char *name, size_t bytes)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", from, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < bytes; i++)
        (void)fputc((int)(i * 7 % 251), file);
    assert_int_equal(fclose(file), 0);
}

static void make(const char *name)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", from, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Two data sets, one with a folder and a file larger than a block; and entries that are no data sets. */
static int setup(void **state)
{
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(from, sizeof from, "%s/from", folder);
    (void)snprintf(to, sizeof to, "%s/to", folder);
    if (mkdir(from, 0700) != 0)
        return -1;
    make("digits");
    make("digits/inner");
    put("digits/large", 150000);
    put("digits/empty", 0);
    put("digits/inner/file", 300);
    make("words");
    put("words/text", 12);
    make(".part-upload");
    put(".part-upload/x", 5);
    put("not-a-folder", 3);
    char link[400];
    (void)snprintf(link, sizeof link, "%s/words/link", from);
    return symlink("text", link);
}

static int teardown(void **state)
{
    data_remove(folder);
    return access(folder, F_OK) == 0;
}

static bool same_file(const char *a, const char *b)
{
    FILE *one = fopen(a, "rb"), *other = fopen(b, "rb");
    bool same = one != NULL && other != NULL;
    for (int x = 0, y = 0; same && x != EOF;) {
        x = fgetc(one);
        y = fgetc(other);
        same = x == y;
    }
    if (one != NULL)
        (void)fclose(one);
    if (other != NULL)
        (void)fclose(other);
    return same;
}

static bool has(const char *name)
{
    char a[200], b[200];
    (void)snprintf(a, sizeof a, "%s/%s", from, name);
    (void)snprintf(b, sizeof b, "%s/%s", to, name);
    return same_file(a, b);
}

static bool has_digits(void)
{
    return has("digits/large") && has("digits/empty") && has("digits/inner/file");
}

static void every_file_of_every_data_set_is_copied(void **state)
{
    struct data_copy_report report;
    struct error err = {0};
    assert_int_equal(data_copy(from, to, NULL, &report, &err), STATUS_OK);
    assert_true(has_digits() && has("words/text"));
    /* the copy has only the two data sets, no partial upload and no other file */
    assert_int_equal(folder_entries(to, ""), 2);
    assert_int_equal(folder_entries(to, "/words"), 1); /* no links */
    assert_true(report.sets == 2 && report.files == 4 && report.bytes == 150312 && report.kept == 0);
    /* A second copy leaves what exists as it is. */
    assert_int_equal(data_copy(from, to, NULL, &report, &err), STATUS_OK);
    assert_true(report.sets == 0 && report.kept == 2);
    data_remove(to);
    assert_int_not_equal(access(to, F_OK), 0);
    data_remove(to); /* nothing to remove */
}

static bool same_inode(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

/* A file that has the same bytes in the earlier copy is linked, one that was changed or damaged is copied. */
static void unchanged_files_are_links_of_the_earlier_copy(void **state)
{
    struct data_copy_report report;
    struct error err = {0};
    char next[200], a[300], b[300];
    (void)snprintf(next, sizeof next, "%s/next", folder);
    assert_int_equal(data_copy(from, to, NULL, &report, &err), STATUS_OK);
    assert_int_equal(report.linked, 0);
    (void)snprintf(a, sizeof a, "%s/words/text", to);
    FILE *damaged = fopen(a, "r+b");
    assert_non_null(damaged);
    (void)fputc('!', damaged);
    assert_int_equal(fclose(damaged), 0);
    assert_int_equal(data_copy(from, next, to, &report, &err), STATUS_OK);
    assert_true(report.files == 4 && report.linked == 3 && report.bytes == 150312);
    (void)snprintf(b, sizeof b, "%s/words/text", next);
    assert_false(same_inode(a, b));
    (void)snprintf(a, sizeof a, "%s/digits/large", to);
    (void)snprintf(b, sizeof b, "%s/digits/large", next);
    assert_true(same_inode(a, b));
    (void)snprintf(b, sizeof b, "%s/words/text", from);
    (void)snprintf(a, sizeof a, "%s/words/text", next);
    assert_true(same_file(a, b));
    data_remove(to); /* the newer copy is whole without the earlier one */
    (void)snprintf(a, sizeof a, "%s/digits/inner/file", next);
    (void)snprintf(b, sizeof b, "%s/digits/inner/file", from);
    assert_true(same_file(a, b));
    data_remove(next);
}

static void a_missing_folder_and_a_file_are_errors(void **state)
{
    struct data_copy_report report;
    struct error err = {0};
    char path[200];
    (void)snprintf(path, sizeof path, "%s/none", folder);
    assert_int_equal(data_copy(path, to, NULL, &report, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "cannot read"));
    assert_int_not_equal(access(to, F_OK), 0);
    error_clear(&err);
    (void)snprintf(path, sizeof path, "%s/not-a-folder", from);
    assert_int_equal(data_copy(path, to, NULL, &report, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "cannot read"));
    error_clear(&err);
    assert_int_equal(data_copy(from, path, NULL, &report, &err), STATUS_IO);
    error_clear(&err);
    (void)snprintf(path, sizeof path, "%s/none/none", folder);
    assert_int_equal(data_copy(from, path, NULL, &report, &err), STATUS_IO);
    assert_non_null(strstr(err.message, "cannot make"));
}

static void a_path_that_is_too_long_is_an_error(void **state)
{
    char path[4000];
    struct data_copy_report report;
    struct error err = {0};
    memset(path, '/', sizeof path);
    (void)snprintf(path + sizeof path - 64, 64, "%s", from);
    path[0] = '/';
    enum status status = data_copy(path, to, NULL, &report, &err);
    if (status == STATUS_OK) { /* this system allows paths of this length */
        assert_int_equal(report.sets, 2);
    } else {
        assert_int_equal(status, STATUS_LIMIT);
        assert_non_null(strstr(err.message, "too long"));
    }
    data_remove(to);
}

/* data_copy() copies folders within folders up to a fixed depth and leaves deeper ones out. data_remove() removes all
 * of them. */
static void the_depth_of_folders_is_bounded(void **state)
{
    char name[200] = "deep", copy[300];
    struct data_copy_report report;
    make(name);
    for (int depth = 0; depth < 9; depth++) {
        (void)snprintf(name + strlen(name), 10, "/d");
        make(name);
    }
    assert_int_equal(data_copy(from, to, NULL, &report, NULL), STATUS_OK);
    (void)snprintf(copy, sizeof copy, "%s/deep/d/d/d/d/d/d/d/d", to);
    assert_int_equal(access(copy, F_OK), 0);
    (void)snprintf(copy, sizeof copy, "%s/deep/d/d/d/d/d/d/d/d/d", to);
    assert_int_not_equal(access(copy, F_OK), 0);
    data_remove(to);
    assert_int_not_equal(access(to, F_OK), 0);
    (void)snprintf(copy, sizeof copy, "%s/deep", from);
    data_remove(copy);
    assert_int_not_equal(access(copy, F_OK), 0);
}

static void a_link_in_place_of_a_folder_is_not_emptied(void **state)
{
    char link[300], kept[300];
    struct data_copy_report report;
    make("kept");
    assert_int_equal(data_copy(from, to, NULL, &report, NULL), STATUS_OK);
    (void)snprintf(link, sizeof link, "%s/link", from);
    assert_int_equal(symlink(to, link), 0);
    data_remove(link);
    (void)snprintf(kept, sizeof kept, "%s/kept", to);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(unlink(link), 0);
    data_remove(to);
    (void)snprintf(kept, sizeof kept, "%s/kept", from);
    data_remove(kept);
}

/* After a fault there is no partial data set, and each data set that is there is complete. */
static void is_whole(enum status status, const struct error *err, int descriptors)
{
    char path[200];
    assert_int_equal(open_descriptors(), descriptors);
    assert_true((status == STATUS_OK) == (err->message[0] == '\0'));
    assert_true(status != STATUS_OK || (has_digits() && has("words/text")));
    for (int set = 0; set < 2; set++) {
        (void)snprintf(path, sizeof path, "%s/%s", to, set == 0 ? "digits" : "words");
        assert_true(access(path, F_OK) != 0 || (set == 0 ? has_digits() : has("words/text")));
    }
    DIR *dir = opendir(to);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        assert_true(strncmp(entry->d_name, ".copy-", 6) != 0);
    if (dir != NULL)
        (void)closedir(dir);
}

static void a_failing_call_is_reported_and_leaves_no_partial_data_set(void **state)
{
    static const int codes[] = {EIO, EINTR};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        int failed = 0;
        for (int n = 0;; n++) {
            struct data_copy_report report;
            struct error err = {0};
            int descriptors = open_descriptors();
            fault_call_after(n, codes[i], false);
            enum status status = data_copy(from, to, NULL, &report, &err);
            const char *call = fault_call_happened();
            is_whole(status, &err, descriptors);
            if (call == NULL) {
                assert_int_equal(status, STATUS_OK);
                data_remove(to);
                break;
            }
            failed += status != STATUS_OK;
            data_remove(to);
        }
        assert_true(failed > 20);
    }
}

static void missing_memory_is_reported(void **state)
{
    struct data_copy_report report;
    struct error err = {0};
    fault_after(0);
    assert_int_equal(data_copy(from, to, NULL, &report, &err), STATUS_NO_MEMORY);
    assert_true(fault_happened());
    assert_int_not_equal(access(to, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unchanged_files_are_links_of_the_earlier_copy),
        cmocka_unit_test(every_file_of_every_data_set_is_copied),
        cmocka_unit_test(a_missing_folder_and_a_file_are_errors),
        cmocka_unit_test(a_path_that_is_too_long_is_an_error),
        cmocka_unit_test(the_depth_of_folders_is_bounded),
        cmocka_unit_test(a_link_in_place_of_a_folder_is_not_emptied),
        cmocka_unit_test(a_failing_call_is_reported_and_leaves_no_partial_data_set),
        cmocka_unit_test(missing_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
