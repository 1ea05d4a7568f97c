/* Tests the configurations of submitted jobs: which ones the api refuses, with which fault, and which fields of an
 * accepted configuration the documents contain. */
#include "tests/unit/api/api_fixture.h"

#include "protocol/config_json.h"

static void response_lists_every_fault(void **state)
{
    struct api_fixture *f = *state;
    assert_int_equal(
        ask(f, "POST", "/v1/jobs",
            "{\"kind\":\"echo\",\"preset\":\"smal\",\"config\":{\"density\":3,\"seed\":1.5,\"mode\":\"loud\","
            "\"verbose\":1,\"label\":[5],\"densty\":1},\"name\":7,\"priority\":101,\"threads\":0,\"ranks\":2,"
            "\"colour\":\"red\"}"),
        422);
    assert_problem(f, 422, "invalid");
    assert_fault(f, "/preset", "did you mean 'small'");
    assert_fault(f, "/config/density", "in (0, 1]; got 3");
    assert_fault(f, "/config/seed", "integer");
    assert_fault(f, "/config/mode", "plain, strict");
    assert_fault(f, "/config/verbose", "got a number");
    assert_fault(f, "/config/label", "got a list");
    assert_fault(f, "/config/densty", "did you mean 'density'");
    assert_fault(f, "/name", "must be text");
    assert_fault(f, "/priority", "[-100, 100]; got 101");
    assert_fault(f, "/threads", "[1, 64]; got 0");
    assert_fault(f, "/ranks", "must be 1");
    assert_fault(f, "/colour", "is not a member of a job");
    assert_int_equal(cJSON_GetArraySize(at(f, "/errors")), 12);
    assert_int_equal(ask(f, "GET", "/v1/jobs", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 0);
}

struct bad {
    const char *body;
    int status;
    const char *problem, *pointer, *word;
};

static void each_fault_has_the_pointer_of_its_place(void **state)
{
    static const struct bad cases[] = {
        {"{\"kind\":\"echo\",\"config\":{\"density\":\"0.5\"}}", 422, "invalid", "/config/density", "got text"},
        {"{\"kind\":\"echo\",\"config\":{\"density\":0}}", 422, "invalid", "/config/density", "(0, 1]"},
        {"{\"kind\":\"echo\",\"config\":{\"density\":1.0000001}}", 422, "invalid", "/config/density", "(0, 1]"},
        {"{\"kind\":\"echo\",\"config\":{\"density\":null}}", 422, "invalid", "/config/density", "got null"},
        {"{\"kind\":\"echo\",\"config\":{\"density\":[1]}}", 422, "invalid", "/config/density", "got a list"},
        {"{\"kind\":\"echo\",\"config\":{\"density\":NaN}}", 422, "invalid", "/config/density", "NaN"},
        {"{\"kind\":\"echo\",\"config\":{\"density\":-Infinity}}", 422, "invalid", "/config/density", "-Infinity"},
        {"{\"kind\":\"echo\",\"config\":{\"density\":1e999}}", 422, "invalid", "/config/density", "too large"},
        {"{\"kind\":\"echo\",\"config\":{\"seed\":9007199254740992}}", 422, "invalid", "/config/seed", "2^53 - 1"},
        {"{\"kind\":\"echo\",\"config\":{\"seed\":9007199254740993}}", 422, "invalid", "/config/seed",
         "9007199254740993"},
        {"{\"kind\":\"echo\",\"config\":{\"seed\":-1}}", 422, "invalid", "/config/seed", "integer in [0"},
        {"{\"kind\":\"echo\",\"config\":{\"seed\":1,\"seed\":2}}", 422, "invalid", "/config/seed", "twice"},
        {"{\"kind\":\"echo\",\"k\\u0069nd\":\"echo\"}", 422, "invalid", "/kind", "twice"},
        {"{\"kind\":\"echo\",\"config\":{\"label\":\"a\\u0000b\"}}", 422, "invalid", "/config/label", "U+0000"},
        {"{\"kind\":\"echo\",\"config\":{\"label\":"
         "\"0123456789012345678901234567890123456789012345678901234567890123\"}}",
         422, "invalid", "/config/label", "63"},
        {"{\"kind\":\"echo\",\"config\":{\"mode\":\"strict\",\"density\":0.6}}", 422, "invalid", "/config/density",
         "at most 0.5"},
        {"{\"kind\":\"echo\",\"config\":{\"a/b~c\":1}}", 422, "invalid", "/config/a~1b~0c", "not a field"},
        {"{\"kind\":\"echo\",\"config\":{\"threads\":65}}", 422, "invalid", "/config/threads", "at most 64"},
        {"{\"kind\":\"echo\",\"threads\":2,\"config\":{\"threads\":3}}", 422, "invalid", "/threads", "contradicts"},
        {"{\"kind\":\"echo\",\"threads\":65}", 422, "invalid", "/threads", "[1, 64]"},
        {"{\"kind\":\"echo\",\"config\":[]}", 422, "invalid", "/config", "must be an object"},
        {"{\"kind\":\"ecco\"}", 422, "invalid", "/kind", "did you mean 'echo'"},
        {"{\"kind\":7}", 422, "invalid", "/kind", "must be text"},
        {"{}", 422, "invalid", "/kind", "is needed"},
        {"[]", 422, "invalid", "", "must be an object"},
        {"{\"kind\":\"echo\",\"name\":\"a\\nb\"}", 422, "invalid", "/name", "control"},
        {"{\"kind\":\"echo\",\"name\":\"a\xc2\x9b"
         "31mred\"}",
         422, "invalid", "/name", "control"},
        {"{\"kind\":\"echo\",\"name\":\"a\\u202eb\"}", 422, "invalid", "/name", "control"},
        {"{\"kind\":\"echo\",\"priority\":0.5}", 422, "invalid", "/priority", "integer"},
        {"{\"kind\":\"echo\",\"from\":{\"job\":\"x\"}}", 422, "invalid", "/from/job", "there is no job x"},
        {"{\"kind\":\"echo\",\"from\":{\"checkpoint\":\"latest\"}}", 422, "invalid", "/from/job",
         "id or name of a job"},
        {"{\"kind\":\"echo\",\"from\":{\"job\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\"}}", 422, "invalid", "/from/job",
         "there is no job"},
        {"{\"kind\":\"echo\",\"from\":{\"job\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"checkpoint\":0}}", 422, "invalid",
         "/from/checkpoint", "must be latest"},
        {"{\"kind\":\"echo\",\"from\":{\"job\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"step\":1}}", 422, "invalid",
         "/from/step", "not a member"},
    };
    struct api_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)ask(f, "POST", "/v1/jobs", cases[i].body);
        assert_problem(f, cases[i].status, cases[i].problem);
        assert_fault(f, cases[i].pointer, cases[i].word);
    }
}

