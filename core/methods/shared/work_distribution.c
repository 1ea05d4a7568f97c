/* Assigns work items to ranks, exchanges their states after each step, and publishes their series in order
 * (work_distribution.h). A single rank runs the same code, without any exchange. */
#include "core/methods/shared/work_distribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double DISTRIBUTION_SECONDS = 0.5;

/* What a rank reports to the others after a step. */
struct distribution_turn {
    int64_t item; /* index of the rank's item; -1: none */
    int64_t over, waits, points;
    struct work_item row;
    enum method_request request;
    enum status status;
    struct error error;
};

/* Updates this rank's item in the table of items. */
static void update(struct work_distribution *d, const struct method_run *run)
{
    if (d->now < 0)
        return;
    struct work_item *own = &d->item[d->now];
    d->table->describe(run, own);
    own->state = d->item_done ? DISTRIBUTION_DONE : DISTRIBUTION_RUNNING;
    if (d->item_done || d->item_waits)
        own->left = own->training = 0;
    if (d->item_done)
        own->fraction = 1;
}

enum status distribution_open(struct work_distribution *d, const struct distribution_table *table,
                              const struct method_metric *series, size_t series_count, const struct method_env *env,
                              struct comm *comm, int64_t count, struct method_run *run, struct error *err)
{
    size_t n = (size_t)count;
    d->table = table;
    d->series = series;
    d->series_count = series_count;
    d->env = env;
    d->comm = comm;
    d->count = count;
    d->driver = d->stage_work = -1;
    d->item = calloc(n, sizeof *d->item);
    d->points = calloc(n, sizeof *d->points);
    d->suspended = calloc(n, sizeof *d->suspended);
    if (!d->item || !d->points || !d->suspended)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %lld work items", (long long)count);
    for (int64_t i = 0; i < count; i++)
        table->pending(run, i, &d->item[i]);
    update(d, run);
    return STATUS_OK;
}

/* ---- states of items -------------------------------------------------------------------------------- */

static int64_t last_item(const struct work_distribution *d)
{
    return d->count - 1;
}

static bool is(const struct work_distribution *d, int64_t item, enum distribution_state state)
{
    return d->item[item].state == (double)state;
}

static bool others_done(const struct work_distribution *d, int64_t but)
{
    for (int64_t i = 0; i < d->count; i++)
        if (i != but && !is(d, i, DISTRIBUTION_DONE))
            return false;
    return true;
}

bool distribution_must_wait(const struct work_distribution *d)
{
    return distribution_apart(d) && d->now == last_item(d);
}

int64_t distribution_work(const struct work_distribution *d)
{
    double sum = 0;
    for (int64_t i = 0; i < d->count; i++)
        sum += d->item[i].work;
    return (int64_t)sum;
}

void distribution_progress(const struct work_distribution *d, const struct method_run *run, struct method_progress *out)
{
    const struct work_item *shown = &d->item[d->shown];
    double done = 0, all = 0, left = 0, seen = 0;
    int64_t open = 0;
    for (int64_t i = 0; i < d->count; i++) {
        const struct work_item *u = &d->item[i];
        done += u->weight * u->fraction;
        all += u->weight;
        left += u->left;
        seen += u->seen;
        open += !is(d, i, DISTRIBUTION_DONE);
    }
    int64_t ranks = comm_size(d->comm), at_once = ranks < open ? ranks : open;
    double fraction = d->table->done(run) ? 1 : all > 0 ? done / all : 0;
    if (isnan(left))
        left = fraction > 0 ? seen * (1 / fraction - 1) : NAN;
    *out = (struct method_progress){
        .step = distribution_work(d),
        .samples = d->seen_before + (d->at < d->count ? (int64_t)d->item[d->at].seen : 0),
        .fraction = fraction,
        .density = shown->density,
        .target_accuracy = shown->target,
        .accuracy = shown->accuracy,
        .eta_samples = at_once > 0 ? left / (double)at_once : 0, /* ranks work on `at_once` items at the same time */
        .stage = d->table->stage((int64_t)shown->stage),
    };
}

