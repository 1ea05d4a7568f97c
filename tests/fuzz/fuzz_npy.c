/* Fuzz target of .npy arrays from clients. The values of an accepted array must be finite, and their number must
 * follow from its shape. */
#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/formats/npy.h"

#define LIMIT 4096

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("\x93NUMPY\x01\x00\x36\x00{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}\x01\x02\x03\x04"),
    FUZZ_SEED("\x93NUMPY\x02\x00\x34\x00\x00\x00{'descr':'<f4','fortran_order':False,'shape':(1,1)}\n\0\0\x80?"),
    FUZZ_SEED("\x93NUMPY\x01\x00\x31\x00{'shape':(1,),'descr':'>i8','fortran_order':True}\0\0\0\0\0\0\0\x07"),
    FUZZ_SEED("\x93NUMPY\x03\x00\x32\x00\x00\x00{'descr':'<f8','fortran_order':False,'shape':(0,)}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npy array;
    struct error err = {0};
    enum status status = npy_read(data, size, LIMIT, &array, &err);
    FUZZ_CHECK(status == err.code);
    FUZZ_CHECK((status == STATUS_OK) == (array.values != NULL));
    if (status == STATUS_OK) {
        size_t count = 1;
        for (int d = 0; d < array.rank; d++)
            count *= (size_t)array.dim[d];
        FUZZ_CHECK(array.rank >= 0 && array.rank <= NPY_RANK && count == array.count && count <= LIMIT);
        for (size_t i = 0; i < count; i++)
            FUZZ_CHECK(isfinite(array.values[i]));
        free(array.values);
    }
    return 0;
}
