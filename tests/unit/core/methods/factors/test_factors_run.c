/* Tests runs of factors: tables, restarts, results, artifacts,
 * queries, faults. */
#include <math.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/data/tables/features.h"
#include "core/data/uploads/collection.h"
#include "core/methods/registry.h"
#include "core/methods/factors/run.h"
#include "core/methods/factors/run_int.h"
#include "tests/support/run_test.h"
#include "tests/support/short_runs.h"
#include "tests/support/stored_set.h"
#include "tests/support/method_ask.h"

static const struct method *const method = &factors_method;

static void configure(struct factors_config *config, const struct config_setting *settings)
{
    run_test_configure(method, config, settings);
}

static struct method_run *start(struct run_env *environment, const struct factors_config *config)
{
    return run_test_start(method, environment, config);
}

static const struct config_setting table[] = {
    {"data", "ratings"}, {"dataset_name", "films"}, {"likelihood", "softmax"},  {"features", "20"},
    {"folds", "2"},      {"latent", "3"},           {"hidden", "10"},           {"epochs", "4"},
    {"batch", "16"},     {"nmf_iterations", "6"},   {"checkpoint_every", "60"}, {NULL, NULL}};
static const struct config_setting shifted[] = {{"data", "shifted"},
                                                {"dataset_name", "papers"},
                                                {"likelihood", "softmax"},
                                                {"topics", "2"},
                                                {"warm_up", "2"},
                                                {"precision", "bf16"},
                                                {"latent", "3"},
                                                {"hidden", "8"},
                                                {"batch", "16"},
                                                {"epochs", "4"},
                                                {"checkpoint_every", "60"},
                                                {NULL, NULL}};
static char data_root[64];

/* The text of a table in CSV, which grows by each number. */
struct sheet {
    char text[1 << 16];
    size_t used;
};

static void add(struct sheet *s, const char *text)
{
    s->used += (size_t)snprintf(s->text + s->used, sizeof s->text - s->used, "%s", text);
}

static void add_number(struct sheet *s, int number, bool last)
{
    s->used += (size_t)snprintf(s->text + s->used, sizeof s->text - s->used, last ? "%d\n" : "%d,", number);
}

static int put(const char *name, const struct sheet *s, const char *const *ids)
{
    char path[128];
    struct error error = {0};
    snprintf(path, sizeof path, "%s/%s", data_root, name);
    enum status status = stored_set_with_ids(path, "csv", s->text, ids, &error);
    if (status)
        print_error("%s\n", error.message);
    return status ? -1 : 0;
}

/* Sixty papers of eight words each. Papers of one kind use two of the words more often. */
static int make_papers(struct sheet *s)
{
    add(s, "one,two,three,four,five,six,seven,eight\n");
    for (int d = 0; d < 60; d++)
        for (int word = 0; word < 8; word++) {
            int n = (word - d % 4 * 2 + 8) % 8;
            add_number(s, n < 2 ? 9 : n < 6 ? 1 + (d + n) % 2 : 0, word == 7);
        }
    return put("papers", s, NULL);
}

/* Forty abstracts with titles, of two kinds with three words each. */
static int make_news(struct sheet *s)
{
    static char titles[40][16];
    const char *ids[41] = {NULL};
    add(s, "frost,heat,cold,sand,snow,warm\n");
    for (int d = 0; d < 40; d++) {
        snprintf(titles[d], sizeof titles[d], d % 2 ? "ice %d" : "sun %d", d);
        ids[d] = titles[d];
        for (int word = 0; word < 6; word++)
            add_number(s, word % 2 == d % 2 ? 0 : word < 2 && d % 4 >= 2 ? 2 : 1, word == 5);
    }
    return put("news", s, ids);
}

/* The ratings of users who like the films of one of two kinds. */
static int make_films(struct sheet *s)
{
    for (int m = 0; m < 60; m++) {
        char name[16];
        snprintf(name, sizeof name, m < 59 ? "film%d," : "film%d\n", m);
        add(s, name);
    }
    for (int u = 0; u < 80; u++)
        for (int m = 0; m < 60; m++)
            add_number(s, m % 2 == u % 2 && (u * 7 + m * 5) % 11 < 9, m == 59);
    return put("films", s, NULL);
}

