/* The gallery of a report (report_parts.h): inputs of the test part with the extents of their motifs.
 *
 * The model reads samples with a query of the job's kind that draws an input and also answers it as a document. First
 * come the inputs that a reader has pinned, then the answers of which the model is least sure: these are worth a look.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/report/html.h"
#include "api/report/report_parts.h"
#include "core/base/utf8.h"
#include "core/draw/picture.h"
#include "core/draw/png.h"

/* TRIED: samples that the model reads; SHOWN: upper limit of the pictures of right, and of wrong, answers
 * beside the pinned ones */
enum { TRIED = 32, SHOWN = 8 };

enum answer { ANSWER_RIGHT, ANSWER_WRONG, ANSWER_UNKNOWN, ANSWERS };

/* A test input that the model has read. */
struct example {
    int64_t seed;
    enum answer answer;
    double doubt; /* one minus the probability of the answer; 0: the model gives no probability */
    bool pinned;
    struct buf html; /* of an input that is shown */
};

struct gallery {
    const struct method_query *query;
    const struct method_model *model;
    const void *parameters; /* the usual ones of `query`, or NULL */
    struct work *work;
    struct example examples[TRIED + REPORT_PINS];
    int count, shown[ANSWERS];
};

const struct method_query *report_drawing_query(const struct method *method)
{
    for (size_t i = 0; i < method->query_count; i++) {
        const struct method_query *query = &method->queries[i];
        if (query->takes == METHOD_TAKES_INPUTS && query->draw != NULL && query->answer != NULL)
            return query;
    }
    return NULL;
}

enum status report_usual_parameters(struct exchange *x, const struct method_query *query, const void **parameters,
                                    struct error *err)
{
    *parameters = NULL;
    if (query->parameters == NULL)
        return STATUS_OK;
    void *usual = arena_zalloc(&x->arena, 1, query->parameters->struct_bytes);
    *parameters = usual;
    return usual != NULL ? config_defaults(query->parameters, usual, err) : error_memory(err, "a report");
}

/* Asks the model about a sample of its own domain, and parses the answer. */
static enum status ask(const struct gallery *g, const struct method_question *question, cJSON **answer,
                       struct error *err)
{
    struct buf text;
    struct json_sink json;
    buf_init(&text, 16u << 20);
    json_sink_init(&json, &text);
    sink_begin_object(&json.sink, NULL);
    enum status status = g->query->answer(question, &json.sink, err);
    sink_end_object(&json.sink);
    if (!status && !json_sink_done(&json))
        status = error_memory(err, "an answer");
    if (!status)
        status = json_parse(text.data, text.size, answer, err);
    buf_close(&text);
    return status;
}

/* Returns whether the answer is that of the label. Numbers are neither right nor wrong. */
static enum answer judge(const cJSON *answer)
{
    const cJSON *label = report_member(answer, "label"), *prediction = report_member(answer, "prediction");
    if (!cJSON_IsArray(label) || !cJSON_IsArray(prediction) || cJSON_IsArray(report_member(answer, "numbers")))
        return ANSWER_UNKNOWN;
    return cJSON_Compare(label, prediction, true) ? ANSWER_RIGHT : ANSWER_WRONG;
}

/* Returns one minus the probability of the answer as a whole, or of its least probable place. */
static double doubt_of(const cJSON *answer)
{
    const cJSON *whole = report_member(answer, "probability");
    double least = cJSON_IsNumber(whole) ? whole->valuedouble : 1;
    JSON_EACH (place, report_member(answer, "prediction")) {
        const cJSON *own = report_member(place, "probability");
        least = cJSON_IsNumber(own) ? fmin(least, own->valuedouble) : least;
    }
    return 1 - least;
}

/* Appends the first character of a text, as markup where a motif begins or ends. Returns the bytes of the character. */
static size_t write_character(struct buf *out, const char *text)
{
    char one[8];
    size_t bytes = utf8_char(text, strlen(text));
    (void)snprintf(one, sizeof one, "%.*s", (int)(bytes > 0 ? bytes : 1), text);
    html_text(out, one);
    return bytes > 0 ? bytes : 1;
}

/* Finds the characters [*from, *to) of the text or sequence that a motif covers. False: it covers none. */
static bool covers(const cJSON *motif, bool text, int *from, int *to)
{
    const cJSON *words = report_member(motif, "words"), *extent = report_member(motif, "extent");
    const cJSON *first = text ? report_member(cJSON_GetArrayItem(words, 0), "start") : cJSON_GetArrayItem(extent, 2);
    const cJSON *last = text ? report_member(cJSON_GetArrayItem(words, cJSON_GetArraySize(words) - 1), "end")
                             : cJSON_GetArrayItem(extent, 3);
    *from = cJSON_IsNumber(first) ? (int)first->valuedouble : 0;
    *to = cJSON_IsNumber(last) ? (int)last->valuedouble : 0;
    return cJSON_IsTrue(report_member(motif, "maximal")) && *from < *to;
}

