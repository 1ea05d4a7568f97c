/* `motifd serve`. Starts the parts of the service in order, keeps /readyz, the service manager and the certificate up
 * to date while the service runs, and stops the parts in reverse order. Every fault of the start is returned before
 * anything listens. */
#include "server/daemon_int.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/kernels/blas.h"
#include "core/kernels/pace.h"
#include "server/cleaner.h"
#include "server/http/certificate.h"
#include "server/process/converter.h"
#include "server/process/crash.h"
#include "server/process/notify.h"
#include "core/base/parallel/priority.h"
#include "server/executors/programs.h"
#include "server/process/deadline.h"
#include "server/process/signals.h"
#include "server/tokens.h"
#include "storage/files/dataset.h"
#include "trainer/job_memory.h"

#define LAST_REQUESTS_MS 1000
#define END_MS 800      /* milliseconds in which the process must end once the --drain-ms milliseconds are over */
#define THREADS_MAX 256 /* maximum number of threads of one job; also the limit of thread_pool_create() */
#define HEAPS 8
#define TRIM_SECONDS 10   /* the daemon returns free pages of its heaps to the operating system every 10 seconds */
#define SWEEP_SECONDS 600 /* the daemon deletes old parts of uploads every 600 seconds */

static void log_lower_rooms(void *context, enum log_level level, const char *text)
{
    journal_line(context, level, JOURNAL_SERVER, NULL, NULL, "%s", text);
}

/* ---- start --------------------------------------------------------------------------------------------- */

static const struct kernels *choose_kernels(const char *name)
{
    return strcmp(name, "best") == 0 ? kernels_best() : kernels_named(name);
}

/* Chooses the kernels and describes the build; every checkpoint records both. */
static enum status start_kernels(struct daemon *daemon, struct error *err)
{
    const struct facts *facts = &daemon->facts;
    daemon->kernels = choose_kernels(daemon->settings->kernels);
    if (daemon->kernels == NULL) {
        return error_set(err, STATUS_INVALID, NULL,
                         "--kernels %.40s: use best, or one of ref, avx2 and avx512 that this processor supports",
                         daemon->settings->kernels);
    }
    blas_init();
    facts_fill(&daemon->facts, daemon->kernels);
    daemon->pace = kernels_pace(daemon->kernels);
    (void)snprintf(daemon->maker, sizeof daemon->maker, "%s; kernels %s; BLAS core %s", facts->build, facts->kernels,
                   facts->blas_core);
    return STATUS_OK;
}

static enum status deal_threads(struct daemon *daemon, struct error *err)
{
    const struct settings *settings = daemon->settings;
    int cores = daemon->facts.cores / (int)settings->workers;
    daemon->threads_per_job = settings->threads_per_job > 0 ? (int)settings->threads_per_job : cores > 0 ? cores : 1;
    if (settings->threads_per_token > 0 && settings->threads_per_token < daemon->threads_per_job) {
        return error_set(err, STATUS_INVALID, NULL,
                         "--threads-per-token %d is below the threads of a job by default (--threads-per-job: %d); "
                         "raise it or set it to 0",
                         (int)settings->threads_per_token, daemon->threads_per_job);
    }
    return STATUS_OK;
}

static const char *find_mpirun(struct daemon *daemon)
{
    char path[SETTINGS_TEXT];
    (void)snprintf(daemon->mpirun_text, sizeof daemon->mpirun_text, "%s", daemon->settings->mpirun);
    if (!program_beside("motif-train-mpi", daemon->trainer_mpi, sizeof daemon->trainer_mpi))
        return "motif-train-mpi is not in the folder of this program";
    if (program_words(daemon->mpirun_text, daemon->mpirun, COMMAND_WORDS) <= 0)
        return "--mpirun is empty or has too many words";
    return program_find(daemon->mpirun[0], path, sizeof path) ? NULL : "the program of --mpirun is not installed";
}

/* Finds sbatch, and splits the options of sbatch and the command line of srun. A missing motif-train-mpi is no fault,
 * because jobs with one rank need neither it nor srun. */
