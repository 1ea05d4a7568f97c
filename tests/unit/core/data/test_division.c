/* Tests the division of samples into training, validation and test: properties on random data, stated parts, folds,
 * and what is refused. */
#include <math.h>
#include <stdio.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/data/division/division.h"

enum { MOST = 3000, NAMES = 8, GROUPS = 64 };

/* A data set with classes; the arrays belong to the test. */
struct made {
    struct collection c;
    int64_t start[MOST + 1], label_start[MOST + 1];
    int32_t label[MOST], group[MOST];
    unsigned char part[MOST];
    char text[GROUPS][16], *names[NAMES], *groups[GROUPS];
};

static char *const words[NAMES] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static struct made *make(int names, int groups)
{
    struct made *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->c = (struct collection){.kind = COLLECTION_IMAGES, .target = TARGET_CLASS, .channels = 1, .rows = 1, .cols = 1};
    m->c.start = m->start;
    m->c.label_start = m->label_start;
    m->c.label = m->label;
    m->c.longest = 1;
    for (int i = 0; i < groups; i++) {
        snprintf(m->text[i], sizeof m->text[i], "g%d", i);
        m->groups[i] = m->text[i];
    }
    for (int i = 0; i < names; i++)
        m->names[i] = words[i];
    m->c.vocabulary = (struct collection_names){names, m->names};
    m->c.groups = (struct collection_names){groups, groups > 0 ? m->groups : NULL};
    m->c.group = groups > 0 ? m->group : NULL;
    return m;
}

static void add(struct made *m, int group, int name)
{
    int64_t at = m->c.count++;
    assert_true(at < MOST);
    m->start[at + 1] = m->label_start[at + 1] = at + 1;
    m->group[at] = group;
    m->label[at] = name;
}

static int draw(struct philox *from, uint64_t *at, int below)
{
    return (int)(philox_u32(from, (*at)++) % (uint32_t)below);
}

/* Groups of different sizes, each with up to three names. */
static struct made *random_groups(uint64_t seed, int groups, int most)
{
    struct philox from = philox_stream(seed, 77, 0);
    uint64_t at = 0;
    struct made *m = make(2 + draw(&from, &at, NAMES - 1), groups);
    for (int g = 0; g < groups; g++) {
        int names[3], size = 1 + draw(&from, &at, most);
        for (int k = 0; k < 3; k++)
            names[k] = draw(&from, &at, m->c.vocabulary.count);
        for (int i = 0; i < size; i++)
            add(m, g, names[draw(&from, &at, 3)]);
    }
    return m;
}

static const struct division_fields fields = {
    "/config/dataset_name", "/config/dataset_split",      "/config/dataset_test_group",
    "/config/dataset_test", "/config/dataset_validation", "/config/folds",
    "/config/fold",
};

static struct division divide(const struct made *m, const struct division_request *request)
{
    struct division d;
    struct error err = {0};
    if (division_make(&m->c, request, &d, &err) != STATUS_OK)
        fail_msg("%s: %s", err.pointer, err.message);
    return d;
}

/* Which of a name's groups are in which part, from the parts of the groups. lacking: how many parts lack a name that
 * has at least three groups; off: by how much the worst size differs from the request. */
static void measure(const struct made *m, const unsigned char *of_group, int *lacking, double *off)
{
    int64_t size[3] = {0};
    bool has[NAMES][GROUPS] = {{false}}, in[NAMES][3] = {{false}};
    static const double share[] = {0.75, 0.1, 0.15};
    for (int64_t i = 0; i < m->c.count; i++) {
        size[of_group[m->group[i]]]++;
        has[m->label[i]][m->group[i]] = true;
        in[m->label[i]][of_group[m->group[i]]] = true;
    }
    *lacking = 0;
    *off = 0;
    for (int k = 0; k < m->c.vocabulary.count; k++) {
        int groups = 0;
        for (int g = 0; g < m->c.groups.count; g++)
            groups += has[k][g];
        for (int p = 0; groups >= 3 && p < 3; p++)
            *lacking += !in[k][p];
    }
    for (int p = 0; p < 3; p++)
        *off = fmax(*off, fabs((double)size[p] / (double)m->c.count - share[p]));
}

/* Writes the part of each group; fails if a group is in two parts. */
static void of_groups(const struct made *m, const struct division *d, unsigned char part[GROUPS])
{
    memset(part, 255, GROUPS);
    for (int64_t i = 0; i < m->c.count; i++) {
        assert_true(part[m->group[i]] == 255 || part[m->group[i]] == d->part[i]);
        part[m->group[i]] = d->part[i];
    }
}

