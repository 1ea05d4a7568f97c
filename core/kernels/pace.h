/* The speed of this machine, to predict how long a job will take. */
#ifndef MOTIF_CORE_KERNELS_PACE_H
#define MOTIF_CORE_KERNELS_PACE_H

struct kernels; /* kernels.h */

/* Returns the speed of one thread divided by the speed of the processor on which the methods' costs were measured.
 * Takes some 10 ms of processor time. The function measures processor time only, so that other programs on the
 * machine hardly change the result. 0 if the time cannot be measured or memory is short. Any thread. */
double kernels_pace(const struct kernels *kernels);

#endif
