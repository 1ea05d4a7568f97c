/* What a network makes of one input: its motifs and the label it reads; and how to draw that. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_ANNOTATION_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_ANNOTATION_H

#include "core/draw/picture.h"
#include "core/methods/sparling/model/decode.h"
#include "core/metrics/motif_errors.h"

enum {
    READING_MOTIFS = 4096, /* listed at most: the strongest */
    READING_REACH = 5      /* pixels: a stronger motif this near, in both axes, hides one (facts §8.12) */
};

struct read_motif {
    struct motif at;
    bool maximal; /* no stronger motif within READING_REACH; the first in scan order wins a tie */
    bool starred; /* maximal, and a weaker one lies there */
};

struct annotation {
    const struct open_domain *domain; /* borrowed */
    int rows, cols, channels;         /* of the motif map */
    const float *input;               /* borrowed */
    const struct domain_truth *truth; /* borrowed; NULL when unknown */
    struct read_motif *motifs;        /* in scan order: channel, row, column */
    int count, total;                 /* listed; active in the map */
    struct decoded decoded;           /* nothing with labels at positions */
    struct read_site {
        int position, label; /* never 0, the common class */
        double probability;
    } * sites; /* with labels at positions: where a class is more probable than not, in order */
    int site_count;
};

/* Computes on the exec, which is begun here in evaluation. The domain, `input` and `truth` outlive the annotation. */
enum status annotation_make(struct exec *e, struct network *network, const struct open_domain *domain,
                            const float *input, const struct domain_truth *truth, struct annotation *annotation,
                            struct error *err);
/* The same of a motif map that is there already; the exec has begun. */
enum status annotation_of_map(struct exec *e, struct network *network, const struct open_domain *domain,
                              struct tensor *motifs, const float *input, const struct domain_truth *truth,
                              struct annotation *annotation, struct error *err);
/* How far apart, in both axes, motifs of two models may be and mark the same: each in the other's footprint, which is 2
 * (reach / 2) + 1 positions wide. Where in it a model puts a motif is its own affair, and one end of a digit is as good
 * as the other. */
int annotation_same(int reach);
/* Which of the motifs no stronger one is near, and whether a weaker one is. */
void annotation_mark(struct read_motif *motifs, int count);
void annotation_close(struct annotation *annotation);

/* One tile an input, `columns` in a row: ink in grey, true boxes outlined, maximal motifs marked in the
 * colour of their channel, starred ones with a cross, and what was read below (of labels at positions: true ones as
 * ticks under the tile, those that were read as discs under these). In the picture of a sequence that has rows, each
 * channel's motifs have a height of their own. */
enum status annotation_draw(const struct annotation *readings, int count, int columns, struct picture **out,
                            struct error *err);

#endif
