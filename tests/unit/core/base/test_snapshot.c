/* Tests snapshots: round trips, damaged and hostile streams, and failures of memory, reads and writes. */
#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/base/snapshot.h"
#include "tests/support/fault.h"

#define HEADER 24
#define ENTRY 152

/* A small training state. The tests write one such struct and read the stream into another. */
struct things {
    float conv[6], bias[3], moment[9];
    unsigned char flags[5];
    double target;
    int64_t step;
    uint64_t position;
};

static enum status declare(struct snapshot *snapshot, struct things *t, struct error *err)
{
    const struct snapshot_row weights[] = {SNAPSHOT_ARRAY("conv", t->conv, 2, 3), SNAPSHOT_ARRAY("bias", t->bias, 3)};
    const struct snapshot_row state[] = {
        SNAPSHOT_ARRAY("flags", t->flags, 5),      SNAPSHOT_NUMBER("target", &t->target),
        SNAPSHOT_NUMBER(NULL, &t->target),         SNAPSHOT_NUMBER("step", &t->step),
        SNAPSHOT_NUMBER("position", &t->position),
    };
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_WEIGHT, "g.", SNAPSHOT_ROWS(weights), err);
    status =
        status ? status
               : snapshot_add(snapshot, SNAPSHOT_OPTIMISER, SNAPSHOT_F32, "adam.m", 1, (uint64_t[]){9}, t->moment, err);
    return status ? status : snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(state), err);
}

static const struct things sample = {.conv = {1, 2, 3, 4, 5, 6},
                                     .bias = {-1, -2, -3},
                                     .moment = {.1F, .2F, .3F, .4F, .5F, .6F, .7F, .8F, .9F},
                                     .flags = {9, 8, 7, 6, 5},
                                     .target = 0.875,
                                     .step = -12,
                                     .position = UINT64_MAX};

static enum status append(void *context, const void *bytes, size_t count, struct error *err)
{
    struct buf *out = context;
    buf_append(out, bytes, count);
    return out->failed ? error_set(err, STATUS_LIMIT, NULL, "full") : STATUS_OK;
}

struct memory {
    const char *bytes;
    size_t count;
    int reads_left; /* number of reads that succeed before one fails; negative: all succeed */
};

static enum status fetch(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    struct memory *memory = context;
    if (memory->reads_left == 0)
        return error_set(err, STATUS_IO, NULL, "no more");
    memory->reads_left--;
    if (offset > memory->count || count > memory->count - offset)
        return error_set(err, STATUS_IO, NULL, "outside");
    memcpy(bytes, memory->bytes + offset, count);
    return STATUS_OK;
}

static void write_sample(struct buf *out)
{
    struct things t = sample;
    struct snapshot *snapshot;
    buf_init(out, 1 << 20);
    assert_int_equal(snapshot_create(&snapshot, NULL), STATUS_OK);
    assert_int_equal(declare(snapshot, &t, NULL), STATUS_OK);
    struct snapshot_writer to = {out, append};
    assert_int_equal(snapshot_write(snapshot, &to, NULL), STATUS_OK);
    assert_int_equal(out->size, snapshot_bytes(snapshot));
    snapshot_destroy(snapshot);
}

static enum status read_into(const char *bytes, size_t count, unsigned roles, struct things *t, struct error *err)
{
    struct memory memory = {bytes, count, -1};
    struct snapshot_reader from = {&memory, count, fetch};
    struct snapshot *snapshot;
    enum status status = snapshot_create(&snapshot, err);
    if (status == STATUS_OK)
        status = declare(snapshot, t, err);
    if (status == STATUS_OK)
        status = snapshot_read(snapshot, &from, roles, err);
    snapshot_destroy(snapshot);
    return status;
}

#define ALL_ROLES (1U << SNAPSHOT_WEIGHT | 1U << SNAPSHOT_OPTIMISER | 1U << SNAPSHOT_STATE)

