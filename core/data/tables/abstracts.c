/* Counts the words of documents in two tables: a table of all words, in which a hash finds a word, and for each
 * document the words that it contains. When the matrix is made, a plural whose singular occurs counts as the
 * singular. */
#include "core/data/tables/abstracts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/delimited.h"

enum { NOTHING = -1, LATIN = 128, WORDS_MOST = 1 << 24 };

/* Sorted for bsearch(). */
static const char *const stop_words[] = {
    "a",       "about",     "above",      "after",   "again",   "against", "all",    "also",     "am",
    "an",      "and",       "any",        "are",     "as",      "at",      "be",     "because",  "been",
    "before",  "being",     "below",      "between", "both",    "but",     "by",     "can",      "d",
    "did",     "do",        "does",       "doing",   "don",     "down",    "during", "each",     "few",
    "for",     "from",      "further",    "had",     "has",     "have",    "having", "he",       "her",
    "here",    "hers",      "herself",    "him",     "himself", "his",     "how",    "i",        "if",
    "in",      "into",      "is",         "it",      "its",     "itself",  "just",   "ll",       "m",
    "me",      "more",      "most",       "my",      "myself",  "no",      "nor",    "not",      "now",
    "o",       "of",        "off",        "on",      "once",    "only",    "or",     "other",    "our",
    "ours",    "ourselves", "out",        "over",    "own",     "re",      "s",      "same",     "she",
    "should",  "so",        "some",       "such",    "t",       "than",    "that",   "the",      "their",
    "theirs",  "them",      "themselves", "then",    "there",   "these",   "they",   "this",     "those",
    "through", "to",        "too",        "under",   "until",   "up",      "ve",     "very",     "was",
    "we",      "were",      "what",       "when",    "where",   "which",   "while",  "who",      "whom",
    "why",     "will",      "with",       "y",       "you",     "your",    "yours",  "yourself", "yourselves",
};

struct word {
    char letters[WORD_BYTES];
    int64_t count, documents;
    int last;   /* last document that contains the word */
    int stands; /* index of the word in whose column this word is counted: its singular, or itself */
    int column;
};

struct corpus {
    struct word *words;
    int *table, table_size; /* table: hash table with open addressing: indices of words; NOTHING: the entry is free;
                               table_size: its length */
    int word_count, word_room;
    int *tokens; /* the words of all documents, document after document */
    size_t token_count, token_room;
    size_t *starts; /* [documents + 1] index of each document's first word in `tokens` */
    char **titles;  /* [document_room] NULL where a document has no title */
    int documents, document_room;
    struct thread_pool *pool; /* reading ends when the pool is stopped; NULL: reading cannot be stopped */
};

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for documents");
}

/* ---- words ------------------------------------------------------------------------------------------ */

static unsigned hash_of(const char *letters)
{
    unsigned hash = 2166136261u;
    for (; *letters; letters++)
        hash = (hash ^ (unsigned char)*letters) * 16777619u;
    return hash;
}

/* Index of the hash table entry that contains the word, or of the free entry (NOTHING) for it. */
static int *place_of(const struct corpus *c, const char *letters)
{
    unsigned at = hash_of(letters) % (unsigned)c->table_size;
    while (c->table[at] != NOTHING && strcmp(c->words[c->table[at]].letters, letters) != 0)
        at = (at + 1) % (unsigned)c->table_size;
    return &c->table[at];
}

static enum status grow_words(struct corpus *c, struct error *err)
{
    int room = c->word_room ? 2 * c->word_room : 8192;
    struct word *words = room < WORDS_MOST ? realloc(c->words, (size_t)room * sizeof *words) : NULL;
    int *table = words ? malloc(2 * (size_t)room * sizeof *table) : NULL;
    if (words)
        c->words = words;
    if (!table)
        return no_memory(err);
    free(c->table);
    c->table = table;
    c->table_size = 2 * room;
    c->word_room = room;
    for (int i = 0; i < c->table_size; i++)
        table[i] = NOTHING;
    for (int i = 0; i < c->word_count; i++)
        *place_of(c, c->words[i].letters) = i;
    return STATUS_OK;
}

static int by_letters(const void *key, const void *entry)
{
    return strcmp(key, *(const char *const *)entry);
}

static bool stops(const char *letters)
{
    return bsearch(letters, stop_words, sizeof stop_words / sizeof stop_words[0], sizeof stop_words[0], by_letters) !=
           NULL;
}

