/* The aggregator of the splicing domain (SPARLING, Appendix L), as SpliceAI has it (Jaganathan et al. 2019): a 1x1
 * convolution, residual units whose kernels and dilations grow, after every fourth a 1x1 of the state onto a skip path,
 * and a 1x1 from there to the classes. Over lines: maps of height 1, halo_h 0. The arrays belong to the params; the
 * structs are plain values. */
#ifndef MOTIF_CORE_NN_DILATED_H
#define MOTIF_CORE_NN_DILATED_H

#include "core/nn/layers.h"

enum { DILATED_UNITS = 16 };

/* context: how far it sees, both sides together: 80, 400, 2000 or 10000 positions (4, 8, 12 or 16 units). */
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
/* Units of a context; 0 for one that is none of the four. */
int dilated_units(int context);
/* Taps and dilation of unit i. */
void dilated_unit(int i, int *taps, int *dilation);
/* NAME.first, NAME.skip, NAME.units.I, NAME.skips.I, NAME.out. */
void dilated_build(struct dilated *net, struct params *params, const char *name, const struct dilated_config *config);
/* A map of `classes` channels; the caller leaves out what lies within half a context of the ends, if it wants. */
struct tensor *dilated_forward(struct exec *e, struct dilated *net, struct tensor *x);

#endif
