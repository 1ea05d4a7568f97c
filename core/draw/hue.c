/* The named colours of hue.h. Their tones differ in brightness as well, so that colour-blind readers can distinguish
 * them on a white background. */
#include "core/draw/hue.h"

const char *const hue_names[HUES] = {"green", "blue", "orange", "red", "purple", "grey"};
const double hue_rgb[HUES][3] = {{0, 0.62, 0.45}, {0, 0.45, 0.7},    {0.9, 0.62, 0},
                                 {0.84, 0.37, 0}, {0.8, 0.47, 0.65}, {0.4, 0.43, 0.48}};
