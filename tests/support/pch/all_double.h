/* Builds the whole core in double precision, for the tests of ranks. The target core_all_double includes this file
 * before each source file. The macros below then replace `float` by `double` in the whole core. The headers of the
 * system and of libraries are included before these macros, so the functions of libraries still use float, and data
 * from them have the precision of float. */
#ifndef MOTIF_TESTS_SUPPORT_PCH_ALL_DOUBLE_H
#define MOTIF_TESTS_SUPPORT_PCH_ALL_DOUBLE_H

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
