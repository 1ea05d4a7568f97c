/* Sends many requests to the API itself, without sockets, and checks that neither memory nor descriptors grow.
 *
 *   soak_api DATABASE JOB REQUESTS [THREADS]
 *
 * A request through a socket takes most of its time in the kernel. Without sockets, 10^8 requests take half an hour
 * instead of hours; soak.py covers the server with fewer requests. DATABASE is that of a daemon that has ended, and
 * JOB a finished job in it. Each thread cycles through routes that read, conditional requests, invalid requests and
 * dry runs. Every 20,000th request submits a job, cancels it and deletes it.
 *
 * Prints ten rows: requests, seconds, resident memory, memory in use and descriptors, after the allocator has returned
 * free memory. Exit code 1: an answer had an unexpected status, descriptors were lost, or the resident memory of the
 * tenth row is 1 % or more above that of the fifth. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "core/kernels/kernels.h"
#include "storage/storage.h"

enum { ROUNDS = 10, MOST_THREADS = 64, WRITE_EVERY = 20000, LARGE_EVERY = 500, TARGET = 160 };

struct soak {
    struct api *api;
    const char *job;
    long requests; /* requests of each thread in one round */
};

struct caller {
    struct soak *soak;
    pthread_t thread;
    const char *etag;  /* value of If-None-Match, or NULL */
    long sent, failed; /* sent: all requests; failed: requests whose answer had an unexpected status */
};

static const char tiny_job[] =
    "{\"kind\":\"pathways\",\"config\":{\"dictionary\":\"dirac-hadamard\",\"filter_length\":16,"
    "\"length\":1,\"nonzeros\":\"1,2\",\"trials\":8}}";

static const struct route {
    const char *target; /* %s: the job */
    int status;
} routes[] = {{"/v1/jobs?limit=10", 200},
              {"/v1/jobs/%s", 200},
              {"/v1/jobs/%s/metrics", 200},
              {"/v1/jobs/%s/checkpoints", 200},
              {"/v1/jobs/%s/artifacts", 200},
              {"/v1/system", 200},
              {"/healthz", 200},
              {"/v1/jobs?limit=x", 400},
              {"/v1/jobs/%s/nothing", 404},
              {"/none", 404}};
static const char *const large[] = {"/v1/kinds", "/openapi.json", "/metrics"};

static const char *header(void *context, const char *name)
{
    const struct caller *c = context;
    if (strcasecmp(name, "Content-Type") == 0)
        return "application/json";
    return strcasecmp(name, "If-None-Match") == 0 ? c->etag : NULL;
}

/* Sends one request as the server does. Keeps the id in the answer in `id` unless that is NULL. */
static void ask(struct caller *c, const char *method, const char *target, const char *body, int status, char *id)
{
    struct api_request request = {
        .method = method, .target = target, .header = header, .header_context = c, .scope = API_SCOPE_ADMIN};
    struct api_response response;
    size_t limit;
    if (api_admit(c->soak->api, &request, &response, &limit)) {
        request.body = body;
        request.body_bytes = body != NULL ? strlen(body) : 0;
        api_handle(c->soak->api, &request, &response);
    }
    c->sent++;
    if (response.status != status && !(status == 200 && c->etag != NULL && response.status == 304)) {
        if (c->failed++ == 0)
            (void)fprintf(stderr, "%s %s: %d, not %d\n", method, target, response.status, status);
    } else if (id != NULL) {
        (void)sscanf(response.body.data, "{\"id\":\"%26[0-9A-Z]", id);
    }
    api_response_close(&response);
}

static void write_a_job(struct caller *c)
{
    char id[32] = "", target[TARGET];
    ask(c, "POST", "/v1/jobs", tiny_job, 201, id);
    (void)snprintf(target, sizeof target, "/v1/jobs/%s/cancel", id);
    ask(c, "POST", target, NULL, 202, NULL);
    (void)snprintf(target, sizeof target, "/v1/jobs/%s", id);
    ask(c, "DELETE", target, NULL, 204, NULL);
}

static void *call(void *context)
{
    struct caller *c = context;
    char target[TARGET];
    for (long i = 0; i < c->soak->requests; i++) {
        const struct route *route = routes + i % (long)(sizeof routes / sizeof routes[0]);
        c->etag = NULL;
        if (i % WRITE_EVERY == WRITE_EVERY - 1) {
            write_a_job(c);
        } else if (i % LARGE_EVERY == LARGE_EVERY - 1) {
            ask(c, "GET", large[i / LARGE_EVERY % 3], NULL, 200, NULL);
        } else if (i % LARGE_EVERY == LARGE_EVERY / 2) {
            ask(c, "POST", "/v1/jobs?dry_run=1", tiny_job, 200, NULL);
        } else {
            (void)snprintf(target, sizeof target, route->target, c->soak->job);
            c->etag = i % 7 == 3 ? "*" : NULL;
            ask(c, "GET", target, NULL, route->status, NULL);
        }
    }
    return NULL;
}

