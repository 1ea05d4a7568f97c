/* Compares the table of job states with rules that are written independently of it. */
#include "tests/support/unit.h"
#include "storage/jobs/job_state.h"

/* Returns what the rules of a job's life cycle say about an event. The table must agree for every state and event. */
static bool expected(enum job_state state, enum requested_state requested, enum job_event event, enum job_state *next,
                     enum requested_state *next_requested)
{
    *next = state;
    *next_requested = REQUESTED_NONE;
    if (state != JOB_RUNNING) {
        if (requested != REQUESTED_NONE)
            return false; /* only a running job has a requested state */
        if (state == JOB_QUEUED && event == JOB_EVENT_CLAIM)
            *next = JOB_RUNNING;
        else if (state == JOB_QUEUED && event == JOB_EVENT_PAUSE)
            *next = JOB_PAUSED;
        else if (state == JOB_PAUSED && event == JOB_EVENT_RESUME)
            *next = JOB_QUEUED;
        else if ((state == JOB_QUEUED || state == JOB_PAUSED) && event == JOB_EVENT_CANCEL)
            *next = JOB_CANCELLED;
        else
            return false;
        return true;
    }
    switch (event) {
    case JOB_EVENT_CLAIM:
        return false;
    case JOB_EVENT_PAUSE:
        *next_requested = REQUESTED_PAUSED;
        return requested != REQUESTED_CANCELLED;
    case JOB_EVENT_RESUME:
        return requested == REQUESTED_PAUSED;
    case JOB_EVENT_CANCEL:
        *next_requested = REQUESTED_CANCELLED;
        return true;
    case JOB_EVENT_YIELD:
        *next = requested == REQUESTED_NONE ? JOB_QUEUED : requested == REQUESTED_PAUSED ? JOB_PAUSED : JOB_CANCELLED;
        return true;
    case JOB_EVENT_SUCCEED:
        *next = JOB_SUCCEEDED;
        return true;
    case JOB_EVENT_FAIL:
        *next = JOB_FAILED;
        return true;
    }
    return false;
}

static void table_agrees_with_the_rules(void **state)
{
    int allowed = 0;
    for (int s = 0; s < JOB_STATES; s++)
        for (int w = 0; w < REQUESTED_STATES; w++)
            for (int e = 0; e < JOB_EVENTS; e++) {
                enum job_state next = JOB_QUEUED, want = JOB_QUEUED;
                enum requested_state next_requested = REQUESTED_NONE, want_requested = REQUESTED_NONE;
                bool ok = job_state_next((enum job_state)s, (enum requested_state)w, (enum job_event)e, &next,
                                         &next_requested);
                assert_int_equal(ok, expected((enum job_state)s, (enum requested_state)w, (enum job_event)e, &want,
                                              &want_requested));
                if (ok) {
                    allowed++;
                    assert_int_equal(next, want);
                    assert_int_equal(next_requested, want_requested);
                    assert_false(job_state_final((enum job_state)s));
                    assert_true(next == JOB_RUNNING || next_requested == REQUESTED_NONE);
                }
            }
    assert_int_equal(allowed, 20);
}

/* From every state that is not final, some sequence of events leads to a final one. */
static void every_state_leads_to_a_final_one(void **state)
{
    bool good[JOB_STATES][REQUESTED_STATES];
    for (int s = 0; s < JOB_STATES; s++)
        for (int w = 0; w < REQUESTED_STATES; w++)
            good[s][w] = job_state_final((enum job_state)s) && w == REQUESTED_NONE;
    for (int round = 0; round < JOB_STATES * REQUESTED_STATES; round++)
        for (int s = 0; s < JOB_STATES; s++)
            for (int w = 0; w < REQUESTED_STATES; w++)
                for (int e = 0; e < JOB_EVENTS; e++) {
                    enum job_state next;
                    enum requested_state next_requested;
                    if (job_state_next((enum job_state)s, (enum requested_state)w, (enum job_event)e, &next,
                                       &next_requested))
                        good[s][w] |= good[next][next_requested];
                }
    for (int s = 0; s < JOB_STATES; s++)
        for (int w = 0; w < REQUESTED_STATES; w++)
            if (s == JOB_RUNNING || w == REQUESTED_NONE)
                assert_true(good[s][w]);
}

static void names_are_unique_and_parse_back(void **state)
{
    for (int s = 0; s < JOB_STATES; s++) {
        enum job_state back = JOB_STATES;
        assert_true(job_state_parse(job_state_name((enum job_state)s), &back));
        assert_int_equal(back, s);
    }
    enum job_state back;
    assert_false(job_state_parse("Queued", &back));
    assert_false(job_state_parse("", &back));
    assert_null(job_state_name((enum job_state)JOB_STATES));
    assert_null(job_event_name((enum job_event)JOB_EVENTS));
    assert_string_equal(job_event_name(JOB_EVENT_YIELD), "yield");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_agrees_with_the_rules),
        cmocka_unit_test(every_state_leads_to_a_final_one),
        cmocka_unit_test(names_are_unique_and_parse_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