static const char *find_slurm(struct daemon *daemon)
{
    char path[SETTINGS_TEXT];
    const struct settings *settings = daemon->settings;
    const char *folder = settings->slurm_bin;
    int size = snprintf(path, sizeof path, "%s%ssbatch", folder, folder[0] != '\0' ? "/" : "");
    (void)snprintf(daemon->slurm_options_text, sizeof daemon->slurm_options_text, "%s", settings->slurm_options);
    (void)snprintf(daemon->srun_text, sizeof daemon->srun_text, "%s", settings->srun);
    (void)program_beside("motif-train-mpi", daemon->trainer_mpi, sizeof daemon->trainer_mpi);
    if ((size_t)size >= sizeof path || !program_find(path, daemon->slurm_bin, sizeof daemon->slurm_bin))
        return "there is no sbatch in the folder of --slurm-bin, or in PATH";
    *strrchr(daemon->slurm_bin, '/') = '\0';
    if (program_words(daemon->slurm_options_text, daemon->slurm_options, COMMAND_WORDS) < 0)
        return "--slurm-options has too many words";
    return program_words(daemon->srun_text, daemon->srun, COMMAND_WORDS) > 0 ? NULL
                                                                             : "--srun is empty or has too many words";
}

/* Checks what one name of --executors needs. Returns false when motif-train is not installed. That is an error only
 * when no other executor is left. */
static bool find_executor(struct daemon *daemon, const char *name, struct error *err)
{
    const char *fault = NULL;
    if (strcmp(name, "thread") == 0)
        return true;
    if (!program_beside("motif-train", daemon->trainer, sizeof daemon->trainer))
        return false;
    if (strcmp(name, "mpirun") == 0)
        fault = find_mpirun(daemon);
    else if (strcmp(name, "slurm") == 0)
        fault = find_slurm(daemon);
    if (fault != NULL)
        (void)error_set(err, STATUS_INVALID, NULL, "--executors %.40s: %s", daemon->settings->executors, fault);
    return fault == NULL;
}

/* Keeps the executors of --executors that this machine can run. */
static enum status find_executors(struct daemon *daemon, struct error *err)
{
    size_t count = 0;
    char *rest = daemon->executors_text, *name;
    (void)snprintf(daemon->executors_text, sizeof daemon->executors_text, "%s", daemon->settings->executors);
    while ((name = strsep(&rest, ",")) != NULL && count + 1 < sizeof daemon->executors / sizeof daemon->executors[0])
        if (find_executor(daemon, name, err))
            daemon->executors[count++] = name;
    if (count == 0) {
        (void)error_set(err, STATUS_INVALID, NULL,
                        "--executors %.40s: motif-train is not in the folder of this program",
                        daemon->settings->executors);
    }
    return err->code;
}

/* The program that reads uploads of HDF5 files; without it, such uploads are refused. */
static struct api_converter find_converter(struct daemon *daemon)
{
    if (!program_beside("motif-convert", daemon->converter, sizeof daemon->converter))
        return (struct api_converter){0};
    return (struct api_converter){daemon->converter, converter_run};
}

enum { UPLOADS_AT_ONCE = 4 };

static int imports_at_once(const struct settings *settings)
{
    return settings->handler_threads > 3 ? (int)settings->handler_threads - 2 : 1;
}

