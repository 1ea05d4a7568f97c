/* Chooses the executor of a job: the one that the job names or, if it names none, the daemon's default. */
#include "server/executors/executor_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void executor_init(struct executor *executor, const struct executor_options *options)
{
    memset(executor, 0, sizeof *executor);
    executor->options = *options;
}

void executor_serve(struct executor *executor, struct api *api, const char *url)
{
    executor->api = api;
    (void)snprintf(executor->url, sizeof executor->url, "%s", url);
    atomic_store(&executor->serving, true);
}

static void run_row(struct executor *executor, const struct storage_job *row, struct job_control *control)
{
    const char *otherwise = executor->options.executor != NULL ? executor->options.executor : "thread";
    const char *name = row->executor[0] != '\0' ? row->executor : otherwise;
    bool alone = strcmp(name, "process") == 0 && executor->options.trainer != NULL;
    if (alone || (strcmp(name, "mpirun") == 0 && executor->options.mpirun != NULL)) {
        executor_run_process(executor, row, !alone, control);
    } else if (strcmp(name, "slurm") == 0 && executor->options.slurm_bin != NULL) {
        executor_run_slurm(executor, row, control);
    } else if (strcmp(name, "thread") == 0) {
        executor_run_thread(executor, row, control);
    } else {
        char document[128];
        (void)snprintf(document, sizeof document,
                       "{\"code\":\"unavailable\",\"detail\":\"this daemon has no executor %.16s\"}", name);
        executor_leave(executor, row->id, control, JOB_EVENT_FAIL, NULL, document, 0.0);
    }
}

void executor_run(void *context, const char *job, struct job_control *control)
{
    struct executor *executor = context;
    struct storage_job row;
    struct arena arena;
    struct error err = {0};
    arena_init(&arena, 16384, 0);
    if (!storage_job_get(executor->options.storage, job, &arena, &row, &err)) {
        run_row(executor, &row, control);
    } else {
        char *document = run_failure(&err);
        executor_leave(executor, job, control, JOB_EVENT_FAIL, NULL,
                       document != NULL ? document : "{\"code\":\"out-of-memory\"}", 0.0);
        free(document);
    }
    arena_close(&arena);
}
