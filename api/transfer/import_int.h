/* Steps that the imports of weights and of bundles (imports.c) share. */
#ifndef MOTIF_API_TRANSFER_IMPORT_INT_H
#define MOTIF_API_TRANSFER_IMPORT_INT_H

#include "api/http/exchange.h"
#include "storage/storage.h"

/* The function `read` of a snapshot_reader whose context is a struct storage_import_bytes. */
enum status import_read(void *context, uint64_t offset, void *to, size_t count, struct error *err);

struct import_model {
    const struct method *method;
    void *config;      /* the parsed configuration; owned */
    char *config_text; /* the configuration as JSON with every field; owned */
};
/* Finds the method of `kind` and parses `config`. STATUS_INVALID at `pointer`: this build lacks the kind or does not
 * accept the configuration. */
enum status import_model_open(struct exchange *x, struct import_model *model, const char *kind, const char *config,
                              const char *pointer, struct error *err);
/* Checks that the method can open the model of a checkpoint: opens the model and closes it. STATUS_INVALID at
 * `pointer`: the method cannot open the model. */
enum status import_model_check(struct exchange *x, const struct import_model *model,
                               const struct storage_import_bytes *bytes, const char *pointer, struct error *err);
void import_model_close(struct import_model *model);

/* Returns the name of a preset as static text of the method, or "" if the method has no such preset. */
const char *import_preset(const struct method *method, const char *preset);

struct safetensors_content;
/* Stores a job with one checkpoint. The job's result says what was imported: `format`, the SHA-256 of the body and, if
 * `content` is not NULL, the job from which the model was exported. Responds 201, or 503 if there is not enough
 * memory. */
void import_checkpoint(struct exchange *x, const struct import_model *model, const char *format, const char *preset,
                       const struct safetensors_content *content, const struct storage_import_checkpoint *checkpoint);
/* Writes the progress of a finished job; `last` is its last checkpoint. */
void import_write_progress(const struct storage_import_checkpoint *last, struct json_sink *json);
/* Stores the job and responds 201. The parameter ?name= replaces the name in the file. */
void import_respond(struct exchange *x, struct storage_import *import);

#endif