static bool same_things(const struct things *a, const struct things *b)
{
    return memcmp(a->conv, b->conv, sizeof a->conv) == 0 && memcmp(a->bias, b->bias, sizeof a->bias) == 0 &&
           memcmp(a->moment, b->moment, sizeof a->moment) == 0 && memcmp(a->flags, b->flags, sizeof a->flags) == 0 &&
           a->target == b->target && a->step == b->step && a->position == b->position;
}

static void snapshot_reads_back_as_written(void **state)
{
    struct buf out;
    struct things t = {0};
    write_sample(&out);
    assert_int_equal(read_into(out.data, out.size, ALL_ROLES, &t, NULL), STATUS_OK);
    assert_true(same_things(&t, &sample));

    struct things weights = {.step = 5};
    assert_int_equal(read_into(out.data, out.size, 1U << SNAPSHOT_WEIGHT, &weights, NULL), STATUS_OK);
    assert_memory_equal(weights.conv, sample.conv, sizeof sample.conv);
    assert_true(weights.moment[0] == 0.0F && weights.step == 5 && weights.target == 0.0);
    buf_close(&out);
}

/* Offsets are absolute; weights have no gaps, other entries begin at multiples of 64. */
static void contents_list_every_entry(void **state)
{
    struct buf out;
    write_sample(&out);
    struct memory memory = {out.data, out.size, -1};
    struct snapshot_reader from = {&memory, out.size, fetch};
    struct snapshot_entry *entries;
    size_t count;
    assert_int_equal(snapshot_contents(&from, &entries, &count, NULL), STATUS_OK);
    assert_int_equal(count, 7);
    assert_string_equal(entries[0].name, "g.conv");
    assert_int_equal(entries[0].rank, 2);
    assert_int_equal(entries[0].dim[1], 3);
    assert_int_equal(entries[0].dim[2], 1);
    assert_int_equal(entries[1].offset, entries[0].offset + entries[0].bytes);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 1 || entries[i].offset % 64 == 0);
        assert_null(entries[i].bytes_at);
    }
    assert_memory_equal(out.data + entries[0].offset, sample.conv, sizeof sample.conv);
    assert_memory_equal(out.data + entries[6].offset, &sample.position, sizeof sample.position);
    assert_int_equal(entries[6].offset + entries[6].bytes, out.size);
    free(entries);
    buf_close(&out);
}

static void stream_of_other_shapes_changes_nothing(void **state)
{
    struct buf out;
    write_sample(&out);
    struct memory memory = {out.data, out.size, -1};
    struct snapshot_reader from = {&memory, out.size, fetch};
    static const struct {
        const char *name;
        enum snapshot_role role;
        enum snapshot_type type;
        uint64_t dim[2];
        const char *word;
    } wrong[] = {
        {"g.conv", SNAPSHOT_WEIGHT, SNAPSHOT_F32, {3, 2}, "shape"},
        {"g.conv", SNAPSHOT_WEIGHT, SNAPSHOT_F64, {2, 3}, "shape"},
        {"g.conv", SNAPSHOT_STATE, SNAPSHOT_F32, {2, 3}, "shape"},
        {"g.comb", SNAPSHOT_WEIGHT, SNAPSHOT_F32, {2, 3}, "missing"},
        {"g.conv", SNAPSHOT_WEIGHT, SNAPSHOT_F32, {2, 4}, "g.conv"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        double space[8] = {0};
        float bias[3] = {7, 7, 7};
        struct snapshot *snapshot;
        struct error err;
        error_clear(&err);
        assert_int_equal(snapshot_create(&snapshot, NULL), STATUS_OK);
        bool first = wrong[i].role == SNAPSHOT_STATE;
        if (first) {
            assert_int_equal(
                snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "g.bias", 1, (uint64_t[]){3}, bias, NULL),
                STATUS_OK);
        }
        assert_int_equal(
            snapshot_add(snapshot, wrong[i].role, wrong[i].type, wrong[i].name, 2, wrong[i].dim, space, NULL),
            STATUS_OK);
        assert_int_equal(snapshot_read(snapshot, &from, ALL_ROLES, &err), STATUS_CORRUPT);
        assert_non_null(strstr(err.message, wrong[i].word));
        assert_true(space[0] == 0.0 && bias[0] == 7.0F); /* nothing was read, not even the entries that fit */
        snapshot_destroy(snapshot);
    }
    buf_close(&out);
}

