/* What the files of the chart share: scales of axes. Private to core/draw. */
#ifndef MOTIF_CORE_DRAW_CHART_INT_H
#define MOTIF_CORE_DRAW_CHART_INT_H

#include "core/draw/chart.h"

/* An axis whose ends are known, and the pixels of its ends. */
struct chart_scale {
    double min, max; /* ends of the axis; with `log`, their logarithms to base 10 */
    bool log;
    double from, to; /* pixels of min and max */
};

/* Computes at which pixel of the axis a value is. Returns false if the value cannot be drawn on this scale. */
bool chart_place(const struct chart_scale *scale, double value, double *pixel);
/* Finds the ends of both axes of a panel; ends that the description leaves open come from the data. */
void chart_scales(const struct chart_panel *panel, struct chart_scale *x, struct chart_scale *y);
/* Half the distance between neighbouring centres: a heat map reaches this far beyond its outer centres. */
double chart_half_step(const double *centres, int count);
/* The scale of a heat map's colour bar. */
struct chart_scale chart_heat_scale(const struct chart_heat *heat);

#endif
