/* Data of a user's own: samples with their labels, whatever file they came in (collection_read()), and the one form in
 * which they are kept and trained on (collection_write(), collection_open()).
 *
 * A sample is planes [channels][rows][length]. Images have one size (their length is cols); recordings and sequences
 * have one row and a length each, at most cols; a table's row is [1][1][columns]. Recordings are mono at AUDIO_RATE,
 * sequences of bases one-hot (A, C, G, T).
 *
 * Targets: one class a sample; a sequence of tokens; a set of labels (kept in ascending order); or a class at every
 * position. All are numbers into `vocabulary`, which is in the order of plain numbers where all names are such, else of
 * bytes.
 *
 * A collection is read-only once made: any number of threads. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/snapshot.h"
#include "core/data/box.h"
#include "core/formats/byte_source.h"

enum collection_kind { COLLECTION_TABLE, COLLECTION_IMAGES, COLLECTION_SEQUENCES, COLLECTION_RECORDINGS };
enum collection_target { TARGET_NONE, TARGET_CLASS, TARGET_SEQUENCE, TARGET_LABELS, TARGET_POSITIONS };
extern const char *const collection_kinds[];   /* "table", "images", ...; NULL-terminated */
extern const char *const collection_targets[]; /* "none", "class", "sequence", "labels", "positions" */

struct collection_names {
    int count;
    char **name; /* [count], unique */
};

struct collection {
    enum collection_kind kind;
    enum collection_target target;
    int64_t count;
    int channels, rows, cols;
    int longest;          /* most tokens of a label */
    float *values;        /* sample i begins at start[i] * channels * rows */
    int64_t *start;       /* [count + 1] in columns */
    int32_t *label;       /* of sample i: label[label_start[i]] ...; TARGET_POSITIONS: -1 unknown */
    int64_t *label_start; /* [count + 1] */
    struct collection_names vocabulary, columns, groups; /* columns: of a table; groups: of `group`, for splits */
    int32_t *group;                                      /* [count], or NULL */
    int64_t boxes, *box_start;                           /* [count + 1]; NULL: where the symbols are is not known */
    int32_t (*box)[5];                                   /* symbol, row0, row1, col0, col1 */
    /* private */
    void *mapping;
    size_t mapped;
};
void collection_close(struct collection *c); /* zeroed is fine */

int64_t collection_length(const struct collection *c, int64_t sample); /* columns */
const float *collection_sample(const struct collection *c, int64_t sample);
int collection_labels(const struct collection *c, int64_t sample, const int32_t **label); /* how many */

struct collection_limits {
    int64_t numbers; /* of all samples */
    int64_t samples, labels, members;
};
#define COLLECTION_LIMITS ((struct collection_limits){(int64_t)1 << 27, 1 << 22, 1 << 26, 1 << 20})

/* What a file does not say by itself. Texts are borrowed; "" leaves it to the rules of each format. */
struct collection_options {
    const char *label, *group; /* columns of a table */
    bool channels_first;       /* arrays of four dimensions: [n][channels][rows][cols], not [n][rows][cols][channels] */
};

/* A format: one file and a line in collection_formats.c. */
struct collection_format {
    const char *name; /* "npz" */
    const char *media_type;
    enum status (*read)(const struct source *from, const struct collection_options *options,
                        const struct collection_limits *limits, struct collection *c, struct error *err);
};
const struct collection_format *const *collection_formats(size_t *count);
const struct collection_format *collection_format_named(const char *name); /* NULL: none */

/* Reads a whole file. Its errors name the row, column or member; nothing is left behind by a failure. STATUS_INVALID,
 * STATUS_CORRUPT: the file's fault; STATUS_LIMIT: too large; STATUS_NO_MEMORY; what the source returns. */
enum status collection_read(const struct collection_format *format, const struct source *from,
                            const struct collection_options *options, const struct collection_limits *limits,
                            struct collection *c, struct error *err);

#define COLLECTION_FILE "set.pack" /* in the folder of a data set */

/* As a stream of core/base/snapshot.h, beside what else describes it (core/data/uploads/collection_file.c). */
enum status collection_write(const struct collection *c, const struct snapshot_writer *to, struct error *err);
/* Maps the file that holds such a stream, and does not need it any more. STATUS_NOT_FOUND, STATUS_CORRUPT, STATUS_IO.
 */
enum status collection_map(int file, struct collection *c, struct error *err);
enum status collection_open(const char *path, struct collection *c, struct error *err);

#endif
