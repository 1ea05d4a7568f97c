/* Bases as letters, numbers and one-hot planes: what all parts of the splicing domain share. */
#include "core/data/splicing/splicing.h"

#include <string.h>

uint8_t splicing_base(char letter)
{
    switch (letter) {
    case 'A':
    case 'a':
        return BASE_A;
    case 'C':
    case 'c':
        return BASE_C;
    case 'G':
    case 'g':
        return BASE_G;
    case 'T':
    case 't':
    case 'U':
    case 'u':
        return BASE_T;
    default:
        return BASE_N;
    }
}

void splicing_planes(const uint8_t *bases, int length, float *planes)
{
    memset(planes, 0, SPLICING_BASES * (size_t)length * sizeof *planes);
    for (int i = 0; i < length; i++)
        if (bases[i] < SPLICING_BASES)
            planes[(size_t)bases[i] * (size_t)length + (size_t)i] = 1;
}
