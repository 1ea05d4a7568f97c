/* The seeds of a study on ranks: who has which, what ranks tell each other after a step, where the whole stands (study.h).
 *
 * All ranks hold the same table of seeds and draw the same conclusions from it, so nobody commands. One rank is a special case of
 * none of this. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run_int.h"
#include "core/methods/sparling/sparling.h"

/* What a rank tells the others. */
struct study_turn {
    int64_t seed; /* -1: it has none */
    int64_t over, waits, points;
    struct study_seed stands;
    enum method_wish wish;
    enum status status;
    struct error error;
};

bool study_of_many(const struct method_run *run)
{
    return run->config.seeds > 1 && !run->study.off;
}

struct comm *study_apart(const struct method_run *run)
{
    return study_of_many(run) && run->study.has && !run->study.joined ? comm_others(run->env.comm) : NULL;
}

enum status study_agree(struct comm *comm, enum status mine, struct error *err)
{
    struct outcome {
        enum status status;
        struct error error;
    } own = {.status = mine}, all[COMM_MOST];
    if (comm_size(comm) == 1)
        return mine;
    if (mine) {
        own.error = *err;
        error_clear(err);
    }
    enum status status = comm_gather(comm, &own, sizeof own, all, err);
    for (int r = 0; !status && r < comm_size(comm); r++)
        if (all[r].status)
            status = error_set(err, all[r].status, all[r].error.pointer, "%s", all[r].error.message);
    return status;
}

/* ---- where seeds stand ---------------------------------------------------------------------------------- */

static int64_t last_seed(const struct method_run *run) { return run->config.seeds - 1; }

static bool is(const struct method_run *run, int64_t seed, enum study_state state) { return run->study.seed[seed].state == (double)state; }

static bool others_over(const struct method_run *run, int64_t but)
{
    for (int64_t i = 0; i < run->config.seeds; i++)
        if (i != but && !is(run, i, STUDY_OVER))
            return false;
    return true;
}

bool study_must_wait(const struct method_run *run)
{
    return study_apart(run) && run->study.now == last_seed(run);
}

bool study_drives(const struct method_run *run) { return run->study.now == run->study.driver; }

void study_look(struct method_run *run)
{
    struct study *s = &run->study;
    struct method_progress own;
    if (!study_of_many(run) || s->now < 0)
        return;
    run_stands(run, &own);
    s->seed[s->now] = (struct study_seed){
        .state = s->over ? STUDY_OVER : STUDY_UNDER_WAY,
        .phase = s->waits ? PHASE_EVALUATE : (double)run->phase,
        .updates = (double)own.step,
        .samples = (double)own.samples,
        .fraction = s->over ? 1 : own.fraction,
        .left = s->waits ? 0 : own.eta_samples,
        .density = own.density,
        .target = own.target_accuracy,
        .accuracy = own.accuracy,
    };
}

int64_t study_updates(const struct method_run *run)
{
    double sum = 0;
    for (int64_t i = 0; i < run->config.seeds; i++)
        sum += run->study.seed[i].updates;
    return (int64_t)sum;
}

void study_progress(const struct method_run *run, struct method_progress *out)
{
    const struct study *s = &run->study;
    const struct study_seed *shown = &s->seed[s->shown];
    double fraction = 0, left = 0, seeds = (double)run->config.seeds;
    int64_t open = 0;
    for (int64_t i = 0; i < run->config.seeds; i++) {
        fraction += s->seed[i].fraction / seeds;
        left += is(run, i, STUDY_AHEAD) ? (double)run->config.total_samples : s->seed[i].left;
        open += !is(run, i, STUDY_OVER);
    }
    int64_t ranks = comm_size(run->env.comm), at_once = ranks < open ? ranks : open;
    *out = (struct method_progress){
        .step = study_updates(run),
        .samples = s->samples_before + (s->at < run->config.seeds ? (int64_t)s->seed[s->at].samples : 0),
        .fraction = run->phase == PHASE_DONE ? 1 : fraction,
        .density = shown->density,
        .target_accuracy = shown->target,
        .accuracy = shown->accuracy,
        .eta_samples = at_once > 0 ? left / (double)at_once : 0, /* samples are those of one seed at a time */
        .stage = run_stage(run->phase == PHASE_DONE ? PHASE_DONE : (int64_t)shown->phase),
    };
}