static void nothing(void *context) {}

static void nothing_for(void *context, const char *job) {}

static bool no(void *context)
{
    return false;
}

static void facts(void *context, struct api_system *out)
{
    *out = (struct api_system){.version = "soak",
                               .build = "soak",
                               .compiler = "",
                               .cpu = "",
                               .cpu_features = "",
                               .kernels = "ref",
                               .blas = "",
                               .blas_core = "",
                               .cores = 1,
                               .workers = 1,
                               .pace = 1};
}

static void silent(void *context, enum log_level level, const char *line) {}

static long resident(void)
{
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &all, &pages) != 2)
        pages = 0;
    if (file != NULL)
        (void)fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

/* Sends all requests in ten rounds. Returns whether every answer was right and nothing grew. */
static bool run(struct soak *soak, int threads)
{
    struct caller callers[MOST_THREADS] = {{0}};
    long memory[ROUNDS], failed = 0;
    int open[ROUNDS];
    struct timespec from, now;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    printf("%12s %8s %12s %10s %6s\n", "requests", "seconds", "resident MB", "in use MB", "files");
    for (int round = 0; round < ROUNDS; round++) {
        long sent = 0;
        for (int t = 0; t < threads; t++) {
            callers[t].soak = soak;
            if (pthread_create(&callers[t].thread, NULL, call, &callers[t]) != 0)
                return false;
        }
        for (int t = 0; t < threads; t++) {
            (void)pthread_join(callers[t].thread, NULL);
            sent += callers[t].sent;
            failed = t == 0 ? callers[t].failed : failed + callers[t].failed;
        }
        (void)malloc_trim(0);
        memory[round] = resident();
        open[round] = descriptors();
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%12ld %8ld %12.2f %10.2f %6d\n", sent, (long)(now.tv_sec - from.tv_sec), (double)memory[round] / 1e6,
               (double)mallinfo2().uordblks / 1e6, open[round]);
        (void)fflush(stdout);
    }
    double growth = (double)memory[ROUNDS - 1] / (double)memory[ROUNDS / 2 - 1] - 1;
    printf("from the fifth row to the tenth: %+.2f %% resident memory, %+d descriptors; %ld unexpected answers\n",
           100 * growth, open[ROUNDS - 1] - open[ROUNDS / 2 - 1], failed);
    return failed == 0 && growth < 0.01 && open[ROUNDS - 1] <= open[ROUNDS / 2 - 1];
}

/* Reads a whole number in [least, most] from an argument. Prints an error and returns false if it is none. */
static bool number(const char *name, const char *text, long least, long most, long *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtol(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && *out >= least && *out <= most)
        return true;
    (void)fprintf(stderr, "soak_api: %s must be a whole number in [%ld, %ld]; got \"%s\"\n", name, least, most, text);
    return false;
}

int main(int argc, char **argv)
{
    long threads = 2, requests = 0;
    if (argc < 4 || argc > 5) {
        (void)fprintf(stderr, "usage: soak_api DATABASE JOB REQUESTS [THREADS]\n");
        return 2;
    }
    if (argc > 4 && !number("THREADS", argv[4], 1, MOST_THREADS, &threads))
        return 2;
    /* each thread must send at least one request in each round */
    if (!number("REQUESTS", argv[3], ROUNDS * threads, LONG_MAX, &requests))
        return 2;
    struct error err = {0};
    struct soak soak = {.job = argv[2], .requests = requests / ROUNDS / threads};
    struct storage_options store = {.path = argv[1], .readers = (int)threads, .log = {NULL, silent}};
    struct api_options options = {.threads_max = 1, .kernels = kernels_best(), .log = {NULL, silent}};
    options.methods = methods_all(&options.method_count);
    options.daemon =
        (struct api_daemon){.jobs_waiting = nothing, .job_requested = nothing_for, .draining = no, .system = facts};
    if (storage_open(&store, &options.storage, &err) != STATUS_OK ||
        api_create(&options, &soak.api, &err) != STATUS_OK) {
        (void)fprintf(stderr, "soak_api: %s\n", err.message);
        return 1;
    }
    bool good = run(&soak, (int)threads);
    api_destroy(soak.api);
    storage_close(options.storage);
    return good ? 0 : 1;
}
