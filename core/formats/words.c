/* Splits texts into words (words.h). */
#include "core/formats/words.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include "core/base/grown.h"

void words_close(struct word_list *words)
{
    if (words->breaks)
        ubrk_close(words->breaks);
    free(words->word);
    work_give(words->work, LEDGER_RESULTS, words->taken);
    *words = (struct word_list){0};
}

static enum status unicode_failed(UErrorCode code, struct error *err)
{
    return code == U_MEMORY_ALLOCATION_ERROR
               ? error_memory(err, "words")
               : error_set(err, STATUS_INTERNAL, NULL, "words: ICU failed: %s", u_errorName(code));
}

/* Reads the character at byte *at, moves *at behind it, and returns whether it is blank. */
static bool next_is_blank(const char *text, size_t bytes, size_t *at)
{
    UChar32 point;
    int32_t i = (int32_t)*at;
    const uint8_t *utf8 = (const uint8_t *)text;
    U8_NEXT(utf8, i, (int32_t)bytes, point);
    *at = (size_t)i;
    return u_isUWhiteSpace(point) || u_iscntrl(point);
}

/* The budget is asked after so many bytes, and an array of so many words is counted. */
enum { LOOK = 1 << 16, LONG_LIST = 1 << 12 };

static enum status words_grow(struct word_list *words, struct error *err)
{
    size_t count = (size_t)words->count;
    if (count >= LONG_LIST && (count & (count - 1)) == 0) {
        int64_t more = (int64_t)((words->taken > 0 ? count : 2 * count) * sizeof *words->word);
        enum status status = work_take(words->work, LEDGER_RESULTS, more, err);
        if (status)
            return status;
        words->taken += more;
    }
    struct word_at *more = grown(words->word, count, sizeof *more);
    if (!more)
        return error_memory(err, "words");
    words->word = more;
    return STATUS_OK;
}

/* Adds the piece [begin, end) if it is not blank. *at, *characters: where the last piece ended, in bytes and in
 * characters. */
static enum status add_piece(struct word_list *words, const char *text, size_t begin, size_t end, int *characters,
                             struct error *err)
{
    bool blank = true;
    int first = *characters;
    enum status status = (words->count & (LONG_LIST - 1)) == 0 ? work_check(words->work, err) : STATUS_OK;
    for (size_t i = begin, next = begin + LOOK; !status && i < end; ++*characters) {
        blank = next_is_blank(text, end, &i) && blank;
        if (i >= next) {
            status = work_check(words->work, err);
            next = i + LOOK;
        }
    }
    if (!status && !blank)
        status = words_grow(words, err);
    if (status || blank)
        return status;
    words->word[words->count++] = (struct word_at){begin, end - begin, first, *characters};
    return STATUS_OK;
}

bool words_have_blanks(const struct word_list *words, const char *text)
{
    bool blank = false;
    for (int i = 0; i < words->count && !blank; i++)
        for (size_t at = words->word[i].at, end = at + words->word[i].bytes; at < end && !blank;)
            blank = next_is_blank(text, end, &at);
    return blank;
}

static enum status split_at_blanks(struct word_list *words, const char *text, size_t bytes, bool tabs,
                                   struct error *err)
{
    enum status status = STATUS_OK;
    int characters = 0;
    size_t begin = 0;
    for (size_t at = 0, next = LOOK; !status && at < bytes;) {
        size_t here = at;
        if (at >= next) {
            status = work_check(words->work, err);
            next = at + LOOK;
        }
        if (!next_is_blank(text, bytes, &at) || (tabs && !strchr("\t\r\n", text[here])))
            continue;
        status = add_piece(words, text, begin, here, &characters, err);
        characters++;
        begin = at;
    }
    return status ? status : add_piece(words, text, begin, bytes, &characters, err);
}

static enum status split_by_unicode(struct word_list *words, const char *text, size_t bytes, struct error *err)
{
    UErrorCode code = U_ZERO_ERROR;
    UText open = UTEXT_INITIALIZER;
    enum status status = STATUS_OK;
    int characters = 0;
    if (!words->breaks)
        words->breaks = ubrk_open(UBRK_WORD, "", NULL, 0, &code);
    utext_openUTF8(&open, text, (int64_t)bytes, &code);
    if (!U_FAILURE(code))
        ubrk_setUText(words->breaks, &open, &code);
    if (U_FAILURE(code))
        status = unicode_failed(code, err);
    for (int32_t begin = 0, end; !status && (end = ubrk_next(words->breaks)) != UBRK_DONE; begin = end)
        status = add_piece(words, text, (size_t)begin, (size_t)end, &characters, err);
    utext_close(&open);
    return status;
}

enum status words_split(struct word_list *words, const char *text, size_t bytes, enum collection_words at,
                        struct error *err)
{
    words->count = 0;
    work_give(words->work, LEDGER_RESULTS, words->taken);
    words->taken = 0;
    if (bytes > (size_t)1 << 30)
        return error_set(err, STATUS_LIMIT, NULL, "a text has more than 2^30 bytes, the most that is allowed");
    return at == WORDS_UNICODE ? split_by_unicode(words, text, bytes, err)
                               : split_at_blanks(words, text, bytes, at == WORDS_TABS, err);
}
