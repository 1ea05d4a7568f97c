/* Decides how the texts of labels are read, and reads them (label_texts.h). The decision needs all texts of a file, so
 * readers add texts (builder_label), and this file reads them at the end. */
#include "core/data/uploads/labels/label_texts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/formats/text_lines.h"

static const char BLANKS[] = " ";

struct label_form {
    enum { LABEL_NAME, LABEL_WORDS, LABEL_LIST, LABEL_NOTHING } how;
    const char *separator; /* of words; BLANKS: any blanks */
    bool set;
};

static bool same_form(const struct label_form *a, const struct label_form *b)
{
    return a->how == b->how && a->set == b->set && strcmp(a->separator, b->separator) == 0;
}

/* ---- parts of a text --------------------------------------------------------------------------------------- */

/* Removes the brackets of a list: ["a", "b"] in JSON, ['a', 'b'] and {'a', 'b'} as Python writes them, and
 * {"choices": ["a", "b"]} of labelling programs, and {a,b} of PostgreSQL. False: the text has no such brackets. */
static bool open_list(struct plain_line text, struct plain_line *items)
{
    text = plain_trimmed(text);
    const char *inner = text.size > 0 && text.at[0] == '{' ? memchr(text.at, '[', text.size) : NULL;
    bool closed = text.size > 1 && ((text.at[0] == '[' && text.at[text.size - 1] == ']') ||
                                    (text.at[0] == '{' && text.at[text.size - 1] == '}'));
    if (!closed || (inner && text.at[text.size - 2] != ']'))
        return false;
    const char *begin = inner ? inner + 1 : text.at + 1, *end = text.at + text.size - (inner ? 2 : 1);
    *items = (struct plain_line){begin, (size_t)(end - begin)};
    return begin <= end;
}

/* The code point of an escape \uXXXX, of which `at` is the first digit. */
static uint32_t escaped(const char *at)
{
    char digits[5];
    memcpy(digits, at, 4);
    digits[4] = '\0';
    return (uint32_t)strtoul(digits, NULL, 16);
}

/* Reads a text in quotation marks from the beginning of `rest`. */
static bool quoted(struct plain_line *rest, char out[NAME_BYTES], size_t *bytes)
{
    char quote = rest->at[0];
    size_t at = 1, used = 0;
    while (at < rest->size && rest->at[at] != quote && used + 4 < NAME_BYTES) {
        bool escape = rest->at[at] == '\\' && at + 1 < rest->size;
        if (escape && rest->at[at + 1] == 'u' && at + 5 < rest->size) {
            uint32_t code = escaped(rest->at + at + 2), low = 0;
            if (code >> 10 == 0xD800 >> 10 && at + 11 < rest->size && memcmp(rest->at + at + 6, "\\u", 2) == 0) {
                low = escaped(rest->at + at + 8); /* a character beyond 16 bits is two escapes */
                at += 6;
            }
            if (code >> 11 == 0xD800 >> 11 && low >> 10 != 0xDC00 >> 10)
                return false;
            code = low > 0 ? 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF)) : code;
            used += utf8_write(code, out + used);
            at += 6;
            continue;
        }
        if (escape && !strchr("\"'\\/", rest->at[at + 1]))
            return false;
        at += escape;
        out[used++] = rest->at[at++];
    }
    if (at >= rest->size || rest->at[at] != quote)
        return false;
    *rest = (struct plain_line){rest->at + at + 1, rest->size - at - 1};
    *bytes = used;
    return true;
}

/* Removes the next item of a list: a text in quotation marks, or a text without quotation marks and brackets. *good
 * becomes false if it is neither. False: there is none. */