/* Houses, whose columns have sizes from 1 to 400,000. Area, rooms and price follow one number, and the year another. */
static int make_houses(struct sheet *s)
{
    add(s, "area,rooms,year,tax,price\n");
    for (int i = 0; i < 200; i++) {
        int large = i * 37 % 101, young = i * 53 % 97;
        add_number(s, 50 + 2 * large + i % 5, false);
        add_number(s, 2 + large / 12, false);
        add_number(s, 1920 + young, false);
        add_number(s, 300 + 20 * young + i % 7 * 9, false);
        add_number(s, 90000 + 3000 * large + 1000 * (i % 11), true);
    }
    return put("houses", s, NULL);
}

static int make_data(void **state)
{
    strcpy(data_root, "/tmp/motif-factors-XXXXXX");
    return !mkdtemp(data_root) || make_films(&(struct sheet){.used = 0}) || make_papers(&(struct sheet){.used = 0}) ||
                   make_news(&(struct sheet){.used = 0}) || make_houses(&(struct sheet){.used = 0})
               ? -1
               : 0;
}

static int remove_data(void **state)
{
    static const char *const folders[] = {"films", "papers", "news", "houses"};
    char path[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s/" COLLECTION_FILE, data_root, folders[i]);
        unlink(path);
        snprintf(path, sizeof path, "%s/%s", data_root, folders[i]);
        rmdir(path);
    }
    return rmdir(data_root);
}

struct witness {
    struct run_env_witness same;
    struct outcome outcome;
    int steps;
};

static void take_outcome(void *context, struct method_run *run)
{
    ((struct witness *)context)->outcome = run->outcome;
}

static const struct run_test test = {&factors_method, data_root, take_outcome};

static void run_through(const struct config_setting *settings, int threads, int every, struct witness *w)
{
    w->steps = run_test_through(&test, settings, threads, every, w, &w->same);
}

static void run_vary(const struct config_setting *settings, const char *field, const char *value, struct witness *w)
{
    struct config_setting all[RUN_TEST_SETTINGS];
    run_test_vary(settings, field, value, all);
    run_through(all, 2, 0, w);
}

static void tables_give_the_same_bits_for_any_threads_and_pauses(void **state)
{
    struct config_setting nmf[RUN_TEST_SETTINGS], drawn[RUN_TEST_SETTINGS];
    run_test_vary(table, "model", "nmf", nmf);
    run_test_vary(shifted, "model", "vsc", drawn);
    const struct config_setting *const masked[] = {table, nmf, shifted}, *const others[] = {drawn};
    run_test_bits(&test, masked, sizeof masked / sizeof masked[0], 2);
    run_test_bits(&test, others, 1, 0); /* this model has no mask to draw */
}

static const struct config_setting houses[] = {
    {"data", "cells"}, {"dataset_name", "houses"}, {"latent", "3"},        {"hidden", "24"},
    {"epochs", "150"}, {"features", "20"},         {"objective", "paper"}, {"checkpoint_every", "4000"},
    {NULL, NULL}};

/* What a question about a house gives in the units of the file. */
struct house {
    double output[5];
    int features, warnings;
};
static void house_open(void *context, const char *key) {}
static void house_close(void *context) {}
static void house_number(void *context, const char *key, double value)
{
    struct house *h = context;
    if (key && strcmp(key, "output") == 0 && h->features < 5)
        h->output[h->features++] = value;
}
static void house_integer(void *context, const char *key, int64_t value) {}
static void house_boolean(void *context, const char *key, bool value) {}
static void house_text(void *context, const char *key, const char *value)
{
    ((struct house *)context)->warnings += strcmp(value, "outside-range") == 0;
}
static void house_null(void *context, const char *key) {}

