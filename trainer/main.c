/* motif-train and motif-train-mpi: train one job for a daemon, in one process or in the ranks of MPI. A daemon starts
 * them (docs/how-to/deploy.md). A user cannot start them by hand, because the daemon never shows the token of a job's
 * lease. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/options.h"
#include "core/kernels/blas.h"
#include "trainer/build.h"
#include "trainer/distributed_run.h"
#include "trainer/facts.h"
#include "trainer/job_memory.h"
#include "trainer/ranks.h"
#include "trainer/remote/remote.h"
#include "trainer/run.h"

#define EXIT_ENDED 0 /* exit code: the daemon has recorded how the run ended, successful or not */
#define EXIT_USAGE 2
#define EXIT_LOST 75 /* exit code EX_TEMPFAIL: the daemon has not recorded the end; another try may succeed */
#define THREADS_MAX 256
#define TOKEN "MOTIF_TRAIN_TOKEN"
#define TOKEN_BYTES 128
#define ALONE_SECONDS 10 /* seconds that a failed rank waits, so that rank 0 can report a failure of its own */

static const char usage[] =
    "usage: motif-train --server URL --job ID [options]\n"
    "       motif-train --under PID PROGRAM [ARGUMENT]...\n"
    "\n"
    "Trains one job for a daemon. The daemon starts it, and passes the token of the job's lease in the\n"
    "environment as MOTIF_TRAIN_TOKEN, or as the first line of standard input (--token-input).\n"
    "motif-train-mpi takes the same options on every rank of mpirun or srun.\n"
    "The second form runs PROGRAM, which ends when the process PID ends.\n"
    "\n";

static const char exit_codes[] = "\nExit codes: 0 the daemon has recorded how the run ended, 2 usage,\n"
                                 "75 it has not: another try continues from the last checkpoint.\n";

static const struct config_field option_table[] = {
    OPTION_TEXT("server", "URL", "address of the daemon"),
    OPTION_TEXT("job", "ID", "the job"),
    OPTION_TEXT("data", "DIR", "folder of data sets"),
    OPTION_TEXT("kernels", "NAME", "best, ref, avx2 or avx512 (best)"),
    OPTION_INTEGER("threads", "N", "1", 1, THREADS_MAX, "threads of a job that does not set them (1)"),
    OPTION_INTEGER("memory", "BYTES", NULL, 0, (double)LLONG_MAX,
                   "upper limit of the memory of this process; 0: no limit (0)"),
    OPTION_INTEGER("job-memory", "BYTES", NULL, 0, (double)LLONG_MAX,
                   "memory that a job may need by its estimate; 0: no limit (0)"),
    OPTION_INTEGER("buffer", "BYTES", "1073741824", 0, (double)LLONG_MAX,
                   "upper limit of the data kept while the daemon does not answer (1073741824)"),
    OPTION_INTEGER("patience", "SECONDS", "3600", 0, 1000000,
                   "upper limit of the time without an answer of the daemon (3600)"),
    OPTION_INTEGER("parent", "PID", NULL, 0, (double)LLONG_MAX,
                   "end when the parent process PID ends; 0: the process that is the parent now"),
    OPTION_FLAG("token-input", "read the token from standard input (rank 0)"),
    OPTION_FLAG("requeued", "a run that is stopped will be started again (Slurm requeues it)"),
    OPTION_FLAG("help", "print this text"),
    OPTIONS_END,
};

struct arguments {
    const char *server, *job, *data, *kernels;
    long long threads, memory, job_memory, buffer, patience, parent; /* parent: process id; -1: --parent is not set */
    bool token_input, requeued;
};

static atomic_bool stop_requested; /* static, because a signal handler sets it */

static void on_signal(int number)
{
    atomic_store(&stop_requested, true);
}

static bool read_number(const char *text, long long *out)
{
    char *end;
    *out = strtoll(text, &end, 10);
    return end != text && *end == '\0' && *out >= 0;
}

