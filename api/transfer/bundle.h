/* A job as one file: what it was, what it found, and checkpoints from which it goes on.
 *
 * The file is in the safetensors format, so that any reader of that opens it. Its metadata are texts:
 *
 *   format             "motifd-bundle-1"
 *   manifest           JSON: {"attestation": {...}, "name", "result", "evaluation", "members": [{"name", "bytes",
 * "sha256", "accuracy"}]} manifest_sha256    of that text, in hex
 *
 * and its tensors are bytes (U8): "metrics", JSON {"NAME": [[step, value], ...]}, and "checkpoint.SEQ", a stream of
 * core/base/snapshot.h. Every byte is under a hash: members under the manifest's, the manifest under its own,
 * configuration and checkpoints under the attestation's chain as well (chain.h). */
#ifndef MOTIF_API_TRANSFER_BUNDLE_H
#define MOTIF_API_TRANSFER_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/formats/safetensors.h"

#define BUNDLE_FORMAT "motifd-bundle-1"

struct bundle_checkpoint {
    int64_t seq, step, samples;
    double density, accuracy; /* NaN where there is none */
    bool stage_end;
    const unsigned char *bytes; /* within the file */
    size_t count;
    const char *sha256; /* in hex */
};

struct bundle {
    struct safetensors_content content;
    cJSON *manifest, *metrics;
    const cJSON *attestation;              /* of the manifest */
    struct bundle_checkpoint *checkpoints; /* ascending; at least one */
    size_t count;
};

/* The file stays borrowed. STATUS_INVALID with a pointer where it was changed or never was one; *out is empty then. */
enum status bundle_open(const void *bytes, size_t count, struct bundle *out, struct error *err);
void bundle_close(struct bundle *bundle); /* a zeroed one is fine */
/* Is this the beginning of a bundle, and not of weights alone? */
bool bundle_is(const struct safetensors_content *content);

#endif
