/* Policies of retention: what is due, who may see and set them, and the deletion (storage/jobs/policy.h has the rules).
 */
#ifndef MOTIF_API_RETENTION_RETENTION_H
#define MOTIF_API_RETENTION_RETENTION_H

#include "api/http/exchange.h"
#include "storage/jobs/policy.h"

#define POLICY_DATASETS "datasets" /* the kind of a policy for data sets */
#define POLICY_ALL "*"

extern const struct config_field policy_query[];
extern const struct api_answer policies_answers[], policies_set_answers[], due_answers[];

/* Handlers of GET and PUT /v1/policies and of GET /v1/policies/dry-run. */
void policies_show(struct exchange *x);
void policies_set(struct exchange *x);
void policies_dry_run(struct exchange *x);

struct dataset_due {  /* a data set that its policy deletes */
    const char *name; /* of its folder */
    const char *owner, *team;
    const char *of_team; /* the policy */
    int64_t due_at, bytes;
};
/* Lists the data sets that policies delete by the time `now`, also those that unfinished jobs use. rules: the policies;
 * team, only: only of this team, only this one; NULL: all. */
enum status dataset_due_list(const struct api *api, const char *rules, const char *team, const char *only, int64_t now,
                             struct arena *arena, struct dataset_due **due, size_t *count, struct error *err);

/* Stores that a query or download has used the job, if its last use is old enough. */
void job_note_use(struct exchange *x, const struct storage_job *job);
/* Stores that a job with this configuration uses its data sets. */
enum status datasets_note_use(struct exchange *x, const struct method *method, const void *config, struct error *err);

#endif
