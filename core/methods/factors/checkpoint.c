/* Everything that a run is, as entries of a pack. Which fits there are depends on the case, so that is read first. */
#include <stdlib.h>

#include "core/methods/factors/run.h"
#include "core/methods/factors/run_int.h"

static enum status add_position(struct method_run *run, struct pack *pack, struct error *err)
{
    enum status status = pack_add_i64(pack, "run.at", &run->at, err);
    if (!status)
        status = pack_add_i64(pack, "run.chosen", &run->chosen, err);
    return status ? status : pack_add_i64(pack, "run.phase", &run->phase, err);
}

static enum status add_fits(struct method_run *run, enum pack_role role, struct pack *pack, struct error *err)
{
    enum status status = run->nmf ? nmf_pack(run->nmf, role, pack, err) : STATUS_OK;
    for (int i = 0; !status && i < run->fit_count; i++) {
        char prefix[24];
        case_prefix(i, prefix);
        status = fit_pack(run->fits[i], role, pack, prefix, err);
    }
    return status;
}

static enum status add_state(struct method_run *run, struct pack *pack, struct error *err)
{
    const struct {
        const char *name;
        int64_t *at;
    } integers[] = {
        {"run.seen", &run->seen},
        {"run.work", &run->work},
        {"run.features", &run->width},
        {"run.alone", &run->alone},
        {"evaluation.seed", &run->evaluation_seed},
        {"evaluation.samples", &run->evaluation_samples},
    };
    const uint64_t table[4] = {(uint64_t)run->count, OUTCOME_COLUMNS};
    enum status status = add_position(run, pack, err);
    for (size_t i = 0; !status && i < sizeof integers / sizeof integers[0]; i++)
        status = pack_add_i64(pack, integers[i].name, integers[i].at, err);
    if (!status)
        status = pack_add_f64(pack, "run.loss_sum", &run->loss_sum, err);
    if (!status)
        status = pack_add_f64(pack, "run.worst", &run->worst, err);
    return status ? status : pack_add(pack, PACK_STATE, PACK_F64, "run.outcomes", 2, table, run->outcomes, err);
}

static enum status declare(struct method_run *run, struct pack *pack, struct error *err)
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
    struct pack *pack = NULL;
    enum status status = run->opened == run->at ? STATUS_OK : case_open(run, (int)run->at, run->chosen >= 0, err);
    for (int i = 0; !status && i < run->fit_count; i++)
        status = params_check(run->fits[i]->model->params, err);
    if (!status)
        status = pack_create(&pack, err);
    if (!status)
        status = declare(run, pack, err);
    if (!status)
        status = pack_write(pack, to, err);
    if (!status)
        *bytes = pack_bytes(pack);
    pack_destroy(pack);
    return status;
}

/* Case, phase and restart, checked: what comes from a stream is not trusted where it selects memory or work. */
static enum status read_position(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    struct pack *pack = NULL;
    enum status status = pack_create(&pack, err);
    if (!status)
        status = add_position(run, pack, err);
    if (!status)
        status = pack_read(pack, from, 1u << PACK_STATE, err);
    pack_destroy(pack);
    if (status)
        return status;
    bool sound = run->at >= 0 && run->at < run->count && run->phase >= PHASE_TRAIN && run->phase <= PHASE_DONE &&
                 run->chosen >= -1 && run->chosen < run->config.restarts;
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint is of another list of cases");
}

static enum status read_roles(struct method_run *run, const struct pack_reader *from, unsigned roles,
                              struct error *err)
{
    struct pack *pack = NULL;
    enum status status = pack_create(&pack, err);
    if (!status)
        status = declare(run, pack, err);
    if (!status)
        status = pack_read(pack, from, roles, err);
    pack_destroy(pack);
    return status;
}

enum status factors_load(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    enum status status = read_position(run, from, err);
    if (!status)
        status = case_open(run, (int)run->at, run->chosen >= 0, err);
    if (!status)
        status = read_roles(run, from, 1u << PACK_WEIGHT | 1u << PACK_OPTIMISER | 1u << PACK_STATE, err);
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
    struct pack *pack = NULL;
    if (!status)
        status = pack_create(&pack, err);
    if (!status)
        status = add_fits(run, PACK_WEIGHT, pack, err);
    if (!status)
        status = pack_read(pack, from, 1u << PACK_WEIGHT, err);
    pack_destroy(pack);
    return status;
}