static void many_groups_give_every_part_its_size_and_every_name(void **state)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct made *m = random_groups(seed, 20 + (int)seed, 40);
        struct division d = divide(m, &DIVISION_USUAL(&fields));
        unsigned char part[GROUPS];
        int lacking;
        double off;
        of_groups(m, &d, part);
        measure(m, part, &lacking, &off);
        if (lacking > 0 || off > 0.02)
            fail_msg("seed %d: %d parts lack a name, and a size is off by %.3f", (int)seed, lacking, off);
        assert_int_equal(d.by, DIVIDE_GROUPS);
        division_close(&d);
        free(m);
    }
}

/* Tries all divisions of up to seven groups. */
static void few_groups_are_divided_as_well_as_they_can_be(void **state)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        int groups = 3 + (int)(seed % 5), all = 1, lacking, least = 1000;
        struct made *m = random_groups(1000 + seed, groups, 30);
        unsigned char part[GROUPS];
        double off, best = 1;
        for (int i = 0; i < groups; i++)
            all *= 3;
        for (int code = 0; code < all; code++) {
            bool used[3] = {false};
            for (int g = 0, rest = code; g < groups; g++, rest /= 3)
                used[part[g] = (unsigned char)(rest % 3)] = true;
            measure(m, part, &lacking, &off);
            if (used[0] && used[1] && used[2] && (lacking < least || (lacking == least && off < best))) {
                least = lacking;
                best = off;
            }
        }
        if (m->c.count >= DIVISION_LEAST) {
            struct division d = divide(m, &DIVISION_USUAL(&fields));
            of_groups(m, &d, part);
            measure(m, part, &lacking, &off);
            if (lacking != least || (best <= 0.02 && off > 0.02))
                fail_msg("seed %d: %d parts lack a name, not %d; a size is off by %.3f, not %.3f", (int)seed, lacking,
                         least, off, best);
            division_close(&d);
        }
        free(m);
    }
}

static void order_of_samples_does_not_change_the_parts_of_groups(void **state)
{
    struct made *m = random_groups(5, 30, 30);
    unsigned char part[GROUPS], other[GROUPS];
    struct division d = divide(m, &DIVISION_USUAL(&fields));
    of_groups(m, &d, part);
    division_close(&d);
    for (int64_t i = 0, j = m->c.count - 1; i < j; i++, j--) {
        int32_t label = m->label[i], group = m->group[i];
        m->label[i] = m->label[j];
        m->group[i] = m->group[j];
        m->label[j] = label;
        m->group[j] = group;
    }
    d = divide(m, &DIVISION_USUAL(&fields));
    of_groups(m, &d, other);
    assert_memory_equal(part, other, 30);
    division_close(&d);
    free(m);
}

static void samples_without_groups_are_stratified(void **state)
{
    struct made *m = make(3, 0);
    for (int i = 0; i < 1000; i++)
        add(m, 0, i < 900 ? 0 : i < 997 ? 1 : 2);
    struct division d = divide(m, &DIVISION_USUAL(&fields));
    int in[3][3] = {{0}};
    for (int64_t i = 0; i < m->c.count; i++)
        in[m->label[i]][d.part[i]]++;
    assert_true(labs((long)d.count[PART_OF_TEST] - 150) <= 20 && labs((long)d.count[PART_OF_VALIDATION] - 100) <= 20);
    assert_true(abs(in[0][PART_OF_TEST] - 135) <= 5 && abs(in[1][PART_OF_TEST] - 15) <= 3);
    for (int p = 0; p < 3; p++)
        assert_int_equal(in[2][p], 1); /* a name with three samples */
    division_close(&d);
    free(m);
}

static void every_sample_is_tested_in_one_fold(void **state)
{
    struct made *m = random_groups(9, 40, 20);
    int64_t tested[MOST] = {0};
    for (int64_t fold = 0; fold < 5; fold++) {
        struct division_request r = DIVISION_USUAL(&fields);
        unsigned char part[GROUPS];
        r.folds = 5;
        r.fold = fold;
        struct division d = divide(m, &r);
        of_groups(m, &d, part);
        for (int64_t i = 0; i < m->c.count; i++)
            tested[i] += d.part[i] == PART_OF_TEST;
        double share = (double)d.count[PART_OF_TEST] / (double)m->c.count;
        if (fabs(share - 0.2) > 0.02)
            fail_msg("fold %d has a share of %.3f", (int)fold, share);
        assert_true(d.count[PART_OF_VALIDATION] > 0);
        division_close(&d);
    }
    for (int64_t i = 0; i < m->c.count; i++)
        assert_int_equal(tested[i], 1);
    free(m);
}

