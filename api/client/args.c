#include "api/client/args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 32

size_t args_distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b), line[WORD_MAX + 1];
    if (rows > WORD_MAX || columns > WORD_MAX)
        return WORD_MAX + 1;
    for (size_t j = 0; j <= columns; j++)
        line[j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t corner = line[0];
        line[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t change = corner + (a[i - 1] != b[j - 1]);
            size_t drop = line[j] + 1, add = line[j - 1] + 1;
            corner = line[j];
            line[j] = change < drop ? change : drop;
            if (add < line[j])
                line[j] = add;
        }
    }
    return line[columns];
}

static const struct option_spec *find(const struct option_spec *specs, const char *name, size_t length)
{
    for (; specs && specs->name; specs++)
        if (strlen(specs->name) == length && memcmp(specs->name, name, length) == 0)
            return specs;
    return NULL;
}

static void nearest(const struct option_spec *specs, const char *name, const char **best, size_t *distance)
{
    for (; specs && specs->name; specs++) {
        size_t d = args_distance(specs->name, name);
        if (d < *distance) {
            *distance = d;
            *best = specs->name;
        }
    }
}

static enum status unknown(const struct option_spec *own, const struct option_spec *shared, const char *word,
                           struct error *err)
{
    char name[WORD_MAX + 1] = "";
    const char *best = NULL;
    size_t distance = 3, length = strcspn(word + 2, "=");
    if (length <= WORD_MAX) {
        memcpy(name, word + 2, length);
        name[length] = 0;
        nearest(own, name, &best, &distance);
        nearest(shared, name, &best, &distance);
    }
    if (best)
        return error_set(err, STATUS_INVALID, NULL, "unknown option %.80s; did you mean --%s?", word, best);
    return error_set(err, STATUS_INVALID, NULL, "unknown option %.80s", word);
}

enum status args_parse(const struct option_spec *own, const struct option_spec *shared, int argc, char **argv,
                       struct args *args, struct error *err)
{
    memset(args, 0, sizeof(*args));
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (args->positional_count == ARGS_MAX || args->option_count == ARGS_MAX)
            return error_set(err, STATUS_INVALID, NULL, "too many arguments");
        if (strcmp(word, "-h") == 0)
            word = "--help";
        if (strcmp(word, "--") == 0) {
            for (i++; i < argc && args->positional_count < ARGS_MAX; i++)
                args->positional[args->positional_count++] = argv[i];
            break;
        }
        if (word[0] != '-' || word[1] == 0) {
            args->positional[args->positional_count++] = word;
            continue;
        }
        if (word[1] != '-')
            return error_set(err, STATUS_INVALID, NULL, "unknown option %.80s; options start with two dashes", word);
        size_t length = strcspn(word + 2, "=");
        const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
        const struct option_spec *spec = find(own, word + 2, length);
        if (!spec)
            spec = find(shared, word + 2, length);
        if (!spec)
            return unknown(own, shared, word, err);
        if (!spec->value && value)
            return error_set(err, STATUS_INVALID, NULL, "--%s takes no value", spec->name);
        if (spec->value && !value) {
            if (i + 1 >= argc)
                return error_set(err, STATUS_INVALID, NULL, "--%s needs a value: --%s %s", spec->name, spec->name,
                                 spec->value);
            value = argv[++i];
        }
        args->options[args->option_count].name = spec->name;
        args->options[args->option_count++].value = value ? value : "";
    }
    return STATUS_OK;
}

const char *args_value(const struct args *args, const char *name)
{
    for (size_t i = args->option_count; i > 0; i--)
        if (strcmp(args->options[i - 1].name, name) == 0)
            return args->options[i - 1].value;
    return NULL;
}

bool args_has(const struct args *args, const char *name)
{
    return args_value(args, name) != NULL;
}

enum status args_integer(const struct args *args, const char *name, long long min, long long max, long long preset,
                         long long *out, struct error *err)
{
    const char *text = args_value(args, name);
    char *end = NULL;
    *out = preset;
    if (!text)
        return STATUS_OK;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < min || value > max)
        return error_set(err, STATUS_INVALID, NULL, "--%s must be an integer in [%lld, %lld]; got %.40s", name, min,
                         max, text);
    *out = value;
    return STATUS_OK;
}

void args_describe(const struct option_spec *specs, struct buf *out)
{
    for (; specs && specs->name; specs++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s", specs->name, specs->value ? " " : "",
                 specs->value ? specs->value : "");
        buf_format(out, "  %-26s %s\n", left, specs->meaning);
    }
}
