/* The negatives of each channel: inputs of the validation part whose labels lack all names of the channel, so that
 * every mark of the channel in them is false. The evaluation measures them (measure.h), the last checkpoint contains
 * them, and queries compute from them how many of the marks in other inputs are false (core/metrics/false_marks.h). */
#ifndef MOTIF_CORE_METHODS_SPARLING_ERROR_RATE_NEGATIVES_H
#define MOTIF_CORE_METHODS_SPARLING_ERROR_RATE_NEGATIVES_H

#include "core/base/snapshot.h"
#include "core/metrics/false_marks.h"

/* NEGATIVES_MARKS: largest number of marks of a channel that are kept, the strongest ones; also of inputs whose largest
 * scores are kept. NEGATIVES_LEAST: with fewer negatives, a channel has no error rate. */
enum { NEGATIVES_MARKS = 512, NEGATIVES_LEAST = 20 };

/* Why a channel has no error rate. */
enum negatives_why {
    NEGATIVES_UNMEASURED, /* the checkpoint has no negatives: no evaluation has ended, or an older version made it */
    NEGATIVES_KNOWN,      /* the channel has an error rate */
    NEGATIVES_UNNAMED,    /* no name: the channel does not claim anything that a label could lack */
    NEGATIVES_FEW,        /* fewer than NEGATIVES_LEAST inputs whose labels lack the names */
    NEGATIVES_TOGETHER,   /* the labels do not tell the name from another one, the companion */
    NEGATIVES_DENSE,      /* a map has more marks than a list can have */
    NEGATIVES_NUMBERS,    /* targets are numbers: no input certainly lacks what a channel marks */
    NEGATIVES_POSITIONS,  /* the label is a class at each position */
    NEGATIVES_WHY
};

struct channel_negatives {
    int64_t why;       /* enum negatives_why; the other members hold only with NEGATIVES_KNOWN */
    int64_t inputs;    /* number of negatives */
    double effective;  /* effective number of negatives (clusters.h) */
    int64_t marks;     /* number of marks that are kept */
    int64_t cut;       /* 1: there are more marks */
    int64_t scores;    /* number of largest scores that are kept */
    int64_t companion; /* Index of a name. NEGATIVES_KNOWN: the negatives are inputs with this name, because it often
                          accompanies the channel's name and the channel answers to it more often; NEGATIVES_TOGETHER:
                          the name that the labels do not tell from the channel's name. -1: none. */
};

struct negatives {
    int channels;
    struct channel_negatives *channel; /* [channels] */
    float *mark;                       /* [channels][NEGATIVES_MARKS] falling */
    unsigned char *rank;               /* [channels][NEGATIVES_MARKS] */
    float *score; /* [channels][NEGATIVES_MARKS] the largest scores before the threshold, one for each negative,
                     falling; scores above 0 are marks */
};

/* negatives_open() allocates the tables; all channels are NEGATIVES_UNMEASURED. negatives_close() accepts a zeroed
 * struct. Error: STATUS_NO_MEMORY. */
enum status negatives_open(struct negatives *negatives, int channels, struct error *err);
void negatives_close(struct negatives *negatives);
void negatives_clear(struct negatives *negatives);
/* Declares the tables as entries "negatives.*", which a stream may lack; for snapshot_save() and snapshot_load(). */
enum status negatives_declare(void *negatives, struct snapshot *snapshot, struct error *err);
/* Whether the numbers that were read from a checkpoint are possible. tokens: size of the vocabulary. */
bool negatives_sound(const struct negatives *negatives, int tokens);
/* negatives_open() and the tables of a checkpoint. The caller closes them, also after an error. Errors: STATUS_CORRUPT,
 * STATUS_NO_MEMORY. */
enum status negatives_read(const struct snapshot_reader *from, int channels, int tokens, struct negatives *negatives,
                           struct error *err);

/* The marks of the negatives of a channel with NEGATIVES_KNOWN. They point into `negatives`. */
struct false_marks negatives_marks(const struct negatives *negatives, int channel);

#endif
