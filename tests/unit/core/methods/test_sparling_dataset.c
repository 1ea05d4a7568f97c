/* Tests uploaded data as a domain of SPARLING: sizes, splits, refusals, and a run on data without true boxes. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/data/uploads/collection.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/run_int.h"
#include "core/methods/sparling/sparling.h"
#include "tests/support/run_env.h"
#include "tests/support/stored_set.h"

static char root[] = "/tmp/motifd-own-XXXXXX";
enum { RECORDS = 60, BASES = 24 };

static void store(const char *name, const char *format, const char *text, const char *hash)
{
    char path[128];
    struct error err = {0};
    snprintf(path, sizeof path, "%s/%s", root, name);
    if (stored_set(path, format, text, &err))
        fail_msg("%s", err.message);
    snprintf(path, sizeof path, "%s/%s/sha256", root, name);
    FILE *file = fopen(path, "wb");
    fputs(hash, file);
    fclose(file);
}

/* Stores sequences of noise with one motif each, which determines the class. */
static int setup(void **state)
{
    static char text[RECORDS * (BASES + 40)];
    static const char *const motif[] = {"GGCC", "TATA"}, *const label[] = {"left", "right"};
    uint32_t noise = 7;
    if (!mkdtemp(root))
        return -1;
    for (int i = 0; i < RECORDS; i++) {
        char *to = text + strlen(text);
        int which = i % 2, at = i % 5 * 4;
        to += sprintf(to, ">r%d %s%s\n", i, label[which], i % 3 == 0 ? " left" : "");
        for (int j = 0; j < BASES - i % 3; j++) {
            noise = noise * 1664525 + 1013904223;
            *to++ = j >= at && j < at + 4 ? motif[which][j - at] : "ACGT"[noise >> 30];
        }
        *to++ = '\n';
    }
    store("rna", "fasta", text, "0123456789012345678901234567890123456789abcdef");
    store("numbers", "csv", "a,b,label\n1,2,x\n3,4,y\n", "ff");
    store("nothing", "fasta", ">a\nACGT\n>b\nACGT\n", "ff");
    return 0;
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static const struct config_setting tiny[] = {{"domain", "dataset"},
                                             {"dataset_name", "rna"},
                                             {"dataset_test", "0.3"},
                                             {"dataset_validation", "0.2"},
                                             {"dataset_fit", "true"},
                                             {"width", "8"},
                                             {"units", "1"},
                                             {"channels", "16"},
                                             {"layers", "1"},
                                             {"heads", "2"},
                                             {"feed_forward", "32"},
                                             {"lstm", "false"},
                                             {"batch", "4"},
                                             {"pool", "4"},
                                             {"batch_norm", "plain"},
                                             {"plateau_validations", "1"},
                                             {"validation_every", "16"},
                                             {"checkpoint_every", "16"},
                                             {"total_samples", "64"},
                                             {"validation_samples", "500"},
                                             {"test_samples", "500"},
                                             {"motif_samples", "500"},
                                             {"stage_samples", "0"},
                                             {NULL, NULL}};

static struct sparling_config configured(const struct config_setting *more)
{
    struct sparling_config c = {0};
    assert_int_equal(config_defaults(&sparling_config_table, &c, NULL), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &c, tiny, NULL), STATUS_OK);
    if (more)
        assert_int_equal(config_apply(&sparling_config_table, &c, more, NULL), STATUS_OK);
    return c;
}

static void resolve(struct sparling_config *c)
{
    struct error err = {0};
    if (sparling_method.resolve(c, root, &err))
        fail_msg("%s: %s", err.pointer, err.message);
}

static void count_fault(void *context, const char *field, const char *detail)
{
    print_error("%s %s\n", field, detail);
    ++*(int *)context;
}

static void resolve_fills_in_sizes_and_hash(void **state)
{
    struct sparling_config c = configured(NULL);
    int faults = 0;
    resolve(&c);
    assert_true(c.dataset.channels == 4 && c.dataset.rows == 1 && c.dataset.cols == BASES && c.dataset.tokens == 2);
    assert_true(c.dataset.longest == 2 && c.dataset.boxes == 0 && !c.dataset.positions);
    assert_string_equal(c.dataset.hash, "0123456789012345678901234567890123456789");
    assert_int_equal(c.channels_motif, 2);
    double least = (RECORDS + RECORDS / 3.0) / RECORDS / (BASES * 2.0);
    assert_true(fabs(c.density_final - fmin(least, 0.05)) < 1e-12 && sparling_last_density(&c) >= c.density_final);
    assert_true(c.test_samples < RECORDS / 2 && c.validation_samples < RECORDS / 2 && c.test_samples > 5);
    struct sparling_config again = c;
    resolve(&again);
    assert_memory_equal(&again, &c, sizeof c);
    sparling_check(&c, &(struct method_faults){&faults, count_fault});
    assert_int_equal(faults, 0);
}

/* Returns a number that identifies the sample of a request: a sum over its input. */
static double print_of(const struct open_domain *d, int64_t seed, int64_t index)
{
    float planes[4 * BASES];
    double sum = 0;
    struct domain_request request = {.seed = seed, .index = index};
    assert_int_equal(domain_sample(d, &request, planes, NULL, NULL), STATUS_OK);
    for (int i = 0; i < 4 * BASES; i++)
        sum += (double)planes[i] * sin(1.7 * i + 0.3);
    return sum;
}

