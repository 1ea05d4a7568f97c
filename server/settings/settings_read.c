/* Reads the four sources of settings, strongest first: flags, environment, file, defaults. `taken` records the settings
 * that a stronger source has given. A weaker source does not overwrite them, but its values are still checked. */
#include "server/settings/settings_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/config_json.h"
#include "protocol/json.h"
#include "core/base/options.h"
#include "server/process/files.h"

#define FILE_MAX (1u << 20)

static void add_fault(const struct settings_faults *faults, size_t *count, const char *setting, const char *source,
                      const char *detail)
{
    (*count)++;
    if (faults != NULL && faults->add != NULL)
        faults->add(faults->context, setting, source, detail);
}

/* ---- flags ------------------------------------------------------------------------------------------- */

/* Returns the setting that was probably meant by a name: one with a similar name, or the one that other programs call
 * by this name. NULL: there is none. */
static const char *setting_meant(const char *name)
{
    static const char *const others[][2] = {
        {"database", "db"}, {"port", "listen"}, {"host", "listen"}, {"bind", "listen"}, {"address", "listen"}};
    struct name_guess guess = {.given = name};
    for (size_t i = 0; i < settings_count; i++)
        name_guess_offer(&guess, settings_table[i].name);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        guess.best = strcmp(name, others[i][0]) == 0 ? others[i][1] : guess.best;
    return guess.best;
}

/* Writes the message about an unknown flag. */
static void unknown_flag(const char *word, char *detail, size_t detail_bytes)
{
    char name[64];
    const char *from = word + strspn(word, "-");
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(from, "="), from);
    const char *meant = setting_meant(name);
    (void)snprintf(detail, detail_bytes, "is not known%s%s%s", meant != NULL ? "; did you mean --" : "",
                   meant != NULL ? meant : "", meant != NULL ? "?" : "");
}

static void read_flag(struct settings *settings, const struct option_item *item, bool *taken,
                      const struct settings_faults *faults, size_t *count)
{
    struct error err = {0};
    taken[item->spec - settings_table] = true;
    if (settings_set(item->spec, settings, item->value, &err))
        add_fault(faults, count, item->spec->name, "flag", err.message);
}

static size_t read_flags(struct settings *settings, int argc, char **argv, bool *taken,
                         const struct settings_faults *faults, bool *help)
{
    static const struct config_field help_option[] = {OPTION_FLAG("help", ""), OPTIONS_END};
    char detail[160];
    size_t count = 0;
    struct option_reader reader = {.own = settings_table, .shared = help_option, .argc = argc - 1, .argv = argv + 1};
    struct option_item item;
    while (options_next(&reader, &item)) {
        if (item.fault == OPTION_UNKNOWN) {
            unknown_flag(item.word, detail, sizeof detail);
            add_fault(faults, &count, item.word, "flag", detail);
        } else if (item.fault != OPTION_FINE) {
            add_fault(faults, &count, item.word, "flag",
                      item.fault == OPTION_VALUE_MISSING ? "needs a value" : "takes no value");
        } else if (item.spec == NULL) {
            add_fault(faults, &count, item.word, "flag", "is not expected here");
        } else if (item.spec == &help_option[0]) {
            *help = true;
        } else {
            read_flag(settings, &item, taken, faults, &count);
        }
    }
    return count;
}

/* ---- environment --------------------------------------------------------------------------------------- */

static size_t read_environment(struct settings *settings, bool *taken, const struct settings_faults *faults)
{
    struct settings scratch = *settings;
    char name[64];
    size_t count = 0;
    for (size_t i = 0; i < settings_count; i++) {
        struct error err = {0};
        settings_name_in(&settings_table[i], true, name, sizeof name);
        const char *value = getenv(name);
        if (value == NULL || value[0] == '\0')
            continue;
        if (settings_set(&settings_table[i], taken[i] ? &scratch : settings, value, &err))
            add_fault(faults, &count, name, "environment", err.message);
        taken[i] = true;
    }
    return count;
}

/* ---- file ---------------------------------------------------------------------------------------------- */

