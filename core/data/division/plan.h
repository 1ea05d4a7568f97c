/* Plans how units of data, such as patients or single samples, are divided into parts of requested sizes.
 *
 * A plan is a pure function of its arguments. It first gives units to parts by iterative stratification (K. Sechidis,
 * G. Tsoumakas, I. Vlahavas, On the stratification of multi-label data, ECML PKDD 2011): units with the rarest name
 * first, each to the part that lacks most. Then it moves and exchanges units as long as that lowers the cost: parts
 * that lack a name, sizes that differ from the request by more than PLAN_TOLERANCE, and the squared differences of all
 * shares. With few units it repeats this from several orders and keeps the plan of the lowest cost. */
#ifndef MOTIF_CORE_DATA_DIVISION_PLAN_H
#define MOTIF_CORE_DATA_DIVISION_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

#define PLAN_TOLERANCE 0.02 /* sizes may differ from the request by this share of all samples */
enum { PLAN_PARTS = 100 };  /* most parts */

struct plan_units {
    int64_t count;
    const int64_t *size; /* [count] samples of a unit, at least 1 */
    const uint64_t *key; /* [count] what orders units that are otherwise alike; different for different units */
    /* Names of unit i: name[start[i]] to name[start[i + 1]], all different, in [0, names). times: how many samples of
     * the unit have the name. */
    const int64_t *start;
    const int32_t *name;
    const int64_t *times;
    int names;
};

struct plan_request {
    int parts;
    double share[PLAN_PARTS]; /* requested size of each part as a share of all samples, above 0; the sum is 1 */
    /* A part that must have every name of the data, even those that have fewer units than there are parts; -1: none */
    int whole;
    bool names_first; /* that a part has a name counts more than its size; false: it counts less */
    uint64_t seed;
};

/* Writes the part of each unit to part[count]. There must be at least as many units as parts; every part gets one. Any
 * thread. STATUS_NO_MEMORY. */
enum status plan_make(const struct plan_units *units, const struct plan_request *request, unsigned char *part,
                      struct error *err);

#endif
