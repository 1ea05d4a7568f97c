/* Writes the drawn marks of a review as files of other programs: tasks of Label Studio, annotations of COCO, and a
 * selection table of Raven. docs/how-to/review.md names the settings of these programs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/jobs/job_document.h"
#include "api/review/review_set.h"
#include "core/base/utf8.h"

static const cJSON *member(const struct review_mark *mark, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(mark->row, name);
}

/* The place of a mark: the corrected box, or its extent, or the position that it marks. */
static void find_box(struct exchange *x, const struct review_set *set, const struct review_mark *mark, int64_t box[4])
{
    const char *stored = mark->answer != NULL ? mark->answer->box : NULL;
    cJSON *corrected = NULL;
    struct error err;
    error_clear(&err);
    enum status status = stored != NULL ? json_parse(stored, strlen(stored), &corrected, &err) : STATUS_OK;
    bool known = corrected != NULL && review_box_read(set, corrected, box);
    cJSON_Delete(corrected);
    if (status == STATUS_NO_MEMORY) /* the answer would have another box */
        x->response->body.failed = true;
    if (known)
        return;
    if (review_box_read(set, member(mark, "extent"), box))
        return;
    for (int i = 0; i < 4; i++)
        box[i] = mark->place[i / 2] + i % 2;
}

/* Writes the address of the plain picture of a sample, which a program on another machine can read, too. */
static void write_address(struct exchange *x, const char *key, const struct review_set *set, int64_t sample)
{
    const char *host = exchange_header(x, "Host"), *scheme = exchange_header(x, "X-Forwarded-Proto");
    bool safe = scheme != NULL && strcmp(scheme, "https") == 0;
    char address[400];
    (void)snprintf(address, sizeof address, "%s%.200s/v1/jobs/%s/marks/%lld?plain=true&checkpoint=%lld",
                   host == NULL ? ""
                   : safe       ? "https://"
                                : "http://",
                   host != NULL ? host : "", set->job.id, (long long)sample, (long long)set->checkpoint.seq);
    sink_text(x->out, key, address);
}

/* ---- Label Studio -------------------------------------------------------------------------------------- */

static const char *piece(const cJSON *context, int index)
{
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(context, index));
    return text != NULL ? text : "";
}

