/* Trains the reference on the samples of a run, and compares its answers with those of the run's model. */
#include "core/methods/sparling/evaluation/compare_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"
#include "core/metrics/clusters.h"
#include "core/metrics/edit_distance.h"
#include "core/metrics/regression.h"
#include "core/reference/reference.h"

enum { LEAST_TRAINING = 10 };

struct reference_pass {
    struct reference *reference;
    struct reference_shape shape;
    int added;                  /* samples of all parts */
    double *mean, *deviation;   /* [numbers] of the training part; two rows of scratch follow */
    int32_t *answer;            /* [names] scratch: an answer of the reference */
    float *standard;            /* [numbers] scratch: a sample's standardised numbers */
    struct domain_truth *truth; /* [test samples] labels and numbers point into `labels` and `numbers` */
    int32_t *labels;            /* [test samples][DOMAIN_LABEL] */
    float *numbers;             /* [test samples][numbers] standardised */
    unsigned char *cluster;     /* [test samples] cluster of the sample's group */
    int64_t (*net)[CLUSTERS];   /* [names + 1] samples that only the reference has right, less those that only the model
                                   has right; the last row is for whole labels */
    struct decoded *model;      /* [test samples] answers of the run's model; unused with numbers */
};

/* ---- sizes ------------------------------------------------------------------------------------------------ */

static struct reference_shape shape_of(const struct method_run *run)
{
    const struct domain_shape *s = &run->domain.shape;
    const struct evidence_sums *e = &run->evaluation.evidence.sums;
    struct reference_shape shape = {.channels = s->channels,
                                    .unordered = s->unordered,
                                    .words = s->words,
                                    .rows = s->rows,
                                    .cols = s->cols,
                                    .names = s->numbers > 0 ? 0 : s->tokens,
                                    .numbers = s->numbers,
                                    .exclusive = s->numbers == 0 && e->trained > 0 && e->longest <= 1,
                                    .samples = {(int)run->evaluation.reference.training,
                                                (int)run->config.validation_samples, (int)run->config.test_samples},
                                    .seed = (uint64_t)run->config.seed};
    reference_limit(&shape);
    return shape;
}

static bool wanted(const struct method_run *run)
{
    return run->config.reference && !run->direct && !run->domain.shape.positions &&
           run->evaluation.at == run->evaluation.rows - 1;
}

int64_t reference_pass_samples(const struct method_run *run)
{
    if (!wanted(run))
        return 0;
    const struct reference_shape s = shape_of(run);
    return s.samples[REFERENCE_TRAIN] < LEAST_TRAINING
               ? 0
               : (int64_t)s.samples[REFERENCE_TRAIN] + s.samples[REFERENCE_VALIDATION] + s.samples[REFERENCE_TEST];
}

double reference_pass_bytes(const struct sparling_config *config)
{
    const struct domain_shape s = domain_shape(config);
    struct reference_shape shape = {.channels = s.channels,
                                    .unordered = s.unordered,
                                    .words = s.words,
                                    .rows = s.rows,
                                    .cols = s.cols,
                                    .names = s.numbers > 0 ? 0 : s.tokens,
                                    .numbers = s.numbers,
                                    .exclusive = s.numbers == 0,
                                    .samples = {INT32_MAX, (int)config->validation_samples, (int)config->test_samples}};
    reference_limit(&shape);
    bool any = config->reference && !s.positions && shape.samples[REFERENCE_TRAIN] > 0;
    return any ? (double)reference_bytes(&shape) : 0;
}

/* Returns the part of sample `at`; *index becomes its index within the part. */
static enum reference_part part_at(const struct reference_shape *s, int64_t at, int64_t *index)
{
    int part = REFERENCE_TRAIN;
    for (; part < REFERENCE_TEST && at >= s->samples[part]; part++)
        at -= s->samples[part];
    *index = at;
    return (enum reference_part)part;
}

struct batch_request reference_pass_request(const struct method_run *run, int64_t first)
{
    const struct reference_shape s = shape_of(run);
    const int64_t seeds[REFERENCE_PARTS] = {run->config.seed, VALIDATION_SEED, TEST_SEED};
    int64_t index;
    enum reference_part part = part_at(&s, first, &index);
    int64_t left = s.samples[part] - index;
    return (struct batch_request){.seed = seeds[part],
                                  .first = index,
                                  .seen = index,
                                  .count = (int)(left < run->piece ? left : run->piece),
                                  .set = part == REFERENCE_TRAIN ? DOMAIN_TRAINING : DOMAIN_SAMPLE};
}

