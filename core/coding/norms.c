/* Local norms by sliding windows (norms.h). */
#include "core/coding/norms.h"

#include <math.h>

static double weigh(float value, int alpha)
{
    return alpha == 0 ? (double)(value != 0) : (double)value * (double)value;
}

/* `in` and `out` are circles of `count` values that are `stride` elements apart. Value i of `out` is the sum of the
 * `window` values of `in` from value i on. */
static void slide(const double *in, double *out, int count, int stride, int window)
{
    int length = window < count ? window : count;
    double sum = 0;
    for (int i = 0; i < length; i++)
        sum += in[(size_t)i * (size_t)stride];
    for (int i = 0, enters = length < count ? length : 0; i < count; i++) {
        out[(size_t)i * (size_t)stride] = sum;
        sum += in[(size_t)enters * (size_t)stride] - in[(size_t)i * (size_t)stride];
        enters = enters + 1 < count ? enters + 1 : 0;
    }
}

double local_norm(const struct local_window *w, const float *map, int alpha, double *scratch)
{
    size_t positions = (size_t)w->height * (size_t)w->width;
    double *cells = scratch, *sums = scratch + positions, largest = 0;
    for (size_t i = 0; i < positions; i++) {
        cells[i] = 0;
        for (int c = 0; c < w->channels; c++)
            cells[i] += weigh(map[i * (size_t)w->channels + (size_t)c], alpha);
    }
    for (int y = 0; y < w->height; y++)
        slide(cells + (size_t)y * (size_t)w->width, sums + (size_t)y * (size_t)w->width, w->width, 1, w->window_w);
    for (int x = 0; x < w->width; x++)
        slide(sums + x, cells + x, w->height, w->width, w->window_h);
    for (size_t i = 0; i < positions; i++)
        largest = cells[i] > largest ? cells[i] : largest;
    return alpha == 0 ? largest : sqrt(largest);
}

double local_norm_literal(const float *map, size_t count, size_t window, int alpha)
{
    size_t length = window < count ? window : count;
    double sum = 0, largest = 0;
    for (size_t i = 0; i < length; i++)
        sum += weigh(map[i], alpha);
    for (size_t i = 0, enters = length < count ? length : 0; i < count; i++) {
        largest = sum > largest ? sum : largest;
        sum += weigh(map[enters], alpha) - weigh(map[i], alpha);
        enters = enters + 1 < count ? enters + 1 : 0;
    }
    return alpha == 0 ? largest : sqrt(largest);
}
