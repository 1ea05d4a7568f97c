/* Which jobs use a data set. */
#ifndef MOTIF_API_DATASETS_DATASET_USERS_H
#define MOTIF_API_DATASETS_DATASET_USERS_H

#include "api/http/service.h"
#include "storage/storage.h"

/* Finds an unfinished job that uses the data set; user->id is "" if there is none. */
enum status dataset_user_find(const struct api *api, struct arena *arena, const char *name, struct storage_job *user,
                              struct error *err);

#endif