static enum status start_core(struct daemon *daemon, struct error *err)
{
    const struct settings *settings = daemon->settings;
    const struct kernels *kernels = daemon->kernels;
    size_t method_count = 0;
    const struct method *const *methods = methods_all(&method_count);
    /* Half of the handler threads stay free for quick requests. More queries than cores at the same time would only
     * wait for one another. */
    int queries = settings->handler_threads > 1 ? (int)settings->handler_threads / 2 : 1;
    int at_once = queries < daemon->facts.cores ? queries : daemon->facts.cores;
    if (find_executors(daemon, err))
        return err->code;
    struct executor_options executor = {
        .executor = daemon->executors[0],
        .trainer = daemon->trainer,
        .trainer_mpi = daemon->trainer_mpi,
        .mpirun = daemon->mpirun[0] != NULL ? daemon->mpirun : NULL,
        .slurm_bin = daemon->slurm_bin[0] != '\0' ? daemon->slurm_bin : NULL,
        .slurm_options = daemon->slurm_options,
        .srun = daemon->srun,
        .kernels_name = settings->kernels,
        .job_memory = settings->job_memory,
        .storage = daemon->storage,
        .journal = daemon->journal,
        .methods = methods,
        .method_count = method_count,
        .kernels = kernels,
        .data = settings->data,
        .threads_default = daemon->threads_per_job,
        .threads_max = THREADS_MAX,
        .build = daemon->facts.build,
        .cpu = daemon->facts.cpu,
        .blas_core = daemon->facts.blas_core,
    };
    executor_init(&daemon->executor, &executor);
    struct api_options api = {
        .storage = daemon->storage,
        .methods = methods,
        .method_count = method_count,
        .kernels = kernels,
        .data = settings->data,
        .job_memory = settings->job_memory > 0 ? settings->job_memory : facts_memory_most(),
        .share = {.jobs = settings->jobs_per_token,
                  .threads = settings->threads_per_token,
                  .job_bytes = settings->job_bytes_per_token,
                  .dataset_bytes = settings->dataset_bytes_per_token,
                  .team_jobs = settings->jobs_per_team,
                  .team_threads = settings->threads_per_team,
                  .team_job_bytes = settings->job_bytes_per_team,
                  .team_dataset_bytes = settings->dataset_bytes_per_team},
        .upload_bytes = settings->upload_bytes,
        .import_bytes = settings->import_bytes,
        .datasets_bytes = settings->datasets_bytes,
        .request_files = settings->request_files_bytes,
        .upload_seconds = settings->upload_seconds,
        .log = {.context = daemon->journal, .line = log_lower_rooms},
        .daemon = api_daemon_table(daemon),
        .converter = find_converter(daemon),
        .threads_max = THREADS_MAX,
        .executors = daemon->executors,
        .queries_at_once = at_once,
        .queries_waiting = queries + (int)settings->handler_threads / 4 - at_once,
        .query_seconds = settings->query_seconds,
        .uploads_at_once = UPLOADS_AT_ONCE,
        .imports_at_once = imports_at_once(settings),
    };
    return api_create(&api, &daemon->api, err);
}

static void events_added(void *context)
{
    struct daemon *daemon = context;
    streams_notify(daemon->streams);
    notices_wake(daemon->notices);
}

/* Starts the delivery of notices, if --notify-url is set. Without it, the notices of an earlier process stay in the
 * database. */
static enum status start_notices(struct daemon *daemon, struct error *err)
{
    const struct settings *settings = daemon->settings;
    struct notices *notices = NULL;
    const struct notices_options options = {.url = settings->notify_url,
                                            .secret = settings->notify_secret,
                                            .storage = daemon->storage,
                                            .journal = daemon->journal};
    if (settings->notify_url[0] == '\0')
        return STATUS_OK;
    enum status status = notices_start(&options, &notices, err);
    daemon->notices = notices;
    return status;
}

/* Seconds between two pieces of the stored data that a thread reads again (storage/database/sample.c). */
enum { SAMPLE_SECONDS = 30 };

