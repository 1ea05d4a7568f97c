/* Writes the fields of a result: recovery and bounds at each point of a curve, the limits of the bounds, the coherences
 * of each case, and the fits of the scaling law. */
#include <math.h>

#include "core/methods/pathways/run.h"
#include "core/methods/pathways/run_int.h"
#include "core/nn/coherence.h"

static void write_point(const struct sink *out, const struct method_run *run, int64_t at_case,
                        const struct curve_point *p)
{
    const struct pathways_case *plan = &run->plan[at_case];
    bool bounds = p->bound_codes > 0;
    sink_begin_object(out, NULL);
    sink_integer(out, "nonzeros", (int64_t)p->nonzeros);
    sink_number(out, "stripe", point_stripe(p));
    sink_number(out, "stripe_literal", p->stripe_literal / p->codes);
    sink_number(out, "recovered", point_share(p));
    sink_number(out, "standard_error", point_error(p));
    sink_integer(out, "trials", (int64_t)p->draws);
    sink_integer(out, "codes", (int64_t)p->codes);
    /* Guaranteed probabilities, as means over codes: by bound (3) of the paper for any signs, by Theorem 3.2, and by
     * the instance bound (bounds.h). */
    sink_number(out, "uniform_bound", bounds ? p->uniform / p->bound_codes : NAN);
    sink_number(out, "probabilistic_bound", bounds ? p->theorem / p->bound_codes : NAN);
    sink_number(out, "instance_bound", bounds ? p->instance / p->bound_codes : NAN);
    if (plan->layers > 1) {
        sink_begin_list(out, "layers");
        for (int l = 0; l < plan->layers; l++) {
            sink_begin_object(out, NULL);
            sink_number(out, "recovered", p->layer_recovered[l] / p->draws);
            sink_number(out, "stripe", p->stripe[l] / p->codes);
            sink_end_object(out);
        }
        sink_end_list(out);
    }
    sink_end_object(out);
}

static void write_curve(const struct sink *out, const struct method_run *run, int64_t at_case)
{
    const struct curve *curve = &run->curves[at_case];
    sink_begin_list(out, "curve");
    for (int i = 0; i < (int)curve->points; i++)
        write_point(out, run, at_case, &curve->point[i]);
    sink_end_list(out);
}

/* Writes the limits that bounds (3) and (5) (bounds.h) set to the first layer's stripe sparsity, for the magnitudes and
 * the noise of the case. Also writes the lower limits of the first layer's coherence. */
static void write_limits(const struct sink *out, const struct method_run *run, int64_t at_case)
{
    const struct pathways_case *plan = &run->plan[at_case];
    const struct dictionary_shape *s = &plan->shape[0];
    double mu = run->curves[at_case].coherence[0], atoms = (double)s->filters * s->height * s->width;
    sink_number(out, "uniform_limit", bound_uniform(mu, 1, plan->ratio, plan->noise));
    sink_number(out, "probabilistic_limit",
                bound_probabilistic(mu, atoms, 1, plan->ratio, plan->noise, run->config.delta));
    double length = (double)s->inputs * s->extent_h * s->extent_w;
    sink_number(out, "welch_floor", coherence_floor_welch(length, s->filters));
    sink_number(out, "convolutional_floor",
                plan->family == PATHWAYS_HADAMARD ? NAN : coherence_floor_convolutional(s->filters, length));
}

static void write_case(const struct sink *out, const struct method_run *run, int64_t i)
{
    const struct pathways_case *plan = &run->plan[i];
    const struct dictionary_shape *s = &plan->shape[0];
    bool hadamard = plan->family == PATHWAYS_HADAMARD;
    sink_begin_object(out, NULL);
    sink_text(out, "label", plan->label);
    sink_integer(out, "filters", s->filters);
    sink_integer(out, "filter_length", hadamard ? s->inputs : s->extent_w);
    sink_integer(out, "length", hadamard ? 1 : s->width);
    sink_begin_list(out, "coherence");
    for (int l = 0; l < plan->layers; l++)
        sink_number(out, NULL, run->curves[i].coherence[l]);
    sink_end_list(out);
    write_limits(out, run, i);
    sink_number(out, "stripe_95", curve_crossing(&run->curves[i], 0.95, false));
    sink_number(out, "stripe_50", curve_crossing(&run->curves[i], 0.5, false));
    sink_number(out, "nonzeros_50", curve_crossing(&run->curves[i], 0.5, true));
    write_curve(out, run, i);
    sink_end_object(out);
}