/* ---- series ---------------------------------------------------------------------------------------------- */

void distribution_metric(struct work_distribution *d, const char *name, int64_t seen, double value)
{
    struct distribution_points *points = &d->points[d->now];
    size_t number = 0;
    while (number < d->series_count && strcmp(d->series[number].name, name) != 0)
        number++;
    if (number == d->series_count)
        error_set(&d->trouble, STATUS_INTERNAL, NULL, "the method has no series %s", name);
    else if (!distribution_reserve(points, points->count + 1))
        error_set(&d->trouble, STATUS_NO_MEMORY, NULL, "not enough memory for the series of a %s", d->table->noun);
    else
        points->list[points->count++] = (struct distribution_point){(double)number, (double)seen, value};
}

static enum status broadcast_points(struct work_distribution *d, int root, int64_t item, int64_t count,
                                    struct error *err)
{
    struct comm *comm = distribution_apart(d);
    struct distribution_points *points = &d->points[item];
    if (!comm || count == 0)
        return STATUS_OK;
    enum status status =
        distribution_reserve(points, (size_t)count)
            ? STATUS_OK
            : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the series of a %s", d->table->noun);
    status = comm_agree(comm, status, err);
    if (!status)
        status = comm_broadcast(comm, points->list, (size_t)count * sizeof *points->list, root, err);
    points->count = status ? 0 : (size_t)count;
    return status;
}

static void publish(struct work_distribution *d, int64_t item)
{
    struct distribution_points *points = &d->points[item];
    for (size_t i = 0; i < points->count && d->env->metric; i++) {
        const struct distribution_point *p = &points->list[i];
        d->env->metric(d->env->context, d->series[(size_t)p->metric].name, d->seen_before + (int64_t)p->seen, p->value);
    }
    points->count = 0;
}

/* The rank that has an item, -1: none. */
static int rank_of(const struct work_distribution *d, int64_t item)
{
    for (int r = 0; r < comm_size(distribution_apart(d)); r++)
        if (d->item_of[r] == item)
            return r;
    return -1;
}

/* Publishes the series of all items up to the first that is not done, and the points that this item has so far. */
static enum status publish_in_order(struct work_distribution *d, struct error *err)
{
    for (; d->at < d->count && is(d, d->at, DISTRIBUTION_DONE); d->at++) {
        publish(d, d->at);
        d->seen_before += (int64_t)d->item[d->at].seen;
    }
    int rank = d->at < d->count ? rank_of(d, d->at) : -1;
    if (rank < 0)
        return STATUS_OK;
    enum status status = broadcast_points(d, rank, d->at, d->turns[rank].points, err);
    if (!status)
        publish(d, d->at);
    return status;
}

/* ---- assignment -------------------------------------------------------------------------------------- */

/* The item for a free rank: a suspended one, else the next pending one; -1: none. */
static int64_t next_item(const struct work_distribution *d)
{
    for (int64_t i = 0; i < d->count; i++)
        if (is(d, i, DISTRIBUTION_RUNNING) && rank_of(d, i) < 0)
            return i;
    for (int64_t i = 0; i < d->count; i++)
        if (is(d, i, DISTRIBUTION_PENDING))
            return i;
    return -1;
}

static void update_driver(struct work_distribution *d)
{
    int64_t shown = -1;
    d->driver = -1;
    for (int r = 0; r < comm_size(distribution_apart(d)); r++) {
        int64_t item = d->item_of[r];
        shown = item > shown ? item : shown;
        if (item > d->driver && d->item[item].training > 0)
            d->driver = item;
    }
    d->shown = shown >= 0 ? shown : d->shown;
}

static enum status start_item(struct work_distribution *d, struct method_run *run, int64_t item, bool begun,
                              struct error *err)
{
    d->now = item;
    d->item_done = d->item_waits = false;
    if (begun)
        return distribution_resume(d, run, item, &d->suspended[item], err);
    d->stage_work = -1;
    return d->table->begin(run, item, err);
}

