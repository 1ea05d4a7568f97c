/* What `motifctl submit` and `motifctl study submit` share. */
#ifndef MOTIF_API_CLIENT_COMMANDS_SUBMIT_H
#define MOTIF_API_CLIENT_COMMANDS_SUBMIT_H

#include "api/client/ctl.h"
#include "core/base/options.h"

/* Rows of a table of options; submit_fill() and submit_send() read them. */
#define SUBMIT_OPTIONS                                                                                                 \
    OPTION_TEXT("preset", "NAME", "start from this preset (motifctl kinds lists them)"),                               \
        OPTION_TEXT("config", "FILE", "JSON file with a configuration or a whole submission; - is standard input"),    \
        OPTION_TEXT("set", "FIELD=VALUE", "set one configuration field; may be repeated"),                             \
        OPTION_TEXT("kind", "KIND", "the method; only needed without a preset"),                                       \
        OPTION_TEXT("name", "NAME", "name of the job or study"),                                                       \
        OPTION_TEXT("tag", "TAG", "word by which lists can be filtered; may be repeated"),                             \
        OPTION_INTEGER("priority", "N", NULL, -1000000, 1000000,                                                       \
                       "-100 to 100; the queue runs higher priorities first (0)"),                                     \
        OPTION_INTEGER("threads", "N", NULL, -1000000, 1000000,                                                        \
                       "number of threads of this job; it does not change the results"),                               \
        OPTION_TEXT(                                                                                                   \
            "executor", "NAME",                                                                                        \
            "what trains the job: thread, process, mpirun or slurm, if the daemon has it (the daemon's first)"),       \
        OPTION_INTEGER("ranks", "N", NULL, -1000000, 1000000,                                                          \
                       "number of processes that share the work, for mpirun and slurm (1); it changes the last bits "  \
                       "of the results"),                                                                              \
        OPTION_TEXT("key", "KEY",                                                                                      \
                    "Idempotency-Key; repeated submissions with the same key return the same job (random)"),           \
        OPTION_TEXT("like", "JOB", "start from the kind, preset and configuration of another job"),                    \
        OPTION_TEXT("from", "JOB[:SEQ]", "start from the weights of another job's checkpoint"),                        \
        OPTION_FLAG("watch", "follow the job to its end"),                                                             \
        OPTION_FLAG("require",                                                                                         \
                    "with --watch: exit with 4 if the job has learned only a part, with 5 if it has not learned"),     \
        OPTION_FLAG("dry-run", "print the predicted cost; store nothing")

/* Fills the body of a submission from the command line. *study: whether it is a study. */
int submit_fill(struct ctl *ctl, const struct options *args, cJSON *body, bool *study);
/* Sends the body, prints what was made, and follows it with --watch. */
int submit_send(struct ctl *ctl, const struct options *args, const cJSON *body, bool study);

#endif