static enum status start_storage(struct daemon *daemon, struct error *err)
{
    struct streams_options streams = {.heartbeat_ms = daemon->settings->event_heartbeat_ms,
                                      .stall_ms = daemon->settings->event_stall_ms,
                                      .most = (int)daemon->settings->streams,
                                      .per_caller = (int)daemon->settings->streams_per_token};
    if (streams_create(&streams, &daemon->streams, err))
        return err->code;
    struct storage_options options = {
        .path = daemon->settings->db,
        .maker = daemon->maker,
        .queue_limit = daemon->settings->queue_limit,
        .owner_threads = daemon->settings->threads_per_token,
        .team_threads = daemon->settings->threads_per_team,
        .threads_of_job = daemon->threads_per_job,
        .log = {.context = daemon->journal, .line = log_lower_rooms},
        .events_added = events_added,
        .events_context = daemon,
        .notices = daemon->settings->notify_url[0] != '\0',
        .sample_seconds = SAMPLE_SECONDS,
        .datasets = daemon->settings->data,
    };
    struct error cause = {0};
    enum status status = storage_open(&options, &daemon->storage, &cause);
    if (status)
        (void)error_set(err, status, NULL, "%s: %s", options.path, cause.message);
    if (status)
        return status;
    tokens_key_remove(options.path); /* a killed daemon leaves its key */
    status = streams_start(daemon->streams, daemon->storage, err);
    if (status)
        return status;
    bool signs_in = daemon->settings->oidc_issuer[0] != '\0' || daemon->settings->trusted_proxy[0] != '\0';
    status = auth_init(&daemon->auth, daemon->storage, daemon->loopback || signs_in, daemon->settings->token, err);
    if (!status && signs_in)
        auth_demand(&daemon->auth);
    return status;
}

/* Starts to accept the tokens of the issuer, if --oidc-issuer is set. */
static enum status start_signin(struct daemon *daemon, struct error *err)
{
    const struct settings *settings = daemon->settings;
    const struct provider_options options = {.issuer = settings->oidc_issuer,
                                             .client = settings->oidc_client,
                                             .audiences = settings->oidc_audience,
                                             .algorithms = settings->oidc_algorithms,
                                             .skew = settings->oidc_skew_seconds,
                                             .refetch_seconds = settings->oidc_refetch_seconds,
                                             .claims = {.name_claim = settings->oidc_name_claim,
                                                        .team_claim = settings->oidc_team_claim,
                                                        .role_claim = settings->oidc_role_claim,
                                                        .teams = settings->signin_teams,
                                                        .roles = settings->signin_roles},
                                             .journal = daemon->journal};
    if (settings->oidc_issuer[0] == '\0')
        return STATUS_OK;
    enum status status = provider_start(&options, &daemon->provider, err);
    daemon->auth.signed_context = daemon->provider;
    daemon->auth.identify_signed = status ? NULL : provider_identify;
    if (status || settings->oidc_client[0] == '\0')
        return status;
    status = sessions_create(&daemon->sessions, err);
    const struct flow_options flow = {.provider = daemon->provider,
                                      .sessions = daemon->sessions,
                                      .client = settings->oidc_client,
                                      .secret = settings->oidc_client_secret,
                                      .scopes = settings->oidc_scopes,
                                      .public_url = settings->public_url,
                                      .tls = settings->tls_cert[0] != '\0',
                                      .session_seconds = settings->session_hours * 3600};
    return status ? status : flow_create(&flow, &daemon->flow, err);
}

/* Reads the certificate at the start and at SIGHUP. Logs a warning if other users can read the key. */
static enum status read_certificate(struct daemon *daemon, struct error *err)
{
    const struct settings *settings = daemon->settings;
    struct stat facts;
    int64_t expires;
    if ((settings->tls_cert[0] == '\0') != (settings->tls_key[0] == '\0'))
        return error_set(err, STATUS_INVALID, NULL, "--tls-cert and --tls-key go together; set both or neither");
    if (settings->tls_cert[0] == '\0')
        return STATUS_OK;
    enum status status = certificate_load(settings->tls_cert, settings->tls_key, &expires, err);
    if (status)
        return status;
    daemon->tls = true;
    atomic_store(&daemon->certificate_expires, expires);
    char until[32];
    struct tm utc;
    (void)gmtime_r(&(time_t){(time_t)expires}, &utc);
    (void)strftime(until, sizeof until, "%Y-%m-%d", &utc);
    journal_line(daemon->journal, expires > (int64_t)time(NULL) ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, JOURNAL_SERVER, NULL,
                 NULL, "the TLS certificate is valid until %s", until);
    if (stat(settings->tls_key, &facts) == 0 && (facts.st_mode & S_IROTH) != 0) {
        journal_line(daemon->journal, LOG_LEVEL_WARN, JOURNAL_SERVER, NULL, NULL,
                     "every user of this machine can read the TLS key; remove the permission");
    }
    return STATUS_OK;
}

