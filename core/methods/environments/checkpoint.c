/* Everything that a run is, as entries of a pack. How many arcs there are depends on the case, so that is read first.
 */
#include "core/methods/environments/run.h"
#include "core/methods/environments/run_int.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum status add_position(void *owner, struct pack *pack, struct error *err)
{
    struct method_run *run = owner;
    const struct pack_number numbers[] = {{"run.at", &run->at, NULL}, {"run.phase", &run->phase, NULL}};
    return pack_add_numbers(pack, numbers, COUNT(numbers), err);
}

static enum status declare(void *owner, struct pack *pack, struct error *err)
{
    struct method_run *run = owner;
    const struct pack_number numbers[] = {
        {"fit.updates", &run->fit->updates, NULL},
        {"run.features", &run->features, NULL},
        {"run.seen", &run->seen, NULL},
        {"run.work", &run->work, NULL},
        {"run.alone", &run->alone, NULL},
        {"evaluation.seed", &run->evaluation_seed, NULL},
        {"evaluation.samples", &run->evaluation_samples, NULL},
        {"fit.last_loss", NULL, &run->fit->last_loss},
        {"run.loss_sum", NULL, &run->loss_sum},
    };
    const uint64_t table[4] = {(uint64_t)run->count, OUTCOME_COLUMNS};
    enum status status = params_pack(run->fit->model->params, pack, err);
    if (!status)
        status = adam_pack(run->fit->adam, pack, err);
    if (!status)
        status = add_position(run, pack, err);
    if (!status)
        status = pack_add_numbers(pack, numbers, COUNT(numbers), err);
    return status ? status : pack_add(pack, PACK_STATE, PACK_F64, "run.outcomes", 2, table, run->outcomes, err);
}

static enum status open_at(struct method_run *run, struct error *err)
{
    return run->opened == run->at ? STATUS_OK : tree_case_open(run, (int)run->at, err);
}

enum status environments_save(struct method_run *run, const struct pack_writer *to, uint64_t *bytes,
                              struct error *err)
{
    enum status status = open_at(run, err);
    if (!status)
        status = params_check(run->fit->model->params, err);
    return status ? status : pack_save(declare, run, to, bytes, err);
}

/* What comes from a stream is not trusted where it selects memory or work. */
enum status environments_load(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    enum status status = pack_load(add_position, run, from, 1u << PACK_STATE, err);
    if (!status && (run->at < 0 || run->at >= run->count || run->phase < PHASE_TRAIN || run->phase > PHASE_DONE))
        status = error_set(err, STATUS_CORRUPT, NULL, "the checkpoint is of another list of cases");
    if (!status)
        status = tree_case_open(run, (int)run->at, err);
    if (!status)
        status = pack_load(declare, run, from, PACK_ALL, err);
    if (status)
        return status;
    bool sound = run->seen >= 0 && run->work >= 0 && run->features == run->train->features &&
                 run->fit->updates >= 0 && run->fit->updates <= run->fit->model->setup.updates;
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state makes no sense");
}

enum status environments_warm_start(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    if (run->count > 1)
        return error_set(err, STATUS_CONFLICT, NULL, "only a single fit can start from another's weights");
    enum status status = open_at(run, err);
    return status ? status : pack_load(declare, run, from, 1u << PACK_WEIGHT, err);
}
