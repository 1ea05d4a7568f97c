/* The settings of the daemon. One table gives each setting its flag, its environment variable, its key in the
 * configuration file, its default, its range and its description in `--help`.
 *
 * Sources, strongest first: flags, environment, file, defaults. `--db FILE` is MOTIFD_DB in the environment and "db" in
 * the file; `--threads-per-job N` is MOTIFD_THREADS_PER_JOB and "threads_per_job". Every fault is reported, not only
 * the first. Call these functions on one thread, before others start. */
#ifndef MOTIF_SERVER_SETTINGS_SETTINGS_H
#define MOTIF_SERVER_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/error.h"

#define SETTINGS_TEXT 1024
#define SETTINGS_DB "motifd.db"     /* default file of the database */
#define SETTINGS_DATA "motifd-data" /* default folder of data sets */

struct settings {
    char config[SETTINGS_TEXT]; /* path of the configuration file, "" for none */
    char listen[SETTINGS_TEXT]; /* ADDR:PORT */
    char db[SETTINGS_TEXT];
    char data[SETTINGS_TEXT];
    char token[SETTINGS_TEXT];                            /* a bearer token with every scope, "" for none */
    char tls_cert[SETTINGS_TEXT], tls_key[SETTINGS_TEXT]; /* paths of PEM files, "" for plain HTTP */
    char allow_host[SETTINGS_TEXT]; /* names accepted in the Host header besides loopback, separated by commas */
    char log_level[SETTINGS_TEXT];
    char kernels[SETTINGS_TEXT];   /* "best" or the name of a kernel table */
    char executors[SETTINGS_TEXT]; /* executors that jobs may request, separated by commas, the default first */
    char mpirun[SETTINGS_TEXT];    /* the command and its options, separated by spaces */
    char slurm_bin[SETTINGS_TEXT], slurm_options[SETTINGS_TEXT], srun[SETTINGS_TEXT];
    char notify_url[SETTINGS_TEXT];    /* address that receives notices of ended jobs, "" for none */
    char notify_secret[SETTINGS_TEXT]; /* key of their signatures */
    char trainer_url[SETTINGS_TEXT];   /* address of the daemon for trainers, "" for its own address */
    int64_t workers, threads_per_job, queue_limit, job_memory, jobs_per_token;
    int64_t upload_bytes, import_bytes, datasets_bytes;
    int64_t threads_per_token, job_bytes_per_token, dataset_bytes_per_token;
    int64_t http_threads, handler_threads, connections, connections_per_address, rate_limit;
    int64_t header_timeout_ms, idle_timeout_ms, body_grace_ms, body_rate;
    int64_t event_heartbeat_ms, event_stall_ms, streams, streams_per_token;
    int64_t evaluators;
    int64_t job_nice;
    int64_t query_seconds;
    int64_t drain_ms;
};

/* `add` is called once for each fault; `setting` is the flag's name without dashes. */
struct settings_faults {
    void *context;
    void (*add)(void *context, const char *setting, const char *source, const char *detail);
};

/* Sets every setting to its default. */
void settings_defaults(struct settings *settings);

/* Reads argv[1..] after the command, then the environment, then the file of --config or MOTIFD_CONFIG. STATUS_INVALID
 * when there was a fault. *help is set by --help. */
enum status settings_read(struct settings *settings, int argc, char **argv, const struct settings_faults *faults,
                          bool *help);

/* Reads a configuration file alone, for check-config. `text` is its JSON. Settings that are marked in `taken` do not
 * change (NULL: all may change). */
enum status settings_read_json(struct settings *settings, const char *text, size_t size, const bool *taken,
                               const struct settings_faults *faults);

/* Prints the table as help text. False: not enough memory, or it cannot be written. */
bool settings_help(FILE *to);

/* Splits ADDR:PORT, [ADDR]:PORT or PORT alone. The address must be numeric or "localhost". *loopback: the address is a
 * loopback address. STATUS_INVALID says what is wrong. */
enum status settings_address(const char *listen, char *host, size_t host_bytes, uint16_t *port, bool *loopback,
                             struct error *err);

#endif
