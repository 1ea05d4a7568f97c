/* Everything that a run is, as entries of a pack. Which fits there are depends on the case, so that is read first. */
#include <stdlib.h>

#include "core/methods/factors/run.h"
#include "core/methods/factors/run_int.h"

static enum status add_position(void *owner, struct pack *pack, struct error *err)
{
    struct method_run *run = owner;
    const struct pack_number numbers[] = {
        {"run.at", &run->at, NULL}, {"run.chosen", &run->chosen, NULL}, {"run.phase", &run->phase, NULL}};
    return pack_add_numbers(pack, numbers, sizeof numbers / sizeof numbers[0], err);
}

static enum status add_fits(struct method_run *run, enum pack_role role, struct pack *pack, struct error *err)
{
    enum status status = run->nmf ? nmf_pack(run->nmf, role, pack, err) : STATUS_OK;
    for (int i = 0; !status && i < run->fit_count; i++) {
        char prefix[STARTS_PREFIX];
        starts_prefix(i, prefix);
        status = fit_pack(run->fits[i], role, pack, prefix, err);
    }
    return status;
}

static enum status add_state(struct method_run *run, struct pack *pack, struct error *err)
{
    const struct pack_number numbers[] = {
        {"run.seen", &run->seen, NULL},
        {"run.work", &run->work, NULL},
        {"run.features", &run->width, NULL},
        {"run.alone", &run->alone, NULL},
        {"evaluation.seed", &run->evaluation_seed, NULL},
        {"evaluation.samples", &run->evaluation_samples, NULL},
        {"run.loss_sum", NULL, &run->loss_sum},
        {"run.worst", NULL, &run->worst},
    };
    const uint64_t table[4] = {(uint64_t)run->count, OUTCOME_COLUMNS};
    enum status status = add_position(run, pack, err);
    if (!status)
        status = pack_add_numbers(pack, numbers, sizeof numbers / sizeof numbers[0], err);
    return status ? status : pack_add(pack, PACK_STATE, PACK_F64, "run.outcomes", 2, table, run->outcomes, err);
}

static enum status declare(void *run, struct pack *pack, struct error *err)
{
    enum status status = add_fits(run, PACK_WEIGHT, pack, err);
    if (!status)
        status = add_fits(run, PACK_OPTIMISER, pack, err);
    if (!status)
        status = add_fits(run, PACK_STATE, pack, err);
    return status ? status : add_state(run, pack, err);
}

enum status factors_save(struct method_run *run, const struct pack_writer *to, uint64_t *bytes, struct error *err)
{
    enum status status = run->opened == run->at ? STATUS_OK : case_open(run, (int)run->at, run->chosen >= 0, err);
    for (int i = 0; !status && i < run->fit_count; i++)
        status = params_check(run->fits[i]->model->params, err);
    return status ? status : pack_save(declare, run, to, bytes, err);
}

/* Case, phase and restart, checked: what comes from a stream is not trusted where it selects memory or work. */
static enum status read_position(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    enum status status = pack_load(add_position, run, from, 1u << PACK_STATE, err);
    if (status)
        return status;
    bool sound = run->at >= 0 && run->at < run->count && run->phase >= PHASE_TRAIN && run->phase <= PHASE_DONE &&
                 run->chosen >= -1 && run->chosen < run->config.restarts;
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint is of another list of cases");
}

enum status factors_load(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    enum status status = read_position(run, from, err);
    if (!status)
        status = case_open(run, (int)run->at, run->chosen >= 0, err);
    if (!status)
        status = pack_load(declare, run, from, PACK_ALL, err);
    if (status)
        return status;
    bool sound = run->seen >= 0 && run->work >= 0 && run->width == run->features->columns &&
                 (!run->nmf || run->nmf->done >= 0);
    for (int i = 0; i < run->fit_count; i++) {
        const struct fit *f = run->fits[i];
        fit_loaded(run->fits[i]);
        sound = sound && f->updates >= 0 && f->epoch >= 0 && f->epoch <= f->setup.epochs && f->position >= 0 &&
                f->position < run->data.train_count;
    }
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state makes no sense");
}

enum status factors_warm_start(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    if (run->count > 1 || run->config.restarts > 1 || run->cases[0].model == MODEL_NMF)
        return error_set(err, STATUS_CONFLICT, NULL, "only a single fit can start from another's weights");
    enum status status = run->opened == 0 ? STATUS_OK : case_open(run, 0, false, err);
    return status ? status : pack_load(declare, run, from, 1u << PACK_WEIGHT, err);
}