static int64_t characters(const char *text)
{
    int64_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

/* The text around the mark, in one piece. */
static void write_text_data(struct exchange *x, const cJSON *context)
{
    struct buf text;
    buf_init(&text, 1u << 16);
    for (int i = 0; i < 3; i++)
        buf_text(&text, piece(context, i));
    buf_append(&text, "", 1);
    if (text.failed)
        x->response->body.failed = true;
    sink_text(x->out, "text", text.failed ? "" : text.data);
    buf_close(&text);
}

static void write_label(const struct sink *out, const char *key, const char *label)
{
    sink_begin_list(out, key);
    sink_text(out, NULL, label);
    sink_end_list(out);
}

static void write_span(const struct sink *out, const struct review_mark *mark, const cJSON *context)
{
    int64_t start = characters(piece(context, 0)), end = start + characters(piece(context, 1));
    sink_text(out, "to_name", "text");
    sink_text(out, "type", "labels");
    sink_begin_object(out, "value");
    sink_integer(out, "start", start);
    sink_integer(out, "end", end);
    sink_text(out, "text", piece(context, 1));
    write_label(out, "labels", mark->name);
    sink_end_object(out);
}

static void write_rectangle(const struct sink *out, const struct review_set *set, const struct review_mark *mark,
                            const int64_t box[4])
{
    double rows = (double)set->rows, cols = (double)set->cols;
    sink_text(out, "to_name", "image");
    sink_text(out, "type", "rectanglelabels");
    sink_integer(out, "original_width", set->cols);
    sink_integer(out, "original_height", set->rows);
    sink_begin_object(out, "value");
    sink_number(out, "x", 100 * (double)box[2] / cols);
    sink_number(out, "y", 100 * (double)box[0] / rows);
    sink_number(out, "width", 100 * (double)(box[3] - box[2]) / cols);
    sink_number(out, "height", 100 * (double)(box[1] - box[0]) / rows);
    sink_integer(out, "rotation", 0);
    write_label(out, "rectanglelabels", mark->name);
    sink_end_object(out);
}

static void write_region(struct exchange *x, const struct review_set *set, const struct review_mark *mark)
{
    const cJSON *context = member(mark, "context");
    int64_t box[4];
    sink_begin_object(x->out, NULL);
    sink_text(x->out, "id", mark->id);
    sink_text(x->out, "from_name", "label");
    find_box(x, set, mark, box);
    if (context != NULL)
        write_span(x->out, mark, context);
    else
        write_rectangle(x->out, set, mark, box);
    sink_end_object(x->out);
}

/* Writes what a person has answered as an annotation. */
static void write_annotation(struct exchange *x, const struct review_set *set, const struct review_mark *mark)
{
    const struct sink *out = x->out;
    sink_begin_list(out, "annotations");
    if (mark->answer != NULL) {
        sink_begin_object(out, NULL);
        sink_begin_list(out, "result");
        sink_begin_object(out, NULL);
        sink_text(out, "from_name", "answer");
        sink_text(out, "to_name", member(mark, "context") != NULL ? "text" : "image");
        sink_text(out, "type", "choices");
        sink_begin_object(out, "value");
        write_label(out, "choices", mark->answer->answer);
        sink_end_object(out);
        sink_end_object(out);
        if (strcmp(mark->answer->answer, "no") != 0 || mark->answer->box != NULL)
            write_region(x, set, mark);
        sink_end_list(out);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_task(struct exchange *x, const struct review_set *set, const struct review_mark *mark)
{
    const struct sink *out = x->out;
    const cJSON *context = member(mark, "context");
    char model[64];
    (void)snprintf(model, sizeof model, "%s.%lld", set->job.id, (long long)set->checkpoint.seq);
    sink_begin_object(out, NULL);
    sink_begin_object(out, "data");
    if (context != NULL)
        write_text_data(x, context);
    else
        write_address(x, "image", set, mark->sample);
    sink_text(out, "mark", mark->id);
    sink_text(out, "name", mark->name);
    sink_end_object(out);
    sink_begin_list(out, "predictions");
    sink_begin_object(out, NULL);
    sink_text(out, "model_version", model);
    if (isnan(mark->q))
        sink_null(out, "score");
    else
        sink_number(out, "score", 1 - mark->q);
    sink_begin_list(out, "result");
    write_region(x, set, mark);
    sink_end_list(out);
    sink_end_object(out);
    sink_end_list(out);
    write_annotation(x, set, mark);
    sink_end_object(out);
}

void review_label_studio(struct exchange *x, const struct review_set *set)
{
    int64_t drawn[REVIEW_DRAWS];
    int count = review_set_draw(set, drawn);
    sink_begin_list(x->out, NULL);
    for (int i = 0; i < count; i++)
        write_task(x, set, &set->mark[drawn[i]]);
    sink_end_list(x->out);
    respond_json(x, 200);
}

/* ---- COCO ---------------------------------------------------------------------------------------------- */

/* Index of the first of the drawn marks in the same sample. */
static int first_in_sample(const struct review_set *set, const int64_t *drawn, int index)
{
    int first = 0;
    while (set->mark[drawn[first]].sample != set->mark[drawn[index]].sample)
        first++;
    return first;
}

static void write_images(struct exchange *x, const struct review_set *set, const int64_t *drawn, int count)
{
    sink_begin_list(x->out, "images");
    for (int i = 0; i < count; i++) {
        if (first_in_sample(set, drawn, i) < i)
            continue;
        sink_begin_object(x->out, NULL);
        sink_integer(x->out, "id", set->mark[drawn[i]].sample);
        write_address(x, "file_name", set, set->mark[drawn[i]].sample);
        sink_integer(x->out, "width", set->cols);
        sink_integer(x->out, "height", set->rows);
        sink_end_object(x->out);
    }
    sink_end_list(x->out);
}

/* Number of the name of a mark among all names, from 1. The marks of a name follow each other. */
static int64_t category(const struct review_set *set, int64_t mark)
{
    int64_t number = 1;
    for (int64_t i = 1; i <= mark; i++)
        number += strcmp(set->mark[i].name, set->mark[i - 1].name) != 0;
    return number;
}

static void write_categories(struct exchange *x, const struct review_set *set)
{
    int64_t number = 0;
    sink_begin_list(x->out, "categories");
    for (int64_t i = 0; i < set->count; i++) {
        if (i > 0 && strcmp(set->mark[i].name, set->mark[i - 1].name) == 0)
            continue;
        sink_begin_object(x->out, NULL);
        sink_integer(x->out, "id", ++number);
        sink_text(x->out, "name", set->mark[i].name);
        sink_end_object(x->out);
    }
    sink_end_list(x->out);
}

/* Writes the places that a person has confirmed or corrected. */
static void write_places(struct exchange *x, const struct review_set *set, const int64_t *drawn, int count)
{
    const struct sink *out = x->out;
    int64_t box[4];
    sink_begin_list(out, "annotations");
    for (int i = 0; i < count; i++) {
        const struct review_mark *mark = &set->mark[drawn[i]];
        const struct storage_answer *a = mark->answer;
        if (a == NULL || (strcmp(a->answer, "yes") != 0 && a->box == NULL))
            continue;
        find_box(x, set, mark, box);
        sink_begin_object(out, NULL);
        sink_integer(out, "id", i + 1);
        sink_integer(out, "image_id", mark->sample);
        sink_integer(out, "category_id", category(set, drawn[i]));
        sink_begin_list(out, "bbox");
        sink_integer(out, NULL, box[2]);
        sink_integer(out, NULL, box[0]);
        sink_integer(out, NULL, box[3] - box[2]);
        sink_integer(out, NULL, box[1] - box[0]);
        sink_end_list(out);
        sink_integer(out, "area", (box[3] - box[2]) * (box[1] - box[0]));
        sink_integer(out, "iscrowd", 0);
        sink_text(out, "mark", mark->id);
        sink_end_object(out);
    }
    sink_end_list(out);
}

void review_coco(struct exchange *x, const struct review_set *set)
{
    int64_t drawn[REVIEW_DRAWS];
    int count = review_set_draw(set, drawn);
    if (set->rows < 2) {
        respond_problem(x, PROBLEM_CONFLICT, "The samples are no pictures, so their marks are no boxes of COCO.");
        return;
    }
    sink_begin_object(x->out, NULL);
    write_images(x, set, drawn, count);
    write_places(x, set, drawn, count);
    write_categories(x, set);
    sink_end_object(x->out);
    respond_json(x, 200);
}

/* ---- Raven --------------------------------------------------------------------------------------------- */

/* Appends a cell: tabs and line ends would end it. */
static void cell(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        buf_append(out, (unsigned char)*text < ' ' ? " " : text, 1);
    buf_text(out, "\t");
}

void review_raven(struct exchange *x, const struct review_set *set)
{
    struct buf *out = &x->response->body;
    int64_t drawn[REVIEW_DRAWS], box[4];
    int count = review_set_draw(set, drawn);
    if (set->unit == NULL || strcmp(set->unit, "s") != 0) {
        respond_problem(x, PROBLEM_CONFLICT, "The samples are no recordings, so a selection table has no times.");
        return;
    }
    buf_text(out, "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tBegin File\t"
                  "Annotation\tScore\tq\tAnswer\tMark\n");
    for (int i = 0; i < count; i++) {
        const struct review_mark *mark = &set->mark[drawn[i]];
        const cJSON *seconds = member(mark, "seconds"), *extent = member(mark, "extent");
        const char *file = cJSON_GetStringValue(member(mark, "record"));
        double begin = cJSON_GetNumberValue(cJSON_GetArrayItem(seconds, 0)),
               end = cJSON_GetNumberValue(cJSON_GetArrayItem(seconds, 1)),
               from = cJSON_GetNumberValue(cJSON_GetArrayItem(extent, 2)),
               to = cJSON_GetNumberValue(cJSON_GetArrayItem(extent, 3)), rate = (end - begin) / (to - from);
        char sample[40];
        if (!isfinite(rate)) /* without an extent, nobody knows the times */
            continue;
        find_box(x, set, mark, box);
        (void)snprintf(sample, sizeof sample, "sample-%lld", (long long)mark->sample);
        buf_format(out, "%d\tSpectrogram 1\t1\t%.6f\t%.6f\t0\t0\t", i + 1, (double)box[2] * rate,
                   (double)box[3] * rate);
        cell(out, file != NULL ? file : sample);
        cell(out, mark->name);
        buf_format(out, "%.6g\t", mark->value);
        if (isnan(mark->q))
            buf_text(out, "\t");
        else
            buf_format(out, "%.6g\t", mark->q);
        cell(out, mark->answer != NULL ? mark->answer->answer : "");
        buf_format(out, "%s\n", mark->id);
    }
    respond_body(x, 200, "text/tab-separated-values; charset=utf-8");
}
