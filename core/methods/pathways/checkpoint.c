/* Declares a run as entries of a snapshot: the filters of the first case as weights, the curves and the position as
 * state. The dictionaries of other cases follow from the configuration. */
#include <stdio.h>
#include <string.h>

#include "core/methods/pathways/run.h"
#include "core/methods/pathways/run_int.h"

static enum status add_filters(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    const struct pathways_case *plan = &run->plan[0];
    if (plan->family == PATHWAYS_HADAMARD)
        return snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "hadamard.side", 1, (const uint64_t[4]){1},
                            &run->side, err);
    enum status status = STATUS_OK;
    for (int l = 0; !status && l < plan->layers; l++) {
        const struct dictionary_shape *s = &plan->shape[l];
        const uint64_t dim[4] = {(uint64_t)s->filters, (uint64_t)s->extent_h, (uint64_t)s->extent_w,
                                 (uint64_t)s->inputs};
        char name[32];
        snprintf(name, sizeof name, "layer.%d.filters", l + 1);
        status = snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, name, 4, dim, run->filters[l], err);
    }
    return status;
}

static enum status add_state(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("run.phase", &run->phase),
        SNAPSHOT_NUMBER("run.case", &run->at_case),
        SNAPSHOT_NUMBER("run.point", &run->at_point),
        SNAPSHOT_NUMBER("run.code", &run->at_code),
        SNAPSHOT_NUMBER("run.batches", &run->batches),
        SNAPSHOT_NUMBER("run.trials", &run->trials),
        SNAPSHOT_NUMBER("run.drawn", &run->drawn),
        SNAPSHOT_NUMBER("run.draw_seed", &run->draw_seed),
        SNAPSHOT_NUMBER("pilot.nonzeros", &run->pilot_nonzeros),
        SNAPSHOT_NUMBER("pilot.low", &run->pilot_low),
        SNAPSHOT_ARRAY("curves", (double *)run->curves, (uint64_t)run->cases, CURVE_COLUMNS),
    };
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    return status ? status : publish_snapshot(&run->findings, snapshot, err);
}

static enum status pathways_checkpoint_declare(void *run, struct snapshot *snapshot, struct error *err)
{
    enum status status = add_filters(run, snapshot, err);
    return status ? status : add_state(run, snapshot, err);
}

enum status pathways_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes, struct error *err)
{
    return snapshot_save(pathways_checkpoint_declare, run, to, bytes, err);
}

/* A snapshot may be damaged, so this function checks every number that decides how much memory the run allocates or how
 * long it works. */
static bool sound(const struct method_run *run)
{
    if (run->phase < PHASE_PILOT || run->phase > PHASE_DONE || run->at_case < 0 ||
        run->at_case > run->cases - (run->phase != PHASE_DONE))
        return false;
    for (int64_t i = 0; i < run->cases; i++) {
        const struct curve *c = &run->curves[i];
        if (!(c->points >= 0 && c->points <= PATHWAYS_POINTS))
            return false;
        for (int j = 0; j < (int)c->points; j++)
            if (!(c->point[j].nonzeros >= 1 && c->point[j].nonzeros < (double)pathways_columns(&run->plan[i])))
                return false;
    }
    if (run->phase == PHASE_PILOT)
        return run->pilot_nonzeros >= 0 && run->pilot_nonzeros < pathways_columns(&run->plan[run->at_case]) &&
               run->pilot_low >= 0 && run->pilot_low <= run->pilot_nonzeros;
    return run->phase == PHASE_DONE ||
           (run->at_point >= 0 && run->at_point < (int64_t)run->curves[run->at_case].points && run->at_code >= 0 &&
            run->at_code < pathways_codes(run));
}

static enum status read_back(struct method_run *run, const struct snapshot_reader *from, unsigned roles,
                             struct error *err)
{
    enum status status = snapshot_load(pathways_checkpoint_declare, run, from, roles, err);
    pathways_close_case(run);
    return status;
}

enum status pathways_load(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    enum status status = read_back(run, from, SNAPSHOT_ALL, err);
    if (status)
        return status;
    if (!sound(run))
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state is inconsistent");
    return STATUS_OK;
}

enum status pathways_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    return read_back(run, from, 1u << SNAPSHOT_WEIGHT, err);
}
