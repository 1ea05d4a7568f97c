/* Builds collections of texts (text_build.h). */
#include "core/data/uploads/texts/text_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/base/utf8.h"

enum { LEAST_USES = 2 }; /* a word of the vocabulary occurs so often; nothing can be learned of rarer words */

enum status text_build_open(struct text_builder *t, struct builder *b, bool given, struct error *err)
{
    const struct collection_options *o = b->options;
    *t = (struct text_builder){.b = b, .words.work = o->work, .seen.most = 1 << 24, .given = given, .order = t->order};
    b->c->kind = COLLECTION_TEXTS;
    b->c->channels = b->c->rows = 1;
    b->c->wording = (struct collection_wording){
        .words = (int32_t)(given ? WORDS_TABS : o->words),
        .keep_case = given && !(o->stated & OPTION_KEEP_CASE) ? 1 : o->keep_case,
        .buckets = given && !(o->stated & OPTION_BUCKETS) ? 0 : o->buckets, /* names need not share endings */
        .cut = o->cut};
    return given && o->words != WORDS_UNICODE
               ? error_set(err, STATUS_INVALID, NULL,
                           "words: the texts are lists, which are split already; leave it out")
               : STATUS_OK;
}

void text_build_close(struct text_builder *t)
{
    words_close(&t->words);
    name_list_close(&t->seen);
    free(t->uses);
}

/* Returns the provisional number of a word, from 1 on; 0: the word is too long for an entry. */
static enum status provisional(struct text_builder *t, const char *text, const struct word_at *word, bool counts,
                               float *to, struct error *err)
{
    char normal[LEXICON_WORD];
    size_t bytes = lexicon_normal(&t->b->c->wording, text + word->at, word->bytes, normal);
    int32_t number, before = t->seen.names.count;
    *to = 0;
    if (bytes == 0)
        return STATUS_OK;
    enum status status = name_list_add(&t->seen, normal, bytes, &number, err);
    if (status)
        return status;
    if (number == before) {
        int64_t *more = grown(t->uses, (size_t)before, sizeof *more);
        if (!more)
            return error_memory(err, "words");
        t->uses = more;
        more[number] = 0;
    }
    t->uses[number] += counts;
    *to = (float)(number + 1);
    return STATUS_OK;
}

enum status text_build_add(struct text_builder *t, const char *text, bool counts, const char *what, int64_t number,
                           struct error *err)
{
    const int cut = t->b->c->wording.cut;
    size_t bytes = strlen(text);
    float *values;
    if (!utf8_valid(text, bytes))
        return error_set(err, STATUS_INVALID, NULL, "%s %" PRId64 ": the text is not UTF-8", what, number);
    if (t->bytes + (int64_t)bytes > t->b->limits.bytes)
        return error_set(err, STATUS_LIMIT, NULL,
                         "the texts take more than %" PRId64 " bytes, the most that is allowed", t->b->limits.bytes);
    enum status status = words_split(&t->words, text, bytes, (enum collection_words)t->b->c->wording.words, err);
    if (status)
        return status;
    int count = t->words.count, kept = cut > 0 && count > cut ? cut : count;
    if (kept > LEXICON_LONGEST)
        return error_set(err, STATUS_INVALID, NULL,
                         "%s %" PRId64 ": the text has %d words, more than %d; cut=N (motifctl: --cut N) keeps the "
                         "first N words of each text",
                         what, number, count, LEXICON_LONGEST);
    status = builder_sample(t->b, kept > 0 ? kept : 1, &values, err);
    if (!status && kept == 0)
        values[0] = -1; /* no word */
    for (int i = 0; !status && i < kept; i++)
        status = provisional(t, text, &t->words.word[i], counts, &values[i], err);
    t->blanks = t->blanks || (t->given && words_have_blanks(&t->words, text));
    t->bytes += (int64_t)bytes;
    t->total += kept;
    t->cut += kept < count;
    t->empty += kept == 0;
    return status ? status : collection_names_add(&t->b->c->texts, text, err);
}

/* ---- the vocabulary ---------------------------------------------------------------------------------------- */

struct ranked {
    const char *word;
    int64_t uses;
};

static int by_uses(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->uses != y->uses)
        return x->uses < y->uses ? 1 : -1;
    return strcmp(x->word, y->word);
}

