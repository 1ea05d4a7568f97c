/* `motifctl manual`: writes the tables of commands and options as a manual page, with the macros of man(7). */
#include <string.h>

#include "api/client/ctl.h"

/* Escapes text so that a backslash, a leading dot or a leading quote has no special meaning. */
static void plain(struct buf *out, const char *text)
{
    bool fresh = true;
    for (; *text; text++) {
        if (fresh && (*text == '.' || *text == '\''))
            buf_text(out, "\\&");
        if (*text == '\\')
            buf_text(out, "\\e");
        else if (*text == '-')
            buf_text(out, "\\-");
        else
            buf_append(out, text, 1);
        fresh = *text == '\n';
    }
}

static void write_options(struct buf *out, const struct option_spec *options)
{
    for (; options->name; options++) {
        buf_text(out, ".TP\n\\fB\\-\\-");
        plain(out, options->name);
        buf_text(out, "\\fR");
        if (options->value) {
            buf_text(out, " \\fI");
            plain(out, options->value);
            buf_text(out, "\\fR");
        }
        buf_text(out, "\n");
        plain(out, options->meaning);
        buf_text(out, "\n");
    }
}

static void write_command(struct buf *out, const struct command *command)
{
    buf_format(out, ".SS \"%s %s\"\n", command->name, command->arguments);
    plain(out, command->summary);
    buf_text(out, ".\n");
    plain(out, command->text);
    buf_text(out, "\n");
    write_options(out, command->options);
    buf_text(out, ".PP\n.nf\n.RS\n");
    plain(out, command->example);
    buf_text(out, "\n.RE\n.fi\n");
}

static int run(struct ctl *ctl, const struct options *args)
{
    struct buf out;
    (void)args;
    buf_init(&out, 1 << 20);
    buf_text(
        &out,
        ".TH MOTIFCTL 1 \"\" \"motifd " MOTIF_VERSION
        "\" \"User Commands\"\n.SH NAME\nmotifctl \\- the command line of motifd\n.SH SYNOPSIS\n\\fBmotifctl\\fR "
        "\\fICOMMAND\\fR [arguments] [options]\n.SH DESCRIPTION\nSubmits trainings of sparse models to a motifd "
        "server, follows them, and shows where in each input a model found its\nevidence. A job is a name, an id, the "
        "unique beginning of an id, or \\fBlatest\\fR.\n.SH OPTIONS OF EVERY COMMAND\n");
    write_options(&out, ctl->common_options);
    buf_text(&out, ".SH COMMANDS\n");
    for (size_t i = 0; ctl->commands[i]; i++)
        write_command(&out, ctl->commands[i]);
    buf_text(&out,
             ".SH EXIT STATUS\n0 success, 1 the job failed or the server could not carry out the request, 2 usage, 3 "
             "the server cannot be reached, 130 interrupted.\n.SH ENVIRONMENT\n.TP\n\\fBMOTIFD_SERVER\\fR\nthe server, "
             "as \\fB\\-\\-server\\fR\n.TP\n\\fBMOTIFD_TOKEN\\fR\na bearer token, as \\fB\\-\\-token\\fR\n.SH SEE "
             "ALSO\n\\fBmotifd\\fR \\-\\-help\n");
    term_flush(&ctl->out, &out);
    buf_close(&out);
    return CTL_SUCCESS;
}

static const struct option_spec options[] = {{NULL, NULL, NULL}};

const struct command command_manual = {
    .name = "manual",
    .arguments = "",
    .summary = "print the manual page, in the format of man(1)",
    .text = "The page is made from the same tables as --help. Needs no server.",
    .example = "  motifctl manual | man -l -",
    .options = options,
    .least = 0,
    .most = 0,
    .run = run,
};