static void write_fit(const struct sink *out, const struct method_run *run, int group, enum scaling_of of,
                      const char *name)
{
    struct scaling_fit fit = pathways_fit(run, group, of);
    if (isnan(fit.slope))
        return;
    sink_begin_object(out, NULL);
    sink_text(out, "of", name);
    sink_integer(out, "sizes", fit.points);
    sink_number(out, "slope", fit.slope);
    sink_number(out, "low", fit.low);
    sink_number(out, "high", fit.high);
    sink_number(out, "intercept", fit.intercept);
    sink_end_object(out);
}

static void write_fits(const struct sink *out, const struct method_run *run)
{
    sink_begin_list(out, "fits");
    for (int g = 0; g < pathways_groups(run); g++)
        write_fit(out, run, g, SCALING_MEASURED, pathways_group_name(&run->config, g));
    write_fit(out, run, 0, SCALING_UNIFORM, "limit (3)");
    write_fit(out, run, 0, SCALING_PROBABILISTIC, "limit (5)");
    sink_end_list(out);
}

enum status pathways_result(struct method_run *run, const struct sink *out, struct error *err)
{
    if (run->phase != PHASE_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not measured all its curves yet");
    sink_integer(out, "seed", run->draw_seed);
    sink_integer(out, "samples", run->trials);
    sink_number(out, "coherence", run->curves[0].coherence[0]);
    sink_number(out, "stripe_95", curve_crossing(&run->curves[0], 0.95, false));
    sink_number(out, "stripe_50", curve_crossing(&run->curves[0], 0.5, false));
    write_limits(out, run, 0);
    write_curve(out, run, 0);
    sink_begin_list(out, "cases");
    for (int64_t i = 0; i < run->cases; i++)
        write_case(out, run, i);
    sink_end_list(out);
    write_fits(out, run);
    return STATUS_OK;
}

/* The verdict of a pathways run: whether decoding recovers what the theory guarantees.
 *
 * Nothing is learned from data here, so a run fails only where the measured share of recovered codes is below a
 * guarantee. Theorem 3.2 and the instance bound hold for random signs; bound (3) holds for all signs. All three hold
 * only for a decoder that knows the number of non-zeros (top-k). The bounds are computed for only the first codes of a
 * point, so the mean of the bounds also has a confidence interval. */

/* Half width of both confidence intervals of a comparison, in standard errors; 99.7 % of such intervals contain the
 * true value. */
static const double SURE = 3;

enum { BELOW, ARTIFACT };
const struct finding_code pathways_findings[PATHWAYS_FINDINGS] = {
    [BELOW] = {"below-guarantee", FINDING_ERROR, VERDICT_NOT_LEARNED,
               "The share of recovered codes is below the probability that a bound guarantees.",
               "motifctl submit --like JOB --set trials=20000 --set bound_codes=100 --set seed=1"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

/* Lower end of Wilson's interval for a share that was measured on `count` codes. */
static double wilson_low(double share, double count)
{
    double z = SURE * SURE / count;
    return (share + z / 2 - SURE * sqrt(share * (1 - share) / count + z / count / 4)) / (1 + z);
}

/* Returns the probability of recovery that the bounds guarantee at this point. It takes the bound with the largest mean
 * over the codes, and returns the lower end of the confidence interval of this mean. 0: no bound applies. */
static double guarantee(const struct pathways_case *plan, const struct curve_point *p)
{
    if (!(p->bound_codes > 0) || plan->rule.decoder != DECODER_TOP_K)
        return 0;
    double sure = p->uniform;
    if (plan->signs == SIGNS_RANDOM)
        sure = fmax(sure, fmax(p->theorem, p->instance)); /* fmax() leaves out NaN */
    return wilson_low(fmin(1, sure / p->bound_codes), p->bound_codes);
}

enum status pathways_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    int below = 0, points = 0;
    double worst = 0, recovered = 0, promised = 0;
    if (run->phase != PHASE_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not measured all its curves yet");
    for (int64_t i = 0; i < run->cases; i++)
        for (int k = 0; k < (int)run->curves[i].points; k++, points++) {
            const struct curve_point *p = &run->curves[i].point[k];
            double sure = guarantee(&run->plan[i], p), gap = sure - (point_share(p) + SURE * point_error(p));
            below += gap > 0;
            if (gap > worst) {
                worst = gap;
                recovered = point_share(p);
                promised = sure;
            }
        }
    if (below > 0)
        findings_add(
            findings, &pathways_findings[BELOW],
            "At %d of %d points fewer codes were recovered than a bound guarantees. At the worst point the share of "
            "recovered codes is %.3f, but the bound guarantees at least %.3f.",
            below, points, recovered, promised);
    publish_findings(&run->findings, &pathways_findings[ARTIFACT], findings);
    return STATUS_OK;
}
