/* Settings, versions, hashes and commands of a job as HTML (report_parts.h). */
#include "api/report/report_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/report/html.h"

static void write_row(struct buf *out, const char *name, const cJSON *value)
{
    buf_text(out, "<tr>");
    html_element(out, "td", name);
    buf_text(out, "<td>");
    html_value(out, value);
    buf_text(out, "</td></tr>\n");
}

/* Appends the members of an object that are single values. */
static void write_object(struct buf *out, const cJSON *object)
{
    JSON_EACH (member, object)
        if (!cJSON_IsObject(member) && !cJSON_IsArray(member) && !cJSON_IsNull(member))
            write_row(out, member->string, member);
}

/* Whether a field has another value than in the preset. */
static bool is_changed(const struct report *r, const cJSON *field)
{
    const cJSON *usual = report_member(r->preset, field->string);
    return usual == NULL || !cJSON_Compare(usual, field, true);
}

void report_settings(const struct report *r)
{
    const cJSON *division = report_member(report_member(r->job, "result"), "division");
    struct buf *out = r->out;
    buf_text(out, "<h2>Settings</h2>\n<p>");
    html_format(out, "Kind %s, preset %s.", report_text(r->job, "kind"),
                report_text(r->job, "preset")[0] != '\0' ? report_text(r->job, "preset") : "none");
    if (report_text(division, "text")[0] != '\0')
        html_format(out, " The samples were divided %s.", report_text(division, "text"));
    buf_text(out, " Fields in bold have another value than the preset.</p>\n<div class=\"fields\"><table>\n");
    JSON_EACH (field, report_member(r->job, "config")) {
        bool changed = is_changed(r, field);
        buf_text(out, changed ? "<tr class=\"changed\">" : "<tr>");
        html_element(out, "td", field->string);
        buf_text(out, "<td>");
        html_value(out, field);
        buf_text(out, "</td></tr>\n");
    }
    buf_text(out, "</table></div>\n");
    if (cJSON_GetArraySize(report_member(r->job, "facts")) > 0) {
        buf_text(out, "<h3>Facts of the data</h3>\n<table>\n");
        write_object(out, report_member(r->job, "facts"));
        buf_text(out, "</table>\n");
    }
}

void report_origin(const struct report *r)
{
    static const char *const of_result[] = {"build",   "cpu",  "blas_core",     "threads",
                                            "seconds", "seed", "weights_sha256"};
    const cJSON *result = report_member(r->job, "result"), *data = report_member(r->attestation, "dataset"),
                *checkpoints = report_member(r->attestation, "checkpoints"), *last = NULL;
    struct buf *out = r->out;
    buf_text(out, "<h2>Versions and hashes</h2>\n<table>\n");
    write_row(out, "job", report_member(r->job, "id"));
    write_row(out, "version of motifd", report_member(report_member(r->attestation, "machine"), "version"));
    for (size_t i = 0; i < sizeof of_result / sizeof of_result[0]; i++)
        if (report_member(result, of_result[i]) != NULL)
            write_row(out, of_result[i], report_member(result, of_result[i]));
    JSON_EACH (name, report_member(data, "names"))
        write_row(out, "data set", name);
    if (report_text(data, "sha256")[0] != '\0')
        write_row(out, "SHA-256 of the upload (its beginning)", report_member(data, "sha256"));
    if (report_text(data, "digest")[0] != '\0')
        write_row(out, "SHA-256 of the training data", report_member(data, "digest"));
    JSON_EACH (checkpoint, checkpoints)
        last = checkpoint;
    if (last != NULL) {
        write_row(out, "latest checkpoint", report_member(last, "seq"));
        write_row(out, "its SHA-256", report_member(last, "sha256"));
    }
    if (report_text(r->attestation, "chain")[0] != '\0')
        write_row(out, "last link of the chain of hashes", report_member(r->attestation, "chain"));
    write_row(out, "submitted", report_member(r->job, "created_at"));
    write_row(out, "finished", report_member(r->job, "finished_at"));
    buf_text(out, "</table>\n");
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* Appends a word for a shell: unchanged if no shell reads it in another way, else between single quotes. */
static void shell_word(struct buf *out, const char *word)
{
    bool plain = word[0] != '\0' && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                 "_-+.,:/=@%") == strlen(word);
    if (plain) {
        buf_text(out, word);
        return;
    }
    buf_text(out, "'");
    for (; *word != '\0'; word++)
        if (*word == '\'')
            buf_text(out, "'\\''");
        else
            buf_append(out, word, 1);
    buf_text(out, "'");
}

/* Appends a number with as few digits as it needs to be read as the same number. */
static void write_exactly(struct buf *out, double value)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) >= value && strtod(text, NULL) <= value)
            break;
    }
    buf_text(out, text);
}

/* Appends the option that sets a field. A text stands without quotation marks of JSON, unless it could be read as
 * another value. */
static void set_field(struct buf *out, const cJSON *field)
{
    struct buf word;
    cJSON *other = NULL;
    char *json = NULL;
    const char *value = cJSON_GetStringValue(field);
    enum status parsed = value != NULL && value[0] != '\0' ? json_parse(value, strlen(value), &other, NULL) : STATUS_OK;
    cJSON_Delete(other);
    buf_init(&word, 1u << 20);
    buf_format(&word, "%s=", field->string);
    if (cJSON_IsNumber(field)) {
        write_exactly(&word, field->valuedouble);
    } else if (parsed != STATUS_OK) {
        buf_text(&word, value);
    } else {
        json = cJSON_PrintUnformatted(field);
        buf_text(&word, json != NULL ? json : "");
        out->failed |= json == NULL;
    }
    out->failed |= parsed == STATUS_NO_MEMORY || word.failed;
    if (!word.failed) {
        buf_text(out, " \\\n    --set ");
        shell_word(out, word.data);
    }
    cJSON_free(json);
    buf_close(&word);
}

/* Appends the command that submits the job to any daemon that has its data. */
static void submission(const struct report *r, struct buf *out)
{
    const char *preset = report_text(r->job, "preset");
    buf_text(out, "motifctl");
    buf_text(out, " submit --kind ");
    shell_word(out, report_text(r->job, "kind"));
    if (preset[0] != '\0') {
        buf_text(out, " --preset ");
        shell_word(out, preset);
    }
    JSON_EACH (field, report_member(r->job, "config"))
        if (is_changed(r, field))
            set_field(out, field);
    buf_text(out, " \\\n    --watch\n");
}

void report_commands(const struct report *r)
{
    const char *id = report_text(r->job, "id");
    struct buf commands;
    buf_init(&commands, 4u << 20);
    buf_text(&commands, "# the same training, on a daemon with the same data set\n");
    submission(r, &commands);
    buf_format(&commands,
               "# the same training, on the daemon that has this job\nmotifctl submit --like %s --watch\n"
               "# the figures, and the bits of the training\nmotifctl evaluate %s\nmotifctl verify %s\n"
               "# the model, and this report\nmotifctl export %s model.safetensors\nmotifctl report %s\n",
               id, id, id, id, id);
    buf_text(r->out, "<h2>Commands that repeat it</h2>\n<pre>");
    r->out->failed |= commands.failed;
    html_text(r->out, commands.failed ? "" : commands.data);
    buf_text(r->out, "</pre>\n");
    buf_close(&commands);
}
