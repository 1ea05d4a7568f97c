/* The table of settings, the checks of their values, and their help text. */
#include "server/settings/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/options.h"
#include "server/process/journal.h"
#include "server/settings/settings_int.h"

#define FIELD(name) offsetof(struct settings, name)

/* The order is the order of `--help`. */
const struct setting settings_table[] = {
    {"config", SETTING_TEXT, FIELD(config), "", 0, 0, "FILE", "JSON file with settings as keys (\"listen\", ...)"},
    {"listen", SETTING_TEXT, FIELD(listen), "127.0.0.1:8080", 0, 0, "ADDR:PORT",
     "address to listen on; port 0 picks a free port and prints it; beyond loopback bearer tokens are required"},
    {"db", SETTING_TEXT, FIELD(db), SETTINGS_DB, 0, 0, "FILE",
     "SQLite file with jobs, metrics and checkpoints; created if it is missing"},
    {"data", SETTING_TEXT, FIELD(data), SETTINGS_DATA, 0, 0, "DIR",
     "folder of data sets; a job names a folder in it, never a path"},
    {"workers", SETTING_INT, FIELD(workers), "1", 1, 64, "N", "number of jobs that run at the same time"},
    {"evaluators", SETTING_INT, FIELD(evaluators), "1", 0, 64, "N",
     "further workers that run only evaluations, so that an evaluation need not wait for a training to end"},
    {"threads-per-job", SETTING_INT, FIELD(threads_per_job), "0", 0, 256, "N",
     "threads of a job that does not set them; 0: the cores divided by the workers"},
    {"job-memory", SETTING_INT, FIELD(job_memory), "0", 0, (int64_t)1 << 50, "BYTES",
     "upper limit of the estimated memory of a job; 0: all memory that this process may use"},
    {"job-nice", SETTING_INT, FIELD(job_nice), "10", 0, 19, "N",
     "added to the nice value of the threads of jobs; requests and other programs then run before jobs; 0: jobs "
     "compete with them as equals"},
    {"executors", SETTING_TEXT, FIELD(executors), "thread,process", 0, 0, "NAMES",
     "executors that jobs may request, separated by commas, the default first: thread (in the daemon), process "
     "(motif-train, a process of its own), mpirun (motif-train-mpi, one process per rank), slurm (either, as a job of "
     "Slurm)"},
    {"mpirun", SETTING_TEXT, FIELD(mpirun), "mpirun --bind-to none", 0, 0, "COMMAND",
     "command that starts the ranks, words separated by spaces; the daemon adds -np and starts it without a shell"},
    {"slurm-bin", SETTING_TEXT, FIELD(slurm_bin), "", 0, 0, "DIR",
     "folder of sbatch, squeue, scancel and scontrol; \"\": found in PATH"},
    {"slurm-options", SETTING_TEXT, FIELD(slurm_options), "", 0, 0, "OPTIONS",
     "further options of sbatch, separated by spaces (\"--partition gpu --time 600 --signal B:TERM@60\"); the "
     "daemon passes them on without a shell"},
    {"srun", SETTING_TEXT, FIELD(srun), "srun --mpi=pmix", 0, 0, "COMMAND",
     "command that starts several ranks within a job of Slurm, words separated by spaces"},
    {"trainer-url", SETTING_TEXT, FIELD(trainer_url), "", 0, 0, "URL",
     "address at which trainers reach the daemon, if it differs from --listen, for example with TLS or for trainers on "
     "other machines"},
    {"notify-url", SETTING_TEXT, FIELD(notify_url), "", 0, 0, "URL",
     "address to which the daemon sends a notice when a job ends, as CloudEvents 1.0; needs MOTIFD_NOTIFY_SECRET"},
    {"notify-secret", SETTING_TEXT, FIELD(notify_secret), "", 0, 0, "TEXT",
     "key of the notices' signatures, of 16 characters or more, or whsec_ and base64; other users can see flags, so "
     "prefer MOTIFD_NOTIFY_SECRET"},
    {"token", SETTING_TEXT, FIELD(token), "", 0, 0, "TEXT",
     "bearer token with every scope; other users can see flags, so prefer MOTIFD_TOKEN or `motifd token create`"},
    {"allow-host", SETTING_TEXT, FIELD(allow_host), "", 0, 0, "NAMES",
     "names that the daemon accepts in the Host header, separated by commas; on loopback it accepts loopback names as "
     "well, and by default no others"},
    {"tls-cert", SETTING_TEXT, FIELD(tls_cert), "", 0, 0, "FILE",
     "PEM file with the certificate and its intermediate certificates; the daemon then serves only HTTPS, with TLS 1.2 "
     "or 1.3; needs --tls-key"},
    {"tls-key", SETTING_TEXT, FIELD(tls_key), "", 0, 0, "FILE",
     "PEM file with the private key of --tls-cert; read at the start and at SIGHUP"},
    {"queue-limit", SETTING_INT, FIELD(queue_limit), "1000", 1, 1000000, "N",
     "upper limit of the jobs in the queue; further submissions are answered 503"},
    {"jobs-per-token", SETTING_INT, FIELD(jobs_per_token), "0", 0, 1000000, "N",
     "upper limit of the unfinished jobs of one token; further submissions are answered 429; 0: no limit"},
    {"threads-per-token", SETTING_INT, FIELD(threads_per_token), "0", 0, 1000000, "N",
     "upper limit of the threads of all running jobs of one token, summed over all ranks; its other jobs wait; 0: no "
     "limit"},
    {"job-bytes-per-token", SETTING_INT, FIELD(job_bytes_per_token), "0", 0, (int64_t)1 << 50, "BYTES",
     "upper limit of the bytes of checkpoints and files of one token's jobs; further submissions are answered 403; 0: "
     "no limit"},
    {"dataset-bytes-per-token", SETTING_INT, FIELD(dataset_bytes_per_token), "0", 0, (int64_t)1 << 50, "BYTES",
     "upper limit of the bytes of one token's data sets on disk; 0: no limit"},
    {"upload-bytes", SETTING_INT, FIELD(upload_bytes), "1073741824", 1024, (int64_t)1 << 36, "BYTES",
     "upper limit of the bytes of one uploaded data set"},
    {"import-bytes", SETTING_INT, FIELD(import_bytes), "134217728", 1024, (int64_t)1 << 32, "BYTES",
     "upper limit of the bytes of one imported model or bundle, and of a bundle that the daemon makes (at most 256 "
     "MiB); to read a folder of SAELens, the daemon needs up to eight times its size of memory"},
    {"datasets-bytes", SETTING_INT, FIELD(datasets_bytes), "17179869184", 0, (int64_t)1 << 50, "BYTES",
     "upper limit of the bytes of all uploaded data sets on disk"},
    {"kernels", SETTING_TEXT, FIELD(kernels), "best", 0, 0, "NAME", "compute kernels: best, ref, avx2 or avx512"},
    {"log-level", SETTING_TEXT, FIELD(log_level), "info", 0, 0, "LEVEL",
     "lowest level of the lines that are logged: debug, info, warn or error"},
    {"http-threads", SETTING_INT, FIELD(http_threads), "2", 1, 64, "N", "threads that read and write connections"},
    {"handler-threads", SETTING_INT, FIELD(handler_threads), "8", 1, 256, "N",
     "threads that compute the answers to requests"},
    {"connections", SETTING_INT, FIELD(connections), "512", 4, 65536, "N", "upper limit of the open connections"},
    {"connections-per-address", SETTING_INT, FIELD(connections_per_address), "128", 1, 65536, "N",
     "upper limit of the open connections of one address"},
    {"rate-limit", SETTING_INT, FIELD(rate_limit), "1000", 0, 1000000, "N",
     "requests per second of one token, or of one address without a token, with bursts of twice that number; further "
     "requests are answered 429; 0: no limit"},
    {"header-timeout-ms", SETTING_INT, FIELD(header_timeout_ms), "10000", 50, 3600000, "MS",
     "upper limit of the time from the first byte of a request to the end of its headers; later connections are cut"},
    {"idle-timeout-ms", SETTING_INT, FIELD(idle_timeout_ms), "30000", 50, 3600000, "MS",
     "time after which a connection without a request is closed"},
    {"body-grace-ms", SETTING_INT, FIELD(body_grace_ms), "5000", 0, 3600000, "MS",
     "time for which a body or an answer may be slower than --body-rate"},
    {"body-rate", SETTING_INT, FIELD(body_rate), "1024", 1, 1000000000, "BYTES",
     "bytes per second at which a client must send a body and take an answer"},
    {"event-heartbeat-ms", SETTING_INT, FIELD(event_heartbeat_ms), "15000", 50, 3600000, "MS",
     "time after which a quiet event stream gets a comment, so that proxies keep it open"},
    {"event-stall-ms", SETTING_INT, FIELD(event_stall_ms), "60000", 50, 3600000, "MS",
     "time after which an event stream is cut when its reader takes nothing"},
    {"streams", SETTING_INT, FIELD(streams), "64", 1, 4096, "N",
     "upper limit of the open event streams; each is also a connection, so --connections may have to grow with it; "
     "further streams are answered 503"},
    {"streams-per-token", SETTING_INT, FIELD(streams_per_token), "32", 1, 4096, "N",
     "upper limit of the open event streams of one token, or of one address without a token; further streams are "
     "answered 429"},
    {"query-seconds", SETTING_INT, FIELD(query_seconds), "60", 0, 86400, "SECONDS",
     "time limit of a query, including the time that it waits; a longer query is answered 504; 0: no limit"},
    {"drain-ms", SETTING_INT, FIELD(drain_ms), "9000", 100, 3600000, "MS",
     "time after SIGTERM for running jobs to finish a step and save a checkpoint"},
};
const size_t settings_count = sizeof settings_table / sizeof settings_table[0];
_Static_assert(sizeof settings_table / sizeof settings_table[0] <= SETTINGS_MAX, "SETTINGS_MAX is too small");

