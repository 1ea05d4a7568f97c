/* motif-train: trains one job for a daemon, in a process of its own. A daemon starts it (docs/operations.md); by hand
 * it is of no use, because the token of a job's lease is never shown. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/kernels/blas.h"
#include "trainer/build.h"
#include "trainer/facts.h"
#include "trainer/remote.h"
#include "trainer/run.h"

#define EXIT_ENDED 0 /* the daemon knows how it ended, well or not */
#define EXIT_USAGE 2
#define EXIT_LOST 75 /* EX_TEMPFAIL: nobody was told how it ended; worth another try */
#define THREADS_MAX 256
#define TOKEN "MOTIF_TRAIN_TOKEN"

static const char usage[] = "usage: motif-train --server URL --job ID [options]\n"
                            "\n"
                            "  --data DIR           folder of data sets\n"
                            "  --kernels NAME       best, ref, avx2 or avx512 (best)\n"
                            "  --threads N          of a job that does not ask (1)\n"
                            "  --memory BYTES       most memory of this process; 0: no limit (0)\n"
                            "  --buffer BYTES       most that waits for a daemon that does not answer (1073741824)\n"
                            "  --patience SECONDS   how long it is waited for (3600)\n"
                            "  --parent PID         ends with this process, which has started it\n"
                            "\n"
                            "The token comes in the environment, as MOTIF_TRAIN_TOKEN.\n"
                            "Exit codes: 0 the daemon knows how the run ended, 2 usage, 75 it does not: another try "
                            "goes on from the last checkpoint.\n";

struct arguments {
    const char *server, *job, *data, *kernels;
    long long threads, memory, buffer, patience, parent;
};

static atomic_bool told; /* by a signal: the only thing a handler can reach */

static void on_signal(int number)
{
    atomic_store(&told, true);
}

static bool read_number(const char *text, long long *out)
{
    char *end;
    *out = strtoll(text, &end, 10);
    return end != text && *end == '\0' && *out >= 0;
}

static bool read_arguments(int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {
        {"server", required_argument, NULL, 's'},  {"job", required_argument, NULL, 'j'},
        {"data", required_argument, NULL, 'd'},    {"kernels", required_argument, NULL, 'k'},
        {"threads", required_argument, NULL, 't'}, {"memory", required_argument, NULL, 'm'},
        {"buffer", required_argument, NULL, 'b'},  {"patience", required_argument, NULL, 'w'},
        {"parent", required_argument, NULL, 'p'},  {NULL, 0, NULL, 0}};
    bool ok = true;
    *out = (struct arguments){.kernels = "best", .threads = 1, .buffer = 1 << 30, .patience = 3600};
    for (int flag; (flag = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (flag) {
        case 's':
            out->server = optarg;
            break;
        case 'j':
            out->job = optarg;
            break;
        case 'd':
            out->data = optarg;
            break;
        case 'k':
            out->kernels = optarg;
            break;
        case 't':
            ok = read_number(optarg, &out->threads) && ok;
            break;
        case 'm':
            ok = read_number(optarg, &out->memory) && ok;
            break;
        case 'b':
            ok = read_number(optarg, &out->buffer) && ok;
            break;
        case 'w':
            ok = read_number(optarg, &out->patience) && ok;
            break;
        case 'p':
            ok = read_number(optarg, &out->parent) && ok;
            break;
        default:
            ok = false;
            break;
        }
    }
    ok = ok && optind == argc && out->server != NULL && out->job != NULL && strlen(out->job) == STORAGE_ID - 1;
    return ok && out->threads >= 1 && out->threads <= THREADS_MAX && out->patience <= 1000000;
}

/* With its parent, whatever ends that: an orphan would train for nobody. */
static bool bind_to_parent(long long parent)
{
    return parent == 0 || (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && (long long)getppid() == parent);
}

static bool limit_memory(long long bytes)
{
    struct rlimit limit = {.rlim_cur = (rlim_t)bytes, .rlim_max = (rlim_t)bytes};
    return bytes == 0 || setrlimit(RLIMIT_DATA, &limit) == 0;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT,
                                  SIGUSR1}; /* mpirun passes SIGUSR1 on, clusters send SIGTERM before they kill */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)sigaction(numbers[i], &action, NULL);
    }
    (void)signal(SIGPIPE, SIG_IGN);
}

static int train(const struct arguments *arguments, const char *token)
{
    const struct kernels *kernels =
        strcmp(arguments->kernels, "best") == 0 ? kernels_best() : kernels_named(arguments->kernels);
    struct remote_options options = {.server = arguments->server,
                                     .token = token,
                                     .job = arguments->job,
                                     .buffer_bytes = arguments->buffer,
                                     .patience_s = (int)arguments->patience,
                                     .told = &told};
    struct error err = {0};
    struct storage_job job;
    struct remote *remote = NULL;
    struct facts facts;
    struct arena arena;
    if (kernels == NULL) {
        (void)fprintf(stderr, "motif-train: the kernels %s are not known, or not for this processor\n",
                      arguments->kernels);
        return EXIT_USAGE;
    }
    blas_init();
    facts_fill(&facts, kernels);
    arena_init(&arena, 16384, 0);
    bool ended = false;
    if (remote_open(&options, &arena, &remote, &job, &err) == STATUS_OK) {
        struct run_host host = remote_host(remote);
        struct run_setup setup = {.kernels = kernels,
                                  .data = arguments->data,
                                  .threads_default = (int)arguments->threads,
                                  .threads_max = THREADS_MAX,
                                  .build = facts.build,
                                  .cpu = facts.cpu,
                                  .blas_core = facts.blas_core};
        setup.methods = methods_all(&setup.method_count);
        (void)run_job(&setup, &host, &job);
        ended = remote_ended(remote);
    } else {
        (void)fprintf(stderr, "motif-train: %s\n", err.message);
    }
    remote_close(remote);
    arena_close(&arena);
    return ended ? EXIT_ENDED : EXIT_LOST;
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("motif-train %s (%s)\n", BUILD_VERSION, BUILD_TYPE);
        return EXIT_ENDED;
    }
    if (!read_arguments(argc, argv, &arguments)) {
        (void)fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (!bind_to_parent(arguments.parent)) {
        (void)fputs("motif-train: whoever started this is gone\n", stderr);
        return EXIT_LOST;
    }
    facts_choose_blas(argv);
    catch_signals();
    char *given = getenv(TOKEN), *token = given != NULL ? strdup(given) : NULL;
    if (token == NULL || !limit_memory(arguments.memory)) {
        (void)fprintf(stderr, "motif-train: %s\n",
                      token == NULL ? "there is no token in " TOKEN : "the memory cannot be limited");
        free(token);
        return EXIT_USAGE;
    }
    explicit_bzero(given, strlen(given)); /* neither for children nor for /proc */
    (void)unsetenv(TOKEN);
    int code = train(&arguments, token);
    explicit_bzero(token, strlen(token));
    free(token);
    return code;
}