static enum status add_token(struct corpus *c, const char *letters, struct error *err)
{
    if (stops(letters))
        return STATUS_OK;
    enum status status = c->word_count == c->word_room ? grow_words(c, err) : STATUS_OK;
    if (status)
        return status;
    int *place = place_of(c, letters);
    if (*place == NOTHING) {
        *place = c->word_count;
        c->words[c->word_count] = (struct word){.stands = c->word_count, .column = NOTHING, .last = NOTHING};
        memcpy(c->words[c->word_count++].letters, letters, strlen(letters) + 1);
    }
    if (c->token_count == c->token_room) {
        size_t room = c->token_room ? 2 * c->token_room : 65536;
        int *tokens = realloc(c->tokens, room * sizeof *tokens);
        if (!tokens)
            return no_memory(err);
        c->tokens = tokens;
        c->token_room = room;
    }
    c->tokens[c->token_count++] = *place;
    return STATUS_OK;
}

static enum status end_document(struct corpus *c, struct error *err)
{
    if (c->documents + 2 > c->document_room) {
        int room = c->document_room ? 2 * c->document_room : 1024;
        size_t *starts = realloc(c->starts, (size_t)room * sizeof *starts);
        if (!starts)
            return no_memory(err);
        c->starts = starts;
        char **titles = realloc(c->titles, (size_t)room * sizeof *titles);
        if (!titles)
            return no_memory(err);
        c->titles = titles;
        c->document_room = room;
    }
    c->titles[c->documents] = NULL;
    c->starts[0] = 0;
    c->starts[++c->documents] = c->token_count;
    return STATUS_OK;
}

