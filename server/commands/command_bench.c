/* motifd bench NAME: runs a benchmark of bench/ and prints what it found, as one JSON object or for a person. */
#include "server/commands/commands.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/json/json_sink.h"
#include "bench/bench.h"
#include "core/kernels/blas.h"
#include "server/daemon.h"

#define RESULT_MAX (4u << 20)
#define COLUMNS_MAX 24
#define SETTINGS_MAX 32

static const char usage[] =
    "usage: motifd bench NAME [--preset P] [--kernels ref|avx2|avx512] [--threads N] [--batch N] [--density D]\n"
    "                         [--backward dense|sparse|auto] [--set FIELD=VALUE ...]\n"
    "                         [--seconds S] [--clock wall|processor] [--json]\n"
    "       motifd bench --list\n"
    "\n"
    "--json prints exactly one JSON object. Two numbers of a measurement are its best and its median.\n"
    "--preset, --backward and --set are of those with a network (sparling-step, sparling-forward, step-breakdown); "
    "--set changes it:\n"
    "width, image_size, precision, ... (motifctl kinds sparling).\n"
    "--clock processor counts the time on a processor, of all threads: for one thread on a busy machine.\n";

struct bench_command {
    struct bench_options options;
    const char *name;
    struct config_setting set[SETTINGS_MAX + 1]; /* of options.set */
    int settings;
    bool json, list, help;
};

/* ---- for a person ------------------------------------------------------------------------------------ */

static void cell(const cJSON *value, char *out, size_t out_bytes)
{
    if (cJSON_IsString(value)) {
        (void)snprintf(out, out_bytes, "%s", value->valuestring);
    } else if (cJSON_IsNumber(value)) {
        (void)snprintf(out, out_bytes, "%.6g", value->valuedouble);
    } else if (cJSON_IsBool(value)) {
        (void)snprintf(out, out_bytes, "%s", cJSON_IsTrue(value) ? "yes" : "no");
    } else {
        (void)snprintf(out, out_bytes, "-");
    }
}

/* A list of objects with the same members, as a table. */
static void print_table(const cJSON *list)
{
    int width[COLUMNS_MAX] = {0};
    char text[128];
    const cJSON *row, *member;
    cJSON_ArrayForEach (row, list) {
        int column = 0;
        cJSON_ArrayForEach (member, row) {
            cell(member, text, sizeof text);
            int needed = (int)(strlen(text) > strlen(member->string) ? strlen(text) : strlen(member->string));
            if (column < COLUMNS_MAX && needed > width[column]) {
                width[column] = needed;
            }
            column++;
        }
    }
    for (int line = -1; line < cJSON_GetArraySize(list); line++) {
        int column = 0;
        cJSON_ArrayForEach (member, cJSON_GetArrayItem(list, line < 0 ? 0 : line)) {
            cell(member, text, sizeof text);
            (void)printf("  %*s", column < COLUMNS_MAX ? width[column] : 0, line < 0 ? member->string : text);
            column++;
        }
        (void)printf("\n");
    }
}

static void print_object(const cJSON *object)
{
    char text[256];
    const cJSON *member;
    cJSON_ArrayForEach (member, object) {
        if (cJSON_IsArray(member) && cJSON_IsObject(member->child)) {
            (void)printf("%s\n", member->string);
            print_table(member);
        } else if (cJSON_IsObject(member)) {
            (void)printf("%s\n", member->string);
            print_object(member);
        } else {
            cell(member, text, sizeof text);
            (void)printf("%-24s %s\n", member->string, text);
        }
    }
}

/* ---- the command ---------------------------------------------------------------------------------------- */

static bool read_number(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0.0 && *out < 1e9;
}

/* FIELD=VALUE; cuts the text in two. */
static bool read_setting(struct bench_command *command, char *text)
{
    char *value = strchr(text, '=');
    if (value == NULL || command->settings == SETTINGS_MAX) {
        return false;
    }
    *value = '\0';
    command->set[command->settings++] = (struct config_setting){text, value + 1};
    command->options.set = command->set;
    return true;
}

