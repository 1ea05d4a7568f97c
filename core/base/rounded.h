/* Counts whole numbers that single precision changes: from 2^24 on, a float does not represent each of them. Readers
 * count them and warn; fractions of double precision are expected to lose digits. */
#ifndef MOTIF_CORE_BASE_ROUNDED_H
#define MOTIF_CORE_BASE_ROUNDED_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define ROUNDED_FROM 16777216 /* 2^24 */

struct rounded {
    int64_t count;
    char first[200]; /* the first of them: its place and its value */
};

static inline bool rounded_double(double value)
{
    return fabs(value) > ROUNDED_FROM && (double)(float)value != value && value == floor(value);
}

/* The same for an integer of any size: a float has 24 bits. */
static inline bool rounded_integer(uint64_t magnitude)
{
    return magnitude > ROUNDED_FROM && magnitude >> __builtin_ctzll(magnitude) > ROUNDED_FROM;
}

/* Counts one number; the text is what is said of the first. */
__attribute__((format(printf, 2, 3))) static inline void rounded_add(struct rounded *r, const char *format, ...)
{
    va_list list;
    if (r->count++ > 0)
        return;
    va_start(list, format);
    (void)vsnprintf(r->first, sizeof r->first, format, list);
    va_end(list);
}

/* Adds the counts of a part, such as a member of an archive. */
static inline void rounded_join(struct rounded *r, const struct rounded *part, const char *where)
{
    if (r->count == 0 && part->count > 0)
        (void)snprintf(r->first, sizeof r->first, "%.60s%s%.130s", where, where[0] ? ", " : "", part->first);
    r->count += part->count;
}

/* Puts the name of the file that has the first number before its place. */
static inline void rounded_within(struct rounded *r, const char *where)
{
    struct rounded part = *r;
    r->count = 0;
    rounded_join(r, &part, where);
}

#endif
