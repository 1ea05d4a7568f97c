/* Local norms (section 2.2 of the paper): the largest number of non-zeros (alpha 0), or the largest Euclidean norm
 * (alpha 2), of any window of a map, with wrap-around.
 *
 * There are two kinds of window. A stripe is the part of a code that overlaps one column of the code's own dictionary:
 * 2 extent - 1 positions. A patch is the part that one column of the next layer's dictionary covers: as many positions
 * as the extent of that dictionary.
 *
 * In the paper's definition, a window may start at any entry of the vector (local_norm_literal()). The proofs need only
 * windows that start at the first entry of a position ("aligned", Papyan et al.; local_norm()). The norm over aligned
 * windows is never larger, so the bounds use it. A window at least as long as the circle is the whole circle. */
#ifndef MOTIF_CORE_CODING_NORMS_H
#define MOTIF_CORE_CODING_NORMS_H

#include <stddef.h>

struct local_window {
    int height, width, channels; /* sizes of the map */
    int window_h, window_w;      /* sizes of the window in positions */
};

/* Computes the norm over aligned windows, alpha 0 or 2. map: [height][width][channels]. scratch: 2 * height * width
 * doubles. Takes time proportional to the number of entries. */
double local_norm(const struct local_window *window, const float *map, int alpha, double *scratch);
/* Computes the norm as the paper defines it. map: a vector of `count` entries. Each window has `window` consecutive
 * entries and may start at any entry. */
double local_norm_literal(const float *map, size_t count, size_t window, int alpha);

#endif
