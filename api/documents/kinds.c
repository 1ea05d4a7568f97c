/* GET /v1/kinds and /v1/kinds/{kind}: writes the tables of the methods as documents. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/documents/documents.h"
#include "api/http/exchange.h"
#include "core/data/files/input_file.h"
#include "core/formats/file_type.h"
#include "core/methods/findings.h"
#include "core/methods/method.h"
#include "protocol/config_json.h"

/* Parts of the document of a kind (kinds.c): its queries, and the layout of its page. */

/* Writes a field as an object in a list. defaults: a struct with all defaults. */
typedef void field_writer(const struct sink *out, const struct config_field *field, const void *defaults);

static enum status write_parameters(const struct sink *out, const struct config_table *table, field_writer *write_field,
                                    struct error *err)
{
    sink_begin_list(out, "parameters");
    if (table != NULL) {
        void *defaults = calloc(1, table->struct_bytes);
        enum status status = defaults != NULL ? config_defaults(table, defaults, err) : error_memory(err, "parameters");
        for (size_t i = 0; !status && i < table->count; i++)
            write_field(out, &table->fields[i], defaults);
        free(defaults);
        if (status)
            return status;
    }
    sink_end_list(out);
    return STATUS_OK;
}

/* Writes a format that a query reads or writes. meaning: what a file in this format contains; NULL: no text. */
static void write_format(const struct sink *out, const char *media_type, const char *meaning)
{
    const struct file_type *type = file_type_of(media_type);
    sink_begin_object(out, NULL);
    sink_text(out, "name", type != NULL ? type->name : media_type);
    sink_text(out, "media_type", media_type);
    sink_begin_list(out, "endings");
    for (int i = 0; type != NULL && i < FILE_TYPE_ENDINGS && type->endings[i] != NULL; i++)
        sink_text(out, NULL, type->endings[i]);
    sink_end_list(out);
    if (type != NULL && type->pieces != NULL)
        sink_text(out, "pieces", type->pieces);
    if (meaning != NULL)
        sink_text(out, "meaning", meaning);
    sink_end_object(out);
}

/* Writes the formats that the answer can have besides JSON, and the formats of files that can be the request's body. */
static void write_formats(const struct sink *out, const struct method_query *query)
{
    bool inputs = query->takes == METHOD_TAKES_INPUTS || query->takes == METHOD_TAKES_EDITS;
    const char *const *files = query->takes == METHOD_TAKES_FILE ? query->files : inputs ? input_file_types : NULL;
    sink_begin_list(out, "formats");
    if (query->draw != NULL)
        write_format(out, "image/png", "A picture of the answer.");
    if (query->array != NULL)
        write_format(out, "application/x-npy", "The numbers as float32; the first axis counts inputs.");
    for (size_t i = 0; i < query->text_count; i++)
        write_format(out, query->texts[i].type, query->texts[i].meaning);
    sink_end_list(out);
    sink_begin_list(out, "files");
    for (; files != NULL && *files != NULL; files++)
        write_format(out, *files, NULL);
    sink_end_list(out);
}

static enum status write_query(const struct sink *out, const struct method_query *query, field_writer *write_field,
                               struct error *err)
{
    static const char *const takes[] = {
        [METHOD_TAKES_NOTHING] = "nothing", [METHOD_TAKES_SAMPLE] = "sample", [METHOD_TAKES_INPUTS] = "inputs",
        [METHOD_TAKES_EDITS] = "edits",     [METHOD_TAKES_FILE] = "file",     [METHOD_TAKES_MODEL] = "model"};
    sink_begin_object(out, NULL);
    sink_text(out, "name", query->name);
    if (query->item != NULL)
        sink_text(out, "item", query->item);
    else
        sink_null(out, "item");
    sink_text(out, "meaning", query->meaning);
    sink_text(out, "method", query->verb == METHOD_GET ? "GET" : "POST");
    sink_text(out, "takes", takes[query->takes]);
    sink_boolean(out, "draws", query->draw != NULL);
    sink_boolean(out, "arrays", query->array != NULL);
    write_formats(out, query);
    enum status status = write_parameters(out, query->parameters, write_field, err);
    sink_end_object(out);
    return status;
}

/* Writes the members "queries" (each with its parameters) and "computations". STATUS_NO_MEMORY. */
static enum status kind_queries_write(const struct sink *out, const struct method *method, field_writer *write_field,
                                      struct error *err)
{
    enum status status = STATUS_OK;
    sink_begin_list(out, "queries");
    for (size_t i = 0; i < method->query_count && !status; i++)
        status = write_query(out, &method->queries[i], write_field, err);
    sink_end_list(out);
    sink_begin_list(out, "computations");
    for (size_t i = 0; i < method->computation_count; i++) {
        sink_begin_object(out, NULL);
        sink_text(out, "name", method->computations[i].name);
        sink_text(out, "meaning", method->computations[i].meaning);
        sink_end_object(out);
    }
    sink_end_list(out);
    return status;
}

