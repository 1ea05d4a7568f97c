/* motifd token create|list|rotate|revoke. Only one process may write to a database: while a daemon has it open, the
 * command sends the daemon a request with the key beside the database (tokens.h); otherwise it opens the database
 * itself. */
#include "server/commands/commands.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "protocol/http_client.h"
#include "protocol/json.h"
#include "server/commands/usage.h"
#include "server/daemon.h"
#include "server/settings/settings.h"
#include "server/tokens.h"

static const struct config_field option_table[] = {
    OPTION_TEXT("name", "NAME", "name of the token, also without --name; needed by create, rotate and revoke"),
    OPTION_TEXT("role", "ROLE", "reader, member, manager or admin (member)"),
    OPTION_TEXT("scope", "SCOPE", "the same: read, submit, manage or admin"),
    OPTION_TEXT("team", "TEAM", "team of the token (the team without a name)"),
    OPTION_TEXT("expires", "TIME",
                "time until the new token expires: 90d, 12h or 30m (never; rotate: as long as the old one was valid)"),
    OPTION_INTEGER("days", "N", NULL, 1, API_TOKEN_DAYS_MAX, "the same in days, 1 to 36500"),
    OPTION_TEXT("overlap", "TIME", "rotate: time for which the old token still works, at most 30d (none)"),
    OPTION_TEXT("db", "FILE", "the database of the daemon (MOTIFD_DB, or " SETTINGS_DB ")"),
    OPTIONS_END,
};
static const char *const lines[] = {
    "token create NAME [--team TEAM] [--role reader|member|manager|admin] [--expires TIME] [--db FILE]",
    "token list [--db FILE]", "token rotate NAME [--overlap TIME] [--expires TIME] [--db FILE]",
    "token revoke NAME [--db FILE]", NULL};
static const struct command_usage usage = {
    .name = "token",
    .lines = lines,
    .text =
        "Creates, lists, replaces and revokes bearer tokens. Use it before you open a daemon to other machines: a "
        "daemon whose\n"
        "database contains a valid token requires a token with every request (Authorization: Bearer TOKEN). `create`\n"
        "prints the token once; the database stores only its hash. `rotate` prints another secret for the same token;\n"
        "with --overlap, the old one works until every client has the new one. A running daemon applies each change "
        "at\n"
        "once. Only the daemon's own user and root may use this command.\n"
        "  reader   looks at the jobs and data sets of the team (scope read)\n"
        "  member   also submits jobs and uploads, and changes and deletes what is the token's own (scope submit)\n"
        "  manager  also changes and deletes what belongs to others of the team (scope manage)\n"
        "  admin    may do everything with everything (scope admin)\n",
    .options = option_table,
    .example = "  motifd token create ann --team proteins --role member --expires 90d\n"
               "  motifd token rotate ann --overlap 1d\n"
               "  motifd token revoke ann\n",
    .least = 1,
    .most = 2,
};

/* While a daemon starts or ends, it has the database open but answers no requests. So the command tries this many
 * times. */
#define TRIES 20
#define TRY_NS 100000000 /* nanoseconds between two tries */
#define LIST_MAX ((size_t)4 << 20)

struct token_options {
    struct settings settings; /* settings for --db */
    struct api_token_request request;
};

static const struct {
    const char *verb, *method, *path;
    const char *noted; /* method of the entry in the audit log of a change without a daemon */
} actions[] = {
    [API_TOKEN_LIST] = {"list", "GET", "/v1/tokens", ""},
    [API_TOKEN_CREATE] = {"create", "POST", "/v1/tokens", "token+"},
    [API_TOKEN_ROTATE] = {"rotate", "POST", "/v1/tokens/rotation", "token~"},
    [API_TOKEN_REVOKE] = {"revoke", "DELETE", "/v1/tokens", "token-"},
};
#define ACTIONS (sizeof actions / sizeof actions[0])

static enum status read_duration(const struct options *given, const char *name, int days, int64_t *seconds,
                                 struct error *err)
{
    if (!options_has(given, name) || token_duration(options_value(given, name), days, seconds))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, NULL, "--%s must be a duration of 1s to %dd, such as 90d, 12h or 30m", name,
                     days);
}

