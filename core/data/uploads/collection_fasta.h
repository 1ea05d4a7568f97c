/* Sequences of bases, shared by the formats that hold them. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_FASTA_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_FASTA_H

#include "core/base/utf8.h"
#include "core/data/uploads/collection_int.h"
#include "core/data/splicing/splicing_genes.h"

#define FASTA_BYTES ((size_t)256 << 20)

/* Every record as a sample; with `sites`, in windows with a class at each of their own bases. */
enum status fasta_add(struct builder *b, const struct genes *genes, bool sites, struct error *err);

#endif
