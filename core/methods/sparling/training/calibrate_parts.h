/* The thresholds of several channels of one name (channels_per_name). */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_CALIBRATE_PARTS_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_CALIBRATE_PARTS_H

#include <stdbool.h>

/* The largest peaks of the channels of a name in samples. */
struct part_peaks {
    int parts, samples;
    const float *peak; /* [parts][samples] */
    const bool *has;   /* [samples] whether the label has the name */
};
/* Finds for each channel the peak above which it should be active, so that the presences of all channels say most about
 * the name: the conditional entropy of the name, given which channels are active, is the lowest. Each channel is moved
 * in turn until none moves any more. cut: [parts]; order: [samples] scratch. */
void calibrate_parts(const struct part_peaks *peaks, float *cut, int *order);

#endif
