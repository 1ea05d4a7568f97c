/* motifd bench NAME: runs a benchmark of bench/ and prints its result, as one JSON object or as tables for a person. */
#include "server/commands/commands.h"
#include "server/commands/usage.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/json.h"
#include "protocol/json_sink.h"
#include "bench/bench.h"
#include "core/kernels/blas.h"
#include "server/daemon.h"

#define RESULT_MAX (4u << 20)
#define COLUMNS_MAX 24
#define SETTINGS_MAX 32
#define NUMBER_MAX 999999999.0

static const struct config_field option_table[] = {
    OPTION_FLAG("list", "list the benchmarks"),
    OPTION_FLAG("json", "print exactly one JSON object"),
    OPTION_NUMBER("threads", "N", NULL, 0, NUMBER_MAX,
                  "threads (2; 1 and 2 where a benchmark compares numbers of threads)"),
    OPTION_NUMBER("seconds", "S", NULL, 0, NUMBER_MAX, "seconds for each measurement (chosen by the benchmark)"),
    OPTION_TEXT("kernels", "NAME", "ref, avx2 or avx512 (the fastest of this processor)"),
    OPTION_TEXT(
        "clock", "NAME",
        "wall, or processor: the processor time of all threads, useful with one thread on a busy machine (wall)"),
    OPTION_NUMBER("batch", "N", NULL, 0, NUMBER_MAX, "samples in a batch"),
    OPTION_NUMBER("density", "D", NULL, 0, NUMBER_MAX, "share of motif positions that are active"),
    OPTION_TEXT("preset", "P", "size of the network: small, paper, ... (small)"),
    OPTION_TEXT("backward", "NAME", "dense, sparse or auto, for benchmarks with a network"),
    OPTION_TEXT("set", "FIELD=VALUE", "changes one field of the preset (width, image_size, ...); may be repeated"),
    OPTIONS_END,
};
static const char *const lines[] = {"bench NAME [options]", "bench --list [--json]", NULL};
static const struct command_usage usage = {
    .name = "bench",
    .lines = lines,
    .text = "Measures a part of the program on this machine. Use it to compare machines, builds or settings. Where a\n"
            "measurement shows two numbers, the first is the best run and the second the median. The benchmarks\n"
            "sparling-step, sparling-forward and step-breakdown have a network: --preset, --backward and --set change\n"
            "it. `motifctl kinds sparling` lists the fields for --set.\n",
    .options = option_table,
    .example = "  motifd bench sparling-step --preset small --threads 2 --seconds 5\n",
    .least = 0,
    .most = 1,
};

struct bench_command {
    struct bench_options options;
    const char *name;
    struct config_setting set[SETTINGS_MAX + 1]; /* the array behind options.set */
    int settings;
    bool json, list;
};

/* ---- for a person ------------------------------------------------------------------------------------ */

static void cell(const cJSON *value, char *out, size_t out_bytes)
{
    if (cJSON_IsString(value))
        (void)snprintf(out, out_bytes, "%s", value->valuestring);
    else if (cJSON_IsNumber(value))
        (void)snprintf(out, out_bytes, "%.6g", value->valuedouble);
    else if (cJSON_IsBool(value))
        (void)snprintf(out, out_bytes, "%s", cJSON_IsTrue(value) ? "yes" : "no");
    else
        (void)snprintf(out, out_bytes, "-");
}

/* Prints a list of objects with the same members as a table. */
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
            if (column < COLUMNS_MAX && needed > width[column])
                width[column] = needed;
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

/* Appends FIELD=VALUE to the settings of the network. `text` is a word of argv, which this function cuts in two. */
static enum status read_setting(struct bench_command *command, char *text, struct error *err)
{
    char *value = strchr(text, '=');
    if (value == NULL)
        return error_set(err, STATUS_INVALID, NULL, "--set takes FIELD=VALUE; got %.80s", text);
    if (command->settings == SETTINGS_MAX)
        return error_set(err, STATUS_INVALID, NULL, "--set may be given %d times at most", SETTINGS_MAX);
    *value = '\0';
    command->set[command->settings++] = (struct config_setting){text, value + 1};
    command->options.set = command->set;
    return STATUS_OK;
}

