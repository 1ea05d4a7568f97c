/* Tests SPARLING with a label at every position: exact resume, figures, motif errors of shuffled positions ("errors of
 * chance"), queries, real genes. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/base/random/mt19937.h"
#include "core/data/splicing/splicing.h"
#include "core/draw/picture.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "core/methods/sparling/training/reinitialise.h"
#include "tests/support/assert_ok.h"
#include "tests/support/method_ask.h"
#include "tests/support/run_env.h"
#include "tests/support/text_sink.h"
#include "tests/support/topk_accuracy.h"

static const struct method *const method = &sparling_method;

/* This run has two stages of two validations each, then an evaluation with all its parts. */
static const struct config_setting tiny[] = {{"domain", "splicing"},
                                             {"splicing_length", "160"},
                                             {"splicing_flank", "30"},
                                             {"splicing_proteins", "3"},
                                             {"splicing_spacing", "20"},
                                             {"width", "8"},
                                             {"units", "1"},
                                             {"narrow_units", "1"},
                                             {"motifs", "6"},
                                             {"channels", "8"},
                                             {"context", "80"},
                                             {"motif_scale", "rms"},
                                             {"batch", "3"},
                                             {"learning_rate", "1e-2"},
                                             {"clip_norm", "1"},
                                             {"density_start", "0.2"},
                                             {"density_factor", "0.5"},
                                             {"density_final", "0.09"},
                                             {"plateau_validations", "1"},
                                             {"plateau_gain", "0.99"},
                                             {"plateau_density", "1e-9"},
                                             {"validation_every", "15"},
                                             {"validation_samples", "7"},
                                             {"checkpoint_every", "12"},
                                             {"total_samples", "60"},
                                             {"motif_samples", "8"},
                                             {"test_samples", "7"},
                                             {"stage_samples", "4"},
                                             {"chance_shuffles", "5"},
                                             {"chance_samples", "8"},
                                             {NULL, NULL}};

static void configure(struct sparling_config *config)
{
    memset(config, 0, sizeof *config);
    assert_ok(config_defaults(&sparling_config_table, config, err));
    assert_ok(config_apply(&sparling_config_table, config, tiny, err));
}

struct outcome {
    char hash[65];
    struct evaluation_row row[EVALUATION_MAX];
    struct chance chance;
    int64_t rows, boxes[7 * 6];
};

static void conclude(struct method_run *run, struct outcome *out)
{
    struct run_env_bytes bytes = {0};
    assert_ok(run_env_save(method, run, &bytes, err));
    assert_ok(run_env_weights_hash(&bytes, out->hash, err));
    run_env_bytes_close(&bytes);
    memcpy(out->row, run->evaluation.row, sizeof out->row);
    memcpy(out->boxes, run->evaluation.errors.boxes, sizeof out->boxes);
    out->chance = run->evaluation.chance;
    out->rows = run->evaluation.rows;
}

static struct method_run *start(struct run_env *environment, const struct sparling_config *config)
{
    struct method_run *run = NULL;
    assert_ok(method->create(config, &environment->env, &run, err));
    run->step_seconds = 0;
    return run;
}

/* Trains to the end, with the settings `more`. With `every`, saves and loads the run after every `every` steps. The
 * caller destroys the run. */
static struct method_run *run_with(const struct config_setting *more, struct run_env *environment, int threads,
                                   int every, struct outcome *out)
{
    struct sparling_config config;
    enum method_request request = METHOD_CONTINUE;
    memset(out, 0, sizeof *out);
    configure(&config);
    assert_ok(config_apply(&sparling_config_table, &config, more, err));
    assert_ok(run_env_open(environment, threads, NULL, err));
    struct method_run *run = start(environment, &config);
    for (int steps = 0; request != METHOD_DONE; steps++) {
        assert_true(steps < 5000);
        assert_ok(run_env_step(environment, method, run, &request, err));
        /* A load restarts the part of the evaluation that shuffles positions (PART_CHANCE). With reloads in this part,
         * it would never end, so the test makes none there. */
        if (every && steps % every == every - 1 && request != METHOD_DONE && run->evaluation.part != PART_CHANCE) {
            struct run_env_bytes bytes = {0};
            assert_ok(run_env_save(method, run, &bytes, err));
            method->destroy(run);
            run = start(environment, &config);
            struct snapshot_reader reader = run_env_reader(&bytes);
            assert_ok(method->load(run, &reader, err));
            run_env_bytes_close(&bytes);
        }
    }
    conclude(run, out);
    return run;
}

