/* Who may work next: slots are shared fairly between owners, by deficit round robin (Shreedhar and Varghese 1996).
 *
 * Each owner has a queue of waiting work and a balance of microseconds. Starting work subtracts one quantum from the
 * balance. When the work ends, the balance is corrected to the time that the work really took. A free slot goes to the
 * first owner in the ring whose work waits and whose balance is positive. If no balance is positive, a quantum is added
 * to all balances until one is. So an owner of long work waits until others have had as much time. When no work waits,
 * all balances start again.
 *
 * An owner is busy if its work of the last second took TURNS_BUSY_US more than a quarter of the time. Its work may then
 * run at a lower priority than that of others.
 *
 * The caller locks: one thread at a time may call these functions. */
#ifndef MOTIF_CORE_BASE_PARALLEL_TURNS_H
#define MOTIF_CORE_BASE_PARALLEL_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

enum { TURNS_OWNER = 80, TURNS_QUANTUM_US = 10000, TURNS_BUSY_US = 20000 };

struct turns;
struct turns_owner;

struct turns_limits {
    int slots;    /* how much works at the same time */
    int spare;    /* so many slots more, for owners of whom nothing works yet: their first work does not wait */
    int of_owner; /* the most slots of one owner; 0: all of them */
    int waiting, waiting_of_owner; /* how much may wait, and of one owner; 0: no limit */
};

/* Something that waits or works. The caller provides the memory. */
struct turn {
    const char *owner; /* "": unknown; the limits of an owner do not apply */
    void *item;        /* for the caller */
    /* private */
    struct turns_owner *of;
    struct turn *next;
    int64_t began_us;
    bool works;
};

enum status turns_create(const struct turns_limits *limits, struct turns **turns, struct error *err);
void turns_destroy(struct turns *turns); /* NULL is allowed */

/* Puts a turn at the end of its owner's queue. False: too much waits, or there is no memory. */
bool turns_wait(struct turns *turns, struct turn *turn);
/* Starts the turn that is next, and returns it; NULL: nothing waits that may work now. busy: only turns of busy owners.
 */
struct turn *turns_next(struct turns *turns, bool busy);
/* Whether the owner of a turn is busy. */
bool turns_busy(const struct turn *turn);
/* Ends a turn that works and took `used_us` microseconds, or takes one that waits out of its queue. */
void turns_end(struct turns *turns, struct turn *turn, int64_t used_us);
/* How many turns wait, and work. */
int turns_waiting(const struct turns *turns);
int turns_working(const struct turns *turns);
/* Microseconds since a turn started. */
int64_t turns_worked_us(const struct turn *turn);

#endif