static char *text_of(const struct setting *setting, struct settings *settings)
{
    return (char *)settings + setting->offset;
}

static int64_t *int_of(const struct setting *setting, struct settings *settings)
{
    return (int64_t *)(void *)((char *)settings + setting->offset);
}

static bool executors_allowed(const char *value)
{
    static const char *const names[] = {"thread", "process", "mpirun", "slurm"};
    unsigned seen = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        unsigned bit = 0;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            bit = strlen(names[i]) == length && strncmp(at, names[i], length) == 0 ? 1u << i : bit;
        if (bit == 0 || (seen & bit) != 0)
            return false;
        seen |= bit;
        at += length;
        if (*at == '\0')
            return true;
    }
}

/* Checks the rules of those settings that allow only certain texts. */
static bool text_allowed(const struct setting *setting, const char *value, char *detail, size_t detail_bytes)
{
    struct error err = {0};
    char host[128];
    uint16_t port;
    bool loopback;
    if (strcmp(setting->name, "listen") == 0 &&
        settings_address(value, host, sizeof host, &port, &loopback, &err) != STATUS_OK) {
        (void)snprintf(detail, detail_bytes, "%s", err.message);
        return false;
    }
    if (strcmp(setting->name, "executors") == 0 && !executors_allowed(value)) {
        (void)snprintf(detail, detail_bytes,
                       "must be names of executors, separated by commas, each once: thread, process, mpirun, slurm");
        return false;
    }
    if (strcmp(setting->name, "log-level") == 0 && journal_level(value) < 0) {
        (void)snprintf(detail, detail_bytes, "must be one of debug, info, warn, error; got \"%.40s\"", value);
        return false;
    }
    if (strcmp(setting->name, "token") == 0 && value[0] != '\0' && strlen(value) < 16) {
        (void)snprintf(detail, detail_bytes, "must have at least 16 characters");
        return false;
    }
    if (strcmp(setting->name, "notify-url") == 0 && value[0] != '\0' && strncmp(value, "http://", 7) != 0 &&
        strncmp(value, "https://", 8) != 0) {
        (void)snprintf(detail, detail_bytes, "must begin with http:// or https://");
        return false;
    }
    if (strcmp(setting->name, "notify-secret") == 0 && value[0] != '\0' && strlen(value) < 16) {
        (void)snprintf(detail, detail_bytes, "must have at least 16 characters");
        return false;
    }
    if (strcmp(setting->name, "db") == 0 && value[0] == '\0') {
        (void)snprintf(detail, detail_bytes, "must be the name of a file");
        return false;
    }
    return true;
}

