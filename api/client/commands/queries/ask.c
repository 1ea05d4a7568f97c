/* `motifctl ask`: the answer of a model about a file, as one table: label, confidence, and the places that decided. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/client/answer_view.h"
#include "api/client/ctl.h"
#include "api/client/query_input.h"
#include "api/client/query_pieces.h"
#include "core/base/utf8.h"

static const struct config_field options[] = {
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTION_FLAG("batch", "the file is an array with one input at each position of its first axis"),
    OPTION_FLAG("one", "the file is an array that is one input; without --batch and --one, motifctl finds out"),
    OPTIONS_END,
};

enum { CELL = 200 }; /* bytes of a cell */

/* Sends the file, and parses the answer if the server accepts the file. `answer`: the caller closes it. */
static int send_file(struct ctl *ctl, const struct query_input *input, struct http_answer *answer, cJSON **document)
{
    const struct http_request request = query_input_request(input);
    struct error err = {0};
    enum status status = http_call(ctl->http, &request, answer, &err);
    if (!status && answer->status == 200)
        *document = ctl_parse(ctl, answer->body.data, answer->body.size);
    return status ? ctl_fault(ctl, CTL_UNREACHABLE, &err) : CTL_SUCCESS;
}

/* Finds out whether an array is one input or several: the server accepts it in one of the two forms. If it accepts
 * both, the user must choose. If it accepts neither, prints why it is not one input. */
static int ask_array(struct ctl *ctl, struct query_input *input, struct query_question *question, const char *id,
                     const char *query, cJSON **document)
{
    struct http_answer one, batch = {.status = 0};
    cJSON *several = NULL;
    int code = send_file(ctl, input, &one, document);
    bool tried = code == CTL_SUCCESS && (one.status == 200 || one.status == 400 || one.status == 422);
    if (tried) {
        question->batch = true;
        query_input_ask(input, question, id, query);
        code = send_file(ctl, input, &batch, &several);
    }
    if (code == CTL_SUCCESS && *document && several) {
        code = ctl_usage(ctl, "the array can be one input, or %d inputs; say --one or --batch",
                         cJSON_GetArraySize(json_member(several, "answers")));
    } else if (code == CTL_SUCCESS && !*document && several) {
        *document = several;
        several = NULL;
    } else if (code == CTL_SUCCESS && !*document) {
        code = ctl_refused(ctl, &one);
    }
    question->batch = question->batch && one.status != 200;
    cJSON_Delete(several);
    http_answer_close(&batch);
    http_answer_close(&one);
    return code;
}

static int ask_query(struct ctl *ctl, struct query_input *input, struct query_question *question, const char *id,
                     const char *query, cJSON **document)
{
    struct http_answer answer;
    query_input_ask(input, question, id, query);
    if (input->pieces)
        return query_pieces_ask(ctl, input, document);
    if (input->array && !question->decided) {
        question->decided = true;
        return ask_array(ctl, input, question, id, query, document);
    }
    const struct http_request request = query_input_request(input);
    int code = ctl_call(ctl, &request, &answer, document);
    http_answer_close(&answer);
    return code;
}

/* Completes a document of answers with the places of the motifs: moves the shape, the motifs, the letters and the text
 * of each answer in `places` into the answer for the same input in `document`. */
