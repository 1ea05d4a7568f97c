/* Measures sufficient and necessary marks within an evaluation (marked_evidence.h). */
#include "core/methods/sparling/evaluation/marked_evidence.h"

#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run_state.h"

enum status marked_evidence_open(struct method_run *run, struct error *err)
{
    struct marked_evidence *m = &run->evaluation.marked;
    m->names = calloc((size_t)run->domain.shape.tokens + 1, sizeof *m->names);
    return m->names ? STATUS_OK : error_memory(err, "the evidence of names");
}

void marked_evidence_close(struct marked_evidence *m)
{
    sufficiency_close(m->pass);
    free(m->names);
    *m = (struct marked_evidence){.names = NULL};
}

void marked_evidence_drop(struct method_run *run)
{
    struct marked_evidence *m = &run->evaluation.marked;
    sufficiency_close(m->pass);
    m->pass = NULL;
}

void marked_evidence_clear(struct method_run *run)
{
    struct marked_evidence *m = &run->evaluation.marked;
    marked_evidence_drop(run);
    m->samples = 0;
    memset(m->names, 0, (size_t)run->domain.shape.tokens * sizeof *m->names);
}

enum status marked_evidence_declare(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct marked_evidence *m = &run->evaluation.marked;
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("marked.samples", &m->samples),
        SNAPSHOT_ARRAY("marked.names", (int64_t *)m->names, (uint64_t)run->domain.shape.tokens, SUFFICIENCY_COUNTS),
    };
    enum status status =
        run->config.reference ? snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err) : STATUS_OK;
    snapshot_optional(snapshot, "marked.");
    return status;
}

static bool sound_judge(const struct sufficiency_judge *judge)
{
    bool sound = snapshot_counts_sound(&judge->inputs, 1);
    for (int k = 0; sound && k < CHANGED_INPUTS; k++)
        sound = judge->changed[k] >= 0 && judge->changed[k] <= judge->inputs;
    return sound;
}

bool marked_evidence_sound(const struct method_run *run)
{
    const struct marked_evidence *m = &run->evaluation.marked;
    bool sound = snapshot_counts_sound(&m->samples, 1);
    for (int t = 0; sound && t < run->domain.shape.tokens; t++)
        sound = sound_judge(&m->names[t].model) && sound_judge(&m->names[t].reference) &&
                snapshot_counts_sound(&m->names[t].unread, 1) && snapshot_counts_sound(&m->names[t].unmarked, 1);
    return sound;
}

int64_t marked_evidence_samples(const struct method_run *run)
{
    bool wanted = run->config.reference && !run->direct && run->evaluation.at == run->evaluation.rows - 1 &&
                  !sufficiency_refuse(&run->domain);
    return wanted ? SUFFICIENCY_SAMPLES : 0;
}

static enum status begin(struct method_run *run, struct error *err)
{
    struct marked_evidence *m = &run->evaluation.marked;
    marked_evidence_clear(run);
    const struct channel_places places = extents_places(run);
    m->places = places;
    m->request = (struct sufficiency_request){.domain = &run->domain,
                                              .network = run->network,
                                              .report = {run->evaluation.evidence.channels, &m->places},
                                              .reference = reference_pass_model(&run->evaluation),
                                              .samples = SUFFICIENCY_SAMPLES,
                                              .per_name = SUFFICIENCY_PER_NAME};
    return sufficiency_open(&m->request, m->names, &m->pass, &m->samples, err);
}

enum status marked_evidence_piece(struct method_run *run, int64_t *position, bool *last, struct error *err)
{
    struct marked_evidence *m = &run->evaluation.marked;
    int64_t at = run->evaluation.position;
    enum status status = m->pass ? STATUS_OK : begin(run, err);
    if (!status)
        status = sufficiency_add(m->pass, at, &run->exec, NULL, err);
    *position = status ? at : at + 1;
    *last = at + 1 >= m->samples;
    return status;
}

void marked_evidence_result(const struct method_run *run, const struct sink *out)
{
    const struct marked_evidence *m = &run->evaluation.marked;
    if (m->samples == 0)
        return;
    sink_integer(out, "inputs", m->samples);
    sufficiency_write(&run->domain, m->names, out);
}
