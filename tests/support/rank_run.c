/* Runs a method on ranks and records its losses and the hashes of its checkpoints (rank_run.h). */
#include "tests/support/rank_run.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/comm_threads.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void record_loss(void *context, const char *name, int64_t step, double value)
{
    struct rank_witness *w = context;
    if ((strcmp(name, "loss") == 0 || strcmp(name, "recovered") == 0) && w->losses < RANK_LOSSES)
        w->loss[w->losses++] = value;
}

static enum status save(const struct rank_plan *plan, struct method_run *run, int rank, struct rank_witness *w,
                        struct error *err)
{
    struct run_env_bytes bytes = {0};
    unsigned char digest[HASH_BYTES];
    enum status status = run_env_save(plan->method, run, &bytes, err);
    if (!status)
        status = run_env_weights_hash(&bytes, w->weights, err);
    if (!status) {
        hash_bytes(bytes.data, bytes.count, digest);
        hash_hex(digest, w->state);
    }
    if (!status && plan->to && rank == 0)
        *plan->to = bytes;
    else
        run_env_bytes_close(&bytes);
    return status;
}

enum status rank_run(const struct rank_plan *plan, struct comm *comm, struct rank_witness *witness, struct error *err)
{
    struct run_env environment;
    struct method_run *run = NULL;
    enum method_request request = METHOD_CONTINUE;
    struct method_progress progress = {0};
    memset(witness, 0, sizeof *witness);
    enum status status = run_env_open(&environment, plan->threads, NULL, err);
    environment.watcher = witness;
    environment.metric = record_loss;
    environment.env.data = plan->data;
    environment.env.comm = comm;
    if (!status)
        status = plan->method->create(plan->config, &environment.env, &run, err);
    if (!status && plan->from) {
        struct snapshot_reader reader = run_env_reader(plan->from);
        status = plan->method->load(run, &reader, err);
    }
    double began = now();
    while (!status && request != METHOD_DONE && (plan->updates == 0 || progress.step < plan->updates)) {
        status = run_env_step(&environment, plan->method, run, &request, err);
        plan->method->progress(run, &progress);
    }
    witness->seconds = now() - began;
    witness->updates = progress.step;
    if (!status)
        status = save(plan, run, comm_rank(comm), witness, err);
    if (run)
        plan->method->destroy(run);
    run_env_close(&environment);
    return status;
}

struct rank_thread {
    const struct rank_plan *plan;
    struct comm *comm;
    struct rank_witness *witness;
    pthread_t thread;
    enum status status;
    struct error error;
};

static void *work(void *context)
{
    struct rank_thread *t = context;
    t->status = rank_run(t->plan, t->comm, t->witness, &t->error);
    if (t->status)
        comm_threads_leave(t->comm);
    return NULL;
}

enum status rank_run_threads(const struct rank_plan *plan, int ranks, struct rank_witness *witness, struct error *err)
{
    struct comm *comms[COMM_MOST];
    struct rank_thread *all = calloc((size_t)ranks, sizeof *all);
    enum status status =
        all ? comm_threads_create(ranks, comms, err) : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    int started = 0;
    for (; !status && started < ranks; started++) {
        all[started] = (struct rank_thread){.plan = plan, .comm = comms[started], .witness = &witness[started]};
        if (pthread_create(&all[started].thread, NULL, work, &all[started]) != 0) {
            status = error_set(err, STATUS_NO_MEMORY, NULL, "the system refused to start the thread of a rank");
            comm_threads_leave(comms[0]);
            break;
        }
    }
    for (int r = 0; r < started; r++)
        pthread_join(all[r].thread, NULL);
    /* Only the rank that failed first has the reason, and the other ranks return STATUS_CANCELLED. The first pass
     * therefore ignores cancelled ranks. */
    for (int pass = 0; pass < 2; pass++)
        for (int r = 0; r < started && !status; r++)
            if (all[r].status && (pass == 1 || all[r].status != STATUS_CANCELLED))
                status = error_set(err, all[r].status, all[r].error.pointer, "rank %d: %s", r, all[r].error.message);
    if (started > 0)
        comm_threads_destroy(comms);
    free(all);
    return status;
}

static void note(void *context, const char *field, const char *detail)
{
    error_set(context, STATUS_INVALID, field, "%s", detail);
}

enum status rank_configure(const struct method *method, const char *preset, const struct config_setting *more,
                           void *config, struct error *err)
{
    struct error fault = {0};
    struct method_faults faults = {&fault, note};
    enum status status = config_defaults(&method->config, config, err);
    for (size_t i = 0; !status && preset && i < method->preset_count; i++)
        if (strcmp(method->presets[i].name, preset) == 0)
            status = config_apply(&method->config, config, method->presets[i].settings, err);
    if (!status && more)
        status = config_apply(&method->config, config, more, err);
    if (!status)
        method->check(config, &faults);
    return status || !fault.code ? status : error_set(err, fault.code, fault.pointer, "%s", fault.message);
}

double rank_apart(const struct rank_witness *a, const struct rank_witness *b)
{
    double most = a->losses == b->losses && a->losses > 0 ? 0 : INFINITY;
    for (int i = 0; i < a->losses && i < b->losses; i++)
        most = fmax(most, fabs(a->loss[i] - b->loss[i]) / fmax(fabs(b->loss[i]), 1e-30));
    return most;
}
