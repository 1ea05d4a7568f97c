/* Writes the part of the OpenAPI document that describes the methods' queries and computations. */
#ifndef MOTIF_API_DOCUMENTS_OPENAPI_QUERIES_H
#define MOTIF_API_DOCUMENTS_OPENAPI_QUERIES_H

#include "api/http/service.h"
#include "protocol/json_sink.h"
#include "core/base/config.h"
#include "core/base/error.h"

/* Writes members of components/schemas: the methods' own schemas and, for each generated route, its request body and
 * its answer. STATUS_INTERNAL when the notation of a method's schema is wrong. */
enum status openapi_query_schemas(const struct api *api, struct json_sink *json, struct error *err);

/* Writes a field as the member `field->name` of "properties". defaults: a struct with all defaults.
 */
void openapi_field_schema(const struct sink *out, const struct config_field *field, const void *defaults);

#endif
