/* The rows of a method's list of fields, its fields.inc, and rows that several methods have.
 *
 *   INTEGER(name, default, low, high, unit, group, level, applies, meaning)      NAMED_INTEGER("name", member, ...)
 *   CLOSED(...)   a number in [low, high]        REAL_IN(name, default, low, high, low_open, high_open, unit, ...)
 *   FLAG(name, default, group, level, applies, meaning)
 *   CHOICE(name, default, group, level, applies, meaning)                        NAMED_CHOICE(name, member, ...)
 *   TEXT(name, unit, group, level, applies, meaning)
 *
 * GROUP and LEVEL are written without their prefixes (MODEL, BASIC); `applies` says when the field has an effect, NULL
 * for always (core/base/config.h). A choice NAME takes its values from the array NAME_names. field_members.inc makes
 * members of the configuration's struct from the rows of FIELDS_FILE, and field_rows.inc makes rows of its table.
 *
 * Methods without a fields.inc write rows of FIELD_STRUCT with the macros ..._FIELD below. */
#ifndef MOTIF_CORE_METHODS_SHARED_FIELDS_H
#define MOTIF_CORE_METHODS_SHARED_FIELDS_H

#include <stddef.h>

#include "core/base/config.h"

/* clang-format off */
#define INTEGER_FIELD(name, preset, low, high, unit, group, level, applies, meaning)                                   \
    {#name, FIELD_INT, offsetof(FIELD_STRUCT, name), preset, low, high, false, false, NULL, unit, meaning,             \
     GROUP_##group, LEVEL_##level, applies}
/* A number in [low, high]. */
#define REAL_FIELD(name, preset, low, high, unit, group, level, applies, meaning)                                      \
    {#name, FIELD_REAL, offsetof(FIELD_STRUCT, name), preset, low, high, false, false, NULL, unit, meaning,            \
     GROUP_##group, LEVEL_##level, applies}
/* A number in (low, high]. */
#define POSITIVE_FIELD(name, preset, low, high, unit, group, level, applies, meaning)                                  \
    {#name, FIELD_REAL, offsetof(FIELD_STRUCT, name), preset, low, high, true, false, NULL, unit, meaning,             \
     GROUP_##group, LEVEL_##level, applies}
/* A number in [low, high). */
#define BELOW_FIELD(name, preset, low, high, unit, group, level, applies, meaning)                                     \
    {#name, FIELD_REAL, offsetof(FIELD_STRUCT, name), preset, low, high, false, true, NULL, unit, meaning,             \
     GROUP_##group, LEVEL_##level, applies}
/* A number in (low, high). */
#define BETWEEN_FIELD(name, preset, low, high, unit, group, level, applies, meaning)                                   \
    {#name, FIELD_REAL, offsetof(FIELD_STRUCT, name), preset, low, high, true, true, NULL, unit, meaning,              \
     GROUP_##group, LEVEL_##level, applies}
#define FLAG_FIELD(name, preset, group, level, applies, meaning)                                                       \
    {#name, FIELD_BOOL, offsetof(FIELD_STRUCT, name), preset, 0, 1, false, false, NULL, "", meaning,                   \
     GROUP_##group, LEVEL_##level, applies}
/* For a choice whose field has another name (`name`) than the member of the struct (`member`). */
#define CHOICE_FIELD_OF(name, member, preset, group, level, applies, meaning)                                          \
    {#name, FIELD_CHOICE, offsetof(FIELD_STRUCT, member), preset, 0, 0, false, false, name##_names, "", meaning,       \
     GROUP_##group, LEVEL_##level, applies}
#define CHOICE_FIELD(name, preset, group, level, applies, meaning)                                                     \
    CHOICE_FIELD_OF(name, name, preset, group, level, applies, meaning)
#define TEXT_FIELD(name, unit, group, level, applies, meaning)                                                         \
    {#name, FIELD_TEXT, offsetof(FIELD_STRUCT, name), "", 0, 0, false, false, NULL, unit, meaning,                     \
     GROUP_##group, LEVEL_##level, applies}
/* clang-format on */

/* Fields that every method has. `uses` ends the sentence "Seed of ...". */
#define THREADS_MEANING "Threads of this job, which change its speed and not its result; 0 lets the daemon choose."
#define SEED_AND_THREADS(uses)                                                                                         \
    INTEGER(seed, "1", 0, CONFIG_INT_MAX, "", DATA, BASIC, NULL, "Seed of " uses ".")                                  \
    INTEGER(threads, "0", 0, 256, "threads", OPTIMIZER, ADVANCED, NULL, THREADS_MEANING)
#define SEED_AND_THREADS_FIELDS(uses)                                                                                  \
    INTEGER_FIELD(seed, "1", 0, CONFIG_INT_MAX, "", DATA, BASIC, NULL, "Seed of " uses "."),                           \
        INTEGER_FIELD(threads, "0", 0, 256, "threads", OPTIMIZER, ADVANCED, NULL, THREADS_MEANING)

/* Fields of the methods that fit from several starts (multi_start.h). screen: the
 * field that counts how long all starts train. */
#define FIT_FIELDS(screen, screen_unit, screen_most, checkpoint_samples)                                               \
    INTEGER_FIELD(restarts, "1", 1, MULTI_START_MOST, "fits", OPTIMIZER, ADVANCED, NULL,                               \
                  "Fits from different initial weights, of which the run keeps the one with the lowest objective; "    \
                  "more fits take more time and depend less on chance."),                                              \
        INTEGER_FIELD(screen, "0", 0, screen_most, screen_unit, OPTIMIZER, ADVANCED, NULL,                             \
                      "Length of training after which the run keeps the best of the restarts and ends the others; a "  \
                      "larger one chooses more reliably and takes more time, and 0 trains all to their end."),         \
        INTEGER_FIELD(total_samples, "1000000000", 1, CONFIG_INT_MAX, "samples", OPTIMIZER, ADVANCED, NULL,            \
                      "Upper limit of the training samples of each fit; a larger one allows longer training."),        \
        INTEGER_FIELD(checkpoint_every, checkpoint_samples, 1, CONFIG_INT_MAX, "samples", OPTIMIZER, ADVANCED, NULL,   \
                      "Training samples between two checkpoints; a larger number stores fewer checkpoints, and a "     \
                      "crash loses more work.")

#endif
