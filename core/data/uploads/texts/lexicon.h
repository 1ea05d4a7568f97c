/* The numbers of words: how the words of texts become numbers at an upload, and again in every query.
 *
 * A word is composed (NFC) and, unless the user keeps the case, in lower case. The numbers from 1 on are: 1 for
 * <other>; then one for each bucket, <other 1>, <other 2>, ...; then the words of the vocabulary, the most frequent one
 * first. A word that is not in the vocabulary goes to the bucket of its ending: the hash FNV-1a (32 bits) of its last
 * three characters, with 0 for each digit, modulo the number of buckets. Words of less than three characters, and
 * words of LEXICON_WORD bytes or more, are <other>. So numbers depend on the vocabulary only.
 *
 * Read-only once opened: any number of threads. */
#ifndef MOTIF_CORE_DATA_UPLOADS_TEXTS_LEXICON_H
#define MOTIF_CORE_DATA_UPLOADS_TEXTS_LEXICON_H

#include "core/data/uploads/collection_build.h"
#include "core/formats/words.h"

enum { LEXICON_WORD = NAME_BYTES, LEXICON_LONGEST = 4096 }; /* bytes of a word; words of a text */

struct lexicon {
    struct collection_wording wording;
    struct name_list entries; /* the names of the numbers from 1 on */
};
/* Opens the lexicon of a collection of texts. STATUS_NO_MEMORY. The caller calls lexicon_close(), after an error too.
 */
enum status lexicon_open(const struct collection *c, struct lexicon *lexicon, struct error *err);
void lexicon_close(struct lexicon *lexicon);
/* Writes a word as the lexicon compares it. Returns its length; 0: it is too long. */
size_t lexicon_normal(const struct collection_wording *wording, const char *word, size_t bytes, char out[LEXICON_WORD]);
/* The number of a word in normal form, from 1 on. */
int32_t lexicon_number(const struct lexicon *lexicon, const char *word, size_t bytes);
/* Adds the entries before the words. */
enum status lexicon_begin(struct lexicon *lexicon, struct error *err);
/* Splits a text and writes the number of each word to `number`, [LEXICON_LONGEST]; the text has at most `most` words
 * that count, and *count is how many there are. With wording.cut, further words are left out. STATUS_INVALID: the text
 * is not UTF-8, or it has more words. */
enum status lexicon_read(const struct lexicon *lexicon, const char *text, struct word_list *words, int32_t *number,
                         int *count, struct error *err);

#endif
