/* Documents as counts of words, read from texts, or from files that contain the counts:
 *
 *   abstracts.jsonl  one object a line with a text "abstract" and possibly a "title"
 *   abstracts.csv    a column abstract or abstract_text and possibly a column title
 *   docword.txt      three lines with the numbers of documents, words and further lines. Each further line has the
 *                    index of a document, the index of a word (both from 1) and a count. vocab.txt has the words.
 *
 * Text is split at white space; each token loses the punctuation at its ends, becomes lower case and keeps only the
 * letters a to z. English stop words are removed. Plural nouns become singular by the rules of WordNet's morphy if the
 * singular occurs in the data too. Words in more than `most` or less than `least` of the documents are removed, and the
 * `words` most frequent of the others stay (ties: alphabetical), as columns in this order. Documents with fewer than
 * two tokens are removed. */
#ifndef MOTIF_CORE_DATA_TABLES_ABSTRACTS_H
#define MOTIF_CORE_DATA_TABLES_ABSTRACTS_H

#include "core/data/tables/features.h"

struct abstracts_filter {
    double most, least; /* a word is removed if the share of the documents with it is above `most` or below `least`;
                         * defaults 0.9, 0.0007 */
    int words;          /* largest number of words that stay; default 500 */
    struct thread_pool *pool; /* abstracts_load() returns STATUS_CANCELLED when the pool is stopped; may be NULL */
};
#define ABSTRACTS_FILTER ((struct abstracts_filter){0.9, 0.0007, 500, NULL})

/* Loads a data set's folder; the caller destroys *features. STATUS_NOT_FOUND: none of the files is there.
 * STATUS_INVALID: a fault of a file; the message names file and line. */
enum status abstracts_load(const char *folder, const struct abstracts_filter *filter, struct features **features,
                           struct error *err);

/* abstracts_singular() writes the singulars that a lower-case word can have by the rules of WordNet's morphy, whether
 * they occur in the data or not. There are at most two; `first` and `second` become "" where there is none. */
enum { WORD_BYTES = 48 };
void abstracts_singular(const char *word, char first[WORD_BYTES], char second[WORD_BYTES]);
/* Unescapes the text under `key` in a JSON object on one line and writes UTF-8 to `out`, whose size must be at least
 * that of the line. Returns the length; -1: the line is no object or has no such text. */
int64_t abstracts_json_text(const char *line, const char *key, char *out);

#endif
