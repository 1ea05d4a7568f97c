/* Runs the cases one after another. A case begins with a pilot, which doubles the number of non-zeros until no code is
 * recovered, and so finds the range in which recovery falls. The run then measures points in that range. If the
 * configuration lists the numbers of non-zeros, there is no pilot. A work item is one code with its sign draws. A batch
 * of items runs on the thread pool, and their counts are added up in order. The pilot depends on counts alone, so it
 * continues from a checkpoint with the same result. */
#include "core/methods/pathways/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/shared/timed_loop.h"
#include "core/methods/pathways/run_int.h"

static void metric(const struct method_run *run, const char *name, double value)
{
    if (run->env.metric)
        run->env.metric(run->env.context, name, run->trials, value);
}

int64_t pathways_codes(const struct method_run *run)
{
    return (run->config.trials + run->config.draws - 1) / run->config.draws;
}

/* ---- beginning and end ----------------------------------------------------------------------------- */

static enum status take_filters(struct method_run *r, struct error *err)
{
    const struct pathways_case *plan = &r->plan[0];
    struct scenario first;
    enum status status = scenario_open(plan, (uint64_t)r->config.seed, NULL, r->env.kernels, r->env.pool, &first, err);
    if (status)
        return status;
    r->side = (float)plan->shape[0].inputs;
    for (int l = 0; !status && plan->family != PATHWAYS_HADAMARD && l < plan->layers; l++) {
        size_t taps = (size_t)dictionary_taps(&plan->shape[l]);
        r->filters[l] = malloc(taps * sizeof(float));
        if (r->filters[l])
            memcpy(r->filters[l], first.dictionary[l].filters, taps * sizeof(float));
        else
            status = error_memory(err, "filters");
    }
    scenario_close(&first);
    return status;
}

enum status pathways_create(const void *config, const struct method_env *env, struct method_run **run,
                            struct error *err)
{
    struct method_run *r = calloc(1, sizeof *r);
    if (!r)
        return error_memory(err, "a run");
    r->config = *(const struct pathways_config *)config;
    r->env = *env;
    r->cases = pathways_cases(&r->config, r->plan);
    r->opened = -1;
    r->draw_seed = r->config.seed;
    r->curves = calloc((size_t)r->cases, sizeof *r->curves);
    r->spaces = calloc((size_t)thread_pool_threads(env->pool), sizeof *r->spaces);
    enum status status = STATUS_OK;
    if (!r->curves || !r->spaces)
        status = error_memory(err, "curves");
    if (!status)
        status = take_filters(r, err);
    if (status) {
        pathways_destroy(r);
        return status;
    }
    *run = r;
    return STATUS_OK;
}

void pathways_close_case(struct method_run *run)
{
    for (int i = 0; run->spaces && i < thread_pool_threads(run->env.pool); i++) {
        trial_space_destroy(run->spaces[i]);
        run->spaces[i] = NULL;
    }
    if (run->opened >= 0)
        scenario_close(&run->scenario);
    run->opened = -1;
}

void pathways_destroy(struct method_run *run)
{
    if (!run)
        return;
    pathways_close_case(run);
    for (int l = 0; l < PATHWAYS_DEPTH; l++)
        free(run->filters[l]);
    free(run->spaces);
    free(run->curves);
    free(run);
}

/* Whether case `at` has the same family, shape and stream as case 0. Such a case uses the filters of case 0, which may
 * come from another job. */