static void write_chart(const struct sink *out, const struct method_chart *chart)
{
    sink_begin_object(out, NULL);
    sink_text(out, "title", chart->title);
    sink_begin_list(out, "metrics");
    for (size_t i = 0; i < METHOD_CHART_METRICS && chart->metrics[i] != NULL; i++)
        sink_text(out, NULL, chart->metrics[i]);
    sink_end_list(out);
    sink_begin_list(out, "targets");
    for (size_t i = 0; i < METHOD_CHART_METRICS && chart->targets[i] != NULL; i++)
        sink_text(out, NULL, chart->targets[i]);
    sink_end_list(out);
    sink_text(out, "format", chart->format != NULL ? chart->format : "number");
    sink_boolean(out, "log", chart->log);
    sink_boolean(out, "stages", chart->stages);
    sink_end_object(out);
}

/* Writes the members "comparable", "charts" and "panels". */
static void kind_page_write(const struct sink *out, const struct method *method)
{
    sink_boolean(out, "comparable", method->open != NULL && method_comparison(method) != NULL);
    sink_begin_list(out, "charts");
    for (size_t i = 0; i < method->chart_count; i++)
        write_chart(out, &method->charts[i]);
    sink_end_list(out);
    sink_begin_list(out, "panels");
    for (size_t i = 0; i < method->panel_count; i++) {
        sink_begin_object(out, NULL);
        sink_text(out, "view", method->panels[i].view);
        sink_text(out, "title", method->panels[i].title);
        sink_text(out, "query", method->panels[i].query);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static const char *type_name(enum field_type type)
{
    static const char *const names[] = {"integer", "number", "boolean", "choice", "text"};
    return names[type];
}

/* Writes the list "domains": the data for which a field of the configuration has an effect. The list contains the
 * values in the clauses "domain=VALUE|VALUE" and "data=VALUE|VALUE" of `applies`. It is empty if the field has an
 * effect for all data. */
static void write_domains(const struct sink *out, const char *applies)
{
    sink_begin_list(out, "domains");
    for (const char *clause = applies; clause != NULL && *clause != '\0';) {
        size_t length = strcspn(clause, " "), name = strcspn(clause, "=");
        bool of_data =
            (name == 6 && strncmp(clause, "domain", 6) == 0) || (name == 4 && strncmp(clause, "data", 4) == 0);
        for (size_t at = name + 1; of_data && at < length;) {
            size_t bytes = strcspn(clause + at, "| ");
            char value[64];
            (void)snprintf(value, sizeof value, "%.*s", (int)bytes, clause + at);
            sink_text(out, NULL, value);
            at += bytes + 1;
        }
        clause += length + (clause[length] == ' ');
    }
    sink_end_list(out);
}

static void write_field(const struct sink *out, const struct config_field *field, const void *defaults)
{
    char allowed[256];
    sink_begin_object(out, NULL);
    sink_text(out, "name", field->name);
    sink_text(out, "type", type_name(field->type));
    config_field_sink(field, defaults, "default", out);
    if (field->type == FIELD_INT || field->type == FIELD_REAL) {
        sink_number(out, "min", field->min);
        sink_number(out, "max", field->max);
        sink_boolean(out, "min_open", field->min_open);
        sink_boolean(out, "max_open", field->max_open);
    }
    if (field->type == FIELD_CHOICE) {
        sink_begin_list(out, "choices");
        for (const char *const *choice = field->choices; *choice != NULL; choice++)
            sink_text(out, NULL, *choice);
        sink_end_list(out);
    }
    config_describe(field, allowed, sizeof allowed);
    sink_text(out, "allowed", allowed);
    sink_text(out, "unit", field->unit);
    sink_text(out, "meaning", field->meaning);
    sink_text(out, "group", config_group_name(field->group));
    sink_text(out, "level", config_level_name(field->level));
    write_domains(out, field->applies);
    sink_text(out, "applies", field->applies);
    sink_end_object(out);
}

/* Writes the grid of a preset, {"FIELD": [VALUES]}, which is empty for a preset that is one job. `config` serves to
 * read the values. */
static enum status write_grid(const struct sink *out, const struct method *method, const struct method_preset *preset,
                              void *config, struct error *err)
{
    enum status status = STATUS_OK;
    sink_begin_object(out, "grid");
    for (const struct method_axis *axis = preset->grid; axis != NULL && axis->field != NULL; axis++) {
        const struct config_field *field = config_find(&method->config, axis->field);
        if (field == NULL)
            return error_set(err, STATUS_INTERNAL, NULL, "there is no field %s", axis->field);
        const char *values = axis->values;
        char value[CONFIG_TEXT + 1];
        sink_begin_list(out, field->name);
        while (!status && method_axis_next(&values, value)) {
            status = config_parse(field, config, value, err);
            if (!status)
                config_field_sink(field, config, NULL, out);
        }
        sink_end_list(out);
    }
    sink_end_object(out);
    sink_integer(out, "seeds", preset->seeds > 1 ? preset->seeds : 1);
    return status;
}

static enum status write_preset(const struct sink *out, const struct method *method, const struct method_preset *preset,
                                struct error *err)
{
    void *config;
    enum status status = config_start(method, preset, &config, err);
    if (status)
        return status;
    sink_begin_object(out, NULL);
    sink_text(out, "name", preset->name);
    sink_text(out, "meaning", preset->meaning);
    sink_begin_object(out, "settings"); /* contains the fields that the preset sets */
    for (const struct config_setting *s = preset->settings; s->field != NULL; s++) {
        const struct config_field *field = config_find(&method->config, s->field);
        /* a preset may set a field twice; only the last setting has an effect, so the loop skips the earlier ones */
        const struct config_setting *later = s + 1;
        while (later->field != NULL && strcmp(later->field, s->field) != 0)
            later++;
        if (field != NULL && later->field == NULL)
            config_field_sink(field, config, field->name, out);
    }
    sink_end_object(out);
    sink_begin_object(out, "config");
    for (size_t i = 0; i < method->config.count; i++)
        if (method->config.fields[i].level != LEVEL_FACT)
            config_field_sink(&method->config.fields[i], config, method->config.fields[i].name, out);
    sink_end_object(out);
    status = write_grid(out, method, preset, config, err);
    sink_end_object(out);
    free(config);
    return status;
}

/* Writes the list of the facts, or that of the fields that clients can set. */
static void write_fields(const struct sink *out, const char *key, bool facts, const struct method *method,
                         const void *defaults)
{
    sink_begin_list(out, key);
    for (size_t i = 0; i < method->config.count; i++)
        if ((method->config.fields[i].level == LEVEL_FACT) == facts)
            write_field(out, &method->config.fields[i], defaults);
    sink_end_list(out);
}

static enum status write_kind(const struct sink *out, const struct method *method, struct error *err)
{
    void *defaults;
    enum status status = config_start(method, NULL, &defaults, err);
    if (status)
        return status;
    sink_begin_object(out, NULL);
    sink_text(out, "kind", method->kind);
    sink_text(out, "title", method->title);
    sink_text(out, "summary", method->summary);
    sink_text(out, "paper", method->paper);
    sink_text(out, "fold_field", method->fold_field);
    write_fields(out, "fields", false, method, defaults);
    write_fields(out, "facts", true, method, defaults);
    free(defaults);
    sink_begin_list(out, "presets");
    for (size_t i = 0; i < method->preset_count && !status; i++)
        status = write_preset(out, method, &method->presets[i], err);
    sink_end_list(out);
    sink_begin_list(out, "metrics");
    for (size_t i = 0; i < method->metric_count; i++) {
        sink_begin_object(out, NULL);
        sink_text(out, "name", method->metrics[i].name);
        sink_text(out, "unit", method->metrics[i].unit);
        sink_text(out, "meaning", method->metrics[i].meaning);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_begin_list(out, "findings");
    for (size_t i = 0; i < method->finding_count; i++) {
        const struct finding_code *finding = &method->findings[i];
        sink_begin_object(out, NULL);
        sink_text(out, "code", finding->code);
        sink_text(out, "severity", finding_severities[finding->severity]);
        sink_text(out, "verdict", verdict_names[finding->verdict]);
        sink_text(out, "meaning", finding->meaning);
        sink_text(out, "try", finding->next);
        sink_end_object(out);
    }
    sink_end_list(out);
    if (!status)
        status = kind_queries_write(out, method, write_field, err);
    kind_page_write(out, method);
    sink_end_object(out);
    return status;
}

void kinds_list(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    sink_begin_object(x->out, NULL);
    sink_begin_list(x->out, "kinds");
    for (size_t i = 0; i < x->api->options.method_count; i++) {
        if (write_kind(x->out, x->api->options.methods[i], &err)) {
            respond_error(x, &err);
            return;
        }
    }
    sink_end_list(x->out);
    sink_end_object(x->out);
    respond_json(x, 200);
}

void kinds_show(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    const struct method *method = api_method(x->api, exchange_param(x, "kind"));
    if (method == NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "There is no kind '%s'; GET /v1/kinds lists them.",
                        exchange_param(x, "kind"));
    } else if (write_kind(x->out, method, &err)) {
        respond_error(x, &err);
    } else {
        respond_json(x, 200);
    }
}
