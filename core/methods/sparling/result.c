/* Writes the fields of a result: the errors of the final model and of the models of earlier densities, the confusion
 * matrix, the coherence of g, and the errors that motifs at random positions would have. */
#include <math.h>

#include "core/base/error.h"
#include "core/base/sink.h"
#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/evaluation/motif_counts.h"
#include "core/methods/sparling/model/coherence.h"
#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_state.h"
#include "core/metrics/binning.h"
#include "core/metrics/importance.h"
#include "core/nn/coherence.h"

/* The constants of the Motif Identifiability Theorem. */

struct method_run;

struct sink;

static double positions_of_a_cell(const struct method_run *run)
{
    double side = 2.0 * sparling_geometry(&run->config).reach + 1;
    return run->domain.shape.rows == 1 ? side : side * side;
}

static bool has_alpha(const struct method_run *run)
{
    const struct motif_errors *errors = &run->evaluation.errors;
    return run->domain.domain->drawing != DOMAIN_BOUND && errors->most >= 1 && errors->most < MOTIF_COUNTS;
}

static enum status alpha_of(const struct method_run *run, struct importance *out, struct error *err)
{
    const struct motif_errors *errors = &run->evaluation.errors;
    double share[MOTIF_COUNTS + 1];
    for (int i = 0; i <= MOTIF_COUNTS; i++)
        share[i] = (double)errors->counts[i] / (double)errors->samples;
    int most = (int)errors->most, symbols = run->domain.shape.symbols;
    const struct importance_line line = {.slots = 2 * most - 1,
                                         .spacing = most > 1 ? 2 : 1,
                                         .most = most,
                                         .share = share,
                                         .symbols = symbols,
                                         .distinct = run->domain.domain->drawing == DOMAIN_DISTINCT};
    return importance_of(&line, out, err);
}

/* Writes the constants of the Motif Identifiability Theorem for the domain and the windows of g. */
static enum status theorem_result(const struct method_run *run, const struct sink *out, struct error *err)
{
    const struct evaluation *e = &run->evaluation;
    const struct motif_errors *errors = &e->errors;
    const struct evaluation_row *row = &e->row[e->rows - 1];
    struct importance alpha;
    double mean = 0, cell = positions_of_a_cell(run), wrong = 1 - row->exact, samples = (double)errors->samples;
    int symbols = run->domain.shape.symbols;
    /* the theorem needs true boxes; motif_counts.c writes the statistics that need none */
    if (errors->samples == 0 || run->domain.shape.boxes == 0)
        return STATUS_OK;
    if (has_alpha(run)) {
        enum status status = alpha_of(run, &alpha, err);
        if (status)
            return status;
    }
    for (int i = 0; i < symbols * (errors->channels + 1); i++)
        mean += (double)errors->boxes[i] / samples;
    sink_begin_object(out, "theorem");
    sink_integer(out, "motifs", symbols);
    sink_number(out, "cell", cell);
    sink_integer(out, "most", errors->most);
    sink_number(out, "mean", mean);
    sink_number(out, "overlapping", (double)errors->crowded / samples);
    sink_number(out, "density_ratio", (double)errors->motifs / samples / mean);
    if (has_alpha(run)) {
        double least = symbols > 1 ? fmin(alpha.symbol, alpha.exchange) : alpha.deletion;
        double k = importance_constant((double)errors->most, mean, cell, symbols, least);
        sink_number(out, "alpha_deletion", alpha.deletion);
        sink_number(out, "alpha_symbol", alpha.symbol);
        sink_number(out, "alpha_exchange", alpha.exchange);
        sink_number(out, "alpha", least);
        sink_number(out, "k", k);
        if (isfinite(k))
            sink_number(out, "k_epsilon", k * wrong);
    }
    sink_number(out, "epsilon", wrong);
    sink_number(out, "e_m", row->proof);
    sink_end_object(out);
    return STATUS_OK;
}

/* Writes the errors of one evaluated model (struct evaluation_row). "ce" is the confusion error by the rule that the
 * paper uses for the domain. last: the model is the final one, and its errors become members of the result itself;
 * numbers_result() adds R squared there. */
