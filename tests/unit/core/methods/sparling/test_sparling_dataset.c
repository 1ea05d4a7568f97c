/* Tests uploaded data as a domain of SPARLING: sizes, splits, refusals, and a run on data without true boxes. */

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/data/uploads/collection.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/domains/dataset_fit.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/run_env.h"
#include "tests/support/stored_set.h"

static char root[] = "/tmp/motifd-own-XXXXXX";
enum { RECORDS = 60, BASES = 24, LENGTHY = 6000 };

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

/* Stores sequences of noise. Each contains one motif, and the motif determines the class. */
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
        to += sprintf(to, ">r%d %s%s\n", i, label[which], i % 3 ? "" : i > 0 ? " left" : " right");
        for (int j = 0; j < BASES - i % 3; j++) {
            noise = noise * 1664525 + 1013904223;
            *to++ = j >= at && j < at + 4 ? motif[which][j - at] : "ACGT"[noise >> 30];
        }
        *to++ = '\n';
    }
    store("rna", "fasta", text, "0123456789012345678901234567890123456789abcdef");
    /* replaces the labels by labels that list names alphabetically */
    for (char *at = text; (at = strstr(at, "right left")) != NULL;)
        memcpy(at, "left right", strlen("left right"));
    store("sorted", "fasta", text, "66");
    text[0] = '\0';
    /* every second sequence has the label "bound", the others have none */
    for (int i = 0; i < RECORDS; i++) {
        char *to = text + strlen(text);
        to += sprintf(to, ">r%d%s\n", i, i % 2 ? " bound" : "");
        for (int j = 0; j < BASES; j++) {
            noise = noise * 1664525 + 1013904223;
            *to++ = i % 2 && j >= i % 20 && j < i % 20 + 4 ? motif[1][j - i % 20] : "ACGT"[noise >> 30];
        }
        strcpy(to, "\n");
    }
    store("binding", "fasta", text, "77");
    static char lengthy[6 * LENGTHY + 128];
    for (int i = 0, used = 0; i < 6; i++)
        used += sprintf(lengthy + used, ">%c %s\n%0*d\n", "abcdef"[i], i % 2 ? "left" : "right", LENGTHY, 0);
    for (char *base = lengthy; *base; base++)
        *base = *base == '0' ? 'A' : *base;
    store("lengthy", "fasta", lengthy, "88");
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
    if (sparling_method.resolve(c, NULL, root, &err))
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
        /* the samples of the test part repeat after `test_samples` samples */
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
        assert_int_equal(sparling_method.resolve(&c, NULL, root, &err), status);
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
    refuses(groups, false, STATUS_INVALID, "/config/dataset_split", "needs groups");
    refuses(all, false, STATUS_INVALID, "/config/dataset_validation", "must be above 0");
    refuses(sizes, true, STATUS_INVALID, "/config/dataset_name", "other sizes");
    static const struct config_setting changed[] = {{"augment_gain", "0.1"}, {NULL, NULL}};
    refuses(changed, false, STATUS_INVALID, "/config/dataset_name", "use replace_letters");
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

static bool in_list(const void *context, const char *field)
{
    const char *const *names = context;
    for (; *names; names++)
        if (strcmp(*names, field) == 0)
            return true;
    return false;
}

static void fields_that_the_client_gives_keep_their_values(void **state)
{
    static const struct config_setting settings[] = {{"density_final", "0.004"},
                                                     {"density_factor", "0.6"},
                                                     {"density_start", "0.3"},
                                                     {"plateau_density", "0.02"},
                                                     {"motifs", "5"},
                                                     {"reinitialise_below", "0.001"},
                                                     {NULL, NULL}};
    static const char *const all[] =
        {"density_final", "density_factor", "density_start", "plateau_density", "motifs", "reinitialise_below", NULL},
                             *const last[] = {"density_final", NULL};
    struct method_given given = {in_list, all};
    struct error err = {0};
    struct sparling_config c = configured(settings), fitted = configured(NULL);
    resolve(&fitted);
    assert_int_equal(sparling_method.resolve(&c, &given, root, &err), STATUS_OK);
    assert_true(c.density_final == 0.004 && c.density_factor == 0.6 && c.density_start == 0.3);
    assert_true(c.plateau_density == 0.02 && c.channels_motif == 5 && c.reinitialise_below == 0.001);
    /* The fields that the client does not set are computed from those that it sets. */
    c = configured(settings);
    given.context = last;
    assert_int_equal(sparling_method.resolve(&c, &given, root, &err), STATUS_OK);
    assert_true(c.density_final == 0.004 && c.channels_motif == 2 && c.density_factor == fitted.density_factor);
    assert_true(c.density_start > 0.0039 / pow(0.75, 8) && c.density_start < 0.0041 / pow(0.75, 8));
    assert_true(c.plateau_density > sparling_last_density(&c) && c.plateau_density < 0.005);
    /* The hash shows that the computed fields belong to other data, so all of these fields are computed again. */
    given.context = all;
    strcpy(c.dataset.hash, "0000");
    assert_int_equal(sparling_method.resolve(&c, &given, root, &err), STATUS_OK);
    assert_true(c.density_final == fitted.density_final && c.density_start == fitted.density_start);
}