/* Adds the most frequent words to the lexicon. */
static enum status choose_words(const struct text_builder *t, struct lexicon *lexicon, struct error *err)
{
    const struct collection_names *seen = &t->seen.names;
    struct ranked *ranked = malloc(((size_t)seen->count + 1) * sizeof *ranked);
    if (!ranked)
        return error_memory(err, "words");
    int count = 0;
    for (int i = 0; i < seen->count; i++)
        if (t->uses[i] >= LEAST_USES)
            ranked[count++] = (struct ranked){seen->name[i], t->uses[i]};
    qsort(ranked, (size_t)count, sizeof *ranked, by_uses);
    enum status status = lexicon_begin(lexicon, err);
    for (int i = 0; !status && i < count && i < t->b->options->vocabulary; i++) {
        int32_t number;
        status = name_list_add(&lexicon->entries, ranked[i].word, strlen(ranked[i].word), &number, err);
    }
    free(ranked);
    return status;
}

struct numbering {
    struct text_builder *t;
    const int32_t *number; /* [seen + 1] the number of each provisional one; number[0]: of a word without one */
    int named;             /* numbers above this one are words of the vocabulary */
};

static enum status renumber(void *context, int64_t sample, const float *from, int64_t count, float *to, int64_t *made,
                            struct error *err)
{
    (void)sample;
    (void)err;
    struct numbering *n = context;
    *made = count;
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i] < 0 ? 0 : (float)n->number[(size_t)from[i]];
        n->t->others += to[i] > 0 && to[i] <= (float)n->named;
    }
    return STATUS_OK;
}

static enum status warn_of_texts(const struct text_builder *t, struct error *err)
{
    struct collection *c = t->b->c;
    enum status status =
        t->cut == 0
            ? STATUS_OK
            : collection_warn(c, err, "texts-cut", "%" PRId64 " of %" PRId64 " texts were cut to their first %d words",
                              t->cut, c->count, c->wording.cut);
    if (status || t->empty == 0)
        return status;
    return collection_warn(c, err, "empty-texts", "%" PRId64 " of %" PRId64 " texts have no words", t->empty, c->count);
}

/* Separates the words of lists by blanks, which are easier to write in a query. */
static void put_blanks(struct collection *c)
{
    c->wording.words = WORDS_BLANKS;
    for (int i = 0; i < c->texts.count; i++)
        for (char *at = c->texts.name[i]; (at = strchr(at, '\t')) != NULL;)
            *at = ' ';
}

enum status text_build_finish(struct text_builder *t, struct error *err)
{
    static const char *const places[] = {"Unicode word boundaries", "blanks", "tabs"};
    struct collection *c = t->b->c;
    if (t->given && !t->blanks)
        put_blanks(c);
    struct lexicon lexicon = {.wording = c->wording, .entries.most = t->seen.most};
    int32_t *number = malloc(((size_t)t->seen.names.count + 1) * sizeof *number);
    enum status status = number ? choose_words(t, &lexicon, err) : error_memory(err, "words");
    if (!status) {
        struct numbering n = {t, number, 1 + c->wording.buckets};
        number[0] = 1;
        for (int i = 0; i < t->seen.names.count; i++)
            number[i + 1] = lexicon_number(&lexicon, t->seen.names.name[i], strlen(t->seen.names.name[i]));
        status = value_store_shorten(&t->b->store, c->start, c->count, renumber, &n, err);
    }
    free(number);
    if (!status)
        (void)snprintf(c->recognised.words, sizeof c->recognised.words,
                       "%" PRId64 " words, %s %s, %s; vocabulary of %d words, %.1f %% other; longest text %d words",
                       t->total,
                       t->order   ? t->order
                       : t->given ? "as given, separated by"
                                  : "split at",
                       places[c->wording.words], c->wording.keep_case ? "case kept" : "in lower case",
                       lexicon.entries.names.count - 1 - c->wording.buckets,
                       t->total > 0 ? 100 * (double)t->others / (double)t->total : 0, c->cols);
    if (!status) {
        c->words = lexicon.entries.names; /* from here on, the collection owns the names */
        lexicon.entries.names = (struct collection_names){0};
        status = warn_of_texts(t, err);
    }
    lexicon_close(&lexicon);
    return status;
}
