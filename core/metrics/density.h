/* The ladder of densities and the least density that could do (SPARLING, sections 4.2 and 5.1). */
#ifndef MOTIF_CORE_METRICS_DENSITY_H
#define MOTIF_CORE_METRICS_DENSITY_H

#define DENSITY_START 0.5
#define DENSITY_FACTOR 0.75

/* start * factor^stage. */
double density_at(double start, double factor, int stage);

/* One element for each symbol: mean symbols over positions * channels. */
double density_minimum(double mean_symbols, double positions, int channels);

/* The last stage whose density is not below `minimum`; 0 if even the start is. */
int density_last_stage(double start, double factor, double minimum);

/* Bits that a map with `elements` elements carries at most: elements * (H(density) + density *
 * bits), H the binary entropy, `bits` those of one activation (Appendix H). */
double density_information(double elements, double density, double bits);

#endif
