/* Splits untrusted text into lines, words and fields without copying, and parses numbers strictly. */
#include "core/formats/text_lines.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/utf8.h"

struct plain_lines plain_lines(const char *text, size_t size)
{
    size_t mark = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return (struct plain_lines){text + mark, text + size, 0, NULL};
}

bool plain_next(struct plain_lines *lines, struct plain_line *line)
{
    if (lines->at == lines->end)
        return false;
    if (lines->feed < lines->at) { /* NULL at first */
        lines->feed = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
        lines->feed = lines->feed != NULL ? lines->feed : lines->end;
    }
    const char *stop = memchr(lines->at, '\r', (size_t)(lines->feed - lines->at));
    const char *end = stop != NULL ? stop : lines->feed;
    *line = (struct plain_line){lines->at, (size_t)(end - lines->at)};
    end += end < lines->end && *end == '\r';
    end += end < lines->end && *end == '\n' && (end == lines->feed);
    lines->at = end;
    lines->number++;
    return true;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

bool plain_word(struct plain_line *line, struct plain_line *word)
{
    while (line->size > 0 && blank(line->at[0])) {
        line->at++;
        line->size--;
    }
    size_t size = 0;
    while (size < line->size && !blank(line->at[size]))
        size++;
    *word = (struct plain_line){line->at, size};
    line->at += size;
    line->size -= size;
    return size > 0;
}

struct plain_line plain_trimmed(struct plain_line line)
{
    while (line.size > 0 && strchr(" \t", line.at[0])) {
        line.at++;
        line.size--;
    }
    while (line.size > 0 && strchr(" \t", line.at[line.size - 1]))
        line.size--;
    return line;
}

bool plain_field(struct plain_line *line, char separator, struct plain_line *field)
{
    if (line->at == NULL)
        return false;
    const char *stop = line->size > 0 ? memchr(line->at, separator, line->size) : NULL;
    size_t size = stop != NULL ? (size_t)(stop - line->at) : line->size;
    *field = (struct plain_line){line->at, size};
    line->at = stop != NULL ? stop + 1 : NULL;
    line->size -= stop != NULL ? size + 1 : size;
    return true;
}

bool plain_is(struct plain_line word, const char *text)
{
    return strlen(text) == word.size && memcmp(word.at, text, word.size) == 0;
}

double plain_number(struct plain_line word)
{
    char copy[64], *end;
    if (word.size == 0 || word.size >= sizeof copy)
        return NAN;
    for (size_t i = 0; i < word.size; i++) /* strtod() also accepts nan, inf and hexadecimal numbers */
        if (strchr("+-.0123456789eE", word.at[i]) == NULL || word.at[i] == '\0')
            return NAN;
    memcpy(copy, word.at, word.size);
    copy[word.size] = '\0';
    double value = strtod(copy, &end);
    return *end == '\0' && end != copy && isfinite(value) ? value : NAN;
}

int64_t plain_integer(struct plain_line word, int64_t most)
{
    int64_t value = 0;
    for (size_t i = 0; i < word.size; i++) {
        int digit = word.at[i] - '0';
        if (digit < 0 || digit > 9 || digit > most || value > (most - digit) / 10)
            return -1;
        value = value * 10 + digit;
    }
    return word.size > 0 ? value : -1;
}

bool plain_whole(struct plain_line word, int64_t *number)
{
    double value = plain_number(word);
    if (!(fabs(value) < 9007199254740992.0) || value != floor(value))
        return false;
    *number = (int64_t)value;
    return true;
}

char plain_strand(struct plain_line word)
{
    static const struct {
        const char *text;
        char strand;
    } rows[] = {{"", '.'},        {".", '.'},     {"*", '.'},
                {"+", '+'},       {"-", '-'},     {"\xE2\x88\x92", '-'}, /* U+2212 */
                {"plus", '+'},    {"minus", '-'}, {"forward", '+'},
                {"reverse", '-'}, {"fwd", '+'},   {"rev", '-'},
                {"f", '+'},       {"r", '-'},     {"w", '+'},
                {"c", '-'}}; /* Watson and Crick, or complement */
    int64_t number;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].text) == word.size && strncasecmp(rows[i].text, word.at, word.size) == 0)
            return rows[i].strand;
    if (!plain_whole(word, &number) || number < -1 || number > 1)
        return '\0';
    return number == 0 ? '.' : number > 0 ? '+' : '-';
}