static void write_errors(const struct open_domain *domain, const struct evaluation_row *row, bool last,
                         const struct sink *out)
{
    sink_number(out, "density", row->density);
    sink_number(out, "achieved_density", row->achieved);
    sink_number(out, "fpe", row->fpe);
    sink_number(out, "fne", row->fne);
    sink_number(out, "ce", domain->domain->majority ? row->ce_majority : row->ce);
    sink_number(out, "ce_assignment", row->ce);
    sink_number(out, "ce_majority", row->ce_majority);
    sink_number(out, "e_m", row->proof);
    /* with numbers as targets, the result has R squared in place of "e2ee" and "exact" */
    bool numbers = domain->shape.numbers > 0;
    sink_number(out, "e2ee", numbers ? (double)NAN : row->e2ee);
    sink_number(out, "exact", numbers ? (double)NAN : row->exact);
    if (numbers && !last)
        sink_number(out, "r2", row->exact);
    if (!isnan(row->single))
        sink_number(out, "single_error", row->single);
    if (!isnan(row->perturbed))
        sink_number(out, "perturbed", row->perturbed);
}

/* Writes by how much the edit error rises when activations have only 16, 8, 4 or 2 values, and an upper limit of the
 * information in a map. The limit assumes that an activation has b bits. b starts at 4 and falls by one as long as both
 * 2^b and 2^(b - 1) values raise the edit error by less than 0.1 %. */
static void write_binning(const struct method_run *run, const struct evaluation_row *row, const struct sink *out)
{
    static const char *const names[BINNINGS] = {"bins_16", "bins_8", "bins_4", "bins_2"};
    double elements = (double)domain_positions(&run->domain.shape) * (double)run->config.channels_motif;
    int bits = 4;
    if (isnan(row->binning[0]))
        return;
    for (int i = 1; i < BINNINGS && bits == 5 - i; i++)
        if (row->binning[i - 1] < 1e-3 && row->binning[i] < 1e-3)
            bits = 4 - i;
    sink_begin_object(out, "binning");
    for (int i = 0; i < BINNINGS; i++)
        sink_number(out, names[i], row->binning[i]);
    sink_integer(out, "bits", bits);
    sink_number(out, "information_bound", binning_information(elements, row->achieved, bits));
    sink_end_object(out);
}

