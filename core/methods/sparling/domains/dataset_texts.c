/* Texts as inputs of a model (dataset_texts.h). */
#include "core/methods/sparling/domains/dataset_texts.h"

#include <math.h>

enum status dataset_text_split(const struct lexicon *lexicon, const char *text, int cols, struct word_list *words,
                               struct error *err)
{
    int32_t number[LEXICON_LONGEST];
    int count = 0;
    *words = (struct word_list){.work = words->work};
    enum status status = lexicon_read(lexicon, text, words, number, &count, err);
    words->count = count < cols ? count : cols;
    return status;
}

enum status dataset_text_read(const struct lexicon *lexicon, const char *text, const struct domain_shape *shape,
                              float *planes, struct error *err)
{
    struct word_list words = {0};
    struct error cause = {0};
    int32_t number[LEXICON_LONGEST];
    int count = 0;
    enum status status = lexicon_read(lexicon, text, &words, number, &count, &cause);
    if (!status && count > shape->cols)
        status = error_set(&cause, STATUS_INVALID, NULL, "the text has %d words; the longest of the data set has %d",
                           count, shape->cols);
    for (int i = 0; !status && i < shape->cols; i++)
        planes[i] = i < count ? (float)number[i] : 0;
    words_close(&words);
    return status ? error_set(err, status, "", "%s", cause.message) : STATUS_OK;
}

enum status dataset_text_check(const struct domain_shape *shape, const float *planes, struct error *err)
{
    for (int i = 0; i < shape->cols; i++)
        if (!(planes[i] >= 0 && planes[i] <= (float)shape->words && planes[i] == floorf(planes[i])))
            return error_set(err, STATUS_INVALID, "/array",
                             "must have the numbers of words, 0 to %d; or send a text instead", shape->words);
    return STATUS_OK;
}