/* Trains a model of the houses, and asks about one of them. */
static void ask_about_a_house(const char *model_name, const char *scale, double *mse, struct house *house)
{
    struct config_setting all[RUN_TEST_SETTINGS], both[RUN_TEST_SETTINGS];
    struct factors_config config;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_model *model;
    enum method_request request = METHOD_CONTINUE;
    run_test_vary(houses, "model", model_name, all);
    run_test_vary(all, "scale", scale, both);
    configure(&config, both);
    assert_ok(method->resolve(&config, NULL, data_root, err));
    assert_ok(run_env_open(&environment, 2, NULL, err));
    environment.env.data = data_root;
    struct method_run *run = start(&environment, &config);
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    *mse = run->outcome.mse_mean;
    assert_ok(run_env_save(method, run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->open(&config, environment.env.kernels, NULL, &reader, &model, err));
    const float usual[] = {150, 6, 1970, 1300, 245000}, odd[] = {150, 6, 1970, 1300, 1e12F};
    struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {5}, .values = usual};
    const struct sink sink = {house,        house_open,    house_close,   house_open, house_close,
                              house_number, house_integer, house_boolean, house_text, house_null};
    *house = (struct house){.features = 0};
    assert_ok(method_ask(method, model, "predict", &input, &sink, err));
    assert_int_equal(house->features, 5);
    method->warn(model, &input, &sink);
    assert_int_equal(house->warnings, 0);
    input.values = odd;
    method->warn(model, &input, &sink);
    assert_int_equal(house->warnings, 1);
    method->close(model);
    run_env_bytes_close(&bytes);
    method->destroy(run);
    run_env_close(&environment);
}

static void numbers_of_any_size_are_learned_and_answered_in_their_units(void **state)
{
    static const struct {
        const char *model, *scale;
    } cases[] = {{"sparse-vae", "auto"}, {"sparse-vae", "robust"}, {"vae", "counts"}, {"nmf", "auto"}};
    for (int i = 0; i < 4; i++) {
        double mse;
        struct house h;
        ask_about_a_house(cases[i].model, cases[i].scale, &mse, &h);
        if (!(i == 3 || mse < 0.6) || !(h.output[4] > 150000 && h.output[4] < 400000) ||
            !(h.output[2] > 1850 && h.output[2] < 2050) || !(h.output[1] > 2 && h.output[1] < 11))
            fail_msg("%s %s: mse %g, rooms %g, year %g, price %g", cases[i].model, cases[i].scale, mse, h.output[1],
                     h.output[2], h.output[4]);
    }
}

static void scaled_tables_give_the_same_bits_for_any_threads_and_pauses(void **state)
{
    struct config_setting scaled[RUN_TEST_SETTINGS], quick[RUN_TEST_SETTINGS];
    run_test_vary(houses, "scaling", "standard", scaled);
    run_test_vary(scaled, "epochs", "4", quick);
    const struct config_setting *const all[] = {quick};
    run_test_bits(&test, all, 1, 0);
}

static void a_scale_that_does_not_fit_is_refused(void **state)
{
    struct factors_config config;
    struct error error = {0};
    configure(&config, table); /* softmax */
    config.scale = SCALE_STANDARD;
    assert_int_equal(method->resolve(&config, NULL, data_root, &error), STATUS_INVALID);
    assert_string_equal(error.pointer, "/config/scale");
    config.scale = SCALE_AUTO;
    assert_ok(method->resolve(&config, NULL, data_root, err));
    assert_int_equal(config.scaling, SCALE_NONE);
}

static void every_figure_is_measured(void **state)
{
    struct witness w;
    for (int sparse = 0; sparse < 2; sparse++) {
        run_vary(factors_several, "model", sparse ? "sparse-vae" : "vsc", &w);
        const struct outcome *o = &w.outcome;
        assert_true(o->mse > 0 && o->mse < 60 && o->mse_mean > 0 && o->dci >= 0 && o->dci <= 1);
        assert_true(isnan(o->nll) && isnan(o->support_f1) == !sparse && isnan(o->columns) == !sparse);
        assert_true(o->objective <= o->worst_objective);
        assert_true(o->restart >= 0 && o->restart < 3);
    }
}

