/* Named colours. A constant table, such as an alphabet, names its colours; pictures draw them in the tones of
 * hue_rgb, and the page draws them in its own tones, which depend on its theme. */
#ifndef MOTIF_CORE_DRAW_HUE_H
#define MOTIF_CORE_DRAW_HUE_H

enum hue { HUE_GREEN, HUE_BLUE, HUE_ORANGE, HUE_RED, HUE_PURPLE, HUE_GREY, HUES };

extern const char *const hue_names[HUES]; /* "green", "blue", ... */
extern const double hue_rgb[HUES][3];     /* each part in [0, 1] */

#endif
