/* The relation of a caller to a row, and the names of visibilities. */
#include "storage/jobs/viewer.h"

#include <string.h>

int64_t viewer_set(const struct viewer *viewer)
{
    return viewer == NULL || viewer->sees == VIEWER_SEES_ALL ? -1 : (int64_t)viewer->sees;
}

static const char *const visibility_names[VISIBILITIES] = {"team", "private", "everyone"};

const char *visibility_name(enum visibility visibility)
{
    return visibility_names[visibility < VISIBILITIES ? visibility : VISIBILITY_PRIVATE];
}

bool visibility_parse(const char *text, enum visibility *out)
{
    for (int i = 0; i < VISIBILITIES; i++)
        if (text != NULL && strcmp(text, visibility_names[i]) == 0) {
            *out = (enum visibility)i;
            return true;
        }
    return false;
}

enum relation viewer_relation(const struct viewer *viewer, const char *owner, const char *team,
                              enum visibility visibility)
{
    if (owner[0] != '\0' && strcmp(owner, viewer->name) == 0)
        return RELATION_OWNER;
    if (strcmp(team, viewer->team) != 0)
        return visibility == VISIBILITY_EVERYONE ? RELATION_EVERYONE : RELATION_NONE;
    if (owner[0] == '\0')
        return RELATION_OWNER;
    return visibility == VISIBILITY_PRIVATE ? RELATION_PRIVATE : RELATION_TEAM;
}
