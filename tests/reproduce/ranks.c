/* Runs a method on the ranks of mpirun, without a daemon:
 *
 *      mpirun --allow-run-as-root --oversubscribe -np 2 ranks --kind sparling --preset digitcircle --updates 200
 *             [--set FIELD=VALUE]... [--threads 1] [--data DIR] [--stretch 10] [--time]
 *
 * Rank 0 prints every loss and the hash of the weights. The exit status is 1 if any bit of the result differs between
 * ranks.
 *
 * - --stretch N compares all ranks with one rank, in stretches of N updates. Every stretch begins with a checkpoint
 *   of the one-rank run. Prints how far the results are apart.
 * - --time prints the share of the time that is spent in the communicator. It also prints how much of this time is
 *   waiting for other ranks (a barrier before each call), and how much is exchanging data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/rank_run.h"
#include "trainer/mpi/comm_mpi.h"

enum { SETTINGS = 64, CONFIG_BYTES = 1 << 16 };

struct options {
    const char *kind, *preset, *data;
    struct config_setting set[SETTINGS];
    char name[SETTINGS][128];
    int sets, threads;
    int64_t updates, stretch;
    bool time;
};

/* ---- a communicator that measures its calls ----------------------------------------------------------------- */

enum { UPDATES = 4096, EACH = 1 << 16 };
enum call { GATHER, BROADCAST, START, WAIT, PROGRESS, CALLS };
static const char *const call_name[CALLS] = {"small gathers", "broadcasts", "sums begun", "sums waited for",
                                             "sums driven"};

struct each {
    double thread, wall; /* seconds of one call */
    size_t bytes;
};

struct timed {
    struct comm comm;
    struct comm *inner;
    double waited, moved, called; /* waited: seconds in which calls waited for other ranks; moved: all other seconds
                                     of the calls; called: processor seconds of this thread in the calls */
    int64_t bytes;
    struct each *each[CALLS]; /* each[c]: times of the first EACH calls of kind c */
    int64_t count[CALLS];
    double update[UPDATES], begun; /* update[u]: processor seconds of this thread in the calls of update u, up to its
                                      call WAIT; begun: `called` at the start of the current update */
    int updates;
};

static double clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct moment {
    double wall, thread;
};

/* Waits until all ranks have arrived and each has a core. The time of the following call then contains neither the
 * computation of another rank nor the wait for a core. Repeats barriers until one is as short as a message to another
 * rank and back. */
static struct moment arrive(struct timed *t)
{
    const double prompt = 10e-6;
    double began = clock_of(CLOCK_MONOTONIC), last = began, took = 1;
    for (int i = 0; i < 20; i++) {
        comm_max(t->inner, &took, 1, NULL); /* all ranks take the maximum, so that they decide alike */
        double now = clock_of(CLOCK_MONOTONIC), most = took;
        took = now - last;
        last = now;
        if (i > 0 && most <= prompt)
            break;
    }
    struct moment m = {clock_of(CLOCK_MONOTONIC), clock_of(CLOCK_THREAD_CPUTIME_ID)};
    t->waited += m.wall - began;
    return m;
}

static enum status leave(struct timed *t, enum call call, struct moment since, size_t bytes, enum status status)
{
    struct each now = {clock_of(CLOCK_THREAD_CPUTIME_ID) - since.thread, clock_of(CLOCK_MONOTONIC) - since.wall, bytes};
    t->moved += now.wall;
    t->called += now.thread;
    if (t->count[call] < EACH)
        t->each[call][t->count[call]] = now;
    t->count[call]++;
    if (call == WAIT && t->updates < UPDATES) {
        t->update[t->updates++] = t->called - t->begun;
        t->begun = t->called;
    }
    t->bytes += (int64_t)bytes;
    return status;
}

static enum status timed_gather(struct comm *comm, const void *mine, const size_t *bytes, void *all, struct error *err)
{
    struct timed *t = (struct timed *)comm;
    struct moment m = arrive(t);
    return leave(t, GATHER, m, bytes[comm->rank], t->inner->table->gather(t->inner, mine, bytes, all, err));
}

static enum status timed_broadcast(struct comm *comm, void *data, size_t bytes, int root, struct error *err)
{
    struct timed *t = (struct timed *)comm;
    struct moment m = arrive(t);
    return leave(t, BROADCAST, m, bytes, comm_broadcast(t->inner, data, bytes, root, err));
}

