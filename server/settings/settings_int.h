/* Private to settings.c and settings_read.c. */
#ifndef MOTIF_SERVER_SETTINGS_SETTINGS_INT_H
#define MOTIF_SERVER_SETTINGS_SETTINGS_INT_H

#include "server/settings/settings.h"

enum setting_type { SETTING_TEXT, SETTING_INT };

struct setting {
    const char *name; /* name of the flag without dashes, such as "threads-per-job" */
    enum setting_type type;
    size_t offset;
    const char *preset;
    int64_t min, max;
    const char *placeholder, *meaning;
};

extern const struct setting settings_table[];
extern const size_t settings_count;
#define SETTINGS_MAX 48

/* Sets a setting from text. Returns false and fills `detail` when the value is not allowed. */
bool settings_set(const struct setting *setting, struct settings *settings, const char *value, char *detail,
                  size_t detail_bytes);
/* Writes the name of a setting in the environment, or its key in the file. */
void settings_name_in(const struct setting *setting, bool environment, char *out, size_t out_bytes);

#endif
