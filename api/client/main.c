/* motifctl: the command line of motifd. Finds the command, reads its options and runs it. */
#include <stdlib.h>
#include <string.h>

#include "api/client/ctl.h"

#define DEFAULT_SERVER "http://127.0.0.1:8080"

static const struct command *const commands[] = {
    &command_submit,   &command_list,        &command_show,        &command_watch,
    &command_metrics,  &command_plot,        &command_ask,         &command_motifs,
    &command_predict,  &command_channels,    &command_intervene,   &command_compare,
    &command_evaluate, &command_report,      &command_cancel,      &command_pause,
    &command_resume,   &command_delete,      &command_checkpoints, &command_export,
    &command_import,   &command_attestation, &command_verify,      &command_artifacts,
    &command_datasets, &command_kinds,       &command_system,      &command_health,
    &command_get,      &command_logs,        &command_rm,          &command_version,
    &command_sites,    &command_signal,      &command_logos,       &command_pairs,
    &command_rules,    &command_study,       &command_share,       &command_usage,
    &command_review,   &command_policy,      &command_pin,         NULL,
};

static const struct config_field common_options[] = {
    OPTION_TEXT("server", "URL", "address of the daemon (MOTIFD_SERVER, or " DEFAULT_SERVER ")"),
    OPTION_TEXT("token", "TOKEN", "bearer token (MOTIFD_TOKEN)"),
    OPTION_TEXT("cacert", "FILE", "PEM file of certificate authorities (MOTIFD_CACERT, CURL_CA_BUNDLE, SSL_CERT_FILE)"),
    OPTION_FLAG("json", "print the server's answer as JSON, for programs; the same as -o json"),
    OPTION_TEXT("print", "FORMAT", "form of the answer: json, yaml or table (table); short: -o"),
    OPTION_FLAG("quiet", "print only ids and names, one on a line, and errors; short: -q"),
    OPTION_FLAG("help", "this text; short: -h"),
    OPTIONS_END,
};

static const char incomplete[] = "error: the output is incomplete: not enough memory, or it could not be written";
static const char exit_codes[] = "exit code: 0 success, 1 the job failed or the server could not carry out the "
                                 "request, 2 usage, 3 server unreachable;\n"
                                 "           watch --require: 4 learned in part, 5 not learned\n";

static int client_main_print(FILE *stream, struct buf *out, int code)
{
    struct term term = {.stream = stream};
    term_flush(&term, out);
    buf_close(out);
    if (!term.failed)
        return code;
    fprintf(stderr, "%s\n", incomplete);
    return CTL_FAILED;
}

static int overview(FILE *stream, int code)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    buf_text(&out, "usage: motifctl COMMAND [arguments] [options]\n\n"
                   "most used:\n"
                   "    motifctl datasets put NAME FILE                                         upload data\n"
                   "    motifctl submit --preset dataset --set dataset_name=NAME --watch        train on them\n"
                   "    motifctl ask latest FILE                                                ask the model\n\n"
                   "commands:\n");
    for (size_t i = 0; commands[i]; i++)
        buf_format(&out, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    buf_text(&out, "\nA job is its name, its id, the unique beginning of an id, or `latest`:\nthe newest training, "
                   "if possible one of your own; for queries, the newest one with a checkpoint.\n`motifctl COMMAND "
                   "--help` explains "
                   "a command with an example.\n\n");
    options_describe(common_options, &out);
    buf_format(&out, "\n%s", exit_codes);
    return client_main_print(stream, &out, code);
}

/* Returns where the fourth line of a text begins, or where the text ends. */
static const char *after_three_lines(const char *text)
{
    for (int lines = 0; *text && lines < 3; lines++)
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    return text;
}

/* Prints the most used forms of a command, which are the first lines of its examples, before all the rest. */
static int help(const struct command *command)
{
    const char *more = after_three_lines(command->example);
    struct buf out;
    buf_init(&out, 1 << 16);
    buf_format(&out, "usage: motifctl %s%s%s [options]\n\nmost used:\n%.*s\n%s%s.\n", command->name,
               command->arguments[0] ? " " : "", command->arguments, (int)(more - command->example), command->example,
               *more ? "" : "\n", command->summary);
    options_explain(command->text, &out);
    buf_text(&out, "\n\n");
    options_describe(command->options, &out);
    options_describe(common_options, &out);
    if (*more)
        buf_format(&out, "\nfurther examples:\n%s\n", more);
    buf_format(&out, "\n%s", exit_codes);
    return client_main_print(stdout, &out, CTL_SUCCESS);
}

/* Returns the index of the first word that is neither an option nor the value of an option; 0: none. */
static int command_index(int argc, char **argv)
{
    static const char *const valued[] = {"--server", "--token", "--cacert", "--print", "-o"};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            return i;
        for (size_t k = 0; k < sizeof(valued) / sizeof(valued[0]); k++)
            if (strcmp(argv[i], valued[k]) == 0) {
                i++;
                break;
            }
    }
    return 0;
}

