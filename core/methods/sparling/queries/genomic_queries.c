/* The queries and texts that only models of DNA and RNA answer. Their functions are hooks, because a build may leave
 * them out (core/methods/sparling/genomics/hooks.h). */
#include "core/methods/sparling/genomics/hooks.h"
#include "core/methods/sparling/queries/query.h"

#define HOOK(name, kind)                                                                                               \
    enum status sparling_##name(const struct method_question *question, kind *out, struct error *err)                  \
    {                                                                                                                  \
        return sparling_genomics.name ? sparling_genomics.name(question, out, err)                                     \
                                      : genomics_missing(STATUS_CONFLICT, NULL, err);                                  \
    }
HOOK(sites, const struct sink)
HOOK(pairs, const struct sink)
HOOK(channels_meme, struct buf)
HOOK(channels_jaspar, struct buf)
HOOK(logos_png, struct buf)
HOOK(logos_svg, struct buf)
HOOK(sites_bed, struct buf)
HOOK(sites_narrow_peak, struct buf)
HOOK(sites_gff3, struct buf)
HOOK(signal_bedgraph, struct buf)
HOOK(signal_bigwig, struct buf)
