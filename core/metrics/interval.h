/* Confidence intervals of a share and of a correlation. Pure functions; any thread. */
#ifndef MOTIF_CORE_METRICS_INTERVAL_H
#define MOTIF_CORE_METRICS_INTERVAL_H

struct interval {
    double low, high;
};

/* Wilson's confidence interval of a share (E. B. Wilson, Probable inference, JASA 22, 1927). share: in [0, 1],
 * measured on `count` independent samples. z: the normal quantile, 1.96 for 95 %. With count <= 0 the interval is
 * [0, 1]. */
struct interval interval_share(double share, double count, double z);

/* Fisher's interval of a correlation coefficient r, measured on `count` samples: tanh(atanh r -+ z / sqrt(count - 3)).
 * With count <= 3, or r NaN, the interval is [-1, 1]. */
struct interval interval_correlation(double r, double count, double z);

#endif
