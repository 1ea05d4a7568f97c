/* Times a SPARLING training step (forward, backward, Adam, thresholds, with dropout), its operations, and evaluation.
 * Data generation and validation are not timed.
 *
 *   small   motif network g 16 wide, head h 64 wide with 2 + 2 layers, 4 heads, feed-forward 256
 *   paper   the published network: g 64 wide, h 512 wide with 6 + 6 layers, 8 heads, feed-forward 2048
 *
 *   dna     the network of the preset dataset for 300 bases and 8 names, in the second phase, which trains the head;
 *           dna-first: in the first phase, which trains g alone
 *
 * Pictures have 100 x 100 pixels, a tenth of them ink; labels have 7 tokens. The thresholds move all the way to the
 * quantile in every step, so that the motif map has the requested density. With backward sparse or auto, only one
 * sample of the batch gets the gradient through the statistics of the batch norms (exec.hold). */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/bench_int.h"
#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/model/network.h"
#include "core/nn/adam.h"

enum { LENGTH = 7 };

static const struct config_setting small[] = {{"width", "16"}, {"channels", "64"},      {"layers", "2"},
                                              {"heads", "4"},  {"feed_forward", "256"}, {NULL, NULL}};
static const struct config_setting paper[] = {{NULL, NULL}};
static const struct config_setting dna[] = {{"dataset_rows", "1"},
                                            {"dataset_cols", "300"},
                                            {"dataset_channels", "4"},
                                            {"dataset_tokens", "8"},
                                            {"dataset_longest", "6"},
                                            {"motifs", "8"},
                                            {"units", "7"},
                                            {NULL, NULL}};

struct step {
    struct sparling_config config;
    struct network *network;
    struct adam *adam;
    struct thread_pool *pool;
    struct arena arena;
    struct exec exec;
    struct exec_profile profile;
    float *images;
    int32_t *inputs, *targets;
    bool *occurs; /* [batch][names] labels of the presence objective */
    real *weight; /* [names] weight of each name in the presence objective; all are 1 */
    bool first;   /* first phase: without the head */
    double density;
    struct tensor *active; /* the motif map of the last step */
    uint64_t updates;
    enum status status;
    struct error error;
};

