/* The numbers of words (lexicon.h). */
#include "core/data/uploads/texts/lexicon.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

void lexicon_close(struct lexicon *lexicon)
{
    name_list_close(&lexicon->entries);
}

enum status lexicon_begin(struct lexicon *lexicon, struct error *err)
{
    int32_t number;
    enum status status = name_list_add(&lexicon->entries, "<other>", 7, &number, err);
    for (int i = 0; !status && i < lexicon->wording.buckets; i++) {
        char name[24];
        int bytes = snprintf(name, sizeof name, "<other %d>", i + 1);
        status = name_list_add(&lexicon->entries, name, (size_t)bytes, &number, err);
    }
    return status;
}

enum status lexicon_open(const struct collection *c, struct lexicon *lexicon, struct error *err)
{
    *lexicon = (struct lexicon){.wording = c->wording};
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < c->words.count; i++) {
        int32_t number;
        status = name_list_add(&lexicon->entries, c->words.name[i], strlen(c->words.name[i]), &number, err);
    }
    return status;
}

size_t lexicon_normal(const struct collection_wording *wording, const char *word, size_t bytes, char out[LEXICON_WORD])
{
    out[0] = '\0';
    if (bytes >= LEXICON_WORD)
        return 0;
    return wording->keep_case ? utf8_composed(word, bytes, out) : utf8_folded(word, bytes, out);
}

static int32_t bucket_of(const char *word, size_t bytes, int32_t buckets)
{
    enum { ENDING = 3 };
    size_t at = bytes;
    int characters = 0;
    uint32_t hash = 0x811C9DC5u;
    while (at > 0 && characters < ENDING)
        characters += ((unsigned char)word[--at] & 0xC0) != 0x80;
    if (characters < ENDING || buckets == 0)
        return 0;
    for (; at < bytes; at++) {
        unsigned char byte = (unsigned char)word[at];
        hash = (hash ^ (byte >= '0' && byte <= '9' ? '0' : byte)) * 0x01000193u;
    }
    return 1 + (int32_t)(hash % (uint32_t)buckets);
}

int32_t lexicon_number(const struct lexicon *lexicon, const char *word, size_t bytes)
{
    int32_t known = bytes > 0 ? name_list_find(&lexicon->entries, word, bytes) : -1;
    return 1 + (known >= 0 ? known : bucket_of(word, bytes, lexicon->wording.buckets));
}

enum status lexicon_read(const struct lexicon *lexicon, const char *text, struct word_list *words, int32_t *number,
                         int *count, struct error *err)
{
    const struct collection_wording *wording = &lexicon->wording;
    char normal[LEXICON_WORD];
    size_t bytes = strlen(text);
    if (!utf8_valid(text, bytes))
        return error_set(err, STATUS_INVALID, NULL, "a text is not UTF-8");
    enum status status = words_split(words, text, bytes, (enum collection_words)wording->words, err);
    if (status)
        return status;
    int most = wording->cut > 0 ? wording->cut : LEXICON_LONGEST;
    if (words->count > most && wording->cut == 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "a text has %d words, more than %d; cut=N (motifctl: --cut N) keeps the first N words of each "
                         "text",
                         words->count, LEXICON_LONGEST);
    *count = words->count < most ? words->count : most;
    for (int i = 0; i < *count; i++) {
        const struct word_at *word = &words->word[i];
        number[i] = lexicon_number(lexicon, normal, lexicon_normal(wording, text + word->at, word->bytes, normal));
    }
    return STATUS_OK;
}
