/* Reads the batches of a search for new weights of a channel (probe.h). */
#include "core/methods/sparling/training/probe.h"

#include <stdlib.h>

#include "core/methods/sparling/run_state.h"

enum status probe_batch(struct method_run *run, int index, const struct batch **batch, struct error *err)
{
    int64_t first = run->samples + index * run->config.batch;
    struct batch_request request = {.seed = run->config.seed,
                                    .first = first,
                                    .seen = first,
                                    .count = (int)run->config.batch,
                                    .set = DOMAIN_LESSON,
                                    .turns = run->presence.turns == TURNS_YES ? TURN_HALF : TURN_NONE};
    return batch_source_take(run->source, &request, NULL, batch, err);
}

void misread_close(struct misread *m)
{
    free(m->middle);
    free(m->reverse);
    *m = (struct misread){0};
}
