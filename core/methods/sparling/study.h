/* A study: the same configuration over config.seeds seeds in one run, and what they have in common.
 *
 * Each seed is a run of its own from the first update to its evaluation; its figures are kept, of the last one everything.
 * Ranks (core/base/comm.h) take whole seeds, each as if it were alone: a seed has the bits of a job of that seed, whatever the
 * number of ranks, and one rank takes them one after another. After each step all ranks learn where the others stand
 * (study_ranks.c). Series are told in the order of seeds: steps and samples count on from one to the next, so what a seed
 * measures while an earlier one is under way is kept until that is over.
 *
 *   a seed: not begun --(dealt to a rank)--> under way --> over
 *
 * The last seed, once trained, waits for the others, goes to all ranks, and is evaluated by them together, since that reads
 * checkpoints, which ranks do in step.
 *
 * A checkpoint holds the highest seed that a rank has as the run itself (its model is what queries see), and the other seeds
 * under way as packs within it (study_pack.c). Any number of ranks goes on with it. */
#ifndef MOTIF_CORE_METHODS_SPARLING_STUDY_H
#define MOTIF_CORE_METHODS_SPARLING_STUDY_H

#include "core/base/buf.h"
#include "core/methods/method.h"

/* What is kept of each seed that is over. Doubles only: it is saved as a table. */
enum { STUDY_MOST = 64, STUDY_FIGURES = 6, STUDY_SAMPLES = 100, STUDY_EACH = 64 };
struct study_row {
    double seed;
    double figure[STUDY_FIGURES]; /* fpe, fne, ce, e2ee, exact, single_error; NaN: not measured */
    double density, achieved, validation, samples, reached;
};
enum { STUDY_COLUMNS = 12 };
_Static_assert(sizeof(struct study_row) == STUDY_COLUMNS * sizeof(double), "a row is a row of doubles");

/* Where each seed stands, as all ranks know it. Doubles only likewise. */
enum study_state { STUDY_AHEAD, STUDY_UNDER_WAY, STUDY_OVER };
struct study_seed {
    double state, phase;
    double updates, samples;
    double fraction, left; /* of this seed's work; samples still to be seen */
    double density, target, accuracy;
};
enum { STUDY_SEED_COLUMNS = 9 };
_Static_assert(sizeof(struct study_seed) == STUDY_SEED_COLUMNS * sizeof(double), "a seed is a row of doubles");

/* What a seed has measured and nobody has been told yet. */
struct study_point {
    double metric; /* number in the method's table */
    double samples, value;
};
enum { STUDY_POINT_COLUMNS = 3 };
_Static_assert(sizeof(struct study_point) == STUDY_POINT_COLUMNS * sizeof(double), "a point is a row of doubles");
struct study_points {
    struct study_point *list;
    size_t count, room;
};

struct study {
    /* The same on all ranks. */
    struct study_row row[STUDY_MOST];
    struct study_seed seed[STUDY_MOST];
    int64_t at;                              /* seeds over, up to the first that is not; its series are being told */
    int64_t samples_before;                  /* of them */
    int64_t shown;                           /* the highest seed that a rank has; after the last, the last */
    int64_t off;                             /* 1: an evaluation of what was loaded, and no more */
    int64_t *motifs;                         /* [seeds][STUDY_SAMPLES][STUDY_EACH], as census.c numbers them; NULL without a study */
    struct study_points points[STUDY_MOST];  /* of seeds over; of the seed that this rank has */
    struct buf parked[STUDY_MOST];           /* saved, of seeds under way that no rank has */
    int64_t driver;                          /* the highest of those in training: it asks for checkpoints; -1: none */
    int64_t *has;                            /* [ranks] the seed of each, -1: none; NULL: not dealt yet */
    struct study_turn *turns;                /* [ranks] what each has told last (study_ranks.c) */
    bool joined;                             /* all ranks have the last seed, the others are over */
    bool loaded;                             /* from a checkpoint */
    int64_t first, updates_before;           /* config.seed as it was given; of seeds over, in checkpoints of old only */

    /* Of the seed that this rank has. */
    int64_t now;                             /* its number, -1: none */
    int64_t first_seq;                       /* newest checkpoint when it began */
    int64_t stage_step;                      /* progress.step of the last checkpoint at the end of a stage */
    bool over, waits;                        /* evaluated just now; trained, the last one, and others are not over */
    struct error trouble;                    /* a point could not be taken down */
};

/* study.c. The seed that this rank has is evaluated: its figures are kept. */
void study_keep(struct method_run *run);
/* Members of the result; the picture. */
enum status study_result(const struct method_run *run, const struct sink *out, struct error *err);
enum status study_artifacts(struct method_run *run, struct error *err);

/* study_ranks.c. Whether the run is a study, and not the evaluation of a model of one. */
bool study_of_many(const struct method_run *run);
/* Where the seed that this rank has stands, for the table of seeds. */
void study_look(struct method_run *run);
/* A step of all ranks. */
enum status study_step(struct method_run *run, enum method_wish *wish, struct error *err);
void study_progress(const struct method_run *run, struct method_progress *out);
int64_t study_updates(const struct method_run *run); /* of all seeds */
/* Takes down a point of the seed that this rank has. */
void study_metric(struct method_run *run, const char *name, double value);
/* Whether a trained seed must wait before it is evaluated. */
bool study_must_wait(const struct method_run *run);
/* Whether checkpoints that this rank's seed asks for are made: those of one seed are, and hold all. */
bool study_drives(const struct method_run *run);
/* The ranks that have seeds of their own; NULL: there is one, or they are in step. */
struct comm *study_apart(const struct method_run *run);
/* What went wrong on any rank is an error on all. */
enum status study_agree(struct comm *comm, enum status mine, struct error *err);

/* study_pack.c. */
/* Writes the seed that this rank has as a pack, and reads one. */
enum status study_park(struct method_run *run, struct buf *to, struct error *err);
enum status study_resume(struct method_run *run, const struct buf *from, struct error *err);
/* All ranks write the same: what one run would that has them all. */
enum status study_save(struct method_run *run, const struct pack_writer *to, uint64_t *bytes, struct error *err);
/* A pack_writer's write: to the end of a struct buf. */
enum status study_append(void *buf, const void *bytes, size_t count, struct error *err);
/* What rank `root` has in `from` is written by every rank that gives a `to`. */
enum status study_pass(struct comm *comm, int root, const struct buf *from, const struct pack_writer *to, struct error *err);
/* The whole study, as it is on one rank or on all. */
enum status study_load(struct method_run *run, const struct pack_reader *from, struct error *err);
bool study_points_reserve(struct study_points *points, size_t room);
void study_close(struct study *study);

#endif
