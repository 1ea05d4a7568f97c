/* The answers of people about the marks of a job's model. Arguments, memory and errors as in storage.h. */
#ifndef MOTIF_STORAGE_JOBS_ANSWER_H
#define MOTIF_STORAGE_JOBS_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/error.h"

struct storage;

#define STORAGE_ANSWERS 10000 /* upper limit of the answers of a job, with all their versions */

/* What a person says about a mark of the job's model. */
struct storage_answer {
    const char *mark;            /* identifies the mark among those of the job's checkpoints */
    const char *answer;          /* "yes", "no" or "unsure" */
    const char *box;             /* JSON list: the corrected place; NULL: none */
    const char *place;           /* JSON object: where the mark is */
    const char *owner;           /* name of the token that sent the answer; "": none */
    int64_t version, created_at; /* version: 1 for the first answer about this mark */
};

/* Adds a version to each mark, in one transaction; version and created_at are ignored. An answer that repeats the
 * newest version adds none. LIMIT: too many answers; none is stored. */
enum status storage_answers_put(struct storage *storage, const char *id, const struct storage_answer *answers,
                                size_t count, struct error *err);
/* Lists all versions of all answers of a job, by mark and version. */
enum status storage_answers_list(struct storage *storage, const char *id, struct arena *arena,
                                 struct storage_answer **answers, size_t *count, struct error *err);

#endif
