/* Recovers the activation pathway of one signal in a given stack of convolutions, and reports which guarantee holds for
 * it.
 *
 * The convolutions are taken as analyses: layer l's dictionary has their filters, scaled to unit norm, as columns. A
 * pathway is found by the forward pass with thresholds (or by layered basis pursuit). Where the code that made the
 * signal is given, bounds are those of the true codes. Where it is not, the deepest code is fitted to the signal on the
 * support that was found, by least squares; the codes it gives on the way down, and the patch norm of what it leaves
 * unexplained, are what the bounds are about. If these codes have the supports that were found and (3) holds at every
 * layer, then no noise of that patch norm could have led the decoder elsewhere. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_RECOVER_H
#define MOTIF_CORE_METHODS_PATHWAYS_RECOVER_H

#include "core/methods/method.h"
#include "core/methods/pathways/decode.h"

enum { RECOVER_LAYERS = 24 };

struct recover_options {
    int64_t seed;
    int decoder, signs; /* enum decoder; 0 plus, 1 random */
    double threshold, delta, noise;
    int64_t iterations;
};
extern const struct config_table recover_options_table;

/* Behind struct method's recover; see method.h. The function for callers whose dictionaries are made. */
enum status pathways_recover(const struct method_recovery *request, const struct sink *out, struct error *err);

#endif
