/* Adds the labels, classes of positions and boxes in NumPy arrays to a collection. Private to collection*.c. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_ARRAYS_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_ARRAYS_H

#include "core/data/uploads/collection_build.h"
#include "core/formats/npy.h"

/* What an .npz file states about itself: the array `options`, of texts such as "target=count". A file that contains it
 * needs no options of the upload. Private to collection*.c. */

enum { STATED_TEXT = 40 }; /* bytes of one text with its NUL */

struct stated {
    enum collection_target target; /* target=...; NONE: not stated */
    enum collection_layout layout; /* layout=...; AUTO: not stated */
    enum collection_kind kind;     /* kind=recordings, kind=motifs or kind=images; the value TABLE: not stated */
    int rate;                      /* rate=...: samples per second of recordings; 0: not stated */
    bool y_index;                  /* y=index: integers in y are indices into `names` */
    bool boxes_index;              /* boxes=index: the symbols of boxes are indices into `names` */
    bool rna;                      /* alphabet=rna: the sequences are RNA */
    bool profile;                  /* profile=yes: the numbers of a sample are values at places along its columns */
};

/* Reads the array. STATUS_INVALID: a text is unknown, or the array does not contain text. */
enum status stated_read(const struct npy *options, struct stated *out, struct error *err);
bool stated_same(const struct stated *a, const struct stated *b);
/* Gives the samples the stated kind and alphabet, after their shape is known. STATUS_INVALID: the shape does not fit
 * the kind or the alphabet. */
enum status stated_apply(const struct stated *stated, struct collection *c, struct error *err);
/* Checks the finished collection: a collection of motifs must have the names, sizes and values that queries rely on,
 * and a profile must have numbers. */
enum status stated_check(const struct stated *stated, struct collection *c, struct error *err);

enum array_member {
    MEMBER_X,
    MEMBER_Y,
    MEMBER_POSITIONS,
    MEMBER_BOXES,
    MEMBER_GROUP,
    MEMBER_PART,
    MEMBER_COLUMNS,
    MEMBER_NAMES,
    MEMBER_ID,
    MEMBER_LENGTH,
    MEMBER_OPTIONS,
    MEMBER_COUNT
};
struct arrays {
    struct npy member[MEMBER_COUNT];
    bool there[MEMBER_COUNT];
    struct stated stated; /* what the array `options` states */
};
enum { ARRAY_COUNT_MOST = 4096 }; /* largest count of one label in a sample */

/* STATUS_INVALID with the message "member 'MEMBER' WHAT". */
enum status array_fault(const char *member, const char *what, struct error *err);

/* Checks that every array fits the number of samples and the kind of data. wanted: the target. count: samples of the
 * file, which are the last ones of the collection. cols: columns of a sample. */
enum status arrays_check(const struct arrays *a, const struct collection *c, enum collection_target wanted,
                         int64_t count, int64_t cols, struct error *err);

/* What an element of y means. */
enum array_use {
    USE_NONE,    /* there is no y */
    USE_TOKENS,  /* an element is a token */
    USE_INDEX,   /* an element is the index of a token in `names` */
    USE_NUMBERS, /* an element is one of the numbers that are the sample's target */
    USE_COLUMNS, /* an element says whether the sample has the label of the element's column */
    USE_COUNTS   /* an element says how often the sample has the label of the element's column */
};

/* Decides how y is read, from the arrays y and names and the target that the user wants. Adds a warning if the decision
 * is a guess. */
enum status array_labels_use(struct builder *b, const struct arrays *a, enum array_use *use, struct error *err);
/* Adds the label, the classes of positions, the group and the part of a sample to the builder's current sample.
 * `sample` is the index into the arrays. */
enum status array_labels_take(struct builder *b, const struct arrays *a, enum array_use use, int64_t sample,
                              struct error *err);
/* Adds a warning that lists the labels that no sample has, if y has a column for each label or contains indices of
 * labels. Call it after all samples. */
enum status array_labels_unused(struct builder *b, const struct arrays *a, enum array_use use, struct error *err);
/* Adds the boxes. Sample i of the arrays is the collection's sample first + i. */
enum status array_boxes_take(struct builder *b, const struct arrays *a, int64_t first, struct error *err);

/* Ids of samples. A file may contain an array of ids: text, or integers of any size. Two samples may have the same id.
 * The collection stores them in its list `records`. */
struct id_list {
    struct collection_names names;
};
/* Adds the ids of an array of one dimension. most: upper limit of the number of ids in the list. */
enum status id_list_read(struct id_list *ids, const struct byte_source *from, const struct npy_header *header,
                         int64_t most, struct error *err);
/* Checks that the list is empty or has one id for each sample; otherwise STATUS_INVALID. */
enum status id_list_check(const struct id_list *ids, int64_t samples, struct error *err);
void id_list_close(struct id_list *ids);

#endif
