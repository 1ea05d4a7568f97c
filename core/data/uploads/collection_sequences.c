/* The upload formats of DNA and RNA: FASTA, motifs in MEME's and JASPAR's format, and regions of a genome in BED or
 * narrowPeak. Their readers are hooks, because a build may leave them out (core/genomics/genomics.h). */
#include "core/data/uploads/collection_build.h"
#include "core/genomics/genomics.h"

#define READER(hook)                                                                                                   \
    static enum status read_##hook(const struct byte_source *from, const struct collection_options *options,           \
                                   const struct collection_limits *limits, struct collection *c, struct error *err)    \
    {                                                                                                                  \
        return genomics.hook ? genomics.hook(from, options, limits, c, err)                                            \
                             : genomics_missing(STATUS_INVALID, NULL, err);                                            \
    }
READER(fasta)
READER(motifs)
READER(bed)

const struct collection_format fasta_format = {.name = "fasta",
                                               .media_type = "text/x-fasta",
                                               .text = true,
                                               .reads = OPTION_LABEL_COLUMN | OPTION_NEGATIVES | OPTION_TARGET,
                                               .negatives = 1u << NEGATIVES_NONE | 1u << NEGATIVES_SHUFFLE,
                                               .read = read_fasta};
const struct collection_format motifs_format = {
    .name = "meme", .media_type = "text/x-meme", .text = true, .read = read_motifs};
const struct collection_format bed_format = {.name = "bed",
                                             .media_type = "text/x-bed",
                                             .text = true,
                                             .reads = OPTION_LABEL | OPTION_LABEL_COLUMN | OPTION_NEGATIVES |
                                                      OPTION_GENOME | OPTION_WINDOW | OPTION_SIGNAL | OPTION_BINS |
                                                      OPTION_TARGET,
                                             .read = read_bed};