static enum status start_http(struct daemon *daemon, struct error *err)
{
    const struct settings *settings = daemon->settings;
    enum status status = read_certificate(daemon, err);
    if (status)
        return status;
    struct http_options options = {
        .host = daemon->host,
        .port = daemon->port,
        .loopback = daemon->loopback,
        .allow_host = settings->allow_host,
        .tls = daemon->tls,
        .threads = (int)settings->http_threads,
        /* uploads and imports take minutes, so each place has a further thread, and they never take all threads */
        .handlers = (int)settings->handler_threads + UPLOADS_AT_ONCE + imports_at_once(settings),
        .connections = (int)settings->connections,
        .connections_per_address = (int)settings->connections_per_address,
        .rate_limit = settings->rate_limit,
        .beside = settings->db,
        .deadlines = {.idle_ms = settings->idle_timeout_ms,
                      .header_ms = settings->header_timeout_ms,
                      .grace_ms = settings->body_grace_ms,
                      .rate = settings->body_rate},
        .api = daemon->api,
        .auth = &daemon->auth,
        .flow = daemon->flow,
        .proxy = {.trusted = settings->trusted_proxy,
                  .user_header = settings->proxy_user_header,
                  .team_header = settings->proxy_team_header,
                  .role_header = settings->proxy_role_header,
                  .claims = {.teams = settings->signin_teams, .roles = settings->signin_roles}},
        .journal = daemon->journal,
        .streams = daemon->streams,
    };
    struct http *http = NULL;
    status = http_start(&options, &http, err);
    daemon->http = http;
    return status;
}

/* Writes the address at which this machine reaches the daemon: that of the listener or, for a daemon that listens on
 * any address, the loopback address. */
static void local_url(const struct daemon *daemon, char url[TOKENS_URL])
{
    bool v6 = strchr(daemon->host, ':') != NULL,
         any = strcmp(daemon->host, "0.0.0.0") == 0 || strcmp(daemon->host, "::") == 0;
    const char *host = any ? v6 ? "::1" : "127.0.0.1" : daemon->host;
    (void)snprintf(url, TOKENS_URL, "%s://%s%s%s:%d", daemon->tls ? "https" : "http", v6 ? "[" : "", host,
                   v6 ? "]" : "", http_port(daemon->http));
}

/* Writes the key of the operator beside the database. If this fails, the daemon still serves, but tokens can be created
 * only while it is stopped. */
static void share_key(struct daemon *daemon)
{
    struct error err = {0};
    struct tokens_key key;
    local_url(daemon, key.url);
    memcpy(key.key, daemon->auth.key, sizeof key.key);
    if (tokens_key_write(daemon->settings->db, &key, &err)) {
        journal_line(daemon->journal, LOG_LEVEL_WARN, JOURNAL_SERVER, NULL, NULL,
                     "`motifd token` cannot reach this daemon: %s", err.message);
    }
}

/* Limits the memory that the heaps of threads keep. By default, glibc gives every thread a heap. A heap keeps the
 * memory of the thread's largest answer, and even more after a large array was freed. So the process gets few heaps,
 * and job_memory_return_freed() lets them return freed memory to the system. */
static void bound_heaps(void)
{
    (void)mallopt(M_ARENA_MAX, HEAPS);
    job_memory_return_freed();
}

