/* The report of a job: one HTML file with verdict, figures, pictures, settings, origin and commands.
 *
 * The documents of the job's routes are written into the body, parsed, and removed again, so the report says what the
 * routes say. The file has a policy in its head, too, because a saved file has no headers: no script, nothing from the
 * network. */
#include "api/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/job_document.h"
#include "api/queries/queries.h"
#include "api/report/html.h"
#include "api/report/report_parts.h"
#include "api/transfer/attestation.h"
#include "protocol/config_json.h"
#include "protocol/faults.h"

#define POLICY "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;color:#182030;background:#fff;max-width:62rem;margin:2rem auto;"
    "padding:0 1rem}h1{font-size:1.6rem;margin-bottom:.2rem}h2{margin-top:2rem;border-bottom:1px solid #c8ced6;"
    "font-size:1.2rem}h3{font-size:1rem}table{border-collapse:collapse;margin:.5rem 0}"
    "th,td{text-align:left;vertical-align:top;padding:.15rem .8rem .15rem 0;overflow-wrap:anywhere}"
    "th{border-bottom:1px solid "
    "#788090;overflow-wrap:break-word}.number{text-align:right;font-variant-numeric:tabular-nums}"
    "code,pre{font:13px/1.4 ui-monospace,monospace}pre{background:#f3f5f8;padding:.8rem;white-space:pre-wrap;"
    "overflow-wrap:anywhere}.verdict{display:inline-block;font-weight:bold;padding:.2rem .8rem;border-radius:.3rem;"
    "background:#e6e9ee}.learned{background:#d5efdd}.partly{background:#fbeac2}.not-learned{background:#f8d4d0}"
    ".gallery{display:flex;flex-wrap:wrap;gap:.8rem}figure{margin:0;padding:.4rem;border:2px solid #788090;"
    "max-width:18rem;break-inside:avoid}figure img,.wide img{max-width:100%;height:auto}"
    "figure.right{border-color:#1a7f4b}figure.wrong{border:3px dashed #c0281c}"
    ".letters{font:13px/1.6 ui-monospace,monospace;overflow-wrap:anywhere;margin:.2rem 0}mark{background:#ffd873}"
    "figure.stored{max-width:100%;border:0;margin:.5rem 0}figcaption{font-size:.85rem}"
    ".fields{columns:2;font-size:.8rem}.fields td:first-child{overflow-wrap:normal}.fields "
    "tr{break-inside:avoid}.changed{font-weight:bold}"
    "main{overflow-x:auto}@media(max-width:40rem){.fields{columns:1}th,td{padding-right:.4rem}}"
    "@media print{main{overflow:visible}body{margin:0;max-width:none}h2,h3{break-after:avoid}tr{break-inside:avoid}}"
    "@page{margin:15mm}";

/* Parses the document that was written into the body, and empties the body. */
static enum status take_document(struct exchange *x, cJSON **document, struct error *err)
{
    struct buf *body = &x->response->body;
    enum status status =
        json_sink_done(&x->json) ? json_parse(body->data, body->size, document, err) : error_memory(err, "a report");
    buf_clear(body);
    json_sink_init(&x->json, body);
    return status;
}

/* Reads the configuration of a preset, all fields. *document stays NULL if this build lacks the kind or the preset. */
static enum status preset_of(const struct method *method, const char *name, cJSON **document, struct error *err)
{
    void *config = NULL;
    const struct method_preset *preset = method != NULL ? method_preset(method, name) : NULL;
    if (preset == NULL)
        return STATUS_OK;
    enum status status = config_start(method, preset, &config, err);
    char *text = status ? NULL : api_config_write(&method->config, config);
    if (!status)
        status = text != NULL ? json_parse(text, strlen(text), document, err) : error_memory(err, "a report");
    free(text);
    free(config);
    return status;
}

