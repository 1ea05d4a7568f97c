/* Texts as inputs of a model whose data set has texts. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_TEXTS_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_TEXTS_H

#include "core/data/uploads/texts/lexicon.h"
#include "core/methods/sparling/domains/domain.h"

/* Splits a text into the words at the positions of an input of `cols` positions. The caller closes the words, after an
 * error too. */
enum status dataset_text_split(const struct lexicon *lexicon, const char *text, int cols, struct word_list *words,
                               struct error *err);
/* Writes the numbers of the words of a client's text to planes: [cols]. STATUS_INVALID: the text has more words than
 * any of the data set, or it is not UTF-8. */
enum status dataset_text_read(const struct lexicon *lexicon, const char *text, const struct domain_shape *shape,
                              float *planes, struct error *err);
/* STATUS_INVALID: the values of a client's array are no numbers of words. */
enum status dataset_text_check(const struct domain_shape *shape, const float *planes, struct error *err);

#endif
