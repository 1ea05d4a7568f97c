/* Parses lists of numbers and names in text fields of a configuration (value_list.h). Several methods describe their
 * sweeps by such lists. */
#include "core/methods/shared/value_list.h"

#include <stdlib.h>
#include <string.h>

int value_list_numbers(const char *text, double low, double high, double *out, int room)
{
    int count = 0;
    char *end;
    for (const char *at = text; *at; at = *end ? end + 1 : end) {
        double value = strtod(at, &end);
        if (end == at || (*end && *end != ',') || (*end == ',' && !end[1]) || !(value >= low && value <= high) ||
            count == room)
            return -1;
        out[count++] = value;
    }
    return count;
}

int value_list_names(const char *text, const char *const *names, int *out, int room)
{
    int count = 0;
    for (const char *at = text; *at;) {
        size_t bytes = strcspn(at, ",");
        int found = -1;
        for (int i = 0; names[i]; i++)
            if (strlen(names[i]) == bytes && memcmp(names[i], at, bytes) == 0)
                found = i;
        if (found < 0 || count == room || (at[bytes] && !at[bytes + 1]))
            return -1;
        out[count++] = found;
        at += bytes + (at[bytes] != 0);
    }
    return count;
}