/* Appends a text or a sequence, in which the parts that motifs cover are marked. */
static void write_marked(struct buf *out, const cJSON *answer, const char *text, bool words)
{
    enum { MOST = 2000 }; /* characters */
    bool open = false;
    buf_text(out, "<p class=\"letters\">");
    for (int at = 0; *text != '\0' && at < MOST; at++) {
        bool marked = false;
        JSON_EACH (motif, report_member(answer, "motifs")) {
            int from, to;
            marked |= covers(motif, words, &from, &to) && at >= from && at < to;
        }
        buf_text(out, marked == open ? "" : marked ? "<mark>" : "</mark>");
        open = marked;
        text += write_character(out, text);
    }
    buf_text(out, open ? "</mark>" : "");
    buf_text(out, *text != '\0' ? "…</p>" : "</p>");
}

/* Appends where a motif is. Both ends belong to it, as in the output of motifctl. */
static void write_place(struct buf *out, const cJSON *motif, const cJSON *answer)
{
    double side[4];
    const cJSON *extent = report_member(motif, "extent"), *seconds = report_member(motif, "seconds");
    for (int i = 0; i < 4; i++) {
        const cJSON *value = cJSON_GetArrayItem(extent, i);
        side[i] = cJSON_IsNumber(value) ? value->valuedouble : NAN;
    }
    const cJSON *rows = cJSON_GetArrayItem(report_member(answer, "shape"), 0);
    if (isnan(side[0] + side[1] + side[2] + side[3]))
        return;
    if (cJSON_GetArraySize(seconds) == 2)
        buf_format(out, " at %.3f to %.3f s", cJSON_GetNumberValue(seconds->child),
                   cJSON_GetNumberValue(seconds->child->next));
    else if (cJSON_IsNumber(rows) && rows->valuedouble > 1)
        buf_format(out, " at rows %.0f to %.0f, columns %.0f to %.0f", side[0], side[1] - 1, side[2], side[3] - 1);
    else
        buf_format(out, " at %.0f to %.0f", side[2], side[3] - 1);
}

/* Appends what the model says about the input: answer and label, and the motifs with their names and extents. */
static void write_caption(struct buf *out, const cJSON *answer, enum answer judged)
{
    enum { MOTIFS = 6 };
    static const char *const words[] = {"right: ", "wrong: ", ""};
    int count = 0;
    buf_format(out, "<figcaption><b>%s</b>", words[judged]);
    if (cJSON_GetArraySize(report_member(answer, "prediction")) == 0)
        buf_text(out, "(empty)");
    html_value(out, report_member(answer, "prediction"));
    if (judged != ANSWER_RIGHT && cJSON_IsArray(report_member(answer, "label"))) {
        buf_text(out, "; the label is ");
        html_value(out, report_member(answer, "label"));
    }
    JSON_EACH (motif, report_member(answer, "motifs")) {
        if (!cJSON_IsTrue(report_member(motif, "maximal")) || count++ >= MOTIFS)
            continue;
        buf_text(out, "<br>");
        html_text(out, report_text(motif, "name")[0] != '\0' ? report_text(motif, "name") : "a motif");
        write_place(out, motif, answer);
    }
    buf_text(out, "</figcaption>");
}

static struct method_question question_of(const struct gallery *g, const struct method_input *input)
{
    return (struct method_question){
        .query = g->query, .model = g->model, .input = input, .parameters = g->parameters, .item = -1, .work = g->work};
}

/* Reads one sample, and keeps what decides whether it is shown. */
static enum status read_example(struct gallery *g, int64_t seed, bool pinned, struct error *err)
{
    const struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = seed};
    const struct method_question question = question_of(g, &input);
    cJSON *answer = NULL;
    enum status status = ask(g, &question, &answer, err);
    if (!status)
        g->examples[g->count++] =
            (struct example){.seed = seed, .answer = judge(answer), .doubt = doubt_of(answer), .pinned = pinned};
    cJSON_Delete(answer);
    return status;
}

static int by_doubt(const void *a, const void *b)
{
    const struct example *x = a, *y = b;
    if (x->pinned != y->pinned)
        return x->pinned ? -1 : 1;
    if (x->doubt != y->doubt)
        return x->doubt > y->doubt ? -1 : 1;
    return (x->seed > y->seed) - (x->seed < y->seed);
}