static const struct config_field *find_key(const char *key)
{
    char key_name[64];
    for (size_t i = 0; i < settings_count; i++) {
        settings_name_in(&settings_table[i], false, key_name, sizeof key_name);
        if (strcmp(key_name, key) == 0 && strcmp(key, "config") != 0)
            return &settings_table[i];
    }
    return NULL;
}

/* Writes the message about an unknown member of a file. The names in a file have "_" where flags have "-". */
static void unknown_member(const char *key, char *detail, size_t detail_bytes)
{
    char name[64], meant[64] = "";
    (void)snprintf(name, sizeof name, "%s", key);
    for (char *at = name; *at != '\0'; at++)
        *at = *at == '_' ? '-' : *at;
    const char *best = setting_meant(name);
    for (size_t i = 0; best != NULL && i < settings_count; i++)
        if (strcmp(settings_table[i].name, best) == 0)
            settings_name_in(&settings_table[i], false, meant, sizeof meant);
    (void)snprintf(detail, detail_bytes, "is not a setting%s%s%s", meant[0] != '\0' ? "; did you mean '" : "", meant,
                   meant[0] != '\0' ? "'?" : "");
}

static void read_member(struct settings *settings, const cJSON *member, const bool *taken, size_t *count,
                        const struct settings_faults *faults)
{
    struct settings scratch = *settings;
    char text[32], detail[160];
    struct error err = {0};
    const struct config_field *setting = find_key(member->string);
    const char *value = cJSON_IsString(member) ? member->valuestring : NULL;
    if (setting == NULL) {
        unknown_member(member->string, detail, sizeof detail);
        add_fault(faults, count, member->string, "file", detail);
        return;
    }
    if (setting->type == FIELD_INT) {
        if (!cJSON_IsNumber(member) || member->valuedouble != floor(member->valuedouble)) {
            (void)snprintf(detail, sizeof detail, "must be an integer, not %s", json_type_name(member));
            add_fault(faults, count, member->string, "file", detail);
            return;
        }
        (void)snprintf(text, sizeof text, "%.0f", member->valuedouble);
        value = text;
    } else if (value == NULL) {
        (void)snprintf(detail, sizeof detail, "must be text, not %s", json_type_name(member));
        add_fault(faults, count, member->string, "file", detail);
        return;
    }
    bool skip = taken != NULL && taken[setting - settings_table];
    if (settings_set(setting, skip ? &scratch : settings, value, &err))
        add_fault(faults, count, member->string, "file", err.message);
}

enum status settings_read_json(struct settings *settings, const char *text, size_t size, const bool *taken,
                               const struct settings_faults *faults)
{
    cJSON *root = NULL;
    struct error err = {0};
    size_t count = 0;
    if (json_parse(text, size, &root, &err)) {
        add_fault(faults, &count, err.pointer, "file", err.message);
        return STATUS_INVALID;
    }
    if (!cJSON_IsObject(root))
        add_fault(faults, &count, "", "file", "must be a JSON object with settings as members");
    else
        for (const cJSON *member = root->child; member != NULL; member = member->next)
            read_member(settings, member, taken, &count, faults);
    cJSON_Delete(root);
    return count > 0 ? STATUS_INVALID : STATUS_OK;
}

enum status settings_read(struct settings *settings, int argc, char **argv, const struct settings_faults *faults,
                          bool *help)
{
    bool taken[SETTINGS_MAX] = {false};
    settings_defaults(settings);
    size_t count = read_flags(settings, argc, argv, taken, faults, help);
    if (*help)
        return STATUS_OK;
    count += read_environment(settings, taken, faults);
    if (settings->config[0] != '\0') {
        struct error err = {0};
        size_t size = 0;
        char *text = file_read(settings->config, FILE_MAX, &size, &err);
        if (text == NULL)
            add_fault(faults, &count, "config", "file", err.message);
        else if (settings_read_json(settings, text, size, taken, faults))
            count++;
        free(text);
    }
    return count > 0 ? STATUS_INVALID : STATUS_OK;
}