static void text_that_is_not_json_gets_its_line_and_column(void **state)
{
    static const struct {
        const char *body, *word;
    } cases[] = {
        {"{", "line 1, column 2"},
        {"{\"kind\":}", "expected a value"},
        {"{\"kind\":\"echo\",}", "member name"},
        {"{'kind':1}", "member name"},
        {"{\"kind\":\"\xff\"}", "UTF-8"},
        {"{\"kind\":\"\xc0\xaf\"}", "UTF-8"},
        {"{\"kind\":\"\\ud800\"}", "half"},
        {"{\"kind\":01}", "start with 0"},
        {"{\"kind\":1.}", "decimal point"},
        {"{} {}", "more text follows"},
        {"\xef\xbb\xbf{}", "value"},
        {"{\"kind\":\"a\tb\"}", "control"},
        {"{\"kind\":\"echo\"", "expected"},
        {"{\"kind\" 1}", "':'"},
        {"{\"a\":\"\\x\"}", "escape"},
        {"nul", "value"},
        {"{\n\n \"kind\": ?}", "line 3, column 10"},
    };
    struct api_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)ask(f, "POST", "/v1/jobs", cases[i].body);
        assert_problem(f, 400, "bad-json");
        if (strstr(text_at(f, "/detail"), cases[i].word) == NULL)
            fail_msg("case %zu: %s", i, text_at(f, "/detail"));
    }
    (void)ask(f, "POST", "/v1/jobs", NULL);
    assert_problem(f, 400, "bad-request");
}

