/* Makes labels of texts in FASTA headers and BED columns (sequence_label.h). */
#include "core/genomics/uploads/sequence_label.h"

#include <string.h>

#include "core/base/utf8.h"

bool sequence_label_good(struct plain_line text)
{
    return text.size == 0 || (utf8_valid(text.at, text.size) && !memchr(text.at, '\0', text.size));
}

/* Removes the blanks at both ends of a text. */
static struct plain_line trim(struct plain_line text)
{
    while (text.size > 0 && strchr(" \t", text.at[0])) {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && strchr(" \t", text.at[text.size - 1]))
        text.size--;
    return text;
}

static enum status add_set(struct builder *b, struct plain_line text, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t at = 0; !status && at < text.size;) {
        size_t bytes = 0;
        while (at + bytes < text.size && !strchr(" \t,", text.at[at + bytes]))
            bytes++;
        if (bytes > 0)
            status = builder_token_once(b, text.at + at, bytes, err);
        at += bytes + 1;
    }
    return status;
}

enum status sequence_label_add(struct builder *b, struct plain_line text, struct error *err)
{
    struct plain_line word;
    enum status status = STATUS_OK;
    text = trim(text);
    if (b->wanted == TARGET_LABELS)
        return add_set(b, text, err);
    if (b->wanted == TARGET_NUMBER)
        return builder_values(b, text.at, text.size, err);
    if (b->wanted == TARGET_CLASS) {
        b->reworded = b->reworded || memchr(text.at, ' ', text.size) || memchr(text.at, '\t', text.size);
        return text.size > 0 ? builder_token(b, text.at, text.size, err) : STATUS_OK;
    }
    while (!status && plain_word(&text, &word))
        status = builder_token(b, word.at, word.size, err);
    return status;
}

bool sequence_label_column(struct plain_line line, int number, bool words, struct plain_line *out)
{
    bool there = true;
    for (int i = 0; there && i < number; i++)
        there = words ? plain_word(&line, out) : plain_field(&line, '\t', out);
    return there;
}
