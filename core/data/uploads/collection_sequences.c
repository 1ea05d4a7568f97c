/* The upload formats of DNA and RNA: FASTA, motifs in MEME's and JASPAR's format, and regions of a genome in BED or
 * narrowPeak. Their readers are hooks, because a build may leave them out (core/genomics/genomics.h). */
#include "core/data/uploads/collection_build.h"
#include "core/genomics/genomics.h"

#define READER(hook)                                                                                                   \
    enum status collection_read_##hook(const struct byte_source *from, const struct collection_options *options,       \
                                       const struct collection_limits *limits, struct collection *c,                   \
                                       struct error *err)                                                              \
    {                                                                                                                  \
        return genomics.hook ? genomics.hook(from, options, limits, c, err)                                            \
                             : genomics_missing(STATUS_INVALID, NULL, err);                                            \
    }
READER(fasta)
READER(motifs)
READER(bed)
