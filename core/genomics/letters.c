/* Defines the alphabets of nucleic acids (letters.h). The bases have the colours that most programs use. */
#include "core/genomics/letters.h"

#include <stddef.h>

enum { LETTERS = 4 };

static const enum hue base_hues[] = {HUE_GREEN, HUE_BLUE, HUE_ORANGE, HUE_RED};

const struct alphabet alphabet_dna = {
    .name = "DNA", .symbols = "ACGT", .hues = base_hues, .unknown = 'N', .unit = "nt", .strands = 2};
const struct alphabet alphabet_rna = {
    .name = "RNA", .symbols = "ACGU", .hues = base_hues, .unknown = 'N', .unit = "nt", .strands = 1};

void letters_turn(float *planes, int cols, int64_t from, int64_t to)
{
    for (int b = 0; b < LETTERS / 2; b++) {
        float *one = planes + (ptrdiff_t)b * cols, *other = planes + (ptrdiff_t)(LETTERS - 1 - b) * cols;
        for (int64_t i = from; i < to; i++) {
            float kept = one[i];
            one[i] = other[from + to - 1 - i];
            other[from + to - 1 - i] = kept;
        }
    }
}