static void nesting_beyond_32_levels_is_refused(void **state)
{
    struct api_fixture *f = *state;
    /* The body has `depth` + 1 levels: the body itself, `config`, and nested lists as the value of `density`. */
    for (int depth = 31; depth <= 32; depth++) {
        char body[256] = "{\"kind\":\"echo\",\"config\":{\"density\":";
        for (int i = 0; i < depth - 2 + 1; i++)
            (void)strcat(body, "[");
        for (int i = 0; i < depth - 2 + 1; i++)
            (void)strcat(body, "]");
        (void)strcat(body, "}}");
        (void)ask(f, "POST", "/v1/jobs", body);
        assert_problem(f, 422, "invalid");
        /* 32 levels in total, which is allowed, so the list is refused only because `density` must be a number */
        if (depth == 31) {
            assert_fault(f, "/config/density", "got a list");
        } else {
            assert_non_null(strstr(text_at(f, "/errors/0/pointer"), "/config/density/0/0"));
            assert_non_null(strstr(text_at(f, "/errors/0/detail"), "32 deep"));
        }
    }
}

static void given_values_come_before_preset_and_defaults(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f,
               "{\"kind\":\"echo\",\"preset\":\"small\",\"config\":{\"density\":0.125,\"verbose\":true},\"threads\":3,"
               "\"name\":\"erster \\u00e4\",\"priority\":-7,\"ranks\":1,\"from\":null}",
               id);
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    assert_string_equal(text_at(f, "/preset"), "small");
    assert_string_equal(text_at(f, "/name"), "erster \xc3\xa4");
    assert_int_equal(number_at(f, "/priority"), -7);
    assert_int_equal(number_at(f, "/threads"), 3);
    assert_true(number_at(f, "/config/density") == 0.125);     /* from the request */
    assert_string_equal(text_at(f, "/config/mode"), "strict"); /* from the preset */
    assert_int_equal(number_at(f, "/config/seed"), 7);         /* the default */
    assert_int_equal(number_at(f, "/config/threads"), 3); /* the value comes from the member `threads` of the job */
    assert_true(cJSON_IsTrue(at(f, "/config/verbose")));
    assert_int_equal(cJSON_GetArraySize(at(f, "/config")), 7);
    submit_job(f, "{\"kind\":\"echo\",\"config\":{\"threads\":5,\"seed\":9007199254740991,\"density\":0.1}}", id);
    assert_int_equal(number_at(f, "/threads"), 5);
    assert_true(number_at(f, "/config/seed") == 9007199254740991.0);
    assert_non_null(strstr(f->body, "\"seed\":9007199254740991,"));
    assert_non_null(strstr(f->body, "\"density\":0.1,"));
}

static void written_configuration_parses_to_the_same_bytes(void **state)
{
    struct api_fixture *f = *state;
    struct echo_config *first, *second;
    struct api_faults faults = {.count = 0};
    const char *text = "{\"density\":0.1,\"seed\":123,\"label\":\"a \\\"b\\\" \\u00fc\",\"mode\":\"strict\"}";
    assert_int_equal(config_read_back(&echo_method, text, strlen(text), "/config", (void **)&first, &faults, &f->err),
                     STATUS_OK);
    char *written = api_config_write(&echo_method.config, first);
    assert_non_null(written);
    assert_int_equal(
        config_read_back(&echo_method, written, strlen(written), "/config", (void **)&second, &faults, &f->err),
        STATUS_OK);
    assert_memory_equal(first, second, sizeof *first);
    assert_true(first->density == 0.1);
    assert_string_equal(first->label, "a \"b\" \xc3\xbc");
    free(written);
    free(first);
    free(second);
    error_clear(&f->err);
    assert_int_equal(config_read_back(&echo_method, "{\"density\":2}", 13, "/x", (void **)&first, &faults, &f->err),
                     STATUS_INVALID);
    assert_null(first);
    assert_string_equal(faults.items[0].pointer, "/x/density");
}

static void faults_beyond_the_limit_are_counted(void **state)
{
    struct api_fixture *f = *state;
    char body[8192] = "{\"kind\":\"echo\",\"config\":{";
    for (int i = 0; i < 100; i++) {
        size_t used = strlen(body);
        (void)snprintf(body + used, sizeof body - used, "%s\"unknown%d\":1", i > 0 ? "," : "", i);
    }
    (void)strcat(body, "}}");
    (void)ask(f, "POST", "/v1/jobs", body);
    assert_problem(f, 422, "invalid");
    assert_int_equal(cJSON_GetArraySize(at(f, "/errors")), API_FAULTS_MAX);
    assert_int_equal(number_at(f, "/errors_left_out"), 100 - API_FAULTS_MAX);
}

