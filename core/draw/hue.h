/* Named colours that a table of data can state. A picture uses the tones of hue_rgb; the page has its own tones for
 * each name and theme. */
#ifndef MOTIF_CORE_DRAW_HUE_H
#define MOTIF_CORE_DRAW_HUE_H

enum hue { HUE_GREEN, HUE_BLUE, HUE_ORANGE, HUE_RED, HUE_PURPLE, HUE_GREY, HUES };

extern const char *const hue_names[HUES]; /* "green", "blue", ... */
extern const double hue_rgb[HUES][3];     /* each part in [0, 1] */

#endif