static void named_groups_are_the_test_part(void **state)
{
    struct division_request r = DIVISION_USUAL(&fields);
    unsigned char part[GROUPS];
    struct made *m = random_groups(11, 8, 30);
    r.test_group = "g3, g5";
    struct division d = divide(m, &r);
    of_groups(m, &d, part);
    for (int g = 0; g < 8; g++)
        assert_int_equal(part[g] == PART_OF_TEST, g == 3 || g == 5);
    division_close(&d);
    free(m);
    m = make(2, 2); /* two groups: validation is a part of the other group */
    for (int i = 0; i < 100; i++)
        add(m, i % 2, i / 2 % 2);
    r.test_group = "g1";
    d = divide(m, &r);
    assert_true(d.drawn);
    assert_int_equal(d.count[PART_OF_TEST], 50);
    for (int64_t i = 0; i < m->c.count; i++)
        assert_int_equal(d.part[i] == PART_OF_TEST, m->group[i] == 1);
    assert_true(labs((long)d.count[PART_OF_VALIDATION] - 10) <= 2);
    division_close(&d);
    free(m);
}

static void stated_parts_are_taken_and_missing_ones_planned(void **state)
{
    struct division_request r = DIVISION_USUAL(&fields);
    for (int parts = 2; parts <= 3; parts++) {
        struct made *m = make(2, 0);
        for (int i = 0; i < 90; i++) {
            add(m, 0, i % 2);
            m->part[i] = (unsigned char)(i < 60                 ? PART_OF_TRAINING
                                         : parts == 3 && i < 70 ? PART_OF_VALIDATION
                                                                : PART_OF_TEST);
        }
        m->c.part = m->part;
        struct division d = divide(m, &r);
        assert_int_equal(d.by, DIVIDE_PARTS);
        for (int64_t i = 0; i < m->c.count; i++)
            assert_int_equal(d.part[i] == PART_OF_TEST, m->part[i] == PART_OF_TEST);
        assert_int_equal(d.count[PART_OF_VALIDATION], parts == 3 ? 10 : 9);
        division_close(&d);
        r.split = DIVIDE_SAMPLES;
        d = divide(m, &r);
        assert_int_equal(d.by, DIVIDE_SAMPLES);
        r.split = DIVIDE_AUTO;
        division_close(&d);
        free(m);
    }
}

static void refuses(const struct made *m, const struct division_request *r, const char *pointer, const char *says)
{
    struct division d;
    struct error err = {0};
    assert_int_equal(division_make(&m->c, r, &d, &err), STATUS_INVALID);
    assert_string_equal(err.pointer, pointer);
    if (strstr(err.message, says) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, says);
    division_close(&d);
}

static void what_cannot_be_divided_is_refused_with_its_counts(void **state)
{
    struct division_request r = DIVISION_USUAL(&fields), named = r, groups = r, parts = r, none = r;
    struct made *few = make(2, 0), *two = make(2, 2), *one = make(2, 1);
    for (int i = 0; i < 5; i++) {
        add(few, 0, i % 2);
        refuses(few, &r, "/config/dataset_name", i == 0 ? "has 1 sample;" : "at least 6");
    }
    for (int i = 0; i < 60; i++) {
        add(two, i % 3 == 0, i % 2);
        add(one, 0, i % 2);
    }
    refuses(two, &r, "/config/dataset_split", "dataset_split=samples (g0: 40, g1: 20)");
    refuses(one, &r, "/config/dataset_split", "dataset_split=samples (g0: 60)");
    named.test_group = "g7";
    refuses(two, &named, "/config/dataset_test_group", "names no group 'g7' of the data set; its 2 groups are g0, g1");
    named.test_group = "g0,g1";
    refuses(two, &named, "/config/dataset_test_group", "names all 2 groups");
    groups.split = DIVIDE_GROUPS;
    add(few, 0, 0);
    refuses(few, &groups, "/config/dataset_split", "needs groups");
    parts.split = DIVIDE_PARTS;
    refuses(few, &parts, "/config/dataset_split", "needs the parts of the samples");
    none.test = 0;
    refuses(few, &none, "/config/dataset_test", "must be above 0");
    free(few);
    free(two);
    free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_groups_give_every_part_its_size_and_every_name),
        cmocka_unit_test(few_groups_are_divided_as_well_as_they_can_be),
        cmocka_unit_test(order_of_samples_does_not_change_the_parts_of_groups),
        cmocka_unit_test(samples_without_groups_are_stratified),
        cmocka_unit_test(every_sample_is_tested_in_one_fold),
        cmocka_unit_test(named_groups_are_the_test_part),
        cmocka_unit_test(stated_parts_are_taken_and_missing_ones_planned),
        cmocka_unit_test(what_cannot_be_divided_is_refused_with_its_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