static enum status read_arguments(const struct options *given, struct arguments *out, struct error *err)
{
    const struct {
        const char *name;
        long long *value;
    } numbers[] = {{"threads", &out->threads}, {"memory", &out->memory},     {"job-memory", &out->job_memory},
                   {"buffer", &out->buffer},   {"patience", &out->patience}, {"parent", &out->parent}};
    *out = (struct arguments){.server = options_value(given, "server"),
                              .job = options_value(given, "job"),
                              .data = options_value(given, "data"),
                              .kernels = options_has(given, "kernels") ? options_value(given, "kernels") : "best",
                              .parent = -1,
                              .token_input = options_has(given, "token-input"),
                              .requeued = options_has(given, "requeued")};
    if (given->positional_count > 0)
        return error_set(err, STATUS_INVALID, NULL, "unexpected argument: %.80s", given->positional[0]);
    if (out->server == NULL || out->job == NULL || strlen(out->job) != STORAGE_ID - 1) {
        return error_set(err, STATUS_INVALID, NULL, "--server and --job are required, and a job id has %d characters",
                         STORAGE_ID - 1);
    }
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < sizeof numbers / sizeof numbers[0]; i++)
        status = options_integer(given, numbers[i].name, numbers[i].value, err);
    return status;
}

static void print_usage(FILE *to)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    buf_text(&out, usage);
    options_describe(option_table, &out);
    buf_text(&out, exit_codes);
    (void)fputs(out.failed ? usage : out.data, to);
    buf_close(&out);
}

/* Ends this process when its parent ends, because an orphan's training would have no daemon. */
static bool bind_to_parent(long long parent, int number)
{
    long long now = (long long)getppid();
    return parent < 0 || (prctl(PR_SET_PDEATHSIG, number) == 0 && (long long)getppid() == (parent > 0 ? parent : now));
}

/* Replaces this process by mpirun (argv[3] and its arguments). mpirun alone would outlive the process that started it.
 * So this process first requests from the kernel a SIGTERM at the end of its parent; this stays in effect through exec.
 * On SIGTERM, mpirun ends its ranks and removes its files in /dev/shm. */
static int run_under(char **argv)
{
    long long parent;
    if (!read_number(argv[2], &parent) || !bind_to_parent(parent, SIGTERM)) {
        (void)fprintf(stderr, "%s: the parent process has ended\n", ranks_program);
        return EXIT_LOST;
    }
    (void)execvp(argv[3], argv + 3);
    (void)fprintf(stderr, "%s: %s cannot be started: %s\n", ranks_program, argv[3], strerror(errno));
    return EXIT_LOST;
}

static bool limit_memory(long long bytes)
{
    struct rlimit limit = {.rlim_cur = (rlim_t)bytes, .rlim_max = (rlim_t)bytes};
    return bytes == 0 || setrlimit(RLIMIT_DATA, &limit) == 0;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT,
                                  SIGUSR1}; /* mpirun forwards SIGUSR1; clusters send SIGTERM before they kill */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* ---- the token ------------------------------------------------------------------------------------------ */

/* Reads the first line of a descriptor; false if there is none. */
static bool read_line(int fd, char token[TOKEN_BYTES])
{
    size_t size = 0;
    ssize_t got = 0;
    while (size < TOKEN_BYTES - 1 && (size == 0 || memchr(token, '\n', size) == NULL) &&
           ((got = read(fd, token + size, TOKEN_BYTES - 1 - size)) > 0 || (got < 0 && errno == EINTR)))
        size += got > 0 ? (size_t)got : 0;
    token[size] = '\0';
    token[strcspn(token, "\n")] = '\0';
    return token[0] != '\0';
}

/* Finds the token. Every rank looks in its environment; only rank 0 also reads standard input. */
static bool find_token(const struct arguments *arguments, int rank, char token[TOKEN_BYTES])
{
    char *given = getenv(TOKEN);
    token[0] = '\0';
    if (given != NULL) {
        (void)snprintf(token, TOKEN_BYTES, "%s", given);
        explicit_bzero(given, strlen(given)); /* otherwise child processes or /proc would reveal the token */
        (void)unsetenv(TOKEN);
    }
    if (arguments->token_input && rank == 0)
        return read_line(STDIN_FILENO, token);
    return given != NULL || rank != 0;
}

/* ---- a run ------------------------------------------------------------------------------------------------ */