static enum status read_options(struct bench_command *command, const struct options *given, struct error *err)
{
    struct bench_options *options = &command->options;
    const char *clock_name = options_value(given, "clock");
    double threads = 0.0, batch = 0.0;
    command->name = given->positional_count > 0 ? given->positional[0] : NULL;
    command->json = options_has(given, "json");
    command->list = options_has(given, "list");
    options->preset = options_value(given, "preset");
    options->kernels = options_value(given, "kernels");
    options->backward = options_value(given, "backward");
    options->processor_time = clock_name != NULL && strcmp(clock_name, "processor") == 0;
    if (command->name == NULL && !command->list)
        return error_set(err, STATUS_INVALID, NULL, "the NAME of a benchmark is missing; --list shows them");
    if (clock_name != NULL && !options->processor_time && strcmp(clock_name, "wall") != 0)
        return error_set(err, STATUS_INVALID, NULL, "--clock must be wall or processor; got %.40s", clock_name);
    if (options_number(given, "threads", &threads, err) || options_number(given, "batch", &batch, err) ||
        options_number(given, "density", &options->density, err) ||
        options_number(given, "seconds", &options->seconds, err))
        return STATUS_INVALID;
    options->threads = (int)threads;
    options->batch = (int)batch;
    for (size_t i = 0; i < given->option_count; i++)
        if (strcmp(given->options[i].name, "set") == 0 &&
            read_setting(command, (char *)(uintptr_t)given->options[i].value, err))
            return STATUS_INVALID;
    return STATUS_OK;
}

static int print_list(bool json)
{
    struct json_sink sink;
    struct buf out;
    buf_init(&out, RESULT_MAX);
    json_sink_init(&sink, &out);
    sink_begin_object(&sink.sink, NULL);
    for (const struct bench *bench = bench_list(); bench->name != NULL; bench++) {
        sink_text(&sink.sink, bench->name, bench->meaning);
        if (!json)
            (void)printf("  %-16s %s\n", bench->name, bench->meaning);
    }
    sink_end_object(&sink.sink);
    bool whole = json_sink_done(&sink);
    if (!whole)
        (void)fputs("motifd bench: not enough memory for the list\n", stderr);
    else if (json)
        (void)puts(out.data);
    buf_close(&out);
    return whole ? EXIT_OK : EXIT_FAULT;
}

static int command_bench_run(const struct bench_command *command)
{
    struct json_sink sink;
    struct buf out;
    struct error err = {0};
    cJSON *root = NULL;
    buf_init(&out, RESULT_MAX);
    json_sink_init(&sink, &out);
    blas_init();
    enum status status = bench_run(command->name, &command->options, &sink.sink, &err);
    if (!status && !json_sink_done(&sink))
        status = error_memory(&err, "the result");
    if (!status && !command->json)
        status = json_parse(out.data, out.size, &root, &err);
    if (status)
        (void)fprintf(stderr, "motifd bench: %s%s%s\n", err.pointer, err.pointer[0] != '\0' ? ": " : "", err.message);
    else if (command->json)
        (void)puts(out.data);
    else
        print_object(root);
    cJSON_Delete(root);
    buf_close(&out);
    return !status ? EXIT_OK : status == STATUS_INVALID || status == STATUS_NOT_FOUND ? EXIT_USAGE : EXIT_FAULT;
}

int command_bench(int argc, char **argv)
{
    struct bench_command command = {.name = NULL};
    struct options given;
    struct error err = {0};
    int code;
    if (!command_read(&usage, argc, argv, &given, &code))
        return code;
    if (read_options(&command, &given, &err))
        return command_misused(&usage, err.message);
    return command.list ? print_list(command.json) : command_bench_run(&command);
}
