/* `motifctl review`: asks a person about marks of a model, one card after another, and prints how many are false. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/ctl.h"

static const struct config_field options[] = {
    OPTION_TEXT("count", "N", "marks to draw (20); a larger number begins with the same marks"),
    OPTION_TEXT("seed", "N", "seed of the draw (0)"),
    OPTION_TEXT("samples", "N", "inputs of the test part whose marks are drawn from (200)"),
    OPTION_TEXT("false-marks", "SHARE", "false share that the offered threshold should have (0.1)"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTION_TEXT("format", "FORMAT", "print the marks instead: answers, label-studio, coco or raven"),
    OPTION_TEXT("answers", "FILE", "send the answers of a file: JSON of --format answers, or of Label Studio"),
    OPTIONS_END,
};
static const char *const parameters[] = {"count", "seed", "samples", "checkpoint", "false-marks", NULL};

enum { BODY_MOST = 16 << 20 };

static double number_at(const cJSON *list, int index)
{
    const cJSON *value = cJSON_GetArrayItem(list, index);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

/* Prints the estimate as one line, and the threshold as another. */
static void print_estimate(struct ctl *ctl, const cJSON *review)
{
    const cJSON *estimate = json_member(review, "estimate"), *threshold = json_member(review, "threshold");
    FILE *to = ctl->out.stream;
    if (!cJSON_IsNumber(json_member(estimate, "share")))
        fprintf(to, "no answers yet; %.0f marks in %.0f inputs of the test part\n", json_number(review, "marks"),
                json_number(review, "samples"));
    else
        fprintf(to, "%s of %.0f marks are false (95 %%: %s to %s), from %.0f answers: %.0f yes, %.0f no, %.0f unsure\n",
                json_percent(estimate, "share", 1).text, json_number(estimate, "marks"),
                json_percent(estimate, "low", 1).text, json_percent(estimate, "high", 1).text,
                json_number(estimate, "answers"), json_number(estimate, "yes"), json_number(estimate, "no"),
                json_number(estimate, "unsure"));
    if (!cJSON_IsObject(threshold))
        return;
    fprintf(to, "threshold: %s at most %g keeps %.0f of %.0f marks, of which %s are false (95 %%: %s to %s)\n",
            json_shown(threshold, "by"), json_number(threshold, "at_most"), json_number(threshold, "marks"),
            json_number(threshold, "of"), json_percent(threshold, "share", 1).text,
            json_percent(threshold, "low", 1).text, json_percent(threshold, "high", 1).text);
}

static void print_names(struct ctl *ctl, const cJSON *review)
{
    const cJSON *name;
    struct table table;
    table_init(&table, "NAME|>MARKS|>ANSWERS|>FALSE|>FROM|>TO");
    cJSON_ArrayForEach (name, json_member(json_member(review, "estimate"), "names")) {
        table_add(&table, json_shown(name, "name"));
        table_add(&table, json_fixed(name, "marks", 0).text);
        table_add(&table, json_fixed(name, "answers", 0).text);
        table_add(&table, json_percent(name, "share", 1).text);
        table_add(&table, json_percent(name, "low", 1).text);
        table_add(&table, json_percent(name, "high", 1).text);
    }
    term_table(&ctl->out, &table);
}

/* Prints where the mark is; ends are inclusive, as in `motifctl motifs`. */
static void print_place(FILE *to, const cJSON *review, const cJSON *card)
{
    const cJSON *extent = json_member(card, "extent"), *seconds = json_member(card, "seconds"),
                *position = json_member(card, "position");
    bool rows = number_at(json_member(review, "shape"), 0) > 1;
    if (cJSON_IsArray(seconds))
        fprintf(to, "%.3f-%.3f s", number_at(seconds, 0), number_at(seconds, 1));
    else if (cJSON_IsArray(extent) && rows)
        fprintf(to, "rows %.0f-%.0f, columns %.0f-%.0f", number_at(extent, 0), number_at(extent, 1) - 1,
                number_at(extent, 2), number_at(extent, 3) - 1);
    else if (cJSON_IsArray(extent))
        fprintf(to, "%.0f-%.0f", number_at(extent, 2), number_at(extent, 3) - 1);
    else
        fprintf(to, "row %.0f, column %.0f", number_at(position, 0), number_at(position, 1));
}

static void print_card(struct ctl *ctl, const cJSON *review, const cJSON *card, int number, int count)
{
    const cJSON *input = json_member(card, "input"), *context = json_member(card, "context"), *piece;
    const char *file = json_string(input, "file");
    FILE *to = ctl->out.stream;
    int at = 0;
    fprintf(to, "\n%d/%d  %s at ", number, count, json_shown(card, "name"));
    print_place(to, review, card);
    fprintf(to, " of %s%s%s", file ? file : "test input ", file ? "" : json_fixed(input, "sample", 0).text,
            cJSON_IsNumber(json_member(card, "q")) ? ", q " : "\n");
    if (cJSON_IsNumber(json_member(card, "q")))
        fprintf(to, "%s\n", json_percent(card, "q", 1).text);
    cJSON_ArrayForEach (piece, context) {
        const char *text = cJSON_IsString(piece) ? piece->valuestring : "";
        fprintf(to, at == 0 ? "  %s" : at == 1 ? "[%s]" : "%s\n", text);
        at++;
    }
    if (!cJSON_IsArray(context))
        fprintf(to, "  %s%s\n", http_server(ctl->http), json_shown(card, "picture"));
}

