/* A job as one file (a bundle): its configuration, result, metrics and checkpoints. Another daemon can import the file.
 *
 * The file has the safetensors format, so that other tools can open it. Its metadata are texts:
 *
 *    format             "motifd-bundle-1"
 *    manifest           JSON: {"attestation": {...}, "name", "result", "evaluation",
 *                       "members": [{"name", "bytes", "sha256", "accuracy"}]}
 *    manifest_sha256    SHA-256 of the manifest, in hex
 *
 * Its tensors are bytes (U8): "metrics" is JSON, {"NAME": [[step, value], ...]}, and "checkpoint.SEQ" is a stream of
 * core/base/snapshot.h. A hash covers every byte: the manifest contains the hashes of the members, and manifest_sha256
 * covers the manifest. The attestation's chain (attestation.h) covers configuration and checkpoints in addition. */
#ifndef MOTIF_API_TRANSFER_BUNDLE_H
#define MOTIF_API_TRANSFER_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/formats/safetensors.h"

#define BUNDLE_FORMAT "motifd-bundle-1"

struct bundle_checkpoint {
    int64_t seq, step, samples;
    double density, accuracy; /* NaN: none */
    bool stage_end;
    const unsigned char *bytes; /* points into the file */
    size_t count;
    const char *sha256; /* hash in hex */
};

struct bundle {
    struct safetensors_content content;
    cJSON *manifest, *metrics;
    const cJSON *attestation;              /* points into the manifest */
    struct bundle_checkpoint *checkpoints; /* in ascending order; at least one */
    size_t count;
};

/* Parses a bundle in memory and checks its hashes. The bundle borrows the bytes. STATUS_INVALID: the file was changed
 * or is not a bundle; err->pointer leads to the wrong part, and *out is empty. */
enum status bundle_open(const void *bytes, size_t count, struct bundle *out, struct error *err);
void bundle_close(struct bundle *bundle); /* a struct that is all zero is allowed */
/* True when a file is a bundle, false when it holds only weights. */
bool bundle_is(const struct safetensors_content *content);

#endif
