/* The table of settings, the checks of their values, and their help text. */
#include "server/settings/settings.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/options.h"
#include "server/settings/settings_int.h"
#include "server/signin/claims.h"
#include "server/signin/jwt.h"
#include "server/signin/proxy.h"

static enum status executors_allowed(const char *value, struct error *err)
{
    static const char *const names[] = {"thread", "process", "mpirun", "slurm"};
    unsigned seen = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        unsigned bit = 0;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            bit = strlen(names[i]) == length && strncmp(at, names[i], length) == 0 ? 1u << i : bit;
        if (bit == 0 || (seen & bit) != 0)
            return error_set(err, STATUS_INVALID, NULL,
                             "must be names of executors, separated by commas, each once: thread, process, mpirun, "
                             "slurm");
        seen |= bit;
        at += length;
        if (*at == '\0')
            return STATUS_OK;
    }
}

static enum status listen_allowed(const char *value, struct error *err)
{
    char host[128];
    uint16_t port;
    bool loopback;
    return settings_address(value, host, sizeof host, &port, &loopback, err);
}

static enum status secret_allowed(const char *value, struct error *err)
{
    return value[0] == '\0' || strlen(value) >= 16
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "must have at least 16 characters");
}

static enum status url_allowed(const char *value, struct error *err)
{
    return value[0] == '\0' || strncmp(value, "http://", 7) == 0 || strncmp(value, "https://", 8) == 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "must begin with http:// or https://");
}

static enum status file_allowed(const char *value, struct error *err)
{
    return value[0] != '\0' ? STATUS_OK : error_set(err, STATUS_INVALID, NULL, "must be the name of a file");
}

static enum status algorithms_allowed(const char *value, struct error *err)
{
    return jwt_algorithms_known(value)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL,
                           "must be RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or ES512, separated by "
                           "commas");
}

static enum status claim_allowed(const char *value, struct error *err)
{
    return value[0] != '\0' ? STATUS_OK : error_set(err, STATUS_INVALID, NULL, "must be a name");
}

static enum status addresses_allowed(const char *value, struct error *err)
{
    return proxy_addresses_sound(value)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "must be numeric addresses, separated by commas");
}

static enum status teams_allowed(const char *value, struct error *err)
{
    return claims_teams_sound(value)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "must be VALUE=TEAM, separated by commas, with names of teams");
}

static enum status roles_allowed(const char *value, struct error *err)
{
    return claims_roles_sound(value)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL,
                           "must be VALUE=ROLE, separated by commas, with reader, member, manager or admin as roles");
}

static const char *const log_levels[] = {"debug", "info", "warn", "error", NULL};

#define SETTING_TEXT(flag, member, usual, values, rule, placeholder, text)                                             \
    {.name = flag,                                                                                                     \
     .type = FIELD_TEXT,                                                                                               \
     .offset = offsetof(struct settings, member),                                                                      \
     .preset = usual,                                                                                                  \
     .max = SETTINGS_TEXT - 1,                                                                                         \
     .choices = values,                                                                                                \
     .unit = placeholder,                                                                                              \
     .meaning = text},
#define SETTING_INTEGER(flag, member, usual, low, high, placeholder, text)                                             \
    {.name = flag,                                                                                                     \
     .type = FIELD_INT,                                                                                                \
     .offset = offsetof(struct settings, member),                                                                      \
     .preset = usual,                                                                                                  \
     .min = low,                                                                                                       \
     .max = high,                                                                                                      \
     .unit = placeholder,                                                                                              \
     .meaning = text},
const struct config_field settings_table[] = {
#include "server/settings/settings.inc"
    OPTIONS_END};

#undef SETTING_TEXT
#undef SETTING_INTEGER
#define SETTING_TEXT(flag, member, usual, values, rule, ...) rule,
#define SETTING_INTEGER(...) NULL,
static enum status (*const checks[])(const char *text, struct error *err) = {
#include "server/settings/settings.inc"
};

const size_t settings_count = sizeof settings_table / sizeof settings_table[0] - 1;
_Static_assert(sizeof settings_table / sizeof settings_table[0] <= SETTINGS_MAX, "SETTINGS_MAX is too small");

