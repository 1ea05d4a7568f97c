/* Describes the formats of uploads to clients: which options each of them reads, and which values an option may have.
 */
#ifndef MOTIF_API_DATASETS_DATASET_FORMATS_H
#define MOTIF_API_DATASETS_DATASET_FORMATS_H

#include "api/http/exchange.h"

/* Writes the list "formats" to x->out. STATUS_IO: the folder of data sets, which contains the genomes, cannot be read.
 * STATUS_NO_MEMORY. */
enum status dataset_formats(struct exchange *x, struct error *err);

#endif
