/* Labels of sequences, from the texts of FASTA headers and of columns of BED files. Private to the formats of
 * sequences. */
#ifndef MOTIF_CORE_GENOMICS_UPLOADS_SEQUENCE_LABEL_H
#define MOTIF_CORE_GENOMICS_UPLOADS_SEQUENCE_LABEL_H

#include "core/data/uploads/collection_build.h"
#include "core/formats/text_lines.h"

/* Returns whether a text can be a label: it must be UTF-8 without NUL. */
bool sequence_label_good(struct plain_line text);
/* Finds the column `number` (from 1) of a line whose columns are separated by tabs, or by spaces and tabs if `words`.
 * False: the line has fewer columns. */
bool sequence_label_column(struct plain_line line, int number, bool words, struct plain_line *out);

#endif
