/* The readers of upload formats: FASTA, motifs, and regions in BED. Arguments and errors are those of read() of struct
 * collection_format. */
#ifndef MOTIF_CORE_GENOMICS_UPLOADS_UPLOADS_H
#define MOTIF_CORE_GENOMICS_UPLOADS_UPLOADS_H

#include "core/genomics/genomics.h"

genomics_read upload_fasta, upload_motifs, upload_bed;

#endif