static struct method_run *run_through(struct run_env *environment, int threads, int every, struct outcome *out)
{
    static const struct config_setting none[] = {{NULL, NULL}};
    return run_with(none, environment, threads, every, out);
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_string_equal(a->hash, b->hash);
    assert_int_equal(a->rows, b->rows);
    assert_memory_equal(a->row, b->row, sizeof a->row[0] * (size_t)a->rows);
    assert_memory_equal(a->boxes, b->boxes, sizeof a->boxes);
    assert_memory_equal(&a->chance, &b->chance, sizeof a->chance);
}

static void threads_and_pauses_do_not_change_any_bit(void **state)
{
    struct run_env environment;
    struct outcome whole, other;
    method->destroy(run_through(&environment, 1, 0, &whole));
    run_env_close(&environment);
    assert_int_equal(whole.rows, 2);
    assert_true(whole.chance.samples == 8);
    method->destroy(run_through(&environment, 3, 0, &other));
    run_env_close(&environment);
    assert_same(&whole, &other);
    for (int every = 1; every <= 4; every += 3) {
        method->destroy(run_through(&environment, 2, every, &other));
        run_env_close(&environment);
        assert_same(&whole, &other);
    }
}

/* A channel that does not lower the loss gets new weights in g's last layer and in the first layer of this domain's
 * head, at the same samples for any pauses and threads. */
static void unused_channels_get_new_weights_with_the_same_bits(void **state)
{
    static const struct config_setting reinitialise[] = {{"reinitialise_below", "1"},
                                                         {"reinitialise_samples", "40"},
                                                         {"total_samples", "240"},
                                                         {"target_start", "1"},
                                                         {"target_max", "1"},
                                                         {"plateau_validations", "1000"},
                                                         {"motifs", "12"},
                                                         {"checkpoint_every", "100"},
                                                         {NULL, NULL}};
    struct run_env environment;
    struct outcome whole, other;
    struct method_run *run = run_with(reinitialise, &environment, 1, 0, &whole);
    assert_true(run->reinitialisation.count >= 1);
    method->destroy(run);
    run_env_close(&environment);
    method->destroy(run_with(reinitialise, &environment, 3, 4, &other));
    run_env_close(&environment);
    assert_same(&whole, &other);
}

/* Returns the weights of one channel in the first layer of the head, and in the last layer of g. */
static void weights_of(const struct method_run *run, int channel, real *reads, real *writes)
{
    const struct network *n = run->network;
    size_t motifs = (size_t)run->config.channels_motif, inputs = n->last.w->count / motifs;
    for (size_t i = 0; i < n->dilated.first.w->count / motifs; i++)
        reads[i] = n->dilated.first.w->value[i * motifs + (size_t)channel];
    memcpy(writes, n->last.w->value + (size_t)channel * inputs, inputs * sizeof *writes);
}

/* The head does not read channel 2 at all. The channel gets new weights at the second check in a row that finds that
 * the loss does not depend on it. */
