/* The table of hooks for DNA and RNA (genomics.h). */
#include "core/genomics/genomics.h"

#include <stddef.h>
#include <stdint.h>

#include "core/genomics/matrices/motif_start.h"
#include "core/genomics/matrices/position_matrix.h"
#include "core/genomics/uploads/uploads.h"

/* The alphabets of nucleic acids, and the other strand of a sequence. */

enum { LETTERS = 4 };

static const enum hue base_hues[] = {HUE_GREEN, HUE_BLUE, HUE_ORANGE, HUE_RED};

static const struct alphabet alphabet_dna = {
    .name = "DNA", .symbols = "ACGT", .hues = base_hues, .unknown = 'N', .unit = "nt", .strands = 2};
static const struct alphabet alphabet_rna = {
    .name = "RNA", .symbols = "ACGU", .hues = base_hues, .unknown = 'N', .unit = "nt", .strands = 1};

/* Replaces columns [from, to) of one-hot bases in the order A, C, G, T, [4][cols], by their reverse complement. */
static void letters_turn(float *planes, int cols, int64_t from, int64_t to)
{
    for (int b = 0; b < LETTERS / 2; b++) {
        float *one = planes + (ptrdiff_t)b * cols, *other = planes + (ptrdiff_t)(LETTERS - 1 - b) * cols;
        for (int64_t i = from; i < to; i++) {
            float kept = one[i];
            one[i] = other[from + to - 1 - i];
            other[from + to - 1 - i] = kept;
        }
    }
}

const struct genomics genomics = {
    .dna = &alphabet_dna,
    .rna = &alphabet_rna,
    .turn = letters_turn,
    .fasta = upload_fasta,
    .motifs = upload_motifs,
    .bed = upload_bed,
    .add_records = fasta_add,
    .regions_open = regions_open,
    .regions_add = regions_add,
    .regions_finish = regions_finish,
    .regions_close = regions_close,
    .start_check = motif_start_check,
    .start_filters = motif_start_filters,
    .matrix_bytes = sizeof(struct position_matrix),
};
