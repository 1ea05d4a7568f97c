/* Tests the order in which queries compute: a batch lets other queries compute between its inputs, one caller cannot
 * take every place, and a query that is stopped leaves the queue. */
#include "api/queries/query_gate.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/unit.h"

static bool never(void *context)
{
    (void)context;
    return false;
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static struct query_ticket ticket_of(const char *caller, bool batch)
{
    struct query_ticket ticket = {.batch = batch, .stop = never};
    strcpy(ticket.caller, caller);
    return ticket;
}

static struct query_gate *gate_of(int slots, int places)
{
    struct query_gate *gate = NULL;
    struct error err = {0};
    assert_int_equal(query_gate_create(slots, places, &gate, &err), STATUS_OK);
    return gate;
}

static void no_caller_takes_every_place(void **state)
{
    struct query_gate *gate = gate_of(8, 0);
    struct query_ticket own[8], other = ticket_of("b", true), third = ticket_of("c", true),
                                last = ticket_of("c", false);
    (void)state;
    for (int i = 0; i < 8; i++) {
        own[i] = ticket_of("a", i < 5);
        /* the fifth batch is refused, because the batches of one caller may take at most half of the places */
        enum query_entry wanted = i == 4 ? QUERY_CALLER_FULL : QUERY_ENTERED;
        assert_int_equal(query_gate_enter(gate, &own[i]), wanted);
        if (i == 5)
            break;
    }
    assert_int_equal(query_gate_enter(gate, &other), QUERY_ENTERED);
    /* The gate now has six batches: four of caller a, one of caller b and one of caller c. It refuses a seventh,
     * because batches may take at most three quarters of the 8 places. */
    assert_int_equal(query_gate_enter(gate, &third), QUERY_ENTERED);
    struct query_ticket more = ticket_of("c", true), full = ticket_of("d", false);
    assert_int_equal(query_gate_enter(gate, &more), QUERY_FULL);
    assert_int_equal(query_gate_enter(gate, &last), QUERY_ENTERED);
    assert_int_equal(query_gate_enter(gate, &full), QUERY_FULL);
    query_gate_leave(gate, &own[0]);
    assert_int_equal(query_gate_enter(gate, &full), QUERY_ENTERED);
    query_gate_leave(gate, &full);
    for (int i = 1; i < 6; i++)
        if (i != 4)
            query_gate_leave(gate, &own[i]);
    query_gate_leave(gate, &other);
    query_gate_leave(gate, &third);
    query_gate_leave(gate, &last);
    query_gate_destroy(gate);
}

struct visitor {
    struct query_gate *gate;
    struct query_ticket ticket;
    enum query_entry entry;
    atomic_bool computed;
    pthread_t thread;
};

static void *visit(void *context)
{
    struct visitor *visitor = context;
    visitor->entry = query_gate_enter(visitor->gate, &visitor->ticket);
    if (visitor->entry == QUERY_ENTERED) {
        atomic_store(&visitor->computed, true);
        query_gate_leave(visitor->gate, &visitor->ticket);
    }
    return NULL;
}

static void a_batch_gives_way_between_its_inputs(void **state)
{
    struct visitor visitor = {.gate = gate_of(1, 2), .ticket = ticket_of("b", false)};
    struct query_ticket batch = ticket_of("a", true);
    (void)state;
    assert_int_equal(query_gate_enter(visitor.gate, &batch), QUERY_ENTERED);
    assert_int_equal(pthread_create(&visitor.thread, NULL, visit, &visitor), 0);
    /* with one place, the other query can compute only while the batch yields */
    while (!atomic_load(&visitor.computed))
        assert_true(query_gate_yield(visitor.gate, &batch));
    assert_int_equal(pthread_join(visitor.thread, NULL), 0);
    query_gate_leave(visitor.gate, &batch);
    query_gate_destroy(visitor.gate);
}

static void a_stopped_query_leaves_the_queue(void **state)
{
    struct query_gate *gate = gate_of(1, 2);
    struct query_ticket first = ticket_of("a", false), second = ticket_of("a", false);
    (void)state;
    second.stop = always;
    assert_int_equal(query_gate_enter(gate, &first), QUERY_ENTERED);
    assert_int_equal(query_gate_enter(gate, &second), QUERY_STOPPED);
    query_gate_leave(gate, &first);
    second.stop = never;
    assert_int_equal(query_gate_enter(gate, &second), QUERY_ENTERED);
    query_gate_leave(gate, &second);
    query_gate_destroy(gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_caller_takes_every_place),
        cmocka_unit_test(a_batch_gives_way_between_its_inputs),
        cmocka_unit_test(a_stopped_query_leaves_the_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