static void a_channel_that_the_head_does_not_read_gets_new_weights(void **state)
{
    enum { CHANNEL = 2, MOST = 64 };
    struct run_env environment;
    struct sparling_config config;
    real reads[2][MOST], writes[2][MOST];
    configure(&config);
    config.reinitialise_below = 1;
    config.total_samples = 3000;
    config.target_start = config.target_max = 1;
    config.plateau_validations = 1000; /* the first stage does not end */
    assert_ok(run_env_open(&environment, 1, NULL, err));
    struct method_run *run = start(&environment, &config);
    enum method_request request;
    for (int steps = 0; run->samples < 300; steps++) {
        assert_true(steps < 5000);
        assert_ok(run_env_step(&environment, method, run, &request, err));
    }
    for (int check = 0; check < 2; check++) {
        struct weight *w = run->network->dilated.first.w;
        for (size_t i = 0; i < w->count / (size_t)config.channels_motif; i++)
            w->value[i * (size_t)config.channels_motif + CHANNEL] = 0;
        weights_of(run, CHANNEL, reads[0], writes[0]);
        memset(run->reinitialisation.rests, 0, sizeof run->reinitialisation.rests);
        memset(run->reinitialisation.worthless, 0, sizeof run->reinitialisation.worthless);
        run->reinitialisation.worthless[CHANNEL] = check; /* no other channel failed the check before */
        int64_t before = run->reinitialisation.count;
        assert_ok(run_reinitialise(run, err));
        weights_of(run, CHANNEL, reads[1], writes[1]);
        bool changed = run->reinitialisation.count > before;
        assert_true(!changed || check == 1);
        if (check == 1)
            assert_true(changed && reads[1][0] != 0 && reads[1][7] != 0 && writes[1][0] != writes[0][0]);
    }
    method->destroy(run);
    run_env_close(&environment);
}

/* Saves and loads a run while it measures the motif errors of shuffled positions. A checkpoint does not contain the
 * counts of this measurement, so the run starts it again. The result stays the same. */
static void errors_of_chance_restart_after_a_load(void **state)
{
    struct run_env environment;
    struct outcome whole, other;
    struct sparling_config config;
    enum method_request request = METHOD_CONTINUE;
    method->destroy(run_through(&environment, 2, 0, &whole));
    run_env_close(&environment);
    configure(&config);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    struct method_run *run = start(&environment, &config);
    bool once = false;
    while (request != METHOD_DONE) {
        assert_ok(run_env_step(&environment, method, run, &request, err));
        if (run->evaluation.part == PART_CHANCE && run->evaluation.position > 0 && !once) {
            struct run_env_bytes bytes = {0};
            assert_ok(run_env_save(method, run, &bytes, err));
            struct snapshot_reader reader = run_env_reader(&bytes);
            assert_ok(method->load(run, &reader, err));
            run_env_bytes_close(&bytes);
            assert_int_equal(run->evaluation.position, 0);
            once = true;
        }
    }
    assert_true(once);
    memset(&other, 0, sizeof other);
    conclude(run, &other);
    assert_same(&whole, &other);
    method->destroy(run);
    run_env_close(&environment);
}

static void softmax(const real *logits, double out[3])
{
    double sum = 0;
    for (int c = 0; c < 3; c++)
        sum += out[c] = exp((double)logits[c]);
    for (int c = 0; c < 3; c++)
        out[c] /= sum;
}