static enum status timed_start(struct comm *comm, void *values, size_t count, enum comm_type type, struct error *err)
{
    struct timed *t = (struct timed *)comm;
    struct moment m = {clock_of(CLOCK_MONOTONIC), clock_of(CLOCK_THREAD_CPUTIME_ID)};
    return leave(t, START, m, count * (type == COMM_F64 ? 8 : 4), comm_start(t->inner, values, count, type, err));
}

static enum status timed_wait(struct comm *comm, struct error *err)
{
    struct timed *t = (struct timed *)comm;
    struct moment m = arrive(t);
    return leave(t, WAIT, m, 0, comm_wait(t->inner, err));
}

static void timed_progress(struct comm *comm)
{
    struct timed *t = (struct timed *)comm;
    struct moment m = {clock_of(CLOCK_MONOTONIC), clock_of(CLOCK_THREAD_CPUTIME_ID)};
    comm_progress(t->inner);
    leave(t, PROGRESS, m, 0, STATUS_OK);
}

static const struct comm_table TIMED = {timed_gather, timed_broadcast, timed_start, timed_wait, timed_progress};

/* ---- the run --------------------------------------------------------------------------------------------------- */

static int complain(const struct error *err)
{
    fprintf(stderr, "ranks: %s%s%s\n", err->pointer, err->pointer[0] ? ": " : "", err->message);
    return 1;
}

static enum status read_options(int argc, char **argv, struct options *o, struct error *err)
{
    *o = (struct options){.kind = "sparling", .threads = 1, .updates = 200};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(name, "--time") == 0) {
            o->time = true;
            continue;
        }
        i++;
        const char *equals = strchr(value, '=');
        if (strcmp(name, "--kind") == 0)
            o->kind = value;
        else if (strcmp(name, "--preset") == 0)
            o->preset = value;
        else if (strcmp(name, "--data") == 0)
            o->data = value;
        else if (strcmp(name, "--threads") == 0)
            o->threads = atoi(value);
        else if (strcmp(name, "--updates") == 0)
            o->updates = atoll(value);
        else if (strcmp(name, "--stretch") == 0)
            o->stretch = atoll(value);
        else if (strcmp(name, "--set") == 0 && equals && o->sets + 1 < SETTINGS) {
            snprintf(o->name[o->sets], sizeof o->name[0], "%.*s", (int)(equals - value), value);
            o->set[o->sets] = (struct config_setting){o->name[o->sets], equals + 1};
            o->sets++;
        } else
            return error_set(err, STATUS_INVALID, NULL, "%s is no option", name);
    }
    return STATUS_OK;
}

/* Sets *same to whether all ranks had the same results and saved the same state. */
static enum status agree(struct comm *comm, const struct rank_witness *w, bool *same, struct error *err)
{
    char *all = malloc((size_t)comm_size(comm) * sizeof w->state);
    enum status status = all ? comm_gather(comm, w->state, sizeof w->state, all, err)
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    *same = true;
    for (int r = 0; !status && r < comm_size(comm); r++)
        *same = *same && strcmp(all + (size_t)r * sizeof w->state, w->state) == 0;
    free(all);
    return status;
}

static enum status whole(const struct rank_plan *plan, struct comm *comm, struct rank_witness *w, bool *same,
                         struct error *err)
{
    enum status status = rank_run(plan, comm, w, err);
    if (!status)
        status = agree(comm, w, same, err);
    for (int i = 0; !status && comm_rank(comm) == 0 && i < w->losses; i++)
        printf("%d %.17g\n", i, w->loss[i]);
    if (!status && comm_rank(comm) == 0)
        printf("%lld updates in %.1f s, weights %s\n", (long long)w->updates, w->seconds, w->weights);
    return status;
}

/* Compares the run on all ranks with a run on one rank, in stretches of updates. Every rank also computes the one-rank
 * run, with the same bits on each. So every rank has the checkpoint from which the next stretch begins, and no rank
 * must send it. */
