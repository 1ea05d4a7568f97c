/* The presence of names in labels. Labels that are counts have no names of motifs: one name stands for all counts above
 * zero, and its channel marks every motif. */
#include "core/methods/sparling/run_int.h"

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
