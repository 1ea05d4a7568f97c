/* Faults that a check found in a client's document or query. A check collects all faults instead of stopping at the
 * first, so that a client can repair them in one pass.
 *
 * Pure functions; any thread. */
#ifndef MOTIF_PROTOCOL_FAULTS_H
#define MOTIF_PROTOCOL_FAULTS_H

#include <stddef.h>

#define API_FAULTS_MAX 64 /* further faults are counted but not stored */

struct api_fault {
    char pointer[128]; /* JSON pointer (RFC 6901), such as "/config/density_start"; for a query, the name of the
                          parameter */
    char detail[256];  /* such as "must be in (0, 1]; got 3" */
};
struct api_faults {
    struct api_fault items[API_FAULTS_MAX];
    size_t count; /* number of faults in `items` */
    size_t more;  /* number of further faults, which are not stored */
};

/* Adds a fault; `format` gives its detail. */
void api_faults_add(struct api_faults *faults, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes the JSON pointer prefix + "/" + name; the name is escaped. */
void fault_pointer(char out[128], const char *prefix, const char *name);

/* Finds the candidate that the client probably meant by a wrong name. Start with {.given = name} and pass every
 * candidate to name_guess_offer(). Then `best` is the nearest one, or NULL if none is similar. Candidates are borrowed.
 */
struct name_guess {
    const char *given, *best;
    size_t distance;
};
void name_guess_offer(struct name_guess *guess, const char *candidate);
/* Adds the fault "is not WHAT; did you mean 'BEST'?". Without a best candidate, adds only "is not WHAT". */
void name_guess_fault(const struct name_guess *guess, const char *what, const char *pointer, struct api_faults *faults);

#endif
