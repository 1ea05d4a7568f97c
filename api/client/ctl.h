/* The frame of motifctl: what every command receives, and functions that several commands use.
 *
 * A command reads its options (core/base/options.h), sends requests to the server (http.h), and prints text for a
 * person, or with --json the server's answer. It returns one of the exit codes. */
#ifndef MOTIF_API_CLIENT_CTL_H
#define MOTIF_API_CLIENT_CTL_H

#include "protocol/json.h"
#include <stdbool.h>

#include "core/base/options.h"
#include "protocol/http_client.h"
#include "api/client/term.h"

enum ctl_exit {
    CTL_SUCCESS = 0,
    CTL_FAILED = 1,      /* a job failed or was cancelled, or a request failed */
    CTL_USAGE = 2,       /* wrong options, fields or job */
    CTL_UNREACHABLE = 3, /* no server, or the server is not ready */
    CTL_PARTLY = 4,      /* `watch --require`: the job's verdict is `partly` */
    CTL_NOT_LEARNED = 5, /* `watch --require`: the job's verdict is `not-learned` */
    CTL_INTERRUPTED = 130
};

struct ctl {
    struct http *http;
    struct term out, err;
    bool json;                                 /* print the server's answer, for programs */
    bool yaml;                                 /* with `json`: as YAML */
    bool quiet;                                /* print only what a script needs: ids and names, one on a line */
    size_t documents;                          /* number of YAML documents printed so far */
    const struct command *command;             /* the command that runs */
    const struct command *const *commands;     /* all commands in the order of the help; ends with NULL */
    const struct config_field *common_options; /* options of every command */
};

struct command {
    const char *name;
    const char *arguments; /* what follows the command's name in the usage line: "JOB [--name NAME]" */
    const char *summary;   /* one line for the overview */
    const char *text;      /* what the command does and when to use it, for its help */
    const char *example;   /* command lines, indented by two spaces */
    const struct config_field *options;
    size_t least, most; /* number of positional arguments */
    int (*run)(struct ctl *ctl, const struct options *args);
};

/* The commands; main.c puts them into a table. */
extern const struct command command_submit, command_list, command_show, command_watch, command_metrics, command_plot,
    command_motifs, command_predict, command_channels, command_intervene, command_compare, command_evaluate,
    command_cancel, command_pause, command_resume, command_delete, command_checkpoints, command_export, command_import,
    command_attestation, command_verify, command_artifacts, command_datasets, command_kinds, command_system,
    command_health, command_get, command_logs, command_rm, command_version, command_sites, command_signal,
    command_logos, command_pairs, command_rules, command_study, command_ask, command_report, command_share,
    command_usage, command_review, command_policy, command_pin;

/* --- talking to the server --- */

/* Sends a request and parses the answer. If the status is below 300 or is 304, returns CTL_SUCCESS and sets *json to
 * the document (NULL for an empty body), which the caller frees; `json` may be NULL. Otherwise prints
 * the error on stderr and returns the exit code. The caller closes `answer` in any case. */
int ctl_call(struct ctl *ctl, const struct http_request *request, struct http_answer *answer, cJSON **json);
/* Parses a document of the server, which the caller frees; NULL if it is not JSON. Control characters in strings and
 * member names become escapes (\x1b, \u202e), so that text from the server cannot control the terminal. With --json,
 * this function leaves the text unchanged, and ctl_print_json() writes the escapes. */
cJSON *ctl_parse(const struct ctl *ctl, const char *text, size_t bytes);
/* GETs a document; the caller frees *json. */
int ctl_get(struct ctl *ctl, const char *path, cJSON **json);
/* Sends a request and prints the document: with --json unchanged, otherwise with `view`. */
int ctl_show(struct ctl *ctl, const struct http_request *request, void (*view)(struct ctl *ctl, const cJSON *document));
/* Sends a request that does no harm when it is sent twice. If the server is unreachable, the connection breaks, or the
 * server answers 429 or 503, waits and sends the request again, at most twice. Gives up at once if Retry-After requests
 * a wait of more than 10 s. *json: the document of the answer, which the caller frees. */
int ctl_repeat(struct ctl *ctl, const struct http_request *request, cJSON **json);
/* Like ctl_repeat(), for a request that creates a job: the header Idempotency-Key, with the value of the option `key`
 * or a random one, makes the server create the job once. The first entry of the request's `headers` must be free. */
int ctl_create(struct ctl *ctl, const struct http_request *request, const struct options *args, cJSON **json);
/* Sends a request and writes the body of the answer to a file. */
int ctl_save(struct ctl *ctl, const struct http_request *request, const char *file);
/* Returns CTL_SUCCESS if a download may replace FILE: it does not exist, or is a regular file. Otherwise prints a usage
 * error, because the rename would replace a device or a pipe, and cannot replace a folder. */
int ctl_may_replace(struct ctl *ctl, const char *file);
/* Returns CTL_SUCCESS if FILE may be the name of an output. Otherwise its name ends with .gz; motifctl writes no
 * compressed files, and prints a usage error. */
int ctl_output_good(struct ctl *ctl, const char *file);
/* Prints the error of an answer on stderr and returns its exit code. */
int ctl_refused(struct ctl *ctl, const struct http_answer *answer);
/* ctl_fault() prints an error on stderr and returns `code`. ctl_usage() also prints how to get help, and returns
 * CTL_USAGE. */
