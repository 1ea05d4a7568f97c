/* The members of a small JSON object that another program wrote, such as the configuration of a model. The bytes are
 * untrusted. Several threads may read one object at the same time. */
#ifndef MOTIF_CORE_FORMATS_JSON_JSON_FIELDS_H
#define MOTIF_CORE_FORMATS_JSON_JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct json_fields;

/* Parses a text. The caller calls json_fields_destroy(), which accepts NULL. STATUS_INVALID: it is no JSON object. */
enum status json_fields_create(const char *text, size_t bytes, struct json_fields **out, struct error *err);
void json_fields_destroy(struct json_fields *fields);

/* Return the value of a member, or `usual` if there is no member of this name and type. Texts live as long as the
 * object. */
const char *json_fields_text(const struct json_fields *fields, const char *name, const char *usual);
bool json_fields_flag(const struct json_fields *fields, const char *name, bool usual);
/* Returns the number `name`, or, if `inner` is not NULL, the number `inner` in the object `name`. */
double json_fields_number(const struct json_fields *fields, const char *name, const char *inner, double usual);

#endif
