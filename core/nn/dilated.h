/* The head of the splicing domain (SPARLING, Appendix L), with the architecture of SpliceAI (Jaganathan et al., Cell
 * 2019): a 1x1 convolution, then residual units with growing kernels and dilations. After every fourth unit a 1x1
 * convolution adds the state to a skip path, and a final 1x1 convolution maps the skip path to the classes. The network
 * works on lines: maps of height 1, halo_h 0. The arrays belong to the params; the structs are plain values. */
#ifndef MOTIF_CORE_NN_DILATED_H
#define MOTIF_CORE_NN_DILATED_H

#include "core/nn/layers.h"

enum { DILATED_UNITS = 16 };

/* context: number of positions, on both sides together, that the classes of one position depend on: 80, 400, 2000 or
 * 10000 (4, 8, 12 or 16 residual units) */
struct dilated_config {
    int inputs, width, classes, context;
};
struct dilated {
    struct dilated_config config;
    int units;
    struct conv first, skip_first, out;
    struct residual_unit unit[DILATED_UNITS];
    struct conv skip[DILATED_UNITS / 4];
};
/* Returns the number of residual units for a context; 0 if the context is not 80, 400, 2000 or 10000. */
int dilated_units(int context);
/* Writes the number of kernel elements (taps) and the dilation of residual unit i. */
void dilated_unit(int i, int *taps, int *dilation);
/* Declares the arrays NAME.first, NAME.skip, NAME.units.I, NAME.skips.I and NAME.out. */
void dilated_build(struct dilated *net, struct params *params, const char *name, const struct dilated_config *config);
/* Applies the network. x: a map of `inputs` channels. Returns a map of `classes` channels. Positions closer than half a
 * context to the ends see zero padding; the caller may ignore them. */
struct tensor *dilated_forward(struct exec *e, struct dilated *net, struct tensor *x);

#endif
