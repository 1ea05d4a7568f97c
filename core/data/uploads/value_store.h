/* The values of a collection while it is read: a file that grows by one sample after another, so that memory does not
 * grow with the data. Values that are all whole numbers from 0 to 255, or all such numbers divided by 255, take one
 * byte each; others are floats. Private to collection*.c. One thread at a time. */
#ifndef MOTIF_CORE_DATA_UPLOADS_VALUE_STORE_H
#define MOTIF_CORE_DATA_UPLOADS_VALUE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/formats/byte_source.h"

enum value_form {
    VALUE_BYTES,      /* the value of byte b is b */
    VALUE_UNIT_BYTES, /* the value of byte b is b / 255 */
    VALUE_FLOATS
};
static inline size_t value_form_bytes(enum value_form form)
{
    return form == VALUE_FLOATS ? sizeof(float) : 1;
}

struct value_store {
    int file;
    bool opened, own; /* opened: there is a file; own: the store made the file, and closes it */
    bool floats;      /* the values are stored as floats, even if bytes would be enough */
    bool binary;      /* all values so far are 0 or 1 */
    enum value_form form;
    int64_t count, limit; /* count: number of values in the file and the block together; limit: upper limit of the bytes
                             of all values */
    int64_t written;      /* bytes in the file */
    struct work *work;    /* set by the caller: the budget, from which the bytes of the file are taken; NULL: none */
    int64_t taken;        /* bytes that were taken */
    char *block;          /* bytes that follow those in the file */
    size_t block_used;
    /* of value_store_spool(). spool: the block of kept bytes that is read now; spool_at: where they begin in the file;
     * spool_bytes, spool_read: how many there are, and how many of them were read from the file; spool_used,
     * spool_left: bytes of the block that were taken, and the others */
    char *spool;
    int64_t spool_at, spool_bytes, spool_read;
    size_t spool_used, spool_left;
    float *sample; /* [pending] the sample that the reader fills now; it is not in the block yet */
    size_t sample_room;
    int64_t pending;
};

/* Opens the store. file: the descriptor of an empty file, borrowed; NULL: the store makes a file in memory when it gets
 * the first value. */
void value_store_open(struct value_store *s, const int *file, int64_t limit);
void value_store_close(struct value_store *s); /* a zeroed struct is allowed */

/* Returns room for the next sample, which the caller fills before the next call. STATUS_LIMIT: with this sample, the
 * values would exceed `limit`. */
enum status value_store_next(struct value_store *s, int64_t count, float **values, struct error *err);
/* Appends values that are whole numbers from 0 to 255. */
enum status value_store_bytes(struct value_store *s, const unsigned char *bytes, int64_t count, struct error *err);
/* Writes the values of each of `count` samples `times` times, one copy after the other. begin: [count + 1] first column
 * of each sample; scale: number of values in a column. Sample i has the values [begin[i] * scale, begin[i + 1] *
 * scale). */
enum status value_store_repeat(struct value_store *s, const int64_t *begin, int64_t count, int64_t scale, int times,
                               struct error *err);
/* Replaces each of `count` samples of one line by one that has at most as many values. The store must contain floats.
 * begin: [count + 1] first column of each sample; changed to those of the new samples. change() reads the values of a
 * sample, writes the new ones to `to`, and their number to *made. */
enum status value_store_shorten(struct value_store *s, int64_t *begin, int64_t count,
                                enum status (*change)(void *context, int64_t sample, const float *from, int64_t count,
                                                      float *to, int64_t *made, struct error *err),
                                void *context, struct error *err);
/* Keeps the values of the samples i with keep[i] >= 0, in their order. begin, count, scale: as for
 * value_store_repeat(). */
enum status value_store_keep(struct value_store *s, const int64_t *begin, int64_t count, int64_t scale,
                             const int64_t *keep, struct error *err);
/* Copies values [first, first + count) to `to`; the store must contain bytes (VALUE_BYTES). */
enum status value_store_again(struct value_store *s, int64_t first, int64_t count, unsigned char *to,
                              struct error *err);
/* Writes everything to the file and maps the file: *at is the mapped memory of *size bytes, which the caller unmaps.
 * The store must contain a value. */
enum status value_store_finish(struct value_store *s, void **at, size_t *size, struct error *err);
/* Keeps the remaining bytes of `from`, which are `count` values of `item` bytes, in the same file behind the room that
 * they and all earlier values can take, and forgets those of an earlier call. value_store_spooled() reads them again,
 * once, while values are added; the store must outlive it. STATUS_CORRUPT: there are fewer or more bytes. STATUS_LIMIT:
 * so many values do not fit. */
enum status value_store_spool(struct value_store *s, const struct byte_source *from, int64_t count, size_t item,
                              struct error *err);
struct byte_source value_store_spooled(struct value_store *s);
/* Returns the number of bytes that are left for further values. */
int64_t value_store_left(const struct value_store *s);

#endif
