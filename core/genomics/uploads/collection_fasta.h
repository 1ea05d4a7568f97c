/* Adds sequences of bases to a collection, for the formats that contain FASTA files. */
#ifndef MOTIF_CORE_GENOMICS_UPLOADS_COLLECTION_FASTA_H
#define MOTIF_CORE_GENOMICS_UPLOADS_COLLECTION_FASTA_H

#include "core/base/utf8.h"
#include "core/data/uploads/collection_build.h"
#include "core/data/splicing/splicing_genes.h"

/* Adds every record as a sample. With `sites`, the samples are windows of the records, and each labelled base has a
 * class (collection_fasta.c). */
enum status fasta_add(struct builder *b, const struct genes *genes, bool sites, struct error *err);

#endif
