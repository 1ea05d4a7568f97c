/* Private to collection*.c: how readers put a collection together, a sample at a time. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_INT_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_INT_H

#include "core/data/uploads/collection.h"

/* Names in the order in which they come, found by hash. */
struct name_list {
    struct collection_names names;
    int room, bits;
    int32_t *table; /* [1 << bits], -1: free */
};
enum { NAME_BYTES = 256, NAMES = 1 << 20 };
void name_list_close(struct name_list *list);
/* The number of a name, added if it is new. STATUS_LIMIT beyond NAMES, STATUS_INVALID beyond NAME_BYTES. */
enum status name_list_add(struct name_list *list, const char *name, size_t bytes, int32_t *number, struct error *err);
int32_t name_list_find(const struct name_list *list, const char *name, size_t bytes); /* -1: not there */

/* A collection that grows. Sizes are set before the first sample. */
struct builder {
    struct collection *c;
    struct collection_limits limits;
    int64_t samples_room, values_room, labels_room, boxes_room, values, labels;
    int64_t at; /* labels and groups are of the sample before this one */
    struct name_list vocabulary, groups;
    int64_t *box_sample; /* [c->boxes] */
    int64_t box_samples_room;
};
void builder_init(struct builder *b, struct collection *c, const struct collection_limits *limits);
void builder_close(struct builder *b); /* the collection stays the caller's */
/* A sample of `columns` columns: where its numbers are to be written. */
enum status builder_sample(struct builder *b, int64_t columns, float **values, struct error *err);
/* Labels and groups that follow are of this sample, not of the one just begun; in ascending order, and of every sample.
 */
void builder_turn_to(struct builder *b, int64_t sample);
/* The label of a sample: tokens, each added to the vocabulary. Call any number of times. */
enum status builder_token(struct builder *b, const char *token, size_t bytes, struct error *err);
enum status builder_number(struct builder *b, int32_t token, struct error *err); /* already a number */
/* Words of a text, with spaces between. */
enum status builder_words(struct builder *b, const char *text, struct error *err);
enum status builder_group(struct builder *b, const char *name, struct error *err);
/* Boxes as they come, of any sample, in the order in which metrics are to visit them; `symbol` must be among the tokens
 * so far. */
enum status builder_box(struct builder *b, int64_t sample, const int32_t place[4], const char *symbol,
                        struct error *err);
/* Orders the vocabulary, sorts sets, finds the target (TARGET_NONE if there is no label; else CLASS when each sample
 * has exactly one token; `set`: LABELS; SEQUENCE) unless c->target says it, and checks what every format must keep. */
enum status builder_finish(struct builder *b, bool set, struct error *err);

extern const struct collection_format npz_format, npy_format, csv_format, tar_format, fasta_format;

#endif
