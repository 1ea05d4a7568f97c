/* Uploaded samples with one class each, made in memory and stored as a data set, for tests of SPARLING. */
#ifndef MOTIF_TESTS_SUPPORT_MADE_SAMPLES_H
#define MOTIF_TESTS_SUPPORT_MADE_SAMPLES_H

#include <sys/stat.h>

#include "core/data/uploads/collection.h"
#include "tests/support/unit.h"

enum { COUNT = 60 }; /* samples */

static inline enum status put_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    return fwrite(bytes, 1, count, context) == count ? STATUS_OK : error_set(err, STATUS_IO, NULL, "not written");
}

/* Stores a data set below `root`. */
static inline void store(const char *root, const char *name, const struct collection *c)
{
    char path[128];
    struct error err = {0};
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s/" COLLECTION_FILE, root, name);
    FILE *file = fopen(path, "wb");
    if (!file || collection_write(c, &(struct snapshot_writer){file, put_bytes}, &err))
        fail_msg("%s", err.message);
    fclose(file);
    snprintf(path, sizeof path, "%s/%s/sha256", root, name);
    file = fopen(path, "wb");
    fputs("ff", file);
    fclose(file);
}

/* COUNT samples of the classes a, b and c in turn, in groups of five. */
struct made {
    struct collection c;
    int64_t start[COUNT + 1], label_start[COUNT + 1];
    int32_t label[COUNT], group[COUNT];
    char names[COUNT / 5][8], *group_names[COUNT / 5];
};

/* Makes them; the caller fills in m->c.values and frees them. */
static inline void make(struct made *m, enum collection_kind kind, int channels, int rows, int cols)
{
    static char *classes[] = {"a", "b", "c"};
    memset(m, 0, sizeof *m);
    for (int i = 0; i <= COUNT; i++) {
        m->start[i] = (int64_t)i * cols;
        m->label_start[i] = i;
    }
    for (int i = 0; i < COUNT; i++) {
        m->label[i] = i % 3;
        m->group[i] = i / 5;
        snprintf(m->names[i / 5], sizeof m->names[0], "g%d", i / 5);
        m->group_names[i / 5] = m->names[i / 5];
    }
    m->c = (struct collection){.kind = kind,
                               .target = TARGET_CLASS,
                               .count = COUNT,
                               .channels = channels,
                               .rows = rows,
                               .cols = cols,
                               .longest = 1,
                               .start = m->start,
                               .label = m->label,
                               .label_start = m->label_start,
                               .vocabulary = {3, classes},
                               .group = m->group,
                               .groups = {COUNT / 5, m->group_names}};
    m->c.values = test_calloc((size_t)COUNT * (size_t)(channels * rows * cols), sizeof *m->c.values);
}

#endif
