/* Tests the arena: alignment, reuse of blocks, marks, limits and failed allocations. */
#include "tests/support/unit.h"
#include "core/base/arena.h"
#include "tests/support/fault.h"

/* Random allocations are aligned, do not overlap, and never move. */
static void allocations_are_aligned_and_do_not_overlap(void **state)
{
    enum { COUNT = 400 };
    struct arena arena;
    unsigned char *at[COUNT];
    size_t bytes[COUNT];
    arena_init(&arena, 4096, 0);
    assert_int_equal(arena.held_bytes, 0);
    srand(1);
    for (int i = 0; i < COUNT; i++) {
        bytes[i] = (size_t)(rand() % (i % 10 == 0 ? 20000 : 300));
        at[i] = arena_alloc(&arena, bytes[i]);
        assert_non_null(at[i]);
        assert_int_equal((uintptr_t)at[i] % 64, 0);
        memset(at[i], i & 255, bytes[i]);
    }
    for (int i = 0; i < COUNT; i++)
        for (size_t b = 0; b < bytes[i]; b++)
            assert_int_equal(at[i][b], i & 255);
    assert_true(arena.used_bytes <= arena.held_bytes && arena.peak_bytes == arena.used_bytes);
    arena_close(&arena);
    assert_int_equal(arena.held_bytes, 0);
}

/* A loop with the same allocations needs no memory after its first round, for any order of sizes. */
static void reset_keeps_blocks_for_the_next_round(void **state)
{
    struct arena arena;
    arena_init(&arena, 1000, 0);
    size_t held = 0;
    void *first[60];
    for (int round = 0; round < 5; round++) {
        fault_after(round == 0 ? 100000 : 0); /* from the second round on every allocation would fail */
        for (int i = 0; i < 60; i++) {
            size_t bytes = (size_t)(i * 7919 % 3000);
            void *at = arena_alloc(&arena, bytes);
            assert_non_null(at);
            if (round == 0)
                first[i] = at;
            assert_ptr_equal(at, first[i]);
        }
        assert_false(fault_happened());
        if (round == 0)
            held = arena.held_bytes;
        assert_int_equal(arena.held_bytes, held);
        arena_reset(&arena);
        assert_int_equal(arena.used_bytes, 0);
    }
    assert_true(arena.peak_bytes <= held);
    arena_close(&arena);
}

static void release_frees_allocations_after_the_mark(void **state)
{
    struct arena arena;
    arena_init(&arena, 512, 0);
    struct arena_mark empty = arena_mark(&arena);
    char *kept = arena_strdup(&arena, "kept");
    struct arena_mark mark = arena_mark(&arena);
    void *first = arena_alloc(&arena, 100);
    for (int i = 0; i < 20; i++)
        assert_non_null(arena_alloc(&arena, 400));
    arena_release(&arena, mark);
    assert_int_equal(arena.used_bytes, 64);
    assert_ptr_equal(arena_alloc(&arena, 100), first);
    assert_string_equal(kept, "kept");
    size_t held = arena.held_bytes;
    arena_release(&arena, empty);
    assert_int_equal(arena.used_bytes, 0);
    assert_ptr_equal(arena_alloc(&arena, 5), kept);
    assert_int_equal(arena.held_bytes, held);
    arena_close(&arena);
}

static void allocation_beyond_limit_or_size_range_returns_null(void **state)
{
    struct arena arena;
    arena_init(&arena, 4096, 10000);
    assert_non_null(arena_alloc(&arena, 4000));
    assert_non_null(arena_alloc(&arena, 4000));
    assert_non_null(arena_alloc(&arena, 1700)); /* the last block is smaller than the others */
    assert_null(arena_alloc(&arena, 400));
    assert_true(arena.held_bytes <= 10000);
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_alloc(&arena, SIZE_MAX - 64));
    assert_null(arena_zalloc(&arena, SIZE_MAX / 2, 3));
    arena_reset(&arena);
    const unsigned char *zeros = arena_zalloc(&arena, 10, 30);
    for (int i = 0; i < 300; i++)
        assert_int_equal(zeros[i], 0);
    assert_non_null(arena_zalloc(&arena, 0, 8));
    arena_close(&arena);
}

static void failed_allocation_leaves_arena_usable(void **state)
{
    struct arena arena;
    arena_init(&arena, 4096, 0);
    fault_after(0);
    assert_null(arena_alloc(&arena, 1));
    assert_true(fault_happened());
    assert_non_null(arena_alloc(&arena, 1));
    fault_after(0);
    assert_null(arena_alloc(&arena, 5000));
    assert_non_null(arena_strdup(&arena, "x")); /* the existing block can still be used */
    assert_true(fault_happened());
    arena_close(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_and_do_not_overlap),
        cmocka_unit_test(reset_keeps_blocks_for_the_next_round),
        cmocka_unit_test(release_frees_allocations_after_the_mark),
        cmocka_unit_test(allocation_beyond_limit_or_size_range_returns_null),
        cmocka_unit_test(failed_allocation_leaves_arena_usable),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
