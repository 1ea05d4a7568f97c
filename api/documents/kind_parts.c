/* Writes the queries, charts and panels that a method's table declares, so that clients and the page need no code for a
 * particular kind. */
#include "api/documents/kind_parts.h"

#include <stdlib.h>

#include "core/data/files/input_file.h"
#include "core/formats/file_type.h"

static enum status write_parameters(const struct sink *out, const struct config_table *table, field_writer *write_field,
                                    struct error *err)
{
    sink_begin_list(out, "parameters");
    if (table != NULL) {
        void *defaults = calloc(1, table->struct_bytes);
        enum status status = defaults != NULL ? config_defaults(table, defaults, err) : error_memory(err, "parameters");
        for (size_t i = 0; status == STATUS_OK && i < table->count; i++)
            write_field(out, &table->fields[i], defaults);
        free(defaults);
        if (status != STATUS_OK)
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

enum status kind_queries_write(const struct sink *out, const struct method *method, field_writer *write_field,
                               struct error *err)
{
    enum status status = STATUS_OK;
    sink_begin_list(out, "queries");
    for (size_t i = 0; i < method->query_count && status == STATUS_OK; i++)
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

void kind_page_write(const struct sink *out, const struct method *method)
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
