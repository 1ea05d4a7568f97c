/* The font that picture.c and font.c share. */
#ifndef MOTIF_CORE_DRAW_PICTURE_INT_H
#define MOTIF_CORE_DRAW_PICTURE_INT_H

#include <stdint.h>

#include "core/draw/picture.h"

#define PICTURE_FONT_FIRST ' '
#define PICTURE_FONT_LAST '~'

extern const uint8_t picture_font[PICTURE_FONT_LAST - PICTURE_FONT_FIRST + 1][PICTURE_GLYPH_ROWS];

#endif
