/* Makes labels of texts in FASTA headers and BED columns (sequence_label.h). */
#include "core/genomics/uploads/sequence_label.h"

#include <string.h>

#include "core/base/utf8.h"

bool sequence_label_good(struct plain_line text)
{
    return text.size == 0 || (utf8_valid(text.at, text.size) && !memchr(text.at, '\0', text.size));
}

bool sequence_label_column(struct plain_line line, int number, bool words, struct plain_line *out)
{
    bool there = true;
    for (int i = 0; there && i < number; i++)
        there = words ? plain_word(&line, out) : plain_field(&line, '\t', out);
    return there;
}
