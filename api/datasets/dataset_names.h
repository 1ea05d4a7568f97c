/* Names of data sets as a caller writes them, and the folders that they stand for.
 *
 * A caller writes NAME, TEAM:NAME or :NAME. NAME is the data set of this name of the caller's own team or, if the team
 * has none that the caller may read, that of the team without a name, to which the operator's folders belong, too.
 * TEAM:NAME is one that another team shares with everyone. Configurations store the folder, which is TEAM:NAME, or NAME
 * for the team without a name, so a job trains on the data set that its owner meant, whoever reads it.
 *
 * A data set that the caller may not read does not exist for it: all functions answer as if there were none. */
#ifndef MOTIF_API_DATASETS_DATASET_NAMES_H
#define MOTIF_API_DATASETS_DATASET_NAMES_H

#include "api/http/exchange.h"
#include "core/methods/method.h"
#include "storage/files/dataset_owner.h"

/* Finds an upload that the caller may read, and its folder. NOT_FOUND: there is none. */
enum status dataset_name_find(struct exchange *x, const char *given, char folder[DATASET_NAME],
                              struct dataset_owner *owner, struct error *err);

/* Makes the name of the folder for an upload of the caller. False: the function has responded, because the name is none
 * or belongs to another team. */
bool dataset_name_new(struct exchange *x, const char *given, char folder[DATASET_NAME]);

/* Writes the name by which the caller finds this folder: the shortest one. */
void dataset_name_shown(const struct exchange *x, const char *folder, char shown[DATASET_NAME]);

/* Whether the caller may read the upload or the operator's folder of this name; a folder that does not exist counts as
 * readable, so that the code that opens it reports it. */
enum status dataset_name_readable(const struct exchange *x, const char *folder, bool *readable, struct error *err);

/* Replaces the names of data sets in the configuration of a job (`config`, a JSON object) by their folders. Adds a
 * fault below `prefix` for a name that stands for nothing that the caller may read. */
enum status dataset_names_resolve(struct exchange *x, const struct method *method, const cJSON *config,
                                  const char *prefix, struct api_faults *faults, struct error *err);
/* The same for the text fields `names` (NULL-terminated, or NULL) of parsed parameters. The place of a fault is
 * `prefix` and the name of the field. */
enum status dataset_names_resolve_fields(struct exchange *x, const struct config_table *table, const char *const *names,
                                         void *config, const char *prefix, struct api_faults *faults,
                                         struct error *err);
/* Replaces the names in an imported configuration, whose data sets may be missing here: a name that stands for nothing
 * that the caller may read becomes one of the caller's own team. STATUS_INVALID: a colleague's private data set has it.
 */
enum status dataset_names_import(struct exchange *x, const struct method *method, void *config, struct error *err);
/* Adds a fault for each data set of a resolved configuration that the caller may not read, such as one that a default
 * names. */
enum status dataset_names_check(struct exchange *x, const struct method *method, const void *config, const char *prefix,
                                struct api_faults *faults, struct error *err);

#endif