bool settings_set(const struct setting *setting, struct settings *settings, const char *value, char *detail,
                  size_t detail_bytes)
{
    if (setting->type == SETTING_TEXT) {
        if (strlen(value) >= SETTINGS_TEXT) {
            (void)snprintf(detail, detail_bytes, "must be shorter than %d bytes", SETTINGS_TEXT);
            return false;
        }
        if (!text_allowed(setting, value, detail, detail_bytes))
            return false;
        memcpy(text_of(setting, settings), value, strlen(value) + 1);
        return true;
    }
    char *end = NULL;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < setting->min || number > setting->max) {
        (void)snprintf(detail, detail_bytes, "must be an integer in [%lld, %lld]; got \"%.40s\"",
                       (long long)setting->min, (long long)setting->max, value);
        return false;
    }
    *int_of(setting, settings) = number;
    return true;
}

void settings_defaults(struct settings *settings)
{
    char detail[160];
    memset(settings, 0, sizeof *settings);
    for (size_t i = 0; i < settings_count; i++)
        (void)settings_set(&settings_table[i], settings, settings_table[i].preset, detail, sizeof detail);
}

/* Converts threads-per-job to MOTIFD_THREADS_PER_JOB or threads_per_job. */
void settings_name_in(const struct setting *setting, bool environment, char *out, size_t out_bytes)
{
    int used = snprintf(out, out_bytes, "%s%s", environment ? "MOTIFD_" : "", setting->name);
    for (int i = 0; i < used && (size_t)i < out_bytes; i++)
        if (out[i] == '-')
            out[i] = '_';
        else if (environment && out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
}

bool settings_help(FILE *to)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        char flag[64], name[64];
        (void)snprintf(flag, sizeof flag, "--%s %s", setting->name, setting->placeholder);
        settings_name_in(setting, true, name, sizeof name);
        buf_format(&out, "  %-32s ", flag);
        buf_wrap(&out, setting->meaning, strlen(setting->meaning), 35, 35, HELP_COLUMNS);
        buf_format(&out, "\n  %-32s [%s%s%s]\n", "", name, setting->preset[0] != '\0' ? ", default " : "",
                   setting->preset);
    }
    bool whole = !out.failed;
    whole = fputs(whole ? out.data : "not enough memory for the help\n", to) >= 0 && whole;
    buf_close(&out);
    return whole;
}

