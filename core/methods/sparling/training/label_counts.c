/* Finds which names occur in a label, and how often. Labels that are counts do not name motifs, so one name stands for
 * all counts above zero, and its channel marks every motif. */
#include <math.h>

#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/label_counts.h"

/* Upper limit of counts: larger counts count as this one. */
enum { TALLY_MOST = 64 };

/* Counts how often a name occurs in a label. */
int tally_of(const struct method_run *run, const struct domain_truth *truth, int name)
{
    const struct presence_phase *p = &run->presence;
    const struct domain *domain = run->domain.domain;
    int count = 0;
    if (p->counted >= 0) {
        int64_t says = truth->length > 0 ? domain->counts(run->domain.state, truth->label[0]) : 0;
        return name != p->counted || says < 0 ? 0 : says > TALLY_MOST ? TALLY_MOST : (int)says;
    }
    for (int j = 0; j < truth->length; j++)
        count += truth->label[j] == name;
    return count > 0 && !p->exact ? TALLY_SOME : count;
}

void tally_follow(struct method_run *run, const double *count, const double *share)
{
    struct presence_phase *p = &run->presence;
    const struct sparling_geometry map = sparling_geometry(&run->config);
    double positions = (double)map.inner_rows * map.inner_cols, motifs = 0;
    p->exact = p->counted >= 0;
    for (int k = 0; k < p->names; k++) {
        p->exact |= count[k] > share[k] * (1 + 1e-9);
        motifs += p->counted < 0 ? 0 : share[k] * fmax(0, (double)run->domain.domain->counts(run->domain.state, k));
    }
    for (int k = 0; k < p->names; k++) {
        double mean = k == p->counted ? motifs : count[k];
        p->offset[k] = (real)log(fmin(0.5, fmax(1e-6, mean / positions)));
    }
}

struct tensor *tally_loss(struct method_run *run, const struct batch *batch, struct tensor *map)
{
    struct presence_phase *p = &run->presence;
    struct tally tally = {.names = p->names, .most = 1, .counts = p->tally, .offset = p->offset};
    for (int i = 0; i < batch->request.count; i++)
        for (int k = 0; k < p->names; k++) {
            int count = tally_of(run, &batch->truths[i], k);
            p->tally[i * p->names + k] = count;
            tally.most = count > tally.most ? count : tally.most;
        }
    tally.scale = phase_of_g_alone(plan_now(run)) ? p->scale : NULL;
    if (p->channels > p->names) {
        for (int k = 0; k < p->names; k++)
            p->tally_scale[k] = network_parts_used(run->network, k) > 1 ? 0 : tally.scale ? tally.scale[k] : 1;
        tally.scale = p->tally_scale;
    }
    return op_tally(&run->exec, map, &tally);
}

int presence_counted(const struct method_run *run)
{
    const struct domain *domain = run->domain.domain;
    int best = -1;
    for (int k = 0; domain->counts && k < run->presence.names; k++) {
        int64_t count = domain->counts(run->domain.state, k);
        if (count > 0 && (best < 0 || count < domain->counts(run->domain.state, best)))
            best = k;
    }
    return best;
}

bool presence_true(const struct method_run *run, const struct domain_truth *truth, int name)
{
    const struct domain *domain = run->domain.domain;
    if (run->presence.counted >= 0)
        return name == run->presence.counted && truth->length > 0 &&
               domain->counts(run->domain.state, truth->label[0]) > 0;
    for (int j = 0; j < truth->length; j++)
        if (truth->label[j] == name)
            return true;
    return false;
}