static enum status read_times(const struct options *given, struct api_token_request *request, struct error *err)
{
    long long days = 0;
    if (options_integer(given, "days", &days, err))
        return STATUS_INVALID;
    request->expires = days * 86400;
    if (days > 0 && options_has(given, "expires"))
        return error_set(err, STATUS_INVALID, NULL, "give --expires or --days, not both");
    if (options_has(given, "overlap") && request->action != API_TOKEN_ROTATE)
        return error_set(err, STATUS_INVALID, NULL, "--overlap needs rotate");
    enum status status = read_duration(given, "expires", API_TOKEN_DAYS_MAX, &request->expires, err);
    return !status ? read_duration(given, "overlap", API_TOKEN_OVERLAP_DAYS_MAX, &request->overlap, err) : status;
}

/* Reads the action and the name of the token. */
static enum status read_action(const struct options *given, struct api_token_request *request, struct error *err)
{
    const char *verb = given->positional[0], *bare = given->positional_count > 1 ? given->positional[1] : NULL;
    size_t action = 0;
    while (action < ACTIONS && strcmp(verb, actions[action].verb) != 0)
        action++;
    if (action == ACTIONS)
        return error_set(err, STATUS_INVALID, NULL, "%.40s is not an action: use create, list, rotate or revoke", verb);
    request->action = (enum api_token_action)action;
    request->name = options_has(given, "name") ? options_value(given, "name") : bare != NULL ? bare : "";
    if (bare != NULL && (action == API_TOKEN_LIST || options_has(given, "name")))
        return error_set(err, STATUS_INVALID, NULL, "%.40s is not expected here", bare);
    if (action != API_TOKEN_LIST && request->name[0] == '\0')
        return error_set(err, STATUS_INVALID, NULL, "--name is needed");
    return STATUS_OK;
}

/* Reads the request from the command line; a fault goes to `err`. */
static enum status read_request(const struct options *given, struct token_options *options, struct error *err)
{
    const char *named = getenv("MOTIFD_DB"), *db = options_has(given, "db") ? options_value(given, "db") : named;
    struct api_token_request *request = &options->request;
    settings_defaults(&options->settings);
    *request = (struct api_token_request){
        .team = options_has(given, "team") ? options_value(given, "team") : "",
        .scope = options_has(given, "role")    ? options_value(given, "role")
                 : options_has(given, "scope") ? options_value(given, "scope")
                                               : "submit",
    };
    if (auth_scope_parse(request->scope) == API_SCOPE_NONE) {
        return error_set(err, STATUS_INVALID, NULL,
                         "--%s must be reader, member, manager or admin, or as a scope read, submit, manage or admin; "
                         "got %.40s",
                         options_has(given, "role") ? "role" : "scope", request->scope);
    }
    if (db != NULL && strlen(db) >= sizeof options->settings.db)
        return error_set(err, STATUS_INVALID, NULL, "--db must be shorter than %zu bytes", sizeof options->settings.db);
    if (db != NULL && db[0] != '\0')
        memcpy(options->settings.db, db, strlen(db) + 1);
    if (read_action(given, request, err) || read_times(given, request, err))
        return STATUS_INVALID;
    const bool create = request->action == API_TOKEN_CREATE;
    enum status status = create ? auth_check_name(request->name, err) : STATUS_OK;
    return create && !status ? auth_check_team(request->team, err) : status;
}

/* ---- while a daemon runs ------------------------------------------------------------------------------------ */

/* Takes the text of an answer, or the detail of its problem. */
static enum status take_answer(const struct http_answer *answer, struct buf *out, struct error *err)
{
    cJSON *problem = NULL;
    if (http_succeeded(answer->status)) {
        buf_append(out, answer->body.data, answer->body.size);
        return STATUS_OK;
    }
    (void)json_parse(answer->body.data, answer->body.size, &problem, NULL);
    const char *detail = cJSON_GetStringValue(cJSON_GetObjectItem(problem, "detail"));
    enum status status = answer->status == 404   ? STATUS_NOT_FOUND
                         : answer->status == 409 ? STATUS_CONFLICT
                                                 : STATUS_UNAVAILABLE;
    (void)error_set(err, status, NULL, "%s", detail != NULL ? detail : "the answer of the daemon cannot be read");
    cJSON_Delete(problem);
    return status;
}

/* Asks the daemon that has the database open. *answered is false if no daemon answers, or if the key is that of an
 * earlier daemon. */
