/* Shared by the files of the chart. Private to core/data. */
#ifndef MOTIF_CORE_DRAW_CHART_INT_H
#define MOTIF_CORE_DRAW_CHART_INT_H

#include "core/draw/chart.h"

/* An axis with its ends settled, and the pixels they lie at. */
struct chart_scale {
    double min, max; /* ends; logarithms to base 10 with `log` */
    bool log;
    double from, to; /* pixels of min and max */
};

/* False when there is nothing to draw at `value`. */
bool chart_place(const struct chart_scale *scale, double value, double *pixel);
/* Ends of a panel's axes, from the data where they are not given. */
void chart_scales(const struct chart_panel *panel, struct chart_scale *x, struct chart_scale *y);
/* Half the distance of neighbouring centres, for the outer edges of a heat map. */
double chart_half_step(const double *centres, int count);
/* Ends of the colour bar. */
struct chart_scale chart_heat_scale(const struct chart_heat *heat);

#endif