/* Reads an answer from standard input: "yes", "no", "unsure"; "" to skip the card; NULL: the end. */
static const char *read_answer(struct ctl *ctl, const char *name)
{
    char line[80];
    for (;;) {
        fprintf(ctl->out.stream, "is this %s? y, n, u (unsure), s (skip), q (quit): ", name);
        (void)fflush(ctl->out.stream);
        if (!fgets(line, sizeof line, stdin) || line[0] == 'q')
            return NULL;
        switch (line[0]) {
        case 'y':
            return "yes";
        case 'n':
            return "no";
        case 'u':
            return "unsure";
        case 's':
            return "";
        default:
            break;
        }
    }
}

static int send(struct ctl *ctl, const char *path, const char *body, size_t bytes, cJSON **state)
{
    const struct http_request request = {.method = "POST", .path = path, .body = body, .body_bytes = bytes};
    return ctl_repeat(ctl, &request, state);
}

static int send_answer(struct ctl *ctl, const char *path, const cJSON *card, const char *answer, cJSON **state)
{
    char body[200];
    snprintf(body, sizeof body, "{\"answers\":[{\"id\":\"%.100s\",\"answer\":\"%s\"}]}", json_shown(card, "id"),
             answer);
    return send(ctl, path, body, 0, state);
}

/* Asks about each card without an answer. */
static int ask_cards(struct ctl *ctl, const char *path, const cJSON *review)
{
    const cJSON *cards = json_member(review, "cards"), *card;
    int code = CTL_SUCCESS, number = 0;
    cJSON *state = NULL;
    cJSON_ArrayForEach (card, cards) {
        number++;
        if (code != CTL_SUCCESS || cJSON_IsObject(json_member(card, "answer")))
            continue;
        print_card(ctl, review, card, number, cJSON_GetArraySize(cards));
        const char *answer = read_answer(ctl, json_shown(card, "name"));
        if (!answer)
            break;
        if (!answer[0])
            continue;
        cJSON_Delete(state);
        state = NULL;
        code = send_answer(ctl, path, card, answer, &state);
        if (code == CTL_SUCCESS)
            print_estimate(ctl, state);
    }
    if (code == CTL_SUCCESS) {
        fprintf(ctl->out.stream, "\n");
        print_names(ctl, state ? state : review);
        print_estimate(ctl, state ? state : review);
    }
    cJSON_Delete(state);
    return code;
}

/* Sends the answers of a file. */
static int send_file(struct ctl *ctl, const char *path, const char *file)
{
    struct buf body;
    cJSON *state = NULL;
    int code = ctl_read_file(ctl, file, BODY_MOST, &body);
    if (code == CTL_SUCCESS)
        code = send(ctl, path, body.data, body.size, &state);
    buf_close(&body);
    if (code == CTL_SUCCESS && ctl->json)
        ctl_print_json(ctl, state);
    else if (code == CTL_SUCCESS) {
        print_names(ctl, state);
        print_estimate(ctl, state);
    }
    cJSON_Delete(state);
    return code;
}

/* Prints the body of an answer as it is. */
static int print_body(struct ctl *ctl, const char *path)
{
    struct http_answer answer;
    const struct http_request request = {.method = "GET", .path = path, .accept = "*/*"};
    struct error err = {0};
    if (http_call(ctl->http, &request, &answer, &err)) {
        http_answer_close(&answer);
        return ctl_fault(ctl, CTL_UNREACHABLE, &err);
    }
    int code = http_succeeded(answer.status) ? CTL_SUCCESS : ctl_refused(ctl, &answer);
    if (code == CTL_SUCCESS) {
        buf_text(&answer.body, "\n");
        term_flush(&ctl->out, &answer.body);
    }
    http_answer_close(&answer);
    return code;
}

static int run_with(struct ctl *ctl, const struct options *args, const char *path)
{
    static const char *const formats[] = {"format", NULL};
    const char *file = options_value(args, "answers");
    cJSON *review = NULL;
    if (file)
        return send_file(ctl, path, file);
    if (options_has(args, "format")) {
        struct buf with;
        buf_init(&with, 4096);
        buf_text(&with, path);
        ctl_add_query(&with, args, formats);
        buf_append(&with, "", 1);
        int code = print_body(ctl, with.data);
        buf_close(&with);
        return code;
    }
    int code = ctl_get(ctl, path, &review);
    if (code == CTL_SUCCESS && ctl->json)
        ctl_print_json(ctl, review);
    else if (code == CTL_SUCCESS)
        code = ask_cards(ctl, path, review);
    cJSON_Delete(review);
    return code;
}

static int review_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID];
    struct buf path;
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    buf_init(&path, 4096);
    buf_format(&path, "/v1/jobs/%s/review", id);
    ctl_add_query(&path, args, parameters);
    buf_append(&path, "", 1);
    code = run_with(ctl, args, path.data);
    buf_close(&path);
    return code;
}

const struct command command_review = {
    .name = "review",
    .arguments = "JOB",
    .summary = "answer whether marks are right, to learn how many are false",
    .text =
        "Use it after a training to check the marks of a model without drawing boxes. The server draws marks of the "
        "test "
        "part at random, and asks\nabout each: y (right), n (false), u (unsure), s (skip it), q (quit). After each "
        "answer "
        "it prints the estimated share of false marks\nwith its 95 % interval, and after twenty a threshold with fewer "
        "false ones. Answers are stored; a later one replaces an earlier one, and\nthe next call asks about the marks "
        "without an answer. Marks in pictures and signals are shown by their address, which a browser draws.",
    .example = "  motifctl review latest\n"
               "  motifctl review latest --count 40 --seed 1\n"
               "  motifctl review latest --format label-studio > tasks.json\n"
               "  motifctl review latest --answers annotated.json",
    .options = options,
    .least = 1,
    .most = 1,
    .run = review_run,
};
