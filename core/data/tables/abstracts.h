/* Documents as counts of words: abstracts.jsonl (an object a line with a text under "abstract") or abstracts.csv (a
 * column abstract or abstract_text), with titles where they have a "title"; or ready counts: docword.txt (D, W, NNZ,
 * then "doc word count" from 1) beside vocab.txt.
 *
 * Of text: tokens between white space, without the punctuation at their ends, lower case, letters a to z only; no
 * English stop words; nouns in the plural become singular by the rules of WordNet's morphy, where the singular occurs
 * in the data too. Words in more than `most` or less than `least` of the documents go, of the others the `words` most
 * frequent stay (ties: by letters); columns in that order. Documents of one token or none go. */
#ifndef MOTIF_CORE_DATA_TABLES_ABSTRACTS_H
#define MOTIF_CORE_DATA_TABLES_ABSTRACTS_H

#include "core/data/tables/features.h"

struct abstracts_filter {
    double most, least; /* 0.9, 0.0007 */
    int words;          /* 500 */
};
#define ABSTRACTS_FILTER ((struct abstracts_filter){0.9, 0.0007, 500})

enum status abstracts_load(const char *folder, const struct abstracts_filter *filter, struct features **features,
                           struct error *err);

/* The singular that the rules propose, without a look at any data: up to two, "" where none. word: lower case. */
enum { WORD_BYTES = 48 };
void abstracts_singular(const char *word, char first[WORD_BYTES], char second[WORD_BYTES]);
/* The text under `key` in a JSON object on one line, unescaped into `out` (as long as the line at most, in UTF-8).
 * -1: the line is no object or has no such text; else its length. */
int64_t abstracts_json_text(const char *line, const char *key, char *out);

#endif