/* With the presence objective, the schedule begins at three times the last density. */
static void presence_objective_shortens_the_schedule(void **state)
{
    static const struct config_setting presence[] = {
        {"presence_weight", "1"}, {"presence_samples", "100"}, {"reinitialise_below", "0.1"}, {NULL, NULL}};
    struct sparling_config c = configured(presence), without = configured(NULL);
    int faults = 0;
    resolve(&c);
    resolve(&without);
    assert_true(c.density_final == without.density_final && c.density_start < 3.01 * c.density_final);
    assert_int_equal(sparling_stages(&c), 3);
    assert_int_equal(sparling_stages(&without), 9);
    assert_true(c.reinitialise_below == 0 && c.plateau_density > sparling_last_density(&c));
    /* motifs of sequences may be long: the window has 4 * 4 + 15 = 31 positions */
    assert_true(c.units == 4 && c.first_window == 15 && c.width == 32);
    assert_true(without.units == 1 && without.first_window == 1 && without.width == 8);
    assert_true(!c.never_empty); /* false, because never_empty needs a calibration */
    /* sequences of letters get a low learning rate and many samples */
    assert_true(c.learning_rate == 5e-4 && c.presence_sharpness == 2 && c.tally_weight == 1);
    assert_true(c.total_samples == 280000 && c.reading_samples == 40000 && c.presence_samples == 100000 &&
                without.total_samples < 1000);
    static const char *const units[] = {"units", "learning_rate", "total_samples", NULL};
    struct method_given given = {in_list, units};
    struct error err = {0};
    c = configured(presence);
    assert_int_equal(sparling_method.resolve(&c, &given, root, &err), STATUS_OK);
    assert_true(c.units == 1 && c.learning_rate == without.learning_rate);
    assert_true(c.total_samples == without.total_samples && c.presence_samples == 100000);
    sparling_check(&c, &(struct method_faults){&faults, count_fault});
    assert_int_equal(faults, 0);
}

static void the_head_of_bases_reads_ranks_and_a_motif_floor(void **state)
{
    static const struct config_setting settings[] = {
        {"presence_weight", "1"}, {"presence_samples", "100"},        {"attend", "active"},
        {"motif_scale", "rms"},   {"embed_order", "pool-then-embed"}, {NULL, NULL}};
    static const char *const chosen[] = {"motif_floor", "rank_positions", NULL};
    const struct method_given given = {in_list, chosen};
    struct sparling_config c = configured(settings), own = c;
    resolve(&c);
    assert_true(c.motif_floor == 1 && c.rank_positions);
    assert_int_equal(sparling_method.resolve(&own, &given, root, NULL), STATUS_OK);
    assert_true(own.motif_floor == 0 && !own.rank_positions);
}

/* Sequences with an empty label may have an empty map. */
static void a_map_is_never_empty_only_if_no_label_is(void **state)
{
    static const struct config_setting named[] = {
        {"presence_weight", "1"}, {"presence_samples", "100"}, {"calibrate", "true"}, {NULL, NULL}};
    static const struct config_setting binding[] = {{"presence_weight", "1"},
                                                    {"presence_samples", "100"},
                                                    {"calibrate", "true"},
                                                    {"dataset_name", "binding"},
                                                    {NULL, NULL}};
    static const char *const chosen[] = {"never_empty", NULL};
    struct method_given given = {in_list, chosen};
    struct sparling_config c = configured(named), d = configured(binding), own = configured(named);
    resolve(&c);
    resolve(&d);
    assert_true(c.never_empty && !d.never_empty);
    assert_int_equal(sparling_method.resolve(&own, &given, root, NULL), STATUS_OK);
    assert_true(!own.never_empty);
}

