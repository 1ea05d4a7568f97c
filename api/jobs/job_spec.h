/* A submitted job: the body of POST /v1/jobs. `motifd check-config` reads the same format from a file.
 *
 * Pure functions, except that the method reads its data sets; any thread. */
#ifndef MOTIF_API_JOBS_JOB_SPEC_H
#define MOTIF_API_JOBS_JOB_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/faults.h"
#include "protocol/json.h"
#include "core/base/error.h"
#include "core/base/values.h"
#include "core/methods/method.h"
#include "storage/storage.h"

#define JOB_PRIORITY_MAX 100
#define JOB_TAGS_MAX 16  /* tags of a job */
#define JOB_TAG_BYTES 64 /* bytes of a tag, with its NUL */
#define JOB_TAGS_TEXT (JOB_TAGS_MAX * (2 * JOB_TAG_BYTES + 3) + 3)

struct api_job_rules { /* the limits of this daemon; everything is borrowed */
    const struct method *const *methods;
    size_t method_count;
    int threads_max;              /* upper limit of the threads of a job; 0 selects 256 */
    const char *data;             /* folder of data sets; NULL: the names of data sets are not checked */
    const char *const *executors; /* executors that a job may request, ends with NULL; NULL: every executor */
    bool of_study;                /* the job belongs to a study, so its preset may be a study */
};
struct api_job_spec {
    const struct method *method;
    char preset[64]; /* "": no preset */
    char name[128];
    int priority;                /* -JOB_PRIORITY_MAX to JOB_PRIORITY_MAX; a job with a higher priority runs first */
    int threads;                 /* 0: the daemon chooses */
    char executor[16];           /* "": the daemon chooses */
    int ranks;                   /* 0: the daemon chooses */
    void *config;                /* the resolved configuration; owned: api_job_spec_close() frees it */
    enum visibility visibility;  /* who may see the job (storage/jobs/viewer.h) */
    char tags[JOB_TAGS_TEXT];    /* JSON list of texts; "": none */
    char from_job[STORAGE_NAME]; /* id, name or "latest": the job from whose checkpoint this one starts; "": none */
    struct storage_checkpoint_pick from_checkpoint; /* the checkpoint of from_job; undefined if from_job is "" */
};

/* Parses and checks a job. STATUS_INVALID: `faults` lists what is wrong. STATUS_CORRUPT: the text is not JSON. Close
 * the spec after a success. */
enum status api_job_parse(const struct api_job_rules *rules, const char *text, size_t bytes, struct api_job_spec *spec,
                          struct api_faults *faults, struct error *err);
/* Works like api_job_parse(), for a body that is parsed already. */
enum status job_spec_read(const struct api_job_rules *rules, const cJSON *root, struct api_job_spec *spec,
                          struct api_faults *faults, struct error *err);
void api_job_spec_close(struct api_job_spec *spec);
/* True if the body of a job has a member of this name. Otherwise offers all of them to `guess`. */
bool job_spec_member(const char *name, struct name_guess *guess);

/* The following functions read single members of a job, which other request bodies have too. Each returns false after
 * it has added a fault. */
bool job_name_read(const cJSON *value, char name[STORAGE_NAME], struct api_faults *faults);
struct exchange;
struct sharing {
    bool pinnable;     /* the caller sets it: the body may contain `pinned`; else it must contain `visibility` */
    bool shares, pins; /* which members the body contains */
    enum visibility visibility;
    bool pinned;
};
/* Reads the body {"visibility": ..., "pinned": ...} of a PATCH. False: the function has responded. */
bool sharing_read(struct exchange *x, struct sharing *out);
bool job_visibility_read(const cJSON *value, enum visibility *out, struct api_faults *faults);
/* Writes the tags as a JSON list. */
bool job_tags_read(const cJSON *value, char tags[JOB_TAGS_TEXT], struct api_faults *faults);
/* Reads an integer member of a body by its row. */
bool job_integer_read(const struct config_field *member, const cJSON *value, int64_t *out, struct api_faults *faults);
#define JOB_INTEGER(member, low, high)                                                                                 \
    {                                                                                                                  \
        .name = member, .type = FIELD_INT, .min = low, .max = high                                                     \
    }
extern const struct config_field job_priority;

/* Returns how many folds a configuration asks for without a choice among them; 0: none. *folds, *fold: the fields of
 * the method; NULL: it has none. */
double job_spec_folds(const struct method *method, const cJSON *config, const struct config_field **folds,
                      const struct config_field **fold);

#endif
