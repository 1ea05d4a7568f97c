/* motifd check-config FILE: validates a job, or the settings of a daemon, without a daemon. A document with a member
 * "kind" is a job. Every fault is printed, one per line. */
#include "server/commands/commands.h"
#include "server/commands/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/job_spec.h"
#include "protocol/json.h"
#include "server/daemon.h"
#include "server/process/files.h"
#include "server/settings/settings.h"

#define FILE_MAX (1u << 20)

static void print_fault(void *context, const char *setting, const char *source, const char *detail)
{
    (void)printf("/%s: %s\n", setting, detail);
}

static int check_job(const char *text, size_t size)
{
    struct api_job_rules rules = {0};
    struct api_job_spec spec = {0};
    struct error err = {0};
    struct api_faults *faults = calloc(1, sizeof *faults);
    if (faults == NULL) {
        (void)fprintf(stderr, "motifd check-config: not enough memory\n");
        return EXIT_FAULT;
    }
    rules.methods = methods_all(&rules.method_count);
    enum status status = api_job_parse(&rules, text, size, &spec, faults, &err);
    for (size_t i = 0; i < faults->count; i++)
        (void)printf("%s: %s\n", faults->items[i].pointer, faults->items[i].detail);
    if (faults->more > 0)
        (void)printf("and %zu more\n", faults->more);
    if (!status) {
        (void)printf("a job of kind %s: no faults\n", spec.method->kind);
        api_job_spec_close(&spec);
    } else if (faults->count == 0) {
        (void)printf("%s: %s\n", err.pointer, err.message);
    }
    free(faults);
    return !status ? EXIT_OK : EXIT_FAULT;
}

static int check_settings(const char *text, size_t size)
{
    struct settings settings;
    struct settings_faults faults = {.add = print_fault};
    settings_defaults(&settings);
    if (settings_read_json(&settings, text, size, NULL, &faults))
        return EXIT_FAULT;
    (void)printf("settings of the daemon: no faults\n");
    return EXIT_OK;
}

static const struct config_field no_options[] = {OPTIONS_END};
static const char *const lines[] = {"check-config FILE", NULL};
static const struct command_usage usage = {
    .name = "check-config",
    .lines = lines,
    .text = "Validates FILE (- for standard input): a job as POST /v1/jobs accepts it, or the settings of the daemon, "
            "as JSON.\n"
            "Use it before a submission or a restart. It prints every fault with its place, and exits with 1 if there "
            "is one.\n",
    .options = no_options,
    .example = "  motifd check-config motifd.json\n"
               "  echo '{\"kind\": \"sparling\", \"preset\": \"digitcircle-quick\"}' | motifd check-config -\n",
    .least = 1,
    .most = 1,
};

int command_check_config(int argc, char **argv)
{
    struct error err = {0};
    struct options given;
    cJSON *root = NULL;
    size_t size = 0;
    int code = EXIT_FAULT;
    if (!command_read(&usage, argc, argv, &given, &code))
        return code;
    char *text = file_read(given.positional[0], FILE_MAX, &size, &err);
    if (text == NULL) {
        (void)fprintf(stderr, "motifd check-config: %s\n", err.message);
        return EXIT_USAGE;
    }
    code = EXIT_FAULT;
    if (json_parse(text, size, &root, &err))
        (void)printf("%s: %s\n", err.pointer, err.message);
    else if (cJSON_GetObjectItemCaseSensitive(root, "kind") != NULL)
        code = check_job(text, size);
    else
        code = check_settings(text, size);
    cJSON_Delete(root);
    free(text);
    return code;
}
