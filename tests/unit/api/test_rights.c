/* Tests the whole table of rights, the relation of a caller to a row, and that lists and event streams in SQL show
 * exactly the rows whose relation the caller may see. */
#include "tests/unit/storage/storage_fixture.h"

#include <string.h>

#include "api/rights/rights.h"

/* The table of docs/explanation/teams.md: for each role, what it may do with its own, the team's, the private of the
 * team, what is for everyone, and the rest. r: read, u: use, c: change, d: delete. */
static const char *const expected[ROLES][RELATIONS] = {
    [ROLE_READER] = {"r", "r", "", "r", ""},
    [ROLE_MEMBER] = {"rucd", "ru", "", "ru", ""},
    [ROLE_MANAGER] = {"rucd", "rucd", "rucd", "ru", ""},
    [ROLE_ADMIN] = {"rucd", "rucd", "rucd", "rucd", "rucd"},
};

static void the_table_is_complete(void **state)
{
    static const char letters[ACTIONS + 1] = "rucd";
    int allowed = 0;
    (void)state;
    for (int role = 0; role < ROLES; role++)
        for (int relation = 0; relation < RELATIONS; relation++)
            for (int action = 0; action < ACTIONS; action++) {
                bool may = rights_allow((enum role)role, (enum relation)relation, (enum action)action);
                if (may != (strchr(expected[role][relation], letters[action]) != NULL))
                    fail_msg("%s, relation %d, %s: %d", rights_role_name((enum role)role), relation,
                             rights_action_name((enum action)action), may);
                allowed += may;
            }
    assert_int_equal(allowed, 3 + 8 + 14 + 20);
    for (int out = 0; out < 3; out++) /* what is no role, relation or action allows nothing */
        assert_false(rights_allow(out == 0 ? ROLES : ROLE_ADMIN, out == 1 ? RELATIONS : RELATION_OWNER,
                                  out == 2 ? ACTIONS : ACTION_READ));
}

static void each_scope_is_a_role(void **state)
{
    static const char *const names[] = {"", "reader", "member", "manager", "admin", "admin", ""};
    (void)state;
    for (int scope = API_SCOPE_NONE; scope <= API_SCOPE_TRAINER; scope++) {
        enum role role;
        bool some = rights_role((enum api_scope)scope, &role);
        assert_int_equal(some, names[scope][0] != '\0');
        if (some)
            assert_string_equal(rights_role_name(role), names[scope]);
        else
            assert_int_equal(role, ROLE_READER);
    }
}

static void visibilities_have_names(void **state)
{
    enum visibility read;
    (void)state;
    for (int v = 0; v < VISIBILITIES; v++) {
        assert_true(visibility_parse(visibility_name((enum visibility)v), &read));
        assert_int_equal(read, v);
    }
    assert_false(visibility_parse("public", &read));
    assert_false(visibility_parse(NULL, &read));
    assert_string_equal(visibility_name(VISIBILITIES), "private");
}

static const char *const names[] = {"", "ann", "bob"}, *const teams[] = {"", "a", "b"};
enum { NAMES = 3, TEAMS = 3, ROWS = NAMES * TEAMS * VISIBILITIES };

static void relations_follow_from_owner_team_and_visibility(void **state)
{
    struct viewer ann = {.name = "ann", .team = "a"};
    (void)state;
    assert_int_equal(viewer_relation(&ann, "ann", "a", VISIBILITY_PRIVATE), RELATION_OWNER);
    assert_int_equal(viewer_relation(&ann, "ann", "", VISIBILITY_PRIVATE), RELATION_OWNER); /* from before the team */
    assert_int_equal(viewer_relation(&ann, "bob", "a", VISIBILITY_TEAM), RELATION_TEAM);
    assert_int_equal(viewer_relation(&ann, "bob", "a", VISIBILITY_EVERYONE), RELATION_TEAM);
    assert_int_equal(viewer_relation(&ann, "bob", "a", VISIBILITY_PRIVATE), RELATION_PRIVATE);
    assert_int_equal(viewer_relation(&ann, "bob", "b", VISIBILITY_EVERYONE), RELATION_EVERYONE);
    assert_int_equal(viewer_relation(&ann, "bob", "b", VISIBILITY_TEAM), RELATION_NONE);
    assert_int_equal(viewer_relation(&ann, "", "", VISIBILITY_TEAM), RELATION_NONE);
    assert_int_equal(viewer_relation(&ann, "", "a", VISIBILITY_PRIVATE), RELATION_OWNER); /* belongs to the team */
}

/* The number of rows in `id` that are among the first `count` jobs. */
static bool listed(const struct storage_job *jobs, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(jobs[i].id, id) == 0)
            return true;
    return false;
}

static void compare(struct fixture *f, const struct viewer *viewer, char ids[ROWS][STORAGE_ID])
{
    struct storage_job *jobs, *sorted;
    struct storage_event *events, *own;
    size_t count, by_name, event_count, own_count;
    bool more;
    OK(storage_job_list(f->storage, &(struct storage_job_filter){.viewer = viewer}, &f->arena, &jobs, &count, &more,
                        &f->err));
    OK(storage_job_list(f->storage, &(struct storage_job_filter){.viewer = viewer, .sort = "name"}, &f->arena, &sorted,
                        &by_name, &more, &f->err));
    OK(storage_event_read(f->storage, NULL, viewer, 0, 1000, &f->arena, &events, &event_count, &f->err));
    assert_int_equal(count, by_name);
    assert_int_equal(count, event_count); /* each job has one event */
    for (int i = 0; i < ROWS; i++) {
        enum relation relation =
            viewer_relation(viewer, names[i % NAMES], teams[i / NAMES % TEAMS], (enum visibility)(i / NAMES / TEAMS));
        bool sees = (viewer->sees >> relation & 1) != 0;
        if (listed(jobs, count, ids[i]) != sees)
            fail_msg("%s of %s, set %u, row %d", viewer->name, viewer->team, viewer->sees, i);
        enum status status =
            storage_event_read(f->storage, ids[i], viewer, 0, 10, &f->arena, &own, &own_count, &f->err);
        assert_int_equal(status, sees ? STATUS_OK : STATUS_NOT_FOUND);
    }
    arena_reset(&f->arena);
}

static void lists_and_events_show_what_the_relation_allows(void **state)
{
    struct fixture *f = *state;
    char ids[ROWS][STORAGE_ID];
    enum storage_submit_outcome outcome;
    for (int i = 0; i < ROWS; i++) {
        struct storage_submit in = {.kind = "echo",
                                    .config = "{}",
                                    .owner = names[i % NAMES],
                                    .team = teams[i / NAMES % TEAMS],
                                    .visibility = (enum visibility)(i / NAMES / TEAMS)};
        OK(storage_job_submit(f->storage, &in, ids[i], &outcome, &f->err));
    }
    for (int who = 0; who < NAMES * TEAMS; who++)
        for (unsigned sees = 0; sees <= VIEWER_SEES_ALL; sees++) {
            struct viewer viewer = {.sees = sees};
            (void)snprintf(viewer.name, sizeof viewer.name, "%s", names[who % NAMES]);
            (void)snprintf(viewer.team, sizeof viewer.team, "%s", teams[who / NAMES]);
            compare(f, &viewer, ids);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_complete),
        cmocka_unit_test(each_scope_is_a_role),
        cmocka_unit_test(visibilities_have_names),
        cmocka_unit_test(relations_follow_from_owner_team_and_visibility),
        TEST_OPEN(lists_and_events_show_what_the_relation_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
