/* The list of all methods. To add a method, add its folder and one line here.
 *
 * If a user names a data set and no kind, clients take the first kind of this list that accepts the data set.
 * Superposition is last, because it accepts many tables and asks a special question about them. */
#include "core/methods/registry.h"

#include <string.h>

static const struct method *const methods[] = {
    &sparling_method,     &pathways_method,   &factors_method,
    &environments_method, &dictionary_method, &superposition_method,
};

const struct method *const *methods_all(size_t *count)
{
    *count = sizeof methods / sizeof methods[0];
    return methods;
}

const struct method *method_find(const char *kind)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i]->kind, kind) == 0)
            return methods[i];
    return NULL;
}