static enum status start(struct daemon *daemon, struct error *err)
{
    bound_heaps();
    int level = journal_level(daemon->settings->log_level);
    enum status status =
        journal_open(&daemon->journal, STDERR_FILENO, level >= 0 ? (enum log_level)level : LOG_LEVEL_INFO, err);
    if (status)
        return status;
    status = settings_address(daemon->settings->listen, daemon->host, sizeof daemon->host, &daemon->port,
                              &daemon->loopback, err);
    if (status)
        return status;
    status = start_kernels(daemon, err);
    if (status)
        return status;
    status = deal_threads(daemon, err);
    if (status)
        return status;
    status = start_storage(daemon, err);
    if (status)
        return status;
    status = dataset_root_make(daemon->settings->data, err);
    if (status)
        return status;
    status = start_notices(daemon, err);
    if (status)
        return status;
    status = start_signin(daemon, err);
    if (status)
        return status;
    if (daemon->settings->audit_log[0] != '\0') {
        status = audit_file_open(daemon->settings->audit_log, daemon->journal, &daemon->audit_file, err);
        if (status)
            return status;
    }
    status = crash_prepare(daemon->settings->db, daemon->facts.build, err); /* a file beside the database */
    if (status)
        return status;
    status = start_core(daemon, err);
    if (status)
        return status;
    struct scheduler_options options = {
        .storage = daemon->storage,
        .journal = daemon->journal,
        .workers = (int)daemon->settings->workers,
        .evaluators = (int)daemon->settings->evaluators,
        .nice = (int)daemon->settings->job_nice,
        .run = executor_run,
        .context = &daemon->executor,
    };
    status = scheduler_start(&options, &daemon->scheduler, err);
    if (status)
        return status;
    status = cleaner_start(daemon->api, daemon->settings->policy_seconds, &daemon->cleaner, err);
    if (status)
        return status;
    status = start_http(daemon, err);
    if (status)
        return status;
    share_key(daemon);
    return STATUS_OK;
}

/* Sets the address at which trainers reach the daemon: the setting trainer-url or, by default, the address of the
 * listener. */
static void serve_trainers(struct daemon *daemon)
{
    char url[TOKENS_URL];
    local_url(daemon, url);
    executor_serve(&daemon->executor, daemon->api,
                   daemon->settings->trainer_url[0] != '\0' ? daemon->settings->trainer_url : url);
}

static void say_listening(const struct daemon *daemon)
{
    bool v6 = strchr(daemon->host, ':') != NULL;
    (void)printf("listening on %s://%s%s%s:%d\n", daemon->tls ? "https" : "http", v6 ? "[" : "", daemon->host,
                 v6 ? "]" : "", http_port(daemon->http));
    (void)fflush(stdout);
    journal_line(daemon->journal, LOG_LEVEL_INFO, JOURNAL_SERVER, NULL, NULL,
                 "%s on %s (%d cores, kernels %s, BLAS core %s): %d workers of %d threads, tokens %s",
                 daemon->facts.build, daemon->facts.cpu, daemon->facts.cores, daemon->facts.kernels,
                 daemon->facts.blas_core, (int)daemon->settings->workers, daemon->threads_per_job,
                 atomic_load(&daemon->auth.required) ? "required" : "not required");
    notify_manager("READY=1\nSTATUS=serving");
}

/* ---- run and end ------------------------------------------------------------------------------------------ */

/* Returns false if storage refuses all writes until a restart, because after a failed fsync the content of the disk is
 * unknown. Returns true if the disk is only full, because space may become free. Logs when writes become impossible or
 * possible. */
static bool store_lives(struct daemon *daemon, bool *writable)
{
    struct error err = {0};
    bool now = !storage_writable(daemon->storage, &err);
    if (now != *writable) {
        *writable = now;
        journal_line(daemon->journal, now ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, JOURNAL_SERVER, NULL, NULL,
                     "the database %s%s", now ? "accepts writes again" : "accepts no writes: ", now ? "" : err.message);
    }
    return now || err.code != STATUS_IO;
}

/* Reads the certificate files again. A failure keeps the old certificate; jobs and connections continue. */
static void renew_certificate(struct daemon *daemon)
{
    struct error err = {0};
    if (read_certificate(daemon, &err)) {
        journal_line(daemon->journal, LOG_LEVEL_ERROR, JOURNAL_SERVER, NULL, NULL,
                     "the new TLS certificate cannot be used and the old one stays: %s", err.message);
    }
}

