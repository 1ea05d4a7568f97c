/* A fuzz target defines what this header declares: the function that libFuzzer calls, and valid inputs to start
 * from. random.c starts from these inputs; libFuzzer starts from a folder of files instead. A target ends the
 * process when a required property (FUZZ_CHECK) is violated. */
#ifndef MOTIF_TESTS_FUZZ_H
#define MOTIF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_seed {
    const char *bytes;
    size_t size;
};
#define FUZZ_SEED(text)                                                                                                \
    {                                                                                                                  \
        (text), sizeof(text) - 1                                                                                       \
    }
extern const struct fuzz_seed fuzz_seeds[];
extern const size_t fuzz_seed_count;

#define FUZZ_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                      \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