/* ---- what is kept ----------------------------------------------------------------------------------------- */

enum status reference_figures_open(struct method_run *run, struct error *err)
{
    struct reference_figures *f = &run->evaluation.reference;
    const struct domain *domain = run->domain.domain;
    size_t tokens = (size_t)run->domain.shape.tokens;
    double *count = calloc(2 * tokens + 1, sizeof *count);
    f->names = calloc(tokens + 1, sizeof *f->names);
    if (count != NULL && domain->frequencies != NULL && run->config.reference)
        f->training = domain->frequencies(run->domain.state, count, count + tokens);
    bool complete = count != NULL && f->names != NULL;
    free(count);
    return complete ? STATUS_OK : error_memory(err, "the reference");
}

void reference_figures_close(struct reference_figures *figures)
{
    free(figures->names);
    figures->names = NULL;
}

enum status reference_figures_declare(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct reference_figures *f = &run->evaluation.reference;
    const uint64_t tokens = (uint64_t)run->domain.shape.tokens;
    const struct snapshot_row rows[] = {
        SNAPSHOT_COLUMNS("evaluation.reference.figures", f, 1, exact, samples),
        SNAPSHOT_NUMBER("evaluation.reference.samples", &f->samples),
        SNAPSHOT_NUMBER("evaluation.reference.letters", &f->letters),
        SNAPSHOT_NUMBER("evaluation.reference.only", &f->label.reference),
        SNAPSHOT_NUMBER("evaluation.reference.only_model", &f->label.model),
        SNAPSHOT_NUMBER("evaluation.reference.p", &f->label.p),
        SNAPSHOT_COLUMN("evaluation.reference.name.p", f->names, tokens, p),
        SNAPSHOT_COLUMN("evaluation.reference.name.only", f->names, tokens, reference),
        SNAPSHOT_COLUMN("evaluation.reference.name.only_model", f->names, tokens, model),
    };
    return run->config.reference ? snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err)
                                 : STATUS_OK;
}

void reference_pass_drop(struct evaluation *evaluation)
{
    struct reference_pass *p = evaluation->reference.pass;
    evaluation->reference.pass = NULL;
    if (p == NULL)
        return;
    reference_destroy(p->reference);
    free(p->mean);
    free(p->standard);
    free(p->truth);
    free(p->labels);
    free(p->numbers);
    free(p->cluster);
    free(p->net);
    free(p->model);
    free(p->answer);
    free(p);
}

static enum status begin(struct method_run *run, struct error *err)
{
    struct reference_pass *p = calloc(1, sizeof *p);
    if (p == NULL)
        return error_memory(err, "the reference");
    run->evaluation.reference.pass = p;
    p->shape = shape_of(run);
    size_t tested = (size_t)p->shape.samples[REFERENCE_TEST], numbers = (size_t)p->shape.numbers;
    p->mean = calloc(4 * numbers + 1, sizeof *p->mean);
    p->standard = calloc(numbers + 1, sizeof *p->standard);
    p->truth = calloc(tested, sizeof *p->truth);
    p->labels = calloc(tested * DOMAIN_LABEL, sizeof *p->labels);
    p->numbers = calloc(tested * numbers + 1, sizeof *p->numbers);
    p->cluster = calloc(tested, sizeof *p->cluster);
    p->net = calloc((size_t)p->shape.names + 1, sizeof *p->net);
    p->model = calloc(tested, sizeof *p->model);
    p->answer = calloc((size_t)p->shape.names + 1, sizeof *p->answer);
    if (!p->mean || !p->standard || !p->truth || !p->labels || !p->numbers || !p->cluster || !p->net || !p->model ||
        !p->answer)
        return error_memory(err, "the reference");
    p->deviation = p->mean + numbers;
    if (numbers > 0)
        run->domain.domain->spread(run->domain.state, p->mean, p->deviation);
    return reference_create(&p->shape, run->env.kernels, run->env.pool, &p->reference, err);
}

/* ---- samples ---------------------------------------------------------------------------------------------- */