static double monotonic_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Keeps the daemon running until a signal, and returns the exit code of the process. */
static int serve_until_signal(struct daemon *daemon)
{
    int watchdog_ms = notify_watchdog_ms(), tick = watchdog_ms > 0 && watchdog_ms < 1000 ? watchdog_ms : 1000;
    bool writable = true;
    time_t swept = time(NULL);
    for (double trimmed = monotonic_s();;) {
        int signal = signals_wait(tick);
        if (monotonic_s() - trimmed >= TRIM_SECONDS) {
            (void)malloc_trim(0);
            trimmed = monotonic_s();
        }
        if (llabs((long long)(time(NULL) - swept)) >= SWEEP_SECONDS) {
            swept = time(NULL);
            dataset_sweep_parts(daemon->settings->data);
        }
        if (signal == SIGHUP && daemon->tls) {
            renew_certificate(daemon);
        } else if (signal != 0) {
            journal_line(daemon->journal, LOG_LEVEL_INFO, JOURNAL_SERVER, NULL, NULL, "%s: draining",
                         strsignal(signal));
            return EXIT_OK;
        }
        if (!store_lives(daemon, &writable)) {
            journal_line(daemon->journal, LOG_LEVEL_ERROR, JOURNAL_SERVER, NULL, NULL,
                         "the daemon ends, because only a restart can find out what is on disk");
            return EXIT_FAULT;
        }
        if (watchdog_ms > 0)
            notify_manager("WATCHDOG=1");
    }
}

/* Stops the scheduler. Everything that an answer acknowledged is on disk already, so only the work since the last
 * checkpoint of a job can be lost here. */
static void drain(struct daemon *daemon)
{
    atomic_store(&daemon->draining, true);
    notify_manager("STOPPING=1\nSTATUS=draining");
    deadline_start(daemon->journal, daemon->settings->drain_ms + END_MS);
    scheduler_drain(daemon->scheduler);
    for (int64_t waited = 0; !scheduler_drained(daemon->scheduler, 20); waited += 20) {
        if (waited > daemon->settings->drain_ms) {
            struct error err = {0};
            journal_line(daemon->journal, LOG_LEVEL_WARN, JOURNAL_SERVER, NULL, NULL,
                         "a step did not end in time; its job continues from its last checkpoint");
            (void)storage_flush(daemon->storage, &err);
            _exit(EXIT_OK);
        }
    }
}

static void stop(struct daemon *daemon)
{
    tokens_key_remove(daemon->settings->db);
    http_stop(daemon->http, LAST_REQUESTS_MS);
    daemon->http = NULL;
    scheduler_stop(daemon->scheduler);
    daemon->scheduler = NULL;
    cleaner_stop(daemon->cleaner);
    api_destroy(daemon->api);
    if (daemon->streams != NULL) {
        /* needed only if no HTTP server was started; otherwise http_stop() has ended the streams, and this call has
         * no effect */
        streams_end(daemon->streams);
    }
    notices_stop(daemon->notices);
    storage_close(daemon->storage);
    notices_destroy(daemon->notices);
    audit_file_close(daemon->audit_file);
    provider_stop(daemon->provider);
    flow_destroy(daemon->flow);
    sessions_destroy(daemon->sessions);
    streams_destroy(daemon->streams);
    deadline_stop();
    journal_close(daemon->journal);
    certificate_forget();
}

int daemon_serve(const struct settings *settings)
{
    struct daemon daemon = {.settings = settings};
    struct error err = {0};
    enum status status = signals_catch(&err);
    priority_answer(); /* threads that this thread starts inherit the priority; the workers then change theirs */
    if (!status)
        status = start(&daemon, &err);
    if (status) {
        (void)fprintf(stderr, "motifd: %s\n", err.message);
        stop(&daemon);
        crash_finish(); /* removes the empty file of the crash report */
        return status == STATUS_INVALID ? EXIT_USAGE : EXIT_FAULT;
    }
    serve_trainers(&daemon);
    say_listening(&daemon);
    int code = serve_until_signal(&daemon);
    drain(&daemon);
    journal_line(daemon.journal, LOG_LEVEL_INFO, JOURNAL_SERVER, NULL, NULL, "drained: ending");
    stop(&daemon);
    crash_finish();
    return code;
}
