/* Recovers the activation pathway of one signal in a given stack of convolutions, and reports which guarantee holds.
 *
 * The filters of layer l, scaled to unit norm, are the columns of its dictionary. The decoder finds the pathway by a
 * forward pass with thresholds, or by layered basis pursuit. If the request contains the code that generated the
 * signal, the bounds are computed for the true codes. Otherwise a least-squares fit gives the deepest code on the
 * support that the decoder found. The bounds are then computed for this code and for the codes of the lower layers that
 * follow from it. The norm of the noise is taken to be the patch norm of the residual. Suppose that these codes have
 * the supports that the decoder found, and that bound (3) holds at every layer. Then no noise of this norm could have
 * changed the result. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_RECOVER_H
#define MOTIF_CORE_METHODS_PATHWAYS_RECOVER_H

#include "core/methods/method.h"
#include "core/coding/decode.h"

enum { RECOVER_LAYERS = 24 };

struct recover_options {
    int64_t seed;
    int decoder, signs; /* decoder: an enum decoder; signs: 0 all plus, 1 random */
    double threshold, delta, noise;
    int64_t iterations;
};
extern const struct config_table recover_options_table;

/* Answers the computation "recover" (struct method_computation in method.h): creates the dictionaries from the
 * request's convolutions, recovers the pathway and writes the report. */
enum status pathways_recover(const struct method_recovery *request, const struct sink *out, struct error *err);

#endif