/* Runs the job. Returns true if the daemon has recorded the end of the run, or will receive it from rank 0. */
static bool trainer_main_run(const struct arguments *arguments, const struct kernels *kernels,
                             const struct storage_job *job, struct remote *remote, struct comm *comm)
{
    struct distributed_run distributed = {.comm = comm, .stop_requested = &stop_requested};
    struct facts facts;
    facts_fill(&facts, kernels);
    struct run_setup setup = {.kernels = kernels,
                              .data = arguments->data,
                              .threads_default = (int)arguments->threads,
                              .threads_max = THREADS_MAX,
                              .job_memory = arguments->job_memory,
                              .build = facts.build,
                              .cpu = facts.cpu,
                              .blas_core = facts.blas_core,
                              .comm = comm};
    setup.methods = methods_all(&setup.method_count);
    if (remote != NULL)
        distributed.outside = remote_coordinator(remote);
    struct coordinator coordinator = distributed_coordinator(&distributed);
    (void)run_job(&setup, &coordinator, job);
    bool ended = remote != NULL ? remote_ended(remote) : !comm_broken(comm);
    if (comm_size(comm) > 1 &&
        (distributed.end == JOB_EVENT_FAIL || comm_broken(comm))) { /* end all ranks: others may wait for this one */
        if (remote == NULL)
            (void)sleep(ALONE_SECONDS);
        (void)fprintf(stderr, "%s: rank %d: %s\n", ranks_program, comm_rank(comm), distributed.failure);
        ranks_abort(comm, EXIT_LOST);
    }
    if (!ended && comm_rank(comm) == 0)
        (void)fprintf(stderr, "%s: the daemon has not recorded how the run ended\n", ranks_program);
    return ended;
}

static int train(const struct arguments *arguments, const char *token, struct comm *comm)
{
    const struct kernels *kernels =
        strcmp(arguments->kernels, "best") == 0 ? kernels_best() : kernels_named(arguments->kernels);
    struct remote_options options = {.server = arguments->server,
                                     .token = token,
                                     .job = arguments->job,
                                     .buffer_bytes = arguments->buffer,
                                     .patience_s = (int)arguments->patience,
                                     .stop_requested = &stop_requested,
                                     .requeued = arguments->requeued};
    struct error err = {0};
    struct storage_job job = {0};
    struct remote *remote = NULL;
    struct arena arena;
    bool ended = false;
    if (kernels == NULL) {
        (void)fprintf(stderr, "%s: the kernels %s do not exist, or this processor does not support them\n",
                      ranks_program, arguments->kernels);
        return EXIT_USAGE;
    }
    blas_init();
    arena_init(&arena, 16384, 0);
    enum status status = comm_rank(comm) == 0 ? remote_open(&options, &arena, &remote, &job, &err) : STATUS_OK;
    status = distributed_job(comm, status, &arena, &job, &err);
    if (!status)
        ended = trainer_main_run(arguments, kernels, &job, remote, comm);
    else if (comm_rank(comm) == 0)
        (void)fprintf(stderr, "%s: %s\n", ranks_program, err.message);
    remote_close(remote);
    arena_close(&arena);
    return ended ? EXIT_ENDED : EXIT_LOST;
}

int main(int argc, char **argv)
{
    struct options given;
    struct arguments arguments;
    struct comm *comm = NULL;
    struct error err = {0};
    char token[TOKEN_BYTES] = "";
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("%s %s (%s)\n", ranks_program, BUILD_VERSION, BUILD_TYPE);
        return EXIT_ENDED;
    }
    if (argc > 3 && strcmp(argv[1], "--under") == 0)
        return run_under(argv);
    enum status status = options_parse(option_table, NULL, argc - 1, argv + 1, &given, &err);
    if (!status && options_has(&given, "help")) {
        print_usage(stdout);
        return EXIT_ENDED;
    }
    if (status || read_arguments(&given, &arguments, &err)) {
        (void)fprintf(stderr, "%s: %s\n\n", ranks_program, err.message);
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (!bind_to_parent(arguments.parent, SIGKILL)) {
        (void)fprintf(stderr, "%s: the parent process has ended\n", ranks_program);
        return EXIT_LOST;
    }
    facts_choose_blas(argv);
    job_memory_return_freed();
    catch_signals();
    if (!limit_memory(arguments.memory)) {
        (void)fprintf(stderr, "%s: cannot limit the memory\n", ranks_program);
        return EXIT_USAGE;
    }
    if (ranks_open(&argc, &argv, &comm, &err)) {
        (void)fprintf(stderr, "%s: %s\n", ranks_program, err.message);
        return EXIT_LOST;
    }
    int code = EXIT_USAGE;
    if (find_token(&arguments, comm_rank(comm), token)) {
        code = train(&arguments, token, comm);
    } else {
        (void)fprintf(stderr, "%s: no token: the daemon passes it in MOTIF_TRAIN_TOKEN or on standard input\n",
                      ranks_program);
        ranks_abort(comm, EXIT_USAGE);
    }
    explicit_bzero(token, sizeof token);
    ranks_close(comm);
    return code;
}
