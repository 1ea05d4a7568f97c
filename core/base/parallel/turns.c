/* A ring of owners, as a list whose first owner is next, and a queue of turns for each (turns.h). A new owner is first.
 * An owner of whom nothing waits or works stays in the ring only while it has a debt and something else waits. */
#include "core/base/parallel/turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The bucket of an owner loses one of LEAK microseconds, and holds at most LEVEL_US. */
enum { LEAK = 4, LEVEL_US = 250000 };

struct turns_owner {
    char name[TURNS_OWNER];
    int64_t balance_us;
    int64_t level_us, leaked_us; /* a leaky bucket: how full it is, and when that was */
    int working, waiting;
    struct turn *first, **end;
    struct turns_owner *next;
};

struct turns {
    struct turns_limits limits;
    int working, waiting;
    struct turns_owner *ring;
};

static int64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* How full the bucket of an owner is now. */
static int64_t level_of(const struct turns_owner *owner, int64_t now)
{
    int64_t level = owner->level_us - (now - owner->leaked_us) / LEAK;
    return level > 0 ? level : 0;
}

enum status turns_create(const struct turns_limits *limits, struct turns **turns, struct error *err)
{
    struct turns *made = calloc(1, sizeof *made);
    *turns = made;
    if (made == NULL)
        return error_memory(err, "the order of requests");
    made->limits = *limits;
    return STATUS_OK;
}

/* Removes each owner whose queue is empty and whose work has ended, unless its balance is negative or it was busy just
 * now. If nothing waits at all, every balance starts again. */
static void turns_tidy(struct turns *turns, int64_t now)
{
    for (struct turns_owner **link = &turns->ring; *link != NULL;) {
        struct turns_owner *owner = *link;
        if (turns->waiting == 0)
            owner->balance_us = TURNS_QUANTUM_US;
        if (owner->working > 0 || owner->waiting > 0 || owner->balance_us < 0 ||
            level_of(owner, now) > TURNS_BUSY_US / 2) {
            link = &owner->next;
            continue;
        }
        *link = owner->next;
        free(owner);
    }
}

void turns_destroy(struct turns *turns)
{
    if (turns == NULL)
        return;
    turns->waiting = 0;
    turns_tidy(turns, INT64_MAX);
    free(turns);
}

/* Puts an owner at the end of the ring. */
static void turns_append(struct turns *turns, struct turns_owner *owner)
{
    struct turns_owner **link = &turns->ring;
    while (*link != NULL)
        link = &(*link)->next;
    *link = owner;
    owner->next = NULL;
}

static struct turns_owner *turns_find(struct turns *turns, const char *name)
{
    for (struct turns_owner *owner = turns->ring; owner != NULL; owner = owner->next)
        if (strncmp(owner->name, name, TURNS_OWNER - 1) == 0)
            return owner;
    struct turns_owner *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    (void)snprintf(made->name, sizeof made->name, "%s", name);
    made->balance_us = TURNS_QUANTUM_US;
    made->end = &made->first;
    made->next = turns->ring;
    turns->ring = made;
    return made;
}

bool turns_wait(struct turns *turns, struct turn *turn)
{
    const struct turns_limits *limits = &turns->limits;
    struct turns_owner *owner = turns_find(turns, turn->owner);
    bool own = turn->owner[0] != '\0' && limits->waiting_of_owner > 0;
    if (owner == NULL || (limits->waiting > 0 && turns->waiting >= limits->waiting) ||
        (own && owner->waiting >= limits->waiting_of_owner))
        return false;
    turn->of = owner;
    turn->next = NULL;
    turn->works = false;
    *owner->end = turn;
    owner->end = &turn->next;
    owner->waiting++;
    turns->waiting++;
    return true;
}

static bool turns_may(const struct turns *turns, const struct turns_owner *owner)
{
    const struct turns_limits *limits = &turns->limits;
    bool named = owner->name[0] != '\0';
    int room = limits->slots + (named && owner->working == 0 ? limits->spare : 0);
    return owner->waiting > 0 && turns->working < room &&
           (!named || limits->of_owner == 0 || owner->working < limits->of_owner);
}

/* The number of rounds after which the balance of an owner is positive. */
static int64_t rounds_of(const struct turns_owner *owner)
{
    return owner->balance_us > 0 ? 0 : -owner->balance_us / TURNS_QUANTUM_US + 1;
}

static void turns_unlink(struct turns *turns, struct turns_owner *owner)
{
    struct turns_owner **link = &turns->ring;
    while (*link != owner)
        link = &(*link)->next;
    *link = owner->next;
}

bool turns_busy(const struct turn *turn)
{
    return level_of(turn->of, now_us()) > TURNS_BUSY_US;
}

struct turn *turns_next(struct turns *turns, bool busy)
{
    struct turns_owner *best = NULL;
    int64_t now = now_us();
    for (struct turns_owner *owner = turns->ring; owner != NULL; owner = owner->next)
        if (turns_may(turns, owner) && (!busy || level_of(owner, now) > TURNS_BUSY_US) &&
            (best == NULL || rounds_of(owner) < rounds_of(best)))
            best = owner;
    if (best == NULL)
        return NULL;
    int64_t more = rounds_of(best) * TURNS_QUANTUM_US;
    for (struct turns_owner *owner = turns->ring; more > 0 && owner != NULL; owner = owner->next)
        owner->balance_us = owner->balance_us + more < TURNS_QUANTUM_US ? owner->balance_us + more : TURNS_QUANTUM_US;
    struct turn *turn = best->first;
    best->first = turn->next;
    if (best->first == NULL)
        best->end = &best->first;
    best->waiting--;
    turns->waiting--;
    best->working++;
    turns->working++;
    best->balance_us -= TURNS_QUANTUM_US;
    turns_unlink(turns, best);
    turns_append(turns, best);
    turn->works = true;
    turn->began_us = now;
    return turn;
}

/* Takes a turn out of the queue of its owner. */
static void turns_leave(struct turns *turns, struct turn *turn)
{
    struct turns_owner *owner = turn->of;
    struct turn **link = &owner->first;
    while (*link != turn)
        link = &(*link)->next;
    *link = turn->next;
    if (turn->next == NULL)
        owner->end = link;
    owner->waiting--;
    turns->waiting--;
}

void turns_end(struct turns *turns, struct turn *turn, int64_t used_us)
{
    struct turns_owner *owner = turn->of;
    int64_t now = now_us();
    if (turn->works) {
        int64_t level = level_of(owner, now) + used_us;
        owner->level_us = level < LEVEL_US ? level : LEVEL_US;
        owner->leaked_us = now;
        owner->balance_us += TURNS_QUANTUM_US - used_us;
        owner->working--;
        turns->working--;
    } else {
        turns_leave(turns, turn);
    }
    turn->works = false;
    turn->of = NULL;
    turns_tidy(turns, now);
}

int turns_waiting(const struct turns *turns)
{
    return turns->waiting;
}

int turns_working(const struct turns *turns)
{
    return turns->working;
}

int64_t turns_worked_us(const struct turn *turn)
{
    return now_us() - turn->began_us;
}
