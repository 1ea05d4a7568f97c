/* Writes headers of .npy files (npy_header.h). The format requires a size that is a multiple of 64 bytes. */
#include "api/queries/npy_header.h"

#include <stdio.h>

void npy_header_write(struct buf *out, size_t inputs, int rank, const int64_t *dim)
{
    char text[192];
    int length = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu,", inputs);
    for (int d = 0; d < rank; d++)
        length += snprintf(text + length, sizeof text - (size_t)length, " %lld,", (long long)dim[d]);
    length += snprintf(text + length, sizeof text - (size_t)length, "), }");
    size_t padded = ((size_t)length + 11 + 63) / 64 * 64 - 10;
    unsigned char head[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8)};
    buf_append(out, head, sizeof head);
    buf_format(out, "%-*s\n", (int)padded - 1, text);
}
