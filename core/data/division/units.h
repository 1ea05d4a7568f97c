/* Makes the units of a plan (plan.h) from samples: one unit for each group or for each sample. A sample is open until a
 * part has been chosen for it, and only open samples belong to units. */
#ifndef MOTIF_CORE_DATA_DIVISION_UNITS_H
#define MOTIF_CORE_DATA_DIVISION_UNITS_H

#include "core/data/division/plan.h"
#include "core/data/uploads/collection.h"

enum { DIVISION_OPEN = 255 }; /* the part of an open sample */

struct division_units {
    struct plan_units plan;
    int64_t *size, *start, *times, *sample_unit; /* sample_unit: [samples] index of the unit that contains the sample;
                                                    -1: the sample is not open */
    uint64_t *key;
    int32_t *name;
    unsigned char *part; /* [units] the plan writes the part of each unit here */
};
/* Makes units of all open samples, with their sizes and names. The caller zeroes `u` before, and closes it afterwards,
 * even after an error. STATUS_NO_MEMORY. */
enum status division_units(const struct collection *c, const unsigned char *part, bool groups, struct division_units *u,
                           struct error *err);
void division_units_close(struct division_units *u);

/* Returns how many names a plan distinguishes: those of the vocabulary, and one that stands for "no name". 0: the
 * targets are numbers, or there are none. */
int division_names(const struct collection *c);
/* Calls `take` once for each different name of the sample. seen: [division_names()], which the caller zeroes before the
 * first sample. */
void division_each_name(const struct collection *c, int64_t sample, int64_t *seen,
                        void (*take)(void *context, int64_t sample, int32_t name), void *context);

#endif
