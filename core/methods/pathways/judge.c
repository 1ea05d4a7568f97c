/* The verdict of a pathways run: whether decoding recovers what the theory guarantees.
 *
 * Nothing is learned from data here, so a run fails only where the measured share of recovered codes is below a
 * guarantee. Theorem 3.2 and the instance bound hold for random signs; bound (3) holds for all signs. All three hold
 * only for a decoder that knows the number of non-zeros (top-k). The bounds are computed for only the first codes of a
 * point, so the mean of the bounds also has a confidence interval. */
#include <math.h>

#include "core/methods/pathways/run.h"
#include "core/methods/pathways/run_int.h"

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