static void maps_of_bases_have_no_more_motifs_than_labels_have_names(void **state)
{
    static const struct config_setting named[] = {
        {"presence_weight", "1"}, {"presence_samples", "100"}, {"calibrate", "true"}, {NULL, NULL}};
    static const struct dataset_facts facts[] = {{.ordered = true, .most = 5},  {.counts = true, .most = 3},
                                                 {.set = true, .most = 4},      {.classes = true, .most = 1},
                                                 {.ordered = true, .most = 65}, {.ordered = true, .most = 1}};
    static const int64_t motifs[] = {5, 3, 0, 0, 0, 0}, names[] = {0, 0, 4, 0, 0, 1};
    struct sparling_config c = configured(named);
    resolve(&c);
    assert_true(c.dataset.channels == 4 && c.most_motifs == c.dataset.longest && c.most_names == 0);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        struct dataset_facts bases = facts[i];
        bases.letters = true;
        c.most_motifs = c.most_names = 0;
        dataset_fit(&c, NULL, &bases);
        assert_true(c.most_motifs == motifs[i] && c.most_names == names[i]);
    }
    c.dataset.channels = 20; /* amino acids */
    dataset_fit(&c, NULL, &facts[0]);
    assert_true(c.most_motifs == 0);
}

static void letters_are_replaced_only_if_labels_are_counts(void **state)
{
    static const struct config_setting named[] = {{"presence_weight", "1"}, {"presence_samples", "100"}, {NULL, NULL}};
    static const char *const chosen[] = {"replace_letters", NULL};
    const struct method_given given = {in_list, chosen};
    struct sparling_config c = configured(named);
    resolve(&c);
    assert_true(c.dataset.replace_letters == 0 && c.dataset.channels == 4);
    struct dataset_facts facts = {.mean = 1, .counts = true, .letters = true};
    dataset_fit(&c, &given, &facts);
    assert_true(c.dataset.replace_letters == 0);
    dataset_fit(&c, NULL, &facts);
    assert_true(c.dataset.replace_letters == 0.1);
}

static void head_of_a_large_map_sees_about_a_thousand_positions(void **state)
{
    static const struct config_setting lengthy[] = {{"dataset_name", "lengthy"}, {NULL, NULL}};
    static const char *const pool[] = {"pool", NULL};
    struct method_given given = {in_list, pool};
    struct error err = {0};
    struct sparling_config c = configured(lengthy), small = configured(NULL);
    resolve(&c);
    resolve(&small);
    assert_int_equal(c.pool, 6);
    assert_int_equal(small.pool, 4);
    c = configured(lengthy);
    assert_int_equal(sparling_method.resolve(&c, &given, root, &err), STATUS_OK);
    assert_int_equal(c.pool, 4);
}

static void effort_sets_what_the_client_does_not_give(void **state)
{
    static const struct config_setting quick[] = {{"presence_weight", "1"},    {"presence_samples", "60000"},
                                                  {"total_samples", "140000"}, {"patience", "8"},
                                                  {"effort", "quick"},         {NULL, NULL}},
                                       thorough[] = {{"presence_weight", "1"},
                                                     {"presence_samples", "60000"},
                                                     {"total_samples", "140000"},
                                                     {"effort", "thorough"},
                                                     {NULL, NULL}};
    static const char *const own[] = {"patience", NULL};
    struct method_given given = {in_list, own};
    struct sparling_config a = configured(quick), b = configured(thorough), c = configured(quick);
    struct error err = {0};
    resolve(&a);
    resolve(&b);
    assert_int_equal(sparling_method.resolve(&c, &given, root, &err), STATUS_OK);
    assert_true(a.total_samples < 140000 && b.total_samples > 140000);
    assert_true(a.starts == 1 && b.starts == 3 && a.patience < 8 && b.patience > 8);
    assert_int_equal(c.patience, 8);
}

