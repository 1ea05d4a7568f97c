/* The frame of motifctl: what every command gets, and the table that names them.
 *
 * A command parses its own options (args.h), talks to the server (http.h), and writes for a person or, with
 * --json, passes on what the server said. It returns one of the exit codes. */
#ifndef MOTIF_API_CLIENT_CTL_H
#define MOTIF_API_CLIENT_CTL_H

#include "api/json/json.h"
#include <stdbool.h>

#include "core/base/options.h"
#include "api/client/http.h"
#include "api/client/term.h"

enum ctl_exit {
    CTL_SUCCESS = 0,
    CTL_FAILED = 1,      /* the job failed or was cancelled, or the server could not do what was asked */
    CTL_USAGE = 2,       /* the command or what it names is wrong: options, fields, job */
    CTL_UNREACHABLE = 3, /* no server, or it is not ready */
    CTL_INTERRUPTED = 130
};

struct ctl {
    struct http *http;
    struct term out, err;
    bool json;
    const struct command *command;            /* the one that runs */
    const struct command *const *commands;    /* all, in the order of the help; ends with NULL */
    const struct option_spec *common_options; /* of every command */
};

struct command {
    const char *name;
    const char *arguments; /* after the name in the usage line: "JOB [--name NAME]" */
    const char *summary;   /* one line for the overview */
    const char *text;      /* what it does, for its own help */
    const char *example;   /* command lines with a word of explanation */
    const struct option_spec *options;
    size_t least, most; /* positional arguments */
    int (*run)(struct ctl *ctl, const struct options *args);
};

/* One a command; main.c lists them. */
extern const struct command command_submit, command_list, command_show, command_watch, command_metrics, command_plot,
    command_motifs, command_channels, command_intervene, command_compare, command_evaluate, command_cancel,
    command_pause, command_resume, command_delete, command_checkpoints, command_export, command_import,
    command_attestation, command_verify, command_artifacts, command_datasets, command_kinds, command_system,
    command_health, command_completion, command_manual;

/* --- talking to the server --- */

/* Sends a request and parses the answer. On an answer below 300 (and 304) returns CTL_SUCCESS, with the document
 * in *json when `json` is not NULL (NULL inside for an empty body); otherwise says on stderr what is wrong and
 * returns the exit code. `answer` is closed by the caller in any case. */
int ctl_call(struct ctl *ctl, const struct http_request *request, struct http_answer *answer, cJSON **json);
/* GET of a document, with nothing else of interest. */
int ctl_get(struct ctl *ctl, const char *path, cJSON **json);
/* Asks and shows the document: with --json as it came, otherwise by `view`. */
int ctl_show(struct ctl *ctl, const struct http_request *request, void (*view)(struct ctl *ctl, const cJSON *document));
/* Asks and writes the body to a file. */
int ctl_save(struct ctl *ctl, const struct http_request *request, const char *file);
/* The exit code for a status line of an error, and the words for it on stderr. */
int ctl_refused(struct ctl *ctl, const struct http_answer *answer);
int ctl_fault(struct ctl *ctl, int code, const struct error *err);
int ctl_usage(struct ctl *ctl, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define CTL_ID 64
/* Turns what a person wrote (an id, the unique beginning of one, "latest") into an id. `trained`: "latest" is
 * the newest job that trains, not an evaluation of one. */
int ctl_job_id(struct ctl *ctl, const char *wanted, bool trained, char *id);

/* A whole file, which the caller closes with buf_close(); says what is wrong. */
int ctl_read_file(struct ctl *ctl, const char *file, size_t most, struct buf *out);
/* A body, as it comes, to a file. */
int ctl_fetch_file(struct ctl *ctl, const char *path, const char *file);
/* Writes bytes to a file; says so, or what is wrong. */
int ctl_write_file(struct ctl *ctl, const char *file, const struct buf *bytes);

/* With --json: prints the document on one line. */
void ctl_print_json(struct ctl *ctl, const cJSON *json);

/* --- reading and writing documents: cJSON always has memory here, see main.c --- */

const char *json_string(const cJSON *object, const char *name); /* NULL when absent or not a string */
double json_number(const cJSON *object, const char *name);      /* NaN when absent or not a number */
const cJSON *json_member(const cJSON *object, const char *name);

/* --- shared views --- */

/* "digitcircle-quick", or the job's own name, or its kind. */
const char *job_title(const cJSON *job);
/* The figures of a result (of a training or an evaluation): errors, by density, without the confusion matrix. */
void view_result(struct buf *out, const cJSON *result, bool colour);
void view_confusion(struct buf *out, const cJSON *confusion, bool colour);
/* What was wrong with a failed job. */
void view_job_error(struct buf *out, const cJSON *job, bool colour);
/* Any flat object as two columns. */
void view_object(struct buf *out, const cJSON *object, bool colour);
/* Text of a scalar: numbers short, strings as they are. */
void view_scalar(const cJSON *value, char *out, size_t bytes);
/* "12 s ago", from an RFC 3339 time; "" when it cannot be read. */
void view_age(const char *time, char *out, size_t bytes);

/* Follows a job to its end, drawing progress; the exit code of the job. */
int watch_job(struct ctl *ctl, const char *id, double interval, double patience);

#endif