/* Assigns an item to every rank that has none, as long as unassigned items are left. */
static enum status assign_items(struct work_distribution *d, struct method_run *run, struct error *err)
{
    struct comm *comm = distribution_apart(d);
    enum status status = STATUS_OK;
    bool any = false, fresh = false;
    int64_t item;
    for (int r = 0; r < comm_size(comm); r++) {
        if (d->item_of[r] >= 0 || (item = next_item(d)) < 0)
            continue;
        bool begun = is(d, item, DISTRIBUTION_RUNNING);
        if (!begun && !fresh && d->table->prepare)
            d->table->prepare(run);
        fresh = fresh || !begun;
        d->item[item].state = DISTRIBUTION_RUNNING;
        d->item_of[r] = item;
        any = true;
        if (r == comm_rank(comm))
            status = start_item(d, run, item, begun, err);
        buf_close(&d->suspended[item]);
    }
    update_driver(d);
    return any ? comm_agree(comm, status, err) : STATUS_OK;
}

static void share_last_item(struct work_distribution *d, struct method_run *run)
{
    d->joined = true;
    d->item_of[0] = d->now;
    d->item_waits = d->item_done = false;
    d->table->in_step(run);
}

/* Copies the last item, which waits on one rank, to all ranks. */
static enum status join_last_item(struct work_distribution *d, struct method_run *run, struct error *err)
{
    struct comm *comm = distribution_apart(d);
    struct buf bytes, *received = &d->suspended[last_item(d)];
    int root = rank_of(d, last_item(d));
    bool mine = comm_rank(comm) == root;
    buf_init(&bytes, SIZE_MAX);
    buf_init(received, SIZE_MAX);
    enum status status = comm_agree(comm, mine ? distribution_suspend(d, run, &bytes, err) : STATUS_OK, err);
    if (!status)
        status =
            distribution_broadcast(comm, root, &bytes, &(struct snapshot_writer){received, distribution_append}, err);
    if (!status) {
        d->now = last_item(d);
        status = comm_agree(comm, mine ? STATUS_OK : distribution_resume(d, run, d->now, received, err), err);
    }
    buf_close(&bytes);
    buf_close(received);
    if (status)
        return status;
    share_last_item(d, run);
    update_driver(d);
    return STATUS_OK;
}

/* In the first step, either every rank keeps the item that the run contains, or ranks get items of their own. */
static enum status begin_first_step(struct work_distribution *d, struct method_run *run, struct error *err)
{
    struct comm *comm = comm_others(d->comm);
    int ranks = comm_size(comm);
    bool first = is(d, d->now, DISTRIBUTION_RUNNING);
    for (int64_t i = 0; i < d->now; i++)
        first = first && !is(d, i, DISTRIBUTION_RUNNING);
    /* If the run is in the last item, which has finished training, and all other items are done, all ranks continue
     * this item together. */
    bool in_step = d->now == last_item(d) && d->item[d->now].training == 0 && others_done(d, d->now);
    bool stay = in_step || (!comm && first);
    enum status status = STATUS_OK;
    int64_t *has = malloc((size_t)ranks * sizeof *has);
    d->turns = calloc((size_t)ranks, sizeof *d->turns);
    if (!d->turns || !has)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d ranks", ranks);
    else if (!stay && d->loaded)
        status = distribution_suspend(d, run, &d->suspended[d->now], err);
    status = comm_agree(comm, status, err);
    d->item_of = has;
    if (status || !has)
        return status;
    for (int r = 0; r < ranks; r++)
        has[r] = stay ? d->now : -1;
    if (stay) {
        if (comm)
            share_last_item(d, run);
        update_driver(d);
        return STATUS_OK;
    }
    if (!d->loaded)
        d->item[d->now].state = DISTRIBUTION_PENDING;
    d->now = -1;
    return assign_items(d, run, err);
}

/* ---- a step ------------------------------------------------------------------------------------------------ */

/* Rank r has finished its item. All ranks call this function: r broadcasts its outcome and points, the others receive.
 */
