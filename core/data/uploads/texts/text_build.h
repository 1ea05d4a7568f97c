/* How readers of texts build a collection: first each text is split, and its words get provisional numbers; at the end
 * the vocabulary is made of the frequent words, and the provisional numbers become those of lexicon.h. */
#ifndef MOTIF_CORE_DATA_UPLOADS_TEXTS_TEXT_BUILD_H
#define MOTIF_CORE_DATA_UPLOADS_TEXTS_TEXT_BUILD_H

#include "core/data/uploads/texts/lexicon.h"

struct text_builder {
    struct builder *b;
    struct word_list words;
    struct name_list seen;             /* all different words, in normal form */
    int64_t *uses;                     /* [seen] how often each occurs in texts that count */
    int64_t bytes;                     /* of all texts */
    const char *order;                 /* how the words of lists are ordered, or NULL */
    bool given;                        /* the texts are lists, split already */
    bool blanks;                       /* a word of these lists has a blank */
    int64_t total, others, cut, empty; /* words; of them without an entry; texts that were cut; texts without words */
};
/* Begins a collection of texts. given: the texts are lists that are split already. Their words have tabs between them,
 * and text_build_finish() puts blanks there if no word has one. STATUS_INVALID: options say that they are
 * split. The caller calls text_build_close(), after an error too. */
enum status text_build_open(struct text_builder *t, struct builder *b, bool given, struct error *err);
void text_build_close(struct text_builder *t);
/* Adds a sample. counts: whether its words count for the vocabulary (false: a text of the validation or the test part).
 * what, number: what messages call the sample. STATUS_INVALID: the text has too many words. */
enum status text_build_add(struct text_builder *t, const char *text, bool counts, const char *what, int64_t number,
                           struct error *err);
/* Makes the vocabulary. Call it before builder_finish(). */
enum status text_build_finish(struct text_builder *t, struct error *err);

#endif
