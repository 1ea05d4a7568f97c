/* Computes the scores of names for the query "predict" (name_scores.h). */
#include "core/methods/sparling/queries/name_scores.h"

#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run_state.h"

static const char ENTRY[] = "presence.turns";

static enum status has_entry(const struct snapshot_reader *from, bool *has, struct error *err)
{
    struct snapshot_entry *entries = NULL;
    size_t count = 0;
    *has = false;
    enum status status = snapshot_contents(from, &entries, &count, err);
    for (size_t i = 0; !status && i < count; i++)
        *has = *has || (strcmp(entries[i].name, ENTRY) == 0 && entries[i].role == SNAPSHOT_STATE);
    free(entries);
    return status;
}

enum status name_scores_read(const struct snapshot_reader *from, bool *both_strands, struct error *err)
{
    struct snapshot *snapshot = NULL;
    int64_t turns = TURNS_NO;
    bool has;
    *both_strands = false;
    enum status status = has_entry(from, &has, err);
    if (status || !has)
        return status;
    status = snapshot_create(&snapshot, err);
    if (!status)
        status = snapshot_add_i64(snapshot, ENTRY, &turns, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_STATE, err);
    snapshot_destroy(snapshot);
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
    for (int k = 0; k < network->presence_gain->dim[0]; k++) {
        double score = (double)inquiry->scores->data[k];
        if (turned)
            score = (score + (double)turned->data[k]) / 2;
        sink_begin_object(out, NULL);
        sink_text(out, "name", domain->domain->token(domain->state, k));
        sink_number(out, "score",
                    (double)network->presence_gain->value[k] * score + (double)network->presence_bias->value[k]);
        sink_end_object(out);
    }
    sink_end_list(out);
    return STATUS_OK;
}
