/* Computes the motif maps of sequences of any length, window by window.
 *
 * A record of at most the model's length is padded as the model's own samples are. A longer record is cut into
 * overlapping windows. The overlap is larger than the neighbourhood on which the report of a motif depends, so the
 * result is the same as if the whole record were one input. Memory does not grow with the length of a record. */
#ifndef MOTIF_CORE_METHODS_SPARLING_GENOMICS_SCAN_H
#define MOTIF_CORE_METHODS_SPARLING_GENOMICS_SCAN_H

#include "core/formats/byte_source.h"
#include "core/formats/fasta.h"
#include "core/methods/sparling/queries/query_model.h"

/* A window of a record. */
struct scan_window {
    char record[FASTA_NAME];
    /* origin: position in the record of the window's column 0; [from, to): positions that only this window reports */
    int64_t origin, from, to;
    int width;
    const unsigned char *base; /* [width] 0 to 3: a base; 4: unknown, or outside of the record */
    const float *map;          /* [channels][width] */
    bool first, last;          /* first: it is the first window of its record; last: it is the last one */
    int64_t length;            /* length of the record; known in its last window */
};

/* Receives the windows of the first record from its start to its end, then those of the next record, and so on. */
struct scan_target {
    void *context;
    enum status (*window)(void *context, const struct scan_window *window, struct error *err);
};

enum {
    SCAN_FLANK_MORE = 100 /* additional overlap of two windows, in positions */
};

struct scan;
/* Creates a scan with the question's model. threads: number of threads that compute. The question's stop() ends the
 * scan. STATUS_CONFLICT: the model's samples are not sequences of bases. Other errors: STATUS_NO_MEMORY,
 * STATUS_UNAVAILABLE. */
enum status scan_create(const struct method_question *question, int threads, const struct scan_target *to,
                        struct scan **scan, struct error *err);
void scan_destroy(struct scan *scan); /* NULL is allowed */

/* For each record call scan_begin(), scan_add() with its bases in any number of pieces, and scan_end(); after the last
 * record call scan_finish(). STATUS_INVALID: a record without bases. Other errors: STATUS_CANCELLED, STATUS_NO_MEMORY,
 * and those of the target. */
enum status scan_begin(struct scan *scan, const char *record, struct error *err);
enum status scan_add(struct scan *scan, const unsigned char *bases, size_t count, struct error *err);
enum status scan_end(struct scan *scan, struct error *err);
enum status scan_finish(struct scan *scan, struct error *err);

/* Reads the records of a FASTA text. Letters that stand for several bases become unknown bases. STATUS_INVALID: the
 * text is not FASTA; the message names the line. */
enum status scan_fasta(struct scan *scan, const struct byte_source *from, struct error *err);

#endif
