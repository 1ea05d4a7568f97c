/* Facts about this process and this machine, for /v1/system, results and the log. They are read once, before other
 * threads start, and do not change after that. */
#ifndef MOTIF_TRAINER_FACTS_H
#define MOTIF_TRAINER_FACTS_H

#include <stdint.h>

#include "core/kernels/kernels.h"

struct facts {
    char version[32], build[160], compiler[64];
    char cpu[64], cpu_features[160];
    char blas[64], blas_core[32];
    const char *kernels;
    int cores;          /* number of cores that this process may use */
    int64_t started_at; /* milliseconds since 1970 */
};

/* Reads the facts. Call it once, before other threads start. */
void facts_fill(struct facts *facts, const struct kernels *kernels);

/* Returns the resident memory in bytes; 0: unknown. */
uint64_t facts_memory(void);
/* Returns the upper limit of this process's memory in bytes: the machine's memory, or the limit of its control group
 * if that is smaller; 0: unknown. */
int64_t facts_memory_most(void);
/* Returns the processor seconds of all threads. */
double facts_cpu_seconds(void);
/* Returns the number of open file descriptors; -1: unknown. */
int facts_descriptors(void);

/* Ensures that OpenBLAS uses its fastest kernels for this processor. OpenBLAS selects its kernels when it is loaded.
 * For a processor that is newer than the library, it selects kernels of half the width. In that case, if the user has
 * not set OPENBLAS_CORETYPE, this function sets it and executes the program again. Otherwise it returns. */
void facts_choose_blas(char **argv);

#endif
