/* `motifctl predict`: asks a trained model of any kind about new data. */
#include <math.h>
#include <string.h>

#include "api/client/ctl.h"
#include "api/client/query_pieces.h"

#define RECORD "record" /* in this member, each answer has the name of its input */

static const struct config_field options[] = {
    QUERY_INPUT_OPTIONS,
    OPTION_TEXT("query", "NAME", "predict, or another query of the kind, such as encode (predict)"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTIONS_END,
};

enum { SHOWN = 12 }; /* at most this many items of a list are printed */

/* Appends an object of a list on its own line, with those members that are values or lists of values. */
static void write_item(struct buf *out, const cJSON *item)
{
    const cJSON *member, *value;
    char text[96];
    buf_text(out, "\n   ");
    cJSON_ArrayForEach (member, item) {
        if (cJSON_IsObject(member))
            continue;
        buf_format(out, " %s", member->string);
        if (!cJSON_IsArray(member)) {
            view_scalar(member, text, sizeof text);
            buf_format(out, " %s", text);
        }
        cJSON_ArrayForEach (value, member) {
            view_scalar(value, text, sizeof text);
            buf_format(out, " %s", text);
        }
    }
}

/* Appends a list of values, of tokens with their probabilities, of names with their scores, or of objects. Shortens a
 * long list. */
static void write_list(struct buf *out, const cJSON *list)
{
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach (item, list) {
        char text[96] = "...", share[32];
        const char *token = json_string(item, "token"), *name = json_string(item, "name");
        bool scored = name && json_member(item, "score");
        if (count < SHOWN && cJSON_IsObject(item) && !token && !scored) {
            write_item(out, item);
        } else if (count <= SHOWN) {
            term_percent(share, sizeof share, json_number(item, "probability"));
            if (count < SHOWN && token)
                snprintf(text, sizeof text, "%.48s (%s)", token, share);
            else if (count < SHOWN && scored)
                snprintf(text, sizeof text, "%.48s %.2f", name, json_number(item, "score"));
            else if (count < SHOWN && !cJSON_IsArray(item))
                view_scalar(item, text, sizeof text);
            buf_format(out, "%s%s", count > 0 ? " " : "", text);
        }
        count++;
    }
    buf_text(out, count > 0 ? "\n" : "nothing\n");
}

/* Prints each member of each answer on its own line. Leaves out members without a value. */
static void view_answers(struct ctl *ctl, const cJSON *document)
{
    const cJSON *answer, *member, *warning;
    struct buf out;
    int index = 0;
    buf_init(&out, 64u << 20);
    cJSON_ArrayForEach (answer, json_member(document, "answers")) {
        const char *name = json_string(answer, RECORD);
        buf_format(&out, "input %d%s%s\n", index++, name ? "  " : "", name ? name : "");
        cJSON_ArrayForEach (member, answer) {
            char text[256];
            if (cJSON_IsObject(member) || cJSON_IsNull(member) || strcmp(member->string, "warnings") == 0 ||
                strcmp(member->string, RECORD) == 0)
                continue;
            buf_format(&out, "  %-14s ", member->string);
            if (cJSON_IsArray(member)) {
                write_list(&out, member);
                continue;
            }
            view_scalar(member, text, sizeof text);
            buf_format(&out, "%s\n", text);
        }
        cJSON_ArrayForEach (warning, json_member(answer, "warnings"))
            buf_format(&out, "  warning: %s\n", json_shown(warning, "text"));
    }
    term_flush(&ctl->out, &out);
    buf_close(&out);
}

static int show_records(struct ctl *ctl, const struct query_input *input)
{
    cJSON *document = NULL;
    int code = query_pieces_ask(ctl, input, &document);
    if (code == CTL_SUCCESS && ctl->json)
        ctl_print_json(ctl, document);
    else if (code == CTL_SUCCESS)
        view_answers(ctl, document);
    cJSON_Delete(document);
    return code;
}

static int predict_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID];
    const char *query = options_value(args, "query"), *output = options_value(args, "output");
    struct query_input input;
    if (!options_has(args, "input"))
        return ctl_usage(ctl, "--input FILE is required");
    if (query && strspn(query, "abcdefghijklmnopqrstuvwxyz-") != strlen(query))
        return ctl_usage(ctl, "--query must be the name of a query, such as encode");
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    code = query_input_read(ctl, args, id, query ? query : "predict", &input);
    struct http_request request = query_input_request(&input);
    if (code == CTL_SUCCESS && input.pieces)
        code = output ? query_pieces_save(ctl, &input, output) : show_records(ctl, &input);
    else if (code == CTL_SUCCESS)
        code = output ? query_input_save(ctl, &input, output) : ctl_show(ctl, &request, view_answers);
    query_input_close(&input);
    return code;
}

const struct command command_predict = {
    .name = "predict",
    .arguments = "JOB --input FILE",
    .summary = "ask a trained model about new data",
    .text = "Sends a file to the model and prints the model's answer for each input, with a warning if the input "
            "differs much from the training\ndata. A file of sequences or a table (.csv) may have any number of "
            "records or rows. With --output, it writes the numbers of the answers to a .npy file,\nwhose first axis is "
            "the input. Not every kind has this query; `motifctl kinds KIND` lists the queries of a kind.",
    .example = "  motifctl predict latest --input new.png\n"
               "  motifctl predict 01JD8 --input many.npy --batch --output labels.npy\n"
               "  motifctl predict 01JD8 --input rows.npy --batch --query encode --output codes.npy",
    .options = options,
    .least = 1,
    .most = 1,
    .run = predict_run,
};