static const struct command *client_main_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *best = NULL;
    size_t distance = 3;
    for (size_t i = 0; commands[i]; i++) {
        size_t d = options_distance(commands[i]->name, name);
        if (d < distance) {
            distance = d;
            best = commands[i]->name;
        }
    }
    fprintf(stderr, "error: unknown command %.80s%s%s%s\n", name, best ? "; did you mean " : "", best ? best : "",
            best ? "?" : "");
    fprintf(stderr, "motifctl --help lists the commands\n");
    return CTL_USAGE;
}

static const char *first_of(const char *a, const char *b, const char *c)
{
    return a && a[0] ? a : b && b[0] ? b : c;
}

/* Reads the options that determine the output format. Returns false if the value of --print is unknown. */
static bool read_form(struct ctl *ctl, const struct options *args)
{
    const char *form = options_value(args, "print");
    ctl->yaml = form && strcmp(form, "yaml") == 0;
    ctl->json = ctl->yaml || options_has(args, "json") || (form && strcmp(form, "json") == 0);
    ctl->quiet = options_has(args, "quiet");
    ctl->out.bare = ctl->quiet;
    return !form || ctl->json || strcmp(form, "table") == 0;
}

/* Checks the names of the files that the command writes. Returns an exit code. */
static int check_outputs(struct ctl *ctl, const struct options *args)
{
    static const char *const names[] = {"output", "png"};
    int code = CTL_SUCCESS;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && code == CTL_SUCCESS; i++)
        if (options_has(args, names[i]))
            code = ctl_output_good(ctl, options_value(args, names[i]));
    return code;
}

static int client_main_run(struct ctl *ctl, int count, char **words)
{
    struct options args;
    struct error err = {0};
    if (options_parse(ctl->command->options, common_options, count, words, &args, &err))
        return ctl_usage(ctl, "%s", err.message);
    if (options_has(&args, "help"))
        return help(ctl->command);
    if (!read_form(ctl, &args))
        return ctl_usage(ctl, "--print must be json, yaml or table; got %.40s", options_value(&args, "print"));
    if (args.positional_count < ctl->command->least || args.positional_count > ctl->command->most)
        return ctl_usage(ctl, "usage: motifctl %s %s", ctl->command->name, ctl->command->arguments);
    if (check_outputs(ctl, &args) != CTL_SUCCESS)
        return CTL_USAGE;
    const char *server = first_of(options_value(&args, "server"), getenv("MOTIFD_SERVER"), DEFAULT_SERVER);
    const char *token = first_of(options_value(&args, "token"), getenv("MOTIFD_TOKEN"), NULL);
    http_trust(options_value(&args, "cacert"));
    if (http_create(server, token, &ctl->http, &err))
        return ctl_usage(ctl, "%s", err.message);
    int code = ctl->command->run(ctl, &args);
    http_destroy(ctl->http);
    if (fflush(stdout) != 0 || ferror(stdout) || ctl->out.failed) { /* incomplete output is a failure */
        fprintf(stderr, "%s\n", incomplete);
        return code == CTL_SUCCESS ? CTL_FAILED : code;
    }
    return code;
}

/* Ends the program if memory runs out. Otherwise cJSON would leave members out of a request or an answer without
 * reporting an error. */
static void *client_main_allocate(size_t bytes)
{
    void *made = malloc(bytes);
    if (!made) {
        fputs("error: not enough memory\n", stderr);
        exit(CTL_FAILED);
    }
    return made;
}

static bool has_word(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    static char asks_help[] = "--help";
    struct ctl ctl = {.commands = commands, .common_options = common_options};
    int at = command_index(argc, argv);
    cJSON_InitHooks(&(cJSON_Hooks){client_main_allocate, free});
    term_init(&ctl.out, stdout);
    term_init(&ctl.err, stderr);
    if (at == 0) {
        bool asked = has_word(argc, argv, "--help") || has_word(argc, argv, "-h");
        if (has_word(argc, argv, "--version")) {
            printf("motifctl %s\n", MOTIF_VERSION);
            if (fflush(stdout) == 0 && !ferror(stdout))
                return CTL_SUCCESS;
            fprintf(stderr, "%s\n", incomplete);
            return CTL_FAILED;
        }
        return overview(asked ? stdout : stderr, asked ? CTL_SUCCESS : CTL_USAGE);
    }
    if (strcmp(argv[at], "help") == 0 && at + 1 == argc)
        return overview(stdout, CTL_SUCCESS);
    if (strcmp(argv[at], "help") == 0) {
        argv[at] = argv[at + 1];
        argv[at + 1] = asks_help;
    }
    ctl.command = client_main_find(argv[at]);
    if (!ctl.command)
        return unknown_command(argv[at]);
    /* Removes the name of the command; options may stand before it. */
    memmove(&argv[at], &argv[at + 1], (size_t)(argc - at - 1) * sizeof(*argv));
    return client_main_run(&ctl, argc - 2, argv + 1);
}
