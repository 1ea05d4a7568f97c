/* Everything that a run is, as entries of a pack. How many arcs there are depends on the case, so that is read first.
 */
#include "core/methods/environments/run.h"
#include "core/methods/environments/run_int.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum status add_position(void *owner, struct pack *pack, struct error *err)
{
    struct method_run *run = owner;
    const struct pack_number numbers[] = {
        {"run.at", &run->at, NULL}, {"run.chosen", &run->chosen, NULL}, {"run.phase", &run->phase, NULL}};
    return pack_add_numbers(pack, numbers, COUNT(numbers), err);
}

static enum status add_fits(struct method_run *run, enum pack_role role, struct pack *pack, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < run->fit_count; i++) {
        char prefix[STARTS_PREFIX];
        starts_prefix(i, prefix);
        status = tree_fit_pack(run->fits[i], role, pack, prefix, err);
    }
    return status;
}

static enum status declare(void *owner, struct pack *pack, struct error *err)
{
    struct method_run *run = owner;
    const struct pack_number numbers[] = {
        {"run.features", &run->features, NULL},
        {"run.seen", &run->seen, NULL},
        {"run.work", &run->work, NULL},
        {"run.alone", &run->alone, NULL},
        {"evaluation.seed", &run->evaluation_seed, NULL},
        {"evaluation.samples", &run->evaluation_samples, NULL},
        {"run.loss_sum", NULL, &run->loss_sum},
        {"run.objective", NULL, &run->objective},
        {"run.worst", NULL, &run->worst},
    };
    const uint64_t table[4] = {(uint64_t)run->count, OUTCOME_COLUMNS};
    static const enum pack_role roles[] = {PACK_WEIGHT, PACK_OPTIMISER, PACK_STATE};
    enum status status = STATUS_OK;
    for (size_t r = 0; !status && r < COUNT(roles); r++)
        status = add_fits(run, roles[r], pack, err);
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
    for (int i = 0; !status && i < run->fit_count; i++)
        status = params_check(run->fits[i]->model->params, err);
    return status ? status : pack_save(declare, run, to, bytes, err);
}

/* What comes from a stream is not trusted where it selects memory or work. */
enum status environments_load(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    enum status status = pack_load(add_position, run, from, 1u << PACK_STATE, err);
    if (!status && (run->at < 0 || run->at >= run->count || run->phase < PHASE_TRAIN || run->phase > PHASE_DONE ||
                    run->chosen < -1 || run->chosen >= run->config.restarts))
        status = error_set(err, STATUS_CORRUPT, NULL, "the checkpoint is of another list of cases");
    if (!status)
        status = tree_case_open(run, (int)run->at, err);
    if (!status)
        status = pack_load(declare, run, from, PACK_ALL, err);
    if (status)
        return status;
    bool sound = run->seen >= 0 && run->work >= 0 && run->features == run->train->features;
    for (int i = 0; i < run->fit_count; i++)
        sound = sound && run->fits[i]->updates >= 0 && run->fits[i]->updates <= run->fits[i]->model->setup.updates;
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state makes no sense");
}

enum status environments_warm_start(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    if (run->count > 1 || run->config.restarts > 1)
        return error_set(err, STATUS_CONFLICT, NULL, "only a single fit can start from another's weights");
    enum status status = open_at(run, err);
    return status ? status : pack_load(declare, run, from, 1u << PACK_WEIGHT, err);
}
