/* A submitted study: the body of POST /v1/studies. It is the body of a job with two more members: `grid`, an object
 * that maps fields to lists of values, and `seeds`, a number. The study has one job for each combination of values and
 * each seed. A preset can have a grid and seeds of its own; the body replaces them axis by axis.
 *
 * Pure functions; any thread. */
#ifndef MOTIF_API_STUDIES_STUDY_SPEC_H
#define MOTIF_API_STUDIES_STUDY_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include "api/jobs/job_spec.h"
#include "protocol/faults.h"
#include "protocol/json.h"

#define STUDY_AXES_MAX 8 /* upper limit of the fields in a grid */

struct study_spec {
    const struct method *method;
    char name[STORAGE_NAME]; /* "": none */
    cJSON *grid;             /* {"FIELD": [VALUES]}; owned */
    cJSON *base;             /* the body without grid, seeds and name; owned */
    int64_t seeds;           /* number of seeds of each combination */
    int64_t seed;            /* the first of them */
    size_t count;            /* number of jobs: 1 to STORAGE_STUDY_JOBS */
};

/* Reads the members of a study, a JSON object, and checks each value of the grid. The jobs themselves are checked
 * later, one by one. STATUS_INVALID: `faults` lists what is wrong, and the number of jobs is unknown. Other errors are
 * failures of the daemon. Close the spec in any case. */
enum status study_spec_read(const struct api_job_rules *rules, const cJSON *body, struct study_spec *spec,
                            struct api_faults *faults, struct error *err);
void study_spec_close(struct study_spec *spec);
/* Returns the body of a job of the study, which the caller deletes; `index` is below count. The last axis changes
 * fastest, and seeds change faster than every axis. NULL: not enough memory. */
cJSON *study_spec_job(const struct study_spec *spec, size_t index);
/* Adds the faults that were found in the body of a job, unless they are in the list already. A fault of a field of the
 * grid gets the pointer to the value in the grid, such as /grid/p/2. */
void study_spec_faults(const struct study_spec *spec, size_t index, const struct api_faults *found,
                       struct api_faults *faults);

#endif