/* A small linear congruential generator; the quality of the random numbers does not matter here. */
static uint32_t sparling_step_draw(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

/* Fills the inputs: pictures in which a tenth of the pixels has ink, or sequences with one channel set at each
 * position. */
static void draw_inputs(struct step *s, const struct domain_shape *shape, uint64_t *state)
{
    size_t positions = domain_positions(shape), count = domain_inputs(shape) * (size_t)s->config.batch;
    for (size_t i = 0; i < count; i++)
        s->images[i] = shape->channels == 1 && sparling_step_draw(state) % 10 == 0 ? 1.0f : 0.0f;
    for (size_t i = 0; i < positions * (size_t)s->config.batch && shape->channels > 1; i++)
        s->images[i / positions * domain_inputs(shape) +
                  sparling_step_draw(state) % (uint32_t)shape->channels * positions + i % positions] = 1;
}

static enum status make_data(struct step *s, struct error *err)
{
    struct domain_shape shape = domain_shape(&s->config);
    size_t count = (size_t)s->config.batch, names = (size_t)sparling_presence_names(&s->config);
    uint32_t vocabulary = (uint32_t)sparling_vocabulary(&s->config);
    uint64_t state = 1;
    s->images = malloc(count * domain_inputs(&shape) * sizeof *s->images);
    s->inputs = malloc(count * LENGTH * sizeof *s->inputs);
    s->targets = malloc(count * LENGTH * sizeof *s->targets);
    s->occurs = malloc((count * names + 1) * sizeof *s->occurs);
    s->weight = malloc((names + 1) * sizeof *s->weight);
    if (!s->images || !s->inputs || !s->targets || !s->occurs || !s->weight)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a batch of %zu", count);
    draw_inputs(s, &shape, &state);
    for (size_t i = 0; i < count * LENGTH; i++) {
        s->inputs[i] = (int32_t)(sparling_step_draw(&state) % vocabulary);
        s->targets[i] = (int32_t)(sparling_step_draw(&state) % vocabulary);
    }
    for (size_t i = 0; i < count * names; i++)
        s->occurs[i] = sparling_step_draw(&state) % 2;
    for (size_t i = 0; i < names; i++)
        s->weight[i] = 1;
    return STATUS_OK;
}

/* Applies the fields that the command line sets; an error names the field. */
static enum status set_fields(struct sparling_config *config, const struct config_setting *set, struct error *err)
{
    for (; set != NULL && set->field != NULL; set++) {
        struct error fault = {0};
        const struct config_field *field = config_find(&sparling_config_table, set->field);
        if (!field)
            return error_set(err, STATUS_INVALID, "/set", "there is no field %.40s", set->field);
        if (config_parse(field, config, set->value, &fault))
            return error_set(err, fault.code, "/set", "%s %.200s", field->name, fault.message);
    }
    return STATUS_OK;
}

static enum status configure(struct step *s, const struct bench_options *options, struct error *err)
{
    const char *name = options->preset ? options->preset : "small";
    s->first = strcmp(name, "dna-first") == 0;
    bool sequences = s->first || strcmp(name, "dna") == 0;
    const struct config_setting *settings = sequences                    ? dna
                                            : strcmp(name, "small") == 0 ? small
                                            : strcmp(name, "paper") == 0 ? paper
                                                                         : NULL;
    if (!settings)
        return error_set(err, STATUS_INVALID, "/preset", "must be small, paper, dna or dna-first; got %.40s", name);
    enum status status = config_defaults(&sparling_config_table, &s->config, err);
    for (int i = 0; i < SPARLING_PRESETS && sequences && !status; i++)
        if (strcmp(sparling_presets[i].name, "dataset") == 0)
            status = config_apply(&sparling_config_table, &s->config, sparling_presets[i].settings, err);
    if (!status)
        status = config_apply(&sparling_config_table, &s->config, settings, err);
    if (!status && options->backward)
        status = config_apply(&sparling_config_table, &s->config,
                              (const struct config_setting[]){{"backward", options->backward}, {NULL, NULL}}, err);
    if (!options->backward)
        s->config.backward = BACKWARD_DENSE;
    if (!status)
        status = set_fields(&s->config, options->set, err);
    s->config.momentum = 0;
    s->config.batch = options->batch ? options->batch : sequences ? s->config.batch : 10;
    s->density = options->density > 0 ? options->density : 0.5;
    return status;
}

static void close_step(struct step *s)
{
    adam_destroy(s->adam);
    network_destroy(s->network);
    arena_close(&s->arena);
    thread_pool_destroy(s->pool);
    free(s->images);
    free(s->inputs);
    free(s->targets);
    free(s->occurs);
    free(s->weight);
}

static enum status open_step(struct step *s, const struct bench_options *options, struct error *err)
{
    struct adam_config adam = ADAM_DEFAULT;
    const struct kernels *kernels = bench_kernels(options, err);
    memset(s, 0, sizeof *s);
    arena_init(&s->arena, (size_t)16 << 20, 0);
    enum status status = kernels ? configure(s, options, err) : STATUS_INVALID;
    if (!status)
        status = thread_pool_create(options->threads ? options->threads : 2, &s->pool, err);
    if (!status)
        status = network_create(&s->config, true, NULL, &s->network, err);
    if (!status)
        status = adam_create(s->network->params, &adam, &s->adam, err);
    if (!status)
        status = make_data(s, err);
    if (!status)
        exec_init(&s->exec, kernels, s->pool, &s->arena, 1);
    s->exec.bf16 = s->config.precision == PRECISION_BF16;
    if (s->config.backward != BACKWARD_DENSE) {
        s->exec.hold = true;
        s->exec.sparse = s->config.backward == BACKWARD_SPARSE ? EXEC_SPARSE : EXEC_SPARSE_AUTO;
    }
    return status;
}

static void take_step(void *context)
{
    struct step *s = context;
    struct exec *e = &s->exec;
    int count = (int)s->config.batch;
    if (s->status)
        return;
    params_begin_step(s->network->params);
    exec_begin(e, true, s->updates++);
    struct network_extras extras;
    struct tensor *motifs = network_motifs_extras(e, s->network, s->images, count, s->density, &extras);
    struct tensor *presence =
        extras.scores ? network_presence(e, s->network, extras.scores, s->occurs, s->weight, s->weight) : NULL;
    struct tensor *loss = presence;
    if (s->first) {
        network_follow_scale(e, s->network, motifs);
    } else {
        struct network_memory memory = network_memory(e, s->network, motifs);
        struct tensor *logits = network_logits(e, s->network, &memory, s->inputs, count, LENGTH);
        loss = op_cross_entropy(e, logits, s->targets);
        loss = presence ? op_add(e, loss, presence) : loss;
    }
    s->active = motifs;
    s->status = exec_status(e, &s->error);
    if (!s->status)
        s->status = tape_backward(e, loss, NULL, &s->error);
    if (!s->status)
        s->status = adam_step(s->adam, e, s->config.learning_rate, NULL, &s->error);
}

static void write_shape(const struct step *s, const struct sink *sink)
{
    sink_integer(sink, "threads", thread_pool_threads(s->pool));
    sink_integer(sink, "batch", s->config.batch);
    sink_number(sink, "density", s->density);
    if (s->active)
        sink_number(sink, "density_achieved", network_density(s->active));
    sink_text(sink, "backward", config_text(config_find(&sparling_config_table, "backward"), &s->config));
    sink_boolean(sink, "statistics_held", s->exec.hold);
    sink_text(sink, "precision", config_text(config_find(&sparling_config_table, "precision"), &s->config));
    sink_integer(sink, "parameters", params_count(s->network->params));
}

/* Returns the peak memory of the process in bytes. */
static double peak_resident(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss * 1024 : 0;
}

enum status bench_sparling_step(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    struct step s;
    enum status status = open_step(&s, options, err);
    if (!status) {
        struct bench_timing timing = bench_time(take_step, &s, options->seconds > 0 ? options->seconds : 20);
        double flops = 6 * sparling_macs(&s.config, LENGTH) * (double)s.config.batch;
        status = s.status ? error_set(err, s.status, NULL, "%s", s.error.message) : STATUS_OK;
        sink_text(sink, "preset", options->preset ? options->preset : "small");
        write_shape(&s, sink);
        sink_integer(sink, "steps", timing.calls);
        sink_number(sink, "step_ms_median", timing.median * 1e3);
        sink_number(sink, "step_ms_best", timing.best * 1e3);
        sink_number(sink, "images_per_second", (double)s.config.batch / timing.median);
        sink_number(sink, "gflops", flops / timing.median * 1e-9);
        sink_number(sink, "activation_mb", (double)s.arena.peak_bytes * 1e-6);
        sink_number(sink, "weights_mb", (double)params_bytes(s.network->params) * 1e-6);
        sink_number(sink, "peak_rss_mb", peak_resident() * 1e-6);
    }
    close_step(&s);
    return status;
}

/* ---- evaluation ---- */

static void take_map(void *context)
{
    struct step *s = context;
    if (s->status)
        return;
    exec_begin(&s->exec, false, 0);
    s->active = network_motifs(&s->exec, s->network, s->images, (int)s->config.batch, 1);
    s->status = exec_status(&s->exec, &s->error);
}

static void take_reading(void *context)
{
    struct step *s = context;
    struct decoded *decoded = calloc((size_t)s->config.batch, sizeof *decoded);
    take_map(s);
    if (!s->status && !decoded)
        s->status = error_set(&s->error, STATUS_NO_MEMORY, NULL, "not enough memory to decode");
    if (!s->status) {
        struct network_memory memory = network_memory(&s->exec, s->network, s->active);
        s->status = decode_greedy(&s->exec, s->network, &memory, (int)s->config.batch, LENGTH, decoded, &s->error);
    }
    free(decoded);
}

enum status bench_sparling_forward(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    struct step s;
    enum status status = open_step(&s, options, err);
    if (!status) {
        double seconds = options->seconds > 0 ? options->seconds / 2 : 5;
        take_step(&s); /* trains for some steps, so that the network has statistics and thresholds */
        struct bench_timing map = bench_time(take_map, &s, seconds), annotation = bench_time(take_reading, &s, seconds);
        status = s.status ? error_set(err, s.status, NULL, "%s", s.error.message) : STATUS_OK;
        sink_text(sink, "preset", options->preset ? options->preset : "small");
        write_shape(&s, sink);
        sink_number(sink, "map_ms_median", map.median * 1e3);
        sink_number(sink, "map_ms_best", map.best * 1e3);
        sink_number(sink, "maps_per_second", (double)s.config.batch / map.median);
        sink_number(sink, "maps_per_second_best", (double)s.config.batch / map.best);
        sink_number(sink, "readings_per_second", (double)s.config.batch / annotation.median);
        sink_number(sink, "readings_per_second_best", (double)s.config.batch / annotation.best);
    }
    close_step(&s);
    return status;
}

/* ---- many threads --------------------------------------------------------------------------------- */

static const int thread_counts[] = {1, 2, 4, 8, 16, 32, 64};
enum { COUNTS = sizeof thread_counts / sizeof *thread_counts, MOST_THREADS = 64 };

/* The state of a prediction: how long would a step take on `threads` threads? watch_task() measures the chunks of each
 * task on one thread, and assigns each chunk to the thread that becomes free first. Work outside of tasks is assumed to
 * take as long as on one thread. */
struct shares {
    int threads, left; /* left: chunks of the task that have not run */
    double last, busy[MOST_THREADS];
    /* inside: seconds of all chunks; longest: sum over the tasks of the seconds of the busiest thread */
    double inside, longest;
    int64_t tasks;
};

static void watch_task(void *context, int chunks, bool begins)
{
    struct shares *s = context;
    double now = bench_now();
    if (begins) {
        memset(s->busy, 0, sizeof s->busy);
        s->left = chunks;
        s->tasks++;
    } else {
        int free = 0;
        for (int i = 1; i < s->threads; i++)
            free = s->busy[i] < s->busy[free] ? i : free;
        s->busy[free] += now - s->last;
        s->inside += now - s->last;
        s->left--;
    }
    s->last = now;
    double most = 0;
    for (int i = 0; i < s->threads && s->left == 0; i++)
        most = s->busy[i] > most ? s->busy[i] : most;
    s->longest += most;
}

/* Runs steps for `seconds` and writes the predicted time of a step on `threads` threads. `alone`: seconds of a step on
 * one thread, 0 if unknown. */
static double write_shares(struct step *s, int threads, double seconds, double alone, const struct sink *sink)
{
    struct shares shares = {.threads = threads};
    int steps = 0;
    thread_pool_watch(s->pool, watch_task, &shares);
    double began = bench_now(), total;
    do {
        take_step(s);
        steps++;
        total = bench_now() - began;
    } while (total < seconds && !s->status);
    double step = total / steps, serial = (total - shares.inside) / steps, predicted = serial + shares.longest / steps;
    sink_begin_object(sink, NULL);
    sink_integer(sink, "threads", threads);
    sink_number(sink, "fork_joins", (double)shares.tasks / steps);
    sink_number(sink, "one_thread_ms", step * 1e3);
    sink_number(sink, "serial_ms", serial * 1e3);
    sink_number(sink, "predicted_ms", predicted * 1e3);
    sink_number(sink, "efficiency", (alone > 0 ? alone : step) / predicted / threads);
    sink_end_object(sink);
    return step;
}

enum status bench_step_scaling(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    struct step s;
    struct bench_options many = *options;
    double alone = 0, seconds = options->seconds > 0 ? options->seconds : 10;
    enum status status = STATUS_OK;
    sink_text(sink, "preset", options->preset ? options->preset : "small");
    sink_begin_list(sink, "predicted");
    for (int i = 0; i < COUNTS && !status; i++) {
        many.threads = thread_counts[i];
        status = open_step(&s, &many, err);
        if (!status) {
            take_step(&s);
            double step = write_shares(&s, many.threads, seconds, alone, sink);
            alone = i == 0 ? step : alone;
            status = s.status ? error_set(err, s.status, NULL, "%s", s.error.message) : STATUS_OK;
        }
        close_step(&s);
    }
    sink_end_list(sink);
    return status;
}

static int by_time(const void *a, const void *b)
{
    const struct exec_profile_entry *x = a, *y = b;
    double p = x->forward_seconds + x->backward_seconds, q = y->forward_seconds + y->backward_seconds;
    return (p < q) - (p > q);
}

enum status bench_step_breakdown(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    struct step s;
    enum status status = open_step(&s, options, err);
    if (!status) {
        take_step(&s);
        s.exec.profile = &s.profile;
        s.profile.processor_time = options->processor_time;
        struct bench_timing timing = bench_time(take_step, &s, options->seconds > 0 ? options->seconds : 20);
        double steps = timing.calls + 1;
        status = s.status ? error_set(err, s.status, NULL, "%s", s.error.message) : STATUS_OK;
        sink_text(sink, "preset", options->preset ? options->preset : "small");
        write_shape(&s, sink);
        sink_number(sink, "step_ms_median", timing.median * 1e3);
        qsort(s.profile.entries, (size_t)s.profile.count, sizeof s.profile.entries[0], by_time);
        sink_begin_list(sink, "operations");
        for (int i = 0; i < s.profile.count; i++) {
            const struct exec_profile_entry *entry = &s.profile.entries[i];
            sink_begin_object(sink, NULL);
            sink_text(sink, "operation", entry->name);
            sink_number(sink, "calls_per_step", (double)entry->calls / steps);
            sink_number(sink, "forward_ms", entry->forward_seconds / steps * 1e3);
            sink_number(sink, "backward_ms", entry->backward_seconds / steps * 1e3);
            sink_end_object(sink);
        }
        sink_end_list(sink);
    }
    close_step(&s);
    return status;
}