/* Draws one sample as HTML. A picture that is larger than a report is left out. */
static enum status draw_example(struct gallery *g, struct example *example, struct error *err)
{
    static const char *const classes[] = {"right", "wrong", "unknown"};
    const struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = example->seed};
    const struct method_question question = question_of(g, &input);
    struct picture *picture = NULL;
    struct buf png;
    cJSON *answer = NULL;
    enum status status = ask(g, &question, &answer, err);
    if (status)
        return status;
    const char *letters = report_text(answer, "letters"), *text = report_text(answer, "text");
    bool spelled = letters[0] != '\0' || text[0] != '\0', large = false;
    buf_init(&png, 8u << 20);
    if (!spelled)
        status = g->query->draw(&question, &picture, err);
    if (!status && picture != NULL)
        status = png_encode(picture, &png, err);
    if (status && png.full) {
        error_clear(err);
        status = STATUS_OK;
        large = true;
    }
    if (!status && !large) {
        buf_init(&example->html, 8u << 20);
        buf_format(&example->html, "<figure class=\"%s\">", classes[example->answer]);
        if (spelled)
            write_marked(&example->html, answer, text[0] != '\0' ? text : letters, text[0] != '\0');
        else
            html_image(&example->html, "image/png", png.data, png.size, "a test input with its motifs");
        write_caption(&example->html, answer, example->answer);
        buf_text(&example->html, "</figure>\n");
        status = buf_status(&example->html, "a report", err);
    }
    picture_destroy(picture);
    buf_close(&png);
    cJSON_Delete(answer);
    return status;
}

/* Appends the inputs of one heading: the pinned ones, or those with this answer. Returns how many did not fit. */
static int write_examples(const struct gallery *g, const char *title, bool pinned, enum answer answer, struct buf *out)
{
    int left_out = 0, count = 0;
    for (int i = 0; i < g->count; i++) {
        const struct example *one = &g->examples[i];
        if (one->html.size == 0 || one->pinned != pinned || (!pinned && one->answer != answer))
            continue;
        if (count++ == 0)
            buf_format(out, "<h3>%s</h3>\n<div class=\"gallery\">\n", title);
        left_out += out->size + one->html.size >= REPORT_PICTURES;
        if (out->size + one->html.size < REPORT_PICTURES)
            buf_append(out, one->html.data, one->html.size);
    }
    buf_text(out, count > 0 ? "</div>\n" : "");
    return left_out;
}

static void write_gallery(const struct gallery *g, struct buf *out)
{
    if (g->count == 0)
        return;
    buf_text(out, "<h2>Test inputs</h2>\n<p>Each box shows an input that was not trained on, with the extent of "
                  "each motif. Wrong answers have a dashed red frame. ");
    buf_format(out, "The answers of which the model is least sure come first, from %d inputs.</p>\n", g->count);
    int left_out = write_examples(g, "Pinned", true, ANSWER_UNKNOWN, out);
    left_out += write_examples(g, "Wrong answers", false, ANSWER_WRONG, out);
    left_out += write_examples(g, "Right answers", false, ANSWER_RIGHT, out);
    left_out += write_examples(g, "Answers", false, ANSWER_UNKNOWN, out);
    if (left_out > 0)
        buf_format(out, "<p>%d pictures are left out, because the report would be too large.</p>\n", left_out);
}

static bool is_pinned(const struct report_pins *pins, int64_t seed)
{
    for (int i = 0; i < pins->count; i++)
        if (pins->seed[i] == seed)
            return true;
    return false;
}

/* Reads the pinned samples and the first TRIED ones, and draws the pinned ones and the most doubtful of the others. */
static enum status fill(struct gallery *g, const struct report_pins *pins, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < pins->count && !status; i++) {
        status = read_example(g, pins->seed[i], true, err);
        if (!status)
            status = work_yield(g->work, err);
    }
    for (int64_t seed = 0; seed < TRIED && !status; seed++) {
        if (is_pinned(pins, seed))
            continue;
        status = read_example(g, seed, false, err);
        if (!status)
            status = work_yield(g->work, err);
    }
    qsort(g->examples, (size_t)g->count, sizeof g->examples[0], by_doubt);
    for (int i = 0; i < g->count && !status; i++) {
        struct example *one = &g->examples[i];
        if (!one->pinned && g->shown[one->answer]++ >= SHOWN)
            continue;
        status = draw_example(g, one, err);
        if (!status)
            status = work_yield(g->work, err);
    }
    return status;
}

enum status report_gallery(struct exchange *x, const struct method *method, const struct method_model *model,
                           const struct report_pins *pins, struct buf *out, struct error *err)
{
    struct gallery *g = calloc(1, sizeof *g);
    if (g == NULL)
        return error_memory(err, "a report");
    g->query = report_drawing_query(method);
    g->model = model;
    g->work = &x->work;
    enum status status = g->query != NULL ? report_usual_parameters(x, g->query, &g->parameters, err) : STATUS_OK;
    if (!status && g->query != NULL)
        status = fill(g, pins, err);
    if (!status || status == STATUS_CONFLICT || status == STATUS_INVALID)
        write_gallery(g, out);
    for (int i = 0; i < g->count; i++)
        buf_close(&g->examples[i].html);
    free(g);
    return status;
}
