/* Decides where the motifs of a run are reported. With centre_motifs, a motif is reported at the centre of its
 * channel's extent as soon as the extents are measured; otherwise at the maximum. All figures and tables of an
 * evaluation use these positions. */
#include "core/methods/sparling/run_state.h"

struct channel_places extents_places(const struct method_run *run)
{
    bool known =
        run->activity == ACTIVITY_DONE || (run->activity == ACTIVITY_EVALUATE && run->evaluation.part != PART_EXTENTS);
    return (struct channel_places){known ? run->evaluation.extents.channel : NULL, run->config.centre_motifs};
}

enum status extents_move(const struct method_run *run, float *planes, struct error *err)
{
    const struct channel_places places = extents_places(run);
    const struct domain_shape *shape = &run->domain.shape;
    return channel_places_move(&places, (int)run->config.channels_motif, shape->rows, shape->cols, planes, err);
}