static void a_label_in_alphabetical_order_is_the_same_on_the_other_strand(void **state)
{
    struct sparling_config c = configured((struct config_setting[]){{"dataset_name", "sorted"}, {NULL, NULL}});
    struct open_domain domain;
    struct domain_truth *truths;
    float planes[4 * BASES];
    int pairs = 0;
    resolve(&c);
    assert_int_equal(domain_open(&c, root, &domain, NULL), STATUS_OK);
    assert_true(domain.domain->turns(domain.state));
    assert_int_equal(domain_truths_create(&domain.shape, 1, &truths, NULL), STATUS_OK);
    for (int i = 0; i < 20; i++) {
        struct domain_request request = {.set = DOMAIN_LESSON, .seed = 5, .index = i, .seen = i, .turned = true};
        assert_int_equal(domain_sample(&domain, &request, planes, truths, NULL), STATUS_OK);
        assert_true(truths->length < 2 || truths->label[0] <= truths->label[1]);
        pairs += truths->length == 2 && truths->label[0] != truths->label[1];
    }
    assert_true(pairs > 0);
    domain_truths_destroy(truths);
    domain_close(&domain);
}

/* The bases are complemented and in reverse order, ordered labels are reversed, and the padding stays in place. */
static void a_turned_sample_is_the_other_strand(void **state)
{
    struct sparling_config c = configured(NULL);
    struct open_domain domain;
    struct domain_truth *truths;
    float one[4 * BASES], other[4 * BASES];
    int reversed = 0;
    resolve(&c);
    assert_int_equal(domain_open(&c, root, &domain, NULL), STATUS_OK);
    assert_true(domain.domain->turns(domain.state));
    assert_int_equal(domain_truths_create(&domain.shape, 2, &truths, NULL), STATUS_OK);
    for (int i = 0; i < 20; i++) {
        struct domain_request request = {.set = DOMAIN_LESSON, .seed = 5, .index = i, .seen = i};
        int length = 0;
        assert_int_equal(domain_sample(&domain, &request, one, &truths[0], NULL), STATUS_OK);
        request.turned = true;
        assert_int_equal(domain_sample(&domain, &request, other, &truths[1], NULL), STATUS_OK);
        for (int p = 0; p < BASES; p++)
            length += one[p] + one[BASES + p] + one[2 * BASES + p] + one[3 * BASES + p] > 0;
        assert_true(length >= BASES - 2);
        for (int base = 0; base < 4; base++)
            for (int p = 0; p < BASES; p++)
                assert_true(other[base * BASES + p] ==
                            (p < length ? one[(3 - base) * BASES + length - 1 - p] : one[base * BASES + p]));
        assert_int_equal(truths[0].length, truths[1].length);
        for (int j = 0; j < truths[0].length; j++)
            assert_int_equal(truths[1].label[j], truths[0].label[truths[0].length - 1 - j]);
        reversed += truths[0].length == 2 && truths[0].label[0] != truths[0].label[1];
    }
    assert_true(reversed > 0);
    domain_truths_destroy(truths);
    domain_close(&domain);
}

/* A random base equals the old one in about a quarter of the cases, and one that is left out leaves its place empty.
 * Labels, validation samples and padding do not change. */
