/* Writes motifs for other programs. Simple readers take the width of a motif from the sixth word of the line
 * "letter-probability matrix:". So the words of this line have a fixed order. These readers store a motif when they
 * read the line after its last row. So an empty line ends each motif. */
#include "core/genomics/files/motif_file.h"

#include <math.h>
#include <stdio.h>

/* Readers of JASPAR's format know only these letters, so a matrix of RNA has the row T too. */
static const char jaspar_letters[BASES] = {'A', 'C', 'G', 'T'};

/* Writes a name. White space, control characters, '=' and '>', which have a meaning in these formats, become '_'. */
static void write_name(struct buf *out, const char *name)
{
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;
        buf_format(out, "%c", c <= ' ' || c == 0x7F || c == '=' || c == '>' ? '_' : *name);
    }
}

static void write_header(struct buf *out, const double background[BASES], const struct alphabet *alphabet)
{
    buf_format(out, "MEME version 4\n\nALPHABET= %s\n\n", alphabet->symbols);
    buf_text(out, alphabet->strands == 2 ? "strands: + -\n\n" : "strands: +\n\n");
    buf_text(out, "Background letter frequencies\n");
    /* The last frequency is chosen so that the sum of the rounded frequencies is 1. */
    double rest = 1;
    for (int b = 0; b < BASES - 1; b++) {
        double rounded = round(background[b] * 1e6) / 1e6;
        buf_format(out, "%c %.6f ", alphabet->symbols[b], rounded);
        rest -= rounded;
    }
    buf_format(out, "%c %.6f\n\n", alphabet->symbols[BASES - 1], rest);
}

/* Writes the probabilities of a position, rounded so that their sum is 1: the rounding error of the sum is added to the
 * largest probability. */
static void write_row(struct buf *out, const struct position_matrix *m, int position)
{
    static const double none[BASES] = {0.25, 0.25, 0.25, 0.25};
    double p[BASES], rest = 1;
    int largest = 0;
    position_matrix_column(m, position, none, 0, p);
    for (int b = 0; b < BASES; b++) {
        p[b] = round(p[b] * 1e6) / 1e6;
        rest -= p[b];
        largest = p[b] > p[largest] ? b : largest;
    }
    p[largest] += rest;
    buf_format(out, " %.6f  %.6f  %.6f  %.6f\n", p[0], p[1], p[2], p[3]);
}

void motif_file_meme(const struct named_motif *motifs, int count, const double background[BASES],
                     const struct alphabet *alphabet, struct buf *out)
{
    write_header(out, background, alphabet);
    for (int i = 0; i < count; i++) {
        const struct named_motif *m = &motifs[i];
        if (m->matrix.width == 0)
            continue;
        buf_text(out, "MOTIF ");
        write_name(out, m->id);
        buf_text(out, m->name[0] != '\0' ? " " : "");
        write_name(out, m->name);
        buf_format(out, "\nletter-probability matrix: alength= %d w= %d nsites= %d E= %.3g\n", BASES, m->matrix.width,
                   m->matrix.sites, isnan(m->evalue) ? 0 : m->evalue);
        for (int position = 0; position < m->matrix.width; position++)
            write_row(out, &m->matrix, position);
        buf_text(out, "\n");
    }
}

void motif_file_jaspar(const struct named_motif *motifs, int count, struct buf *out)
{
    for (int i = 0; i < count; i++) {
        const struct named_motif *m = &motifs[i];
        if (m->matrix.width == 0)
            continue;
        buf_text(out, ">");
        write_name(out, m->id);
        buf_text(out, m->name[0] != '\0' ? "\t" : "");
        write_name(out, m->name);
        for (int b = 0; b < BASES; b++) {
            buf_format(out, "\n%c  [", jaspar_letters[b]);
            for (int position = 0; position < m->matrix.width; position++)
                buf_format(out, " %6.0f", m->matrix.count[position][b]);
            buf_text(out, " ]");
        }
        buf_text(out, "\n");
    }
}
