/* The annotation of one input: the motifs that a network finds and the label that it reads, as data and as a picture.
 */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_ANNOTATION_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_ANNOTATION_H

#include "core/draw/picture.h"
#include "core/methods/sparling/model/channel_extents.h"
#include "core/methods/sparling/model/channel_names.h"
#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/queries/query_words.h"
#include "core/metrics/motif_errors.h"

enum {
    ANNOTATION_MOTIFS = 4096, /* upper limit of the motifs in a list; it contains the strongest ones */
    /* distance in positions along both axes within which a stronger motif hides a weaker one */
    ANNOTATION_REACH = 5
};

struct read_motif {
    struct motif at;
    bool maximal; /* no stronger motif within ANNOTATION_REACH; in a tie the first one in scan order is maximal */
    bool starred; /* maximal, with a weaker motif within ANNOTATION_REACH */
    char strand;  /* '+' or '-'; 0: unknown */
    double p, q;  /* in an annotation that is `rated` (rated.h); NaN: the channel has no error rate */
};

/* How the channels of a model are reported. */
struct channel_report {
    const struct channel_name *names;    /* [channels]; NULL: the channels have no names */
    const struct channel_places *places; /* where motifs are reported; NULL: at the maxima of their channels */
};

struct annotation {
    const struct open_domain *domain;    /* borrowed */
    const struct channel_name *names;    /* [channels] borrowed; NULL: the channels have no names */
    const struct channel_places *places; /* borrowed; NULL: motifs are reported at the maxima of their channels */
    int rows, cols, channels;            /* sizes of the motif map */
    const float *input;                  /* borrowed */
    const struct domain_truth *truth;    /* borrowed; NULL when unknown */
    struct read_motif *motifs;           /* in scan order: channel, row, column */
    bool rated;                          /* whether the motifs have p and q */
    int count, total;                    /* count: number of motifs in the list; total: number of motifs in the map */
    /* tokens of the label that the model reads; none with a label at every position */
    struct decoded decoded;
    struct read_site {
        int position, label; /* label: a class; never 0, the common class */
        double probability;
        /* with a label at every position: the positions at which a class other than the common one has a probability
         * above 1/2 */
    } * sites;
    int site_count;
    struct query_words words; /* of a text; else empty */
    float *numbers; /* [shape.numbers] the numbers that the model predicts, in the data set's units; NULL if targets are
                       no numbers */
};

/* Annotates an input, [channels][rows][cols]. This function begins `e` for evaluation. domain, report, input and truth
 * (NULL: unknown) must outlive the annotation, which annotation_close() frees. Error: STATUS_NO_MEMORY. */
enum status annotation_make(struct exec *e, struct network *network, const struct open_domain *domain,
                            const struct channel_report *report, const float *input, const struct domain_truth *truth,
                            struct annotation *annotation, struct error *err);
/* As annotation_make(), for a motif map that is already computed, on an exec that has begun. */
enum status annotation_of_map(struct exec *e, struct network *network, const struct open_domain *domain,
                              const struct channel_report *report, struct tensor *motifs, const float *input,
                              const struct domain_truth *truth, struct annotation *annotation, struct error *err);
/* Largest distance, along each axis, at which motifs of two models count as the same. Each then lies in the footprint
 * of the other; a footprint is `2 * (reach / 2) + 1` positions wide. A smaller distance would be too strict, because a
 * model may mark any place in the footprint of a symbol, for instance either end of a digit. */
int annotation_same(int reach);
/* Sets `maximal` and `starred` of all motifs. */
void annotation_mark(struct read_motif *motifs, int count);
void annotation_close(struct annotation *annotation);
/* Finds the part of the map that a motif covers. Returns false if it is unknown. */
bool annotation_extent(const struct annotation *annotation, const struct motif *motif, struct box *box);

/* Draws a picture with one tile for each input, `columns` tiles in a row. A tile shows the input in grey, the true
 * boxes in green, and the maximal motifs (struct read_motif) with their extents in the colours of their channels. A
 * cross marks a starred motif. If the input is a sequence whose tile is several rows high, each channel has a line for
 * its motifs. Below the tile are the true label and the label that the model reads. With a label at every position,
 * ticks mark the true labels there, and discs below the ticks mark the labels that the model reads. The caller destroys
 * *out. Error: STATUS_NO_MEMORY. */
enum status annotation_draw(const struct annotation *annotations, int count, int columns, struct picture **out,
                            struct error *err);

#endif
