/* Prints the help and the faults of the commands of motifd in the same layout: usage lines, explanation, options,
 * example. */
#include "server/commands/usage.h"

#include <stdio.h>

#include "server/daemon.h"

static const struct config_field common[] = {OPTION_FLAG("help", "print this text"), OPTIONS_END};

/* Returns whether the help was printed as a whole. */
static bool print_help(const struct command_usage *usage, FILE *to)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    for (size_t i = 0; usage->lines[i] != NULL; i++)
        buf_format(&out, "%s motifd %s\n", i == 0 ? "usage:" : "      ", usage->lines[i]);
    buf_text(&out, "\n");
    options_explain(usage->text, &out);
    buf_text(&out, "\n");
    options_describe(usage->options, &out);
    options_describe(common, &out);
    buf_format(&out, "\nexample:\n%s", usage->example);
    bool whole = !out.failed;
    whole = fputs(whole ? out.data : "not enough memory for the help\n", to) >= 0 && whole;
    buf_close(&out);
    return fflush(to) == 0 && !ferror(to) && whole;
}

int command_misused(const struct command_usage *usage, const char *fault)
{
    (void)fprintf(stderr, "motifd %s: %s\n\n", usage->name, fault);
    (void)print_help(usage, stderr);
    return EXIT_USAGE;
}

bool command_read(const struct command_usage *usage, int argc, char **argv, struct options *out, int *code)
{
    struct error err = {0};
    enum status status = options_parse(usage->options, common, argc - 1, argv + 1, out, &err);
    if (!status && options_has(out, "help")) {
        bool whole = print_help(usage, stdout);
        if (!whole)
            (void)fprintf(stderr, "motifd %s: the help could not be printed\n", usage->name);
        *code = whole ? EXIT_OK : EXIT_FAULT;
        return false;
    }
    if (!status && out->positional_count < usage->least)
        status = error_set(&err, STATUS_INVALID, NULL, "an argument is missing");
    if (!status && out->positional_count > usage->most) {
        status = error_set(&err, STATUS_INVALID, NULL, "the argument %.80s is not expected here",
                           out->positional[usage->most]);
    }
    if (status) {
        *code = command_misused(usage, err.message);
        return false;
    }
    return true;
}
