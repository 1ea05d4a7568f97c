/* `motifctl motifs`: draws an input and the motifs that a model found in it, in the terminal and as PNG. */
#include <math.h>
#include <string.h>

#include "api/client/ctl.h"
#include "api/client/motif_answer.h"
#include "api/client/query_input.h"
#include "api/client/submission.h"

static const struct config_field options[] = {
    OPTION_INTEGER("seed", "N", "0", -CONFIG_INT_MAX, CONFIG_INT_MAX,
                   "the input: sample N of the job's own domain (0)"),
    OPTION_INTEGER("count", "N", "1", 1, 1000, "number of inputs, starting at --seed (1)"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTION_TEXT("png", "FILE", "also write the picture; with --count, FILE-SEED.png"),
    OPTION_NUMBER("false-marks", "SHARE", "0", 0, 0.999999,
                  "show only the motifs whose expected share of false ones is at most this, 0.1 for 10 % (0: all)"),
    QUERY_INPUT_OPTIONS,
    OPTIONS_END,
};

static char *motifs_question(long long seed, const char *checkpoint, double share)
{
    cJSON *body = cJSON_CreateObject();
    cJSON *inputs = cJSON_AddArrayToObject(body, "inputs");
    cJSON *input = cJSON_CreateObject();
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(input, "sample"), "seed", (double)seed);
    cJSON_AddItemToArray(inputs, input);
    if (share > 0)
        cJSON_AddNumberToObject(body, "false_marks", share);
    submission_checkpoint(body, checkpoint);
    char *text = cJSON_PrintUnformatted(body);
    cJSON_Delete(body);
    return text;
}

/* Writes the name of the PNG file. With several inputs, the seed is part of the name: "four-3.png" for "four.png" and
 * seed 3. */
static void png_name(const char *file, long long seed, bool several, char *out, size_t bytes)
{
    size_t stem = strlen(file);
    if (stem > 4 && strcmp(file + stem - 4, ".png") == 0)
        stem -= 4;
    if (several)
        snprintf(out, bytes, "%.*s-%lld.png", (int)stem, file, seed);
    else
        snprintf(out, bytes, "%s", file);
}

/* Appends what the server finds unusual about the first input. */
static void write_warnings(const cJSON *document, struct buf *out)
{
    const cJSON *warning;
    cJSON_ArrayForEach (warning, json_member(cJSON_GetArrayItem(json_member(document, "answers"), 0), "warnings"))
        buf_format(out, "  warning: %s\n", json_shown(warning, "text"));
}

/* Appends how many of the motifs are false at most, or why nobody knows, if the answer says so. */
static void write_bound(const cJSON *document, struct buf *out)
{
    const cJSON *bound = json_member(document, "bound");
    const char *why = json_string(document, "why");
    if (cJSON_IsObject(bound))
        buf_format(out, "  of these %.0f marks at most %.0f are false (%.0f %%)\n",
                   cJSON_GetNumberValue(json_member(bound, "marks")),
                   cJSON_GetNumberValue(json_member(bound, "false_at_most")),
                   100 * cJSON_GetNumberValue(json_member(bound, "confidence")));
    else if (bound != NULL)
        buf_text(out, "  no error rate, so no motif is shown\n");
    if (why != NULL)
        buf_format(out, "  left out: %s\n", json_shown(document, "why"));
}

/* Appends the title and, if the answer contains it, the name of the record from which the input comes. */
static void write_title(const cJSON *document, const char *title, struct buf *out)
{
    const cJSON *answer = cJSON_GetArrayItem(json_member(document, "answers"), 0);
    bool named = json_string(answer, "record") != NULL;
    buf_format(out, "%s%s%s\n", title, named ? "  " : "", named ? json_shown(answer, "record") : "");
}

/* Sends the request and draws its answer under a title. */
static int draw_answer(struct ctl *ctl, const struct http_request *request, const char *title)
{
    struct http_answer answer;
    struct motif_answer motifs;
    struct error err = {0};
    cJSON *document = NULL;
    int code = ctl_call(ctl, request, &answer, &document);
    http_answer_close(&answer);
    if (code != CTL_SUCCESS)
        return code;
    if (ctl->json) {
        ctl_print_json(ctl, document);
    } else if (motif_answer_read(document, &motifs, &err)) {
        code = ctl_fault(ctl, CTL_FAILED, &err);
    } else {
        struct buf out;
        buf_init(&out, 16u << 20);
        term_style(&out, ctl->out.colour, STYLE_BOLD);
        write_title(document, title, &out);
        term_style(&out, ctl->out.colour, STYLE_PLAIN);
        motif_answer_draw(&motifs, ctl->out.columns, ctl->out.colour, &out);
        write_bound(document, &out);
        write_warnings(document, &out);
        term_flush(&ctl->out, &out);
        buf_close(&out);
        motif_answer_close(&motifs);
    }
    cJSON_Delete(document);
    return code;
}

