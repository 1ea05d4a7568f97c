/* DigitCircle (core/data/digitcircle/digitcircle.h) as a domain of SPARLING. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_DIGITCIRCLE_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_DIGITCIRCLE_H

#include <stdint.h>

#include "core/data/digitcircle/digitcircle.h"

struct digitcircle_config {
    int64_t image_size, classes, min_symbols, max_symbols, shift, margin, min_radius, max_radius;
    double pre_noise, post_noise;
};

#define DIGITCIRCLE_INTEGER(member, preset, low, high, unit, meaning)                                                  \
    DOMAIN_INTEGER(digitcircle, member, #member, preset, low, high, unit, meaning)
#define DIGITCIRCLE_REAL(member, preset, low, high, meaning)                                                           \
    DOMAIN_REAL(digitcircle, member, #member, preset, low, high, "", meaning)

#define DIGITCIRCLE_FIELDS                                                                                             \
    DIGITCIRCLE_INTEGER(image_size, "100", 24, 400, "px", "rows and columns of the picture"),                          \
        DIGITCIRCLE_INTEGER(classes, "10", 1, 10, "digits",                                                            \
                            "how many different digits occur: 0 up to this number less one"),                          \
        DIGITCIRCLE_INTEGER(min_symbols, "3", 1, 10, "digits", "fewest digits around a circle"),                       \
        DIGITCIRCLE_INTEGER(max_symbols, "6", 1, 10, "digits",                                                         \
                            "most digits around a circle; all in a picture differ"),                                   \
        DIGITCIRCLE_INTEGER(shift, "3", 0, 50, "px", "each digit is moved off the circle by up to this much"),         \
        DIGITCIRCLE_INTEGER(margin, "12", 0, 100, "px",                                                                \
                            "the circle stays this much and the shift away from the border"),                          \
        DIGITCIRCLE_INTEGER(min_radius, "20", 1, 200, "px", "smallest radius of the circle"),                          \
        DIGITCIRCLE_INTEGER(max_radius, "0", 0, 200, "px",                                                             \
                            "radii stay below this; 0: image_size/2 - shift - margin, what fits"),                     \
        DIGITCIRCLE_REAL(pre_noise, "0.5", 0, 1,                                                                       \
                         "noise before the digits are placed, as a share of a digit's ink density"),                   \
        DIGITCIRCLE_REAL(post_noise, "0.05", 0, 1, "share of all pixels flipped after the digits are placed")

/* The generator that a configuration describes. */
struct digitcircle digitcircle_of(const struct digitcircle_config *config);

#endif
