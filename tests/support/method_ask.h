/* Runs one query of a model, selected by name, as the api does; for tests of methods. */
#ifndef MOTIF_TESTS_SUPPORT_METHOD_ASK_H
#define MOTIF_TESTS_SUPPORT_METHOD_ASK_H

#include <stdlib.h>
#include <string.h>

#include "core/methods/method.h"

/* Returns the query of this name that takes an item or, if `item` is false, the one that takes no item. NULL: the
 * method has no such query. */
static inline const struct method_query *method_query_find(const struct method *method, const char *name, bool item)
{
    for (size_t i = 0; i < method->query_count; i++)
        if (strcmp(method->queries[i].name, name) == 0 && (method->queries[i].item != NULL) == item)
            return &method->queries[i];
    return NULL;
}

/* Returns a question with all parameters at their defaults. The caller frees the parameters. */
static inline struct method_question method_question(const struct method_query *query, const struct method_model *model,
                                                     const struct method_input *input)
{
    void *parameters = NULL;
    if (query->parameters != NULL) {
        parameters = calloc(1, query->parameters->struct_bytes);
        if (parameters == NULL || config_defaults(query->parameters, parameters, NULL) != STATUS_OK)
            abort();
    }
    return (struct method_question){
        .query = query, .model = model, .input = input, .parameters = parameters, .item = -1};
}

static inline enum status method_ask(const struct method *method, const struct method_model *model, const char *name,
                                     const struct method_input *input, const struct sink *out, struct error *err)
{
    const struct method_query *query = method_query_find(method, name, false);
    if (query == NULL)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no such query");
    struct method_question question = method_question(query, model, input);
    enum status status = query->answer(&question, out, err);
    free((void *)question.parameters);
    return status;
}

static inline enum status method_draw(const struct method *method, const struct method_model *model, const char *name,
                                      const struct method_input *input, struct picture **out, struct error *err)
{
    const struct method_query *query = method_query_find(method, name, false);
    if (query == NULL || query->draw == NULL)
        return error_set(err, STATUS_NOT_FOUND, NULL, "this query draws nothing");
    struct method_question question = method_question(query, model, input);
    enum status status = query->draw(&question, out, err);
    free((void *)question.parameters);
    return status;
}

#endif
