/* The genome that an upload or a query selects by name: a folder of the operator with the files genome.fa and
 * genome.fa.fai, or genome.fa.gz and its indexes. */
#ifndef MOTIF_CORE_GENOMICS_UPLOADS_GENOME_H
#define MOTIF_CORE_GENOMICS_UPLOADS_GENOME_H

#include "core/genomics/files/faidx.h"

/* Opens a genome; the caller calls faidx_close(). data: the folder of data sets. STATUS_INVALID: there is no such
 * genome, or it has a fault. After an error *out is closed. */
enum status genome_open(const char *data, const char *name, struct faidx *out, struct error *err);
/* Sets the error for a genome that cannot be read, from `status` and *cause. A fault of its files becomes
 * STATUS_INVALID, because the client can inform the operator or select another genome. */
enum status genome_fault(const char *name, enum status status, const struct error *cause, struct error *err);

#endif
