/* The sequence of densities of an annealed training, and the least density that can represent the symbols (SPARLING,
 * sections 4.2 and 5.1). */
#ifndef MOTIF_CORE_METRICS_DENSITY_H
#define MOTIF_CORE_METRICS_DENSITY_H

#define DENSITY_START 0.5
#define DENSITY_FACTOR 0.75

/* The density of stage `stage` (from 0): start * factor^stage. */
double density_at(double start, double factor, int stage);

/* The density at which every symbol has one active element: mean_symbols / (positions * channels). */
double density_minimum(double mean_symbols, double positions, int channels);

/* The last stage whose density is at least `minimum`; 0 if `start` is already below it. */
int density_last_stage(double start, double factor, double minimum);

/* The largest number of bits that a map of `elements` elements can carry: elements * (H(density) + density * bits),
 * with the binary entropy H and `bits` bits for each activation (Appendix H). */
double density_information(double elements, double density, double bits);

#endif