static bool white(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static enum status add_document(struct corpus *c, const char *text, struct error *err)
{
    enum status status = STATUS_OK;
    while (!status && *text) {
        while (white((unsigned char)*text))
            text++;
        const char *from = text, *to;
        while (*text && !white((unsigned char)*text))
            text++;
        for (to = text; from < to && (unsigned char)*from < LATIN && !isalnum((unsigned char)*from);)
            from++;
        while (from < to && (unsigned char)to[-1] < LATIN && !isalnum((unsigned char)to[-1]))
            to--;
        char letters[WORD_BYTES];
        size_t length = (size_t)(to - from), i = 0;
        for (; length < WORD_BYTES && i < length && (unsigned char)from[i] < LATIN && isalpha((unsigned char)from[i]);
             i++)
            letters[i] = (char)tolower((unsigned char)from[i]);
        if (length == 0 || i < length)
            continue;
        letters[i] = '\0';
        status = add_token(c, letters, err);
    }
    return status ? status : end_document(c, err);
}

/* Sets the title of the last document. */
static enum status add_title(struct corpus *c, const char *title, struct error *err)
{
    c->titles[c->documents - 1] = strdup(title);
    return c->titles[c->documents - 1] ? STATUS_OK : no_memory(err);
}

/* ---- plurals ---------------------------------------------------------------------------------------- */

static bool ends(const char *word, const char *with)
{
    size_t length = strlen(word), tail = strlen(with);
    return length > tail + 1 && strcmp(word + length - tail, with) == 0;
}

static void exchange(const char *word, const char *old, const char *with, char out[WORD_BYTES])
{
    size_t keep = strlen(word) - strlen(old);
    memcpy(out, word, keep);
    memcpy(out + keep, with, strlen(with) + 1);
}

void abstracts_singular(const char *word, char first[WORD_BYTES], char second[WORD_BYTES])
{
    static const char *const rules[][2] = {{"ies", "y"}, {"ves", "f"}, {"ches", "ch"}, {"shes", "sh"},
                                           {"xes", "x"}, {"zes", "z"}, {"ses", "s"},   {"men", "man"}};
    first[0] = second[0] = '\0';
    if (ends(word, "s") && !ends(word, "ss") && !ends(word, "us") && !ends(word, "is"))
        exchange(word, "s", "", first);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (ends(word, rules[i][0])) {
            exchange(word, rules[i][0], rules[i][1], second);
            return;
        }
}

/* Finds the singular of each word. If a word has two possible singulars, takes the first one that abstracts_singular()
 * lists, or the second one if the first does not occur in the data. */
static void find_plurals(struct corpus *c)
{
    for (int i = 0; i < c->word_count; i++) {
        char forms[2][WORD_BYTES];
        abstracts_singular(c->words[i].letters, forms[0], forms[1]);
        for (int f = 0; f < 2 && c->words[i].stands == i; f++)
            if (forms[f][0] && *place_of(c, forms[f]) != NOTHING)
                c->words[i].stands = *place_of(c, forms[f]);
    }
}

/* ---- matrix ----------------------------------------------------------------------------------------- */

static int by_frequency(const void *a, const void *b)
{
    const struct word *const *x = a, *const *y = b;
    if ((*x)->count != (*y)->count)
        return ((*x)->count < (*y)->count) - ((*x)->count > (*y)->count);
    return strcmp((*x)->letters, (*y)->letters);
}

static int stands_for(const struct corpus *c, int word)
{
    return c->words[word].stands;
}

static void count_words(struct corpus *c)
{
    for (int d = 0; d < c->documents && !thread_pool_stopped(c->pool); d++)
        for (size_t t = c->starts[d]; t < c->starts[d + 1]; t++) {
            struct word *w = &c->words[stands_for(c, c->tokens[t])];
            w->count++;
            w->documents += w->last != d;
            w->last = d;
        }
}

/* Chooses the words that stay, most frequent first, as columns. Returns their number; -1: no memory. */
static int choose_words(struct corpus *c, const struct abstracts_filter *filter)
{
    struct word **list = malloc((size_t)(c->word_count + 1) * sizeof *list);
    int count = 0;
    if (!list)
        return -1;
    for (int i = 0; i < c->word_count; i++) {
        double share = (double)c->words[i].documents / c->documents;
        if (c->words[i].count && share <= filter->most && share >= filter->least)
            list[count++] = &c->words[i];
    }
    qsort(list, (size_t)count, sizeof *list, by_frequency);
    count = count < filter->words ? count : filter->words;
    for (int i = 0; i < count; i++)
        list[i]->column = i;
    free(list);
    return count;
}

static size_t tokens_kept(const struct corpus *c, int d)
{
    size_t kept = 0;
    for (size_t t = c->starts[d]; t < c->starts[d + 1]; t++)
        kept += c->words[stands_for(c, c->tokens[t])].column != NOTHING;
    return kept;
}

/* Makes the matrix and moves the titles of the documents that stay into it. */
static enum status make_matrix(struct corpus *c, int columns, struct features **features, struct error *err)
{
    int rows = 0, row = 0;
    for (int d = 0; d < c->documents; d++)
        rows += tokens_kept(c, d) > 1;
    if (rows < 2 || columns < 2)
        return error_set(
            err, STATUS_INVALID, NULL,
            "too little is left after the filter: %d documents, %d words; there must be at least 2 of each", rows,
            columns);
    enum status status = features_create(rows, columns, 0, features, err);
    if (status)
        return status;
    (*features)->titles = calloc((size_t)rows, sizeof *(*features)->titles);
    if (!(*features)->titles)
        return no_memory(err);
    for (int d = 0; d < c->documents && !thread_pool_stopped(c->pool); d++) {
        if (tokens_kept(c, d) <= 1)
            continue;
        (*features)->titles[row] = c->titles[d];
        c->titles[d] = NULL;
        for (size_t t = c->starts[d]; t < c->starts[d + 1]; t++) {
            int column = c->words[stands_for(c, c->tokens[t])].column;
            if (column != NOTHING)
                (*features)->x[(ptrdiff_t)row * columns + column]++;
        }
        row++;
    }
    (*features)->names = calloc((size_t)columns, sizeof *(*features)->names);
    for (int i = 0; i < c->word_count && (*features)->names; i++)
        if (c->words[i].column != NOTHING && !((*features)->names[c->words[i].column] = strdup(c->words[i].letters)))
            return no_memory(err);
    return (*features)->names ? STATUS_OK : no_memory(err);
}

/* ---- files ------------------------------------------------------------------------------------------ */

static int hex(const char *at)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int c = tolower((unsigned char)at[i]);
        if (!isxdigit(c))
            return -1;
        value = 16 * value + (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return value;
}

static char *put_utf8(char *to, int code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else { /* Surrogates are not joined: only the letters a to z are counted, and these are never surrogates. */
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Unescapes a JSON string. from: the character after the opening quote. *end becomes the character after the closing
 * quote, or NULL if there is no closing quote. Returns the length of the result. */
static int64_t unescape(const char *from, char *out, const char **end)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char *to = out;
    *end = NULL;
    while (*from && *from != '"') {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        const char *name = from[1] ? strchr(names, from[1]) : NULL;
        int code = from[1] == 'u' ? hex(from + 2) : -1;
        if (!name && code < 0)
            return 0;
        if (name)
            *to++ = values[name - names];
        else
            to = put_utf8(to, code ? code : ' ');
        from += name ? 2 : 6;
    }
    *to = '\0';
    *end = *from ? from + 1 : NULL;
    return to - out;
}

static const char *skip_white(const char *at)
{
    while (white((unsigned char)*at))
        at++;
    return at;
}

int64_t abstracts_json_text(const char *line, const char *key, char *out)
{
    const char *at = skip_white(line), *end;
    int depth = 0;
    bool is_key = true;
    if (*at != '{')
        return -1;
    for (; *at; at++) {
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        is_key = *at == ',' || *at == '{' ? true : *at == ':' ? false : is_key;
        if (*at != '"')
            continue;
        unescape(at + 1, out, &end);
        if (!end)
            return -1;
        const char *colon = skip_white(end);
        if (depth == 1 && is_key && strcmp(out, key) == 0 && *colon == ':') {
            colon = skip_white(colon + 1);
            int64_t length = *colon == '"' ? unescape(colon + 1, out, &end) : -1;
            return end ? length : -1;
        }
        at = end - 1;
    }
    return -1;
}

static enum status read_lines(struct corpus *c, const char *folder, struct error *err)
{
    struct delimited d; /* reads lines: no file contains its separator, so each line is one field */
    bool more = true;
    char *text = NULL;
    size_t room = 0;
    enum status status = delimited_open(&d, folder, "abstracts.jsonl", '\1', c->pool, err);
    while (!status && more) {
        status = delimited_raw(&d, &more, err);
        if (status || !more)
            break;
        size_t need = strlen(d.line) + 1;
        if (need > room) {
            free(text);
            text = malloc(room = 2 * need);
        }
        if (!text)
            status = no_memory(err);
        else if (abstracts_json_text(d.line, "abstract", text) < 0)
            status = error_set(err, STATUS_INVALID, NULL,
                               "line %ld of abstracts.jsonl is not a JSON object with a text \"abstract\"", d.number);
        else
            status = add_document(c, text, err);
        if (!status && abstracts_json_text(d.line, "title", text) > 0)
            status = add_title(c, text, err);
    }
    free(text);
    delimited_close(&d);
    return status;
}

static enum status read_table(struct corpus *c, const char *folder, struct error *err)
{
    struct delimited d;
    bool more = true;
    enum status status = delimited_open(&d, folder, "abstracts.csv", 0, c->pool, err);
    if (!status)
        status = delimited_next(&d, &more, err);
    int column = status ? -1 : delimited_find(&d, "abstract_text");
    column = column < 0 && !status ? delimited_find(&d, "abstract") : column;
    int title = status ? -1 : delimited_find(&d, "title");
    if (!status && column < 0)
        status = error_set(err, STATUS_INVALID, NULL,
                           "abstracts.csv has no column abstract or abstract_text; it needs one of them");
    while (!status && more) {
        status = delimited_next(&d, &more, err);
        if (!status && more && (size_t)column < d.count)
            status = add_document(c, d.fields[column], err);
        if (!status && more && (size_t)column < d.count && title >= 0 && (size_t)title < d.count)
            status = add_title(c, d.fields[title], err);
    }
    delimited_close(&d);
    return status;
}

static enum status from_text(const char *folder, const struct abstracts_filter *filter, bool lines,
                             struct features **features, struct error *err)
{
    struct corpus c = {.pool = filter->pool};
    enum status status = grow_words(&c, err);
    if (!status)
        status = lines ? read_lines(&c, folder, err) : read_table(&c, folder, err);
    if (!status) {
        find_plurals(&c);
        count_words(&c);
        int columns = choose_words(&c, filter);
        status = columns < 0 ? no_memory(err) : thread_pool_check(c.pool, err);
        if (!status)
            status = make_matrix(&c, columns, features, err);
        if (!status)
            status = thread_pool_check(c.pool, err);
    }
    free(c.words);
    free(c.table);
    free(c.tokens);
    free(c.starts);
    for (int d = 0; c.titles && d < c.documents; d++)
        free(c.titles[d]);
    free(c.titles);
    return status;
}

/* ---- counts of words -------------------------------------------------------------------------------------- */

/* Reads the first three lines of docword.txt: the numbers of documents, of words and of the following lines. The number
 * of following lines is not used. */
static enum status read_sizes(struct delimited *d, int *documents, int *words, struct error *err)
{
    double size[3] = {0};
    for (int i = 0; i < 3; i++) {
        bool more = false;
        enum status status = delimited_next(d, &more, err);
        if (!status && !more)
            status = error_set(err, STATUS_INVALID, NULL,
                               "docword.txt ends before its third line; lines 1 to 3 hold the numbers of documents, "
                               "words and triples");
        if (!status)
            status = delimited_number(d, 0, &size[i], err);
        if (status)
            return status;
    }
    if (!(size[0] >= 2 && size[0] <= 1e7 && size[1] >= 2 && size[1] <= 1e5 && size[0] * size[1] <= 1e9))
        return error_set(err, STATUS_INVALID, NULL,
                         "docword.txt counts %g documents and %g words; allowed are 2 to 10000000 documents, 2 to "
                         "100000 words and a product of at most 1000000000",
                         size[0], size[1]);
    *documents = (int)size[0];
    *words = (int)size[1];
    return STATUS_OK;
}

/* Reads the other lines: the index of a document (from 1), the index of a word (from 1), and how often the document
 * contains the word. */
static enum status read_triples(struct delimited *d, struct features *f, struct error *err)
{
    for (;;) {
        bool more = false;
        double triple[3] = {0};
        enum status status = delimited_next(d, &more, err);
        if (status || !more)
            return status;
        for (size_t i = 0; !status && i < 3; i++)
            status = delimited_number(d, i, &triple[i], err);
        if (!status && !(triple[0] >= 1 && triple[0] <= f->rows && triple[1] >= 1 && triple[1] <= f->columns))
            status = error_set(err, STATUS_INVALID, NULL,
                               "line %ld of docword.txt: document %g, word %g; the file declares %d documents and %d "
                               "words, numbered from 1",
                               d->number, triple[0], triple[1], f->rows, f->columns);
        if (status)
            return status;
        f->x[((ptrdiff_t)triple[0] - 1) * f->columns + (ptrdiff_t)triple[1] - 1] = (float)triple[2];
    }
}

/* Reads docword.txt. *features may be set when this fails; the caller destroys it. */
static enum status read_docwords(const char *folder, struct thread_pool *pool, struct features **features,
                                 struct error *err)
{
    struct delimited d;
    int documents = 0, words = 0;
    enum status status = delimited_open(&d, folder, "docword.txt", ' ', pool, err);
    if (!status)
        status = read_sizes(&d, &documents, &words, err);
    if (!status)
        status = features_create(documents, words, 0, features, err);
    if (!status)
        status = read_triples(&d, *features, err);
    delimited_close(&d);
    return status;
}

/* vocab.txt has one word a line; the n-th line is word n. */
static enum status read_vocabulary(const char *folder, struct thread_pool *pool, struct features *f, struct error *err)
{
    struct delimited d;
    enum status status = delimited_open(&d, folder, "vocab.txt", '\t', pool, err);
    if (!status && !(f->names = calloc((size_t)f->columns, sizeof *f->names)))
        status = no_memory(err);
    for (int j = 0; !status && j < f->columns; j++) {
        bool more = false;
        status = delimited_next(&d, &more, err);
        if (!status && !more)
            status = error_set(err, STATUS_INVALID, NULL,
                               "vocab.txt has %d words, but docword.txt declares %d on its second line", j, f->columns);
        if (!status && !(f->names[j] = strdup(d.fields[0])))
            status = no_memory(err);
    }
    delimited_close(&d);
    return status;
}

static enum status from_counts(const char *folder, struct thread_pool *pool, struct features **features,
                               struct error *err)
{
    enum status status = read_docwords(folder, pool, features, err);
    return status ? status : read_vocabulary(folder, pool, *features, err);
}

enum status abstracts_load(const char *folder, const struct abstracts_filter *filter, struct features **features,
                           struct error *err)
{
    struct features *made = NULL;
    struct error none = {0};
    enum status status = from_text(folder, filter, true, &made, &none);
    if (status == STATUS_NOT_FOUND) {
        error_clear(&none);
        status = from_text(folder, filter, false, &made, &none);
    }
    if (status == STATUS_NOT_FOUND) {
        error_clear(&none);
        status = from_counts(folder, filter->pool, &made, &none);
        if (status == STATUS_NOT_FOUND) {
            error_clear(&none);
            (void)error_set(&none, status, NULL,
                            "the data set has no abstracts.jsonl, abstracts.csv or docword.txt; it needs one of them");
        }
    }
    if (status) {
        features_destroy(made);
        return error_set(err, status, NULL, "%s", none.message);
    }
    *features = made;
    return STATUS_OK;
}
