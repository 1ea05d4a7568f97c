/* Writes an alphabet and the letters of a sequence for clients (alphabet.h). */
#include "core/data/alphabet.h"

#include <string.h>

void alphabet_write(const struct alphabet *alphabet, const char *key, const struct sink *out)
{
    if (!alphabet) {
        sink_null(out, key);
        return;
    }
    sink_begin_object(out, key);
    sink_text(out, "name", alphabet->name);
    sink_begin_list(out, "symbols");
    for (const char *symbol = alphabet->symbols; *symbol; symbol++)
        sink_text(out, NULL, (const char[]){*symbol, '\0'});
    sink_end_list(out);
    sink_begin_list(out, "colours");
    for (size_t i = 0; i < strlen(alphabet->symbols); i++)
        sink_text(out, NULL, hue_names[alphabet->hues[i]]);
    sink_end_list(out);
    sink_text(out, "unknown", (const char[]){alphabet->unknown, '\0'});
    sink_text(out, "unit", alphabet->unit);
    sink_end_object(out);
}

/* Returns the letter of a position. */
static char letter_at(const struct alphabet *alphabet, const float *planes, size_t length, size_t position)
{
    char letter = alphabet->unknown;
    int ones = 0;
    for (size_t i = 0; i < strlen(alphabet->symbols); i++) {
        float value = planes[i * length + position];
        if (value == 1 && ones++ == 0)
            letter = alphabet->symbols[i];
        else if (value != 0)
            return alphabet->unknown;
    }
    return letter;
}

size_t alphabet_spell(const struct alphabet *alphabet, const float *planes, size_t length, char *text)
{
    size_t known = 0;
    for (size_t i = 0; i < length; i++) {
        text[i] = letter_at(alphabet, planes, length, i);
        if (text[i] != alphabet->unknown)
            known = i + 1;
    }
    text[known] = '\0';
    return known;
}
