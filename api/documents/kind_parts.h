/* Parts of the document of a kind (kinds.c): its queries, and the layout of its page. */
#ifndef MOTIF_API_DOCUMENTS_KIND_PARTS_H
#define MOTIF_API_DOCUMENTS_KIND_PARTS_H

#include "core/methods/method.h"

/* Writes a field as an object in a list. defaults: a struct with all defaults. */
typedef void field_writer(const struct sink *out, const struct config_field *field, const void *defaults);

/* Writes the members "queries" (each with its parameters) and "computations". STATUS_NO_MEMORY. */
enum status kind_queries_write(const struct sink *out, const struct method *method, field_writer *write_field,
                               struct error *err);
/* Writes the members "comparable", "charts" and "panels". */
void kind_page_write(const struct sink *out, const struct method *method);

#endif