/* Returns the names of the members of /config, separated by spaces. */
static const char *config_names(struct api_fixture *f)
{
    static char names[256];
    names[0] = '\0';
    JSON_EACH (item, at(f, "/config")) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? " " : "", item->string);
    }
    return names;
}

static void documents_show_fields_that_apply_changed_ones_first(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    const char *dry = "/v1/jobs?dry_run=1";
    assert_int_equal(ask(f, "POST", dry, "{\"kind\":\"echo\"}"), 200);
    assert_string_equal(config_names(f), "density domain seed threads mode verbose label");
    assert_int_equal(ask(f, "POST", dry, "{\"kind\":\"echo\",\"config\":{\"domain\":\"plane\",\"label\":\"x\"}}"), 200);
    assert_string_equal(config_names(f), "label domain density span seed threads mode verbose");
    /* the field `span` is missing, because it has no effect in the mode of this job */
    submit_job(f, "{\"kind\":\"echo\",\"config\":{\"span\":5,\"verbose\":true}}", id);
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    assert_string_equal(config_names(f), "verbose density domain seed threads mode label");
    struct storage_job job;
    struct arena arena;
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_job_get(f->storage, id, &arena, &job, &f->err), STATUS_OK);
    /* the stored configuration has every field, also those that the document leaves out */
    assert_non_null(strstr(job.config, "\"span\":5"));
    arena_close(&arena);
}

static void fields_may_be_given_by_group(void **state)
{
    static const struct bad cases[] = {
        {"{\"kind\":\"echo\",\"config\":{\"sparsity\":{\"density\":3}}}", 422, "invalid", "/config/sparsity/density",
         "in (0, 1]; got 3"},
        {"{\"kind\":\"echo\",\"config\":{\"model\":{\"density\":0.5}}}", 422, "invalid", "/config/model/density",
         "the field density belongs to the group sparsity, not to model"},
        {"{\"kind\":\"echo\",\"config\":{\"density\":0.5,\"sparsity\":{\"density\":0.5}}}", 422, "invalid",
         "/config/sparsity/density", "the field density is given twice: in the group sparsity"},
        {"{\"kind\":\"echo\",\"config\":{\"sparsity\":{\"densty\":0.5}}}", 422, "invalid", "/config/sparsity/densty",
         "did you mean 'density'"},
        {"{\"kind\":\"echo\",\"config\":{\"sparsity\":0.5}}", 422, "invalid", "/config/sparsity",
         "is a group of fields: must be an object"},
        {"{\"kind\":\"echo\",\"config\":{\"data\":{\"mode\":\"strict\"},\"sparsity\":{\"density\":0.6}}}", 422,
         "invalid", "/config/sparsity/density", "at most 0.5"},
        {"{\"kind\":\"echo\",\"config\":{\"data\":{\"threads\":65}}}", 422, "invalid", "/config/data/threads",
         "at most 64"},
        {"{\"kind\":\"echo\",\"threads\":2,\"config\":{\"data\":{\"threads\":3}}}", 422, "invalid", "/threads",
         "contradicts /config/data/threads"},
    };
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)ask(f, "POST", "/v1/jobs", cases[i].body);
        assert_problem(f, cases[i].status, cases[i].problem);
        assert_fault(f, cases[i].pointer, cases[i].word);
    }
    submit_job(
        f, "{\"kind\":\"echo\",\"config\":{\"sparsity\":{\"density\":0.25},\"data\":{\"threads\":5},\"seed\":9}}", id);
    assert_true(number_at(f, "/config/density") == 0.25);
    assert_int_equal(number_at(f, "/config/seed"), 9);
    assert_int_equal(number_at(f, "/threads"), 5);
}

static void flags_take_yes_no_true_and_false_as_text(void **state)
{
    static const struct {
        const char *value;
        bool flag;
    } cases[] = {{"\"yes\"", true}, {"\"true\"", true}, {"\"no\"", false}, {"\"false\"", false}, {"true", true}};
    struct api_fixture *f = *state;
    char body[128], id[STORAGE_ID];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(body, sizeof body, "{\"kind\":\"echo\",\"config\":{\"verbose\":%s}}", cases[i].value);
        submit_job(f, body, id);
        assert_int_equal(cJSON_IsTrue(at(f, "/config/verbose")), cases[i].flag);
    }
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"verbose\":\"on\"}}"), 422);
    assert_fault(f, "/config/verbose", "must be true, false, yes or no; got \"on\"");
}

