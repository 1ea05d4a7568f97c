/* motifd: the commands. Everything else is a library. */
#include <stdio.h>
#include <string.h>

#include "trainer/build.h"
#include "server/commands/commands.h"
#include "server/daemon.h"
#include "trainer/facts.h"
#include "server/settings/settings.h"

static void help(FILE *to)
{
    (void)fputs(
        "motifd trains models that explain themselves, and answers questions about them over HTTP.\n"
        "\n"
        "  motifd serve [settings]            the daemon; try: motifd serve --listen 127.0.0.1:8080 --db motifd.db\n"
        "  motifd bench NAME | --list         a benchmark on this machine\n"
        "  motifd check-config FILE           every fault of a job or of settings\n"
        "  motifd dataset audio               a data set of spoken digits, made here by espeak-ng\n"
        "  motifd token create|list|revoke    who may do what\n"
        "  motifd backup COPY                 a checked copy of the database, while the daemon runs\n"
        "  motifd restore COPY                a database made of such a copy\n"
        "  motifd verify BUNDLE               runs a job's checkpoints once more and compares the bits\n"
        "  motifd version\n"
        "\n"
        "Settings, each also an environment variable and a key of the --config file (listen, db, ...);\n"
        "a flag beats the environment, which beats the file:\n",
        to);
    settings_help(to);
    (void)fputs("\nExit codes: 0 good, 1 a fault, 2 wrong usage or settings.\n", to);
}

static void say_fault(void *context, const char *setting, const char *source, const char *detail)
{
    bool flag = strcmp(source, "flag") == 0 && setting[0] != '-';
    (void)fprintf(stderr, "motifd serve: %s%s (%s): %s\n", flag ? "--" : "", setting, source, detail);
}

static int serve(int argc, char **argv)
{
    static struct settings settings; /* large; lives as long as the process */
    struct settings_faults faults = {.add = say_fault};
    bool wants_help = false;
    if (settings_read(&settings, argc, argv, &faults, &wants_help) != STATUS_OK) {
        (void)fputs("motifd serve --help shows what there is\n", stderr);
        return EXIT_USAGE;
    }
    if (wants_help) {
        help(stdout);
        return EXIT_OK;
    }
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
    if (strcmp(command, "check-config") == 0) {
        return command_check_config(argc - 1, argv + 1);
    }
    if (strcmp(command, "dataset") == 0) {
        return command_dataset(argc - 1, argv + 1);
    }
    if (strcmp(command, "token") == 0) {
        return command_token(argc - 1, argv + 1);
    }
    if (strcmp(command, "verify") == 0) {
        facts_choose_blas(argv);
        return command_verify(argc - 1, argv + 1);
    }
    if (strcmp(command, "backup") == 0) {
        return command_backup(argc - 1, argv + 1);
    }
    if (strcmp(command, "restore") == 0) {
        return command_restore(argc - 1, argv + 1);
    }
    if (strcmp(command, "version") == 0 || strcmp(command, "--version") == 0) {
        (void)printf("motifd %s (%s)\n", BUILD_VERSION, BUILD_TYPE);
        return EXIT_OK;
    }
    bool asked =
        argc > 1 && (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0);
    help(asked ? stdout : stderr);
    return asked ? EXIT_OK : EXIT_USAGE;
}
