/* What this process and this machine are, for /v1/system, results and the log. Filled once, before
 * other threads start; read-only after that. */
#ifndef MOTIF_TRAINER_FACTS_H
#define MOTIF_TRAINER_FACTS_H

#include <stdint.h>

#include "core/kernels/kernels.h"

struct facts {
    char version[32], build[160], compiler[64];
    char cpu[64], cpu_features[160];
    char blas[64], blas_core[32];
    const char *kernels;
    int cores;          /* that this process may use */
    int64_t started_at; /* milliseconds since 1970 */
};

void facts_fill(struct facts *facts, const struct kernels *kernels);

/* Bytes of memory in use (resident), or 0. */
uint64_t facts_memory(void);
/* Bytes of memory that this process may have: the machine's, or its control group's where that is less; 0: not known.
 */
int64_t facts_memory_most(void);
/* Seconds of processor time used by all threads. */
double facts_cpu_seconds(void);
/* File descriptors in use, or -1. */
int facts_descriptors(void);

/* Loads the right OpenBLAS kernels: its library chooses when it is loaded, knows no processor younger
 * than itself and then takes kernels of half the width. So, once, and unless the user chose, the
 * variable is set and the program starts again. Returns when there is nothing to do. */
void facts_choose_blas(char **argv);

#endif
