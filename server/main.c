/* motifd: runs the command that the first argument names. Everything else is a library, so that tests can link it. */
#include <stdio.h>
#include <string.h>

#include "trainer/build.h"
#include "server/commands/commands.h"
#include "server/daemon.h"
#include "trainer/facts.h"
#include "server/settings/settings.h"

/* Flushes the output. Returns `code`, or EXIT_FAULT if the output is incomplete. */
static int printed(FILE *to, bool whole, int code)
{
    if (whole && fflush(to) == 0 && !ferror(to))
        return code;
    (void)fputs("motifd: the output is incomplete: not enough memory, or it could not be written\n", stderr);
    return EXIT_FAULT;
}

static const char overview[] =
    "motifd trains models that explain themselves, and answers questions about them over HTTP.\n\n  motifd serve "
    "[settings]            run the daemon; try: motifd serve --listen 127.0.0.1:8080 --db motifd.db\n  motifd "
    "bench NAME | --list         measure this machine\n  motifd check-config FILE           validate a job or the "
    "settings of a daemon\n  motifd dataset audio               make a data set of spoken digits with espeak-ng\n  "
    "motifd token create|list|rotate|revoke    decide who may use the daemon\n  motifd backup COPY                 "
    "copy "
    "the database and check the copy, while the daemon runs\n  motifd restore COPY                make a database "
    "from such a copy\n  motifd check                       find damage in the database, while the daemon runs\n  "
    "motifd compact                     make the database as small as what it stores\n  "
    "motifd verify BUNDLE               repeat a job's training and compare the bits\n  motifd "
    "version                     print version and build\n\n`motifd COMMAND --help` explains a command with an "
    "example.\n\nSettings of motifd serve. Each is also an environment variable and a key of the --config file "
    "(listen, db, ...).\nA flag overrides the environment, and the environment overrides the file:\n";

static int help(FILE *to, int code)
{
    bool whole = fputs(overview, to) >= 0;
    whole = settings_help(to) && whole;
    whole = fputs("\nExit codes: 0 success, 1 a fault, 2 wrong usage or settings.\n", to) >= 0 && whole;
    return printed(to, whole, code);
}

static void say_fault(void *context, const char *setting, const char *source, const char *detail)
{
    bool flag = strcmp(source, "flag") == 0 && setting[0] != '-';
    (void)fprintf(stderr, "motifd serve: %s%s (%s): %s\n", flag ? "--" : "", setting, source, detail);
}

static int serve(int argc, char **argv)
{
    static struct settings settings; /* static, because it is too large for the stack */
    struct settings_faults faults = {.add = say_fault};
    bool wants_help = false;
    if (settings_read(&settings, argc, argv, &faults, &wants_help)) {
        (void)fputs("motifd serve --help lists the settings\n", stderr);
        return EXIT_USAGE;
    }
    if (wants_help)
        return help(stdout, EXIT_OK);
    return daemon_serve(&settings);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "help";
    if (strcmp(command, "serve") == 0) {
        facts_choose_blas(argv);
        return serve(argc - 1, argv + 1);
    }
    if (strcmp(command, "bench") == 0) {
        facts_choose_blas(argv);
        return command_bench(argc - 1, argv + 1);
    }
    if (strcmp(command, "check-config") == 0)
        return command_check_config(argc - 1, argv + 1);
    if (strcmp(command, "check") == 0)
        return command_check_database(argc - 1, argv + 1);
    if (strcmp(command, "compact") == 0)
        return command_compact(argc - 1, argv + 1);
    if (strcmp(command, "dataset") == 0)
        return command_dataset(argc - 1, argv + 1);
    if (strcmp(command, "token") == 0)
        return command_token(argc - 1, argv + 1);
    if (strcmp(command, "verify") == 0) {
        facts_choose_blas(argv);
        return command_verify(argc - 1, argv + 1);
    }
    if (strcmp(command, "backup") == 0)
        return command_backup(argc - 1, argv + 1);
    if (strcmp(command, "restore") == 0)
        return command_restore(argc - 1, argv + 1);
    if (strcmp(command, "version") == 0 || strcmp(command, "--version") == 0) {
        bool whole = printf("motifd %s (%s)\n", BUILD_VERSION, BUILD_TYPE) >= 0;
        return printed(stdout, whole, EXIT_OK);
    }
    bool asked =
        argc > 1 && (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0);
    return help(asked ? stdout : stderr, asked ? EXIT_OK : EXIT_USAGE);
}