/* motifctl sends `--set label=5` as a number, because it does not know that the field takes text. */
static void a_text_field_takes_a_number_as_its_decimal_text(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\",\"config\":{\"label\":500}}", id);
    assert_string_equal(text_at(f, "/config/label"), "500");
    submit_job(f, "{\"kind\":\"echo\",\"config\":{\"label\":0.50}}", id);
    assert_string_equal(text_at(f, "/config/label"), "0.5");
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"label\":1e16}}"), 422);
    assert_fault(f, "/config/label", "got the number 1e+16, which needs quotation marks");
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\",\"config\":{\"mode\":5}}"), 422);
    assert_fault(f, "/config/mode", "must be one of plain, strict; got a number");
}

static void kinds_show_group_level_and_domains_of_a_field(void **state)
{
    struct api_fixture *f = *state;
    assert_int_equal(ask(f, "GET", "/v1/kinds/echo", NULL), 200);
    JSON_EACH (field, at(f, "/fields")) {
        const char *name = cJSON_GetObjectItem(field, "name")->valuestring;
        const cJSON *domains = cJSON_GetObjectItem(field, "domains");
        if (strcmp(name, "span") == 0) {
            assert_string_equal(cJSON_GetObjectItem(field, "group")->valuestring, "model");
            assert_string_equal(cJSON_GetObjectItem(field, "level")->valuestring, "basic");
            assert_int_equal(cJSON_GetArraySize(domains), 2);
            assert_string_equal(cJSON_GetArrayItem(domains, 0)->valuestring, "plane");
            assert_string_equal(cJSON_GetArrayItem(domains, 1)->valuestring, "space");
            assert_string_equal(cJSON_GetObjectItem(field, "applies")->valuestring,
                                "mode=plain|strict domain=plane|space");
        } else {
            assert_int_equal(cJSON_GetArraySize(domains), 0);
            assert_true(cJSON_IsNull(cJSON_GetObjectItem(field, "applies")));
        }
    }
}

/* A client that sets a field without effect learns it from the dry run, from the submission and from the job. */
static void settings_without_effect_are_named(void **state)
{
    struct api_fixture *f = *state;
    char path[64];
    f->options.methods = methods_all(&f->options.method_count);
    api_destroy(f->api);
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    const char *body =
        "{\"kind\":\"superposition\",\"preset\":\"rug\",\"config\":{\"activation\":\"gated\",\"p\":0.1}}";
    for (int dry = 1; dry >= 0; dry--) {
        assert_int_equal(ask(f, "POST", dry ? "/v1/jobs?dry_run=1" : "/v1/jobs", body), dry ? 200 : 201);
        assert_int_equal(cJSON_GetArraySize(at(f, "/warnings")), 1);
        assert_string_equal(text_at(f, "/warnings/0/pointer"), "/config/activation");
        assert_non_null(strstr(text_at(f, "/warnings/0/detail"), "model=trained"));
    }
    (void)snprintf(path, sizeof path, "/v1/jobs/%s", text_at(f, "/id"));
    assert_int_equal(ask(f, "GET", path, NULL), 200);
    assert_string_equal(text_at(f, "/warnings/0/pointer"), "/config/activation");
    body = "{\"kind\":\"superposition\",\"preset\":\"fig3\",\"config\":{\"activation\":\"gated\"}}";
    assert_int_equal(ask(f, "POST", "/v1/jobs?dry_run=1", body), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/warnings")), 0);
}

/* Only the configuration of a stored job may have facts. */
static void facts_are_stored_and_cannot_be_set(void **state)
{
    struct api_fixture *f = *state;
    static const char stored[] =
        "{\"domain\":\"dataset\",\"dataset_name\":\"own\",\"dataset_rows\":1,\"dataset_cols\":9,"
        "\"dataset_channels\":2,\"dataset_tokens\":3,\"dataset_longest\":1,"
        "\"dataset_numbers\":true,\"pool\":1}";
    const struct method *method = method_find("sparling");
    struct api_faults faults = {.count = 0};
    void *one, *two;
    f->options.methods = methods_all(&f->options.method_count);
    api_destroy(f->api);
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    for (int dry = 1; dry >= 0; dry--) {
        assert_int_equal(
            ask(f, "POST", dry ? "/v1/jobs?dry_run=1" : "/v1/jobs",
                "{\"kind\":\"sparling\",\"config\":{\"dataset_rows\":0,\"data\":{\"dataset_numbers\":true}}}"),
            422);
        assert_fault(f, "/config/dataset_rows", "motifd reads it from the data set");
        assert_fault(f, "/config/data/dataset_numbers", "motifd reads it from the data set");
        assert_int_equal(cJSON_GetArraySize(at(f, "/errors")), 2);
    }
    assert_int_equal(ask(f, "POST", "/v1/studies", "{\"kind\":\"sparling\",\"grid\":{\"dataset_cols\":[8,9]}}"), 422);
    assert_fault(f, "/grid/dataset_cols/0", "motifd reads it from the data set");
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"sparling\",\"config\":{\"dataset_rowz\":1}}"), 422);
    assert_null(strstr(f->body, "dataset_rows"));

    assert_int_equal(config_read_back(method, stored, strlen(stored), "/config", &one, &faults, &f->err), STATUS_OK);
    char *written = api_config_write(&method->config, one);
    assert_non_null(strstr(written, "\"dataset_cols\":9,"));
    assert_int_equal(config_read_back(method, written, strlen(written), "/config", &two, &faults, &f->err), STATUS_OK);
    assert_memory_equal(one, two, method->config.struct_bytes);
    free(written);
    free(one);
    free(two);
}

