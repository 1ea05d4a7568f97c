/* motifd token create|list|revoke. Only one process may write to a database: while a daemon has it open, the command
 * asks the daemon (console.h); otherwise the command opens the database itself. */
#include "server/commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/http/auth.h"
#include "server/commands/console.h"
#include "server/commands/usage.h"
#include "server/daemon.h"
#include "server/settings/settings.h"
#include "server/tokens.h"
#include "storage/storage.h"

static const struct config_field option_table[] = {
    OPTION_TEXT("name", "NAME", "name of the token; needed by create and revoke"),
    OPTION_TEXT("scope", "SCOPE", "read, submit or admin (submit)"),
    OPTION_INTEGER("days", "N", NULL, 1, TOKEN_DAYS_MAX, "days until the token expires, 1 to 36500 (never)"),
    OPTION_TEXT("db", "FILE", "the database of the daemon (MOTIFD_DB, or " SETTINGS_DB ")"),
    OPTIONS_END,
};
static const char *const lines[] = {
    "token create --name NAME [--scope read|submit|admin] [--days 1..36500] [--db FILE]", "token list [--db FILE]",
    "token revoke --name NAME [--db FILE]", NULL};
static const struct command_usage usage = {
    .name = "token",
    .lines = lines,
    .text =
        "Creates, lists and revokes bearer tokens. Use it before you open a daemon to other machines: a daemon whose\n"
        "database contains a valid token requires a token with every request (Authorization: Bearer TOKEN). `create`\n"
        "prints the token once; the database stores only its hash. A running daemon applies the change at once. Only\n"
        "the daemon's own user and root may use this command.\n"
        "  read    look at jobs, metrics and motifs\n"
        "  submit  also start, pause, resume and cancel jobs\n"
        "  admin   also delete\n",
    .options = option_table,
    .example = "  motifd token create --name laptop --scope submit --days 90\n"
               "  motifd token revoke --name laptop\n",
    .least = 1,
    .most = 1,
};

/* While a daemon starts or ends, it has the database open but does not answer. So the command tries this many times. */
#define TRIES 20
#define TRY_NS 100000000 /* nanoseconds between two tries */

struct token_options {
    struct settings settings; /* settings for --db */
    const char *words[TOKEN_WORDS];
};

/* Reads the words of the request from the command line; a fault goes to `err`. */
static enum status read_words(const struct options *given, struct token_options *options, struct error *err)
{
    const char *named = getenv("MOTIFD_DB"), *db = options_has(given, "db") ? options_value(given, "db") : named;
    const char *verb = given->positional[0];
    const bool create = strcmp(verb, "create") == 0, revoke = strcmp(verb, "revoke") == 0;
    long long days = 1;
    settings_defaults(&options->settings);
    options->words[TOKEN_VERB] = verb;
    options->words[TOKEN_NAME] = options_has(given, "name") ? options_value(given, "name") : "";
    options->words[TOKEN_SCOPE] = options_has(given, "scope") ? options_value(given, "scope") : "submit";
    options->words[TOKEN_DAYS] = options_has(given, "days") ? options_value(given, "days") : "";
    if (!create && !revoke && strcmp(verb, "list") != 0)
        return error_set(err, STATUS_INVALID, NULL, "%.40s is not an action: use create, list or revoke", verb);
    if (options_integer(given, "days", &days, err) != STATUS_OK)
        return STATUS_INVALID;
    if (auth_scope_parse(options->words[TOKEN_SCOPE]) == API_SCOPE_NONE) {
        return error_set(err, STATUS_INVALID, NULL, "--scope must be read, submit or admin; got %.40s",
                         options->words[TOKEN_SCOPE]);
    }
    if (db != NULL && strlen(db) >= sizeof options->settings.db)
        return error_set(err, STATUS_INVALID, NULL, "--db must be shorter than %zu bytes", sizeof options->settings.db);
    if (db != NULL && db[0] != '\0')
        memcpy(options->settings.db, db, strlen(db) + 1);
    if ((create || revoke) && options->words[TOKEN_NAME][0] == '\0')
        return error_set(err, STATUS_INVALID, NULL, "--name is needed");
    return create ? auth_check_name(options->words[TOKEN_NAME], err) : STATUS_OK;
}

static enum status command_token_work(const struct token_options *options, struct buf *out, struct error *err)
{
    const char *db = options->settings.db;
    for (int left = TRIES;; left--) {
        struct storage *storage = NULL;
        struct error why = {0};
        bool open;
        enum status status = console_ask(db, options->words, TOKEN_WORDS, &open, out, &why);
        if (open)
            return status == STATUS_OK ? status : error_set(err, status, NULL, "%s", why.message);
        error_clear(&why);
        status = storage_open(&(struct storage_options){.path = db}, &storage, &why);
        if (status == STATUS_OK) {
            status = tokens_do(storage, options->words, TOKEN_WORDS, out, err);
            storage_close(storage);
            return status;
        }
        if (status != STATUS_CONFLICT || left == 0)
            return error_set(err, status, NULL, "%s", why.message);
        (void)nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
    }
}

int command_token(int argc, char **argv)
{
    struct token_options options = {.words = {NULL}};
    struct options given;
    struct error err = {0};
    struct buf out;
    int code;
    if (!command_read(&usage, argc, argv, &given, &code))
        return code;
    if (read_words(&given, &options, &err) != STATUS_OK)
        return command_misused(&usage, err.message);
    buf_init(&out, CONSOLE_ANSWER);
    enum status status = command_token_work(&options, &out, &err);
    if (status == STATUS_OK && out.failed)
        status = buf_status(&out, "the list", &err);
    if (status == STATUS_OK &&
        (fwrite(out.data != NULL ? out.data : "", 1, out.size, stdout) != out.size || fflush(stdout) != 0)) {
        status = error_set(&err, STATUS_IO, NULL, "the change was made, but its answer cannot be written: %s",
                           strerror(errno));
    }
    if (status != STATUS_OK)
        (void)fprintf(stderr, "motifd token: %s\n", err.message);
    buf_close(&out);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAULT;
}