static void all_models_are_measured_on_the_folds_of_a_table(void **state)
{
    static const char *const models[] = {"vae", "vsc", "oi-vae", "nmf", "sparse-vae"};
    struct witness w;
    for (int i = 0; i < 5; i++)
        for (int fold = 0; fold < 2; fold++) {
            struct config_setting own[RUN_TEST_SETTINGS];
            run_test_vary(table, "model", models[i], own);
            run_vary(own, "dataset", fold ? "1" : "0", &w);
            const struct outcome *o = &w.outcome;
            assert_true(isnan(o->mse) && isnan(o->dci) && isnan(o->accuracy));
            assert_true(o->nll > 0 && o->nll < 100 && o->recall >= 0 && o->recall <= 1 && o->ndcg >= 0 && o->ndcg <= 1);
            if (i == 3) /* nmf separates two kinds of films easily */
                assert_true(o->recall > 0.8);
        }
    struct factors_config config;
    struct run_env environment;
    struct method_run *run;
    enum method_request request;
    configure(&config, table);
    strcpy(config.dataset_name, "books");
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = data_root;
    run = start(&environment, &config);
    assert_int_equal(method->step(run, &request, NULL), STATUS_NOT_FOUND);
    method->destroy(run);
    run_env_close(&environment);
}

static void shifted_documents_differ_between_draws(void **state)
{
    double nll[2];
    for (int draw = 0; draw < 2; draw++) {
        struct witness w;
        run_vary(shifted, "dataset", draw ? "1" : "0", &w);
        nll[draw] = w.outcome.nll;
        assert_true(nll[draw] > 0 && nll[draw] < 200 && isnan(w.outcome.dci));
    }
    assert_true(fabs(nll[0] - nll[1]) > 1e-6);
}

/* Collects the topics of a result as text: the names in the lists `features` and `rows`. */
struct topics {
    char text[8192];
    bool listed; /* whether the current array is one of the two lists */
    int count;
};

static void topic_object(void *context, const char *key) {}
static void topic_end_object(void *context) {}
static void topic_number(void *context, const char *key, double value) {}
static void topic_boolean(void *context, const char *key, bool value) {}
static void topic_null(void *context, const char *key) {}
static void topic_integer(void *context, const char *key, int64_t value)
{
    ((struct topics *)context)->count += key && strcmp(key, "factor") == 0;
}
static void topic_list(void *context, const char *key)
{
    struct topics *t = context;
    t->listed = key && (strcmp(key, "features") == 0 || strcmp(key, "rows") == 0);
    if (t->listed)
        snprintf(t->text + strlen(t->text), sizeof t->text - strlen(t->text), "%s:", key);
}
static void topic_end_list(void *context)
{
    struct topics *t = context;
    if (t->listed)
        strcat(t->text, "\n");
    t->listed = false;
}
static void topic_text(void *context, const char *key, const char *value)
{
    struct topics *t = context;
    if (t->listed)
        snprintf(t->text + strlen(t->text), sizeof t->text - strlen(t->text), " %s", value);
}

static struct topics topics_of(const struct config_setting *settings)
{
    struct topics topics = {.count = 0};
    const struct sink sink = {&topics,      topic_object,  topic_end_object, topic_list, topic_end_list,
                              topic_number, topic_integer, topic_boolean,    topic_text, topic_null};
    struct factors_config config;
    struct run_env environment;
    enum method_request request = METHOD_CONTINUE;
    configure(&config, settings);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = data_root;
    struct method_run *run = start(&environment, &config);
    while (request != METHOD_DONE)
        assert_ok(method->step(run, &request, err));
    assert_ok(method->result(run, &sink, err));
    method->destroy(run);
    run_env_close(&environment);
    return topics;
}