/* Compares the figures of an evaluation with motifs and sites counted here, on the examples and the test set. */
static void figures_match_direct_computation(void **state)
{
    enum { LENGTH = 160, FLANK = 30, COLS = LENGTH + 2 * FLANK, MOTIFS = 8, TESTS = 7 };
    struct run_env environment;
    struct outcome out;
    struct method_run *run = run_through(&environment, 1, 0, &out);
    const struct open_domain *domain = &run->domain;
    struct domain_truth *truth;
    static float planes[4 * COLS], map[6 * COLS];
    static double scores[2][TESTS * LENGTH];
    static uint8_t is_true[2][TESTS * LENGTH];
    int64_t motifs = 0, boxes = 0, counted = 0;
    size_t positions = 0;
    assert_ok(domain_truths_create(&domain->shape, 1, &truth, err));
    for (int i = 0; i < MOTIFS; i++) {
        struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = i};
        assert_ok(domain->domain->sample(domain->state, &request, planes, truth, err));
        exec_begin(&run->exec, false, 0);
        tensor_to_planes(network_motifs(&run->exec, run->network, planes, 1, 1), map);
        for (int j = 0; j < 6 * COLS; j++)
            motifs += map[j] > 0 && j % COLS >= FLANK && j % COLS < COLS - FLANK;
        boxes += truth->boxes;
        for (int b = 0; b < truth->boxes; b++)
            assert_in_range(truth->box[b].col, FLANK, COLS - FLANK - 1);
    }
    assert_int_equal(run->evaluation.errors.motifs, motifs);
    for (int s = 0; s < 5; s++)
        for (int c = 0; c <= 6; c++)
            counted += out.boxes[s * 7 + c];
    assert_int_equal(counted, boxes);
    for (int i = 0; i < TESTS; i++) {
        struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = TEST_SEED, .index = i};
        assert_ok(domain->domain->sample(domain->state, &request, planes, truth, err));
        exec_begin(&run->exec, false, 0);
        struct tensor *motif_map = network_motifs(&run->exec, run->network, planes, 1, 1);
        struct tensor *classes = network_classes(&run->exec, run->network, motif_map);
        assert_int_equal(truth->length, COLS);
        assert_int_equal(truth->label[FLANK - 1], -1);
        assert_int_equal(truth->label[COLS - FLANK], -1);
        for (int j = FLANK; j < COLS - FLANK; j++, positions++) {
            double p[3];
            softmax(classes->data + j * 3, p);
            for (int c = 1; c < 3; c++) {
                scores[c - 1][positions] = p[c];
                is_true[c - 1][positions] = truth->label[j] == c;
            }
        }
    }
    double accuracy[2];
    for (int c = 0; c < 2; c++)
        accuracy[c] = topk_accuracy(scores[c], is_true[c], positions);
    double mean = ((isnan(accuracy[0]) ? 0 : accuracy[0]) + (isnan(accuracy[1]) ? 0 : accuracy[1])) / 2;
    const struct evaluation_row *row = &out.row[out.rows - 1];
    /* the run computes top-k accuracy with a finite resolution of probabilities, so the two values differ slightly */
    assert_true(fabs(row->exact - mean) < 0.1);
    assert_true(fabs(row->exact + row->e2ee - 1) < 1e-12);
    /* `perfect` has the errors of the true motifs themselves, which occur only where boxes overlap. */
    assert_true(out.chance.perfect[0] == 0 && out.chance.perfect[1] < 0.9 && out.chance.perfect[2] < 0.5);
    assert_true(out.chance.all.low[0] <= out.chance.all.mean[0] && out.chance.all.mean[0] <= out.chance.all.high[0]);
    /* chance.fpe leaves out the trivial symbols (the cores of sites), so their motifs count as false */
    assert_true(out.chance.fpe >= row->fpe);
    domain_truths_destroy(truth);
    method->destroy(run);
    run_env_close(&environment);
}

/* ---- queries ----------------------------------------------------------------------------------- */

static void has(const struct buf *buf, const char *what)
{
    if (strstr(buf->data, what) == NULL)
        fail_msg("no '%s' in %.300s", what, buf->data);
}

