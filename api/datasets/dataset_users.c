/* Finds the jobs that use a data set in the configurations of unfinished jobs. */
#include "api/datasets/dataset_users.h"

#include <string.h>

#include "core/methods/method.h"
#include "protocol/json.h"

/* Finds out whether a job's configuration contains the name of the data set. */
static enum status names_dataset(const struct api *api, const struct storage_job *job, const char *name, bool *found,
                                 struct error *err)
{
    const struct method *method = api_method(api, job->kind);
    cJSON *config = NULL;
    *found = false;
    if (!method || !method->dataset_fields)
        return STATUS_OK;
    enum status status = json_parse(job->config, strlen(job->config), &config, err);
    if (status)
        return status;
    for (const char *const *field = method->dataset_fields; *field && !*found; field++) {
        const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, *field));
        *found = value && strcmp(value, name) == 0;
    }
    cJSON_Delete(config);
    return STATUS_OK;
}

enum status dataset_user_find(const struct api *api, struct arena *arena, const char *name, struct storage_job *user,
                              struct error *err)
{
    /* A job may change its state between two lists. The lists of queued and running jobs are read again at the end, so
     * that a job that was resumed in between is found. */
    static const enum job_state states[] = {JOB_QUEUED, JOB_RUNNING, JOB_PAUSED, JOB_QUEUED, JOB_RUNNING};
    *user = (struct storage_job){.id = ""};
    for (size_t s = 0; s < sizeof states / sizeof states[0]; s++) {
        struct storage_job_filter filter = {.by_state = true, .state = states[s], .limit = 1000};
        for (bool more = true; more;) {
            struct storage_job *jobs;
            size_t count;
            enum status status = storage_job_list(api->options.storage, &filter, arena, &jobs, &count, &more, err);
            if (status)
                return status;
            for (size_t i = 0; i < count && user->id[0] == '\0'; i++) {
                bool found;
                status = names_dataset(api, &jobs[i], name, &found, err);
                if (status)
                    return status;
                if (found)
                    *user = jobs[i];
            }
            more = more && count > 0 && user->id[0] == '\0';
            filter.before = count > 0 ? jobs[count - 1].id : NULL;
        }
    }
    return STATUS_OK;
}