static enum status by_stretches(struct rank_plan *plan, const struct options *o, struct comm *comm,
                                struct rank_witness *w, bool *same, struct error *err)
{
    struct rank_witness *alone = malloc(sizeof *alone);
    struct run_env_bytes now = {0};
    double most = 0;
    enum status status = alone ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    *same = true;
    for (int64_t end = o->stretch; !status && *same && end <= o->updates; end += o->stretch) {
        struct run_env_bytes next = {0};
        plan->updates = end;
        plan->from = end > o->stretch ? &now : NULL;
        plan->to = &next;
        status = rank_run(plan, NULL, alone, err);
        plan->to = NULL;
        if (!status)
            status = rank_run(plan, comm, w, err);
        if (!status)
            status = agree(comm, w, same, err);
        if (!status && comm_rank(comm) == 0)
            printf("up to update %lld: %.1e apart\n", (long long)end, rank_apart(w, alone));
        most = status ? most : fmax(most, rank_apart(w, alone));
        run_env_bytes_close(&now);
        now = next;
    }
    if (!status && comm_rank(comm) == 0)
        printf("largest: %.1e\n", most);
    run_env_bytes_close(&now);
    free(alone);
    return status;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the calls of one kind, grouped by size: the bytes exchanged, and the time without waiting. */
static void print_calls(struct timed *t, enum call call, double steps)
{
    struct each *each = t->each[call];
    int64_t n = t->count[call] < EACH ? t->count[call] : EACH;
    double sum = 0, typical = 0;
    double *sorted = calloc((size_t)n + 1, sizeof *sorted);
    bool *seen = calloc((size_t)n + 1, sizeof *seen);
    for (int64_t i = 0; sorted && seen && i < n; i++) {
        size_t same = 0;
        for (int64_t k = i; !seen[i] && k < n; k++)
            if (each[k].bytes == each[i].bytes) {
                seen[k] = k > i;
                sorted[same++] = each[k].thread;
            }
        if (same == 0)
            continue;
        qsort(sorted, same, sizeof *sorted, by_size);
        typical += sorted[same / 2] * (double)same / steps;
        printf("    %6.2f an update of %7zu bytes: thread time %.1f us, the median; %.1f the least\n",
               (double)same / steps, each[i].bytes, 1e6 * sorted[same / 2], 1e6 * sorted[0]);
    }
    for (int64_t i = 0; i < n; i++)
        sum += each[i].thread;
    printf("%s: %.2f an update, %.3f ms of thread time in all, %.3f ms by the medians\n", call_name[call],
           (double)t->count[call] / steps, 1e3 * sum / steps, 1e3 * typical);
    free(sorted);
    free(seen);
}

static void tell_time(struct timed *t, const struct rank_witness *w)
{
    double steps = (double)w->updates;
    printf("%.2f ms an update; in calls %.3f ms of thread time (%.0f bytes), %.3f ms of wall time after all had come; "
           "waiting %.2f ms\n",
           1e3 * w->seconds / steps, 1e3 * t->called / steps, (double)t->bytes / steps, 1e3 * t->moved / steps,
           1e3 * t->waited / steps);
    qsort(t->update, (size_t)t->updates, sizeof t->update[0], by_size);
    printf("of the updates, the one with the least thread time in calls %.3f ms, the median %.3f\n", 1e3 * t->update[0],
           1e3 * t->update[t->updates / 2]);
    for (enum call call = 0; call < CALLS; call++)
        if (t->count[call] > 0)
            print_calls(t, call, steps);
}

static enum status run(int argc, char **argv, struct comm *comm, bool *same, struct error *err)
{
    struct options o;
    char *config = calloc(1, CONFIG_BYTES);
    struct rank_witness *w = malloc(sizeof *w);
    enum status status =
        config && w ? read_options(argc, argv, &o, err) : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    const struct method *method = status ? NULL : method_find(o.kind);
    if (!status && !method)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "no method %s", o.kind);
    if (!status)
        status = rank_configure(method, o.preset, o.set, config, err);
    struct rank_plan plan = {
        .method = method, .config = config, .data = o.data, .threads = o.threads, .updates = o.updates};
    static struct timed timed;
    timed = (struct timed){.comm = {.table = &TIMED, .rank = comm_rank(comm), .size = comm_size(comm)}, .inner = comm};
    for (enum call call = 0; !status && call < CALLS; call++) {
        timed.each[call] = calloc(EACH, sizeof *timed.each[call]);
        if (!timed.each[call])
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    }
    if (!status && o.stretch > 0)
        status = by_stretches(&plan, &o, comm, w, same, err);
    else if (!status)
        status = whole(&plan, o.time ? &timed.comm : comm, w, same, err);
    double before = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    if (!status && o.time && comm_rank(comm) == 0) {
        tell_time(&timed, w);
        printf("%.2f ms of processor time an update\n", 1e3 * before / (double)w->updates);
    }
    for (enum call call = 0; call < CALLS; call++)
        free(timed.each[call]);
    free(config);
    free(w);
    return status;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct comm *comm;
    bool same = false;
    if (comm_mpi_open(&argc, &argv, &comm, &err))
        return complain(&err);
    if (run(argc, argv, comm, &same, &err)) {
        complain(&err);
        comm_mpi_abort(1);
    }
    if (!same && comm_rank(comm) == 0)
        fprintf(stderr, "ranks: they do not agree\n");
    comm_mpi_close(comm);
    return same ? 0 : 1;
}
