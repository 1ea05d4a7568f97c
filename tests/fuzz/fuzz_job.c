/* Fuzz target of the bodies that submit jobs and studies. A refusal must name at least one fault. An accepted job must
 * be the same after it was written and read again. The jobs of an accepted study must have readable bodies. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/jobs/job_spec.h"
#include "api/studies/study_spec.h"
#include "protocol/config_json.h"
#include "protocol/json.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("{\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\"}"),
    FUZZ_SEED("{\"kind\":\"sparling\",\"config\":{\"density_start\":0.5,\"seed\":9007199254740991,\"lstm\":true},"
              "\"threads\":2}"),
    FUZZ_SEED(
        "{\"kind\":\"sparling\",\"config\":{\"batch\":1e1,\"backward\":\"auto\",\"dropout\":NaN},\"priority\":-3}"),
    FUZZ_SEED(
        "{\"kind\":\"sparling\",\"name\":\"\\u00e4\\ud83d\\ude00\",\"from\":{\"job\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\","
        "\"checkpoint\":\"density:5.0e-5\"},\"ranks\":1}"),
    FUZZ_SEED("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
    FUZZ_SEED("{\"a\":{\"a\":[1,2,{\"a\":null}],\"a\":1},\"b\":\"\xc3\xa4\"}"),
    FUZZ_SEED("{\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\",\"grid\":{\"width\":[16,32],\"learning_rate\":["
              "3e-4,1e-3]},"
              "\"seeds\":3}"),
    FUZZ_SEED("{\"kind\":\"factors\",\"preset\":\"fig3\",\"grid\":{\"rho\":[0.2]},\"seeds\":2,\"config\":{\"seed\":7},"
              "\"name\":\"s\"}"),
    FUZZ_SEED("{\"a\":11111111111115111.315}"), /* above 2^53, with 17 digits */
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static void check_json(const char *text, size_t size)
{
    struct error err = {0};
    cJSON *root;
    enum status status = json_parse(text, size, &root, &err);
    FUZZ_CHECK((status == STATUS_OK) == (root != NULL));
    FUZZ_CHECK(status == STATUS_OK || err.message[0] != '\0');
    FUZZ_CHECK(utf8_valid(err.pointer, strlen(err.pointer)));
    if (root == NULL)
        return;
    struct buf once, twice;
    buf_init(&once, 1u << 20);
    buf_init(&twice, 1u << 20);
    json_canonical(root, &once);
    cJSON_Delete(root);
    FUZZ_CHECK(json_parse(once.data, once.size, &root, NULL) == STATUS_OK);
    json_canonical(root, &twice);
    FUZZ_CHECK(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
    cJSON_Delete(root);
    buf_close(&once);
    buf_close(&twice);
}

/* Reads the text as the configuration of a job that somebody imports. */
static void check_config(const struct method *method, const char *text, size_t size)
{
    static struct api_faults faults;
    struct error err = {0};
    void *config;
    faults.count = faults.more = 0;
    enum status status = config_read_back(method, text, size, "/config", &config, &faults, &err);
    FUZZ_CHECK((status == STATUS_OK) == (config != NULL) && status == err.code);
    FUZZ_CHECK((status == STATUS_OK) == (faults.count == 0));
    free(config);
}

/* Reads the text as a study, and the body of one of its jobs as a job. */
static void check_study(const struct api_job_rules *rules, const char *text, size_t size)
{
    static struct api_faults faults;
    struct error err = {0};
    struct study_spec study = {0};
    cJSON *body;
    if (json_parse(text, size, &body, &err) != STATUS_OK)
        return;
    if (!cJSON_IsObject(body)) { /* the exchange refuses such a body */
        cJSON_Delete(body);
        return;
    }
    faults.count = faults.more = 0;
    enum status status = study_spec_read(rules, body, &study, &faults, &err);
    FUZZ_CHECK(status == STATUS_OK || faults.count > 0);
    if (status == STATUS_OK) {
        FUZZ_CHECK(study.count >= 1 && study.count <= STORAGE_STUDY_JOBS);
        size_t index = size % study.count;
        cJSON *job = study_spec_job(&study, index);
        char *written = cJSON_PrintUnformatted(job);
        FUZZ_CHECK(written != NULL);
        struct api_job_rules of_study = *rules;
        struct api_job_spec spec;
        of_study.of_study = true;
        faults.count = faults.more = 0;
        status = api_job_parse(&of_study, written, strlen(written), &spec, &faults, &err);
        FUZZ_CHECK((status == STATUS_OK) == (faults.count == 0));
        if (status == STATUS_OK) {
            FUZZ_CHECK(spec.method == study.method);
            api_job_spec_close(&spec);
        }
        cJSON_free(written);
        cJSON_Delete(job);
    }
    study_spec_close(&study);
    cJSON_Delete(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct api_faults faults;
    const char *text = (const char *)data;
    check_json(text, size);
    struct api_job_rules rules = {.threads_max = 64};
    struct api_job_spec spec;
    struct error err = {0};
    rules.methods = methods_all(&rules.method_count);
    check_config(rules.methods[size % rules.method_count], text, size);
    check_study(&rules, text, size);
    faults.count = faults.more = 0;
    enum status status = api_job_parse(&rules, text, size, &spec, &faults, &err);
    FUZZ_CHECK((status == STATUS_OK) == (faults.count == 0));
    if (status == STATUS_OK) {
        char *written = api_config_write(&spec.method->config, spec.config);
        void *again;
        FUZZ_CHECK(written != NULL);
        FUZZ_CHECK(config_read_back(spec.method, written, strlen(written), "/config", &again, &faults, NULL) ==
                   STATUS_OK);
        FUZZ_CHECK(memcmp(again, spec.config, spec.method->config.struct_bytes) == 0);
        free(again);
        free(written);
        api_job_spec_close(&spec);
    }
    return 0;
}