static void training_validation_and_test_share_no_sample(void **state)
{
    struct sparling_config c = configured(NULL);
    struct open_domain d;
    struct error err = {0};
    resolve(&c);
    assert_int_equal(domain_open(&c, root, &d, &err), STATUS_OK);
    for (int64_t i = 0; i < c.test_samples; i++) {
        double tested = print_of(&d, -2, i);
        /* the samples of the test part repeat after test_samples */
        assert_true(tested == print_of(&d, -2, i + c.test_samples));
        for (int64_t j = 0; j < 200; j++)
            assert_true(tested != print_of(&d, -1, j) && tested != print_of(&d, 1, j));
    }
    int differ = 0;
    for (int64_t j = 0; j < 50; j++)
        differ += print_of(&d, 1, j) != print_of(&d, 2, j);
    assert_true(differ > 30 && print_of(&d, 1, 3) == print_of(&d, 1, 3));
    /* With a curriculum, the first labels are short. */
    struct domain_truth *truth;
    float planes[4 * BASES];
    domain_close(&d);
    c.curriculum = 1000;
    assert_int_equal(domain_open(&c, root, &d, &err), STATUS_OK);
    assert_int_equal(domain_truths_create(&d.shape, 1, &truth, NULL), STATUS_OK);
    for (int64_t j = 0; j < 50; j++) {
        struct domain_request request = {.set = DOMAIN_LESSON, .seed = 1, .index = j, .seen = 0};
        assert_int_equal(domain_sample(&d, &request, planes, truth, NULL), STATUS_OK);
        assert_int_equal(truth->length, 1);
        assert_int_equal(truth->boxes, 0);
    }
    domain_truths_destroy(truth);
    domain_close(&d);
}

static void refuses(const struct config_setting *more, bool resolved, enum status status, const char *pointer,
                    const char *says)
{
    struct sparling_config c = configured(resolved ? NULL : more);
    struct open_domain d;
    struct error err = {0};
    if (resolved) {
        resolve(&c);
        assert_int_equal(config_apply(&sparling_config_table, &c, more, NULL), STATUS_OK);
        assert_int_equal(domain_open(&c, root, &d, &err), status);
    } else {
        assert_int_equal(sparling_method.resolve(&c, root, &err), status);
    }
    assert_string_equal(err.pointer, pointer);
    if (!strstr(err.message, says))
        fail_msg("'%s' does not say '%s'", err.message, says);
}

static void unsuitable_data_sets_are_refused(void **state)
{
    static const struct config_setting none[] = {{"dataset_name", ""}, {NULL, NULL}},
                                       gone[] = {{"dataset_name", "gone"}, {NULL, NULL}},
                                       table[] = {{"dataset_name", "numbers"}, {NULL, NULL}},
                                       bare[] = {{"dataset_name", "nothing"}, {NULL, NULL}},
                                       path[] = {{"dataset_name", "../rna"}, {NULL, NULL}},
                                       hash[] = {{"dataset_hash", "12"}, {NULL, NULL}},
                                       groups[] = {{"dataset_split", "groups"}, {NULL, NULL}},
                                       all[] = {{"dataset_validation", "0"}, {NULL, NULL}},
                                       sizes[] = {{"dataset_cols", "30"}, {NULL, NULL}};
    refuses(none, false, STATUS_INVALID, "/config/dataset_name", "must name a data set");
    refuses(gone, false, STATUS_NOT_FOUND, "/config/dataset_name", "there is no data set gone");
    refuses(path, false, STATUS_INVALID, "/config/dataset_name", "not a data set's name");
    refuses(table, false, STATUS_INVALID, "/config/dataset_name", "is a table");
    refuses(bare, false, STATUS_INVALID, "/config/dataset_name", "has no labels");
    refuses(hash, true, STATUS_CONFLICT, "/config/dataset_hash", "other data");
    refuses(groups, true, STATUS_INVALID, "/config/dataset_split", "needs groups");
    refuses(all, true, STATUS_INVALID, "/config/dataset_test", "no samples for validation");
    refuses(sizes, true, STATUS_INVALID, "/config/dataset_name", "other sizes");
}

static void look(void *context, struct method_run *run)
{
    const struct evaluation_row *row = &run->evaluation.row[run->evaluation.rows - 1];
    assert_true(isnan(row->fpe) && isnan(row->fne) && isnan(row->ce)); /* these errors need true boxes */
    assert_true(row->exact >= 0 && row->e2ee >= 0 && row->achieved > 0);
    ++*(int *)context;
}

static void run_gives_same_bits_with_threads_and_pauses(void **state)
{
    struct sparling_config c = configured(NULL);
    struct run_env_witness one, two;
    struct error err = {0};
    int looked = 0, steps;
    resolve(&c);
    struct run_env_plan plan = {
        .method = &sparling_method, .config = &c, .data = root, .threads = 1, .look = look, .context = &looked};
    if (run_env_run(&plan, &one, &steps, &err))
        fail_msg("%s %s", err.pointer, err.message);
    plan.threads = 2;
    plan.every = 3;
    if (run_env_run(&plan, &two, &steps, &err))
        fail_msg("%s %s", err.pointer, err.message);
    assert_string_equal(one.weights, two.weights);
    assert_int_equal(looked, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(resolve_fills_in_sizes_and_hash),
                                       cmocka_unit_test(training_validation_and_test_share_no_sample),
                                       cmocka_unit_test(unsuitable_data_sets_are_refused),
                                       cmocka_unit_test(run_gives_same_bits_with_threads_and_pauses)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