static void replaced_letters_change_training_samples_only(void **state)
{
    static const struct config_setting half[] = {{"replace_letters", "0.4"}, {"drop_letters", "0.2"}, {NULL, NULL}};
    static const char *const own[] = {"replace_letters", "drop_letters", NULL};
    struct method_given given = {in_list, own};
    struct sparling_config c = configured(NULL), other = configured(half);
    struct open_domain plain, replaced;
    struct domain_truth *truths;
    float one[4 * BASES], two[4 * BASES], again[4 * BASES];
    struct error err = {0};
    int changed = 0, all = 0, dropped = 0;
    resolve(&c);
    assert_int_equal(sparling_method.resolve(&other, &given, root, &err), STATUS_OK);
    assert_true(other.dataset.replace_letters == 0.4);
    assert_int_equal(domain_open(&c, root, &plain, NULL), STATUS_OK);
    assert_int_equal(domain_open(&other, root, &replaced, NULL), STATUS_OK);
    assert_int_equal(domain_truths_create(&plain.shape, 2, &truths, NULL), STATUS_OK);
    for (int i = 0; i < 60; i++) {
        struct domain_request request = {.set = DOMAIN_LESSON, .seed = 5, .index = i, .seen = i};
        assert_int_equal(domain_sample(&plain, &request, one, &truths[0], NULL), STATUS_OK);
        assert_int_equal(domain_sample(&replaced, &request, two, &truths[1], NULL), STATUS_OK);
        assert_int_equal(domain_sample(&replaced, &request, again, &truths[1], NULL), STATUS_OK);
        assert_memory_equal(two, again, sizeof two);
        assert_int_equal(truths[0].length, truths[1].length);
        assert_memory_equal(truths[0].label, truths[1].label, (size_t)truths[0].length * sizeof *truths[0].label);
        for (int p = 0; p < BASES; p++) {
            float before = 0, after = 0, same = 0;
            for (int base = 0; base < 4; base++) {
                before += one[base * BASES + p];
                after += two[base * BASES + p];
                same += one[base * BASES + p] * two[base * BASES + p];
            }
            assert_true(before == after || after == 0);
            all += before > 0;
            dropped += before > after;
            changed += after > 0 && same == 0;
        }
        struct domain_request validation = {.set = DOMAIN_SAMPLE, .seed = VALIDATION_SEED, .index = i};
        assert_int_equal(domain_sample(&plain, &validation, one, &truths[0], NULL), STATUS_OK);
        assert_int_equal(domain_sample(&replaced, &validation, two, &truths[1], NULL), STATUS_OK);
        assert_memory_equal(one, two, sizeof one);
    }
    assert_true(all > 500 && fabs(changed / (double)all - 0.4 * 0.75) < 0.06 &&
                fabs(dropped / (double)all - 0.2) < 0.06);
    domain_truths_destroy(truths);
    domain_close(&plain);
    domain_close(&replaced);
}

static void look_at_nothing(void *context, struct method_run *run) {}

/* Validations of the first phase read each sample on both strands until they have shown on which strands motifs lie. */
static void the_other_strand_is_decided_by_validations(void **state)
{
    static const struct config_setting presence[] = {{"presence_weight", "1"},  {"presence_samples", "32"},
                                                     {"other_strand", "true"},  {"replace_letters", "0.2"},
                                                     {"learning_rate", "1e-3"}, {NULL, NULL}};
    struct sparling_config c = configured(presence);
    static const char *const few[] = {"total_samples", "presence_samples", "learning_rate", "replace_letters", NULL};
    struct method_given given = {in_list, few};
    struct run_env_witness one, two;
    struct error err = {0};
    int steps, fewer;
    assert_int_equal(sparling_method.resolve(&c, &given, root, &err), STATUS_OK);
    struct run_env_plan plan = {
        .method = &sparling_method, .config = &c, .data = root, .threads = 1, .look = look_at_nothing};
    if (run_env_run(&plan, &one, &steps, &err))
        fail_msg("%s %s", err.pointer, err.message);
    plan.threads = 2;
    plan.every = 3;
    if (run_env_run(&plan, &two, &fewer, &err))
        fail_msg("%s %s", err.pointer, err.message);
    assert_string_equal(one.weights, two.weights);
    c.other_strand = false;
    plan.every = 0;
    if (run_env_run(&plan, &two, &fewer, &err))
        fail_msg("%s %s", err.pointer, err.message);
    assert_true(steps >= fewer);
}

/* The channels' shares of the density and the weights of the names are computed from the labels of the training part
 * only. */