static bool split_address(const char *listen, char *host, size_t host_bytes, const char **port_text)
{
    const char *colon = strrchr(listen, ':');
    size_t length = colon != NULL ? (size_t)(colon - listen) : 0;
    *port_text = colon != NULL ? colon + 1 : listen;
    if (length >= 2 && listen[0] == '[' && listen[length - 1] == ']') {
        listen++;
        length -= 2;
    } else if (memchr(listen, ':', length) != NULL) {
        return false; /* an IPv6 address without brackets */
    }
    if (length >= host_bytes)
        return false;
    memcpy(host, length > 0 ? listen : "127.0.0.1", length > 0 ? length : sizeof "127.0.0.1");
    if (length > 0)
        host[length] = '\0';
    if (strcmp(host, "localhost") == 0)
        (void)snprintf(host, host_bytes, "127.0.0.1");
    return true;
}

enum status settings_address(const char *listen, char *host, size_t host_bytes, uint16_t *port, bool *loopback,
                             struct error *err)
{
    const char *port_text = NULL;
    struct in_addr v4;
    struct in6_addr v6;
    if (host_bytes < 16 || !split_address(listen, host, host_bytes, &port_text))
        return error_set(err, STATUS_INVALID, NULL, "must be ADDR:PORT or [ADDR]:PORT");
    char *end = NULL;
    long number = strtol(port_text, &end, 10);
    if (port_text[0] < '0' || port_text[0] > '9' || *end != '\0' || number > 65535)
        return error_set(err, STATUS_INVALID, NULL, "must end in a port in [0, 65535]");
    *port = (uint16_t)number;
    if (inet_pton(AF_INET, host, &v4) == 1)
        *loopback = ntohl(v4.s_addr) >> 24 == 127;
    else if (inet_pton(AF_INET6, host, &v6) == 1)
        *loopback = IN6_IS_ADDR_LOOPBACK(&v6);
    else
        return error_set(err, STATUS_INVALID, NULL, "must begin with a numeric address or localhost");
    return STATUS_OK;
}