static void invalid_entries_are_refused(void **state)
{
    struct snapshot *snapshot;
    float x[4];
    char long_name[SNAPSHOT_NAME + 1];
    memset(long_name, 'n', SNAPSHOT_NAME);
    long_name[SNAPSHOT_NAME] = '\0';
    assert_int_equal(snapshot_create(&snapshot, NULL), STATUS_OK);
    const uint64_t four[] = {4}, huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "a", 1, four, x, NULL), STATUS_OK);
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "a", 1, four, x, NULL), STATUS_INTERNAL);
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "", 1, four, x, NULL), STATUS_INTERNAL);
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "b\"", 1, four, x, NULL), STATUS_INTERNAL);
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, long_name, 1, four, x, NULL),
                     STATUS_INTERNAL);
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "b", 5, four, x, NULL), STATUS_INTERNAL);
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "b", 2, huge, x, NULL), STATUS_INTERNAL);
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_WEIGHT, (enum snapshot_type)9, "b", 1, four, x, NULL),
                     STATUS_INTERNAL);
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F32, "c", 1, four, x, NULL), STATUS_OK);
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "d", 1, four, x, NULL), STATUS_INTERNAL);
    long_name[SNAPSHOT_NAME - 1] = '\0';
    assert_int_equal(snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F32, long_name, 1, four, x, NULL), STATUS_OK);
    snapshot_destroy(snapshot);
    snapshot_destroy(NULL);
}

/* Changes every byte of header and table to several values, and cuts the stream at every length. The reader never
 * crashes and never reads outside the stream. It refuses every changed stream, except one in which only the name of
 * an entry has changed. */
static void damaged_streams_are_refused(void **state)
{
    struct buf out;
    write_sample(&out);
    size_t table = HEADER + 7 * ENTRY;
    char *copy = malloc(out.size);
    assert_non_null(copy);
    for (size_t at = 0; at < table; at++) {
        static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
        for (size_t v = 0; v < sizeof values; v++) {
            struct things t = {0};
            memcpy(copy, out.data, out.size);
            copy[at] = (char)(copy[at] ^ (values[v] == 0 ? 0x10 : values[v]));
            assert_int_equal(read_into(copy, out.size, ALL_ROLES, &t, NULL), STATUS_CORRUPT);
            assert_true(t.step == 0 && t.conv[0] == 0.0F);
        }
    }
    for (size_t length = 0; length < out.size; length++) {
        struct things t = {0};
        /* exact size, so that the sanitizer reports a read beyond the end */
        char *exact = malloc(length > 0 ? length : 1);
        assert_non_null(exact);
        memcpy(exact, out.data, length);
        assert_int_equal(read_into(exact, length, ALL_ROLES, &t, NULL), STATUS_CORRUPT);
        free(exact);
    }
    free(copy);
    buf_close(&out);
}

/* These counts and sizes would overflow if the reader trusted them. */
static void sizes_that_overflow_are_refused(void **state)
{
    unsigned char bytes[HEADER + ENTRY + 64] = "MOTIFPK1";
    struct memory memory = {(const char *)bytes, sizeof bytes, -1};
    struct snapshot_reader from = {&memory, sizeof bytes, fetch};
    struct snapshot_entry *entries;
    size_t count;
    const uint64_t sizes[] = {0, 1, 64, UINT64_MAX, UINT64_MAX - 63, UINT64_C(1) << 63, 39};
    const uint32_t counts[] = {0, 1, 2, 65536, 65537, UINT32_MAX};
    for (size_t s = 0; s < 7; s++) {
        for (size_t c = 0; c < 6; c++) {
            memcpy(bytes + 8, &counts[c], 4);
            memcpy(bytes + 16, &sizes[s], 8);
            assert_int_equal(snapshot_contents(&from, &entries, &count, NULL), STATUS_CORRUPT);
            assert_null(entries);
        }
    }
    from.total_bytes = UINT64_MAX; /* the byte source claims the largest possible length */
    const uint64_t rest = UINT64_MAX - 192;
    memcpy(bytes + 8, &counts[1], 4);
    memcpy(bytes + 16, &rest, 8);
    strcpy((char *)bytes + HEADER, "x");
    bytes[HEADER + 96] = SNAPSHOT_U8;
    bytes[HEADER + 97] = SNAPSHOT_WEIGHT;
    bytes[HEADER + 98] = 4;
    memset(bytes + HEADER + 104, 0x3f, 32);
    memcpy(bytes + HEADER + 144, &rest, 8);
    assert_int_equal(snapshot_contents(&from, &entries, &count, NULL), STATUS_CORRUPT);
}

