/* Tests how a verdict follows from findings, and that every method's table of findings is complete. */
#include "tests/support/unit.h"
#include "core/methods/findings.h"
#include "core/methods/method.h"

static const struct finding_code note = {"a-note", FINDING_NOTE, VERDICT_LEARNED, "A note.", "look"},
                                 warning = {"a-warning", FINDING_WARNING, VERDICT_PARTLY, "A warning.", "try again"},
                                 fault = {"a-fault", FINDING_ERROR, VERDICT_NOT_LEARNED, "A fault.", "give up"};

static int setup(void **state)
{
    *state = test_calloc(1, sizeof(struct findings));
    return 0;
}
static int teardown(void **state)
{
    test_free(*state);
    return 0;
}

static void run_without_findings_gives_learned(void **state)
{
    assert_int_equal(findings_verdict(*state), VERDICT_LEARNED);
}

static void worst_finding_decides(void **state)
{
    struct findings *f = *state;
    findings_add(f, &note, "n");
    assert_int_equal(findings_verdict(f), VERDICT_LEARNED);
    findings_add(f, &warning, "w");
    assert_int_equal(findings_verdict(f), VERDICT_PARTLY);
    findings_add(f, &fault, "f");
    findings_add(f, &note, "n");
    assert_int_equal(findings_verdict(f), VERDICT_NOT_LEARNED);
}

static void text_is_formatted_and_the_next_step_can_be_replaced(void **state)
{
    struct findings *f = *state;
    findings_next(f, "nothing to replace");
    findings_add(f, &warning, "%d of %s", 3, "eight");
    assert_string_equal(f->list[0].text, "3 of eight");
    assert_string_equal(f->list[0].next, "try again");
    findings_next(f, "motifctl show %s", "JOB");
    assert_string_equal(f->list[0].next, "motifctl show JOB");
}

static void findings_that_do_not_fit_are_dropped(void **state)
{
    struct findings *f = *state;
    for (int i = 0; i < FINDINGS + 5; i++)
        findings_add(f, &note, "%d", i);
    assert_int_equal(f->count, FINDINGS);
    assert_string_equal(f->list[FINDINGS - 1].text, "31");
}

static void every_method_has_a_verdict_and_describes_its_findings(void **state)
{
    size_t count;
    const struct method *const *methods = methods_all(&count);
    for (size_t m = 0; m < count; m++) {
        assert_non_null(methods[m]->judge);
        assert_true(methods[m]->finding_count > 1);
        for (size_t i = 0; i < methods[m]->finding_count; i++) {
            const struct finding_code *code = &methods[m]->findings[i];
            assert_non_null(code->code);
            assert_int_equal(strspn(code->code, "abcdefghijklmnopqrstuvwxyz-"), strlen(code->code));
            assert_true(code->meaning[strlen(code->meaning) - 1] == '.');
            assert_true(strlen(code->next) > 10);
            /* Exactly the findings of severity "error" give the verdict "not-learned". A note lowers no verdict. */
            assert_int_equal(code->severity == FINDING_ERROR, code->verdict == VERDICT_NOT_LEARNED);
            if (code->severity == FINDING_NOTE)
                assert_int_equal(code->verdict, VERDICT_LEARNED);
            for (size_t k = 0; k < i; k++)
                assert_string_not_equal(code->code, methods[m]->findings[k].code);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(run_without_findings_gives_learned, setup, teardown),
        cmocka_unit_test_setup_teardown(worst_finding_decides, setup, teardown),
        cmocka_unit_test_setup_teardown(text_is_formatted_and_the_next_step_can_be_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(findings_that_do_not_fit_are_dropped, setup, teardown),
        cmocka_unit_test(every_method_has_a_verdict_and_describes_its_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
