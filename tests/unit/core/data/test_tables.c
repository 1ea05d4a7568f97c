/* Tests how an uploaded table becomes features. */
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/data/tables/features.h"
#include "core/data/uploads/collection.h"
#include "tests/support/assert_ok.h"
#include "tests/support/stored_set.h"

static char folder[64];

static int setup(void **state)
{
    strcpy(folder, "/tmp/motif-tables-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    return rmdir(folder);
}

/* Uploads a table, reads it and removes the upload. */
static enum status read_upload(const char *text, int most, const char *const *ids, struct features **f)
{
    char path[96], file[128];
    snprintf(path, sizeof path, "%s/set", folder);
    snprintf(file, sizeof file, "%s/" COLLECTION_FILE, path);
    assert_ok(stored_set_with_ids(path, "csv", text, ids, err));
    enum status status = features_of_upload(path, most, true, f, NULL);
    unlink(file);
    rmdir(path);
    return status;
}

static void a_table_is_read_with_its_classes_and_titles(void **state)
{
    static const char *const ids[] = {"first", "second", "third", NULL};
    static const float all[] = {0.5f, -1, 7, 2, 3, 7, 1, 1, 7};
    struct features *f;
    assert_int_equal(read_upload("u,v,w,class\n0.5,-1,7,red\n2,3,7,blue\n1,1,7,red\n", 3, ids, &f), STATUS_OK);
    assert_true(f->rows == 3 && f->columns == 3 && f->classes == 2);
    assert_memory_equal(f->x, all, sizeof all);
    assert_string_equal(f->names[2], "w");
    assert_string_equal(f->class_names[f->label[1]], "blue");
    assert_string_equal(f->titles[2], "third");
    features_destroy(f);
    assert_int_equal(read_upload("u,v\n0.5,-1\n2,3\n", 3, NULL, &f), STATUS_OK);
    assert_true(f->classes == 0 && !f->label && !f->titles);
    features_destroy(f);
    assert_int_equal(features_of_upload(folder, 3, true, &f, NULL), STATUS_NOT_FOUND);
    assert_int_equal(read_upload("u,v\n0.5,-1\n", 3, NULL, &f), STATUS_INVALID);
}

static void the_columns_of_largest_deviation_stay(void **state)
{
    static const float want[] = {0, 5, 4, 1, 8, 9};
    struct features *f;
    /* b is constant; of a and d, which deviate equally, the first stays */
    assert_int_equal(read_upload("a,b,c,d\n0,7,5,2\n4,7,1,6\n8,7,9,10\n", 2, NULL, &f), STATUS_OK);
    assert_int_equal(f->columns, 2);
    assert_string_equal(f->names[0], "a");
    assert_string_equal(f->names[1], "c");
    assert_memory_equal(f->x, want, sizeof want);
    features_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_read_with_its_classes_and_titles),
        cmocka_unit_test(the_columns_of_largest_deviation_stay),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
