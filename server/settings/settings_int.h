/* Private to settings.c and settings_read.c. */
#ifndef MOTIF_SERVER_SETTINGS_SETTINGS_INT_H
#define MOTIF_SERVER_SETTINGS_SETTINGS_INT_H

#include "core/base/values.h"
#include "server/settings/settings.h"

extern const struct config_field settings_table[]; /* ends with a row without a name, which settings_count leaves out */
extern const size_t settings_count;
#define SETTINGS_MAX 96

/* Sets a setting from text. STATUS_INVALID says what is allowed. */
enum status settings_set(const struct config_field *setting, struct settings *settings, const char *text,
                         struct error *err);
/* Writes the name of a setting in the environment, or its key in the file. */
void settings_name_in(const struct config_field *setting, bool environment, char *out, size_t out_bytes);

#endif