static void begin(const struct report *r)
{
    const char *name = report_text(r->job, "name"), *preset = report_text(r->job, "preset");
    const char *title = name[0] != '\0' ? name : preset[0] != '\0' ? preset : report_text(r->job, "kind");
    struct buf *out = r->out;
    buf_text(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"" POLICY "\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n"
                  "<link rel=\"icon\" href=\"data:,\">\n<title>");
    html_text(out, title);
    buf_format(out, " - report of motifd</title>\n<style>%s</style></head>\n<body><main>\n<h1>", style);
    html_text(out, title);
    buf_text(out, "</h1>\n<p>");
    html_format(out, "Job %s of the kind %s, finished %s.", report_text(r->job, "id"), report_text(r->job, "kind"),
                report_text(r->job, "finished_at"));
    buf_text(out, "</p>\n");
}

static enum status write_report(struct exchange *x, const struct storage_job *job, const struct report_pins *pins,
                                const struct report *r, struct error *err)
{
    begin(r);
    report_verdict(r);
    report_figures(r);
    enum status status = report_pictures(x, job, pins, r->out, err);
    if (status)
        return status;
    report_tables(r);
    report_settings(r);
    report_origin(r);
    report_commands(r);
    buf_text(r->out, "</main></body></html>\n");
    return buf_status(r->out, "a report", err);
}

/* Reads the documents about the job, and writes the report. */
static enum status make(struct exchange *x, const struct storage_job *job, const struct report_pins *pins,
                        struct buf *out, struct error *err)
{
    cJSON *document = NULL, *attestation = NULL, *preset = NULL;
    enum status status = preset_of(api_method(x->api, job->kind), job->preset, &preset, err);
    if (!status) {
        job_document(x, NULL, job);
        status = take_document(x, &document, err);
    }
    if (!status && job->task != JOB_EVALUATE) { /* an evaluation has no checkpoints */
        status = attestation_write(x, NULL, job, err);
        if (!status)
            status = take_document(x, &attestation, err);
    }
    const struct report report = {document, attestation, preset, out};
    if (!status)
        status = write_report(x, job, pins, &report, err);
    cJSON_Delete(document);
    cJSON_Delete(attestation);
    cJSON_Delete(preset);
    return status;
}

/* Reads the parameter `inputs`, seeds of samples with commas between them. Responds and returns false if it is wrong.
 */
static bool read_pins(struct exchange *x, struct report_pins *pins)
{
    const char *text = exchange_query(x, "inputs"), *at = text;
    pins->count = 0;
    while (at != NULL && *at != '\0') {
        char *end;
        long long seed = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (seed < 0 || seed > UINT32_MAX || (*end != '\0' && *end != ',') || pins->count == REPORT_PINS) {
            struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
            if (faults == NULL) {
                respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
                return false;
            }
            api_faults_add(faults, "inputs",
                           "must be at most %d seeds of samples in [0, 4294967295] with commas between them; got %.60s",
                           REPORT_PINS, text);
            respond_faults(x, PROBLEM_BAD_QUERY, "parameter", faults);
            return false;
        }
        pins->seed[pins->count++] = seed;
        at = *end == ',' ? end + 1 : end;
    }
    return true;
}

void report_show(struct exchange *x)
{
    struct report_pins pins;
    struct storage_job job;
    struct query_run run;
    struct buf out;
    struct error err;
    error_clear(&err);
    if (!exchange_job(x, &job))
        return;
    if (job.result == NULL) {
        respond_problem(x, PROBLEM_CONFLICT, "Job %s has no result yet, and a report is about the result.", job.id);
        return;
    }
    if (!read_pins(x, &pins) || !queries_enter(x, true, &run))
        return;
    buf_init(&out, 8u << 20);
    enum status status = make(x, &job, &pins, &out, &err);
    queries_leave(&run);
    buf_clear(&x->response->body);
    if (!status)
        buf_append(&x->response->body, out.data, out.size);
    buf_close(&out);
    if (status == STATUS_CANCELLED) {
        queries_respond_stopped(&run);
    } else if (status) {
        respond_error(x, &err);
    } else {
        response_header(x->response, "Content-Security-Policy", POLICY "; sandbox; frame-ancestors 'none'");
        response_header(x->response, "Content-Disposition", "inline; filename=\"%s.html\"", job.id);
        respond_body(x, 200, "text/html; charset=utf-8");
    }
}
