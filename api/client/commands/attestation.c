/* `motifctl attestation` and `motifctl verify`. verify starts the program motifd, which repeats the computation.
 * motifctl searches its own folder for motifd, and then PATH. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/client/ctl.h"
#include "core/base/descriptor.h"

/* --- attestation --- */

static const struct config_field no_options[] = {OPTIONS_END};

static void commands_attestation_view(struct ctl *ctl, const cJSON *document)
{
    const cJSON *row = NULL;
    struct table table;
    struct buf out;
    char text[64];
    buf_init(&out, 1 << 16);
    buf_text(&out, "MACHINE\n");
    view_object(&out, json_member(document, "machine"), ctl->out.colour);
    buf_text(&out, "\n");
    term_flush(&ctl->out, &out);
    buf_close(&out);
    table_init(&table, ">SEQ|>STEP|KEPT|SHA-256|CHAIN");
    cJSON_ArrayForEach (row, json_member(document, "checkpoints")) {
        static const char *const numbers[] = {"seq", "step", "kept"};
        static const char *const hashes[] = {"sha256", "chain"};
        for (size_t i = 0; i < 3; i++) {
            view_scalar(json_member(row, numbers[i]), text, sizeof(text));
            table_add(&table, text);
        }
        for (size_t i = 0; i < 2; i++) {
            const char *hash = json_string(row, hashes[i]);
            snprintf(text, sizeof(text), "%.16s", hash ? hash : "");
            table_add(&table, text);
        }
    }
    term_table(&ctl->out, &table);
    const char *chain = json_string(document, "chain");
    fprintf(ctl->out.stream, "\nchain %s\n", chain ? chain : "");
}

static int attestation_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID], path[128];
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    snprintf(path, sizeof(path), "/v1/jobs/%s/attestation", id);
    return code == CTL_SUCCESS
               ? ctl_show(ctl, &(struct http_request){.method = "GET", .path = path}, commands_attestation_view)
               : code;
}

const struct command command_attestation = {
    .name = "attestation",
    .arguments = "JOB",
    .summary = "show how and where a job was computed, and the chain of hashes of its checkpoints",
    .text = "Save the last line. It later proves whether the configuration or any checkpoint was changed.",
    .example = "  motifctl attestation latest",
    .options = no_options,
    .least = 1,
    .most = 1,
    .run = attestation_run,
};

/* --- verify --- */

static const struct config_field options[] = {
    OPTION_TEXT("from", "SEQ", "start from this checkpoint; 0 is the start of the training (the first that is kept)"),
    OPTION_TEXT("to", "SEQ", "end at this checkpoint (the last)"),
    OPTION_TEXT("threads", "N", "threads of the repeated runs (1); the bits do not depend on it"),
    OPTIONS_END,
};

/* Replaces this process by the program, or by the first motifd in PATH if the program cannot be started. */
static void become(const char *program, char *const words[])
{
    execv(program, words);
    execvp("motifd", words);
    _exit(127);
}

static int run_motifd(struct ctl *ctl, const struct options *args, const char *file)
{
    static const char *const passed[] = {"from", "to", "threads"};
    char program[4096], flags[3][16];
    char *words[12] = {"motifd", "verify",
                       (char *)(uintptr_t)file}; /* NOLINT(performance-no-int-to-ptr): execv() changes nothing */
    size_t count = 3;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 16);
    program[length > 0 ? length : 0] = 0;
    char *slash = strrchr(program, '/');
    memcpy(slash ? slash + 1 : program, "motifd", sizeof("motifd"));
    for (size_t i = 0; i < 3; i++) {
        const char *value = options_value(args, passed[i]);
        if (value) {
            snprintf(flags[i], sizeof(flags[i]), "--%s", passed[i]);
            words[count++] = flags[i];
            words[count++] = (char *)(uintptr_t)value; /* NOLINT(performance-no-int-to-ptr) */
        }
    }
    fflush(stdout);
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        become(program, words);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 127) {
        struct error err = {0};
        error_set(&err, STATUS_IO, NULL,
                  "motifd, which repeats the training, could not be started; install it in the same folder");
        return ctl_fault(ctl, CTL_FAILED, &err);
    }
    return WEXITSTATUS(status);
}

static int verify_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID], path[160], temporary[CTL_TEMPORARY];
    const char *named = args->positional[0];
    if (access(named, R_OK) == 0)
        return run_motifd(ctl, args, named);
    if (strchr(named, '/'))
        return ctl_usage(ctl, "%.200s cannot be read", named);
    int code = ctl_job_id(ctl, named, true, id);
    int file = code == CTL_SUCCESS ? ctl_temporary(temporary) : -1;
    if (code != CTL_SUCCESS)
        return code;
    if (file < 0) {
        struct error err = {0};
        error_set(&err, STATUS_IO, NULL, "cannot make a temporary file for the bundle; TMPDIR chooses its folder");
        return ctl_fault(ctl, CTL_FAILED, &err);
    }
    descriptor_close(&file);
    snprintf(path, sizeof(path), "/v1/jobs/%s/bundle?checkpoints=all", id);
    code = ctl_fetch_file(ctl, path, temporary);
    if (code == CTL_SUCCESS)
        code = run_motifd(ctl, args, temporary);
    unlink(temporary);
    return code;
}

const struct command command_verify = {
    .name = "verify",
    .arguments = "JOB|BUNDLE",
    .summary = "repeat a job's training from each checkpoint to the next and compare the bits",
    .text = "Use it to check a training that ran elsewhere. The computation runs on this machine, not on the server. "
            "Instead of a JOB,\nthe name of a file selects a bundle that export --bundle wrote.",
    .example = "  motifctl verify latest --from 3 --to 4\n"
               "  motifctl verify job.bundle --from 0",
    .options = options,
    .least = 1,
    .most = 1,
    .run = verify_run,
};
