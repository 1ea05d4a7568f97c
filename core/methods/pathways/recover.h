/* Recovers the activation pathway of one signal in a given stack of convolutions, and reports which guarantee holds.
 *
 * The filters of layer l, scaled to unit norm, are the columns of its dictionary. The decoder finds the pathway by a
 * forward pass with thresholds, or by layered basis pursuit.
 *
 * The bounds (core/coding/bounds.h) are computed for the codes that generated the signal, if the request contains them.
 * Otherwise they are computed for fitted codes: least squares gives the deepest code on the support that the decoder
 * found, the codes of the lower layers follow from it, and the patch norm of the residual is taken as the norm of the
 * noise. If the fitted codes have the supports that the decoder found, and bound (3) holds at every layer, then no
 * noise of this norm could have changed the result. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_RECOVER_H
#define MOTIF_CORE_METHODS_PATHWAYS_RECOVER_H

#include "core/methods/method.h"
#include "core/coding/decode.h"

enum { RECOVER_LAYERS = 24 };

struct recover_options {
#define FIELDS_FILE "core/methods/pathways/recover.inc"
#include "core/methods/shared/field_members.inc"
};
extern const struct config_table recover_options_table;

/* Answers the computation "recover" (struct method_computation in method.h): creates the dictionaries from the
 * request's convolutions, recovers the pathway and writes the report. */
enum status pathways_recover(const struct method_recovery *request, const struct sink *out, struct error *err);

#endif
