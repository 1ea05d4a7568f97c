/* Plans how units of data are divided into parts of requested sizes.
 *
 *   unit     what the plan never splits: a group of samples, such as a patient, or a single sample
 *   name     a label that samples have; a unit has the names of its samples
 *   rank     a random number of each unit, from the seed and the unit's key. It decides between units and parts that
 *            are otherwise equal, so that the order of the file has no influence
 *   lack     weight of a part that has no unit with some name
 *   excess   weight of a part's size beyond PLAN_TOLERANCE from the request
 *   whole    the part (training) that should have every name, even a name that has fewer units than there are parts
 *
 * A plan is a pure function of its arguments. First, iterative stratification (K. Sechidis, G. Tsoumakas, I. Vlahavas,
 * On the stratification of multi-label data, ECML PKDD 2011) gives each unit to a part: it takes units with the rarest
 * names first, and gives each to the part that is furthest below its request. Then the planner moves single units and
 * exchanges pairs as long as this lowers the cost. The cost adds up missing names, sizes beyond the tolerance, and the
 * squared differences between requested and planned shares. For few units the planner repeats this from several
 * orders, and keeps the plan of the lowest cost. */
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
    const uint64_t *key; /* [count] identifies the unit, whatever its index; the unit's rank follows from it */
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
    /* The part that should have every name, even one that fewer units have than there are parts; -1: none */
    int whole;
    bool names_first; /* true: a missing name costs more than a wrong size; false: the size costs more */
    uint64_t seed;
};

/* Writes the part of each unit to part[count]. There must be at least as many units as parts; every part gets one. Any
 * thread. STATUS_NO_MEMORY. */
enum status plan_make(const struct plan_units *units, const struct plan_request *request, unsigned char *part,
                      struct error *err);

#endif
