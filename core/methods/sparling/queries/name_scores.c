/* Computes the scores of names for the query "predict" (name_scores.h). */
#include "core/methods/sparling/queries/name_scores.h"

#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run_state.h"

static enum status declare_turns(void *turns, struct snapshot *snapshot, struct error *err)
{
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("presence.turns", (int64_t *)turns)};
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    snapshot_optional(snapshot, "");
    return status;
}

enum status name_scores_read(const struct snapshot_reader *from, bool *both_strands, struct error *err)
{
    int64_t turns = TURNS_NO;
    enum status status = snapshot_load(declare_turns, &turns, from, 1u << SNAPSHOT_STATE, err);
    *both_strands = !status && turns == TURNS_YES;
    return status;
}

enum status name_scores_write(struct inquiry *inquiry, const struct sink *out, struct error *err)
{
    const struct method_model *model = inquiry->model;
    struct network *network = model->network;
    const struct open_domain *domain = &model->domain;
    const struct tensor *turned = NULL;
    if (!network->presence_gain || !inquiry->scores)
        return STATUS_OK;
    if (model->turned_scores)
        turned = network_turned_scores(&inquiry->exec, network, inquiry->planes, 1);
    enum status status = exec_status(&inquiry->exec, err);
    if (status)
        return status;
    sink_begin_list(out, "presence");
    for (int k = 0; k < sparling_presence_names(&network->config); k++) {
        double score = network_presence_logit(network, inquiry->scores->data, k);
        if (turned)
            score = (score + network_presence_logit(network, turned->data, k)) / 2;
        sink_begin_object(out, NULL);
        sink_text(out, "name", domain->domain->token(domain->state, k));
        sink_number(out, "score", score);
        sink_end_object(out);
    }
    sink_end_list(out);
    return STATUS_OK;
}
