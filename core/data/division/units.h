/* The units of a division: groups, or single samples. For the files of this folder. */
#ifndef MOTIF_CORE_DATA_DIVISION_UNITS_H
#define MOTIF_CORE_DATA_DIVISION_UNITS_H

#include "core/data/division/plan.h"
#include "core/data/uploads/collection.h"

enum { DIVISION_OPEN = 255 }; /* value of a sample's part until it is divided */

struct division_units {
    struct plan_units plan;
    int64_t *size, *start, *times, *sample_unit; /* sample_unit: [samples] index of the sample's unit, or -1 */
    uint64_t *key;
    int32_t *name;
    unsigned char *part; /* [units] for the planned parts */
};
/* Collects the units of the samples whose part is DIVISION_OPEN. The caller closes `u`, which it has zeroed, after an
 * error too. STATUS_NO_MEMORY. */
enum status division_units(const struct collection *c, const unsigned char *part, bool groups, struct division_units *u,
                           struct error *err);
void division_units_close(struct division_units *u);

/* Number of names in samples: those of the vocabulary, and one more for samples without a name. Numbers have none. */
int division_names(const struct collection *c);
/* Calls `take` for each different name of a sample. seen: [division_names()] zeroed before the first sample. */
void division_each_name(const struct collection *c, int64_t sample, int64_t *seen,
                        void (*take)(void *context, int64_t sample, int32_t name), void *context);
uint64_t division_name_key(const char *name); /* hash of a group's name */

#endif