static bool same_dictionary(const struct method_run *run, int64_t at)
{
    const struct pathways_case *a = &run->plan[0], *b = &run->plan[at];
    return a->family == b->family && a->layers == b->layers && a->stream == b->stream &&
           memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

static enum status open_case(struct method_run *run, struct error *err)
{
    if (run->opened == run->at_case)
        return STATUS_OK;
    pathways_close_case(run);
    bool given = same_dictionary(run, run->at_case) && run->filters[0];
    enum status status = scenario_open(&run->plan[run->at_case], (uint64_t)run->config.seed,
                                       given ? (const float *const *)run->filters : NULL, run->env.kernels,
                                       run->env.pool, &run->scenario, err);
    if (status)
        return status;
    run->opened = run->at_case;
    for (int i = 0; !status && i < thread_pool_threads(run->env.pool); i++)
        status = trial_space_create(&run->scenario, false, &run->spaces[i], err);
    for (int l = 0; l < run->plan[run->at_case].layers; l++)
        run->curves[run->at_case].coherence[l] = run->scenario.dictionary[l].coherence;
    return status;
}

/* ---- a batch ---------------------------------------------------------------------------------------- */

struct batch {
    struct method_run *run;
    int first; /* this rank runs the items of the batch from this index on */
    struct trial_request request[BATCH_CODES];
    struct trial_outcome outcome[BATCH_CODES];
    enum status status[BATCH_CODES];
    struct error error[BATCH_CODES];
};

static void do_unit(void *context, int chunk, int worker)
{
    struct batch *b = context;
    int i = b->first + chunk;
    error_clear(&b->error[i]);
    b->status[i] = trial_run(&b->run->scenario, b->run->spaces[worker], &b->request[i], &b->outcome[i], &b->error[i]);
}

static void add_outcome(struct curve_point *p, const struct trial_outcome *o, bool bounds)
{
    double share = (double)o->recovered / o->draws;
    p->codes += 1;
    p->draws += o->draws;
    p->recovered += o->recovered;
    p->share_squares += share * share;
    for (int l = 0; l < PATHWAYS_DEPTH; l++) {
        p->layer_recovered[l] += o->layer_recovered[l];
        p->stripe[l] += o->stripe[l];
    }
    p->stripe_literal += o->stripe_literal[0];
    if (bounds) {
        p->bound_codes += 1;
        p->uniform += o->uniform;
        p->theorem += o->theorem;
        p->instance += o->instance;
        p->uniform_limit += o->uniform_limit;
        p->probabilistic_limit += o->probabilistic_limit;
    }
}

/* Runs `count` codes of a point, from the code with index `first` on. */
static enum status do_batch(struct method_run *run, struct curve_point *point, bool pilot, int64_t first, int count,
                            struct error *err)
{
    struct batch b = {.run = run};
    int draws = pilot && PILOT_DRAWS < run->config.draws ? PILOT_DRAWS : (int)run->config.draws;
    for (int i = 0; i < count; i++)
        b.request[i] = (struct trial_request){
            .seed = (uint64_t)run->draw_seed,
            .nonzeros = (int64_t)point->nonzeros,
            .number = first + i,
            .draws = draws,
            .pilot = pilot,
            .bounds = !pilot && first + i < run->config.bound_codes,
            .delta = run->config.delta,
        };
    struct comm_share own = comm_share(run->env.comm, count);
    b.first = (int)own.first;
    if (!thread_pool_run(run->env.pool, do_unit, &b, (int)own.count))
        return thread_pool_check(run->env.pool, err);
    enum status status = comm_complete(run->env.comm, b.status, count, sizeof b.status[0], err);
    if (status)
        return status;
    status = comm_complete(run->env.comm, b.error, count, sizeof b.error[0], err);
    if (status)
        return status;
    status = comm_complete(run->env.comm, b.outcome, count, sizeof b.outcome[0], err);
    if (status)
        return status;
    for (int i = 0; i < count; i++) {
        if (b.status[i])
            return error_set(err, b.status[i], NULL, "%s", b.error[i].message);
        add_outcome(point, &b.outcome[i], b.request[i].bounds);
        run->trials += pilot ? 0 : b.outcome[i].draws;
        run->drawn += b.outcome[i].draws;
    }
    run->batches++;
    return STATUS_OK;
}

/* ---- pilot ------------------------------------------------------------------------------------------ */

static int64_t most_nonzeros(const struct method_run *run)
{
    return (pathways_columns(&run->plan[run->at_case]) + 1) / 2;
}

/* Fills a curve with numbers of non-zeros: integers from low to high, evenly spaced in their logarithm. */
static void make_grid(struct curve *curve, int64_t low, int64_t high, int64_t points)
{
    int count = 0;
    for (int64_t i = 0; i < points; i++) {
        double at = points > 1 ? (double)i / (double)(points - 1) : 0;
        double value = floor(0.5 + (double)low * pow((double)high / (double)low, at));
        if (count == 0 || value > curve->point[count - 1].nonzeros)
            curve->point[count++].nonzeros = value;
    }
    curve->points = count;
}

static void begin_measuring(struct method_run *run)
{
    run->phase = PHASE_MEASURE;
    run->at_point = run->at_code = 0;
}

static void begin_case(struct method_run *run)
{
    int64_t list[PATHWAYS_POINTS];
    struct curve *curve = &run->curves[run->at_case];
    int given = pathways_nonzeros(&run->config, list);
    run->phase = PHASE_PILOT;
    run->pilot_nonzeros = run->pilot_low = 1;
    if (given > 0) {
        curve->points = given;
        for (int i = 0; i < given; i++)
            curve->point[i].nonzeros = (double)list[i];
        begin_measuring(run);
    }
}

static enum status pilot(struct method_run *run, struct error *err)
{
    struct curve_point *p = &run->pilot;
    memset(p, 0, sizeof *p);
    p->nonzeros = (double)run->pilot_nonzeros;
    enum status status = do_batch(run, p, true, 0, PILOT_CODES, err);
    if (status)
        return status;
    if (p->recovered == p->draws)
        run->pilot_low = run->pilot_nonzeros;
    if (p->recovered == 0 || 2 * run->pilot_nonzeros > most_nonzeros(run)) {
        make_grid(&run->curves[run->at_case], run->pilot_low, run->pilot_nonzeros, run->config.points);
        begin_measuring(run);
    } else {
        run->pilot_nonzeros *= 2;
    }
    return STATUS_OK;
}

/* ---- measurement ------------------------------------------------------------------------------------- */

static void report_point(struct method_run *run, const struct curve_point *p)
{
    metric(run, "nonzeros", p->nonzeros);
    metric(run, "stripe", point_stripe(p));
    metric(run, "recovered", point_share(p));
    metric(run, "coherence", run->curves[run->at_case].coherence[0]);
}

static enum status pathways_run_measure(struct method_run *run, struct error *err)
{
    struct curve *curve = &run->curves[run->at_case];
    struct curve_point *point = &curve->point[run->at_point];
    int64_t left = pathways_codes(run) - run->at_code;
    int count = (int)(left < BATCH_CODES ? left : BATCH_CODES);
    enum status status = do_batch(run, point, false, run->at_code, count, err);
    if (status)
        return status;
    run->at_code += count;
    if (run->at_code < pathways_codes(run))
        return STATUS_OK;
    report_point(run, point);
    run->at_code = 0;
    run->at_point++;
    if (run->at_point < (int64_t)curve->points)
        return STATUS_OK;
    run->at_point = 0;
    run->at_case++;
    if (run->at_case == run->cases) {
        run->phase = PHASE_DONE;
        struct error cause = {0};
        enum status made = pathways_artifacts(run, &cause);
        publish_attempted(&run->findings, &run->env, "charts", made, &cause);
        return STATUS_OK;
    }
    begin_case(run);
    return STATUS_OK;
}

static enum status pathways_run_work(struct method_run *run, struct error *err)
{
    if (run->batches == 0 && run->at_case == 0 && run->phase == PHASE_PILOT && run->pilot_nonzeros == 0)
        begin_case(run);
    enum status status = open_case(run, err);
    if (status)
        return status;
    return run->phase == PHASE_PILOT ? pilot(run, err) : pathways_run_measure(run, err);
}

enum status pathways_step(struct method_run *run, enum method_request *request, struct error *err)
{
    const struct timed_loop loop = {pathways_run_work, &run->env, &run->drawn, run->config.checkpoint_every,
                                    &run->phase,       PHASE_DONE};
    return timed_loop_step(&loop, run, request, err);
}

/* Keeps the filters and measures everything again with other codes. */
enum status pathways_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err)
{
    (void)err;
    memset(run->curves, 0, (size_t)run->cases * sizeof *run->curves);
    run->draw_seed = what->seed;
    run->config.trials = what->samples;
    run->config.draws = run->config.draws < what->samples ? run->config.draws : what->samples;
    run->at_case = run->batches = run->trials = 0;
    begin_case(run);
    return STATUS_OK;
}

/* ---- where it stands ----------------------------------------------------------------------------------- */

void pathways_progress(const struct method_run *run, struct method_progress *out)
{
    static const char *const stages[] = {"searching", "measuring", "done"};
    double points = 0, trials = 0;
    if (run->phase == PHASE_MEASURE) {
        points = run->curves[run->at_case].points;
        trials = ((double)run->at_point + (double)run->at_code / (double)pathways_codes(run)) / points;
    }
    double fraction = run->phase == PHASE_DONE ? 1 : ((double)run->at_case + trials) / (double)run->cases;
    timed_loop_progress(fraction, run->batches, run->trials, stages[run->phase], out);
}
