/* For adapt() of struct method (method.h): fields of earlier versions that listed several values. */
#ifndef MOTIF_CORE_METHODS_SHARED_FORMER_H
#define MOTIF_CORE_METHODS_SHARED_FORMER_H

#include "core/methods/method.h"

/* The value of a field of the stored configuration; "": it has none. */
static inline const char *former_text(const struct method_stored *stored, const char *field)
{
    return stored->text(stored->context, field);
}
/* Sets `field` to the last value of a list ("0.1,0.2", or "from:to:count"), because the model in the job's last
 * checkpoint is that of the last value. Returns whether the list has values. */
bool former_last(const struct method_stored *stored, const char *list, const struct config_table *table,
                 const char *field, void *config);

#endif