static enum status ask_daemon(const struct token_options *options, bool *answered, struct buf *out, struct error *err)
{
    const struct api_token_request *request = &options->request;
    struct tokens_key key;
    struct http *http;
    struct http_answer answer;
    struct buf path;
    *answered = false;
    enum status status = tokens_key_read(options->settings.db, &key, err);
    if (!status)
        status = http_create(key.url, key.key, &http, err);
    if (status)
        return status;
    http_local(http);
    buf_init(&path, 4096);
    buf_text(&path, actions[request->action].path);
    if (request->action != API_TOKEN_LIST) {
        buf_text(&path, "?name=");
        http_escape(&path, request->name);
    }
    if (request->action == API_TOKEN_CREATE)
        buf_format(&path, "&scope=%s", request->scope);
    if (request->action == API_TOKEN_CREATE && request->team[0] != '\0')
        buf_format(&path, "&team=%s", request->team);
    if (request->expires > 0)
        buf_format(&path, "&expires=%llds", (long long)request->expires);
    if (request->overlap > 0)
        buf_format(&path, "&overlap=%llds", (long long)request->overlap);
    status = buf_status(&path, "the request", err);
    if (!status) {
        status = http_call(http,
                           &(struct http_request){
                               .method = actions[request->action].method, .path = path.data, .accept = "text/plain"},
                           &answer, err);
        *answered = !status && answer.status != 401;
        if (*answered)
            status = take_answer(&answer, out, err);
        http_answer_close(&answer);
    }
    buf_close(&path);
    http_destroy(http);
    return status;
}

/* ---- while no daemon runs ----------------------------------------------------------------------------------- */

/* Runs an action on the database and records it in the audit log, before and after it is tried, as the daemon does. */
static enum status change_database(struct storage *storage, const struct api_token_request *request, struct buf *out,
                                   struct error *err)
{
    struct storage_audit entry = {.who = "console"};
    unsigned char random[12];
    if (request->action == API_TOKEN_LIST)
        return tokens_do(storage, request, out, err);
    randombytes_buf(random, sizeof random);
    (void)sodium_bin2hex(entry.request, sizeof entry.request, random, sizeof random);
    (void)snprintf(entry.method, sizeof entry.method, "%s", actions[request->action].noted);
    (void)snprintf(entry.target, sizeof entry.target, "%s", request->name);
    enum status status = storage_audit_begin(storage, &entry, err);
    if (!status)
        status = tokens_do(storage, request, out, err);
    int done = request->action == API_TOKEN_REVOKE ? 204 : 201;
    int answer = status == STATUS_NOT_FOUND ? 404 : status ? 409 : done;
    (void)storage_audit_end(storage, entry.request, answer, "", NULL);
    return status;
}

static enum status command_token_work(const struct token_options *options, struct buf *out, struct error *err)
{
    for (int left = TRIES;; left--) {
        struct storage *storage = NULL;
        struct error why = {0}, answer = {0};
        bool answered;
        enum status status = storage_open(&(struct storage_options){.path = options->settings.db}, &storage, &why);
        if (!status) {
            status = change_database(storage, &options->request, out, err);
            storage_close(storage);
            return status;
        }
        if (status != STATUS_CONFLICT)
            return error_set(err, status, NULL, "%s", why.message);
        enum status asked = ask_daemon(options, &answered, out, &answer);
        if (answered)
            return !asked ? asked : error_set(err, asked, NULL, "%s", answer.message);
        if (left == 0)
            return error_set(err, status, NULL, "%s", why.message);
        (void)nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
    }
}

int command_token(int argc, char **argv)
{
    struct token_options options = {.request = {.action = API_TOKEN_LIST}};
    struct options given;
    struct error err = {0};
    struct buf out;
    int code;
    if (!command_read(&usage, argc, argv, &given, &code))
        return code;
    if (read_request(&given, &options, &err))
        return command_misused(&usage, err.message);
    buf_init(&out, LIST_MAX);
    enum status status = command_token_work(&options, &out, &err);
    if (!status && out.failed)
        status = buf_status(&out, "the list", &err);
    if (!status && (fwrite(out.data != NULL ? out.data : "", 1, out.size, stdout) != out.size || fflush(stdout) != 0)) {
        status = error_set(&err, STATUS_IO, NULL, "the change was made, but its answer cannot be written: %s",
                           strerror(errno));
    }
    if (status)
        (void)fprintf(stderr, "motifd token: %s\n", err.message);
    buf_close(&out);
    return !status ? EXIT_OK : EXIT_FAULT;
}