static int draw_one(struct ctl *ctl, const char *path, const char *body, long long seed)
{
    char title[40];
    snprintf(title, sizeof title, "sample %lld", seed);
    return draw_answer(ctl, &(struct http_request){.method = "POST", .path = path, .body = body}, title);
}

/* Carries out --input: writes the numbers of the motif map to the file of --output; without --output, draws the map.
 * With --png, also saves the picture. */
static int ask_file(struct ctl *ctl, const struct options *args, const char *id)
{
    const char *output = options_value(args, "output"), *png = options_value(args, "png");
    struct query_input input;
    if (options_has(args, "batch") && !output && !ctl->json)
        return ctl_usage(ctl, "--batch needs --output or --json, because one drawing shows one input");
    int code = query_input_read(ctl, args, id, "motifs", &input);
    if (code == CTL_SUCCESS && options_has(args, "false-marks"))
        buf_format(&input.path, "&false_marks=%s", options_value(args, "false-marks"));
    struct http_request request = query_input_request(&input);
    if (code == CTL_SUCCESS && output)
        code = query_input_save(ctl, &input, output);
    else if (code == CTL_SUCCESS)
        code = draw_answer(ctl, &request, options_has(args, "input") ? options_value(args, "input") : "the text");
    request.accept = "image/png";
    if (code == CTL_SUCCESS && png)
        code = ctl_save(ctl, &request, png);
    query_input_close(&input);
    return code;
}

static int motifs_run(struct ctl *ctl, const struct options *args)
{
    struct error err = {0};
    char id[CTL_ID], path[128], file[512];
    long long seed = 0, count = 0;
    double share = 0;
    const char *png = options_value(args, "png");
    if (options_integer(args, "seed", &seed, &err) || options_integer(args, "count", &count, &err) ||
        options_number(args, "false-marks", &share, &err))
        return ctl_usage(ctl, "%s", err.message);
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    if (options_has(args, "input") || options_has(args, "text"))
        return ask_file(ctl, args, id);
    if (options_has(args, "output") || options_has(args, "batch"))
        return ctl_usage(ctl, "--output and --batch need --input");
    snprintf(path, sizeof(path), "/v1/jobs/%s/motifs", id);
    for (long long i = 0; i < count && code == CTL_SUCCESS; i++) {
        char *body = motifs_question(seed + i, options_value(args, "checkpoint"), share);
        code = draw_one(ctl, path, body, seed + i);
        if (code == CTL_SUCCESS && png) {
            png_name(png, seed + i, count > 1, file, sizeof(file));
            code = ctl_save(
                ctl, &(struct http_request){.method = "POST", .path = path, .body = body, .accept = "image/png"}, file);
        }
        cJSON_free(body);
    }
    return code;
}

const struct command command_motifs = {
    .name = "motifs",
    .arguments = "JOB",
    .summary = "show where in an input a model found its motifs",
    .text = "Draws the input and writes a letter at each motif. The letter stands for the channel and is bright if the "
            "motif is the strongest of its footprint.\nIf the input is a sequence of letters, it prints the letters "
            "and marks the extents of the motifs below them. If the model reads both\nstrands, an arrow shows the "
            "strand. A text is printed with its marked words. Below the drawing, it lists what each channel found, the "
            "model's answer, and the true answer. "
            "During the training, it uses the last checkpoint.",
    .example =
        "  motifctl motifs latest --seed 3 --png three.png\n"
        "  motifctl motifs 01JD8 --seed 0 --count 4\n"
        "  motifctl motifs 01JD8 --input new.png\n"
        "  motifctl motifs 01JD8 --text 'play some jazz'\n"
        "  motifctl motifs 01JD8 --input new.png --false-marks 0.1        at most 10 % are expected to be false\n"
        "  motifctl motifs 01JD8 --input many.npy --batch --output maps.npy\n"
        "  motifctl motifs 01JD8 --seed 3 --checkpoint density:1.9e-3     an earlier stage",
    .options = options,
    .least = 1,
    .most = 1,
    .run = motifs_run,
};