static void results_and_queries_list_sites(void **state)
{
    struct run_env environment;
    struct outcome out;
    struct buf buf;
    struct method_run *run = run_through(&environment, 1, 0, &out);
    struct sparling_config config = run->config;
    buf_init(&buf, 1 << 22);
    struct sink sink = text_sink(&buf);
    assert_ok(method->result(run, &sink, err));
    has(&buf, " chance={ samples=8 shuffles=5 shuffled={ mean={ fpe=");
    has(&buf, " without_trivial={ own={ fpe=");
    has(&buf, " domain='splicing'");
    has(&buf, " symbols=[ 'GAAGR' 'TAGGG' 'TGCATG' '3P' '5P' 'none' ]");
    buf_close(&buf);

    /* Makes the head predict a donor everywhere. */
    struct weight *bias = params_find(run->network->params, "h.out.bias");
    assert_non_null(bias);
    bias->value[SITE_DONOR] = 100;
    struct run_env_bytes bytes = {0};
    assert_ok(run_env_save(method, run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    struct method_model *model = NULL;
    assert_ok(method->open(&config, environment.env.kernels, NULL, &reader, &model, err));
    struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = 3};
    buf_init(&buf, 1 << 22);
    assert_ok(method_ask(method, model, "motifs", &input, &sink, err));
    has(&buf, " shape=[ 1 220 6 ]");
    has(&buf, " prediction=[ { position=0 class='donor' probability=1 } { position=1 ");
    has(&buf, " input={ shape=[ 1 220 4 ]");
    has(&buf, " truth=[ { symbol='");
    buf_close(&buf);
    buf_init(&buf, 1 << 22);
    assert_ok(method_ask(method, model, "predict", &input, &sink, err));
    has(&buf, " label=[");
    buf_close(&buf);
    static float planes[220 * 4];
    struct method_input array = {.kind = METHOD_INPUT_ARRAY, .rank = 2, .dim = {220, 4}, .values = planes};
    buf_init(&buf, 1 << 22);
    assert_ok(method_ask(method, model, "predict", &array, &sink, err));
    has(&buf, " truth=null");
    buf_close(&buf);
    planes[7] = 2;
    assert_int_equal(method_ask(method, model, "predict", &array, &sink, NULL), STATUS_INVALID);
    struct picture *picture = NULL;
    assert_ok(method_draw(method, model, "motifs", &input, &picture, err));
    assert_true(picture->cols >= 220 && picture->rows >= 48);
    picture_destroy(picture);
    method->close(model);
    run_env_bytes_close(&bytes);
    method->destroy(run);
    run_env_close(&environment);
}

/* ---- data sets ---------------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Writes two data sets: forty loci of 150 bases with an intron each, and two proteins. */
static void make_data(char root[64])
{
    char path[512], *fasta = calloc(1, 1 << 16), *gff = calloc(1, 1 << 16);
    struct mt19937 rng;
    mt19937_init(&rng, 1);
    strcpy(root, "/tmp/motif-data-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/genes", root);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 40; i++) {
        char locus[256] = "";
        snprintf(locus, sizeof locus, ">locus%d\n", i);
        for (int j = 0; j < 150; j++)
            locus[strlen(locus)] = "ACGT"[mt19937_integer(&rng, 0, 4)];
        strcat(fasta, strcat(locus, "\n"));
        snprintf(locus, sizeof locus, "locus%d\tA\tintron\t21\t%d\t.\t+\t.\t\nlocus%d\tB\tintron\t5\t80\t.\t+\t.\t\n",
                 i, 50 + i, i);
        strcat(gff, locus);
    }
    write_file(path, "a.fa", fasta);
    write_file(path, "a.gff3", gff);
    snprintf(path, sizeof path, "%s/models", root);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(path, "P.txt", "PSAM A0=1 n=3\n1 .1 .2 .1 A\n.1 1 .1 .3 C\n.1 .1 1 .1 G\n");
    write_file(path, "Q.txt", "PSAM A0=1 n=2\n.2 .1 .1 1 T\n.5 .3 1 .1 G\n");
    free(fasta);
    free(gff);
}

static void remove_data(const char *root)
{
    static const char *const names[] = {"genes/a.fa",   "genes/a.gff3", "genes",
                                        "models/P.txt", "models/Q.txt", "models"};
    char path[512];
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(root), 0);
}

static const struct config_setting real_genes[] = {{"splicing_dataset", "genes"}, {"splicing_source", "A"},
                                                   {"splicing_motifs", "models"}, {"splicing_proteins", "2"},
                                                   {"splicing_share", "0.03"},    {"splicing_length", "100"},
                                                   {"splicing_flank", "15"},      {NULL, NULL}};

