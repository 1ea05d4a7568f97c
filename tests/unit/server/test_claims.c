/* Tests how claims become a caller: its name, its team and its role. */
#include "server/signin/claims.h"
#include "server/signin/fetch.h"
#include "server/signin/list.h"
#include "tests/support/unit.h"

static struct auth_caller caller;

/* Returns why the claims give no access, "" if they do. */
static const char *fault_of(const struct claims_rules *rules, const char *text)
{
    cJSON *claims = NULL;
    assert_int_equal(json_parse(text, strlen(text), &claims, NULL), STATUS_OK);
    memset(&caller, 0, sizeof caller);
    const char *fault = claims_identify(rules, claims, &caller);
    cJSON_Delete(claims);
    return fault != NULL ? fault : "";
}

static const struct claims_rules plain = {.name_claim = "sub",
                                          .team_claim = "groups",
                                          .role_claim = "realm_access.roles",
                                          .teams = "",
                                          .roles = "reader=reader,boss=admin,lab=member"};

static void the_strongest_role_and_the_first_team_count(void **state)
{
    assert_string_equal(fault_of(&plain, "{\"sub\":\"ann\",\"groups\":[\"/Not a team\",\"proteins\",\"imaging\"],"
                                         "\"realm_access\":{\"roles\":[\"lab\",\"x\",\"reader\"]}}"),
                        "");
    assert_string_equal(caller.name, "oidc:ann");
    assert_string_equal(caller.team, "proteins");
    assert_int_equal(caller.scope, API_SCOPE_SUBMIT);
    assert_string_equal(fault_of(&plain, "{\"sub\":\"ann\",\"realm_access\":{\"roles\":\"boss\"}}"), "");
    assert_int_equal(caller.scope, API_SCOPE_ADMIN);
    assert_string_equal(caller.team, "");
    /* a member with the whole name is found before the path */
    assert_string_equal(
        fault_of(&plain, "{\"sub\":\"ann\",\"realm_access.roles\":\"reader\",\"realm_access\":{\"roles\":\"boss\"}}"),
        "");
    assert_int_equal(caller.scope, API_SCOPE_READ);
}

static void who_has_no_role_is_refused(void **state)
{
    static const char *const cases[] = {
        "{\"sub\":\"ann\"}",
        "{\"sub\":\"ann\",\"realm_access\":{\"roles\":[\"Boss\",\"admin\",\"*\",\"\",7,null]}}",
        "{\"sub\":\"ann\",\"realm_access\":[\"boss\"]}",
        "{\"sub\":\"ann\",\"roles\":\"boss\"}",
        "{\"sub\":\"ann\",\"realm_access\":{\"roles\":{\"boss\":true}}}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_non_null(strstr(fault_of(&plain, cases[i]), "no role here"));
    struct claims_rules rules = plain;
    rules.roles = "boss=admin,*=reader";
    assert_string_equal(fault_of(&rules, "{\"sub\":\"ann\"}"), "");
    assert_int_equal(caller.scope, API_SCOPE_READ);
    rules.role_claim = "";
    assert_string_equal(fault_of(&rules, "{\"sub\":\"ann\",\"\":\"boss\"}"), "");
    assert_int_equal(caller.scope, API_SCOPE_READ);
}

static void teams_are_mapped(void **state)
{
    struct claims_rules rules = plain;
    rules.roles = "*=member";
    rules.teams = "grp-12=proteins,grp-13=imaging,*=guests";
    assert_string_equal(fault_of(&rules, "{\"sub\":\"ann\",\"groups\":[\"imaging\",\"grp-13\",\"grp-12\"]}"), "");
    assert_string_equal(caller.team, "imaging");
    assert_string_equal(fault_of(&rules, "{\"sub\":\"ann\",\"groups\":\"proteins\"}"), "");
    assert_string_equal(caller.team, "guests");
    rules.teams = "";
    assert_string_equal(fault_of(&rules, "{\"sub\":\"ann\",\"groups\":[\"-x\",\"A\",\"a:b\",\"\"]}"), "");
    assert_string_equal(caller.team, "");
}

static void names_are_checked(void **state)
{
    struct claims_rules rules = plain;
    rules.roles = "*=member";
    static const char *const wrong[] = {
        "{}", "{\"sub\":\"\"}", "{\"sub\":7}", "{\"sub\":\"a\\nb\"}", "{\"sub\":[\"ann\"]}", "{\"sub\":\"a\\u202eb\"}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_non_null(strstr(fault_of(&rules, wrong[i]), "names nobody"));
    assert_non_null(strstr(
        fault_of(&rules, "{\"sub\":\"01234567890123456789012345678901234567890123456789012345678\"}"), "too long"));
    rules.name_claim = "email"; /* counts only if the issuer has verified it */
    assert_non_null(strstr(fault_of(&rules, "{\"email\":\"a@b.org\"}"), "names nobody"));
    assert_string_equal(fault_of(&rules, "{\"email\":\"a@b.org\",\"email_verified\":true}"), "");
    assert_string_equal(caller.name, "oidc:a@b.org");
    assert_int_equal(auth_check_name("oidc:a@b.org", NULL), STATUS_INVALID); /* no token has the same owner */
}

static void lists_of_settings_are_checked(void **state)
{
    assert_true(claims_roles_sound("a=admin, b = x=reader") == false);
    assert_true(claims_roles_sound("lab admins=admin,*=submit"));
    assert_true(claims_roles_sound(""));
    assert_false(claims_roles_sound("a=king"));
    assert_false(claims_roles_sound("admin"));
    assert_false(claims_roles_sound("=admin"));
    assert_true(claims_teams_sound("grp-12=proteins,*=guests"));
    assert_false(claims_teams_sound("grp-12=Proteins"));
    char value[4];
    assert_true(list_value("a=1, b=2", "b", value, sizeof value));
    assert_string_equal(value, "2");
    assert_false(list_value("ab=1", "a", value, sizeof value));
    assert_false(list_value("a=1234", "a", value, sizeof value));
    assert_true(list_has(" a , b", "b"));
    assert_false(list_has("a b", "b"));
}

static void only_https_and_loopback_are_fetched(void **state)
{
    static const char *const local[] = {"http://localhost:1/x", "http://127.0.0.1", "http://[::1]:7/x",
                                        "http://127.8.9.1/"};
    static const char *const far[] = {"http://localhost.evil.org/", "http://127.0.0.1.evil.org/", "http://[::12]/",
                                      "http://example.org/",        "http://127.evil.org",        "http://localhostx"};
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++) {
        assert_true(fetch_loopback(local[i]));
        assert_true(fetch_allowed(local[i], true));
        assert_false(fetch_allowed(local[i], false));
    }
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        assert_false(fetch_loopback(far[i]));
        assert_false(fetch_allowed(far[i], true));
    }
    assert_true(fetch_allowed("https://id.example.org/realms/a", false));
    assert_false(fetch_allowed("file:///etc/passwd", true));
    assert_false(fetch_allowed("https://user@host/", true));
    assert_false(fetch_allowed("https:///x", true));
    assert_false(fetch_allowed("", true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strongest_role_and_the_first_team_count),
        cmocka_unit_test(who_has_no_role_is_refused),
        cmocka_unit_test(teams_are_mapped),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(lists_of_settings_are_checked),
        cmocka_unit_test(only_https_and_loopback_are_fetched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
