/* Configuration of the domain DigitCircle; core/data/digitcircle/digitcircle.h draws its images. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_DIGITCIRCLE_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_DIGITCIRCLE_H

#include <stdint.h>

#include "core/data/digitcircle/digitcircle.h"

struct digitcircle_config {
    int64_t image_size, classes, min_symbols, max_symbols, shift, margin, min_radius, max_radius;
    double pre_noise, post_noise;
};

/* clang-format off */
#define DIGITCIRCLE_INTEGER(member, preset, low, high, unit, level, meaning)                                           \
    DOMAIN_INTEGER(digitcircle, member, #member, preset, low, high, unit, level, meaning)
#define DIGITCIRCLE_REAL(member, preset, low, high, level, meaning)                                                    \
    DOMAIN_REAL(digitcircle, member, #member, preset, low, high, "", level, meaning)

#define DIGITCIRCLE_FIELDS                                                                                             \
    DIGITCIRCLE_INTEGER(image_size, "100", 24, 400, "px", ADVANCED,                                                    \
                        "Rows and columns of the image; in a larger image, digits are harder to find and training "    \
                        "takes more time."),                                                                           \
    DIGITCIRCLE_INTEGER(classes, "10", 1, 10, "digits", ADVANCED,                                                      \
                        "Number of different digits, 0 up to classes - 1; more digits need more motif channels."),     \
    DIGITCIRCLE_INTEGER(min_symbols, "3", 1, 10, "digits", ADVANCED,                                                   \
                        "Smallest number of digits on a circle; a larger one makes the shortest labels longer."),      \
    DIGITCIRCLE_INTEGER(max_symbols, "6", 1, 10, "digits", ADVANCED,                                                   \
                        "Largest number of digits on a circle, which all differ; a larger one makes labels longer "    \
                        "and harder to learn."),                                                                       \
    DIGITCIRCLE_INTEGER(shift, "3", 0, 50, "px", RESEARCH,                                                             \
                        "Largest random distance of a digit from its place on the circle, along each axis; a larger "  \
                        "one makes circles less regular."),                                                            \
    DIGITCIRCLE_INTEGER(margin, "12", 0, 100, "px", RESEARCH,                                                          \
                        "Smallest distance between the border of the image and the circle, in addition to shift; a "   \
                        "larger one leaves less room for circles."),                                                   \
    DIGITCIRCLE_INTEGER(min_radius, "20", 1, 200, "px", ADVANCED,                                                      \
                        "Smallest radius of the circle; a larger one keeps digits further apart."),                    \
    DIGITCIRCLE_INTEGER(max_radius, "0", 0, 200, "px", RESEARCH,                                                       \
                        "Upper limit (exclusive) of the radius; a larger one allows larger circles, and 0 means "      \
                        "image_size/2 - shift - margin."),                                                             \
    DIGITCIRCLE_REAL(pre_noise, "0.5", 0, 1, RESEARCH,                                                                 \
                     "Density of the noise under the digits, as a share of a digit's ink density; more noise makes "   \
                     "digits harder to recognise."),                                                                   \
    DIGITCIRCLE_REAL(post_noise, "0.05", 0, 1, RESEARCH,                                                               \
                "Share of all pixels that are flipped after the digits are drawn; a larger share makes digits "        \
                "harder to recognise.")
/* clang-format on */

/* The generator for a configuration. */
struct digitcircle digitcircle_of(const struct digitcircle_config *config);

#endif
