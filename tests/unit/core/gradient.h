/* Compares gradients with central differences, in double precision.
 *
 * A test case builds a graph from weights and inputs that the probe owns. The probe reduces the result to one number
 * with fixed coefficients, runs the backward pass, and compares every partial derivative (a sample of them for large
 * arrays) with (f(x + h) - f(x - h)) / 2h. */
#ifndef MOTIF_TESTS_UNIT_CORE_GRADIENT_H
#define MOTIF_TESTS_UNIT_CORE_GRADIENT_H

#include "core/autodiff/ops.h"

enum { PROBE_WEIGHTS = 96, PROBE_INPUTS = 4 };

struct probe_input {
    real *value, *grad;
    size_t count;
    bool map;
    int rows, cols;
    struct map_shape shape; /* for a map: its shape; value and grad are then planes */
    struct tensor *tensor;
};

struct probe {
    struct exec exec;
    struct arena arena;
    struct thread_pool *pool;
    uint32_t drawn; /* number of random arrays drawn so far */
    uint64_t step;
    struct weight weights[PROBE_WEIGHTS];
    struct weight *checked[PROBE_WEIGHTS]; /* the weights whose gradients are compared; not owned */
    int weight_count, checked_count;
    struct probe_input inputs[PROBE_INPUTS];
    int input_count;
    double error; /* the largest relative error so far */
};

typedef struct tensor *probe_build(struct probe *probe, const void *context);

void probe_open(struct probe *probe, int threads, const char *kernels);
void probe_close(struct probe *probe);

/* Fills an array with random numbers in [-scale, scale), different in every call. */
void probe_fill(struct probe *probe, real *values, size_t count, double scale);

struct weight *probe_weight(struct probe *probe, int rank, const int *dim, double scale);
struct weight *probe_vector(struct probe *probe, int count, double scale);
struct weight *probe_matrix(struct probe *probe, int rows, int cols, double scale);
void probe_check_also(struct probe *probe, struct weight *weight);

/* probe_rows() and probe_map() declare an input with a gradient and return its index. Inside a build function,
 * probe_input() returns the tensor of this input. */
int probe_rows(struct probe *probe, int rows, int cols, double scale);
int probe_map(struct probe *probe, const struct map_shape *shape, double scale);
struct tensor *probe_input(struct probe *probe, int input);

/* Runs forward and backward, and stores the gradients in the weights and inputs. Returns the reduced result. */
double probe_run(struct probe *probe, probe_build *build, const void *context);
/* Fails the test if a derivative differs by more than `tolerance` times the largest of its array. */
void probe_check(struct probe *probe, probe_build *build, const void *context, double tolerance);

#endif
