/* A breadth-first search over the states of a protocol: finds every state that the events can lead to, and checks that
 * from each of them events can lead to an end. */
#ifndef MOTIF_TESTS_UNIT_STORAGE_SEARCH_H
#define MOTIF_TESTS_UNIT_STORAGE_SEARCH_H

#include "tests/support/unit.h"

enum { WORLD = 64, MOST = 1 << 22, SLOTS = 1 << 23 };

struct search {
    unsigned char (*worlds)[WORLD]; /* [MOST] the states in the order in which they were found */
    uint32_t *slots;                /* [SLOTS] hash table of the states: index of the state + 1; 0: free */
    uint32_t *from;                 /* [MOST] for each state, the index of the state from which it was reached */
    uint32_t (*edges)[2];           /* every step: the indices of the states before and after it */
    size_t edge_room;
    const char **by; /* [MOST] for each state, the event that led to it */
    size_t count, at, steps;
    size_t bytes;
    const char *broken; /* the invariant that does not hold; NULL: all hold */
};

static void search_begin(struct search *s, const void *world, size_t bytes)
{
    *s = (struct search){.worlds = malloc((size_t)MOST * WORLD),
                         .slots = calloc(SLOTS, sizeof *s->slots),
                         .from = malloc(MOST * sizeof *s->from),
                         .by = malloc(MOST * sizeof *s->by),
                         .count = 1,
                         .bytes = bytes};
    assert_true(bytes <= WORLD && s->worlds != NULL && s->slots != NULL && s->from != NULL && s->by != NULL);
    memset(s->worlds[0], 0, WORLD);
    memcpy(s->worlds[0], world, bytes);
    s->by[0] = "start";
    s->from[0] = 0;
}

static void search_end(struct search *s)
{
    free(s->worlds);
    free(s->slots);
    free(s->from);
    free(s->edges);
    free((void *)s->by);
}

static void add_edge(struct search *s, size_t to)
{
    if (s->steps == s->edge_room) {
        s->edge_room = s->edge_room > 0 ? 2 * s->edge_room : 1 << 16;
        s->edges = realloc(s->edges, s->edge_room * sizeof *s->edges);
        assert_non_null(s->edges);
    }
    s->edges[s->steps][0] = (uint32_t)s->at;
    s->edges[s->steps++][1] = (uint32_t)to;
}

/* Sets s->broken and s->at if some state has no way to a state in which everything has ended. Repeats passes over the
 * steps, the newest first, until no pass finds another state with such a way. */
static void check_every_state_ends(struct search *s, bool (*ended)(const void *world), const char *what)
{
    unsigned char *ends = malloc(s->count);
    assert_non_null(ends);
    for (size_t i = 0; i < s->count; i++)
        ends[i] = ended(s->worlds[i]);
    for (bool more = true; more;) {
        more = false;
        for (size_t e = s->steps; e-- > 0;)
            if (!ends[s->edges[e][0]] && ends[s->edges[e][1]])
                ends[s->edges[e][0]] = more = true;
    }
    for (size_t i = 0; i < s->count && s->broken == NULL; i++)
        if (!ends[i]) {
            s->broken = what;
            s->at = i;
        }
    free(ends);
}

/* Adds a state that an event leads to. */
static void reach(struct search *s, const void *world, const char *event)
{
    unsigned char padded[WORLD] = {0};
    uint64_t hash = 0xcbf29ce484222325u;
    memcpy(padded, world, s->bytes);
    for (size_t i = 0; i < s->bytes; i++)
        hash = (hash ^ padded[i]) * 0x100000001b3u;
    size_t slot = (size_t)(hash ^ hash >> 29) % SLOTS;
    for (; s->slots[slot] != 0; slot = (slot + 1) % SLOTS)
        if (memcmp(s->worlds[s->slots[slot] - 1], padded, WORLD) == 0) {
            add_edge(s, s->slots[slot] - 1);
            return;
        }
    assert_true(s->count < MOST);
    add_edge(s, s->count);
    memcpy(s->worlds[s->count], padded, WORLD);
    s->from[s->count] = (uint32_t)s->at;
    s->by[s->count] = event;
    s->slots[slot] = (uint32_t)++s->count;
}

/* Prints the events that lead to the state in which an invariant does not hold, the last one first. */
static void explain(const struct search *s)
{
    printf("broken: %s\n", s->broken);
    for (size_t i = s->at; i != 0; i = s->from[i])
        printf("  after: %s\n", s->by[i]);
}

#endif
