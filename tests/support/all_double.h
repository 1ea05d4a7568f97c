/* The whole core in double, for tests of ranks: included before everything else of a source by the build of it
 * (core_all_double), so that what the methods call float is double as well. Headers of the system and of libraries
 * come first: their floats stay, and data that comes from them is as exact as it was. */
#ifndef MOTIF_TESTS_SUPPORT_ALL_DOUBLE_H
#define MOTIF_TESTS_SUPPORT_ALL_DOUBLE_H

#include <cairo.h>
#include <cblas.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H
#if defined(__x86_64__)
#include <emmintrin.h>
#endif
#include <kiss_fft.h>
#include <math.h>
#include <png.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define float double
#define ceilf ceil
#define copysignf copysign
#define expf exp
#define fabsf fabs
#define floorf floor
#define fmaxf fmax
#define fminf fmin
#define ldexpf ldexp
#define log1pf log1p
#define logf log
#define lrintf lrint
#define rintf rint
#define sf_readf_float sf_readf_double
#define sf_writef_float sf_writef_double
#define sqrtf sqrt
#define strtof strtod
#define cblas_sgemm cblas_dgemm

#endif
