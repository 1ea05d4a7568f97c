/* Tests which checkpoints of earlier versions a run of one model opens. Those of a job of several cases contain a row
 * of outcomes for each case, and the index of the case whose model they have. */
#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/methods/shared/model_run.h"
#include "tests/support/assert_ok.h"

struct former_run {
    int64_t cases, at; /* cases: 0: the checkpoint has no outcomes */
    double outcomes[6];
};

static enum status declare(void *owner, struct snapshot *snapshot, struct error *err)
{
    struct former_run *run = owner;
    const uint64_t table[2] = {(uint64_t)run->cases, 2};
    enum status status = snapshot_add_i64(snapshot, "run.at", &run->at, err);
    return status || run->cases == 0
               ? status
               : snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "run.outcomes", 2, table, run->outcomes, err);
}

static enum status append(void *to, const void *bytes, size_t count, struct error *err)
{
    buf_append(to, bytes, count);
    return STATUS_OK;
}

static enum status read_bytes(void *from, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct buf *stream = from;
    assert_true(offset + count <= stream->size);
    memcpy(bytes, stream->data + offset, count);
    return STATUS_OK;
}

static enum status shown(int64_t cases, int64_t at, bool *several, struct error *err)
{
    struct former_run run = {.cases = cases, .at = at};
    struct buf stream;
    uint64_t bytes;
    buf_init(&stream, 1 << 20);
    const struct snapshot_writer to = {&stream, append};
    assert_int_equal(snapshot_save(declare, &run, &to, &bytes, err), STATUS_OK);
    const struct snapshot_reader from = {&stream, stream.size, read_bytes};
    enum status status = model_run_shown(&from, several, err);
    buf_close(&stream);
    return status;
}

static void only_the_model_of_the_last_case_is_opened(void **state)
{
    struct error fault = {0};
    bool several = true;
    (void)state;
    assert_ok(shown(0, 0, &several, err));
    assert_false(several);
    assert_ok(shown(1, 0, &several, err));
    assert_false(several);
    assert_ok(shown(3, 2, &several, err));
    assert_true(several);
    assert_int_equal(shown(3, 1, &several, &fault), STATUS_CONFLICT);
    assert_non_null(strstr(fault.message, "case 2 of 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_the_model_of_the_last_case_is_opened)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
