/* Writes a configuration field, or a parameter of a query, as a JSON Schema. */
#include <math.h>
#include <stdio.h>

#include "api/documents/openapi_queries.h"

static void number_bound(const struct sink *out, const struct config_field *field, bool upper)
{
    double bound = upper ? field->max : field->min;
    bool open = upper ? field->max_open : field->min_open;
    if (isfinite(bound)) {
        sink_number(out, open ? (upper ? "exclusiveMaximum" : "exclusiveMinimum") : (upper ? "maximum" : "minimum"),
                    bound);
    }
}

void openapi_field_schema(const struct sink *out, const struct config_field *field, const void *defaults)
{
    static const char *const types[] = {"integer", "number", "boolean", "string", "string"};
    char meaning[256];
    (void)snprintf(meaning, sizeof meaning, "%s%s%s%s", field->meaning, field->unit[0] != '\0' ? " (" : "", field->unit,
                   field->unit[0] != '\0' ? ")" : "");
    sink_begin_object(out, field->name);
    sink_text(out, "type", types[field->type]);
    sink_text(out, "description", meaning);
    switch (field->type) {
    case FIELD_INT:
    case FIELD_REAL:
        number_bound(out, field, false);
        number_bound(out, field, true);
        sink_number(out, "default", config_number(field, defaults));
        break;
    case FIELD_BOOL:
        sink_boolean(out, "default", config_bool(field, defaults));
        break;
    case FIELD_CHOICE:
        sink_begin_list(out, "enum");
        for (const char *const *choice = field->choices; *choice != NULL; choice++)
            sink_text(out, NULL, *choice);
        sink_end_list(out);
        sink_text(out, "default", config_text(field, defaults));
        break;
    default:
        sink_integer(out, "maxLength", CONFIG_TEXT - 1);
        sink_text(out, "default", config_text(field, defaults));
        break;
    }
    sink_end_object(out);
}