static void a_result_names_words_and_titles_of_topics(void **state)
{
#define NEWS                                                                                                           \
    {"data", "abstracts"}, {"dataset_name", "news"}, {"likelihood", "softmax"},                                        \
    {                                                                                                                  \
        "latent", "2"                                                                                                  \
    }
    static const struct config_setting parts[] = {NEWS, {"model", "nmf"}, {"nmf_penalty", "0"}, {NULL, NULL}};
    /* With this penalty every weight counts as zero. The result must list rows for each topic even then. */
    static const struct config_setting dear[] = {
        NEWS, {"lambda0", "1000"}, {"lambda1", "100"}, {"epochs", "1"}, {"hidden", "4"}, {NULL, NULL}};
#undef NEWS
    struct topics t = topics_of(parts);
    bool last = false;
    assert_int_equal(t.count, 2);
    for (char *line = strtok(t.text, "\n"); line; line = strtok(NULL, "\n")) {
        /* names are listed in descending order of their values, so the first name is known */
        bool rows = strncmp(line, "rows:", 5) == 0;
        bool ice = strncmp(line, rows ? "rows: ice " : "features: frost", rows ? 10 : 15) == 0;
        bool sun = strncmp(line, rows ? "rows: sun " : "features: heat", rows ? 10 : 14) == 0;
        if (ice == sun || (rows && ice != last))
            fail_msg("not of one kind: %s", line);
        last = ice;
    }
    t = topics_of(dear);
    assert_int_equal(t.count, 2);
    assert_non_null(strstr(t.text, "rows: "));
}

/* Training on the synthetic data reaches a low error, finds the factors and uses few columns. */
static void training_finds_the_synthetic_factors(void **state)
{
    struct witness w;
    static const struct config_setting settings[] = {
        {"restarts", "6"}, {"screen_epochs", "50"}, {"epochs", "150"}, {NULL, NULL}};
    static const struct config_setting exact[] = {
        {"restarts", "6"}, {"screen_epochs", "50"}, {"epochs", "150"}, {"zeros", "skip"}, {NULL, NULL}};
    run_through(exact, 2, 0, &w);
    /* `zeros` = skip makes weights exactly 0; if it did so too early, no weight would remain and the error would stay
     * high */
    if (!(w.outcome.mse < 1 && w.outcome.dci > 0.8))
        fail_msg("exact zeros: mse %g, dci %g", w.outcome.mse, w.outcome.dci);
    run_through(settings, 2, 0, &w);
    const struct outcome *o = &w.outcome;
    if (!(o->mse < 1 && o->dci > 0.9 && o->columns <= 4 && o->support_f1 > 0.6))
        fail_msg("mse %g, dci %g, columns %g, f1 %g", o->mse, o->dci, o->columns, o->support_f1);
    assert_true(o->objective < o->worst_objective);
    assert_true(o->anchors_found > 0.5 && o->anchors_found <= 1 && o->factors_apart > 0 && o->factors_apart <= 1);
}

/* Returns the factor that feeds a feature; -1 if none or more than one feeds it. mask: the feature's row. */
static int only_factor(const float *mask, int k)
{
    int own = -1, fed = 0;
    for (int c = 0; c < k; c++)
        if (mask[c] != 0) {
            own = c;
            fed++;
        }
    return fed == 1 ? own : -1;
}

/* Computes `anchors_apart` by its definition: for each pair of features, a sum over all training rows. *anchors: number
 * of features with one factor. */
