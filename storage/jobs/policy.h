/* Policies of retention: which finished jobs the daemon deletes by itself, and of which it deletes the checkpoints.
 *
 * The policies are one JSON list (api/retention/policies.c checks it). Each item is for the jobs of a team ("" or null:
 * the team without a name, "*": every team without a policy of its own) and of a kind ("*": every kind without one):
 *   keep_newest      the N newest finished jobs of each team, kind and task stay
 *   keep_days        jobs stay for so many days after their last use
 *   keep_tagged      jobs with a tag stay (true unless stated)
 *   checkpoint_days  after so many days without use, only the model of a job stays: its latest and its best checkpoint
 * A job is deleted if no rule keeps it; a policy with neither keep_newest nor keep_days deletes none, and one with
 * keep_newest and checkpoint_days alone only drops checkpoints. What is unfinished or pinned stays, and so does a job
 * from which an unfinished job starts or of which an evaluation is stored.
 *
 * The last use of a job is its end, a query or download, or the submission of a job that starts from it. Times are
 * stored only if they are later by STORAGE_USE_MS, so that queries do not write. Any thread may call these functions.
 */
#ifndef MOTIF_STORAGE_JOBS_POLICY_H
#define MOTIF_STORAGE_JOBS_POLICY_H

#include "storage/storage.h"

#define STORAGE_USE_MS ((int64_t)3600 * 1000)
#define STORAGE_DAY_MS ((int64_t)86400 * 1000)

/* Replaces all policies, or reads them ("[]" if there are none). */
enum status storage_policies_set(struct storage *storage, const char *rules, struct error *err);
enum status storage_policies_get(struct storage *storage, struct arena *arena, const char **rules, struct error *err);

struct storage_due { /* a job of which a policy takes something */
    char id[STORAGE_ID];
    const char *kind, *name, *owner, *team;
    const char *of_team, *of_kind; /* the policy */
    bool whole;                    /* true: the job is deleted; false: only checkpoints */
    int64_t due_at, bytes;         /* since when, and how many bytes of checkpoints and files this frees */
};
/* Lists at most `limit` jobs of which policies would take something at the time `now`, the longest due first. rules:
 * NULL for the stored policies. team: only jobs of this team; NULL: of all. */
enum status storage_due_list(struct storage *storage, const char *rules, const char *team, int64_t now, int limit,
                             struct arena *arena, struct storage_due **due, size_t *count, struct error *err);
/* Applies the stored policies to one job in one transaction, which also adds an entry to the audit log. *whole: the job
 * was deleted. NOT_FOUND: there is no such job, or no policy takes anything of it at the time `now`. */
enum status storage_due_apply(struct storage *storage, const char *id, int64_t now, bool *whole, struct error *err);
/* Reads when the stored policies delete a job that nobody uses until then; 0: never. */
enum status storage_job_expiry(struct storage *storage, const char *id, int64_t *at, struct error *err);

/* Stores that a job was used now. A lazy write. The caller has found that its last use was STORAGE_USE_MS ago. */
enum status storage_job_used(struct storage *storage, const char *id, struct error *err);

/* What is stored about a data set beside its files: its last use (0: none) and whether it is pinned. */
struct storage_dataset_use {
    int64_t used_at;
    bool pinned;
};
enum status storage_dataset_use_get(struct storage *storage, const char *name, struct storage_dataset_use *out,
                                    struct error *err);
/* Stores that a data set was used now, unless that was stored within STORAGE_USE_MS. */
enum status storage_dataset_used(struct storage *storage, const char *name, struct error *err);
enum status storage_dataset_pin(struct storage *storage, const char *name, bool pinned, struct error *err);
enum status storage_dataset_forget(struct storage *storage, const char *name, struct error *err);

#endif