static void real_genes_give_windows_sites_and_boxes(void **state)
{
    char root[64];
    struct sparling_config config;
    struct open_domain domain = {0};
    struct domain_truth *truth;
    struct error fault = {0};
    static float planes[4 * 130], again[4 * 130];
    make_data(root);
    configure(&config);
    assert_ok(config_apply(&sparling_config_table, &config, real_genes, err));
    assert_int_equal(domain_open(&config, NULL, &domain, &fault), STATUS_NOT_FOUND);
    assert_string_equal(fault.pointer, "/config/splicing_motifs");
    assert_ok(domain_open(&config, root, &domain, err));
    assert_int_equal(domain.shape.symbols, 2);
    assert_int_equal(domain.shape.trivial, 0);
    assert_ok(domain_truths_create(&domain.shape, 1, &truth, err));
    int sites = 0, boxes = 0, lessons = 0, positions = 0;
    for (int i = 0; i < 30; i++) {
        struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = i};
        assert_ok(domain.domain->sample(domain.state, &request, planes, truth, err));
        boxes += truth->boxes;
        positions += 100;
        assert_int_equal(truth->label[14], -1);
        for (int j = 15; j < 115; j++)
            sites += truth->label[j] > 0;
        request.set = DOMAIN_LESSON;
        request.seed = config.seed;
        assert_ok(domain.domain->sample(domain.state, &request, planes, truth, err));
        lessons += truth->boxes;
    }
    assert_int_equal(lessons, 0);
    assert_in_range(sites, 20, 60); /* two windows for each locus; the first contains the donor */
    assert_true(boxes > 0 && boxes <= 2 * 0.03 * positions + 30); /* each of two proteins binds at 3 % or less */
    struct domain_request first = {.set = DOMAIN_SAMPLE, .seed = -2, .index = 0};
    assert_ok(domain.domain->sample(domain.state, &first, planes, truth, err));
    first.set = DOMAIN_EXAMPLE;
    assert_ok(domain.domain->sample(domain.state, &first, again, truth, err));
    assert_memory_equal(planes, again, sizeof planes);
    assert_true(domain.domain->mean_symbols(domain.state) > 0);
    domain_truths_destroy(truth);
    domain_close(&domain);
    error_clear(&fault);
    config.splicing.proteins = 3;
    assert_int_equal(domain_open(&config, root, &domain, &fault), STATUS_NOT_FOUND);
    assert_string_equal(fault.message, "there are 2 affinity files; 3 are wanted");
    domain_close(&domain);
    remove_data(root);
}

static void digest(const struct sparling_config *config, const char *root, unsigned char out[HASH_BYTES])
{
    struct open_domain domain;
    assert_ok(domain_open(config, root, &domain, err));
    assert_ok(domain.domain->digest(domain.state, out, err));
    domain_close(&domain);
}

/* A change of one base or of one entry of an affinity model changes the digest. Writing the same file again does not.
 */
static void digest_changes_with_the_data(void **state)
{
    char root[64], genes[512], models[512];
    struct sparling_config config;
    unsigned char first[HASH_BYTES], again[HASH_BYTES];
    make_data(root);
    configure(&config);
    assert_ok(config_apply(&sparling_config_table, &config, real_genes, err));
    digest(&config, root, first);
    snprintf(models, sizeof models, "%s/models", root);
    write_file(models, "Q.txt", "PSAM A0=1 n=2\n.2 .1 .1 1 T\n.5 .2 1 .1 G\n");
    digest(&config, root, again);
    assert_memory_not_equal(first, again, HASH_BYTES);
    write_file(models, "Q.txt", "PSAM A0=1 n=2\n.2 .1 .1 1 T\n.5 .3 1 .1 G\n");
    digest(&config, root, again);
    assert_memory_equal(first, again, HASH_BYTES);
    snprintf(genes, sizeof genes, "%s/genes/a.fa", root);
    FILE *file = fopen(genes, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)strlen(">locus0\n") + 60, SEEK_SET), 0);
    int base = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    fputc(base == 'A' ? 'C' : 'A', file);
    fclose(file);
    digest(&config, root, again);
    assert_memory_not_equal(first, again, HASH_BYTES);
    remove_data(root);
}