static void standardise(struct reference_pass *p, const float *numbers)
{
    for (int k = 0; k < p->shape.numbers; k++)
        p->standard[k] = p->deviation[k] > 0 ? (float)(((double)numbers[k] - p->mean[k]) / p->deviation[k]) : 0;
}

/* Keeps the truth of test sample i. */
static void keep_truth(struct reference_pass *p, size_t i, const struct domain_truth *truth)
{
    size_t numbers = (size_t)p->shape.numbers;
    struct domain_truth *kept = &p->truth[i];
    kept->length = truth->length;
    kept->label = p->labels + i * DOMAIN_LABEL;
    kept->number = p->numbers + i * numbers;
    memcpy(kept->label, truth->label, (size_t)truth->length * sizeof *kept->label);
    memcpy(kept->number, p->standard, numbers * sizeof *kept->number);
}

/* Lets the run's model answer a batch of test samples. */
static enum status ask_model(struct method_run *run, const struct batch *batch, struct decoded *answers,
                             struct error *err)
{
    struct exec *e = &run->exec;
    int count = batch->request.count;
    struct tensor *motifs = network_motifs(e, run->network, batch->images, count, 1);
    enum status status = exec_status(e, err);
    if (status)
        return status;
    struct network_memory memory = network_memory(e, run->network, motifs);
    return decode_greedy(e, run->network, &memory, count, sparling_decode_steps(&run->config), answers, err);
}

enum status reference_pass_add(struct method_run *run, const struct batch *batch, struct error *err)
{
    struct reference_figures *f = &run->evaluation.reference;
    double begun = run_clock();
    enum status status = STATUS_OK;
    if (f->pass == NULL) {
        f->seconds = 0;
        status = begin(run, err);
    }
    if (status)
        return status;
    struct reference_pass *p = f->pass;
    int64_t index;
    enum reference_part part = part_at(&p->shape, p->added, &index);
    status = reference_add(p->reference, batch->images, batch->request.count, err);
    for (int i = 0; !status && i < batch->request.count; i++) {
        const struct domain_truth *truth = &batch->truths[i];
        if (p->shape.numbers > 0) {
            standardise(p, truth->number);
            reference_numbers(p->reference, p->added + i, p->standard);
        } else {
            reference_label(p->reference, p->added + i, truth->label, truth->length);
        }
        if (part != REFERENCE_TEST)
            continue;
        keep_truth(p, (size_t)index + (size_t)i, truth);
        p->cluster[index + i] = (unsigned char)batch_cluster(&run->domain, batch, i);
    }
    f->seconds += run_clock() - begun;
    if (!status && part == REFERENCE_TEST && p->shape.numbers == 0)
        status = ask_model(run, batch, p->model + index, err);
    p->added += batch->request.count;
    return status;
}

/* ---- comparison ------------------------------------------------------------------------------------------- */

/* Returns whether labels list their names in another order than the vocabulary, or a name twice. */
static bool ordered(const struct reference_pass *p)
{
    for (int i = 0; i < p->shape.samples[REFERENCE_TEST]; i++)
        for (int k = 1; k < p->truth[i].length; k++)
            if (p->truth[i].label[k] <= p->truth[i].label[k - 1])
                return true;
    return false;
}

static bool contains(const int32_t *label, int length, int token)
{
    for (int i = 0; i < length; i++)
        if (label[i] == token)
            return true;
    return false;
}

static void count(struct reference_pair *pair, int64_t *net, bool reference, bool model)
{
    pair->reference += reference && !model;
    pair->model += model && !reference;
    *net += reference - model;
}

/* Sets the p-value of a pair. net: [CLUSTERS] */
static enum status test_pair(struct reference_pair *pair, const int64_t *net, bool grouped, struct error *err)
{
    double one = (double)pair->reference, other = (double)pair->model;
    if (grouped)
        return clusters_sign_test(net, CLUSTERS, &pair->p, err);
    pair->p = one + other > 0 ? 0.5 * erfc((one - other) / sqrt(2 * (one + other))) : 1;
    return STATUS_OK;
}

/* Compares the answers for one test sample, name by name. *right, *model: whether the names of the reference's answer,
 * and of the model's, are those of the label. */
