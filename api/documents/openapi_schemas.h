/* The schemas of answers and bodies that no other table contains. A shape is a list of members, "NAME TYPE", separated
 * by commas; a name with '*' in front may be missing. A type is one of:
 *
 * - text, integer, number, flag, object or time: a JSON type;
 * - Name: another schema;
 * - [T]: a list of T;
 * - {T}: an object whose members are T;
 * - T?: T or null.
 *
 * A schema that this notation cannot express is written in JSON, with apostrophes instead of quotation marks. */
#ifndef MOTIF_API_DOCUMENTS_OPENAPI_SCHEMAS_H
#define MOTIF_API_DOCUMENTS_OPENAPI_SCHEMAS_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/json_sink.h"
#include "core/base/error.h"

struct openapi_schema {
    const char *name;
    const char *shape;  /* the schema in the notation above; NULL if `schema` is set */
    const char *schema; /* the schema in JSON; NULL if `shape` is set */
    bool closed;        /* true for a request body, because other members are rejected; false for an answer, which may
                         * get new members */
};
extern const struct openapi_schema openapi_schemas[];
extern const size_t openapi_schema_count;

/* Writes a schema as JSON Schema. STATUS_INTERNAL: the notation is wrong. */
enum status openapi_schema_write(struct json_sink *json, const struct openapi_schema *schema, struct error *err);

#endif
