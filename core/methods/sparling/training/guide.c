/* The objective that trains g directly when targets are numbers: a linear regression of the numbers on the presences of
 * the channels. The presence of a channel is computed from its pooled score. For targets that are labels, the presence
 * objective has the same role (presence.c).
 *
 * While the head cannot read the map, its gradient does not tell g which motifs to mark. So in the first phase only g
 * is trained, and only by this regression. It converts the score of a channel to the probability that the sample
 * contains the channel's motif, and predicts each number as a weighted sum of these probabilities. A channel that
 * marked two kinds of motif would have the same probability for one kind and for both, so the regression would explain
 * less. After the first phase, the objective keeps the channels from marking something else. */
#include <math.h>

#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/presence.h"

/* CLEAR: validations also read samples from the other strand once the regression explains more than this share of the
 * variance. TURNED: training uses both strands if R squared on samples read from the other strand is more than this
 * share of R squared on the same samples as they are. */
static const double CLEAR = 0.15, TURNED = 0.75;

struct tensor *guide_loss(struct method_run *run, const struct batch *batch, struct tensor *scores)
{
    const real *standard = numbers_standard(run, batch);
    return standard ? op_squared_error(&run->exec, network_guide(&run->exec, run->network, scores), standard) : NULL;
}

static void count(struct method_run *run, enum number_sums which, const struct batch *batch, struct tensor *scores)
{
    const struct tensor *numbers = network_guide(&run->exec, run->network, scores);
    if (numbers)
        numbers_add(run, which, batch, numbers);
}

void guide_count(struct method_run *run, const struct batch *batch, struct tensor *scores, const struct tensor *motifs)
{
    (void)motifs;
    count(run, NUMBERS_GUIDE, batch, scores);
}

void guide_count_turned(struct method_run *run, const struct batch *batch, struct tensor *scores)
{
    count(run, NUMBERS_TURNED, batch, scores);
}

bool guide_turning(const struct method_run *run)
{
    return phase_of_g_alone(plan_now(run)) && run->presence.turns == TURNS_OPEN &&
           regression_r2(numbers_all(run, NUMBERS_GUIDE)) >= CLEAR; /* false for NaN */
}

void guide_measure(struct method_run *run, struct validation_outcome *v)
{
    const struct regression *all = numbers_all(run, NUMBERS_GUIDE);
    double r2 = regression_r2(all);
    v->own_loss = all->ee / fmax(1, (double)all->n) / run->numbers.count;
    run_metric(run, "presence_loss", v->own_loss);
    run->numbers.best_guide = fmax(run->numbers.best_guide, r2 > 0 ? r2 : 0);
    if (guide_turning(run))
        run->presence.turns = regression_r2(numbers_all(run, NUMBERS_TURNED)) > TURNED * r2 ? TURNS_YES : TURNS_NO;
}
