/* The table of hooks for DNA and RNA (genomics.h). */
#include "core/genomics/genomics.h"

#include "core/genomics/letters.h"
#include "core/genomics/matrices/motif_start.h"
#include "core/genomics/matrices/position_matrix.h"
#include "core/genomics/uploads/collection_fasta.h"
#include "core/genomics/uploads/regions.h"
#include "core/genomics/uploads/uploads.h"

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
