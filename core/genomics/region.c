/* Reads the coordinates in the names of records. */
#include "core/genomics/region.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Reads a decimal number of at most 18 digits at *at; -1 if there are no digits. */
static int64_t digits(const char **at)
{
    int64_t value = 0;
    int count = 0;
    for (; isdigit((unsigned char)**at) && count < 18; (*at)++, count++)
        value = 10 * value + (**at - '0');
    return count > 0 ? value : -1;
}

void region_parse(const char *record, enum coordinates coordinates, struct region *out)
{
    *out = (struct region){.end = INT64_MAX};
    snprintf(out->name, sizeof out->name, "%s", record);
    const char *twice = strstr(record, "::"), *from = twice ? twice + 2 : record, *colon = strrchr(from, ':');
    if (coordinates == COORDINATES_RECORD || !colon || colon == from)
        return;
    const char *at = colon + 1;
    int64_t start = digits(&at), end = *at == '-' ? (at++, digits(&at)) : -1;
    bool reverse = strcmp(at, "(-)") == 0;
    start -= coordinates == COORDINATES_UCSC;
    if (start < 0 || end <= start || (*at != '\0' && strcmp(at, "(+)") != 0 && strcmp(at, "(.)") != 0 && !reverse))
        return;
    snprintf(out->name, sizeof out->name, "%.*s", (int)(colon - from), from);
    out->start = start;
    out->end = end;
    out->reverse = reverse;
}

int64_t region_start(const struct region *region, int64_t from, int64_t to)
{
    return region->reverse ? region->end - to : region->start + from;
}