static void write_stages(const struct method_run *run, const struct sink *out)
{
    const struct evaluation *e = &run->evaluation;
    sink_begin_list(out, "by_density");
    for (int64_t i = 0; i < e->rows; i++) {
        const struct evaluation_row *row = &e->row[i];
        sink_begin_object(out, NULL);
        write_errors(&run->domain, row, false, out);
        write_binning(run, row, out);
        if (row->checkpoint < 0)
            sink_null(out, "checkpoint");
        else
            sink_integer(out, "checkpoint", row->checkpoint);
        sink_integer(out, "samples", row->motif_samples);
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* Rows are the true symbols and "none", columns are the channels and "none". */
static void write_confusion(const struct method_run *run, const struct sink *out)
{
    const struct open_domain *domain = &run->domain;
    const struct motif_errors *errors = &run->evaluation.errors;
    sink_begin_object(out, "confusion");
    sink_begin_list(out, "symbols");
    for (int i = 0; i < errors->symbols; i++)
        sink_text(out, NULL, domain->domain->symbol(domain->state, i));
    sink_text(out, NULL, "none");
    sink_end_list(out);
    sink_begin_list(out, "channels");
    for (int i = 0; i < errors->channels; i++)
        sink_integer(out, NULL, i);
    sink_text(out, NULL, "none");
    sink_end_list(out);
    sink_begin_list(out, "names"); /* what each channel stands for; null: no name */
    for (int i = 0; i < errors->channels; i++) {
        char name[CHANNEL_NAME_TEXT];
        channel_name_text(&run->evaluation.evidence.channels[i], domain, name, sizeof name);
        if (name[0])
            sink_text(out, NULL, name);
        else
            sink_null(out, NULL);
    }
    sink_text(out, NULL, "none");
    sink_end_list(out);
    sink_begin_list(out, "counts");
    for (int i = 0; i <= errors->symbols; i++) {
        sink_begin_list(out, NULL);
        for (int j = 0; j <= errors->channels; j++)
            sink_integer(out, NULL, errors->boxes[i * (errors->channels + 1) + j]);
        sink_end_list(out);
    }
    sink_end_list(out);
    sink_end_object(out);
}

/* Writes the false negative error of each symbol that occurred. */
static void write_misses(const struct open_domain *domain, const struct motif_errors *errors, const struct sink *out)
{
    sink_begin_object(out, "fne_by_symbol");
    for (int i = 0; i < errors->symbols; i++) {
        const int64_t *count = errors->boxes + i * (errors->channels + 1);
        int64_t truths = 0;
        for (int j = 0; j <= errors->channels; j++)
            truths += count[j];
        if (truths > 0)
            sink_number(out, domain->domain->symbol(domain->state, i),
                        (double)count[errors->channels] / (double)truths);
    }
    sink_end_object(out);
}

/* Writes the mutual coherence of each convolution of g, taken as a dictionary (core/nn/coherence.h). */
static enum status write_coherence(const struct network *network, struct thread_pool *pool, const struct sink *out,
                                   struct error *err)
{
    struct method_convolution all[COHERENCE_LAYERS];
    size_t count = network_convolutions(network, all, COHERENCE_LAYERS);
    sink_begin_list(out, "coherence");
    for (size_t i = 0; i < count && i < COHERENCE_LAYERS; i++) {
        double length = (double)all[i].inputs * all[i].height * all[i].width,
               coherence = convolution_coherence(&all[i], pool);
        if (isnan(coherence))
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the coherence of %s", all[i].name);
        sink_begin_object(out, NULL);
        sink_text(out, "layer", all[i].name);
        sink_number(out, "coherence", coherence);
        sink_number(out, "welch_floor", coherence_floor_welch(length, all[i].filters));
        sink_end_object(out);
    }
    sink_end_list(out);
    return STATUS_OK;
}

static void write_three(const struct sink *out, const char *name, const double *values)
{
    sink_begin_object(out, name);
    sink_number(out, "fpe", values[0]);
    sink_number(out, "fne", values[1]);
    sink_number(out, "ce", values[2]);
    sink_end_object(out);
}

static void write_chance_row(const struct sink *out, const char *name, const struct chance_row *row)
{
    sink_begin_object(out, name);
    write_three(out, "mean", row->mean);
    write_three(out, "low", row->low);
    write_three(out, "high", row->high);
    sink_end_object(out);
}

/* Writes the errors that motifs at random positions would have, and those that the true motifs would have, as
 * references for the errors of the model. */
static void write_chance(const struct sink *out, const struct chance *chance, int64_t shuffles)
{
    const double own[3] = {chance->fpe, chance->fne, chance->ce};
    sink_begin_object(out, "chance");
    sink_integer(out, "samples", chance->samples);
    sink_integer(out, "shuffles", shuffles);
    write_chance_row(out, "shuffled", &chance->all);
    write_three(out, "true_motifs", chance->perfect);
    sink_begin_object(out, "without_trivial");
    write_three(out, "own", own);
    write_chance_row(out, "shuffled", &chance->without);
    sink_end_object(out);
    sink_end_object(out);
}

enum status sparling_result(struct method_run *run, const struct sink *out, struct error *err)
{
    const struct evaluation *e = &run->evaluation;
    if (run->activity != ACTIVITY_DONE || e->rows < 1)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has no result before its evaluation has finished");
    const struct evaluation_row *row = &e->row[e->rows - 1];
    write_errors(&run->domain, row, true, out);
    if (run->head->result)
        run->head->result(run, out);
    write_binning(run, row, out);
    sink_begin_object(out, "windows"); /* fpe, fne and ce by the definition in the paper's text */
    sink_number(out, "fpe", row->window_fpe);
    sink_number(out, "fne", row->window_fne);
    sink_number(out, "ce", row->window_ce);
    sink_end_object(out);
    sink_integer(out, "seed", run->config.seed);
    sink_integer(out, "test_seed", e->seed);
    sink_integer(out, "samples", row->test_samples);
    sink_integer(out, "motif_samples", row->motif_samples);
    sink_integer(out, "trained_samples", run->samples);
    sink_integer(out, "updates", run->updates);
    sink_integer(out, "stages", run->annealer.stage + run->annealer.pending);
    sink_boolean(out, "reached_final_density", annealer_at_least(&run->annealer, &run->rule));
    sink_integer(out, "parameters", params_count(run->network->params));
    sink_text(out, "domain", run->domain.domain->name);
    double minimal_density;
    enum status status = run_minimal_density(run, &minimal_density, err);
    if (status)
        return status;
    sink_number(out, "minimal_density", minimal_density);
    if (run->domain.domain->division) {
        sink_begin_object(out, "division");
        status = run->domain.domain->division(run->domain.state, out, err);
        sink_end_object(out);
    }
    if (status)
        return status;
    motif_counts_result(run, out);
    evidence_result(run, out);
    extents_result(run, out);
    reference_figures_result(run, out);
    if (e->chance.samples > 0)
        write_chance(out, &e->chance, run->config.chance_shuffles);
    status = theorem_result(run, out, err);
    if (status)
        return status;
    status = write_coherence(run->network, run->env.pool, out, err);
    if (status)
        return status;
    write_stages(run, out);
    write_misses(&run->domain, &e->errors, out);
    write_confusion(run, out);
    return STATUS_OK;
}
