/* The logos and the stored pictures of a report (report_parts.h), beside the gallery of report_gallery.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/job_document.h"
#include "api/models/model_cache.h"
#include "api/report/html.h"
#include "api/report/report_parts.h"

/* Whether a picture still fits into the report. */
static bool fits(const struct buf *out, size_t bytes)
{
    return out->size + html_image_bytes(bytes) < REPORT_PICTURES;
}

/* ---- logos ------------------------------------------------------------------------------------------------------- */

/* Appends the picture that a query without inputs writes as SVG, with the query's usual parameters. */
static enum status write_logos(struct exchange *x, const struct method_query *query, const struct method_text *text,
                               const struct method_model *model, struct buf *out, struct error *err)
{
    struct buf svg;
    const void *parameters;
    enum status status = report_usual_parameters(x, query, &parameters, err);
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
    const struct method_query *drawing = method != NULL ? report_drawing_query(method) : NULL;
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
                             int64_t checkpoint, const struct report_pins *pins, struct buf *out, struct error *err)
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
    status = report_gallery(x, method, lease.model, pins, out, err);
    if (!status || refused(status)) {
        error_clear(err);
        status = make_logos(x, method, lease.model, out, err);
    }
    model_cache_release(x->api->models, &lease);
    return refused(status) ? STATUS_OK : status;
}

enum status report_pictures(struct exchange *x, const struct storage_job *job, const struct report_pins *pins,
                            struct buf *out, struct error *err)
{
    const struct method *method = api_method(x->api, job->kind);
    struct storage_checkpoint checkpoint;
    const struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};
    enum status status = STATUS_OK;
    if (method != NULL && method->open != NULL) {
        status = storage_checkpoint_find(x->api->options.storage, job->id, latest, &checkpoint, err);
        if (!status)
            status = ask_model(x, job, method, checkpoint.seq, pins, out, err);
        else if (refused(status)) /* the job has no checkpoint */
            status = STATUS_OK;
    }
    if (status)
        return status;
    error_clear(err);
    return write_artifacts(x, job, out, err);
}
