/* Everything that a run is, as entries of a pack. The shapes of the weights depend on the case, so that is read
 * first. */
#include <stdlib.h>

#include "core/methods/superposition/run.h"
#include "core/methods/superposition/run_int.h"

static enum status add_position(void *owner, struct pack *pack, struct error *err)
{
    struct method_run *run = owner;
    const struct pack_number numbers[] = {
        {"run.at", &run->at, NULL}, {"run.draw", &run->draw, NULL}, {"run.phase", &run->phase, NULL}};
    return pack_add_numbers(pack, numbers, sizeof numbers / sizeof numbers[0], err);
}

static enum status add_model(struct method_run *run, struct pack *pack, struct error *err)
{
    if (run->model) {
        enum status status = params_pack(run->model->params, pack, err);
        return status ? status : adam_pack(run->adam, pack, err);
    }
    const uint64_t rows[4] = {(uint64_t)run->rug.n_d}, one[4] = {1};
    enum status status = pack_add(pack, PACK_WEIGHT, PACK_I64, "rows", 1, rows, run->rug.rows, err);
    if (!status)
        status = pack_add(pack, PACK_WEIGHT, PACK_F64, "scale", 1, one, &run->scale, err);
    return status ? status : pack_add(pack, PACK_WEIGHT, PACK_F64, "offset", 1, one, &run->offset, err);
}

static enum status add_state(struct method_run *run, struct pack *pack, struct error *err)
{
    const struct pack_number numbers[] = {
        {"run.updates", &run->updates, NULL},
        {"run.samples", &run->samples, NULL},
        {"run.seen", &run->seen, NULL},
        {"run.work", &run->work, NULL},
        {"run.alone", &run->alone, NULL},
        {"evaluation.position", &run->position, NULL},
        {"evaluation.seed", &run->evaluation_seed, NULL},
        {"evaluation.samples", &run->evaluation_samples, NULL},
        {"run.loss_sum", NULL, &run->loss_sum},
        {"evaluation.sum", NULL, &run->sum},
        {"evaluation.squares", NULL, &run->squares},
    };
    const uint64_t table[4] = {(uint64_t)run->count, OUTCOME_COLUMNS}, ring[4] = {2 * (uint64_t)run->config.window};
    enum status status = add_position(run, pack, err);
    if (!status)
        status = pack_add_numbers(pack, numbers, sizeof numbers / sizeof numbers[0], err);
    if (!status)
        status = pack_add(pack, PACK_STATE, PACK_F64, "run.losses", 1, ring, run->losses, err);
    return status ? status : pack_add(pack, PACK_STATE, PACK_F64, "run.outcomes", 2, table, run->outcomes, err);
}

static enum status declare(void *run, struct pack *pack, struct error *err)
{
    enum status status = add_model(run, pack, err);
    return status ? status : add_state(run, pack, err);
}

enum status superposition_save(struct method_run *run, const struct pack_writer *to, uint64_t *bytes,
                               struct error *err)
{
    enum status status = STATUS_OK;
    if (run->opened != run->at || run->opened_draw != run->draw)
        status = work_open(run, (int)run->at, (int)run->draw, err);
    if (!status && run->model)
        status = params_check(run->model->params, err);
    return status ? status : pack_save(declare, run, to, bytes, err);
}

/* Case, draw and phase, checked: what comes from a stream is not trusted where it selects memory or work. */
static enum status read_position(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    enum status status = pack_load(add_position, run, from, 1u << PACK_STATE, err);
    if (status)
        return status;
    bool sound = run->at >= 0 && run->at < run->count && run->draw >= 0 && run->draw < run->config.draws &&
                 run->phase >= PHASE_TRAIN && run->phase <= PHASE_DONE;
    if (sound && run->phase == PHASE_TRAIN)
        sound = run->cases[run->at].model == MODEL_TRAINED;
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint is of another list of cases");
}

enum status superposition_load(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    enum status status = read_position(run, from, err);
    if (!status)
        status = work_open(run, (int)run->at, (int)run->draw, err);
    if (!status)
        status = pack_load(declare, run, from, PACK_ALL, err);
    if (!status && !run->model)
        status = rug_fill(&run->rug, err);
    if (status)
        return status;
    bool sound = run->updates >= 0 && run->samples >= 0 && run->seen >= 0 && run->work >= 0 && run->position >= 0 &&
                 run->evaluation_samples >= 1 && run->evaluation_samples <= 100000000 &&
                 (run->phase != PHASE_EVALUATE || run->position < run->evaluation_samples);
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state makes no sense");
}

enum status superposition_warm_start(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    if (run->count > 1 || run->cases[0].model != MODEL_TRAINED)
        return error_set(err, STATUS_CONFLICT, NULL, "only a single trained model can start from another's weights");
    enum status status = run->opened == 0 ? STATUS_OK : work_open(run, 0, 0, err);
    return status ? status : pack_load(declare, run, from, 1u << PACK_WEIGHT, err);
}
