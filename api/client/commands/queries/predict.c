/* `motifctl predict`: asks a trained model of any kind about new data. */
#include <string.h>

#include "api/client/answer_view.h"
#include "api/client/ctl.h"
#include "api/client/query_input.h"
#include "api/client/query_pieces.h"

static const struct config_field options[] = {
    QUERY_INPUT_OPTIONS,
    OPTION_TEXT("query", "NAME", "predict, or another query of the kind, such as encode (predict)"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTIONS_END,
};

static int show_records(struct ctl *ctl, const struct query_input *input)
{
    cJSON *document = NULL;
    int code = query_pieces_ask(ctl, input, &document);
    if (code == CTL_SUCCESS && ctl->json)
        ctl_print_json(ctl, document);
    else if (code == CTL_SUCCESS)
        answers_view(ctl, document);
    cJSON_Delete(document);
    return code;
}

static int predict_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID];
    const char *query = options_value(args, "query"), *output = options_value(args, "output");
    struct query_input input;
    if (!options_has(args, "input") && !options_has(args, "text"))
        return ctl_usage(ctl, "--input FILE or --text TEXT is required");
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
        code = output ? query_input_save(ctl, &input, output) : ctl_show(ctl, &request, answers_view);
    query_input_close(&input);
    return code;
}

const struct command command_predict = {
    .name = "predict",
    .arguments = "JOB --input FILE",
    .summary = "ask a trained model about new data",
    .text = "Sends a file to the model and prints the model's answer for each input, with a warning if the input "
            "differs much from the training\ndata. A file of sequences, a table (.csv) or a file of texts\n(.txt, "
            "a text on each line) may have any number of records, rows or lines. With --output, it writes the numbers "
            "of the answers to a .npy file,\nwhose first axis is "
            "the input. Not every kind has this query; `motifctl kinds KIND` lists the queries of a kind.",
    .example = "  motifctl predict latest --input new.png\n"
               "  motifctl predict 01JD8 --input many.npy --batch --output labels.npy\n"
               "  motifctl predict 01JD8 --text 'play some jazz'\n"
               "  motifctl predict 01JD8 --input rows.npy --batch --query encode --output codes.npy",
    .options = options,
    .least = 1,
    .most = 1,
    .run = predict_run,
};
