/* Applies the Motif Identifiability Theorem (section 3, Appendix D of the paper) to this run. The theorem says: if the
 * end-to-end error is epsilon, the motif error is at most k * epsilon. This file computes the constant k and the bound.
 *
 * The number of motifs, and how often two motifs are closer than the theorem allows, come from the samples of the motif
 * errors. alpha is computed for motifs on a line, as in the authors' code: with n motifs at most, the line has 2n - 1
 * places and motifs are at least two places apart (core/metrics/importance.h). */
#include <math.h>

#include "core/methods/sparling/evaluation/theorem.h"
#include "core/methods/sparling/run_state.h"
#include "core/metrics/importance.h"

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

enum status theorem_result(const struct method_run *run, const struct sink *out, struct error *err)
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