static bool next_item(struct plain_line *rest, char out[NAME_BYTES], size_t *bytes, bool *good)
{
    *rest = plain_trimmed(*rest);
    if (rest->size == 0)
        return false;
    if (strchr("\"'", rest->at[0])) {
        *good = quoted(rest, out, bytes) && utf8_valid(out, *bytes) && !memchr(out, '\0', *bytes);
    } else {
        const char *comma = memchr(rest->at, ',', rest->size);
        size_t size = comma ? (size_t)(comma - rest->at) : rest->size;
        struct plain_line word = plain_trimmed((struct plain_line){rest->at, size});
        *good = word.size > 0 && word.size < NAME_BYTES;
        for (size_t i = 0; i < word.size; i++)
            *good = *good && !strchr("\"'[]{}", word.at[i]);
        if (*good)
            memcpy(out, word.at, *bytes = word.size);
        *rest = (struct plain_line){rest->at + size, rest->size - size};
    }
    *rest = plain_trimmed(*rest);
    *good = *good && (rest->size == 0 || rest->at[0] == ',');
    if (*good && rest->size > 0)
        *rest = (struct plain_line){rest->at + 1, rest->size - 1};
    return *good;
}

static bool is_list(struct plain_line text)
{
    char item[NAME_BYTES];
    size_t bytes;
    bool good = true;
    struct plain_line items;
    if (!open_list(text, &items))
        return false;
    while (next_item(&items, item, &bytes, &good))
        continue;
    return good;
}

/* Removes the next part between separators that is not empty. False: there is none. */
static bool next_between(struct plain_line *rest, const char *separator, struct plain_line *part)
{
    if (separator == BLANKS)
        return plain_word(rest, part);
    while (rest->size > 0) {
        const char *end = memmem(rest->at, rest->size, separator, strlen(separator));
        size_t size = end ? (size_t)(end - rest->at) : rest->size, skip = end ? size + strlen(separator) : size;
        *part = plain_trimmed((struct plain_line){rest->at, size});
        *rest = (struct plain_line){rest->at + skip, rest->size - skip};
        if (part->size > 0)
            return true;
    }
    return false;
}

/* ---- what the texts have in common ------------------------------------------------------------------------- */

/* What was seen in all different texts. */
struct seen {
    struct name_list texts, words, orders; /* orders: the sorted words of each text of several words */
    int32_t *uses;                         /* [words] number of texts that contain the word */
    int64_t uses_room, longs;              /* longs: texts that are too long for a name */
    int64_t lists, quoted;                 /* texts that are lists; of these, those with quotation marks */
    int64_t several, described, marked, separated[3];
    bool recurs;   /* a word occurs twice in a text, or the same words occur in another order */
    bool plain;    /* in texts of several words, all words are numbers or single characters */
    bool together; /* the words of a text of several words occur in no other text */
    char example[48], separated_example[48];
};
static const char *const separators[] = {"|", ";", ","}; /* in the order of preference */
enum { SEPARATORS = 3, WORDS_MOST = 64 };