static double plain_anchors_apart(const struct method_run *run, int *anchors)
{
    const struct features *f = run->features;
    int g = f->columns, k = (int)run->config.latent, asked = 0, right = 0;
    float *mask = calloc((size_t)g * (size_t)k, sizeof *mask);
    double *mean = calloc((size_t)g, sizeof *mean);
    assert_true(mask != NULL && mean != NULL && case_mask(run, mask));
    features_moments(f, mean, NULL);
    *anchors = 0;
    for (int j = 0; j < g; j++) {
        double same = -1, other = -1;
        int own = only_factor(mask + (ptrdiff_t)j * k, k);
        for (int l = 0; l < g && own >= 0; l++) {
            double sum = 0;
            for (int i = 0; i < run->data.train_count; i++) {
                const float *x = f->x + (ptrdiff_t)run->data.train[i] * g;
                sum += ((double)x[j] - mean[j]) * ((double)x[l] - mean[l]);
            }
            bool shared = only_factor(mask + (ptrdiff_t)l * k, k) == own;
            same = shared && l != j ? fmax(same, fabs(sum)) : same;
            other = shared ? other : fmax(other, fabs(sum));
        }
        *anchors += own >= 0;
        asked += same >= 0;
        right += same >= 0 && same > other;
    }
    free(mask);
    free(mean);
    return asked > 0 ? (double)right / asked : NAN;
}

static void compare_anchors(void *context, struct method_run *run)
{
    int anchors;
    double plain = plain_anchors_apart(run, &anchors);
    *(double *)context = plain;
    assert_true(anchors > 8); /* the run compares eight at once, so here it needs several rounds */
    assert_true(run->outcome.anchors_apart == plain);
}

static void anchors_are_compared_with_all_features(void **state)
{
    static const struct config_setting settings[] = {
        {"data", "ratings"},       {"dataset_name", "films"}, {"dataset_split", "published"},
        {"likelihood", "softmax"}, {"features", "43"},        {"latent", "3"},
        {"hidden", "10"},          {"epochs", "60"},          {"restarts", "1"},
        {"lambda0", "100"},        {"batch", "16"},           {NULL, NULL}};
    struct run_test compare = {.method = method, .data = data_root, .look = compare_anchors};
    struct run_env_witness same;
    double share = 0;
    (void)run_test_through(&compare, settings, 1, 0, &share, &same);
    if (!(share > 0 && share <= 1))
        fail_msg("share %g", share);
}

/* ---- configuration ------------------------------------------------------------------------------------ */

static void each_fault_names_its_field(void **state)
{
    static const struct run_test_wrong wrong[] = {
        {{{"lambda0", "0.5"}}, "lambda0"},
        {{{"zeros", "skip"}, {"prior", "horseshoe"}}, "zeros"},
        {{{"likelihood", "softmax"}}, "likelihood"},
        {{{"data", "ratings"}, {"dataset_name", "../up"}}, "dataset_name"},
        {{{"data", "shifted"}, {"dataset_name", "a"}, {"topics", "3"}}, "topics"},
        {{{"data", "cells"}, {"dataset_name", "a"}, {"dataset", "5"}}, "dataset"}};
    run_test_faults(method, wrong, sizeof wrong / sizeof wrong[0]);
    run_test_presets(method);
}

/* ---- queries ------------------------------------------------------------------------------------------ */

struct answer {
    double output[SYNTHETIC_FEATURES];
    int features, factors;
};

static void open_it(void *context, const char *key) {}
static void close_it(void *context) {}
static void number(void *context, const char *key, double value)
{
    struct answer *h = context;
    if (key && strcmp(key, "output") == 0 && h->features < SYNTHETIC_FEATURES)
        h->output[h->features++] = value;
    h->factors += key && strcmp(key, "mean") == 0;
}
static void integer(void *context, const char *key, int64_t value) {}
static void boolean(void *context, const char *key, bool value) {}
static void text(void *context, const char *key, const char *value) {}
static void null(void *context, const char *key) {}

