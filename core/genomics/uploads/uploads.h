/* The readers of upload formats: FASTA, motifs, and regions in BED. Arguments and errors are those of read() of struct
 * collection_format. */
#ifndef MOTIF_CORE_GENOMICS_UPLOADS_UPLOADS_H
#define MOTIF_CORE_GENOMICS_UPLOADS_UPLOADS_H

#include "core/base/utf8.h"
#include "core/data/splicing/splicing_genes.h"
#include "core/data/uploads/collection_build.h"
#include "core/genomics/genomics.h"

/* Regions of a genome as samples: windows of bases around the summit or the middle of the regions of one or more files
 * in BED or narrowPeak. The genome is a folder of the operator with the files genome.fa and genome.fa.fai, or
 * genome.fa.gz and its indexes. The record of a sample is called "chr1:100-300" (counted from 0), so that motifd can
 * give the places of sites in the genome. A region on the strand '-' becomes its reverse complement, and its name ends
 * with "(-)". Regions that lie beyond an end of their chromosome or whose window does, and regions on sequences that
 * the genome does not have, are left out with a warning; at least one region must remain. Targets that are numbers come
 * from a column of the file, or they are means of a signal along the genome. The upload's option `signal` names the
 * operator's folder that contains the signal.
 *
 * regions_add() only collects regions, about 100 bytes for each. regions_finish() reads their bases, one window at a
 * time. One thread at a time. */

struct regions;

/* Opens the genome that the options name. `b` and `options` are borrowed. STATUS_INVALID: there is no such genome,
 * or it has a fault. */
enum status regions_open(struct builder *b, const struct collection_options *options, struct regions **regions,
                         struct error *err);
void regions_close(struct regions *regions); /* NULL is fine */
/* Adds the regions of a file. name: text of `name_bytes` bytes, which becomes the label of the regions that have no
 * other label. */
enum status regions_add(struct regions *regions, const struct byte_source *from, const char *name, size_t name_bytes,
                        struct error *err);
/* Adds a sample for each region, joins regions of several files if labels are sets, adds negatives and warnings, and
 * finishes the builder. */
enum status regions_finish(struct regions *regions, struct error *err);

/* Adds every record as a sample. With `sites`, the samples are windows of the records, and each labelled base has a
 * class (collection_fasta.c). */
enum status fasta_add(struct builder *b, const struct genes *genes, bool sites, struct error *err);

genomics_read upload_fasta, upload_motifs, upload_bed;

#endif
