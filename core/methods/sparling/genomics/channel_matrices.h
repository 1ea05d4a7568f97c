/* A position matrix for each channel of a model of DNA or RNA, from the bases around the channel's motifs. */
#ifndef MOTIF_CORE_METHODS_SPARLING_GENOMICS_CHANNEL_MATRICES_H
#define MOTIF_CORE_METHODS_SPARLING_GENOMICS_CHANNEL_MATRICES_H

#include "core/genomics/files/motif_file.h"
#include "core/genomics/matrices/motif_match.h"
#include "core/methods/sparling/genomics/hooks.h"
#include "core/methods/sparling/queries/top_activations.h"

struct channel_matrices {
    int count; /* number of channels; 0: the samples are not sequences of bases */
    /* [count] named after the channels. The width is 0 if a channel has fewer than two motifs, or if the bases
     * around them have nothing in common. */
    struct named_motif *motif;
    double background[BASES];        /* frequencies of the bases in the samples */
    const struct alphabet *alphabet; /* the alphabet of the samples; NULL: they are not sequences of bases */
    struct motif_library library;    /* the data set of motifs that the query names */
    /* [count][best] for each channel, the motifs of `library` that match its matrix, in ascending order of p; NULL: not
     * compared. An answer lists the first MATRIX_MATCHES of them, and all others that are significant. */
    struct motif_hit *hit;
    int best;
    /* [count] for each channel, the channel whose matrix contains its sites; NULL: no channels were merged */
    int *merged;
};
enum { MATRIX_MATCHES = 5, MATRIX_MATCHES_MOST = 50 };

/* Makes a matrix for each channel, or only for the channel that the question names: aligns the bases around the motifs
 * that the statistics have counted, and removes ends that have less than 0.2 bits.
 *
 * The E-value of a channel is a p-value times the number of channels. Fisher's exact test gives the p-value: do samples
 * whose label has the channel's first name contain motifs of the channel more often than other samples? The E-value is
 * NaN for a channel without a name.
 *
 * If the question names a data set of motifs, each matrix is compared with all of them. If the question asks to merge,
 * channels that show one motif get one matrix, from the windows of all of them. The matrix, its id and its E-value
 * belong to the channel with the most sites, and the name lists the names of all these channels. The other channels get
 * a matrix of width 0.
 *
 * The caller calls channel_matrices_destroy() also after a failure. Errors: STATUS_NO_MEMORY, STATUS_CANCELLED, and
 * those of the domain and of motif_library_open(). */
enum status channel_matrices_create(const struct method_question *question, const struct top_activations *statistics,
                                    struct channel_matrices **out, struct error *err);
/* Computes the statistics and the matrices that a question asks for. STATUS_CONFLICT: the samples are not sequences of
 * bases. Other errors are those of channel_matrices_create(). */
enum status channel_matrices_ask(const struct method_question *question, struct channel_matrices **out,
                                 struct error *err);
void channel_matrices_destroy(struct channel_matrices *matrices); /* NULL is allowed */

/* Writes the member "matrix" of a channel into an open object: null without a matrix. */
void channel_matrix_write(const struct channel_matrices *matrices, int channel, const struct sink *out);

/* The matrices that a question asks for as text, and as logos (logos.c). */
sparling_text channels_meme, channels_jaspar, logos_png, logos_svg;

#endif
