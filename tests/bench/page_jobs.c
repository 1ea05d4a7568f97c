/* Creates the database for page_bench.mjs: FILE with JOBS finished jobs, each with POINTS points of the loss.
 *
 *      page_jobs FILE JOBS POINTS */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/storage.h"

enum { AT_ONCE = 1000 };

static void need(enum status status, const struct error *err)
{
    if (status != STATUS_OK) {
        fprintf(stderr, "failed: %s: %s\n", status_name(status), err->message);
        exit(1);
    }
}

static void append(struct storage *store, const char *id, int64_t points, double speed)
{
    struct error err = {0};
    struct storage_metric some[AT_ONCE];
    for (int64_t i = 0; i < points; i += AT_ONCE) {
        for (int k = 0; k < AT_ONCE; k++) {
            double x = (double)(i + k + 1);
            some[k] = (struct storage_metric){.name = "loss",
                                              .point = {8 * (i + k + 1), 3 * exp(-speed * x) + 0.05 + 0.02 * sin(x)}};
        }
        need(storage_metric_append(store, id, some, AT_ONCE, &err), &err);
    }
}

int main(int argc, char **argv)
{
    struct storage *store;
    struct error err = {0};
    if (argc != 4) {
        fprintf(stderr, "page_jobs FILE JOBS POINTS\n");
        return 2;
    }
    struct storage_options options = {.path = argv[1]};
    need(storage_open(&options, &store, &err), &err);
    for (int job = 0; job < atoi(argv[2]); job++) {
        char id[STORAGE_ID];
        enum storage_submit_outcome outcome;
        struct storage_submit submit = {.kind = "sparling", .preset = "digitcircle", .config = "{}"};
        need(storage_job_submit(store, &submit, id, &outcome, &err), &err);
        need(storage_job_claim(store, id, &err), &err);
        append(store, id, atoll(argv[3]), 1e-5 * (1 + job % 5));
        need(storage_job_leave(store, id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &err), &err);
    }
    storage_close(store);
    return 0;
}
