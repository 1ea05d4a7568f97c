/* Measures the extents of channels (model/channel_extents.h) after training, and compares them with true boxes. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_EXTENTS_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_EXTENTS_H

#include "core/base/sink.h"
#include "core/base/snapshot.h"
#include "core/methods/sparling/model/channel_extents.h"
#include "core/methods/sparling/training/batch.h"

struct method_run;
struct tensor;

/* Figures about pairs of a motif and a true box of the channel's symbol; boxes.c makes the pairs. */
struct extent_truth {
    int64_t pairs;    /* number of pairs */
    int64_t position; /* number of pairs in which the motif's position lies in the true box */
    int64_t centre;   /* number of pairs in which the centre of the extent lies in the true box */
    int64_t half;     /* number of pairs in which extent and box have an intersection over union of at least 1/2 */
    double overlap;   /* sum of the intersections over union */
};

/* A motif of a training sample. */
struct extent_candidate {
    int64_t sample, row, col;
    double value;
};
enum { EXTENT_CUTS = 65 };

/* Falls of the score along one axis, as sums over motifs (channel_extent_interval()). */
struct extent_falls {
    double low[EXTENT_CUTS], high[EXTENT_CUTS];
};

struct extent_work; /* defined in extents.c */

struct extents {
    struct channel_extent *channel; /* [motif channels] */
    struct extent_truth truth;
    /* PART_EXTENTS in progress. */
    struct extent_candidate *found; /* [motif channels][candidates] */
    int64_t *count;                 /* [motif channels] number of candidates */
    int64_t at, next; /* the next motif to measure: the candidate with index `next` of the channel with index `at` */
    /* The second pass over the motifs of a channel has a cut at each position of [fine_from, fine_to]. Both 0: the
     * first pass, whose cuts are spread over the window. */
    int64_t fine_from, fine_to;
    struct extent_falls falls[2]; /* how the score of channel `at` falls, by row and by column */
    struct extent_work *work;     /* not saved; NULL: nothing is measured */
};

/* Allocates the table; call it once in create(). Error: STATUS_NO_MEMORY. */
enum status extents_open(struct method_run *run, struct error *err);
void extents_close(struct extents *extents);
/* Forgets the extents; call it when an evaluation begins. */
void extents_clear(struct method_run *run);
enum status extents_declare(struct method_run *run, struct snapshot *snapshot, struct error *err);
/* Checks what was read from a checkpoint (STATUS_CORRUPT). */
enum status extents_loaded(struct method_run *run, struct error *err);

/* Functions of PART_EXTENTS, which is for the final model only. extents_samples() returns the number of training
 * samples in which it looks for motifs. extents_add() collects the motifs of a batch, and *enough becomes true when
 * more samples are not needed. extents_measure() measures one motif, and sets *done after the last one. Errors:
 * STATUS_NO_MEMORY, and those of the computation. */
int64_t extents_samples(const struct method_run *run);
enum status extents_add(struct method_run *run, const struct tensor *motifs, const struct batch *batch, bool *enough,
                        struct error *err);
enum status extents_measure(struct method_run *run, bool *done, struct error *err);

/* places.c: returns how the motifs of the run's models are reported. Before the extents are measured, motifs are
 * reported at the maxima of their channels. */
struct channel_places extents_places(const struct method_run *run);
/* Moves the active elements of one motif map, [channels][rows][cols], to the positions that are reported. Error:
 * STATUS_NO_MEMORY. */
enum status extents_move(const struct method_run *run, float *planes, struct error *err);

/* Functions of PART_BOXES, which is for the final model only. extents_truth_samples() returns the number of samples
 * with true boxes, and extents_truth_add() compares the extents of a batch with the boxes. */
int64_t extents_truth_samples(const struct method_run *run);
enum status extents_truth_add(struct method_run *run, const struct tensor *motifs, const struct batch *batch,
                              struct error *err);

/* Writes the member "boxes" of the result, if true boxes are known. */
void extents_result(const struct method_run *run, const struct sink *out);

#endif
