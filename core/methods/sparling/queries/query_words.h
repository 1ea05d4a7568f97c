/* The words of a text in the answer of a query: which of them each motif marks, and where they are in the text. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_WORDS_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_WORDS_H

#include "core/formats/words.h"
#include "core/methods/method.h"
#include "core/metrics/motif_errors.h"

/* A text and the words at the positions of the input. */
struct query_words {
    const char *text; /* borrowed; NULL: the input is no text */
    struct word_list list;
};
/* Finds the words of the input of a question. The caller calls query_words_close(), after an error too. */
enum status query_words_find(const struct method_question *question, struct query_words *words, struct error *err);
void query_words_close(struct query_words *words);
/* Writes the text as the member `text`. Writes nothing without a text. */
void query_words_write(const struct query_words *words, const struct sink *out);
/* Writes the words of a motif as the member `words` of an open object: those of its extent, or the one at its position.
 * Writes nothing without a text. */
void query_words_marked(const struct query_words *words, const struct motif *motif, const struct box *extent,
                        const struct sink *out);

#endif
