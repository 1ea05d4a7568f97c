/* The gallery, the logos and the stored pictures of a report (report_parts.h). The model of the latest checkpoint reads
 * samples of the test part: a query of the job's kind that draws an input and also answers it as a document. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/job_document.h"
#include "api/models/model_cache.h"
#include "api/report/html.h"
#include "api/report/report_parts.h"
#include "core/base/utf8.h"
#include "core/draw/picture.h"
#include "core/draw/png.h"

/* TRIED: upper limit of the samples that the model reads; SHOWN: of the pictures of right, and of wrong, answers */
enum { TRIED = 32, SHOWN = 8 };

/* Whether a picture still fits into the report. */
static bool fits(const struct buf *out, size_t bytes)
{
    return out->size + html_image_bytes(bytes) < REPORT_PICTURES;
}

/* ---- gallery ----------------------------------------------------------------------------------------------------- */

enum answer { ANSWER_RIGHT, ANSWER_WRONG, ANSWER_UNKNOWN, ANSWERS };

/* A drawn test input as HTML. */
struct example {
    enum answer answer;
    struct buf html;
};

struct gallery {
    const struct method *method;
    const struct method_query *query;
    const struct method_model *model;
    const void *parameters; /* the usual ones of `query`, or NULL */
    struct work *work;
    struct example examples[TRIED];
    int count, shown[ANSWERS];
};

/* Returns the query of a method that draws an input and also answers it as a document; NULL: there is none. */
static const struct method_query *drawing_query(const struct method *method)
{
    for (size_t i = 0; i < method->query_count; i++) {
        const struct method_query *query = &method->queries[i];
        if (query->takes == METHOD_TAKES_INPUTS && query->draw != NULL && query->answer != NULL)
            return query;
    }
    return NULL;
}

/* Sets *parameters to the query's usual parameters, or to NULL if it has none. STATUS_NO_MEMORY. */
static enum status usual_parameters(struct exchange *x, const struct method_query *query, const void **parameters,
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

/* Draws one sample, unless enough of its kind are drawn. */
static enum status add_example(struct gallery *g, int64_t seed, size_t room, struct error *err)
{
    const struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = seed};
    const struct method_question question = {.query = g->query,
                                             .model = g->model,
                                             .input = &input,
                                             .parameters = g->parameters,
                                             .item = -1,
                                             .work = g->work};
    struct picture *picture = NULL;
    struct buf png;
    cJSON *answer = NULL;
    enum status status = ask(g, &question, &answer, err);
    if (status)
        return status;
    enum answer judged = judge(answer);
    const char *letters = report_text(answer, "letters"), *text = report_text(answer, "text");
    bool spelled = letters[0] != '\0' || text[0] != '\0', wanted = g->shown[judged] < SHOWN && g->count < TRIED;
    buf_init(&png, room);
    if (wanted && !spelled)
        status = g->query->draw(&question, &picture, err);
    if (!status && picture != NULL)
        status = png_encode(picture, &png, err);
    if (status && png.full) { /* a picture that is larger than a report */
        error_clear(err);
        status = STATUS_OK;
        wanted = false;
    }
    if (!status && wanted) {
        struct example *example = &g->examples[g->count++];
        static const char *const classes[] = {"right", "wrong", "unknown"};
        example->answer = judged;
        g->shown[judged]++;
        buf_init(&example->html, 8u << 20);
        buf_format(&example->html, "<figure class=\"%s\">", classes[judged]);
        if (spelled)
            write_marked(&example->html, answer, text[0] != '\0' ? text : letters, text[0] != '\0');
        else
            html_image(&example->html, "image/png", png.data, png.size, "a test input with its motifs");
        write_caption(&example->html, answer, judged);
        buf_text(&example->html, "</figure>\n");
        status = buf_status(&example->html, "a report", err);
    }
    picture_destroy(picture);
    buf_close(&png);
    cJSON_Delete(answer);
    return status;
}

static void write_gallery(const struct gallery *g, struct buf *out)
{
    static const char *const titles[] = {"Right answers", "Wrong answers", "Answers"};
    static const enum answer order[] = {ANSWER_WRONG, ANSWER_RIGHT, ANSWER_UNKNOWN};
    int left_out = 0;
    if (g->count == 0)
        return;
    buf_text(out, "<h2>Test inputs</h2>\n<p>Each box shows an input that was not trained on, with the extent of "
                  "each motif. Wrong answers have a dashed red frame.</p>\n");
    for (int k = 0; k < ANSWERS; k++) {
        if (g->shown[order[k]] > 0)
            buf_format(out, "<h3>%s</h3>\n<div class=\"gallery\">\n", titles[order[k]]);
        for (int i = 0; i < g->count; i++) {
            const struct buf *html = &g->examples[i].html;
            if (g->examples[i].answer != order[k])
                continue;
            left_out += out->size + html->size >= REPORT_PICTURES;
            if (out->size + html->size < REPORT_PICTURES)
                buf_append(out, html->data, html->size);
        }
        buf_text(out, g->shown[order[k]] > 0 ? "</div>\n" : "");
    }
    if (left_out > 0)
        buf_format(out, "<p>%d pictures are left out, because the report would be too large.</p>\n", left_out);
}