/* ---- series ------------------------------------------------------------------------------------------------ */

void study_metric(struct method_run *run, const char *name, double value)
{
    struct study_points *points = &run->study.points[run->study.now];
    size_t number = 0;
    while (number < sparling_method.metric_count && strcmp(sparling_method.metrics[number].name, name) != 0)
        number++;
    if (number == sparling_method.metric_count)
        error_set(&run->study.trouble, STATUS_INTERNAL, NULL, "no such series: %s", name);
    else if (!study_points_reserve(points, points->count + 1))
        error_set(&run->study.trouble, STATUS_NO_MEMORY, NULL, "no memory for what a seed measures");
    else
        points->list[points->count++] = (struct study_point){(double)number, (double)run->samples, value};
}

static enum status pass_points(struct method_run *run, int root, int64_t seed, int64_t count, struct error *err)
{
    struct comm *comm = study_apart(run);
    struct study_points *points = &run->study.points[seed];
    bool memory = study_points_reserve(points, (size_t)count);
    if (!comm || count == 0)
        return STATUS_OK;
    enum status status =
        study_agree(comm, memory ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for what a seed has measured"), err);
    if (!status)
        status = comm_broadcast(comm, points->list, (size_t)count * sizeof *points->list, root, err);
    points->count = status ? 0 : (size_t)count;
    return status;
}

static void tell(struct method_run *run, int64_t seed)
{
    struct study *s = &run->study;
    struct study_points *points = &s->points[seed];
    for (size_t i = 0; i < points->count && run->env.metric; i++) {
        const struct study_point *p = &points->list[i];
        run->env.metric(run->env.context, sparling_method.metrics[(size_t)p->metric].name, s->samples_before + (int64_t)p->samples, p->value);
    }
    points->count = 0;
}

/* The rank that has a seed, -1: none. */
static int rank_of(const struct method_run *run, int64_t seed)
{
    for (int r = 0; r < comm_size(study_apart(run)); r++)
        if (run->study.has[r] == seed)
            return r;
    return -1;
}

/* Seeds that are over, up to one that is not, and what that has measured. */
static enum status tell_in_order(struct method_run *run, struct error *err)
{
    struct study *s = &run->study;
    for (; s->at < run->config.seeds && is(run, s->at, STUDY_OVER); s->at++) {
        tell(run, s->at);
        s->samples_before += (int64_t)s->seed[s->at].samples;
    }
    int rank = s->at < run->config.seeds ? rank_of(run, s->at) : -1;
    if (rank < 0)
        return STATUS_OK;
    enum status status = pass_points(run, rank, s->at, s->turns[rank].points, err);
    if (!status)
        tell(run, s->at);
    return status;
}

/* ---- who has which --------------------------------------------------------------------------------------- */

/* What a rank that is free takes: a seed that was under way, else the next. */
static int64_t next_seed(const struct method_run *run)
{
    for (int64_t i = 0; i < run->config.seeds; i++)
        if (is(run, i, STUDY_UNDER_WAY) && rank_of(run, i) < 0)
            return i;
    for (int64_t i = 0; i < run->config.seeds; i++)
        if (is(run, i, STUDY_AHEAD))
            return i;
    return -1;
}

static void look_around(struct method_run *run)
{
    struct study *s = &run->study;
    int64_t shown = -1;
    s->driver = -1;
    for (int r = 0; r < comm_size(study_apart(run)); r++) {
        int64_t seed = s->has[r];
        shown = seed > shown ? seed : shown;
        if (seed > s->driver && s->seed[seed].phase < PHASE_EVALUATE)
            s->driver = seed;
    }
    s->shown = shown >= 0 ? shown : s->shown;
}

static enum status take(struct method_run *run, int64_t seed, bool begun, int64_t seq, struct error *err)
{
    struct study *s = &run->study;
    s->now = seed;
    s->over = s->waits = false;
    run->config.seed = s->first + seed;
    if (begun)
        return study_resume(run, &s->parked[seed], err);
    s->first_seq = seq;
    s->stage_step = -1;
    return run_begin(run, err);
}

/* Every rank that has no seed takes one, as long as there are any. */
static enum status deal(struct method_run *run, struct error *err)
{
    struct study *s = &run->study;
    struct comm *comm = study_apart(run);
    enum status status = STATUS_OK;
    int64_t seq = -1, seed;
    bool any = false;
    for (int r = 0; r < comm_size(comm); r++) {
        if (s->has[r] >= 0 || (seed = next_seed(run)) < 0)
            continue;
        bool begun = is(run, seed, STUDY_UNDER_WAY);
        if (!begun) {
            seq = seq < 0 ? run_last_checkpoint(run) : seq;
            s->seed[seed] = (struct study_seed){.state = STUDY_UNDER_WAY, .left = (double)run->config.total_samples,
                                                .density = run->config.density_start, .target = run->config.target_start, .accuracy = NAN};
        }
        s->has[r] = seed;
        any = true;
        if (r == comm_rank(comm))
            status = take(run, seed, begun, seq, err);
        buf_close(&s->parked[seed]);
    }
    look_around(run);
    return any ? study_agree(comm, status, err) : STATUS_OK;
}

/* The last seed, which one rank has trained, goes to all. */
static enum status join(struct method_run *run, struct error *err)
{
    struct study *s = &run->study;
    struct comm *comm = study_apart(run);
    struct buf bytes, *received = &s->parked[last_seed(run)];
    int root = rank_of(run, last_seed(run));
    bool mine = comm_rank(comm) == root;
    buf_init(&bytes, SIZE_MAX);
    buf_init(received, SIZE_MAX);
    enum status status = study_agree(comm, mine ? study_park(run, &bytes, err) : STATUS_OK, err);
    if (!status)
        status = study_pass(comm, root, &bytes, &(struct pack_writer){received, study_append}, err);
    if (!status) {
        s->now = last_seed(run);
        run->config.seed = s->first + s->now;
        status = study_agree(comm, mine ? STATUS_OK : study_resume(run, received, err), err);
    }
    buf_close(&bytes);
    buf_close(received);
    if (status)
        return status;
    s->joined = true;
    s->waits = s->over = false;
    s->has[0] = s->now;
    run->step_seconds = 0; /* in step: not by their clocks */
    look_around(run);
    return STATUS_OK;
}

/* The first step. What the run holds, from a checkpoint or as it was made, is on all ranks. */
static enum status begin(struct method_run *run, struct error *err)
{
    struct study *s = &run->study;
    struct comm *comm = comm_others(run->env.comm);
    int ranks = comm_size(comm);
    bool mine_first = is(run, s->now, STUDY_UNDER_WAY);
    for (int64_t i = 0; i < s->now; i++)
        mine_first = mine_first && !is(run, i, STUDY_UNDER_WAY);
    bool in_step = s->now == last_seed(run) && run->phase == PHASE_EVALUATE && others_over(run, s->now);
    bool stay = in_step || (!comm && mine_first);
    enum status status = STATUS_OK;
    s->turns = calloc((size_t)ranks, sizeof *s->turns);
    int64_t *has = malloc((size_t)ranks * sizeof *has);
    if (!s->turns || !has)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "no memory for %d ranks", ranks);
    else if (!stay && s->loaded)
        status = study_park(run, &s->parked[s->now], err);
    status = study_agree(comm, status, err);
    s->has = has;
    if (status)
        return status;
    for (int r = 0; r < ranks; r++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without it the ranks have agreed to end */
        has[r] = stay ? s->now : -1;
    if (stay) {
        s->joined = comm != NULL;
        run->step_seconds = comm ? 0 : run->step_seconds;
        look_around(run);
        return STATUS_OK;
    }
    if (!s->loaded)
        s->seed[s->now].state = STUDY_AHEAD;
    s->now = -1;
    return deal(run, err);
}

/* ---- a step ------------------------------------------------------------------------------------------------ */

/* A seed is over on rank r: its row, the motifs it found, and what is still to be told of it. */
static enum status pass_seed(struct method_run *run, int r, struct error *err)
{
    struct study *s = &run->study;
    struct comm *comm = study_apart(run);
    int64_t seed = s->turns[r].seed;
    size_t each = (size_t)STUDY_SAMPLES * STUDY_EACH;
    enum status status = comm_broadcast(comm, &s->row[seed], sizeof s->row[seed], r, err);
    if (!status)
        status = comm_broadcast(comm, s->motifs + (size_t)seed * each, each * sizeof *s->motifs, r, err);
    return status ? status : pass_points(run, r, seed, s->turns[r].points, err);
}

static enum status hear(struct method_run *run, struct error *err)
{
    struct study *s = &run->study;
    struct comm *comm = study_apart(run);
    int ranks = comm_size(comm);
    const struct study_turn *all = s->turns;
    enum status status = STATUS_OK;
    for (int r = 0; r < ranks; r++)
        if (all[r].status)
            return error_set(err, all[r].status, all[r].error.pointer, "%s", all[r].error.message);
    for (int r = 0; !status && r < ranks; r++) {
        if (all[r].seed >= 0)
            s->seed[all[r].seed] = all[r].stands;
        if (all[r].over)
            status = pass_seed(run, r, err);
    }
    if (!status)
        status = tell_in_order(run, err);
    for (int r = 0; r < ranks; r++)
        if (all[r].over)
            s->has[r] = -1;
    return status;
}

/* The seed that drives asks for all. A stage that ends is one only of the newest seed: its model is what the checkpoint shows. */
static enum method_wish wish_of_all(struct method_run *run)
{
    struct study *s = &run->study;
    for (int r = 0; r < comm_size(study_apart(run)); r++) {
        const struct study_turn *turn = &s->turns[r];
        if (turn->wish != METHOD_STAGE_END)
            continue;
        if (turn->seed < last_seed(run) && !is(run, turn->seed + 1, STUDY_AHEAD))
            return METHOD_CHECKPOINT;
        s->stage_step = study_updates(run);
        return METHOD_STAGE_END;
    }
    for (int r = 0; r < comm_size(study_apart(run)); r++)
        if (s->turns[r].wish == METHOD_CHECKPOINT)
            return METHOD_CHECKPOINT;
    return METHOD_CONTINUE;
}

enum status study_step(struct method_run *run, enum method_wish *wish, struct error *err)
{
    struct study *s = &run->study;
    *wish = run->phase == PHASE_DONE ? METHOD_DONE : METHOD_CONTINUE;
    if (run->phase == PHASE_DONE)
        return STATUS_OK;
    enum status status = s->has ? STATUS_OK : begin(run, err);
    if (status)
        return status;
    struct comm *comm = study_apart(run);
    struct study_turn mine = {.seed = s->now};
    if (s->now >= 0) {
        mine.status = run_stretch(run, &mine.wish, &mine.error);
        if (!mine.status && s->trouble.code) {
            mine.status = s->trouble.code;
            mine.error = s->trouble;
        }
        study_look(run);
        mine.over = s->over;
        mine.waits = s->waits;
        mine.stands = s->seed[s->now];
        mine.points = (int64_t)s->points[s->now].count;
    }
    status = comm_gather(comm, &mine, sizeof mine, s->turns, err);
    if (!status)
        status = hear(run, err);
    if (status)
        return status;
    if (s->at == run->config.seeds)
        return run_finish(run, err);
    *wish = wish_of_all(run);
    if (comm && is(run, last_seed(run), STUDY_UNDER_WAY) && others_over(run, last_seed(run))) {
        int rank = rank_of(run, last_seed(run));
        if (rank >= 0 && s->turns[rank].waits)
            return join(run, err);
    }
    if (s->over) { /* what it was is known to all */
        s->over = false;
        s->now = -1;
    }
    /* A checkpoint at the end of a stage shows the seed that ended it. */
    return *wish == METHOD_STAGE_END ? STATUS_OK : deal(run, err);
}