int ctl_fault(struct ctl *ctl, int code, const struct error *err);
int ctl_usage(struct ctl *ctl, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes a temporary file in the folder TMPDIR, or in /tmp, and writes its path. Returns its descriptor; -1: it cannot.
 */
enum { CTL_TEMPORARY = 4096 };
int ctl_temporary(char path[CTL_TEMPORARY]);

#define CTL_ID 64
/* Converts the id of a job, its name, the unique beginning of an id, or "latest" into an id. "latest" means the newest
 * training; with `model`, the newest one that has a checkpoint. Trainings of the caller's own token come first. */
int ctl_job_id(struct ctl *ctl, const char *wanted, bool model, char *id);

/* Appends a query string, "?name=value&name=value", to a path. It contains the options in `names` (a list that ends
 * with NULL) that the command line sets; a name has '_' for each '-' of an option. If the path already has a query
 * string, the text begins with '&'. */
void ctl_add_query(struct buf *path, const struct options *args, const char *const *names);
/* Appends ?NAME=true or &NAME=true if the command line contains the option, which takes no value. */
void ctl_add_flag(struct buf *path, const struct options *args, const char *name);
/* Sends a query without a body to the model of the job on the command line, and prints the answer as ctl_show()
 * does. The options in `names` become parameters, as in ctl_add_query(). Returns an exit code. */
int ctl_show_query(struct ctl *ctl, const struct options *args, const char *query, const char *const *names,
                   void (*view)(struct ctl *ctl, const cJSON *document));
/* Reads a whole file of at most `most` bytes into `out`, which the caller closes with buf_close(). Prints the error and
 * returns an exit code on failure. */
int ctl_read_file(struct ctl *ctl, const char *file, size_t most, struct buf *out);
/* GETs a body and writes it to a file while it arrives. */
int ctl_fetch_file(struct ctl *ctl, const char *path, const char *file);
/* Writes bytes to a file and prints the name of the file, or the error. */
int ctl_write_file(struct ctl *ctl, const char *file, const struct buf *bytes);

/* Prints the document for programs: on one line as JSON, or as a YAML document. */
void ctl_print_json(struct ctl *ctl, const cJSON *json);
/* Appends a document as YAML 1.2: blocks, with every text between quotation marks. */
void yaml_write(struct buf *out, const cJSON *json);

/* --- reading and writing documents: cJSON always has memory here, see main.c --- */

const char *json_string(const cJSON *object, const char *name); /* NULL when the member is missing or not a string */
const char *json_shown(const cJSON *object, const char *name);  /* "-" when the member is missing or not a string */
double json_number(const cJSON *object, const char *name);      /* NaN when the member is missing or not a number */
const cJSON *json_member(const cJSON *object, const char *name);

struct json_text {
    char text[32];
};
/* json_fixed() returns a number as text with `digits` digits behind the decimal point ("2.50"). json_percent() returns
 * a fraction as percent ("66.7 %"). Both return "-" when the member is missing or not a number. */
struct json_text json_fixed(const cJSON *object, const char *name, int digits);
struct json_text json_percent(const cJSON *object, const char *name, int digits);

/* --- shared views --- */

/* Returns the job's name; without a name, its preset; without a preset, its kind. */
const char *job_title(const cJSON *job);
/* Whether a job in this state has ended; NULL: it has not. */
bool job_ended(const char *state);
/* Appends the verdict of a job's result and its findings, each with what to do next; nothing without a verdict. `id`
 * takes the place of the word JOB in commands. */
void view_verdict(struct buf *out, const cJSON *result, const char *id, bool colour);
/* The exit code that a result's verdict stands for: CTL_SUCCESS for learned, and for a result without a verdict. */
int verdict_code(const cJSON *result);
/* Appends the numbers of a result of a training or an evaluation: errors, in total and by density, without the
 * confusion matrix. */
void view_result(struct buf *out, const cJSON *result, bool colour);
void view_confusion(struct buf *out, const cJSON *confusion, bool colour);
/* Appends why a job failed. */
void view_job_error(struct buf *out, const cJSON *job, bool colour);
/* Appends how samples are divided: a line, a table of the parts, and the warnings. NULL: appends nothing. */
void view_division(struct buf *out, const cJSON *division, bool colour);
/* Appends the members of an object as a table of names and values. Leaves out members that are objects or lists. */
void view_object(struct buf *out, const cJSON *object, bool colour);
/* Writes a number, a string or another single value as text: numbers are shortened, strings are unchanged. */
void view_scalar(const cJSON *value, char *out, size_t bytes);
/* Writes an RFC 3339 time as "12 s ago"; "" if the time is malformed. */
void view_age(const char *time, char *out, size_t bytes);

/* Which exit code watch_job() returns for a job that has succeeded. */
enum watch_require {
    WATCH_SUCCESS, /* always CTL_SUCCESS */
    WATCH_LEARNED  /* that of verdict_code() */
};
/* Prints the progress of a job until it ends. Without an event stream, requests the job every `interval` seconds. Gives
 * up if the server does not answer for `patience` seconds. Returns the exit code of the job. */
int watch_job(struct ctl *ctl, const char *id, enum watch_require require, double interval, double patience);

#endif