/* First adds bytes after the last entry; the header counts them, but no entry covers them. Then makes the table too
 * long. */
static void bytes_outside_all_entries_are_refused(void **state)
{
    struct buf out;
    struct things t = {0};
    struct error err;
    uint64_t data_bytes;
    write_sample(&out);
    memcpy(&data_bytes, out.data + 16, 8);
    buf_append(&out, "rest", 4);
    data_bytes += 4;
    memcpy(out.data + 16, &data_bytes, 8);
    error_clear(&err);
    assert_int_equal(read_into(out.data, out.size, ALL_ROLES, &t, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.message, "cover"));

    struct memory memory = {out.data, out.size, -1};
    struct snapshot_reader from = {&memory, (HEADER + UINT64_C(65537) * ENTRY + 63) / 64 * 64, fetch};
    struct snapshot_entry *entries;
    size_t count;
    memcpy(out.data + 8, &(uint32_t){65537}, 4);
    memcpy(out.data + 16, &(uint64_t){0}, 8);
    /* the table is too long, so it is refused without being read */
    assert_int_equal(snapshot_contents(&from, &entries, &count, NULL), STATUS_CORRUPT);
    buf_close(&out);
}

static void entries_of_the_same_name_are_refused(void **state)
{
    struct buf out;
    struct things t = {0};
    struct error err;
    write_sample(&out);
    memcpy(out.data + HEADER + ENTRY, "g.conv", 7);
    error_clear(&err);
    assert_int_equal(read_into(out.data, out.size, ALL_ROLES, &t, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.message, "twice"));
    buf_close(&out);
}

static void empty_snapshots_and_empty_arrays_round_trip(void **state)
{
    struct buf out;
    struct snapshot *snapshot;
    for (int entries = 0; entries < 2; entries++) {
        buf_init(&out, 1000);
        assert_int_equal(snapshot_create(&snapshot, NULL), STATUS_OK);
        if (entries > 0) {
            assert_int_equal(
                snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "none", 2, (uint64_t[]){0, 8}, NULL, NULL),
                STATUS_OK);
        }
        struct snapshot_writer to = {&out, append};
        assert_int_equal(snapshot_write(snapshot, &to, NULL), STATUS_OK);
        struct memory memory = {out.data, out.size, -1};
        struct snapshot_reader from = {&memory, out.size, fetch};
        assert_int_equal(snapshot_read(snapshot, &from, ALL_ROLES, NULL), STATUS_OK);
        snapshot_destroy(snapshot);
        buf_close(&out);
    }
}

static void many_entries_round_trip(void **state)
{
    enum { COUNT = 1500 };
    static int64_t values[COUNT];
    struct snapshot *snapshot;
    struct buf out;
    buf_init(&out, 1 << 20);
    assert_int_equal(snapshot_create(&snapshot, NULL), STATUS_OK);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "value.%d", i * 7919 % COUNT);
        values[i] = i;
        assert_int_equal(snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_I64, name, 0, NULL, &values[i], NULL),
                         STATUS_OK);
    }
    struct snapshot_writer to = {&out, append};
    assert_int_equal(snapshot_write(snapshot, &to, NULL), STATUS_OK);
    memset(values, 0, sizeof values);
    struct memory memory = {out.data, out.size, -1};
    struct snapshot_reader from = {&memory, out.size, fetch};
    assert_int_equal(snapshot_read(snapshot, &from, ALL_ROLES, NULL), STATUS_OK);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(values[i], i);
    snapshot_destroy(snapshot);
    buf_close(&out);
}

