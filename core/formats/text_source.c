/* Recognises the encoding of a text by its first bytes, and converts UTF-16 character by character. */
#include "core/formats/text_source.h"

#include <string.h>

void text_source_open(struct text_source *text, const struct byte_source *from)
{
    *text = (struct text_source){.from = *from};
}

/* Reads until at least `count` bytes are in the buffer, or the source ends. */
static enum status have(struct text_source *text, size_t count, struct error *err)
{
    enum status status = STATUS_OK;
    if (text->at > 0 && text->filled - text->at < count) {
        memmove(text->in, text->in + text->at, text->filled - text->at);
        text->filled -= text->at;
        text->at = 0;
    }
    while (!status && !text->ended && text->filled - text->at < count) {
        size_t got = 0;
        status =
            text->from.read(text->from.context, text->in + text->filled, sizeof text->in - text->filled, &got, err);
        text->filled += status ? 0 : got;
        text->ended = !status && got == 0;
    }
    return status;
}

static enum status recognise(struct text_source *text, struct error *err)
{
    enum status status = have(text, 4, err);
    const unsigned char *b = text->in;
    size_t n = text->filled;
    if (status)
        return status;
    text->form = TEXT_AS_IT_IS;
    if (n >= 3 && memcmp(b, "\xEF\xBB\xBF", 3) == 0)
        text->at = 3;
    else if (n >= 4 && (memcmp(b, "\xFF\xFE\0\0", 4) == 0 || memcmp(b, "\0\0\xFE\xFF", 4) == 0))
        return error_set(err, STATUS_INVALID, NULL, "the text is UTF-32; save the file as UTF-8");
    else if (n >= 2 && (memcmp(b, "\xFF\xFE", 2) == 0 || memcmp(b, "\xFE\xFF", 2) == 0)) {
        text->form = b[0] == 0xFF ? TEXT_UTF16_LITTLE : TEXT_UTF16_BIG;
        text->at = 2;
    } else if (n >= 4 && (b[0] == 0) != (b[1] == 0) && (b[0] == 0) == (b[2] == 0) && (b[1] == 0) == (b[3] == 0)) {
        text->form = b[1] == 0 ? TEXT_UTF16_LITTLE : TEXT_UTF16_BIG; /* two ASCII characters without a mark */
    }
    return STATUS_OK;
}

static void put_character(struct text_source *text, uint32_t c)
{
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* bytes after the first one */
    for (size_t i = more; i > 0; i--, c >>= 6)
        text->out[i] = (unsigned char)(0x80 | (c & 0x3F));
    text->out[0] = (unsigned char)(first[more] | c);
    text->out_at = 0;
    text->out_filled = more + 1;
}

static uint32_t unit_at(const struct text_source *text, size_t at)
{
    const unsigned char *b = text->in + text->at + at;
    return text->form == TEXT_UTF16_LITTLE ? b[0] | (uint32_t)b[1] << 8 : b[1] | (uint32_t)b[0] << 8;
}

/* Converts one character; none is left in `out` at the end of the source. */
static enum status convert(struct text_source *text, struct error *err)
{
    enum status status = have(text, 4, err);
    size_t there = text->filled - text->at;
    if (status || there == 0)
        return status;
    uint32_t c = there >= 2 ? unit_at(text, 0) : 0xDC00, low = there >= 4 ? unit_at(text, 2) : 0;
    bool pair = c >= 0xD800 && c < 0xDC00;
    if ((pair && (low < 0xDC00 || low > 0xDFFF)) || (c >= 0xDC00 && c <= 0xDFFF))
        return error_set(err, STATUS_INVALID, NULL, "the text is not valid UTF-16; save the file as UTF-8");
    text->at += pair ? 4 : 2;
    put_character(text, pair ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : c);
    return STATUS_OK;
}

static enum status read_text(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct text_source *text = context;
    enum status status = text->form == TEXT_UNKNOWN ? recognise(text, err) : STATUS_OK;
    *got = 0;
    if (status || text->form != TEXT_AS_IT_IS) {
        while (!status && *got < most) {
            if (text->out_at == text->out_filled)
                status = convert(text, err);
            if (text->out_at == text->out_filled)
                break;
            ((unsigned char *)to)[(*got)++] = text->out[text->out_at++];
        }
        return status;
    }
    size_t there = text->filled - text->at;
    if (there == 0)
        return text->ended ? STATUS_OK : text->from.read(text->from.context, to, most, got, err);
    *got = there < most ? there : most;
    memcpy(to, text->in + text->at, *got);
    text->at += *got;
    return STATUS_OK;
}

struct byte_source text_source_bytes(struct text_source *text)
{
    return (struct byte_source){text, read_text, text->from.work};
}

enum status text_source_all(const struct byte_source *from, size_t most, char **text, size_t *size, struct error *err)
{
    struct text_source source;
    text_source_open(&source, from);
    const struct byte_source bytes = text_source_bytes(&source);
    return byte_source_all(&bytes, most, text, size, err);
}
