/* motifd token create|list|revoke: works on the database of a daemon that is not running. */
#include "server/commands.h"

#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "server/auth.h"
#include "server/daemon.h"
#include "server/settings.h"
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
    "The daemon reads the list when it starts: stop it first.\n";

#define DAYS_MAX 36500

struct token_options {
    struct settings settings; /* for --db and its twins */
    const char *name;
    enum api_scope scope;
    long days; /* 0: for ever */
};

/* What the command line changes is written down as well, before and after it is tried. */
static enum status begin_note(struct storage *storage, struct storage_audit *entry, const char *method, const char *name, struct error *err)
{
    unsigned char random[12];
    *entry = (struct storage_audit){.who = "console"};
    randombytes_buf(random, sizeof random);
    (void)sodium_bin2hex(entry->request, sizeof entry->request, random, sizeof random);
    (void)snprintf(entry->method, sizeof entry->method, "%s", method);
    (void)snprintf(entry->target, sizeof entry->target, "%s", name);
    return storage_audit_begin(storage, entry, err);
}

static int end_note(struct storage *storage, const struct storage_audit *entry, enum status status, int done)
{
    (void)storage_audit_end(storage, entry->request, status == STATUS_OK ? done : status == STATUS_NOT_FOUND ? 404 : 409, "", NULL);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAULT;
}

static int create_token(struct storage *storage, const struct token_options *options, struct error *err)
{
    char secret[AUTH_SECRET];
    int64_t expires = options->days > 0 ? ((int64_t)time(NULL) + options->days * INT64_C(86400)) * 1000 : 0;
    if (options->name == NULL) {
        (void)error_set(err, STATUS_INVALID, NULL, "--name is needed");
        return EXIT_USAGE;
    }
    struct storage_audit entry;
    enum status status = begin_note(storage, &entry, "token+", options->name, err);
    if (status == STATUS_OK) {
        status = auth_create(storage, options->name, options->scope, expires, secret, err);
    }
    if (status == STATUS_OK) {
        (void)printf("%s\n", secret);
    }
    return end_note(storage, &entry, status, 201);
}

static int revoke_token(struct storage *storage, const char *name, struct error *err)
{
    struct storage_audit entry;
    enum status status = begin_note(storage, &entry, "token-", name, err);
    if (status == STATUS_OK) {
        status = storage_token_revoke(storage, name, err);
    }
    return end_note(storage, &entry, status, 204);
}

static void print_day(int64_t ms, const char *none)
{
    char text[16];
    struct tm utc;
    time_t seconds = (time_t)(ms / 1000);
    (void)gmtime_r(&seconds, &utc);
    (void)strftime(text, sizeof text, "%Y-%m-%d", &utc);
    (void)printf("  %-12s", ms == 0 ? none : text);
}

static int list_tokens(struct storage *storage, struct error *err)
{
    struct arena arena;
    struct storage_token *tokens = NULL;
    size_t count = 0;
    arena_init(&arena, 4096, 0);
    enum status status = storage_token_list(storage, &arena, &tokens, &count, err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        (void)printf("%-24s %-8s", tokens[i].name, auth_scope_name((enum api_scope)tokens[i].scope));
        print_day(tokens[i].created_at, "");
        print_day(tokens[i].expires_at, "for ever");
        (void)printf("%s\n", tokens[i].revoked ? "revoked" : "");
    }
    arena_close(&arena);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAULT;
}

/* False after saying what is wrong. */
static bool read_options(struct token_options *options, int argc, char **argv)
{
    static const struct option flags[] = {{"db", required_argument, NULL, 'd'},
                                          {"name", required_argument, NULL, 'n'},
                                          {"scope", required_argument, NULL, 's'},
                                          {"days", required_argument, NULL, 'D'},
                                          {NULL, 0, NULL, 0}};
    const char *db = getenv("MOTIFD_DB");
    settings_defaults(&options->settings);
    options->scope = API_SCOPE_SUBMIT;
    optind = 1;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        char *end = NULL;
        if (flag == 'd') {
            db = optarg;
        } else if (flag == 'n') {
            options->name = optarg;
        } else if (flag == 's') {
            options->scope = auth_scope_parse(optarg);
        } else if (flag == 'D') {
            options->days = strtol(optarg, &end, 10);
        }
        if (flag == '?' || options->scope == API_SCOPE_NONE || (end != NULL && (*end != '\0' || options->days < 1 || options->days > DAYS_MAX))) {
            return false;
        }
    }
    if (db != NULL && strlen(db) >= sizeof options->settings.db) {
        return false;
    }
    if (db != NULL && db[0] != '\0') {
        memcpy(options->settings.db, db, strlen(db) + 1);
    }
    return optind == argc;
}

int command_token(int argc, char **argv)
{
    struct token_options options = {.name = NULL};
    struct storage *storage = NULL;
    struct error err = {0};
    const char *verb = argc > 1 ? argv[1] : "";
    bool create = strcmp(verb, "create") == 0, list = strcmp(verb, "list") == 0, revoke = strcmp(verb, "revoke") == 0;
    bool asked = argc > 1 && strcmp(argv[argc - 1], "--help") == 0;
    if (asked || !(create || list || revoke) || !read_options(&options, argc - 1, argv + 1)) {
        (void)fputs(usage, asked ? stdout : stderr);
        return asked ? EXIT_OK : EXIT_USAGE;
    }
    int code = EXIT_FAULT;
    if (storage_open(&(struct storage_options){.path = options.settings.db}, &storage, &err) == STATUS_OK) {
        if (create) {
            code = create_token(storage, &options, &err);
        } else if (list) {
            code = list_tokens(storage, &err);
        } else {
            code = revoke_token(storage, options.name != NULL ? options.name : "", &err);
        }
    }
    if (code != EXIT_OK) {
        (void)fprintf(stderr, "motifd token: %s\n", err.message);
    }
    storage_close(storage);
    return code;
}
