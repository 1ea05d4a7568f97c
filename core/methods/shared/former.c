/* Reads lists of values in configurations of earlier versions (former.h). */
#include "core/methods/shared/former.h"

#include <stdio.h>
#include <string.h>

bool former_last(const struct method_stored *stored, const char *list, const struct config_table *table,
                 const char *field, void *config)
{
    const char *text = former_text(stored, list), *comma = strrchr(text, ','), *colon = strchr(text, ':');
    const char *last = comma ? comma + 1 : colon ? colon + 1 : text;
    char value[CONFIG_TEXT];
    struct error ignored = {0}; /* the value was in range when the job was submitted */
    snprintf(value, sizeof value, "%.*s", (int)strcspn(last, ":"), last);
    return value[0] != '\0' && config_parse(config_find(table, field), config, value, &ignored) == STATUS_OK;
}
