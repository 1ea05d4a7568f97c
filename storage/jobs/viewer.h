/* Who may see a row: how the caller of a request is related to the owner of a job, a study or a data set.
 *
 * Every row has an owner (the name of a token; "": it was made while the daemon required no tokens), the owner's team
 * ("": the team without a name) and a visibility. This folder only determines the relation. Which relation allows what
 * is decided above (api/rights/rights.h); storage receives the result as a set of relations. Pure functions. */
#ifndef MOTIF_STORAGE_JOBS_VIEWER_H
#define MOTIF_STORAGE_JOBS_VIEWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORAGE_TEAM 32 /* bytes of the name of a team, with its NUL */
#define VIEWER_NAME 128 /* bytes of the name of a token, with its NUL */

enum visibility { VISIBILITY_TEAM, VISIBILITY_PRIVATE, VISIBILITY_EVERYONE, VISIBILITIES }; /* the first one is usual */

/* Returns "team", "private" or "everyone". */
const char *visibility_name(enum visibility visibility);
/* Reads such a text; false: it is none. */
bool visibility_parse(const char *text, enum visibility *out);

enum relation {
    RELATION_OWNER,    /* the caller is the owner; a row without an owner belongs to its whole team */
    RELATION_TEAM,     /* the caller is in the owner's team, and the row is not private */
    RELATION_PRIVATE,  /* the caller is in the owner's team, but the row is private */
    RELATION_EVERYONE, /* another team, but everyone may see the row */
    RELATION_NONE,     /* another team */
    RELATIONS
};

struct viewer {
    char name[VIEWER_NAME];  /* name of the caller's token; "": none */
    char team[STORAGE_TEAM]; /* its team; "": the team without a name */
    unsigned sees;           /* the relations whose rows the caller may see: bit r stands for relation r */
};
#define VIEWER_SEES_ALL ((1u << RELATIONS) - 1)

/* Returns the relation of the caller to a row. */
enum relation viewer_relation(const struct viewer *viewer, const char *owner, const char *team,
                              enum visibility visibility);

/* The same as an SQL condition on the columns owner, team and visibility. Its parameters are the values of the macro
 * VIEWER_VALUES(viewer), of which the third is negative if the caller sees all rows. viewer: NULL stands for a caller
 * who sees all rows. */
#define VIEWER_VALUES(viewer)                                                                                          \
    (viewer) != NULL ? (viewer)->name : "", (viewer) != NULL ? (viewer)->team : "", viewer_set(viewer)
int64_t viewer_set(const struct viewer *viewer);
#define VIEWER_SEES(name, of_team, set)                                                                                \
    "(" set " < 0 OR (" set " >> CASE WHEN owner <> '' AND owner = " name " THEN 0 WHEN team = " of_team               \
    " THEN CASE WHEN owner = '' THEN 0 WHEN visibility = 'private' THEN 2 ELSE 1 END"                                  \
    " WHEN visibility = 'everyone' THEN 3 ELSE 4 END) & 1)"

#endif