static void compare_names(struct reference_figures *f, const struct reference_pass *p, int i, int length, bool *right,
                          bool *own)
{
    const struct domain_truth *truth = &p->truth[i];
    const struct decoded *model = &p->model[i];
    const int32_t *answer = p->answer;
    *right = *own = true;
    for (int t = 0; t < p->shape.names; t++) {
        bool has = contains(truth->label, truth->length, t), said = contains(answer, length, t) == has,
             modelled = contains(model->tokens, model->length, t + TOKEN_FIRST) == has;
        count(&f->names[t], &p->net[t][p->cluster[i]], said, modelled);
        *right &= said;
        *own &= modelled;
    }
}

static enum status compare_labels(struct reference_figures *f, const struct reference_pass *p, bool grouped,
                                  struct error *err)
{
    const int names = p->shape.names;
    enum status status = STATUS_OK;
    bool order = ordered(p);
    int64_t right = 0;
    double edit = 0;
    f->label = (struct reference_pair){0, 0, 1};
    memset(f->names, 0, (size_t)names * sizeof *f->names);
    for (int i = 0; i < p->shape.samples[REFERENCE_TEST]; i++) {
        const struct domain_truth *truth = &p->truth[i];
        bool said, model;
        int length = reference_answer(p->reference, i, p->answer);
        compare_names(f, p, i, length, &said, &model);
        if (!order)
            model = decoded_equals(&p->model[i], truth->label, truth->length);
        count(&f->label, &p->net[names][p->cluster[i]], said, model);
        right += said;
        edit += edit_error(p->answer, length, truth->label, truth->length);
    }
    f->exact = (double)right / p->shape.samples[REFERENCE_TEST];
    f->e2ee = order ? (double)NAN : edit / p->shape.samples[REFERENCE_TEST];
    f->r2 = f->r2_low = NAN;
    for (int t = 0; !status && t < names; t++)
        status = test_pair(&f->names[t], p->net[t], grouped, err);
    return status ? status : test_pair(&f->label, p->net[names], grouped, err);
}

static void compare_numbers(struct reference_figures *f, const struct reference_pass *p)
{
    struct regression sums = {0}, cluster[CLUSTERS] = {{0}};
    int numbers = p->shape.numbers;
    double *y = p->deviation + numbers, *x = y + numbers;
    for (int i = 0; i < p->shape.samples[REFERENCE_TEST]; i++) {
        const real *predicted = reference_predicted(p->reference, i);
        for (int k = 0; k < numbers; k++) {
            y[k] = (double)p->truth[i].number[k];
            x[k] = (double)predicted[k];
        }
        regression_add_all(&sums, y, x, numbers);
        regression_add_all(&cluster[p->cluster[i]], y, x, numbers);
    }
    f->r2 = regression_r2(&sums);
    f->r2_low = regression_r2_interval(&sums, cluster, 1.96).low;
    f->exact = f->e2ee = NAN;
}

enum status reference_pass_train(struct method_run *run, bool *done, struct error *err)
{
    struct reference_figures *f = &run->evaluation.reference;
    struct reference_pass *p = f->pass;
    double begun = run_clock();
    enum status status = reference_step(p->reference, done, err);
    f->seconds += run_clock() - begun;
    if (status || !*done)
        return status;
    f->samples = p->shape.samples[REFERENCE_TEST];
    f->letters = strcmp(reference_kind(p->reference), "letter-runs") == 0;
    if (p->shape.numbers > 0)
        compare_numbers(f, p);
    else
        status = compare_labels(f, p, domain_groups(&run->domain) > 1, err);
    return status;
}

struct reference *reference_pass_model(const struct evaluation *evaluation)
{
    return evaluation->reference.pass ? evaluation->reference.pass->reference : NULL;
}

void reference_figures_result(const struct method_run *run, const struct sink *out)
{
    const struct reference_figures *f = &run->evaluation.reference;
    if (f->samples == 0)
        return;
    sink_begin_object(out, "reference");
    sink_text(out, "kind", f->letters ? "letter-runs" : "random-convolutions");
    if (run->domain.shape.numbers > 0) {
        sink_number(out, "r2", f->r2);
    } else {
        sink_number(out, "e2ee", f->e2ee);
        sink_number(out, "exact", f->exact);
        sink_integer(out, "only_reference_right", f->label.reference);
        sink_integer(out, "only_model_right", f->label.model);
        sink_number(out, "p", f->label.p);
    }
    sink_integer(out, "samples", f->samples);
    sink_number(out, "seconds", f->seconds);
    sink_end_object(out);
}