static int by_bytes(const void *a, const void *b)
{
    const struct plain_line *x = a, *y = b;
    int order = memcmp(x->at, y->at, x->size < y->size ? x->size : y->size);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static bool simple(struct plain_line word)
{
    return utf8_char(word.at, word.size) == word.size || isfinite(plain_number(word));
}

/* Notes the words of a text of several words. word: its first words, at most WORDS_MOST. */
static enum status note_order(struct seen *s, struct plain_line *word, int count, struct error *err)
{
    char sorted[NAME_BYTES];
    size_t used = 0;
    int32_t number, before = s->orders.names.count;
    qsort(word, (size_t)count, sizeof *word, by_bytes);
    for (int i = 0; i < count; i++) {
        s->recurs = s->recurs || (i > 0 && by_bytes(&word[i], &word[i - 1]) == 0);
        s->plain = s->plain && simple(word[i]);
        if (used + word[i].size + 1 >= sizeof sorted)
            continue;
        memcpy(sorted + used, word[i].at, word[i].size);
        used += word[i].size;
        sorted[used++] = ' ';
    }
    enum status status = name_list_add(&s->orders, sorted, used, &number, err);
    s->recurs = s->recurs || number < before;
    return status;
}

static enum status count_word(struct seen *s, struct plain_line word, struct error *err)
{
    int32_t number;
    enum status status =
        word.size < NAME_BYTES ? name_list_add(&s->words, word.at, word.size, &number, err) : STATUS_OK;
    if (status || word.size >= NAME_BYTES)
        return status;
    if (number >= s->uses_room) {
        int64_t room = 2 * (int64_t)number + 64;
        int32_t *larger = realloc(s->uses, (size_t)room * sizeof *larger);
        if (!larger)
            return error_memory(err, "labels");
        memset(larger + s->uses_room, 0, (size_t)(room - s->uses_room) * sizeof *larger);
        s->uses = larger;
        s->uses_room = room;
    }
    s->uses[number]++;
    return STATUS_OK;
}

static void show(char out[48], struct plain_line text)
{
    size_t bytes = utf8_cut(text.at, text.size, 40);
    (void)snprintf(out, 48, "%.*s%s", (int)bytes, text.at, bytes < text.size ? "..." : "");
}

static enum status note_text(struct seen *s, struct plain_line text, struct error *err)
{
    struct plain_line word[WORDS_MOST], rest = text, next;
    int count = 0;
    bool mark = false, separated = false;
    enum status status = STATUS_OK;
    bool list = is_list(text);
    s->lists += list;
    s->quoted += list && (memchr(text.at, '"', text.size) || memchr(text.at, '\'', text.size));
    for (int i = 0; i < SEPARATORS; i++) {
        bool there = memchr(text.at, separators[i][0], text.size) != NULL;
        s->separated[i] += there;
        separated = separated || there;
    }
    if (separated && s->separated_example[0] == '\0')
        show(s->separated_example, text);
    while (!status && plain_word(&rest, &next)) {
        const char *sign =
            memchr(next.at, ':', next.size) ? memchr(next.at, ':', next.size) : memchr(next.at, '=', next.size);
        mark = mark || (sign && sign > next.at && sign < next.at + next.size - 1);
        status = count_word(s, next, err);
        if (count < WORDS_MOST)
            word[count++] = next;
    }
    s->marked += mark;
    s->described += count > 2;
    if (status || count < 2)
        return status;
    if (s->several++ == 0)
        show(s->example, text);
    return note_order(s, word, count, err);
}

/* Notes whether the words of some text of several words occur in no other text. */
static void note_company(struct seen *s)
{
    for (int i = 0; i < s->texts.names.count; i++) {
        struct plain_line rest = {s->texts.names.name[i], strlen(s->texts.names.name[i])}, word;
        int words = 0, alone = 0;
        while (plain_word(&rest, &word)) {
            int32_t number = name_list_find(&s->words, word.at, word.size);
            words++;
            alone += number >= 0 && s->uses[number] == 1;
        }
        s->together = s->together || (words > 1 && alone == words);
        s->recurs = s->recurs || (words == 1 && alone == 0); /* a label of its own is a word of a longer one */
    }
}

static enum status look(const struct builder *b, struct seen *s, struct error *err)
{
    enum status status = STATUS_OK;
    *s = (struct seen){.plain = true};
    s->texts.most = s->words.most = s->orders.most = (int)b->limits.samples + (1 << 20);
    for (int64_t i = 0; !status && i < b->texts_count; i++) {
        const struct label_text *t = &b->texts[i];
        int32_t number = -1, before = s->texts.names.count;
        struct plain_line text = {b->text + t->at, t->bytes};
        if (t->bytes >= NAME_BYTES)
            s->longs++;
        else
            status = name_list_add(&s->texts, text.at, text.size, &number, err);
        if (!status && (t->bytes >= NAME_BYTES || number == before))
            status = note_text(s, text, err);
    }
    if (s->example[0] == '\0' && b->texts_count > 0)
        show(s->example, (struct plain_line){b->text + b->texts[0].at, b->texts[0].bytes});
    if (!status)
        note_company(s);
    return status;
}

static void seen_close(struct seen *s)
{
    name_list_close(&s->texts);
    name_list_close(&s->words);
    name_list_close(&s->orders);
    free(s->uses);
}

static int64_t different(const struct seen *s)
{
    return s->texts.names.count + s->longs;
}

static bool words_recur(const struct seen *s)
{
    return s->longs > 0 || s->plain || s->recurs || different(s) > s->words.names.count;
}

/* Whether the texts are descriptions, as NCBI, Ensembl and UniProt write them into headers: nearly each differs, and
 * most have several words that do not recur, or words such as gene:ENSG01 and OS=Human. */
static bool descriptions(const struct builder *b, const struct seen *s)
{
    bool differ = 2 * different(s) > b->texts_count,
         prose = 2 * s->described > different(s) && !s->plain && different(s) <= s->words.names.count;
    return b->headers && differ && (prose || 2 * s->marked > different(s));
}

/* ---- the decision ------------------------------------------------------------------------------------------ */

static const char *separator_in(const struct seen *s)
{
    for (int i = 0; i < SEPARATORS; i++)
        if (s->separated[i] > 0)
            return separators[i];
    return BLANKS;
}

static struct label_form decide(const struct builder *b, const struct seen *s, enum collection_target wanted,
                                const char *stated)
{
    bool set = wanted == TARGET_LABELS, many = set || wanted == TARGET_COUNT;
    if (wanted == TARGET_CLASS)
        return (struct label_form){LABEL_NAME, BLANKS, false};
    if (strcmp(stated, "none") == 0)
        return (struct label_form){LABEL_NAME, BLANKS, set};
    if (stated[0] != '\0')
        return (struct label_form){LABEL_WORDS, stated[0] == ' ' || strcmp(stated, "blank") == 0 ? BLANKS : stated,
                                   set || wanted == TARGET_NONE};
    if (s->lists > 0 && (s->lists == different(s) || s->quoted > 0 || many)) /* a plain text is a list of one name */
        return (struct label_form){LABEL_LIST, BLANKS, set || wanted == TARGET_NONE};
    if (many || wanted == TARGET_SEQUENCE)
        return (struct label_form){LABEL_WORDS, many ? separator_in(s) : BLANKS, set};
    if (s->several == 0 || b->cells)
        return (struct label_form){descriptions(b, s) && !b->cells ? LABEL_NOTHING : LABEL_NAME, BLANKS, false};
    return (struct label_form){descriptions(b, s) ? LABEL_NOTHING
                               : words_recur(s)   ? LABEL_WORDS
                                                  : LABEL_NAME,
                               BLANKS, false};
}

static enum status check_separator(const char *separator, struct error *err)
{
    size_t bytes = strlen(separator);
    bool good = bytes == 0 || strcmp(separator, "none") == 0 || strcmp(separator, "blank") == 0 ||
                utf8_char(separator, bytes) == bytes;
    return good ? STATUS_OK
                : error_set(err, STATUS_INVALID, NULL,
                            "separator '%s' must be one character, `blank`, or `none` (each label is one name)",
                            separator);
}

/* ---- warnings ---------------------------------------------------------------------------------------------- */

/* Finds a name with a separator whose parts are names as well, or that has a separator that names seldom contain. */
static const char *several_names(const struct seen *s)
{
    for (int i = 0; i < s->texts.names.count; i++)
        for (int k = 0; k < SEPARATORS; k++) {
            const char *text = s->texts.names.name[i];
            struct plain_line rest = {text, strlen(text)}, part;
            int parts = 0, names = 0;
            while (next_between(&rest, separators[k], &part)) {
                parts++;
                names += name_list_find(&s->texts, part.at, part.size) >= 0;
            }
            if (parts > 1 && (k == 0 || names > 0))
                return text;
        }
    return NULL;
}

static enum status warn_of_name(const struct builder *b, const struct seen *s, bool set, struct error *err)
{
    const char *several = set ? NULL : several_names(s);
    if (several)
        return collection_warn(b->c, err, "several-names",
                               "labels such as '%.40s' are perhaps several names, but were read as one; sets: "
                               "target=labels (motifctl: --target labels)",
                               several);
    if (set || b->cells || s->several == 0)
        return STATUS_OK;
    return collection_warn(b->c, err, "names-with-blanks",
                           "labels such as '%s' were read as one name, because their words do not recur in other "
                           "labels; sequences of words: target=sequence (motifctl: --target sequence)",
                           s->example);
}

static enum status warn_of_words(const struct builder *b, const struct seen *s, const struct label_form *form,
                                 bool stated, struct error *err)
{
    enum { FEW = 50 };
    bool few = s->several > 0 && different(s) <= FEW && 3 * different(s) <= b->texts_count && !s->plain;
    if (form->separator != BLANKS)
        return collection_warn(b->c, err, "separated-labels",
                               "labels such as '%s' were read as %s of names separated by %s; one name each: "
                               "separator=none (motifctl: --separator none)",
                               s->separated_example, form->set ? "a set" : "a list", form->separator);
    if (form->set && s->together)
        return collection_warn(b->c, err, "words-together",
                               "labels such as '%s' were read as sets of words, but these words occur only together; "
                               "one name each: separator=none (motifctl: --separator none)",
                               s->example);
    if (stated || form->set || !few)
        return STATUS_OK;
    return collection_warn(b->c, err, "words-as-sequence",
                           "labels such as '%s' were read as sequences of words; one name each: target=class "
                           "(motifctl: --target class)",
                           s->example);
}

static enum status warn_of_form(const struct builder *b, const struct seen *s, const struct label_form *form,
                                enum collection_target wanted, struct error *err)
{
    bool stated = wanted != TARGET_NONE;
    if (form->how == LABEL_LIST)
        return collection_warn(b->c, err, "separated-labels",
                               "labels in brackets were read as %s of names; one name each: separator=none (motifctl: "
                               "--separator none)",
                               form->set ? "sets" : "lists");
    if (form->how == LABEL_NOTHING)
        return collection_warn(b->c, err, "descriptions",
                               "the words after the names of records look like descriptions ('%s'), so no record has a "
                               "label; word N as the label: label_column=N (motifctl: --label-column N); all words: "
                               "target=class",
                               s->example);
    if (form->how == LABEL_WORDS)
        return warn_of_words(b, s, form, stated, err);
    return stated ? STATUS_OK : warn_of_name(b, s, form->set, err);
}

/* ---- names ------------------------------------------------------------------------------------------------- */

static enum status add_name(struct builder *b, bool once, struct plain_line name, struct error *err)
{
    return once ? builder_token_once(b, name.at, name.size, err) : builder_token(b, name.at, name.size, err);
}

static enum status add_names(struct builder *b, const struct label_form *form, struct plain_line text,
                             struct error *err)
{
    struct plain_line rest = text, part;
    enum status status = STATUS_OK;
    bool once = form->set && b->once, good = true;
    char item[NAME_BYTES];
    size_t bytes;
    if (form->how == LABEL_NAME)
        return add_name(b, once, text, err);
    if (form->how == LABEL_LIST && !is_list(text))
        return add_name(b, once, text, err);
    if (form->how == LABEL_LIST)
        (void)open_list(text, &rest);
    if (form->how == LABEL_LIST)
        while (!status && next_item(&rest, item, &bytes, &good))
            status = bytes > 0 ? add_name(b, once, (struct plain_line){item, bytes}, err) : STATUS_OK;
    else
        while (!status && next_between(&rest, form->separator, &part))
            status = add_name(b, once, part, err);
    return status;
}

static enum status add_all(struct builder *b, const struct label_form *form, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t next = 0;
    for (int64_t i = 0; !status && i < b->c->count; i++) {
        builder_turn_to(b, i);
        for (; !status && next < b->texts_count && b->texts[next].sample == i; next++)
            if (form->how != LABEL_NOTHING)
                status =
                    add_names(b, form, (struct plain_line){b->text + b->texts[next].at, b->texts[next].bytes}, err);
    }
    return status;
}

enum status label_texts_read(struct builder *b, bool *set, struct error *err)
{
    const char *separator = b->options->separator ? b->options->separator : "";
    enum collection_target wanted = b->wanted != TARGET_NONE ? b->wanted : b->usual;
    struct seen seen;
    enum status status = check_separator(separator, err);
    if (status || b->texts_count == 0)
        return status;
    if (b->labels > 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "some files have labels of text, and others numbers or several names for a sample; write all "
                         "of them alike");
    status = look(b, &seen, err);
    if (!status) {
        struct label_form form = decide(b, &seen, wanted, separator), plain = decide(b, &seen, b->usual, separator),
                          unstated = decide(b, &seen, wanted, "");
        b->reworded = !same_form(&form, &plain);
        if (same_form(&form, &unstated))
            b->c->implied |= OPTION_SEPARATOR;
        *set = *set || form.set;
        status = separator[0] != '\0' ? STATUS_OK : warn_of_form(b, &seen, &form, b->wanted, err);
        if (!status)
            status = add_all(b, &form, err);
    }
    seen_close(&seen);
    return status;
}
