/* GFF3 annotation files: one feature on each line, in nine fields between tabs. The reader splits lines and parses
 * numbers; the caller decides which features matter and checks their coordinates. One thread at a time for each
 * reader. */
#ifndef MOTIF_CORE_FORMATS_GFF3_H
#define MOTIF_CORE_FORMATS_GFF3_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/formats/text_lines.h"

struct gff3_feature {
    struct plain_line sequence, source, type, strand; /* fields 1, 2, 3 and 7; they point into the text */
    struct plain_line parent; /* value of the attribute Parent; its size is 0 if the feature has none */
    int64_t from, to; /* first and last position of the feature, counted from 1; -1: the field is not an integer */
};

struct gff3 {
    struct plain_lines lines; /* lines.number: the line of the last feature, from 1 */
};

/* Returns a reader of a text. The text is borrowed. */
struct gff3 gff3_open(const char *text, size_t size);
/* Reads the next feature; skips comments and empty lines; *more is false at the end of the text or at '##FASTA'.
 * STATUS_INVALID: a line has fewer than nine fields. */
enum status gff3_next(struct gff3 *gff, struct gff3_feature *feature, bool *more, struct error *err);
/* Fails with a message that names the reader's current line. */
enum status gff3_fault(const struct gff3 *gff, const char *detail, struct error *err);

#endif
