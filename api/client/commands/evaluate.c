/* `motifctl evaluate`: measures the motif and end-to-end errors of a job's model, or shows the last measurement. */
#include <string.h>

#include "api/client/ctl.h"
#include "api/client/submission.h"

static const struct config_field options[] = {
    OPTION_INTEGER("samples", "N", NULL, 1, 1LL << 40, "number of samples (the server's default)"),
    OPTION_INTEGER("seed", "N", NULL, -CONFIG_INT_MAX, CONFIG_INT_MAX,
                   "seed of the samples: -2 is the test set, -1 the validation set (-2)"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTION_FLAG("last", "do not measure; show the last evaluation"),
    OPTION_FLAG("no-confusion", "do not print the confusion matrix"),
    OPTIONS_END,
};

static void commands_evaluate_view(struct ctl *ctl, const struct options *args, const cJSON *evaluation)
{
    struct buf out;
    const cJSON *result = json_member(evaluation, "result");
    if (ctl->json) {
        ctl_print_json(ctl, evaluation);
        return;
    }
    if (!cJSON_IsObject(result))
        result = evaluation;
    buf_init(&out, 4u << 20);
    view_result(&out, result, ctl->out.colour);
    if (!options_has(args, "no-confusion"))
        view_confusion(&out, json_member(result, "confusion"), ctl->out.colour);
    term_flush(&ctl->out, &out);
    buf_close(&out);
}

static int show_last(struct ctl *ctl, const struct options *args, const char *id)
{
    char path[128];
    cJSON *evaluation = NULL;
    snprintf(path, sizeof(path), "/v1/jobs/%s/evaluation", id);
    int code = ctl_get(ctl, path, &evaluation);
    if (code == CTL_SUCCESS)
        commands_evaluate_view(ctl, args, evaluation);
    cJSON_Delete(evaluation);
    return code;
}

static char *commands_evaluate_question(const struct options *args, struct error *err)
{
    cJSON *body = cJSON_CreateObject();
    long long samples = 0, seed = 0;
    char *text = NULL;
    if (!options_integer(args, "samples", &samples, err) && !options_integer(args, "seed", &seed, err)) {
        if (options_has(args, "samples"))
            cJSON_AddNumberToObject(body, "samples", (double)samples);
        if (options_has(args, "seed"))
            cJSON_AddNumberToObject(body, "seed", (double)seed);
        submission_checkpoint(body, options_value(args, "checkpoint"));
        text = cJSON_PrintUnformatted(body);
    }
    cJSON_Delete(body);
    return text;
}

static int commands_evaluate_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID], path[128];
    struct error err = {0};
    struct http_answer answer;
    cJSON *job = NULL;
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    if (options_has(args, "last"))
        return show_last(ctl, args, id);
    char *body = commands_evaluate_question(args, &err);
    if (!body)
        return ctl_usage(ctl, "%s", err.message);
    snprintf(path, sizeof(path), "/v1/jobs/%s/evaluation", id);
    struct http_request request = {.method = "POST", .path = path, .body = body};
    code = ctl_call(ctl, &request, &answer, &job);
    http_answer_close(&answer);
    cJSON_free(body);
    if (code != CTL_SUCCESS)
        return code;
    const char *evaluation = json_string(job, "id");
    if (evaluation) {
        char job_path[128];
        cJSON *done = NULL;
        code = watch_job(ctl, evaluation, WATCH_SUCCESS, 0.25, 600);
        snprintf(job_path, sizeof(job_path), "/v1/jobs/%s", evaluation);
        if (code == CTL_SUCCESS && !ctl->json && !options_has(args, "no-confusion") &&
            (code = ctl_get(ctl, job_path, &done)) == CTL_SUCCESS) {
            struct buf out;
            buf_init(&out, 4u << 20);
            view_confusion(&out, json_member(json_member(done, "result"), "confusion"), ctl->out.colour);
            term_flush(&ctl->out, &out);
            buf_close(&out);
        }
        cJSON_Delete(done);
    }
    cJSON_Delete(job);
    return code;
}

const struct command command_evaluate = {
    .name = "evaluate",
    .arguments = "JOB",
    .summary = "measure motif and end-to-end errors of a job's model",
    .text = "The measurement is a job of its own in the queue; this command waits for it.\n  FPE   motifs where no "
            "symbol is\n  FNE   symbols without a motif\n  CE    motifs of the wrong channel\n  E2EE  edit distance "
            "between the model's answer and the true one",
    .example = "  motifctl evaluate latest --samples 10000\n"
               "  motifctl evaluate 01JD8 --checkpoint density:1.9e-3\n"
               "  motifctl evaluate 01JD8 --last --json",
    .options = options,
    .least = 1,
    .most = 1,
    .run = commands_evaluate_run,
};