static void run_on_real_genes_resumes(void **state)
{
    char root[64];
    struct run_env environment;
    struct sparling_config config;
    enum method_request request = METHOD_CONTINUE;
    make_data(root);
    configure(&config);
    assert_ok(config_apply(&sparling_config_table, &config, real_genes, err));
    assert_ok(run_env_open(&environment, 2, NULL, err));
    environment.env.data = root;
    struct method_run *run = start(&environment, &config);
    for (int steps = 0; request != METHOD_DONE; steps++) {
        assert_true(steps < 500);
        assert_ok(run_env_step(&environment, method, run, &request, err));
    }
    assert_true(run->evaluation.chance.samples == 8);
    /* chance.fpe is the model's FPE without trivial symbols. These data have none, so it equals that of the evaluation
     */
    assert_true(run->evaluation.chance.fpe == run->evaluation.row[run->evaluation.rows - 1].fpe);
    method->destroy(run);
    run_env_close(&environment);
    remove_data(root);
}

/* For their first update, the thresholds need more values than this training has. So half of the map stays active. The
 * run then measures the errors of chance on fewer samples, to stay within its estimated memory. */
static void errors_of_chance_of_a_dense_map_take_fewer_samples(void **state)
{
    static const struct config_setting dense[] = {
        {"accumulate_elements", "1000000"}, {"density_start", "0.05"}, {"total_samples", "6"}, {NULL, NULL}};
    struct run_env environment;
    struct sparling_config config;
    enum method_request request = METHOD_CONTINUE;
    configure(&config);
    assert_ok(config_apply(&sparling_config_table, &config, dense, err));
    assert_ok(run_env_open(&environment, 1, NULL, err));
    struct method_run *run = start(&environment, &config);
    for (int steps = 0; request != METHOD_DONE; steps++) {
        assert_true(steps < 500);
        assert_ok(run_env_step(&environment, method, run, &request, err));
    }
    assert_true(run->evaluation.chance.samples >= 1 && run->evaluation.chance.samples < 8);
    method->destroy(run);
    run_env_close(&environment);
}

/* The arena of the training steps is nearly all of a run's memory. */
static void memory_stays_near_the_estimate(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct method_estimate estimate;
    enum method_request request;
    configure(&config);
    config.splicing.length = 4000;
    config.channels = 16;
    config.context = 400;
    config.width = 16;
    config.units = 3;
    config.batch = 8;
    assert_ok(method->estimate(&config, NULL, &estimate, err));
    assert_ok(run_env_open(&environment, 2, NULL, err));
    struct method_run *run = start(&environment, &config);
    assert_ok(run_env_step(&environment, method, run, &request, err));
    double held = (double)run->arena.peak_bytes + 16.0 * (double)params_count(run->network->params);
    double promised = (double)estimate.memory_bytes, constant = 16 << 20;
    if (held > 1.1 * promised || promised - constant > 1.6 * held)
        fail_msg("%.1f MB promised, %.1f MB held", promised / 1e6, held / 1e6);
    struct run_env_bytes bytes = {0};
    assert_ok(run_env_save(method, run, &bytes, err));
    assert_true(fabs((double)estimate.checkpoint_bytes / (double)bytes.count - 1) < 0.3);
    run_env_bytes_close(&bytes);
    method->destroy(run);
    run_env_close(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_pauses_do_not_change_any_bit),
        cmocka_unit_test(unused_channels_get_new_weights_with_the_same_bits),
        cmocka_unit_test(a_channel_that_the_head_does_not_read_gets_new_weights),
        cmocka_unit_test(errors_of_chance_restart_after_a_load),
        cmocka_unit_test(errors_of_chance_of_a_dense_map_take_fewer_samples),
        cmocka_unit_test(figures_match_direct_computation),
        cmocka_unit_test(results_and_queries_list_sites),
        cmocka_unit_test(real_genes_give_windows_sites_and_boxes),
        cmocka_unit_test(digest_changes_with_the_data),
        cmocka_unit_test(run_on_real_genes_resumes),
        cmocka_unit_test(memory_stays_near_the_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