enum status settings_set(const struct config_field *setting, struct settings *settings, const char *text,
                         struct error *err)
{
    struct value value;
    enum status (*check)(const char *text, struct error *err) = checks[setting - settings_table];
    enum status status = value_read(setting, VALUE_SETTING, text, &value, err);
    if (!status && check != NULL)
        status = check(text, err);
    if (!status)
        value_store(setting, settings, &value);
    return status;
}

void settings_defaults(struct settings *settings)
{
    memset(settings, 0, sizeof *settings);
    for (size_t i = 0; i < settings_count; i++)
        (void)settings_set(&settings_table[i], settings, settings_table[i].preset, NULL);
}

/* Converts threads-per-job to MOTIFD_THREADS_PER_JOB or threads_per_job. */
void settings_name_in(const struct config_field *setting, bool environment, char *out, size_t out_bytes)
{
    int used = snprintf(out, out_bytes, "%s%s", environment ? "MOTIFD_" : "", setting->name);
    for (int i = 0; i < used && (size_t)i < out_bytes; i++)
        if (out[i] == '-')
            out[i] = '_';
        else if (environment && out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
}

bool settings_help(FILE *to)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < settings_count; i++) {
        const struct config_field *setting = &settings_table[i];
        char flag[64], name[64];
        (void)snprintf(flag, sizeof flag, "--%s %s", setting->name, setting->unit);
        settings_name_in(setting, true, name, sizeof name);
        buf_format(&out, "  %-32s ", flag);
        buf_wrap(&out, setting->meaning, strlen(setting->meaning), 35, 35, HELP_COLUMNS);
        const char *preset = setting->preset;
        size_t columns = 35 + strlen("[, default ]") + strlen(name) + strlen(preset);
        buf_format(&out, "\n  %-32s [%s", "", name);
        if (preset[0] != '\0' && columns > HELP_COLUMNS)
            buf_format(&out, ",\n  %-32s default %s", "", preset);
        else if (preset[0] != '\0')
            buf_format(&out, ", default %s", preset);
        buf_text(&out, "]\n");
    }
    bool whole = !out.failed;
    whole = fputs(whole ? out.data : "not enough memory for the help\n", to) >= 0 && whole;
    buf_close(&out);
    return whole;
}

static bool split_address(const char *listen, char *host, size_t host_bytes, const char **port_text)
{
    const char *colon = strrchr(listen, ':');
    size_t length = colon != NULL ? (size_t)(colon - listen) : 0;
    *port_text = colon != NULL ? colon + 1 : listen;
    if (length >= 2 && listen[0] == '[' && listen[length - 1] == ']') {
        listen++;
        length -= 2;
    } else if (memchr(listen, ':', length) != NULL) {
        return false; /* an IPv6 address without brackets */
    }
    if (length >= host_bytes)
        return false;
    memcpy(host, length > 0 ? listen : "127.0.0.1", length > 0 ? length : sizeof "127.0.0.1");
    if (length > 0)
        host[length] = '\0';
    if (strcmp(host, "localhost") == 0)
        (void)snprintf(host, host_bytes, "127.0.0.1");
    return true;
}

enum status settings_address(const char *listen, char *host, size_t host_bytes, uint16_t *port, bool *loopback,
                             struct error *err)
{
    const char *port_text = NULL;
    struct in_addr v4;
    struct in6_addr v6;
    if (host_bytes < 16 || !split_address(listen, host, host_bytes, &port_text))
        return error_set(err, STATUS_INVALID, NULL, "must be ADDR:PORT or [ADDR]:PORT");
    char *end = NULL;
    long number = strtol(port_text, &end, 10);
    if (port_text[0] < '0' || port_text[0] > '9' || *end != '\0' || number > 65535)
        return error_set(err, STATUS_INVALID, NULL, "must end in a port in [0, 65535]");
    *port = (uint16_t)number;
    if (inet_pton(AF_INET, host, &v4) == 1)
        *loopback = ntohl(v4.s_addr) >> 24 == 127;
    else if (inet_pton(AF_INET6, host, &v6) == 1)
        *loopback = IN6_IS_ADDR_LOOPBACK(&v6);
    else
        return error_set(err, STATUS_INVALID, NULL, "must begin with a numeric address or localhost");
    return STATUS_OK;
}
