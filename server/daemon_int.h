/* Private to daemon.c and api_daemon.c. */
#ifndef MOTIF_SERVER_DAEMON_INT_H
#define MOTIF_SERVER_DAEMON_INT_H

#include <stdatomic.h>

#include "api/api.h"
#include "server/http/auth.h"
#include "server/daemon.h"
#include "server/executors/executor.h"
#include "trainer/facts.h"
#include "server/http/http.h"
#include "server/notices/notices.h"
#include "server/process/audit_file.h"
#include "server/process/journal.h"
#include "server/scheduler.h"
#include "server/settings/settings.h"
#include "server/signin/flow.h"
#include "server/signin/provider.h"
#include "server/http/streams.h"
#include "storage/storage.h"

#define COMMAND_WORDS 40 /* maximum number of words in a setting that is a command */

struct daemon {
    const struct settings *settings;
    struct journal *journal;
    struct storage *storage;
    struct streams *streams;
    struct auth auth;
    struct audit_file *audit_file; /* NULL without --audit-log */
    struct sessions *sessions;     /* NULL without --oidc-client, as is `flow` */
    struct flow *flow;
    struct provider *provider; /* NULL without --oidc-issuer */
    struct facts facts;
    char maker[256];
    const struct kernels *kernels;
    double pace; /* result of kernels_pace() */
    struct executor executor;
    struct api *api;
    struct scheduler *scheduler;
    struct cleaner *cleaner;
    struct notices *_Atomic notices; /* NULL without --notify-url */
    struct http *_Atomic http;       /* NULL until the listener is open; handlers read the port from it */
    char host[128];
    uint16_t port;
    bool loopback;
    bool tls;
    atomic_llong certificate_expires; /* seconds since 1970; 0: no TLS */
    int threads_per_job;
    char executors_text[SETTINGS_TEXT]; /* the setting `executors`, split at the commas */
    char mpirun_text[SETTINGS_TEXT], srun_text[SETTINGS_TEXT],
        slurm_options_text[SETTINGS_TEXT]; /* settings that are commands, split at the spaces */
    const char *mpirun[COMMAND_WORDS], *srun[COMMAND_WORDS], *slurm_options[COMMAND_WORDS]; /* end with NULL */
    char trainer[512], trainer_mpi[512]; /* paths of motif-train, motif-train-mpi */
    char converter[512];                 /* path of the program motif-convert */
    char slurm_bin[SETTINGS_TEXT];       /* folder of the programs of Slurm; "" without Slurm */
    const char *executors[6];            /* names of the executors that this machine can run; ends with NULL */
    atomic_bool draining;
};

/* Returns the functions of this process that the api calls (api_daemon.c). `daemon` must outlive the api. */
struct api_daemon api_daemon_table(struct daemon *daemon);

#endif
