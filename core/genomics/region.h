/* Coordinates of records: where the bases of a FASTA record lie in a genome. */
#ifndef MOTIF_CORE_GENOMICS_REGION_H
#define MOTIF_CORE_GENOMICS_REGION_H

#include <stdbool.h>
#include <stdint.h>

enum { REGION_NAME = 64 };

/* What the names of records mean. BEDTOOLS: "chr1:100-200" begins at position 100, counted from 0, as bedtools getfasta
 * writes; UCSC: at position 100, counted from 1, as genome browsers write. Both may end with "(+)", "(.)" or "(-)"; a
 * record with "(-)" is the reverse complement. "NAME::chr1:100-200(-)" means the same as "chr1:100-200(-)". Any other
 * name, and every name with RECORD, contains no coordinates: positions are then counted from 0 in the record itself. */
enum coordinates { COORDINATES_RECORD, COORDINATES_BEDTOOLS, COORDINATES_UCSC };

struct region {
    char name[REGION_NAME]; /* chromosome, or the whole name of the record */
    int64_t start, end;     /* end: first position after the region; INT64_MAX: unknown */
    bool reverse;           /* true: position 0 of the record lies at position end - 1 of the genome */
};

void region_parse(const char *record, enum coordinates coordinates, struct region *out);
/* The first position in the genome of the interval [from, to) of a record. */
int64_t region_start(const struct region *region, int64_t from, int64_t to);

#endif