/* Lets each allocation and each read fail once, and lets writes fail after every number of bytes. */
static void each_failed_allocation_read_and_write_is_returned(void **state)
{
    struct buf out;
    write_sample(&out);
    for (int n = 0;; n++) {
        struct things t = {0};
        fault_after(n);
        enum status status = read_into(out.data, out.size, ALL_ROLES, &t, NULL);
        if (!fault_happened()) {
            assert_int_equal(status, STATUS_OK);
            assert_true(n >= 5);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
    }
    struct things t = sample;
    struct snapshot *snapshot;
    assert_int_equal(snapshot_create(&snapshot, NULL), STATUS_OK);
    assert_int_equal(declare(snapshot, &t, NULL), STATUS_OK);
    for (int reads = 0; reads < 9; reads++) {
        struct memory memory = {out.data, out.size, reads};
        struct snapshot_reader from = {&memory, out.size, fetch};
        assert_int_equal(snapshot_read(snapshot, &from, ALL_ROLES, NULL), STATUS_IO);
    }
    for (size_t limit = 0; limit < out.size; limit += 5) {
        struct buf small;
        buf_init(&small, limit);
        struct snapshot_writer to = {&small, append};
        assert_int_equal(snapshot_write(snapshot, &to, NULL), STATUS_LIMIT);
        buf_close(&small);
    }
    snapshot_destroy(snapshot);
    buf_close(&out);
}

struct mixed {
    double first, second;
    int64_t count, list[3];
};

static enum status declare_members(void *owner, struct snapshot *snapshot, struct error *err)
{
    struct mixed *list = owner;
    const struct snapshot_row rows[] = {
        SNAPSHOT_COLUMNS("reals", list, 4, first, count),
        SNAPSHOT_COLUMN("count", list, 4, count),
        SNAPSHOT_COLUMN("list", list, 4, list),
    };
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}

static void members_of_structs_are_stored_as_columns(void **state)
{
    struct mixed list[4], back[4];
    for (int i = 0; i < 4; i++)
        list[i] = (struct mixed){i + 0.5, -i, 100 + i, {i, 10 * i, 20 * i}};
    struct buf out;
    uint64_t bytes;
    buf_init(&out, 1 << 16);
    struct snapshot_writer to = {&out, append};
    assert_int_equal(snapshot_save(declare_members, list, &to, &bytes, NULL), STATUS_OK);
    struct memory memory = {out.data, out.size, -1};
    struct snapshot_reader from = {&memory, out.size, fetch};
    memset(back, 0, sizeof back);
    assert_int_equal(snapshot_load(declare_members, back, &from, ALL_ROLES, NULL), STATUS_OK);
    assert_memory_equal(back, list, sizeof list);

    double reals[8];
    int64_t counts[4];
    const struct snapshot_row rows[] = {SNAPSHOT_ARRAY("reals", reals, 4, 2), SNAPSHOT_ARRAY("count", counts, 4)};
    assert_int_equal(snapshot_read_rows(&from, SNAPSHOT_ROWS(rows), NULL), STATUS_OK);
    assert_true(reals[6] == 3.5 && reals[7] == -3 && counts[3] == 103);
    const struct snapshot_row real[] = {SNAPSHOT_ARRAY("count", reals, 4)};
    assert_int_equal(snapshot_read_rows(&from, SNAPSHOT_ROWS(real), NULL), STATUS_CORRUPT);
    buf_close(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshot_reads_back_as_written),
        cmocka_unit_test(members_of_structs_are_stored_as_columns),
        cmocka_unit_test(contents_list_every_entry),
        cmocka_unit_test(stream_of_other_shapes_changes_nothing),
        cmocka_unit_test(invalid_entries_are_refused),
        cmocka_unit_test(damaged_streams_are_refused),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(bytes_outside_all_entries_are_refused),
        cmocka_unit_test(entries_of_the_same_name_are_refused),
        cmocka_unit_test(empty_snapshots_and_empty_arrays_round_trip),
        cmocka_unit_test(many_entries_round_trip),
        cmocka_unit_test(each_failed_allocation_read_and_write_is_returned),
    };
    return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
