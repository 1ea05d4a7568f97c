/* Labels of sequences, from the texts of FASTA headers and of columns of BED files. Private to the formats of
 * sequences. */
#ifndef MOTIF_CORE_DATA_UPLOADS_SEQUENCES_SEQUENCE_LABEL_H
#define MOTIF_CORE_DATA_UPLOADS_SEQUENCES_SEQUENCE_LABEL_H

#include "core/data/uploads/collection_int.h"
#include "core/formats/text_lines.h"

/* Whether a text can be a label: UTF-8 without NUL. */
bool sequence_label_good(struct plain_line text);
/* Adds a text to the label of the current sample: its words, which spaces and tabs separate, or the whole text as one
 * name if the user wants classes. A set has each word once, and commas separate its words too. */
enum status sequence_label_add(struct builder *b, struct plain_line text, struct error *err);
/* Finds the column `number` (from 1) of a line whose columns are separated by tabs, or by spaces and tabs if `words`.
 * False: the line has fewer columns. */
bool sequence_label_column(struct plain_line line, int number, bool words, struct plain_line *out);

#endif
