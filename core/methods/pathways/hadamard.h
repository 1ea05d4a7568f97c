/* The Walsh-Hadamard transform in natural (Sylvester) order, in place: x becomes H x, H_ij = (-1)^popcount(i and j),
 * for `count` a power of two. O(count log count). */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_HADAMARD_H
#define MOTIF_CORE_METHODS_PATHWAYS_HADAMARD_H

/* The first levels work within eight neighbours, which a compiler keeps in registers. */
static inline void walsh_hadamard_8(float *x)
{
    float a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[i] = x[2 * i] + x[2 * i + 1];
        a[i + 4] = x[2 * i] - x[2 * i + 1];
    }
    for (int h = 0; h < 8; h += 4) {
        b[h] = a[h] + a[h + 1];
        b[h + 1] = a[h] - a[h + 1];
        b[h + 2] = a[h + 2] + a[h + 3];
        b[h + 3] = a[h + 2] - a[h + 3];
    }
    for (int h = 0; h < 2; h++) {
        x[h] = b[4 * h] + b[4 * h + 2];
        x[h + 4] = b[4 * h] - b[4 * h + 2];
        x[h + 2] = b[4 * h + 1] + b[4 * h + 3];
        x[h + 6] = b[4 * h + 1] - b[4 * h + 3];
    }
}

static inline void walsh_hadamard(float *x, int count)
{
    int half = 1;
    if (count >= 8) {
        for (int block = 0; block < count; block += 8)
            walsh_hadamard_8(x + block);
        half = 8;
    }
    for (; half < count; half *= 2)
        for (int block = 0; block < count; block += 2 * half) {
            float *restrict low = x + block, *restrict high = low + half;
            for (int i = 0; i < half; i++) {
                float a = low[i], b = high[i];
                low[i] = a + b;
                high[i] = a - b;
            }
        }
}

#endif
