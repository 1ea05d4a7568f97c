/* Times the Monte Carlo trials of activation pathways and the products of their dictionaries, in processor time of one
 * thread.
 *
 * monte_carlo: trials per second at the sizes in `rows`, near the point where half of the pathways are recovered. A
 * trial draws the signs of a sparse code, eight times for each code, and counts the recovered pathways. It computes no
 * bounds.
 *
 * analysis: the product A^T y of the transposed dictionary A and a dense signal y, by FFT (kissfft) and directly, for
 * several filter lengths. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench_int.h"
#include "core/coding/transform.h"
#include "core/methods/pathways/trial.h"

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the best time of a call in seconds. Repeats the call for `seconds` seconds, at least 3 times. */
static double best_of(void (*work)(void *context), void *context, double seconds)
{
    double best = 1e30, end = cpu_now() + seconds;
    work(context);
    for (int calls = 0; calls < 3 || cpu_now() < end; calls++) {
        double before = cpu_now();
        work(context);
        double took = cpu_now() - before;
        best = took < best ? took : best;
    }
    return best > 0 ? best : 1e-9;
}

struct monte_carlo {
    struct scenario scenario;
    struct trial_space *space;
    struct trial_request request;
    enum status status;
};

static void one_code(void *context)
{
    struct monte_carlo *m = context;
    struct trial_outcome outcome;
    m->request.number++;
    if (!m->status)
        m->status = trial_run(&m->scenario, m->space, &m->request, &outcome, NULL);
}

static const struct row {
    int length, filters, positions, family, nonzeros;
} rows[] = {{49, 98, 256, PATHWAYS_GAUSS, 7},
            {49, 4, 512, PATHWAYS_GAUSS, 14},
            {256, 4, 2048, PATHWAYS_SIGNS, 46},
            {1024, 4, 8192, PATHWAYS_SIGNS, 160},
            {4096, 2, 32768, PATHWAYS_SIGNS, 570}};

static enum status write_row(const struct row *row, double seconds, const struct kernels *kernels,
                             const struct sink *sink, struct error *err)
{
    enum { DRAWS = 8 };
    struct pathways_case plan = {.family = row->family, .layers = 1, .ratio = 1, .rule = {DECODER_TOP_K, 0.5, 1}};
    struct monte_carlo m = {.request = {.seed = 1, .nonzeros = row->nonzeros, .draws = DRAWS, .delta = 0.01}};
    plan.shape[0] = (struct dictionary_shape){1, row->positions, 1, row->filters, 1, row->length};
    enum status status = scenario_open(&plan, 1, NULL, kernels, NULL, &m.scenario, err);
    if (status)
        return status;
    status = trial_space_create(&m.scenario, true, &m.space, err);
    if (!status) {
        double best = best_of(one_code, &m, seconds);
        sink_begin_object(sink, NULL);
        sink_integer(sink, "filter_length", row->length);
        sink_integer(sink, "filters", row->filters);
        sink_integer(sink, "length", row->positions);
        sink_integer(sink, "nonzeros", row->nonzeros);
        sink_number(sink, "ms_per_trial", 1e3 * best / DRAWS);
        sink_number(sink, "trials_per_second", DRAWS / best);
        sink_end_object(sink);
        status = m.status ? error_set(err, m.status, NULL, "a trial failed") : STATUS_OK;
    }
    trial_space_destroy(m.space);
    scenario_close(&m.scenario);
    return status;
}

struct analysis {
    struct dictionary dictionary;
    struct spectrum *spectrum;
    float *signal, *code, *scratch;
};

static void by_fft(void *context)
{
    struct analysis *a = context;
    spectrum_analyse(a->spectrum, a->signal, a->code, a->scratch);
}

static void directly(void *context)
{
    struct analysis *a = context;
    dictionary_analyse_directly(&a->dictionary, a->signal, a->code, a->scratch);
}

static enum status write_analysis(const struct dictionary_shape *shape, double seconds, const struct kernels *kernels,
                                  const struct sink *sink, struct error *err)
{
    struct analysis a = {.spectrum = NULL};
    enum status status = dictionary_draw(shape, FAMILY_GAUSS, 0, 1, 1, kernels, NULL, &a.dictionary, err);
    if (status)
        return status;
    a.signal = malloc(dictionary_signal_size(&a.dictionary) * sizeof(float));
    a.code = malloc(dictionary_code_size(&a.dictionary) * sizeof(float));
    a.scratch = malloc(spectrum_scratch(shape) * sizeof(float));
    if (!a.signal || !a.code || !a.scratch)
        status = error_memory(err, "a signal");
    if (!status)
        status = spectrum_create(shape, a.dictionary.filters, &a.spectrum, err);
    if (!status) {
        for (size_t i = 0; i < dictionary_signal_size(&a.dictionary); i++)
            a.signal[i] = (float)(i % 17) - 8.5f;
        sink_begin_object(sink, NULL);
        sink_integer(sink, "length", shape->width);
        sink_integer(sink, "filters", shape->filters);
        sink_integer(sink, "filter_length", shape->extent_w);
        sink_number(sink, "fft_ms", 1e3 * best_of(by_fft, &a, seconds));
        sink_number(sink, "direct_ms", 1e3 * best_of(directly, &a, seconds));
        sink_text(sink, "chosen", a.dictionary.spectrum ? "fft" : "direct");
        sink_end_object(sink);
    }
    spectrum_destroy(a.spectrum);
    free(a.signal);
    free(a.code);
    free(a.scratch);
    dictionary_close(&a.dictionary);
    return status;
}

enum status bench_pathways(const struct bench_options *options, const struct sink *sink, struct error *err)
{
    static const int lengths[] = {4, 8, 16, 32, 64, 256, 1024};
    const struct kernels *kernels = bench_kernels(options, err);
    double seconds = options->seconds > 0 ? options->seconds : 0.3;
    enum status status = kernels ? STATUS_OK : STATUS_INVALID;
    sink_begin_list(sink, "monte_carlo");
    for (size_t i = 0; !status && i < sizeof rows / sizeof rows[0]; i++)
        status = write_row(&rows[i], seconds, kernels, sink, err);
    sink_end_list(sink);
    sink_begin_list(sink, "analysis");
    for (size_t i = 0; !status && i < 2 * sizeof lengths / sizeof lengths[0]; i++) {
        struct dictionary_shape shape = {1, 4096, 1, i % 2 ? 16 : 4, 1, lengths[i / 2]};
        status = write_analysis(&shape, seconds, kernels, sink, err);
    }
    sink_end_list(sink);
    return status;
}