int plain_shown(struct plain_line word, int most)
{
    if (word.size == 0 || memchr(word.at, '\0', word.size) || !utf8_valid(word.at, word.size))
        return 0;
    return (int)utf8_cut(word.at, word.size, (size_t)most);
}

/* ---- streams ----------------------------------------------------------------------------------------------- */

void text_stream_open(struct text_stream *s, const struct byte_source *from, size_t most)
{
    *s = (struct text_stream){.most = most};
    text_source_open(&s->text, from);
}

void text_stream_close(struct text_stream *s)
{
    free(s->block);
    *s = (struct text_stream){0};
}

/* Moves the bytes of the block to its beginning, and reads more bytes after them. */
static enum status read_more(struct text_stream *s, struct error *err)
{
    size_t kept = s->end - s->begin, got = 0;
    if (kept > 0 && s->begin > 0)
        memmove(s->block, s->block + s->begin, kept);
    s->begin = 0;
    s->end = kept;
    if (kept == s->room) {
        size_t room = s->room > 0 ? 2 * s->room : 1 << 16;
        char *larger = realloc(s->block, room);
        if (larger == NULL)
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a line of %zu bytes", kept);
        s->block = larger;
        s->room = room;
    }
    const struct byte_source from = text_source_bytes(&s->text);
    enum status status = byte_source_read(&from, s->block + kept, s->room - kept, &got, err);
    s->end += status ? 0 : got;
    s->ended = got == 0;
    return status;
}

/* Finds the end of the line at the beginning of the block, behind `looked` bytes. Returns the number of bytes that end
 * it; 0: more bytes are needed. */
static size_t find_end(const struct text_stream *s, size_t looked, size_t *length)
{
    size_t there = s->end - s->begin, at = looked;
    if (there == 0)
        return 0; /* there may be no block yet */
    const char *line = s->block + s->begin;
    while (at < there && line[at] != '\n' && line[at] != '\r')
        at++;
    if (at == there)
        return 0;
    *length = at;
    if (line[at] == '\n')
        return 1;
    return at + 1 < there ? 1 + (size_t)(line[at + 1] == '\n') : s->ended;
}

enum status text_stream_next(struct text_stream *s, struct plain_line *line, bool *more, struct error *err)
{
    size_t looked = 0, ends = 0, length = 0; /* looked: bytes of the line that were searched for its end already */
    *more = false;
    while ((ends = find_end(s, looked, &length)) == 0) {
        size_t there = s->end - s->begin;
        looked = there > 0 && s->block[s->end - 1] == '\r' ? there - 1 : there;
        length = there;
        if (length > s->most || s->ended)
            break;
        enum status status = read_more(s, err);
        if (status)
            return status;
    }
    if (length > s->most)
        return error_set(err, STATUS_LIMIT, NULL, "line %lld is longer than %zu bytes, the most that is allowed",
                         (long long)s->number + 1, s->most);
    *more = ends > 0 || length > 0;
    if (!*more)
        return STATUS_OK;
    *line = (struct plain_line){s->block + s->begin, length};
    s->begin += length + ends;
    s->number++;
    return STATUS_OK;
}

enum status plain_load(const char *path, const char *shown, size_t most, char **text, size_t *size, struct error *err)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return error_set(err, STATUS_IO, NULL, "%.100s cannot be read: %s", shown, strerror(errno));
    enum status status = STATUS_OK;
    size_t room = 1 << 16, used = 0;
    char *data = malloc(room);
    while (data != NULL && used <= most) {
        size_t got = fread(data + used, 1, room - used, file);
        used += got;
        if (got == 0)
            break;
        if (used == room) {
            char *more = realloc(data, room *= 2);
            if (more == NULL)
                free(data);
            data = more;
        }
    }
    if (data == NULL)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %.100s", shown);
    else if (ferror(file))
        status = error_set(err, STATUS_IO, NULL, "%.100s cannot be read", shown);
    else if (used > most)
        status = error_set(err, STATUS_LIMIT, NULL, "%.100s is larger than %zu bytes", shown, most);
    (void)fclose(file);
    if (status) {
        free(data);
        return status;
    }
    *text = data;
    *size = used;
    return STATUS_OK;
}