static void a_checkpoint_answers_queries(void **state)
{
    static const struct config_setting settings[] = {{"epochs", "60"}, {NULL, NULL}};
    struct factors_config config;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_model *model;
    enum method_request request = METHOD_CONTINUE;
    configure(&config, settings);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    struct method_run *run = start(&environment, &config);
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    assert_ok(run_env_save(method, run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->open(&config, environment.env.kernels, NULL, &reader, &model, err));
    struct fit_view view;
    const int rows[] = {5};
    float values[SYNTHETIC_FEATURES];
    assert_ok(fit_view(case_fit(run), rows, 1, false, 0, &view, err));
    memcpy(values, view.x, sizeof values);
    struct answer answer = {0};
    const struct sink sink = {&answer, open_it, close_it, open_it, close_it, number, integer, boolean, text, null};
    struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {SYNTHETIC_FEATURES}, .values = values};
    assert_ok(method_ask(method, model, "predict", &input, &sink, err));
    assert_int_equal(answer.features, SYNTHETIC_FEATURES);
    assert_int_equal(answer.factors, 5);
    for (int j = 0; j < SYNTHETIC_FEATURES; j++)
        assert_true(fabs(answer.output[j] - (double)view.y[j]) < 1e-4);
    input.dim[0] = 6;
    assert_int_equal(method_ask(method, model, "predict", &input, &sink, NULL), STATUS_INVALID);
    input.dim[0] = SYNTHETIC_FEATURES;
    values[3] = NAN;
    assert_int_equal(method_ask(method, model, "predict", &input, &sink, NULL), STATUS_INVALID);
    input = (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = 4};
    assert_ok(method_ask(method, model, "predict", &input, &sink, err));
    input.seed = -1;
    assert_int_equal(method_ask(method, model, "predict", &input, &sink, NULL), STATUS_INVALID);
    assert_true(method->model_bytes(model) > 0);
    method->close(model);
    /* An evaluation on new rows gives nearly the same error. */
    double before = run->outcome.mse;
    struct method_evaluation what = {.samples = 2000, .seed = 99};
    assert_ok(method->begin_evaluation(run, &what, err));
    for (request = METHOD_CONTINUE; request != METHOD_DONE;)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    assert_true(run->outcome.mse != before && fabs(log(run->outcome.mse / before)) < 0.5);
    run_env_bytes_close(&bytes);
    method->destroy(run);
    run_env_close(&environment);
}

/* A checkpoint with inconsistent numbers, or of another configuration, is refused. */
static void inconsistent_checkpoints_are_refused(void **state)
{
    struct factors_config config, other;
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    enum method_request request;
    configure(&config, factors_skip);
    configure(&other, factors_skip);
    other.hidden = 20;
    assert_ok(run_env_open(&environment, 1, NULL, err));
    struct method_run *run = start(&environment, &config);
    for (int i = 0; i < 5; i++)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    for (int odd = 0; odd < 4; odd++) {
        int64_t chosen = run->multi_start.chosen, position = case_fit(run)->position;
        run->multi_start.chosen = odd == 1 ? -2 : chosen;
        case_fit(run)->position = odd == 2 ? 100000 : odd == 3 ? -1 : position;
        assert_ok(run_env_save(method, run, &bytes, err));
        run->multi_start.chosen = chosen;
        case_fit(run)->position = position;
        struct method_run *again = start(&environment, odd ? &config : &other);
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_int_equal(method->load(again, &reader, NULL), STATUS_CORRUPT);
        method->destroy(again);
    }
    run_env_bytes_close(&bytes);
    method->destroy(run);
    run_env_close(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_give_the_same_bits_for_any_threads_and_pauses),
        cmocka_unit_test(numbers_of_any_size_are_learned_and_answered_in_their_units),
        cmocka_unit_test(scaled_tables_give_the_same_bits_for_any_threads_and_pauses),
        cmocka_unit_test(a_scale_that_does_not_fit_is_refused),
        cmocka_unit_test(every_figure_is_measured),
        cmocka_unit_test(all_models_are_measured_on_the_folds_of_a_table),
        cmocka_unit_test(shifted_documents_differ_between_draws),
        cmocka_unit_test(a_result_names_words_and_titles_of_topics),
        cmocka_unit_test(training_finds_the_synthetic_factors),
        cmocka_unit_test(anchors_are_compared_with_all_features),
        cmocka_unit_test(each_fault_names_its_field),
        cmocka_unit_test(a_checkpoint_answers_queries),
        cmocka_unit_test(inconsistent_checkpoints_are_refused),
    };
    return cmocka_run_group_tests(tests, make_data, remove_data);
}
