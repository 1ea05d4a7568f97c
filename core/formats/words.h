/* Splits texts into words, at the word boundaries of Unicode (UAX 29, with ICU's rules for no particular language), at
 * blanks, or at tabs and line ends. Every piece that is not blank is a word, so punctuation marks are words too, and
 * nothing is left out. Pure; any thread. */
#ifndef MOTIF_CORE_FORMATS_WORDS_H
#define MOTIF_CORE_FORMATS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/work.h"

enum collection_words { WORDS_UNICODE, WORDS_BLANKS, WORDS_TABS };

struct word_at {
    size_t at, bytes; /* bytes [at, at + bytes) of the text */
    int first, last;  /* characters [first, last) of the text, counted as Unicode code points */
};
struct word_list {
    int count;
    struct word_at *word; /* [count] */
    struct work *work;    /* set by the caller: the budget, from which the memory of a long list is taken; NULL: none */
    /* private */
    int64_t taken;
    void *breaks; /* ICU's iterator, which is kept for the next text */
};
/* Replaces the words by those of a text of valid UTF-8. A zeroed struct is allowed; the caller calls words_close().
 * STATUS_NO_MEMORY; STATUS_LIMIT: a text of more than 2^30 bytes; STATUS_CANCELLED: the budget ended. */
enum status words_split(struct word_list *words, const char *text, size_t bytes, enum collection_words at,
                        struct error *err);
/* Whether a word of a text has a blank in it. */
bool words_have_blanks(const struct word_list *words, const char *text);
void words_close(struct word_list *words);

#endif