static bool read_options(struct bench_command *command, int argc, char **argv)
{
    static const struct option flags[] = {{"preset", required_argument, NULL, 'p'},
                                          {"kernels", required_argument, NULL, 'k'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"batch", required_argument, NULL, 'b'},
                                          {"density", required_argument, NULL, 'd'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"backward", required_argument, NULL, 'B'},
                                          {"set", required_argument, NULL, 'S'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"list", no_argument, NULL, 'l'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"clock", required_argument, NULL, 'c'},
                                          {NULL, 0, NULL, 0}};
    struct bench_options *options = &command->options;
    bool good = true;
    optind = 1;
    for (int flag; (flag = getopt_long(argc, argv, "h", flags, NULL)) != -1;) {
        double number = 0.0;
        good = good && flag != '?' && (strchr("tbds", flag) == NULL || read_number(optarg, &number));
        switch (flag) {
        case 'p':
            options->preset = optarg;
            break;
        case 'k':
            options->kernels = optarg;
            break;
        case 't':
            options->threads = (int)number;
            break;
        case 'b':
            options->batch = (int)number;
            break;
        case 'd':
            options->density = number;
            break;
        case 's':
            options->seconds = number;
            break;
        case 'B':
            options->backward = optarg;
            break;
        case 'S':
            good = good && read_setting(command, optarg);
            break;
        case 'c':
            options->processor_time = strcmp(optarg, "processor") == 0;
            good = good && (options->processor_time || strcmp(optarg, "wall") == 0);
            break;
        case 'j':
            command->json = true;
            break;
        case 'l':
            command->list = true;
            break;
        case 'h':
            command->help = true;
            break;
        default:
            break;
        }
    }
    command->name = optind < argc ? argv[optind] : NULL;
    return good && argc - optind <= 1 && (command->name != NULL || command->list || command->help);
}

static void print_list(bool json)
{
    struct json_sink sink;
    struct buf out;
    buf_init(&out, RESULT_MAX);
    json_sink_init(&sink, &out);
    sink_begin_object(&sink.sink, NULL);
    for (const struct bench *bench = bench_list(); bench->name != NULL; bench++) {
        sink_text(&sink.sink, bench->name, bench->meaning);
        if (!json) {
            (void)printf("  %-16s %s\n", bench->name, bench->meaning);
        }
    }
    sink_end_object(&sink.sink);
    if (json && json_sink_done(&sink)) {
        (void)puts(out.data);
    }
    buf_close(&out);
}

static int run(const struct bench_command *command)
{
    struct json_sink sink;
    struct buf out;
    struct error err = {0};
    cJSON *root = NULL;
    buf_init(&out, RESULT_MAX);
    json_sink_init(&sink, &out);
    blas_init();
    enum status status = bench_run(command->name, &command->options, &sink.sink, &err);
    if (status == STATUS_OK && !json_sink_done(&sink)) {
        status = error_set(&err, STATUS_INTERNAL, NULL, "the result is not one object");
    }
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "motifd bench: %s%s%s\n", err.pointer, err.pointer[0] != '\0' ? ": " : "", err.message);
    } else if (command->json) {
        (void)puts(out.data);
    } else if (json_parse(out.data, out.size, &root, &err) == STATUS_OK) {
        print_object(root);
    }
    cJSON_Delete(root);
    buf_close(&out);
    return status == STATUS_OK                                      ? EXIT_OK
           : status == STATUS_INVALID || status == STATUS_NOT_FOUND ? EXIT_USAGE
                                                                    : EXIT_FAULT;
}

int command_bench(int argc, char **argv)
{
    struct bench_command command = {.name = NULL};
    if (!read_options(&command, argc, argv)) {
        (void)fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (command.help) {
        (void)fputs(usage, stdout);
        return EXIT_OK;
    }
    if (command.list) {
        print_list(command.json);
        return EXIT_OK;
    }
    return run(&command);
}