static enum status broadcast_item(struct work_distribution *d, struct method_run *run, int r, struct error *err)
{
    struct comm *comm = distribution_apart(d);
    int64_t item = d->turns[r].item;
    enum status status = STATUS_OK;
    void *at;
    size_t bytes;
    for (int part = 0; !status && comm && (bytes = d->table->outcome(run, item, part, &at)) > 0; part++)
        status = comm_broadcast(comm, at, bytes, r, err);
    return status ? status : broadcast_points(d, r, item, d->turns[r].points, err);
}

static enum status merge_turns(struct work_distribution *d, struct method_run *run, struct error *err)
{
    int ranks = comm_size(distribution_apart(d));
    const struct distribution_turn *all = d->turns;
    enum status status = STATUS_OK;
    for (int r = 0; r < ranks; r++)
        if (all[r].status)
            return error_set(err, all[r].status, all[r].error.pointer, "%s", all[r].error.message);
    for (int r = 0; !status && r < ranks; r++) {
        if (all[r].item >= 0)
            d->item[all[r].item] = all[r].row;
        if (all[r].over)
            status = broadcast_item(d, run, r, err);
    }
    if (!status)
        status = publish_in_order(d, err);
    for (int r = 0; r < ranks; r++)
        if (all[r].over)
            d->item_of[r] = -1;
    return status;
}

/* Returns the request of all ranks: that of the driving item (work_distribution.driver). A checkpoint shows the model
 * of the newest item. If that is another item than the driving one, the checkpoint does not show the end of the driving
 * item's stage, so METHOD_STAGE_END becomes METHOD_CHECKPOINT. */
static enum method_request request_of_all(struct work_distribution *d)
{
    enum method_request request = METHOD_CONTINUE;
    for (int r = 0; r < comm_size(distribution_apart(d)); r++) {
        const struct distribution_turn *turn = &d->turns[r];
        if (turn->request == METHOD_CONTINUE)
            continue;
        bool newest = turn->item == last_item(d) || is(d, turn->item + 1, DISTRIBUTION_PENDING);
        request = turn->request == METHOD_STAGE_END && newest ? METHOD_STAGE_END : METHOD_CHECKPOINT;
    }
    if (request == METHOD_STAGE_END)
        d->stage_work = distribution_work(d);
    return request;
}

static enum status take_turns(struct work_distribution *d, struct method_run *run, struct error *err)
{
    struct distribution_turn mine = {.item = d->now};
    if (d->now >= 0) {
        mine.status = d->table->advance(run, &mine.request, &mine.error);
        if (!mine.status && d->trouble.code) {
            mine.status = d->trouble.code;
            mine.error = d->trouble;
        }
        if (!distribution_drives(d))
            mine.request = METHOD_CONTINUE;
        update(d, run);
        mine.over = d->item_done;
        mine.waits = d->item_waits;
        mine.row = d->item[d->now];
        mine.points = (int64_t)d->points[d->now].count;
    }
    enum status status = comm_gather(distribution_apart(d), &mine, sizeof mine, d->turns, err);
    return status ? status : merge_turns(d, run, err);
}

enum status distribution_step(struct work_distribution *d, struct method_run *run, enum method_request *request,
                              struct error *err)
{
    *request = d->table->done(run) ? METHOD_DONE : METHOD_CONTINUE;
    if (*request == METHOD_DONE)
        return STATUS_OK;
    enum status status = d->item_of ? STATUS_OK : begin_first_step(d, run, err);
    if (status != STATUS_OK)
        return status;
    status = take_turns(d, run, err);
    if (status)
        return status;
    if (d->at == d->count) {
        status = d->table->finish(run, err);
        update(d, run);
        return status;
    }
    *request = request_of_all(d);
    int last = rank_of(d, last_item(d));
    if (distribution_apart(d) && last >= 0 && d->turns[last].waits && others_done(d, last_item(d)))
        return join_last_item(d, run, err);
    if (d->item_done) { /* all ranks have received the outcome of the item, so this rank can take another one */
        d->item_done = false;
        d->now = -1;
    }
    /* A checkpoint at the end of a stage must show the item that ended it, so new items wait for the next step. */
    return *request == METHOD_STAGE_END ? STATUS_OK : assign_items(d, run, err);
}