static enum status make_gallery(struct exchange *x, const struct method *method, const struct method_model *model,
                                struct buf *out, struct error *err)
{
    struct gallery *g = calloc(1, sizeof *g);
    if (g == NULL)
        return error_memory(err, "a report");
    g->method = method;
    g->query = drawing_query(method);
    g->model = model;
    g->work = &x->work;
    enum status status = g->query != NULL ? usual_parameters(x, g->query, &g->parameters, err) : STATUS_OK;
    for (int64_t seed = 0; g->query != NULL && seed < TRIED && !status; seed++) {
        if (seed > 0)
            status = work_yield(&x->work, err);
        if (!status)
            status = add_example(g, seed, 8u << 20, err);
    }
    if (!status || status == STATUS_CONFLICT || status == STATUS_INVALID)
        write_gallery(g, out);
    for (int i = 0; i < g->count; i++)
        buf_close(&g->examples[i].html);
    free(g);
    return status;
}

/* ---- logos ------------------------------------------------------------------------------------------------------- */

/* Appends the picture that a query without inputs writes as SVG, with the query's usual parameters. */
static enum status write_logos(struct exchange *x, const struct method_query *query, const struct method_text *text,
                               const struct method_model *model, struct buf *out, struct error *err)
{
    struct buf svg;
    const void *parameters;
    enum status status = usual_parameters(x, query, &parameters, err);
    const struct method_question question = {
        .query = query, .model = model, .parameters = parameters, .item = -1, .work = &x->work};
    buf_init(&svg, 16u << 20);
    if (!status)
        status = text->write(&question, &svg, err);
    if (!status && svg.failed && !svg.full)
        status = error_memory(err, "a report");
    if (!status && svg.size > 0 && !svg.failed && fits(out, svg.size)) {
        buf_text(out, "<h2>");
        html_text(out, query->meaning);
        buf_text(out, "</h2>\n<p class=\"wide\">");
        html_image(out, "image/svg+xml", svg.data, svg.size, query->meaning);
        buf_text(out, "</p>\n");
    }
    buf_close(&svg);
    return status;
}

static enum status make_logos(struct exchange *x, const struct method *method, const struct method_model *model,
                              struct buf *out, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < method->query_count && !status; i++) {
        const struct method_query *query = &method->queries[i];
        for (size_t k = 0; k < query->text_count && !status && query->item == NULL; k++)
            if (query->verb == METHOD_GET && query->takes == METHOD_TAKES_NOTHING &&
                strcmp(query->texts[k].type, "image/svg+xml") == 0)
                status = write_logos(x, query, &query->texts[k], model, out, err);
    }
    return status;
}

/* ---- stored pictures --------------------------------------------------------------------------------------------- */

/* Appends the pictures among the artifacts of the job, except for the one that shows what the gallery shows. */
static enum status write_artifacts(struct exchange *x, const struct storage_job *job, struct buf *out,
                                   struct error *err)
{
    struct storage_artifact *list;
    char gallery[80];
    size_t count, shown = 0;
    enum status status = storage_artifact_list(x->api->options.storage, job->id, &x->arena, &list, &count, err);
    const struct method *method = api_method(x->api, job->kind);
    const struct method_query *drawing = method != NULL ? drawing_query(method) : NULL;
    (void)snprintf(gallery, sizeof gallery, "%s.png", drawing != NULL ? drawing->name : "");
    for (size_t i = 0; i < count && !status; i++) {
        struct storage_artifact one;
        const void *bytes;
        bool png = strcmp(list[i].media_type, "image/png") == 0;
        if ((!png && strcmp(list[i].media_type, "image/svg+xml") != 0) || !fits(out, (size_t)list[i].bytes) ||
            strcmp(list[i].name, gallery) == 0)
            continue;
        status = storage_artifact_get(x->api->options.storage, job->id, list[i].name, &x->arena, &one, &bytes, err);
        if (status)
            break;
        buf_text(out, shown++ == 0 ? "<h2>Pictures of the job</h2>\n" : "");
        buf_text(out, "<figure class=\"stored\">");
        html_image(out, png ? "image/png" : "image/svg+xml", bytes, (size_t)one.bytes, list[i].name);
        html_element(out, "figcaption", list[i].name);
        buf_text(out, "</figure>\n");
    }
    return status;
}

/* Whether a query was refused because of the model, its data or the question, and not because of the machine. */
static bool refused(enum status status)
{
    return status == STATUS_NOT_FOUND || status == STATUS_CONFLICT || status == STATUS_INVALID;
}

/* Asks the model of a checkpoint for the gallery and the logos. A model that refuses has none of them. */
static enum status ask_model(struct exchange *x, const struct storage_job *job, const struct method *method,
                             int64_t checkpoint, struct buf *out, struct error *err)
{
    struct model_lease lease;
    enum status status = model_cache_get(x->api->models, method, job, checkpoint, &lease, err);
    if (refused(status)) {
        buf_text(out, "<p>The model cannot be asked: ");
        html_text(out, err->message);
        buf_text(out, ".</p>\n");
        return STATUS_OK;
    }
    if (status)
        return status;
    status = make_gallery(x, method, lease.model, out, err);
    if (!status || refused(status)) {
        error_clear(err);
        status = make_logos(x, method, lease.model, out, err);
    }
    model_cache_release(x->api->models, &lease);
    return refused(status) ? STATUS_OK : status;
}

enum status report_pictures(struct exchange *x, const struct storage_job *job, struct buf *out, struct error *err)
{
    const struct method *method = api_method(x->api, job->kind);
    struct storage_checkpoint checkpoint;
    const struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};
    enum status status = STATUS_OK;
    if (method != NULL && method->open != NULL) {
        status = storage_checkpoint_find(x->api->options.storage, job->id, latest, &checkpoint, err);
        if (!status)
            status = ask_model(x, job, method, checkpoint.seq, out, err);
        else if (refused(status)) /* the job has no checkpoint */
            status = STATUS_OK;
    }
    if (status)
        return status;
    error_clear(err);
    return write_artifacts(x, job, out, err);
}