static void add_places(cJSON *document, cJSON *places)
{
    static const char *const members[] = {"shape", "motifs", "letters", "text"};
    cJSON *to = cJSON_GetObjectItemCaseSensitive(document, "answers"),
          *from = cJSON_GetObjectItemCaseSensitive(places, "answers");
    cJSON *answer = to ? to->child : NULL, *other = from ? from->child : NULL;
    for (; answer && other; answer = answer->next, other = other->next)
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            if (!cJSON_HasObjectItem(answer, members[i]) && cJSON_HasObjectItem(other, members[i]))
                cJSON_AddItemToObject(answer, members[i], cJSON_DetachItemFromObjectCaseSensitive(other, members[i]));
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Appends a text to a cell. Cuts it at a whole character, and marks the cut. */
static void add_text(char cell[CELL], const char *text)
{
    size_t used = strlen(cell), left = CELL - used, size = utf8_cut(text, strlen(text), left > 4 ? left - 4 : 0);
    (void)snprintf(cell + used, left, "%.*s%s", (int)size, text, text[size] ? "..." : "");
}

static double number_at(const cJSON *list, int index)
{
    const cJSON *value = cJSON_GetArrayItem(list, index);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

/* Writes the predicted label: its symbols with blanks between them, or the name that an empty label stands for. */
static void write_label(const cJSON *document, const cJSON *answer, char cell[CELL])
{
    const cJSON *symbol, *prediction = json_member(answer, "prediction");
    const char *absent = json_string(document, "absent");
    cell[0] = '\0';
    cJSON_ArrayForEach (symbol, prediction) {
        add_text(cell, cell[0] ? " " : "");
        add_text(cell, cJSON_IsString(symbol) ? symbol->valuestring : "?");
    }
    if (!cell[0])
        add_text(cell, !cJSON_IsArray(prediction) ? "-" : absent ? absent : "(empty)");
}

/* Writes the letters of a sequence that lie in an extent. */
static void add_letters(const char *letters, double from, double to, char cell[CELL])
{
    enum { LETTERS = 24 };
    int length = (int)strlen(letters), first = (int)from, end = (int)to;
    if (first < 0 || end > length || end <= first)
        return;
    char text[LETTERS + 8];
    (void)snprintf(text, sizeof text, " %.*s%s", end - first < LETTERS ? end - first : LETTERS, letters + first,
                   end - first > LETTERS ? "..." : "");
    add_text(cell, text);
}

/* Writes where a motif is: rows and columns, an interval, times or words. Ends are inclusive, as in `motifctl motifs`.
 */
static void write_place(const cJSON *answer, const cJSON *motif, char cell[CELL])
{
    const cJSON *extent = json_member(motif, "extent"), *word, *seconds = json_member(motif, "seconds"),
                *words = json_member(motif, "words"), *first = cJSON_GetArrayItem(words, 0), *last = first;
    const char *letters = json_string(answer, "letters"), *strand = json_string(motif, "strand");
    double rows = number_at(json_member(answer, "shape"), 0);
    cell[0] = '\0';
    cJSON_ArrayForEach (word, words)
        last = word;
    if (cJSON_IsArray(words) && !first) {
        add_text(cell, "beyond the text");
    } else if (first) {
        (void)snprintf(cell, CELL, "%.0f-%.0f", json_number(first, "start"), json_number(last, "end") - 1);
        cJSON_ArrayForEach (word, words) {
            add_text(cell, " ");
            add_text(cell, json_shown(word, "word"));
        }
    } else if (!cJSON_IsArray(extent) && !cJSON_IsArray(json_member(motif, "position"))) {
        add_text(cell, "-");
    } else if (!cJSON_IsArray(extent)) {
        const cJSON *position = json_member(motif, "position");
        if (rows > 1)
            (void)snprintf(cell, CELL, "row %.0f, ", number_at(position, 0));
        (void)snprintf(cell + strlen(cell), CELL - strlen(cell), "column %.0f", number_at(position, 1));
    } else if (cJSON_IsArray(seconds)) {
        (void)snprintf(cell, CELL, "%.3f-%.3f s", number_at(seconds, 0), number_at(seconds, 1));
    } else if (rows > 1) {
        (void)snprintf(cell, CELL, "rows %.0f-%.0f, columns %.0f-%.0f", number_at(extent, 0), number_at(extent, 1) - 1,
                       number_at(extent, 2), number_at(extent, 3) - 1);
    } else {
        (void)snprintf(cell, CELL, "%.0f-%.0f", number_at(extent, 2), number_at(extent, 3) - 1);
        if (letters)
            add_letters(letters, number_at(extent, 2), number_at(extent, 3), cell);
    }
    if (strand) {
        add_text(cell, " ");
        add_text(cell, strand);
    }
}

/* Adds the four cells about a motif; NULL: there is none. */
static void add_motif(struct table *table, const cJSON *answer, const cJSON *motif)
{
    char cell[CELL];
    if (motif)
        write_place(answer, motif, cell);
    table_add(table, motif ? cell : "no place");
    table_add(table, json_shown(motif, "name"));
    table_add(table, json_fixed(motif, "channel", 0).text);
    table_add(table, json_fixed(motif, "value", 2).text);
}

/* Adds a row for each motif that is the strongest of its footprint. Only the first has the input, its label and the
 * confidence. An input without motifs has one row. */
static void add_answer(struct table *table, const cJSON *document, const cJSON *answer, int index)
{
    const cJSON *motif;
    char cell[CELL], number[16];
    bool begun = false;
    (void)snprintf(number, sizeof number, "%d", index);
    for (motif = json_member(answer, "motifs") ? json_member(answer, "motifs")->child : NULL; motif || !begun;
         motif = motif ? motif->next : NULL) {
        if (motif && !cJSON_IsTrue(json_member(motif, "maximal")))
            continue;
        cell[0] = '\0';
        if (!begun)
            add_text(cell, json_string(answer, QUERY_RECORD) ? json_string(answer, QUERY_RECORD) : number);
        table_add(table, cell);
        write_label(document, answer, cell);
        table_add(table, begun ? "" : cell);
        table_add(table, begun ? "" : json_percent(answer, "probability", 1).text);
        add_motif(table, answer, motif);
        begun = true;
    }
}

static void print_warnings(struct ctl *ctl, const cJSON *document)
{
    enum { SHOWN = 5 };
    const cJSON *answer, *warning;
    int index = 0, count = 0;
    cJSON_ArrayForEach (answer, json_member(document, "answers")) {
        cJSON_ArrayForEach (warning, json_member(answer, "warnings"))
            if (count++ < SHOWN)
                fprintf(ctl->err.stream, "warning: input %d: %s\n", index, json_shown(warning, "text"));
        index++;
    }
    if (count > SHOWN)
        fprintf(ctl->err.stream, "and %d more warnings; --json shows them\n", count - SHOWN);
}

static void view(struct ctl *ctl, const cJSON *document, bool places)
{
    const cJSON *answer;
    struct table table;
    int index = 0;
    if (ctl->json) {
        ctl_print_json(ctl, document);
        return;
    }
    if (!places && !ctl->quiet) {
        answers_view(ctl, document);
        return;
    }
    table_init(&table, ctl->quiet ? "LABEL" : "INPUT|LABEL|>CONFIDENCE|PLACE|NAME|>CHANNEL|>VALUE");
    cJSON_ArrayForEach (answer, json_member(document, "answers")) {
        char cell[CELL];
        write_label(document, answer, cell);
        if (ctl->quiet)
            table_add(&table, cell);
        else
            add_answer(&table, document, answer, index++);
    }
    term_table(&ctl->out, &table);
    print_warnings(ctl, document);
}

/* Finds the query that answers for the job's kind: `predict`, or the one that takes its place. NULL: none. */
static const char *find_query(struct query_formats *formats)
{
    static const char *const names[] = {"predict", "encode"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (query_formats_find(formats, names[i], "POST"))
            return names[i];
    return NULL;
}

static int ask_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID];
    struct query_question question = {.file = args->positional[1],
                                      .checkpoint = options_value(args, "checkpoint"),
                                      .batch = options_has(args, "batch"),
                                      .decided = options_has(args, "batch") || options_has(args, "one")};
    struct query_input input;
    const char *query = NULL;
    cJSON *document = NULL, *places = NULL;
    if (options_has(args, "batch") && options_has(args, "one"))
        return ctl_usage(ctl, "--one and --batch contradict each other; leave one out");
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    query_input_init(&input);
    code = query_kind_read(ctl, id, &input.formats);
    if (code == CTL_SUCCESS && (query = find_query(&input.formats)) == NULL)
        code = ctl_usage(ctl, "jobs of the kind %s answer no questions about files",
                         json_shown(input.formats.kind, "kind"));
    if (code == CTL_SUCCESS)
        code = query_input_open(ctl, &question, id, query, &input);
    if (code == CTL_SUCCESS)
        code = ask_query(ctl, &input, &question, id, query, &document);
    bool has_places = query_formats_find(&input.formats, "motifs", "POST");
    if (code == CTL_SUCCESS && has_places)
        code = ask_query(ctl, &input, &question, id, "motifs", &places);
    if (code == CTL_SUCCESS) {
        add_places(document, places);
        view(ctl, document, has_places);
    }
    cJSON_Delete(places);
    cJSON_Delete(document);
    query_input_close(&input);
    return code;
}

const struct command command_ask = {
    .name = "ask",
    .arguments = "JOB FILE",
    .summary = "ask a model about a file: label, confidence and the places that decided",
    .text = "Sends a picture, a recording, an array, a table, sequences or texts to the model. The ending of FILE's "
            "name says which; other endings are refused.\nPrints for each input the label, its probability, and the "
            "place of each motif with its name, channel and value. Ends of intervals are inclusive. A file of several "
            "records,\nrows or lines has several inputs. An array may be one input or several; if it "
            "can be both, --one or --batch decides. Models without labels print\nwhat `motifctl predict` prints.",
    .example = "  motifctl ask latest new.png\n"
               "  motifctl ask 01JD8 recording.wav\n"
               "  motifctl ask 01JD8 sequences.fa.gz --json",
    .options = options,
    .least = 2,
    .most = 2,
    .run = ask_run,
};
