/* Configuration structs from and to JSON, driven by the method's table. All faults are found, not
 * only the first, and each names its field by a JSON pointer.
 *
 * Pure functions; any thread. */
#ifndef MOTIF_API_JSON_CONFIG_JSON_H
#define MOTIF_API_JSON_CONFIG_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/methods/method.h"
#include "storage/storage.h"

#define API_FAULTS_MAX 64 /* more are counted, not kept */

struct api_fault {
    char pointer[128]; /* RFC 6901: "/config/density_start" */
    char detail[256];  /* "must be in (0, 1]; got 3" */
};
struct api_faults {
    struct api_fault items[API_FAULTS_MAX];
    size_t count; /* kept */
    size_t more;  /* not kept */
};
void api_faults_add(struct api_faults *faults, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Defaults, then the preset (NULL or "": none), then the members of the JSON object `text` (NULL: none),
 * then method->check(). *config is malloc'ed (free() it) with method->config.struct_bytes.
 * STATUS_INVALID: see faults (pointers below `prefix`, such as "/config"); *config is NULL.
 * `text` is what a client sent or what api_config_write() made: a stored configuration round-trips. */
enum status api_config_parse(const struct method *method, const char *preset, const char *text, size_t bytes,
                             const char *prefix, void **config, struct api_faults *faults, struct error *err);

/* Every field, resolved, in table order: malloc'ed JSON text, or NULL without memory. */
char *api_config_write(const struct config_table *table, const void *config);

/* A submitted job: the body of POST /v1/jobs, and what `check-config` reads. */
struct api_job_rules {
    const struct method *const *methods;
    size_t method_count;
    int threads_max;              /* 0: 256 */
    const char *data;             /* folder of data sets; NULL: none are looked up */
    const char *const *executors; /* that may be asked for, ends with NULL; NULL: all there are */
};
struct api_job_spec {
    const struct method *method;
    char preset[64]; /* "" when none was named */
    char name[128];
    int priority;                                   /* -100..100, higher first; 0 */
    int threads;                                    /* 0: the daemon's choice */
    char executor[16];                              /* "": the daemon's choice */
    int ranks;                                      /* 0: not said */
    void *config;                                   /* resolved; owned */
    char from_job[STORAGE_ID];                      /* "": none */
    struct storage_checkpoint_pick from_checkpoint; /* meaningless without from_job */
};
enum status api_job_parse(const struct api_job_rules *rules, const char *text, size_t bytes, struct api_job_spec *spec,
                          struct api_faults *faults, struct error *err);
void api_job_spec_close(struct api_job_spec *spec);

/* The name among the candidates that was probably meant. Start with {.given = name}. */
struct name_guess {
    const char *given, *best;
    size_t distance;
};
void name_guess_offer(struct name_guess *guess, const char *candidate);

#endif
