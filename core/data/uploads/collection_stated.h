/* What an .npz file states about itself: the array `options`, of texts such as "target=count". A file that contains it
 * needs no options of the upload. Private to collection*.c. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_STATED_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_STATED_H

#include "core/data/uploads/collection_build.h"
#include "core/formats/npy.h"

enum { STATED_TEXT = 40 }; /* bytes of one text with its NUL */

struct stated {
    enum collection_target target; /* target=...; NONE: not stated */
    enum collection_layout layout; /* layout=...; AUTO: not stated */
    enum collection_kind kind;     /* kind=recordings, kind=motifs or kind=images; the value TABLE: not stated */
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

#endif
