/* The rows of a method's list of fields, its fields.inc, and rows that several methods have.
 *
 *   INTEGER(name, default, low, high, unit, group, level, applies, meaning)      NAMED_INTEGER("name", member, ...)
 *   CLOSED(...)   a number in [low, high]        REAL_IN(name, default, low, high, low_open, high_open, unit, ...)
 *   FLAG(name, default, group, level, applies, meaning)
 *   CHOICE(name, default, group, level, applies, meaning)                        NAMED_CHOICE(name, member, ...)
 *   CHOICE_OF(name, values, ...)   a choice of the array `values`
 *   TEXT(name, default, unit, group, level, applies, meaning)
 *   LIST(name, ...)   texts with commas between them, of up to CONFIG_LIST bytes; JSON may give a list of texts
 *   PART(name) ... PART_END(name)   the rows between them are members of `struct name_config name` within the struct
 *
 * GROUP and LEVEL are written without their prefixes (MODEL, BASIC); `applies` says when the field has an effect, NULL
 * for always (core/base/config.h). FIELD_PREFIX is a text before the names of fields, and FIELD_PLACE is `name.`
 * between PART(name) and PART_END(name); both are empty unless the list defines them anew. A choice NAME takes its
 * values from the array NAME_names. field_members.inc makes members of the configuration's struct from the rows of
 * FIELDS_FILE, and field_rows.inc makes rows of its table, that of FIELD_STRUCT. Short lists, such as the parameters of
 * a query, may be a macro, FIELDS_LIST, instead of a file. */
#ifndef MOTIF_CORE_METHODS_SHARED_FIELDS_H
#define MOTIF_CORE_METHODS_SHARED_FIELDS_H

#include <stddef.h>

#include "core/base/config.h"

/* Fields that every method has. `uses` ends the sentence "Seed of ...". */
#define SEED_AND_THREADS(uses)                                                                                         \
    INTEGER(seed, "1", 0, CONFIG_INT_MAX, "", DATA, BASIC, NULL, "Seed of " uses ".")                                  \
    INTEGER(threads, "0", 0, 256, "threads", OPTIMIZER, ADVANCED, NULL,                                                \
            "Threads of this job, which change its speed and not its result; 0 lets the daemon choose.")

/* Fields of the methods that train on uploaded tables: the client's choice of the columns' scale, of the array `names`,
 * and the fact that follows from it and from the data set (source_fit()), of the array `facts`. Jobs that were
 * submitted before there were scales have the fact `usual`. `more` continues the meaning. */
#define SCALE_FIELDS(names, applies, more, facts, usual)                                                               \
    CHOICE_OF(scale, names, "auto", DATA, ADVANCED, applies,                                                           \
              "Scale of a table's columns, whose statistics are those of the training rows: none, standard (mean and " \
              "deviation), robust (median and interquartile range), counts (share of the row's total, logarithm, "     \
              "then standard), or auto (as the data set states, else counts or standard by the values)" more           \
              "; answers are in the units of the file.")                                                               \
    CHOICE_OF(scaling, facts, usual, DATA, FACT, applies, "How the columns of the table are scaled for the model.")

/* Fields of the methods that read rows (rows.h). */
#define ROWS_FIELDS(applies)                                                                                           \
    CHOICE_OF(dataset_split, division_splits, "auto", EVALUATION, ADVANCED, applies,                                   \
              "What is divided into training and test rows: blocks of neighbouring rows (samples), whole groups, or "  \
              "as the file states (part); auto uses parts, else groups, else blocks.")                                 \
    TEXT(dataset_test_group, "", "", EVALUATION, ADVANCED, applies,                                                    \
         "Names of the groups that are the test part, separated by commas; empty: a tenth of the samples, in whole "   \
         "groups.")

/* Fields of the methods that fit from several starts (multi_start.h). screen: the
 * field that counts how long all starts train. */
#define FIT_FIELDS(screen, screen_unit, screen_most, checkpoint_samples)                                               \
    INTEGER(restarts, "1", 1, MULTI_START_MOST, "fits", OPTIMIZER, ADVANCED, NULL,                                     \
            "Fits from different initial weights, of which the run keeps the one with the lowest objective; "          \
            "more fits take more time and depend less on chance.")                                                     \
    INTEGER(screen, "0", 0, screen_most, screen_unit, OPTIMIZER, ADVANCED, NULL,                                       \
            "Length of training after which the run keeps the best of the restarts and ends the others; a "            \
            "larger one chooses more reliably and takes more time, and 0 trains all to their end.")                    \
    INTEGER(total_samples, "1000000000", 1, CONFIG_INT_MAX, "samples", OPTIMIZER, ADVANCED, NULL,                      \
            "Upper limit of the training samples of each fit; a larger one allows longer training.")                   \
    INTEGER(checkpoint_every, checkpoint_samples, 1, CONFIG_INT_MAX, "samples", OPTIMIZER, ADVANCED, NULL,             \
            "Training samples between two checkpoints; a larger number stores fewer checkpoints, and a "               \
            "crash loses more work.")

#endif