static void channels_follow_the_frequencies_of_their_names(void **state)
{
    static const struct config_setting by_name[] = {
        {"presence_weight", "1"}, {"density_by_name", "true"}, {NULL, NULL}};
    struct sparling_config c = configured(by_name);
    struct run_env host;
    struct error err = {0};
    struct method_run *run;
    resolve(&c);
    if (run_env_open(&host, 1, NULL, &err))
        fail_msg("%s", err.message);
    host.env.data = root;
    if (sparling_method.create(&c, &host.env, &run, &err))
        fail_msg("%s", err.message);
    const struct domain *domain = run->domain.domain;
    double count[2], share[2];
    assert_true(domain->frequencies(run->domain.state, count, share) > 0);
    /* Counts the names in many samples, to compare the counts with the frequencies. The label of one record in six
     * contains "left" twice. */
    double drawn[2] = {0}, labels[2] = {0};
    float planes[4 * BASES];
    struct domain_truth *truth;
    assert_int_equal(domain_truths_create(&run->domain.shape, 1, &truth, NULL), STATUS_OK);
    enum { DRAWN = 20000 };
    for (int i = 0; i < DRAWN; i++) {
        struct domain_request request = {.seed = 1, .index = i};
        bool occurs[2] = {false, false};
        assert_int_equal(domain_sample(&run->domain, &request, planes, truth, NULL), STATUS_OK);
        for (int j = 0; j < truth->length; j++) {
            drawn[truth->label[j]] += 1.0 / DRAWN;
            occurs[truth->label[j]] = true;
        }
        for (int k = 0; k < 2; k++)
            labels[k] += occurs[k] ? 1.0 / DRAWN : 0;
    }
    domain_truths_destroy(truth);
    for (int k = 0; k < 2; k++) {
        assert_true(fabs(count[k] - drawn[k]) < 0.02 && fabs(share[k] - labels[k]) < 0.02);
        double mean = (count[0] + count[1]) / 2, odds = (1 - share[k]) / share[k];
        assert_true(fabs(run->presence.share[k] - count[k] / mean) < 1e-12);
        assert_true(fabs((double)run->presence.weight[k] - fmin(20, fmax(1, odds))) < 1e-5);
    }
    assert_true(count[0] > 1.2 * count[1]); /* otherwise the comparison would prove nothing */
    sparling_method.destroy(run);
    run_env_close(&host);
}

static void look_at_binary(void *context, struct method_run *run)
{
    assert_true(run->domain.shape.tokens == 1 && run->config.channels_motif == 1);
    assert_true(run->evaluation.row[0].exact >= 0 && run->evaluation.row[0].e2ee >= 0);
    ++*(int *)context;
}

/* The data have a single name, "bound". Samples that are not bound have an empty label. */
static void labels_of_one_name_are_accepted(void **state)
{
    static const struct config_setting binary[] = {
        {"dataset_name", "binding"}, {"presence_weight", "1"}, {"presence_samples", "32"}, {NULL, NULL}};
    struct sparling_config c = configured(binary);
    struct run_env_witness one, two;
    struct error err = {0};
    int looked = 0, steps, faults = 0;
    static const char *const few[] = {"total_samples", "presence_samples", NULL};
    struct method_given given = {in_list, few};
    assert_int_equal(sparling_method.resolve(&c, &given, root, &err), STATUS_OK);
    sparling_check(&c, &(struct method_faults){&faults, count_fault});
    assert_int_equal(faults, 0);
    struct run_env_plan plan = {.method = &sparling_method,
                                .config = &c,
                                .data = root,
                                .threads = 1,
                                .look = look_at_binary,
                                .context = &looked};
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
                                       cmocka_unit_test(fields_that_the_client_gives_keep_their_values),
                                       cmocka_unit_test(presence_objective_shortens_the_schedule),
                                       cmocka_unit_test(the_head_of_bases_reads_ranks_and_a_motif_floor),
                                       cmocka_unit_test(a_map_is_never_empty_only_if_no_label_is),
                                       cmocka_unit_test(maps_of_bases_have_no_more_motifs_than_labels_have_names),
                                       cmocka_unit_test(letters_are_replaced_only_if_labels_are_counts),
                                       cmocka_unit_test(head_of_a_large_map_sees_about_a_thousand_positions),
                                       cmocka_unit_test(effort_sets_what_the_client_does_not_give),
                                       cmocka_unit_test(a_turned_sample_is_the_other_strand),
                                       cmocka_unit_test(a_label_in_alphabetical_order_is_the_same_on_the_other_strand),
                                       cmocka_unit_test(replaced_letters_change_training_samples_only),
                                       cmocka_unit_test(the_other_strand_is_decided_by_validations),
                                       cmocka_unit_test(channels_follow_the_frequencies_of_their_names),
                                       cmocka_unit_test(labels_of_one_name_are_accepted),
                                       cmocka_unit_test(run_gives_same_bits_with_threads_and_pauses)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
