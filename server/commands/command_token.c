/* motifd token create|list|revoke: asks the daemon that has the database open (console.h), or works on it where none
 * has. */
#include "server/commands/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/http/auth.h"
#include "server/commands/console.h"
#include "server/daemon.h"
#include "server/settings/settings.h"
#include "server/tokens.h"
#include "storage/storage.h"

static const char usage[] =
    "usage: motifd token create --name NAME [--scope read|submit|admin] [--days 1..36500] [--db FILE]\n"
    "       motifd token list [--db FILE]\n"
    "       motifd token revoke --name NAME [--db FILE]\n"
    "\n"
    "A token is shown once, when it is made; the database keeps only its hash. A daemon whose database\n"
    "holds a token that is not revoked asks for one with every request (Authorization: Bearer TOKEN).\n"
    "  read    look at jobs, metrics, motifs        submit  that, and start, pause, cancel jobs\n"
    "  admin   that, and delete\n"
    "While a daemon has the database open it makes the change itself, at once; only its own user and\n"
    "root are heard.\n";

#define TRIES                                                                                                          \
    20 /* a tenth of a second apart: a daemon that starts or ends has the database open and does not answer            \
        */

struct token_options {
    struct settings settings; /* for --db and its twins */
    const char *words[TOKEN_WORDS];
};

/* False where it is wrong. */
static bool read_options(struct token_options *options, int argc, char **argv)
{
    static const struct option flags[] = {{"db", required_argument, NULL, 'd'},
                                          {"name", required_argument, NULL, 'n'},
                                          {"scope", required_argument, NULL, 's'},
                                          {"days", required_argument, NULL, 'D'},
                                          {NULL, 0, NULL, 0}};
    const char *db = getenv("MOTIFD_DB");
    settings_defaults(&options->settings);
    optind = 1;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        char *end = NULL;
        if (flag == 'd') {
            db = optarg;
        } else if (flag == 'n') {
            options->words[TOKEN_NAME] = optarg;
        } else if (flag == 's') {
            options->words[TOKEN_SCOPE] = optarg;
        } else if (flag == 'D') {
            options->words[TOKEN_DAYS] = optarg;
        }
        long days = flag == 'D' ? strtol(optarg, &end, 10) : 1;
        if (flag == '?' || (end != NULL && *end != '\0') || days < 1 || days > TOKEN_DAYS_MAX) {
            return false;
        }
    }
    if (auth_scope_parse(options->words[TOKEN_SCOPE]) == API_SCOPE_NONE ||
        (db != NULL && strlen(db) >= sizeof options->settings.db)) {
        return false;
    }
    if (db != NULL && db[0] != '\0') {
        memcpy(options->settings.db, db, strlen(db) + 1);
    }
    return optind == argc;
}

static enum status work(const struct token_options *options, struct buf *out, struct error *err)
{
    const char *db = options->settings.db;
    for (int left = TRIES;; left--) {
        struct storage *storage = NULL;
        struct error why = {0};
        bool open;
        enum status status = console_ask(db, options->words, TOKEN_WORDS, &open, out, &why);
        if (open) {
            return status == STATUS_OK ? status : error_set(err, status, NULL, "%s", why.message);
        }
        error_clear(&why);
        status = storage_open(&(struct storage_options){.path = db}, &storage, &why);
        if (status == STATUS_OK) {
            status = tokens_do(storage, options->words, TOKEN_WORDS, out, err);
            storage_close(storage);
            return status;
        }
        if (status != STATUS_CONFLICT || left == 0) {
            return error_set(err, status, NULL, "%s", why.message);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

int command_token(int argc, char **argv)
{
    struct token_options options = {.words = {[TOKEN_NAME] = "", [TOKEN_SCOPE] = "submit", [TOKEN_DAYS] = ""}};
    struct error err = {0};
    struct buf out;
    const char *verb = argc > 1 ? argv[1] : "";
    bool named = strcmp(verb, "create") == 0 || strcmp(verb, "revoke") == 0, known = named || strcmp(verb, "list") == 0;
    bool asked = argc > 1 && strcmp(argv[argc - 1], "--help") == 0;
    options.words[TOKEN_VERB] = verb;
    if (asked || !known || !read_options(&options, argc - 1, argv + 1)) {
        (void)fputs(usage, asked ? stdout : stderr);
        return asked ? EXIT_OK : EXIT_USAGE;
    }
    if (named && options.words[TOKEN_NAME][0] == '\0') {
        (void)fprintf(stderr, "motifd token: --name is needed\n");
        return EXIT_USAGE;
    }
    buf_init(&out, CONSOLE_ANSWER);
    enum status status = work(&options, &out, &err);
    if (status == STATUS_OK && out.failed) {
        status = buf_status(&out, "the list", &err);
    }
    if (status == STATUS_OK &&
        (fwrite(out.data != NULL ? out.data : "", 1, out.size, stdout) != out.size || fflush(stdout) != 0)) {
        status = error_set(&err, STATUS_IO, NULL, "it is done, but what there is to say cannot be written: %s",
                           strerror(errno));
    }
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "motifd token: %s\n", err.message);
    }
    buf_close(&out);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAULT;
}
