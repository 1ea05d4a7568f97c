/* What the readers of foreign files share (imports.c, bundle_import.c). */

#include "api/http/exchange.h"
#include "storage/storage.h"
#ifndef MOTIF_API_TRANSFER_IMPORT_INT_H
#define MOTIF_API_TRANSFER_IMPORT_INT_H

struct import_bytes { /* borrowed */
    const void *at;
    size_t count;
};
/* snapshot_reader.read over a struct import_bytes. */
enum status import_read_memory(void *context, uint64_t offset, void *to, size_t count, struct error *err);

struct import_model {
    const struct method *method;
    void *config;      /* owned */
    char *config_text; /* the same, resolved by this build; owned */
};
/* STATUS_INVALID at `pointer`: the kind is not known, or the configuration is none of this build. */
enum status import_model_open(struct exchange *x, struct import_model *model, const char *kind, const char *config,
                              const char *pointer, struct error *err);
/* Opens the model that the bytes of a checkpoint hold, and closes it again. */
enum status import_model_check(struct exchange *x, const struct import_model *model, const void *bytes, size_t count,
                               const char *pointer, struct error *err);
void import_model_close(struct import_model *model);

/* The method's own name of the preset, or "". */
const char *import_preset(const struct method *method, const char *preset);
/* bundle_import.c: the whole exchange. */
void import_bundle(struct exchange *x);

/* The progress of a job whose last checkpoint is this. */
void import_write_progress(const struct storage_import_checkpoint *last, struct json_sink *json);
/* Stores and answers 201; ?name= goes before the import's own. */
void import_respond(struct exchange *x, struct storage_import *import);

#endif