/* A preset must not cause a warning by its own settings. */
static void presets_have_no_warnings(void **state)
{
    struct api_fixture *f = *state;
    size_t count;
    const struct method *const *methods = methods_all(&count);
    f->options.methods = methods;
    f->options.method_count = count;
    api_destroy(f->api);
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    for (size_t m = 0; m < count; m++) {
        for (size_t p = 0; p < methods[m]->preset_count; p++) {
            char body[256];
            (void)snprintf(body, sizeof body, "{\"kind\":\"%s\",\"preset\":\"%s\"}", methods[m]->kind,
                           methods[m]->presets[p].name);
            int status = ask(f, "POST", "/v1/jobs?dry_run=1", body);
            assert_true(status == 200 || status == 422); /* 422: the preset needs a data set */
            if (status == 200)
                assert_int_equal(cJSON_GetArraySize(at(f, "/warnings")), 0);
        }
    }
}

static void dry_run_estimates_and_stores_nothing(void **state)
{
    struct api_fixture *f = *state;
    assert_int_equal(ask(f, "POST", "/v1/jobs?dry_run=1", "{\"kind\":\"echo\",\"preset\":\"large\",\"threads\":2}"),
                     200);
    assert_true(cJSON_IsTrue(at(f, "/dry_run")));
    assert_int_equal(number_at(f, "/parameters"), 22);
    assert_int_equal(number_at(f, "/samples"), 60000);
    assert_true(number_at(f, "/flops") == 6e10);
    assert_int_equal(number_at(f, "/bytes"), 4096);
    assert_int_equal(number_at(f, "/checkpoint_bytes"), 512);
    assert_true(number_at(f, "/predicted_seconds") == 6e10 / (20e9 * 2));
    assert_string_equal(text_at(f, "/prediction/basis"), "measured");
    assert_true(number_at(f, "/config/density") == 0.75);
    assert_int_equal(ask(f, "POST", "/v1/jobs?dry_run=1", "{\"kind\":\"echo\",\"config\":{\"density\":-1}}"), 422);
    assert_fault(f, "/config/density", "(0, 1]");
    assert_int_equal(ask(f, "GET", "/v1/jobs", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 0);
    assert_int_equal(atomic_load(&f->woken), 0);
    assert_int_equal(ask(f, "POST", "/v1/jobs?dry_run=0", "{\"kind\":\"echo\"}"), 201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(response_lists_every_fault, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(each_fault_has_the_pointer_of_its_place, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(text_that_is_not_json_gets_its_line_and_column, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(nesting_beyond_32_levels_is_refused, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(given_values_come_before_preset_and_defaults, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(written_configuration_parses_to_the_same_bytes, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(faults_beyond_the_limit_are_counted, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(documents_show_fields_that_apply_changed_ones_first, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(fields_may_be_given_by_group, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(flags_take_yes_no_true_and_false_as_text, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(a_text_field_takes_a_number_as_its_decimal_text, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(kinds_show_group_level_and_domains_of_a_field, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(settings_without_effect_are_named, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(facts_are_stored_and_cannot_be_set, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(presets_have_no_warnings, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(dry_run_estimates_and_stores_nothing, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
