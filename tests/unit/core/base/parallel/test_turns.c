/* Tests the order in which owners take turns, and the limits of slots and queues. */
#include "core/base/parallel/turns.h"

#include <unistd.h>

#include "tests/support/unit.h"

static struct turns *turns_of(struct turns_limits limits)
{
    struct turns *turns = NULL;
    struct error err = {0};
    assert_int_equal(turns_create(&limits, &turns, &err), STATUS_OK);
    return turns;
}

static void assert_waits(struct turns *turns, struct turn *turn, const char *owner)
{
    *turn = (struct turn){.owner = owner};
    assert_true(turns_wait(turns, turn));
}

static void an_owner_of_many_turns_does_not_delay_others(void **state)
{
    struct turns *turns = turns_of((struct turns_limits){.slots = 1});
    struct turn loud[4], quiet, *next;
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_waits(turns, &loud[i], "loud");
    assert_ptr_equal(turns_next(turns, false), &loud[0]);
    assert_null(turns_next(turns, false));
    assert_waits(turns, &quiet, "quiet");
    turns_end(turns, &loud[0], 1);
    assert_ptr_equal(next = turns_next(turns, false), &quiet);
    turns_end(turns, next, 1);
    for (int i = 1; i < 4; i++) {
        assert_ptr_equal(next = turns_next(turns, false), &loud[i]);
        turns_end(turns, next, 1);
    }
    assert_null(turns_next(turns, false));
    turns_destroy(turns);
}

static void an_owner_of_long_turns_waits_until_others_had_as_much_time(void **state)
{
    struct turns *turns = turns_of((struct turns_limits){.slots = 1});
    struct turn loud[2], quiet[8], *next;
    int before = 0;
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_waits(turns, &loud[i], "loud");
    next = turns_next(turns, false);
    assert_ptr_equal(next, &loud[0]);
    for (int i = 0; i < 8; i++)
        assert_waits(turns, &quiet[i], "quiet");
    turns_end(turns, next, 5 * TURNS_QUANTUM_US / 2); /* a debt that takes more than one round */
    while ((next = turns_next(turns, false)) != &loud[1]) {
        turns_end(turns, next, TURNS_QUANTUM_US);
        before++;
    }
    assert_in_range(before, 2, 4);
    turns_end(turns, next, 1);
    while ((next = turns_next(turns, false)) != NULL)
        turns_end(turns, next, 1);
    turns_destroy(turns);
}

static void spare_slots_are_for_owners_without_one(void **state)
{
    struct turns *turns = turns_of((struct turns_limits){.slots = 2, .spare = 1});
    struct turn loud[3], quiet[2], unknown;
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_waits(turns, &loud[i], "loud");
    assert_non_null(turns_next(turns, false));
    assert_non_null(turns_next(turns, false));
    assert_null(turns_next(turns, false));
    assert_waits(turns, &unknown, "");
    assert_null(turns_next(turns, false));
    for (int i = 0; i < 2; i++)
        assert_waits(turns, &quiet[i], "quiet");
    assert_ptr_equal(turns_next(turns, false), &quiet[0]);
    assert_null(turns_next(turns, false));
    assert_int_equal(turns_working(turns), 3);
    assert_int_equal(turns_waiting(turns), 3);
    turns_end(turns, &quiet[1], 1); /* leaves the queue */
    assert_int_equal(turns_waiting(turns), 2);
    turns_end(turns, &loud[0], 1);
    turns_end(turns, &loud[1], 1);
    turns_end(turns, &quiet[0], 1);
    assert_non_null(turns_next(turns, false));
    assert_non_null(turns_next(turns, false));
    turns_end(turns, &loud[2], 1);
    turns_end(turns, &unknown, 1);
    assert_int_equal(turns_working(turns), 0);
    turns_destroy(turns);
}

static void an_owner_has_limits_of_slots_and_of_its_queue(void **state)
{
    struct turns *turns =
        turns_of((struct turns_limits){.slots = 4, .of_owner = 2, .waiting = 6, .waiting_of_owner = 3});
    struct turn loud[4], quiet[4];
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_waits(turns, &loud[i], "loud");
    loud[3] = (struct turn){.owner = "loud"};
    assert_false(turns_wait(turns, &loud[3]));
    for (int i = 0; i < 3; i++)
        assert_waits(turns, &quiet[i], "quiet");
    quiet[3] = (struct turn){.owner = "third"};
    assert_false(turns_wait(turns, &quiet[3]));
    for (int i = 0; i < 4; i++)
        assert_non_null(turns_next(turns, false));
    assert_true(loud[1].works && quiet[1].works && !loud[2].works && !quiet[2].works);
    turns_end(turns, &loud[0], 1);
    assert_ptr_equal(turns_next(turns, false), &loud[2]);
    assert_null(turns_next(turns, false));
    for (int i = 0; i < 3; i++) {
        if (loud[i].works)
            turns_end(turns, &loud[i], 1);
        if (i != 2)
            turns_end(turns, &quiet[i], 1);
    }
    turns_end(turns, &quiet[2], 1);
    turns_destroy(turns);
}

static void an_owner_that_used_much_is_busy_for_a_while(void **state)
{
    struct turns *turns = turns_of((struct turns_limits){.slots = 2});
    struct turn loud, quiet;
    (void)state;
    assert_waits(turns, &loud, "loud");
    assert_false(turns_busy(&loud));
    assert_null(turns_next(turns, true));
    assert_ptr_equal(turns_next(turns, false), &loud);
    turns_end(turns, &loud, TURNS_BUSY_US + 10000);
    assert_waits(turns, &loud, "loud");
    assert_waits(turns, &quiet, "quiet");
    assert_true(turns_busy(&loud) && !turns_busy(&quiet));
    assert_ptr_equal(turns_next(turns, true), &loud);
    assert_null(turns_next(turns, true));
    (void)usleep(60000); /* a quarter of the time */
    assert_false(turns_busy(&loud));
    turns_end(turns, &loud, 0);
    turns_end(turns, &quiet, 0);
    turns_destroy(turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_of_many_turns_does_not_delay_others),
        cmocka_unit_test(an_owner_of_long_turns_waits_until_others_had_as_much_time),
        cmocka_unit_test(spare_slots_are_for_owners_without_one),
        cmocka_unit_test(an_owner_that_used_much_is_busy_for_a_while),
        cmocka_unit_test(an_owner_has_limits_of_slots_and_of_its_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
